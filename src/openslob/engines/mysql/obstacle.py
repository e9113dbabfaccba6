"""Who keeps our connections waiting, as one line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pymysql

from openslob.engines.mysql.connection import PACKAGE, Connection, Row, query, thread_id
from openslob.engines.sql import read_statements

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
        whose = f"held by {_named(by_number.get(holder), holder)}"
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
    return "that may be held by " + " or ".join(_named(row, row["connection"]) for row in found)


def _named(row: Row | None, number: int) -> str:
    if row is None:
        return f"connection {number}"
    does = "idle" if row["command"] == _IDLE else row["state"] or row["command"].lower()
    return f"connection {number} ({row['who']}, {does} for {row['seconds']} s)"
