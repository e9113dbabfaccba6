"""Connections: statements of our .sql files on them, and how they reach the server."""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import Any, TypeVar

import psycopg
from psycopg import sql
from psycopg.abc import PQGen

from openslob.core.errors import SlobError
from openslob.engines.patience import POLL_S, Watch
from openslob.engines.peer_process import is_unix
from openslob.engines.postgresql import PACKAGE
from openslob.engines.postgresql.errors import explain_error, find_time_limit
from openslob.engines.sql import read_statements

Connection = psycopg.Connection[Any]
# How often a session wakes up while it waits.
WAIT_INTERVAL_S = 2.0
# How long the server may take to accept that a statement is cancelled which is no longer waited for.
_CANCEL_S = 0.5
_ENDS_IDLE_SINCE = 140000
# From this version on the server shows what it counted at once.
PROMPT_SINCE = 150000
_T = TypeVar("_T")

# A pooler that uses its server processes in turns gives another one to the second query; the others make sure.
_QUERIES = 4
REMEDY = "connect to the server itself, to a pool in session mode, or with --loop client and --direct URL of the server"


class PatientPsycopg(psycopg.Connection[Any]):
    """Waits for the server as its ``watch`` says.

    A session has none. It waits without waking up ten times a second, as psycopg does so that Ctrl-C raises at once:
    with hundreds of sessions that would be most of the driver's CPU. The session pool ends its waits.
    """

    watch: Watch | None = None

    def wait(self, gen: PQGen[_T], interval: float = WAIT_INTERVAL_S, timeout: float | None = None) -> _T:
        """Wait for ``gen``; SlobError when the wait must end, which closes the connection."""
        if self.watch is None:
            return super().wait(gen, max(interval, WAIT_INTERVAL_S), timeout)
        try:
            return super().wait(_watch(gen, self.watch), POLL_S, timeout)
        except SlobError:
            with suppress(psycopg.Error):
                self.cancel_safe(timeout=_CANCEL_S)
            self.close()
            raise


def _watch(gen: PQGen[_T], watch: Watch) -> PQGen[_T]:
    """Do the same as ``gen``, and look after each interval without an answer whether to go on."""
    try:
        state = next(gen)
        check = watch.begin()
        while True:
            ready = yield state
            if not ready:
                check()
            state = gen.send(ready)
    except StopIteration as end:
        result: _T = end.value
        return result


def override_defaults(connection: Connection, always: bool = True) -> None:
    """Set what our statements rely on, whatever role, database or server set for applications.

    Not ``always`` before a pooler that shares its connections is ruled out: it would hand the settings on to others.
    """
    values = {"always": always, "pid": connection.info.backend_pid}
    connection.execute(read_statements(PACKAGE, "connection")["own"], values)


def restore_path(connection: Connection) -> None:
    """Set the search_path that the role has."""
    connection.execute(read_statements(PACKAGE, "connection")["path_of_role"], {"pid": connection.info.backend_pid})


def find_limit_option(error: BaseException | None, version: int) -> str:
    """Return the option that keeps a time limit from ending a new connection's first statement, as it ended this one's.

    Empty for any other error. What the server said may be lost where it ended an idle connection.
    """
    limit = find_time_limit(error) if isinstance(error, psycopg.Error) else ""
    if isinstance(error, psycopg.errors.QueryCanceled) and not limit:
        # A limit that ends as a statement does cancels the next one, and the server no longer knows why.
        limit = "statement_timeout"
    if isinstance(error, psycopg.OperationalError) and "server closed the connection" in str(error):
        limit = "idle_session_timeout" if version >= _ENDS_IDLE_SINCE else ""
    return f"-c {limit}=0" if limit else ""


def cut_off(connection: Connection) -> None:
    """Break a connection off that another thread uses, without asking the server. Never raises.

    To close it here would free memory that is in use. So only the socket is shut down, which that thread sees as a lost
    connection.
    """
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as shared:
        shared.shutdown(socket.SHUT_RDWR)


class LockConnection:
    """An idle connection whose end is noticed without a question to the server; ``what`` names what it holds."""

    def __init__(self, connection: Connection, what: str) -> None:
        self._connection = connection
        self._what = what
        self._said = ""
        connection.add_notice_handler(self._note)

    def _note(self, message: psycopg.errors.Diagnostic) -> None:
        self._said = message.message_primary or ""

    def require(self) -> None:
        """Raise SlobError when the server, or the network, has ended the connection."""
        try:
            readable = select.poll()
            readable.register(self._connection.fileno(), select.POLLIN)
            if readable.poll(0):
                self._connection.pgconn.consume_input()
                # Looks at what came: the server's last words.
                self._connection.pgconn.is_busy()
        except psycopg.Error as error:
            self._said = self._said or explain_error(error)
            raise SlobError(f"{self._what} was lost: {self._said}", "the server's log may say who ended it") from error


def statement(file: str, name: str, **parts: sql.Composable) -> sql.Composed:
    """Return a statement of one of our .sql files with its identifiers and literals filled in."""
    return sql.SQL(read_statements(PACKAGE, file)[name]).format(**parts)


def transport(connection: psycopg.Connection[Any], direct: bool) -> str:
    """Return unix socket, TCP, or TLS with version and cipher; ``direct``: the server itself is at the other end.

    Behind a pooler the server reports on another connection, so only the use of TLS is known.
    """
    if not connection.pgconn.ssl_in_use:
        return "unix socket" if is_unix(connection.fileno()) else "TCP, not encrypted"
    row = connection.execute(read_statements(PACKAGE, "facts")["transport"]).fetchone() if direct else None
    return f"{row[0]}, {row[1]}" if row else "TLS"


class Pooling(StrEnum):
    """The connection pooler between us and the server, by its mode."""

    NONE = "none"
    SESSION = "session mode"
    TRANSACTION = "transaction or statement mode"


def backend_pid(connection: Connection) -> int:
    """Return the id of the server process that answers this connection now, as it reports itself."""
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    return int(row[0]) if row else 0


def detect(connection: Connection, connect: Callable[[], Connection]) -> Pooling:
    """Return the pooler of ``connection``, which must be in autocommit mode; ``connect`` opens another one like it."""
    pid = backend_pid(connection)
    if pid == connection.info.backend_pid:
        return Pooling.NONE
    with connect() as other:
        return Pooling.TRANSACTION if _shares(connection, pid, other) else Pooling.SESSION


def _shares(connection: Connection, pid: int, other: Connection) -> bool:
    """Return whether one process serves two open connections, or several processes serve one of them."""
    try:
        with other.transaction():
            if backend_pid(other) == pid or backend_pid(connection) != pid:
                return True
    except psycopg.errors.ProtocolViolation:
        return True  # statement mode has no transactions
    return any(backend_pid(connection) != pid for _ in range(_QUERIES))


def why_not(target: str) -> str:
    """Return why nothing is measured through a pooler that shares sessions."""
    return f"{target} is a connection pooler in {Pooling.TRANSACTION}: the settings and locks of a session are not kept"


def require_sessions(connection: Connection, connect: Callable[[], Connection], target: str) -> None:
    """Raise SlobError when a pooler does not keep sessions between transactions."""
    if detect(connection, connect) is Pooling.TRANSACTION:
        raise SlobError(why_not(target), REMEDY)
