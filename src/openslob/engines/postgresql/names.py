"""Names of all objects that the product creates: they are in one schema."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg import sql

from openslob.engines.sql import ObjectNames

DEFAULT_SCHEMA = "slob"


@dataclass(frozen=True)
class PostgresNames(ObjectNames[sql.Identifier]):
    """Quoted identifiers of the objects in ``schema``; numbers are SLOB's schema numbers, from 1.

    Names with a ``prefix`` are not those of a load or run.
    """

    schema: str = DEFAULT_SCHEMA
    prefix: str = ""

    def place(self, name: str) -> sql.Identifier:
        return sql.Identifier(self.schema, self.prefix + name)

    def nap(self) -> sql.Identifier:
        """Return the name of the procedure that sleeps without holding a snapshot."""
        return self.place("nap")
