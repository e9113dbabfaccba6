"""Names of everything the product keeps in a server: all of it stands in one database."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

DEFAULT_DATABASE = "slob"


def quoted(name: str) -> str:
    """A name as the server reads it."""
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True)
class Names:
    """Quoted names of the objects in ``database``; numbers are SLOB's schema numbers, from 1."""

    database: str = DEFAULT_DATABASE

    def _in_database(self, name: str) -> str:
        return f"{quoted(self.database)}.{quoted(name)}"

    def schema(self) -> str:
        """The database itself."""
        return quoted(self.database)

    def cf1(self, number: int) -> str:
        """Table of one row a block."""
        return self._in_database(f"cf1_{number}")

    def cf2(self, number: int) -> str:
        """The short-scan table."""
        return self._in_database(f"cf2_{number}")

    def procedure(self, number: int) -> str:
        """The work loop over the tables of one schema."""
        return self._in_database(f"slice_{number}")

    def manifest(self) -> str:
        """What was loaded and whether it was verified."""
        return self._in_database("manifest")

    def roster(self) -> str:
        """Which connections are ours, and what for."""
        return self._in_database("roster")

    def borrowed(self) -> str:
        """Settings of the whole server that a run has changed."""
        return self._in_database("borrowed")

    def lock(self, purpose: str) -> str:
        """A named lock of this database's; such names are the whole server's, and at most 64 characters long."""
        return f"openslob/{purpose}/{hashlib.sha256(self.database.encode()).hexdigest()[:16]}"
