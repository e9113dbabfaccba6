"""What the test's sessions and others do at a moment, sampled over one connection, and who keeps ours waiting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from openslob.engines.base import Activity
from openslob.engines.postgresql.connection import PACKAGE, PROMPT_SINCE, Connection, backend_pid
from openslob.engines.postgresql.errors import report_as
from openslob.engines.postgresql.libpq_statement import PlainStatement
from openslob.engines.server_engine import ConnectionOwner
from openslob.engines.sql import read_sql, read_statements


@dataclass
class OwnWork:
    """How many transactions our samplers of one server have ended."""

    transactions: int = 0


class PostgresWaits(ConnectionOwner[psycopg.Connection[Any]]):
    """Samples by a statement that is prepared once. Its cost is measured as the sampler's."""

    def __init__(self, connection: psycopg.Connection[Any], application: str) -> None:
        super().__init__(connection)
        self._pattern = application.encode()
        with report_as("the wait events can't be sampled"):
            self._statement = self._prepare()

    def _prepare(self) -> PlainStatement:
        return PlainStatement(self._connection, read_sql(PACKAGE, "waits").encode(), b"sample")

    def sample(self) -> Activity:
        """Return the sessions at work; SlobError when the server is gone.

        Others are unknown when this role may not see what one of them does.
        """
        with report_as("the wait events can't be sampled"):
            rows = self._statement.rows(self._pattern)
        found: dict[bytes, dict[str, int]] = {b"test": {}, b"other": {}, b"hidden": {}}
        for kind, what, sessions in rows:
            if number := int(sessions):
                found[kind][str(what, "utf-8")] = number
        return Activity(found[b"test"], None if found[b"hidden"] else found[b"other"])

    def backend_ids(self) -> list[int]:
        return [backend_pid(self._connection)]


class PostgresServerWaits(PostgresWaits):
    """Samples the sessions of all clients."""

    def __init__(self, connection: psycopg.Connection[Any], application: str, own: OwnWork) -> None:
        super().__init__(connection, application)
        self._own = own
        self._ids = super().backend_ids()
        self.sample()

    def _prepare(self) -> PlainStatement:
        parts = read_statements(PACKAGE, "server_waits")
        names = ("sessions", *(("flush",) if self._connection.info.server_version >= PROMPT_SINCE else ()))
        return PlainStatement(self._connection, "\nUNION ALL\n".join(parts[name] for name in names).encode(), b"sample")

    def sample(self) -> Activity:
        activity = super().sample()
        self._own.transactions += 1
        return activity

    def backend_ids(self) -> list[int]:
        return self._ids


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
