"""Who keeps our connections waiting, as one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import oracledb

from openslob.engines.oracle.connection import APPLICATION, Connection, Row, query, statement

# Waits for the server to go on, which nobody's session ends: what is the matter.
_STUCK: Mapping[str, str] = {
    "log file switch (archiving needed)": "all redo logs wait to be archived, so nothing is changed: see the archiver",
    "statement suspended, wait error to be cleared": "it is suspended until somebody adds space (DBA_RESUMABLE)",
}
_IDLE = "INACTIVE"


def obstacle(connection: Connection) -> str:
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
    row = min(rows, key=lambda each: (each["event"] not in _STUCK, each["sid"]))
    more = len({each["sid"] for each in rows}) - 1
    others = f", and {more} more of our connections wait" if more else ""
    ours = f"our connection for {row['action']} (session {row['sid']},{row['serial']})"
    if row["event"] in _STUCK:
        return f"{ours} waits in '{row['event']}': {_STUCK[row['event']]}{others}"
    return f"{ours} waits for a lock ({row['event']}) held by {_theirs(row)}{others}"


def _theirs(row: Row) -> str:
    if row["b_sid"] is None:
        return f"session {row['blocking_session']} of another instance"
    does = f"{'idle' if row['b_status'] == _IDLE else 'at work'} for {row['b_seconds']} s"
    facts = ", ".join(fact for fact in (f"user {row['b_user']}", _program(row), does) if fact)
    return f"session {row['b_sid']},{row['b_serial']} ({facts})"


def _program(row: Row) -> str:
    """Return what a session runs: of ours, such as one of a driver that was killed, which driver."""
    if row["b_module"] == APPLICATION:
        return f"slob's {row['b_action']} from process {row['b_process']} on {row['b_machine']}"
    return row["b_module"] or row["b_program"] or ""
