"""The proof of what the server keeps: sessions that commit one operation at a time, and what is left of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial

import pymysql
from pymysql.constants import CLIENT

from openslob.core.errors import SlobError
from openslob.engines.ledger import Entry, LedgerContents, TakesNoWritesError
from openslob.engines.mysql.connection import (
    Connection,
    MysqlParams,
    Row,
    cut_off,
    is_on,
    open_connection,
    override_defaults,
    query,
    query_shown,
    statement,
)
from openslob.engines.mysql.errors import report_as
from openslob.engines.mysql.names import MysqlNames
from openslob.engines.patience import PROBE_S, close_on_failure, cut_when_late
from openslob.engines.server_engine import ConnectionOwner

# What the connections are for, as the server shows it.
PURPOSE, HEARTBEAT = "ledger", "heartbeat"
# A row's text is the number of its operation in 16 digits, again and again. Two rows must fit into a page.
_TEXT_SHARE, _DIGITS, _MOST_TEXT = 7 / 16, 16, 16_000
# Rows of SET and BEGIN, two changes of one row each, COMMIT, and the row with the times.
_COMMITTED = [0, 0, 1, 1, 0, 1]
_ROWS_OF_A_STATEMENT = 100


class MysqlLedger:
    """The tables of the proof in one database. Implements `openslob.engines.ledger.LedgerTables`."""

    def __init__(self, params: MysqlParams, names: MysqlNames, open_watched: Callable[[str], Connection]) -> None:
        self._open_connection = open_watched
        self._target = params.shown
        self._names = {part: names.ledger(part) for part in ("sessions", "rows", "heartbeat")}
        # A message has several statements.
        given = {"connect_timeout": PROBE_S, **params.arguments, "client_flag": CLIENT.MULTI_STATEMENTS}
        self._params = replace(params, arguments=given)

    def create(self, sessions: int, rows: int) -> None:
        """Create the tables in place of those that are there, in the database, which must be there."""
        with self._open_for("the tables of the proof can't be made") as connection:
            repeats = _repeats(connection)
            query(connection, self._statement("drop"))
            for part in ("sessions", "rows", "heartbeat"):
                query(connection, self._statement(f"create_{part}", bytes=repeats * _DIGITS))
            self._fill(connection, "sessions", (f"({session}, 0, 0, 0)" for session in range(sessions)))
            text = f"REPEAT('{'0' * _DIGITS}', {repeats})"
            keys = ((session, key) for session in range(sessions) for key in range(rows))
            self._fill(connection, "rows", (f"({session}, {key}, 0, 0, 0, {text})" for session, key in keys))

    def _fill(self, connection: Connection, part: str, rows: Iterable[str]) -> None:
        every = list(rows)
        for first in range(0, len(every), _ROWS_OF_A_STATEMENT):
            values = ", ".join(every[first : first + _ROWS_OF_A_STATEMENT])
            query(connection, self._statement(f"fill_{part}", values=values))

    def drop(self) -> None:
        with self._open_for("the tables of the proof can't be removed") as connection:
            query(connection, self._statement("drop"))

    def open_session(self, session: int) -> MysqlLedgerSession:
        connection = open_connection(self._params, f"{PURPOSE}/{session}")
        failure = f"session {session} can't be opened"
        with close_on_failure(connection), report_as(failure), cut_when_late(partial(cut_off, connection)):
            override_defaults(connection)
            query(connection, statement("ledger", "clock_is_utc"))
            parts: dict[str, object] = {**self._names, "repeats": _repeats(connection), "session": session}
        return MysqlLedgerSession(connection, session, parts)

    def contents(self) -> LedgerContents:
        with self._open_for("the tables of the proof can't be read") as connection:
            sessions = query(connection, self._statement("read_sessions"))
            rows = query(connection, self._statement("read_rows"))
        return LedgerContents(
            sessions={row["session"]: _entry(row) for row in sessions},
            rows={(row["session"], row["row_key"]): _entry(row) for row in rows},
        )

    def settings(self) -> Mapping[str, str]:
        with self._open_for("the server can't be asked for its settings") as connection:
            return query_shown(connection, statement("ledger", "settings"))

    def guards(self) -> Sequence[str]:
        with self._open_for("the server can't be asked for its checksums") as connection:
            algorithm = query(connection, statement("ledger", "guards"))[0]["checksums"]
        return [
            f"CHECK TABLE EXTENDED of every InnoDB table, with checksums of its pages ({algorithm})",
            "the text of every row of the proof",
        ]

    def damage(self) -> Sequence[str]:
        """Return what is damaged: tables of which the server says so, rows with others' text."""
        found = []
        with self._open_for("the tables can't be checked for damage") as connection:
            relations = [row["relation"] for row in query(connection, statement("ledger", "relations"))]
            for relation in relations:
                said = query(connection, statement("ledger", "check", relation=relation))
                found += [f"{relation}: {row['Msg_text']}" for row in said if _is_damage(row)]
            with suppress(pymysql.err.InternalError):  # said of the table already
                found += self._find_torn(connection)
        return found

    def heartbeat(self, number: int) -> None:
        with self._open_for("the heartbeat can't be written", HEARTBEAT) as connection:
            query(connection, self._statement("write_heartbeat"), {"number": number})

    def last_heartbeat(self) -> Entry | None:
        with self._open_for("the heartbeat can't be read", HEARTBEAT) as connection:
            rows = query(connection, self._statement("read_heartbeat"))
        return _entry(rows[0]) if rows else None

    @contextmanager
    def _open_for(self, failure: str, purpose: str = PURPOSE) -> Iterator[Connection]:
        with self._open_connection(purpose) as connection, report_as(f"{failure} ({self._target})"):
            query(connection, statement("ledger", "clock_is_utc"))
            yield connection

    def _statement(self, name: str, **parts: object) -> str:
        return statement("ledger", name, **self._names, **parts)

    def _find_torn(self, connection: Connection) -> list[str]:
        return [
            f"row {row['row_key']} of session {row['session']} is of operation {row['number']}, "
            f"and its text begins with {row['begins']}"
            for row in query(connection, self._statement("torn", repeats=_repeats(connection)))
        ]


class MysqlLedgerSession(ConnectionOwner[Connection]):
    """One connection of the proof. Implements `openslob.engines.ledger.LedgerSession`."""

    def __init__(self, connection: Connection, session: int, parts: dict[str, object]) -> None:
        super().__init__(connection)
        self._session, self._parts = session, parts
        self.done_ns = 0

    def commit(self, number: int, key: int) -> int:
        """Commit one operation: one message, whose last answer is that to COMMIT."""
        text = statement("ledger", "commit", **self._parts, number=number, key=key)
        with report_as(f"session {self._session} was lost"), self._connection.cursor() as cursor:
            cursor.execute(text)
            changed, clocks = [cursor.rowcount], None
            while cursor.nextset():
                changed.append(cursor.rowcount)
                clocks = cursor.fetchone()
        if changed != _COMMITTED or clocks is None:
            raise SlobError(f"operation {number} of session {self._session} changed {changed} rows, not {_COMMITTED}")
        self.done_ns = int(clocks["done_ns"])
        return int(clocks["ns"])

    def last(self) -> Entry:
        """Return the session's own row; on a node of a cluster, after what the others have acknowledged."""
        with report_as(f"session {self._session} was lost"):
            in_cluster = is_on(self._connection, "wsrep_on")
            if in_cluster:
                query(self._connection, statement("ledger", "await_cluster"))
            row = query(self._connection, statement("ledger", "read_session", **self._parts))[0]
            if in_cluster:
                query(self._connection, statement("ledger", "do_not_await"))
        if row["read_only"]:
            raise TakesNoWritesError("the server is read-only", "name one that takes writes")
        return _entry(row)

    def server_ns(self) -> int:
        with report_as(f"session {self._session} was lost"):
            return int(query(self._connection, statement("ledger", "clock"))[0]["ns"])

    def checkpoint(self) -> None:
        """Set the variable that makes it do so: MariaDB has it since 10.6.17, 10.11.7 and 11.0.5."""
        with report_as(f"session {self._session} was lost"):
            query(self._connection, statement("ledger", "checkpoint"))

    def cut(self) -> None:
        cut_off(self._connection)


def _entry(row: Row) -> Entry:
    return Entry(row["number"], row["times"], row["server_ns"])


def _is_damage(row: Row) -> bool:
    """Return whether a line that CHECK TABLE said is about damage: notes and the final OK are not."""
    return row["Msg_type"] not in ("note", "info") and row["Msg_text"] != "OK"


def _repeats(connection: Connection) -> int:
    page = query(connection, statement("ledger", "block_size"))[0]["bytes"]
    return min(int(page * _TEXT_SHARE), _MOST_TEXT) // _DIGITS
