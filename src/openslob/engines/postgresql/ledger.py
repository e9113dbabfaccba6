"""The proof of what the server keeps: sessions that commit one operation at a time, and what is left of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import Any

import psycopg
from psycopg import sql
from psycopg.abc import Query

from openslob.core.errors import SlobError
from openslob.engines.ledger import Entry, LedgerContents, TakesNoWritesError
from openslob.engines.patience import cut_when_late
from openslob.engines.postgresql.connection import Connection, cut_off, override_defaults, statement
from openslob.engines.postgresql.errors import explain_error, report_as
from openslob.engines.postgresql.manifest import make_schema, remove_empty_schema
from openslob.engines.postgresql.names import PostgresNames
from openslob.engines.server_engine import ConnectionOwner

# What the connections are for, as the server shows it.
PURPOSE, HEARTBEAT = "ledger", "heartbeat"
# A row's text is the number of its operation in 16 digits, again and again, over so much of a block.
_TEXT_SHARE, _DIGITS = 3 / 8, 16
# Answers to BEGIN, two changes of one row each, COMMIT and the clock afterwards. A transaction that failed answers
# COMMIT with ROLLBACK.
_COMMITTED = ["BEGIN", "UPDATE 1", "UPDATE 1", "COMMIT", "SELECT 1"]

_INDEXED = ("sessions", "rows")
# How the server complains of pages and files that are not what they should be.
_DAMAGED = (psycopg.errors.InternalError, psycopg.errors.IoError, psycopg.errors.UndefinedFile)


class PostgresLedger:
    """The tables of the proof in one database. Implements `openslob.engines.ledger.LedgerTables`."""

    def __init__(
        self,
        target: str,
        names: PostgresNames,
        open_connection: Callable[[str], Connection],
        open_unwatched: Callable[[str], Connection],
    ) -> None:
        self._target, self._names = target, names
        self._open_connection, self._open_unwatched = open_connection, open_unwatched
        self._identifiers = {part: names.ledger(part) for part in ("sessions", "rows", "heartbeat")}

    def create(self, sessions: int, rows: int) -> None:
        with self._open_for("the tables of the proof can't be made") as connection:
            make_schema(connection, self._names)
            values = {"sessions": sessions, "rows": rows}
            with connection.transaction():
                connection.execute(self._statement("drop"))
                connection.execute(self._statement("create"))
                connection.execute(self._statement("fill_sessions"), values)
                connection.execute(self._statement("fill_rows", repeats=_repeats(connection)), values)

    def drop(self) -> None:
        """Remove the tables, and the schema if it was made for them."""
        with self._open_for("the tables of the proof can't be removed") as connection:
            connection.execute(self._statement("drop"))
            remove_empty_schema(connection, self._names)

    def open_session(self, session: int) -> PostgresLedgerSession:
        connection = self._open_unwatched(f"{PURPOSE}/{session}")
        try:
            with report_as(f"session {session} can't be opened"), cut_when_late(partial(cut_off, connection)):
                override_defaults(connection)
                parts = {**self._identifiers, "repeats": _repeats(connection), "session": sql.Literal(session)}
        except BaseException:
            connection.close()
            raise
        return PostgresLedgerSession(connection, session, parts)

    def contents(self) -> LedgerContents:
        """Return what the server has, by a scan of the tables without their indexes."""
        with self._open_for("the tables of the proof can't be read") as connection:
            connection.execute(statement("ledger", "scan"))
            sessions = connection.execute(self._statement("read_sessions")).fetchall()
            rows = connection.execute(self._statement("read_rows")).fetchall()
        return LedgerContents(
            sessions={session: Entry(*entry) for session, *entry in sessions},
            rows={(session, key): Entry(*entry) for session, key, *entry in rows},
        )

    def settings(self) -> Mapping[str, str]:
        with self._open_for("the server can't be asked for its settings") as connection:
            return dict(connection.execute(statement("ledger", "settings")).fetchall())

    def guards(self) -> Sequence[str]:
        with self._open_for("the server can't be asked for its checksums") as connection:
            checksums, amcheck = _row(connection, statement("ledger", "guards"))
        return [
            "every table read" + (" with checksums of its pages" if checksums else ", without checksums: they are off"),
            "the text of every row of the proof",
            "amcheck of all tables and indexes" if amcheck else "rows counted by table and by index",
        ]

    def damage(self) -> Sequence[str]:
        """Return what is damaged: pages that can't be read, rows with others' text, indexes that disagree."""
        with self._open_for("the tables can't be checked for damage") as connection:
            _, amcheck = _row(connection, statement("ledger", "guards"))
            found = [*self._find_unreadable(connection), *self._find_torn(connection), *self._find_doubled(connection)]
            found += self._by_amcheck(connection) if amcheck else self._by_counts(connection)
        return found

    def heartbeat(self, number: int) -> None:
        with self._open_for("the heartbeat can't be written", HEARTBEAT) as connection:
            connection.execute(self._statement("write_heartbeat"), {"number": number})

    def last_heartbeat(self) -> Entry | None:
        with self._open_for("the heartbeat can't be read", HEARTBEAT) as connection:
            row = connection.execute(self._statement("read_heartbeat")).fetchone()
        return Entry(*row) if row else None

    @contextmanager
    def _open_for(self, failure: str, purpose: str = PURPOSE) -> Iterator[Connection]:
        with self._open_connection(purpose) as connection, report_as(f"{failure} ({self._target})"):
            yield connection

    def _statement(self, name: str, **parts: sql.Composable) -> sql.Composed:
        return statement("ledger", name, **self._identifiers, **parts)

    def _find_unreadable(self, connection: Connection) -> Iterator[str]:
        for (relation,) in connection.execute(statement("ledger", "relations")).fetchall():
            yield from _complaint(connection, statement("ledger", "read_all", relation=sql.SQL(relation)), relation)

    def _find_torn(self, connection: Connection) -> Iterator[str]:
        with suppress(*_DAMAGED):  # said of the table already
            for session, key, number, text in connection.execute(
                self._statement("torn", repeats=_repeats(connection))
            ).fetchall():
                yield f"row {key} of session {session} is of operation {number}, and its text begins with {text}"

    def _find_doubled(self, connection: Connection) -> Iterator[str]:
        """Yield rows of which a scan finds several versions."""
        connection.execute(statement("ledger", "scan"))
        with suppress(*_DAMAGED):  # said of the table already
            for session, key, versions in connection.execute(self._statement("doubled")).fetchall():
                what = f"session {session}" if key is None else f"row {key} of session {session}"
                yield f"{what} is there {versions} times"

    def _by_counts(self, connection: Connection) -> Iterator[str]:
        counts = []
        for way, count in (("scan", "count_in_table"), ("no_seqscan", "count_by_index")):
            connection.execute(statement("ledger", way))
            texts = [statement("ledger", count, relation=self._identifiers[part]) for part in _INDEXED]
            counts.append([_row(connection, text)[0] for text in texts])
        for part, in_table, by_index in zip(_INDEXED, *counts, strict=True):
            if by_index != in_table:
                yield f"{self._identifiers[part].as_string()} has {in_table} rows, and {by_index} by its index"

    def _by_amcheck(self, connection: Connection) -> Iterator[str]:
        with connection.transaction(force_rollback=True):
            connection.execute(statement("ledger", "use_amcheck"))
            yield from (text for (text,) in connection.execute(statement("ledger", "amcheck_tables")).fetchall())
            yield from _complaint(connection, statement("ledger", "amcheck_indexes"), "an index")


class PostgresLedgerSession(ConnectionOwner[Connection]):
    """One connection of the proof. Implements `openslob.engines.ledger.LedgerSession`."""

    def __init__(self, connection: Connection, session: int, parts: dict[str, sql.Composable]) -> None:
        super().__init__(connection)
        self._session, self._parts = session, parts
        self.done_ns = 0
        # Preparing a statement on the server would send several of one message one by one.
        connection.prepare_threshold = None

    def commit(self, number: int, key: int) -> int:
        """Commit one operation: one message, whose last answer is that to COMMIT."""
        text = statement("ledger", "commit", **self._parts, number=sql.Literal(number), key=sql.Literal(key))
        with self._guard(), self._connection.cursor() as cursor:
            cursor.execute(text)
            answers, clocks = [cursor.statusmessage], []
            while cursor.nextset():
                answers.append(cursor.statusmessage)
                clocks += cursor.fetchall() if cursor.description else []
        if answers != _COMMITTED:
            raise SlobError(f"operation {number} of session {self._session} was answered with {answers}")
        (written_ns,), (self.done_ns,) = clocks
        return int(written_ns)

    def last(self) -> Entry:
        with self._guard():
            read_only, *entry = _row(self._connection, statement("ledger", "read_session", **self._parts))
        if read_only:
            raise TakesNoWritesError("the server is a standby, which takes no writes", "name a primary")
        return Entry(*entry)

    def server_ns(self) -> int:
        with self._guard():
            return int(_row(self._connection, statement("ledger", "clock"))[0])

    def checkpoint(self) -> None:
        with self._guard():
            self._connection.execute(statement("ledger", "checkpoint"))

    def cut(self) -> None:
        cut_off(self._connection)

    def _guard(self) -> AbstractContextManager[None]:
        return report_as(f"session {self._session} was lost")


def _repeats(connection: Connection) -> sql.Literal:
    block_size = _row(connection, statement("ledger", "block_size"))[0]
    return sql.Literal(int(block_size * _TEXT_SHARE) // _DIGITS)


def _row(connection: Connection, text: Query) -> tuple[Any, ...]:
    row: tuple[Any, ...] | None = connection.execute(text).fetchone()
    if row is None:
        raise SlobError("the server gave no answer")
    return row


def _complaint(connection: Connection, text: Query, what: str) -> Iterator[str]:
    """Yield the server's complaint about damaged data; other errors are errors."""
    try:
        with connection.transaction():
            connection.execute(text).fetchall()
    except _DAMAGED as error:
        yield f"{what}: {explain_error(error)}"
