"""The wait sampler: what the test's sessions and others do at a moment, by one statement on one connection."""

from __future__ import annotations

from collections.abc import Sequence

import oracledb

from openslob.core.errors import SlobError
from openslob.engines.base import Activity
from openslob.engines.oracle.connection import Connection, Row, query, statement
from openslob.engines.oracle.counters import grant, own_process
from openslob.engines.oracle.errors import is_missing, reported
from openslob.engines.oracle.survey import Survey, container_number

_FAILED = "the wait events can't be sampled"


class OracleWaits:
    """Samples what sessions wait for from V$SESSION: the test's and others, or those of all clients (``whole``)."""

    def __init__(self, connection: Connection, whole: bool = False) -> None:
        self._connection = connection
        self._statement = statement("waits", "server_look" if whole else "look")
        with reported(_FAILED):
            # Sessions of other pluggable databases are not to be seen from within one, nor by a common user in the root
            # unless its CONTAINER_DATA says so, which it has no right to see.
            self._sees_all = container_number(Survey(connection)) == 0

    def sample(self) -> Activity:
        """Return the test's sessions by event, and who else is at work; SlobError when this user may not see it."""
        with reported(_FAILED):
            rows = self._look()
        events = {str(row["event"]): int(row["sessions"]) for row in rows if not row["others"]}
        others = {str(row["event"]): int(row["sessions"]) for row in rows if row["others"]}
        return Activity(events, others if others or self._sees_all else None)

    def _look(self) -> Sequence[Row]:
        try:
            return query(self._connection, self._statement)
        except oracledb.DatabaseError as error:
            if not is_missing(error):
                raise
            may = grant(self._connection, "V_$SESSION")
            raise SlobError(f"{_FAILED}: this user may not read V$SESSION", may) from error

    def backend_ids(self) -> list[int]:
        """Return the process of the sampler's session; none when this user may not see it."""
        return own_process(self._connection)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
