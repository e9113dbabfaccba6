"""Names of all objects that the product creates: they are in one database."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from openslob.engines.sql import ObjectNames

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
class MysqlNames(ObjectNames[str]):
    """Quoted names of the objects in ``database``; numbers are SLOB's schema numbers, from 1."""

    database: str = DEFAULT_DATABASE

    def place(self, name: str) -> str:
        return f"{quote(self.database)}.{quote(name)}"

    def schema(self) -> str:
        return quote(self.database)

    def roster(self) -> str:
        """Return the name of the table of our connections."""
        return self.place("roster")

    def name_borrowed(self) -> str:
        """Return the name of the table of settings of the whole server that a run has changed."""
        return self.place("borrowed")

    def lock(self, purpose: str) -> str:
        """Return the name of a lock for this database: unique in the server, at most 64 characters long."""
        return f"openslob/{purpose}/{hashlib.sha256(self.database.encode()).hexdigest()[:16]}"
