"""What sessions wait for: those of the test and others, sampled over one connection, and who keeps ours waiting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import oracledb

from openslob.core.errors import SlobError
from openslob.engines.base import Activity
from openslob.engines.oracle.connection import Connection, Row, query, query_if_visible, statement
from openslob.engines.oracle.counters import OracleSampler
from openslob.engines.oracle.errors import report_as
from openslob.engines.oracle.server_facts import Survey
from openslob.engines.oracle.target import APPLICATION

_FAILED = "the wait events can't be sampled"
# Waits for the server to go on, which nobody's session ends: what is the matter.
_STUCK: Mapping[str, str] = {
    "log file switch (archiving needed)": "all redo logs wait to be archived, so nothing is changed: see the archiver",
    "statement suspended, wait error to be cleared": "it is suspended until somebody adds space (DBA_RESUMABLE)",
}
_IDLE = "INACTIVE"


class OracleWaits(OracleSampler):
    """Samples what sessions wait for from V$SESSION: the test's and others, or those of all clients (``whole``)."""

    def __init__(self, connection: Connection, whole: bool = False) -> None:
        super().__init__(connection)
        self._statement = statement("waits", "server_look" if whole else "look")
        with report_as(_FAILED):
            # Sessions of other pluggable databases are not to be seen from within one, nor by a common user in the root
            # unless its CONTAINER_DATA says so, which it has no right to see.
            self._sees_all = Survey(connection).container_number == 0

    def sample(self) -> Activity:
        """Return the test's sessions by event, and who else is at work; SlobError when this user may not see it."""
        with report_as(_FAILED):
            rows = query_if_visible(self._connection, self._statement)
        if rows is None:
            raise SlobError(f"{_FAILED}: this user may not read V$SESSION", self.compose_grant("V_$SESSION"))
        events = {str(row["event"]): int(row["sessions"]) for row in rows if not row["others"]}
        others = {str(row["event"]): int(row["sessions"]) for row in rows if row["others"]}
        return Activity(events, others if others or self._sees_all else None)


def find_obstacle(connection: Connection) -> str:
    """Return which of our connections waits for whose lock; empty when none does, or this user may not see that."""
    try:
        rows = query(connection, statement("obstacle", "waiting"))
    except oracledb.DatabaseError:
        return ""
    return describe(rows)


def describe(rows: Sequence[Row]) -> str:
    """Return rows of the statement `waiting` as one line about the first."""
    if not rows:
        return ""
    row = min(rows, key=lambda row: (row["event"] not in _STUCK, row["sid"]))
    more = len({row["sid"] for row in rows}) - 1
    others = f", and {more} more of our connections wait" if more else ""
    ours = f"our connection for {row['action']} (session {row['sid']},{row['serial']})"
    if row["event"] in _STUCK:
        return f"{ours} waits in '{row['event']}': {_STUCK[row['event']]}{others}"
    return f"{ours} waits for a lock ({row['event']}) held by {_describe_holder(row)}{others}"


def _describe_holder(row: Row) -> str:
    if row["b_sid"] is None:
        return f"session {row['blocking_session']} of another instance"
    does = f"{'idle' if row['b_status'] == _IDLE else 'at work'} for {row['b_seconds']} s"
    facts = ", ".join(fact for fact in (f"user {row['b_user']}", _describe_program(row), does) if fact)
    return f"session {row['b_sid']},{row['b_serial']} ({facts})"


def _describe_program(row: Row) -> str:
    """Return what a session runs: of ours, such as one of a driver that was killed, which driver."""
    if row["b_module"] == APPLICATION:
        return f"slob's {row['b_action']} from process {row['b_process']} on {row['b_machine']}"
    return row["b_module"] or row["b_program"] or ""
