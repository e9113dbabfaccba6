"""Names of all objects that the product creates: they are in one schema."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg import sql

DEFAULT_SCHEMA = "slob"


@dataclass(frozen=True)
class PostgresNames:
    """Quoted identifiers of the objects in ``schema``; numbers are SLOB's schema numbers, from 1.

    Names with a ``prefix`` are not those of a load or run.
    """

    schema: str = DEFAULT_SCHEMA
    prefix: str = ""

    def _in_schema(self, name: str) -> sql.Identifier:
        return sql.Identifier(self.schema, self.prefix + name)

    def cf1(self, number: int) -> sql.Identifier:
        """Return the name of the table of one row a block."""
        return self._in_schema(f"cf1_{number}")

    def cf2(self, number: int) -> sql.Identifier:
        """Return the name of the short-scan table."""
        return self._in_schema(f"cf2_{number}")

    def procedure(self, number: int) -> sql.Identifier:
        """Return the name of the work loop's procedure for the tables of one schema."""
        return self._in_schema(f"slice_{number}")

    def manifest(self) -> sql.Identifier:
        """Return the name of the table that says what was loaded and whether it was verified."""
        return self._in_schema("manifest")

    def nap(self) -> sql.Identifier:
        """Return the name of the procedure that sleeps without holding a snapshot."""
        return self._in_schema("nap")

    def ledger(self, part: str) -> sql.Identifier:
        """Return the name of a table of the proof of what the server keeps: ``sessions``, ``rows`` or ``heartbeat``."""
        return self._in_schema(f"ledger_{part}")
