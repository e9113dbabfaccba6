"""Names of all objects that the product creates: they are in the schema of the user who connects."""

from __future__ import annotations

MANIFEST = "SLOB_MANIFEST"
TABLES = "SLOB_TABLES"
RUN_TABLE = "SLOB_RUN"
# LIKE patterns with backslash as escape: the procedures of the work loop, and all tables and indexes of the test.
PROCEDURES_LIKE = r"SLOB\_SLICE\_%"
TABLES_LIKE = r"CF_\_%"


def cf1(number: int) -> str:
    """Return the name of the table of one row a block; numbers are SLOB's schema numbers, from 1."""
    return f"CF1_{number}"


def cf2(number: int) -> str:
    """Return the name of the short-scan table."""
    return f"CF2_{number}"


def index(table: str) -> str:
    """Return the name of the index on a table's keys."""
    return f"{table}_CUSTID"


def procedure(number: int) -> str:
    """Return the name of the work loop's procedure for the tables of one schema."""
    return f"SLOB_SLICE_{number}"


def keys(table: str) -> str:
    """Return the name of the staging table of keys, which a load removes at its end."""
    return f"SLOB_KEYS_{table}"


def quoted(name: str) -> str:
    """Return a name, such as that of a tablespace, as an identifier. Ours need no quotes."""
    return '"' + name.replace('"', "") + '"'
