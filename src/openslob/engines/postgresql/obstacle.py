"""Who keeps our connections waiting, as one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openslob.engines.postgresql.connection import PACKAGE, Connection
from openslob.engines.sql import read_statements

_OF_CLIENTS = "client backend"


def obstacle(connection: Connection) -> str:
    """Return which of our connections waits for whose lock; empty when none waits for somebody else's."""
    rows = connection.execute(read_statements(PACKAGE, "connection")["blockers"]).fetchall()
    return describe(rows)


def describe(rows: Sequence[tuple[Any, ...]]) -> str:
    """Return rows of the statement `blockers` as one line about the first."""
    if not rows:
        return ""
    application, pid, *blocker = rows[0]
    more = len({row[1] for row in rows}) - 1
    others = f", and {more} more of our connections wait" if more else ""
    return f"{_ours(application)} (server process {pid}) waits for a lock held by {_theirs(*blocker)}{others}"


def _ours(application: str) -> str:
    """Return a connection by its application name: ``slob/run/<tag>.<number>`` is a session."""
    purpose = application.partition("/")[2]
    tag, _, number = purpose.rpartition(".")
    return f"session {number}" if tag.startswith("run/") else f"our connection for {purpose}"


def _theirs(
    pid: int, kind: str | None, user: str | None, application: str | None, state: str | None, since: str | None
) -> str:
    if not pid:
        return "a prepared transaction (see pg_prepared_xacts)"
    began = f"{state or 'in a transaction'} since {since}" if since else state
    facts = [kind if kind != _OF_CLIENTS else None, f"user {user}" if user else None, application, began]
    known = ", ".join(fact for fact in facts if fact)
    return f"server process {pid}" + (f" ({known})" if known else "")
