"""A statement that is executed many times, by calls of libpq itself, which cost less than psycopg's cursors.

The driver runs on the server's CPUs, between operations that have emptied the caches: there one small result took
390 µs of CPU by a cursor, and 160 µs by this module.
"""

from __future__ import annotations

import select
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import psycopg
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from openslob.engines.patience import POLL_S, Watch

# Bytes, or None for NULL.
Row = tuple[Any, ...]


class PlainStatement:
    """One statement of a connection in autocommit mode; its parameters are ``$1`` …, all values are text.

    With a ``name`` the statement is prepared under that name. psycopg.Error when it fails. Only one thread at a time
    may use the statement and its connection.
    """

    def __init__(self, connection: psycopg.Connection[Any], text: bytes, name: bytes = b"") -> None:
        self._pgconn = connection.pgconn
        # Without a watch, as a session's connection, it waits until its connection is cut.
        self._watch: Watch | None = getattr(connection, "watch", None)
        self._poll_ms = None if self._watch is None else POLL_S * 1000
        readable = select.poll()
        readable.register(connection.fileno(), select.POLLIN)
        self._wait = readable.poll
        if name:
            self._pgconn.send_prepare(name, text)
            self._result(ExecStatus.COMMAND_OK)
            self._send = partial(self._pgconn.send_query_prepared, name)
        else:
            self._send = partial(self._pgconn.send_query_params, text)

    def rows(self, *values: bytes) -> list[Row]:
        """Execute it; return all rows of its result."""
        self._send(values)
        result = self._result(ExecStatus.TUPLES_OK)
        columns = range(result.nfields)
        return [tuple([result.get_value(row, column) for column in columns]) for row in range(result.ntuples)]

    def row(self, *values: bytes) -> dict[str, Any]:
        """Execute it; return the first row of its result by column, empty when there is none."""
        self._send(values)
        result = self._result(ExecStatus.TUPLES_OK)
        columns = range(result.nfields if result.ntuples else 0)
        return {(result.fname(column) or b"").decode(): result.get_value(0, column) for column in columns}

    def _result(self, expected: ExecStatus) -> PGresult:
        """Return the result of the statement that was sent."""
        while self._pgconn.flush():
            self._wait_until_writable()
        result = self._next()
        if result is None or result.status != expected:
            with suppress(psycopg.Error):  # the server is gone: the first error is the one to report
                self._finish()
            raise error_from_result(result) if result else psycopg.OperationalError("the server gave no answer")
        self._finish()
        return result

    def _finish(self) -> None:
        """Read to the end: libpq says only when asked for the next result that there is none."""
        while self._next() is not None:
            pass

    def _next(self) -> PGresult | None:
        """Wait for the next result and return it; None when there are no more."""
        pgconn, check = self._pgconn, None
        while pgconn.is_busy():
            if self._wait(self._poll_ms):
                pgconn.consume_input()
            elif self._watch is not None:
                check = self._check_wait(self._watch, check)
        return pgconn.get_result()

    def _check_wait(self, watch: Watch, check: Callable[[], None] | None) -> Callable[[], None]:
        """Raise SlobError when the wait must end; return what checks it.

        The connection is then of no more use: an answer that comes later would be taken for that of the next statement.
        """
        try:
            check = check or watch.begin(POLL_S)
            check()
        except BaseException:
            self._pgconn.finish()
            raise
        return check

    def _wait_until_writable(self) -> None:
        writable = select.poll()
        writable.register(self._pgconn.socket, select.POLLOUT)
        writable.poll()
