"""Names of all objects that the product creates: they are in the schema of the user who connects."""

from __future__ import annotations

import re

MANIFEST = "SLOB_MANIFEST"
TABLES = "SLOB_TABLES"
RUN_TABLE = "SLOB_RUN"
# LIKE patterns with backslash as escape: the procedures of the work loop, and all tables and indexes of the test.
PROCEDURES_LIKE = r"SLOB\_SLICE\_%"
TABLES_LIKE = r"CF_\_%"
_STAGING = "SLOB_KEYS_"
_TABLE = re.compile(r"CF[12]_[1-9][0-9]*")
_SLICE = "SLOB_SLICE_[1-9][0-9]*(?:_[1-9][0-9]*)?"
_MADE_BY_LOAD = re.compile(rf"{_TABLE.pattern}|{MANIFEST}|{TABLES}|{_STAGING}{_TABLE.pattern}|{_SLICE}")


def cf1(number: int) -> str:
    """Return the name of the table of one row a block; numbers are SLOB's schema numbers, from 1."""
    return f"CF1_{number}"


def cf2(number: int) -> str:
    """Return the name of the short-scan table."""
    return f"CF2_{number}"


def index(table: str) -> str:
    """Return the name of the index on a table's keys."""
    return f"{table}_CUSTID"


def procedure(number: int, part: int = 0) -> str:
    """Return the name of the work loop's procedure for the tables of one schema, and one class of sessions."""
    return f"SLOB_SLICE_{number}_{part}" if part else f"SLOB_SLICE_{number}"


def staging(table: str) -> str:
    """Return the name of the table in which a load stages the keys of a table, and which it removes at its end."""
    return f"{_STAGING}{table}"


def is_table(name: str) -> bool:
    """Return whether a table with this name is a test table."""
    return bool(_TABLE.fullmatch(name))


def is_made_by_load(name: str) -> bool:
    """Return whether an object with this name was made by a load or a run; the run table is not among them."""
    return bool(_MADE_BY_LOAD.fullmatch(name))


def grant_select(view: str, user: str) -> str:
    """Return the statement that lets a user, named by an identifier, read one of SYS's views."""
    return f"GRANT SELECT ON SYS.{view} TO {user}"


def identifier(name: str) -> str:
    """Return a name as a statement for people has it: in quotes only if it needs them."""
    return name if re.fullmatch(r"[A-Z][A-Z0-9_$#]*", name) else quote(name)


def quote(name: str) -> str:
    """Return a name, such as that of a tablespace, as an identifier. Ours need no quotes."""
    return '"' + name.replace('"', "") + '"'
