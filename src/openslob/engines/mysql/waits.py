"""What the test's sessions and others do at a moment, sampled over one connection, and who keeps ours waiting."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import pymysql

from openslob.engines.base import Activity
from openslob.engines.mysql.connection import PACKAGE, Connection, Row, query, statement, thread_id
from openslob.engines.mysql.errors import report_as
from openslob.engines.mysql.names import MysqlNames
from openslob.engines.server_engine import ConnectionOwner
from openslob.engines.sql import read_statements

# The event of a session that waits for nothing that is observed: it runs, or it may wait for a row.
_RUNNING, _STAGE = "'CPU'", "CONCAT('Stage:', COALESCE(NULLIF(t.processlist_state, ''), 'executing'))"


def are_observed(connection: Connection) -> bool | None:
    """Return whether the server observes what sessions wait for; None when this user may not see it."""
    try:
        return bool(query(connection, statement("waits", "ready")))
    except pymysql.Error:
        return None


class MysqlWaits(ConnectionOwner[Connection]):
    """Samples wait events where the server observes them, else the stages of statements, which all users may see."""

    # The statements for servers that observe waits, and for others.
    _statements = ("instrumented", "states")

    def __init__(
        self,
        connection: Connection,
        names: MysqlNames,
        sessions: str,
        own: Collection[int] = (),
        *,
        is_observed: bool = True,
    ) -> None:
        """Sample ``sessions``, a pattern; ``is_observed``: the storage engine's waits are events."""
        super().__init__(connection)
        self._values = {"purpose": sessions}
        # The list of transactions needs the privilege that shows other users' connections, too.
        privileged = self._is_allowed("row_locks")
        locks, running = ("row_locks", _RUNNING) if privileged else ("no_row_locks", _STAGE)
        observed = is_observed and are_observed(connection)
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
        with report_as("the wait events can't be sampled"):
            rows = query(self._connection, self._statement, self._values)
        events = {row["event"]: row["sessions"] for row in rows if not row["others"]}
        others = {row["event"]: row["sessions"] for row in rows if row["others"]}
        return Activity(events, others if others or self._sees_all else None)

    def backend_ids(self) -> list[int]:
        return [thread_id(self._connection)]


class MysqlServerWaits(MysqlWaits):
    """Samples the sessions of all clients."""

    _statements = ("server_instrumented", "server_states")


# States of a statement that waits for a lock on a table, a database or the whole server.
_WAITING, _LOCK = "Waiting for ", "lock"
# Locks of metadata are not listed with their holders; of those who may hold one, so many are named.
_MOST_SUSPECTS = 3
_IDLE = "Sleep"


def obstacle(connection: Connection, ours: Mapping[int, str]) -> str:
    """Return which of our connections waits for whose lock; empty when none waits for somebody else's.

    ``ours`` has the purpose of our connections by their number.
    """
    statements = read_statements(PACKAGE, "obstacle")
    rows = query(connection, statements["connections"])
    waits = [
        wait for name in statements if name.endswith(tuple(_SOURCES)) for wait in _waits(connection, statements[name])
    ]
    return describe([row for row in rows if row["connection"] != thread_id(connection)], waits, ours)


_SOURCES = ("waits", "waits_mariadb", "waits_mysql")


def _waits(connection: Connection, text: str) -> Iterable[tuple[int, int]]:
    """Return who waits for whom; nothing where the server or this user's rights do not tell."""
    try:
        return [(row["waiting"], row["holder"]) for row in query(connection, text)]
    except pymysql.Error:
        return []


def describe(rows: Sequence[Row], waits: Iterable[tuple[int, int]], ours: Mapping[int, str]) -> str:
    """Return the connections ``rows``, and the known ``waits`` of them (waiting, holder), as one line."""
    by_number = {row["connection"]: row for row in rows}
    held_up = {waiting: holder for waiting, holder in waits if waiting in ours and holder not in ours}
    states = {row["connection"]: row["state"] for row in rows if row["connection"] in ours and _is_lock(row["state"])}
    if not held_up and not states:
        return ""
    waiting = min({**states, **held_up})
    if held_up:
        waiting = min(held_up)
        holder = held_up[waiting]
        whose = f"held by {_describe(by_number.get(holder), holder)}"
    else:
        whose = _suspects([row for row in rows if row["connection"] not in ours and not _is_lock(row["state"])])
    more = len({*states, *held_up}) - 1
    others = f", and {more} more of our connections wait" if more else ""
    state = f" ({states[waiting]})" if waiting in states else ""
    return f"{ours[waiting]} (connection {waiting}) waits for a lock{state} {whose}{others}"


def _is_lock(state: str) -> bool:
    return state.startswith(_WAITING) and state.endswith(_LOCK)


def _suspects(rows: Sequence[Row]) -> str:
    """Return who may hold a lock whose holder the server does not name: who is idle for longest first."""
    found = sorted(rows, key=lambda row: (row["command"] != _IDLE, -row["seconds"]))[:_MOST_SUSPECTS]
    if not found:
        return "of a connection that this user may not see (PROCESS shows it)"
    return "that may be held by " + " or ".join(_describe(row, row["connection"]) for row in found)


def _describe(row: Row | None, number: int) -> str:
    if row is None:
        return f"connection {number}"
    does = "idle" if row["command"] == _IDLE else row["state"] or row["command"].lower()
    return f"connection {number} ({row['who']}, {does} for {row['seconds']} s)"
