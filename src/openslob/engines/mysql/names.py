"""Names of all objects that the product creates: they are in one database."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

DEFAULT_DATABASE = "slob"
# The names of all our tables, as a pattern of the server's.
TABLES = "^(cf[12]_[1-9][0-9]*|manifest|roster|borrowed|ledger_(sessions|rows|heartbeat))$"


def quote(name: str) -> str:
    """Return a name with the server's quotes."""
    return "`" + name.replace("`", "``") + "`"


def account(user: str) -> str:
    """Return the server's name of an account (CURRENT_USER) as GRANT takes it."""
    name, _, host = user.rpartition("@")
    return f"'{name}'@'{host}'"


@dataclass(frozen=True)
class MysqlNames:
    """Quoted names of the objects in ``database``; numbers are SLOB's schema numbers, from 1."""

    database: str = DEFAULT_DATABASE

    def _in_database(self, name: str) -> str:
        return f"{quote(self.database)}.{quote(name)}"

    def schema(self) -> str:
        """Return the name of the database."""
        return quote(self.database)

    def cf1(self, number: int) -> str:
        """Return the name of the table of one row a block."""
        return self._in_database(f"cf1_{number}")

    def cf2(self, number: int) -> str:
        """Return the name of the short-scan table."""
        return self._in_database(f"cf2_{number}")

    def procedure(self, number: int) -> str:
        """Return the name of the work loop's procedure for the tables of one schema."""
        return self._in_database(f"slice_{number}")

    def manifest(self) -> str:
        """Return the name of the table that says what was loaded and whether it was verified."""
        return self._in_database("manifest")

    def roster(self) -> str:
        """Return the name of the table of our connections."""
        return self._in_database("roster")

    def borrowed(self) -> str:
        """Return the name of the table of settings of the whole server that a run has changed."""
        return self._in_database("borrowed")

    def ledger(self, part: str) -> str:
        """Return the name of a table of the proof of what the server keeps: ``sessions``, ``rows`` or ``heartbeat``."""
        return self._in_database(f"ledger_{part}")

    def lock(self, purpose: str) -> str:
        """Return the name of a lock for this database: unique in the server, at most 64 characters long."""
        return f"openslob/{purpose}/{hashlib.sha256(self.database.encode()).hexdigest()[:16]}"
