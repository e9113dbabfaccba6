"""The wait sampler: what the test's sessions and others do at a moment, by one statement on one connection."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

import pymysql

from openslob.engines.base import Activity
from openslob.engines.mysql.connection import Connection, query, statement, thread_id
from openslob.engines.mysql.errors import reported
from openslob.engines.mysql.names import MysqlNames

# The event of a session that waits for nothing that is observed: it runs, or it may wait for a row.
_RUNNING, _STAGE = "'CPU'", "CONCAT('Stage:', COALESCE(NULLIF(t.processlist_state, ''), 'executing'))"


def are_observed(connection: Connection) -> bool | None:
    """Return whether the server observes what sessions wait for; None when this user may not see it."""
    try:
        return bool(query(connection, statement("waits", "ready")))
    except pymysql.Error:
        return None


class MysqlWaits:
    """Samples wait events where the server observes them, else the stages of statements, which all users may see."""

    # The statements for servers that observe waits, and for others.
    _statements = ("instrumented", "states")

    def __init__(self, connection: Connection, names: MysqlNames, sessions: str, own: Collection[int] = ()) -> None:
        self._connection = connection
        self._values = {"purpose": sessions}
        # The list of transactions needs the privilege that shows other users' connections, too.
        privileged = self._is_allowed("row_locks")
        locks, running = ("row_locks", _RUNNING) if privileged else ("no_row_locks", _STAGE)
        observed = are_observed(connection)
        self._sees_all = privileged or bool(observed)
        parts = {
            "roster": names.roster(),
            "row_locks": statement("waits", locks),
            "running": running,
            "wait": statement("waits", "wait"),
            "own": ", ".join(map(str, [*own, thread_id(connection)])),
        }
        instrumented, states = self._statements
        self._statement = statement("waits", instrumented if observed else states, **parts)

    def _is_allowed(self, name: str) -> bool:
        try:
            query(self._connection, statement("waits", name))
        except pymysql.Error:
            return False
        return True

    def sample(self) -> Activity:
        """Return the test's sessions by event, and who else is at work; SlobError when the server is gone.

        Without the privilege to see other users only others of this user are seen: that there are none proves nothing.
        """
        with reported("the wait events can't be sampled"):
            rows = query(self._connection, self._statement, self._values)
        events = {row["event"]: row["sessions"] for row in rows if not row["others"]}
        others = {row["event"]: row["sessions"] for row in rows if row["others"]}
        return Activity(events, others if others or self._sees_all else None)

    def backend_ids(self) -> list[int]:
        return [thread_id(self._connection)]

    def close(self) -> None:
        with suppress(pymysql.Error):
            self._connection.close()


class MysqlServerWaits(MysqlWaits):
    """Samples the sessions of all clients."""

    _statements = ("server_instrumented", "server_states")
