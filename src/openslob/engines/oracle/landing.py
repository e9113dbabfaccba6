"""Which instances of a cluster (RAC) the connections of one target land on: a service or SCAN may spread them."""

from __future__ import annotations

from collections.abc import Iterator

from openslob.core.errors import SlobError
from openslob.engines.facts import Finding
from openslob.engines.oracle.connection import Connection


class Landing:
    """Counters are those of one instance, so sessions on another one would work uncounted."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._instances: set[str] = set()

    def note(self, connection: Connection) -> Connection:
        """Remember where a connection landed, which its log-on said, and return it."""
        if connection.instance:
            self._instances.add(connection.instance)
        return connection

    def require_one(self) -> None:
        """Raise SlobError once connections have landed on several instances."""
        if len(self._instances) > 1:
            raise SlobError(self._why, self._remedy)

    def findings(self) -> Iterator[Finding]:
        """Yield a blocking finding once connections have landed on several instances."""
        if len(self._instances) > 1:
            yield Finding("spread", self._why, self._remedy, True)

    @property
    def _why(self) -> str:
        found = " and ".join(sorted(self._instances))
        return f"{self._target} spreads connections over {found}, and counters are those of one instance"

    @property
    def _remedy(self) -> str:
        named = ",".join(f"oracle://…?instance_name={instance}" for instance in sorted(self._instances))
        return f"name each instance by a URL of its own: {named}"
