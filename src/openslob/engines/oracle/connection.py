"""Connections to a server: logging on, waiting for answers, and statements of our .sql files."""

from __future__ import annotations

import gc
import select
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Self, TypeVar

import oracledb

from openslob.core.errors import SlobError
from openslob.engines.oracle.errors import explain_error, find_remedy, is_gone, is_missing, lacks_right, report_as
from openslob.engines.oracle.target import APPLICATION, ConnectParams
from openslob.engines.patience import AT_ONCE_S, POLL_S, NoAnswerError, Patience, Watch
from openslob.engines.sql import read_statements

PACKAGE = "openslob.engines.oracle"
# How long a log-on may take: with hundreds of sessions the server makes as many processes at once.
LOG_ON_S = 30.0
# How long the server may take to say goodbye, in ms.
_CLOSE_MS = 1000
# Most results have fewer rows.
_ROWS = 500
_MOST_OBJECTS = 2000
# Oracle's client libraries are loaded once a process.
_loading = Lock()
Row = Mapping[str, Any]
_Found = TypeVar("_Found")


class Connection:
    """One connection. With a watch, its waits end when that says so: with SlobError, and then it is closed.

    The library waits in a way that nothing but an answer ends, so that a watched statement runs on a thread of its own.
    """

    def __init__(self, raw: oracledb.Connection, watch: Watch | None = None) -> None:
        self.raw = raw
        self._watch = watch
        self._socket = _find_socket(raw)
        self._worker = _Worker() if watch else None
        self._ended_by: SlobError | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def session_id(self) -> int:
        """The server's number of this session (SID). In thick mode the library does not say it."""
        if self.raw.thin:
            return int(self.raw.session_id)
        return int(query(self, read_statements(PACKAGE, "session")["own_number"])[0]["sid"])

    @property
    def instance(self) -> str:
        """The instance that the session landed on, as log-on said; empty when it did not say."""
        return self.raw.instance_name or ""

    @property
    def warning(self) -> str:
        """What the server warned of when it let us in, such as a password that expires soon; empty for nothing."""
        return explain_error(self.raw.warning) if self.raw.warning else ""

    @property
    def version(self) -> tuple[int, ...]:
        """The server's version, such as (19, 3, 0, 0, 0)."""
        return tuple(int(part) for part in self.raw.version.split("."))

    @property
    def own_socket(self) -> socket.socket | None:
        """The socket of this end; None in thick mode, where nothing but the client library has it."""
        return self._socket

    def call(self, act: Callable[[], _Found]) -> _Found:
        """Return what ``act`` does on the raw connection, however long it takes, within the limits of the watch."""
        if self._ended_by:
            raise self._ended_by
        if self._worker is None or self._watch is None:
            return act()
        future, check = self._worker.submit(act), None
        while not futures.wait([future], POLL_S).done:
            try:
                check = check or self._watch.begin(POLL_S)
                check()
            except SlobError as error:
                self._end(future, error)
                raise
        return future.result()

    def _end(self, future: Future[Any], error: SlobError) -> None:
        """Let nobody use the connection again; the server is asked to end the statement, and is not waited for."""
        self._ended_by = error
        self.cancel()
        with suppress(oracledb.Error, TimeoutError):
            future.result(AT_ONCE_S)
        self.cut()

    @property
    def takes_cancel(self) -> bool:
        """Whether a statement can be cancelled.

        Not with TLS: one thread would write what another one reads, which OpenSSL does not allow.
        """
        return not isinstance(self._socket, ssl.SSLSocket)

    def cancel(self) -> bool:
        """Ask the server to end the running statement, from another thread; return whether that could be sent."""
        # The library crashes the process when it is asked this on a connection that was lost.
        if not self.takes_cancel or not self.raw.is_healthy():
            return False
        try:
            self.raw.cancel()
        except (oracledb.Error, OSError):
            return False
        return True

    def cut(self) -> None:
        """Break the connection off from this side; what waits for an answer fails. Never raises.

        In thick mode nothing but the client library has the socket, so there it has no effect.
        """
        with suppress(OSError):
            if self._socket is not None:
                # Not the method of a socket with TLS, which takes the encryption off.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def is_lost(self) -> bool:
        """Return whether an idle connection was ended; nothing is sent to find out."""
        if self._ended_by or not self.raw.is_healthy():
            return True
        if self._socket is None:
            return False
        readable = select.poll()
        readable.register(self._socket, select.POLLIN)
        return bool(readable.poll(0))

    def close(self) -> None:
        """Close the connection; never raises. A server that is no longer waited for gets no goodbye."""
        try:
            if self._watch:
                self._watch.begin()
            if not self._ended_by and self.raw.is_healthy():  # as in `cancel`
                self.raw.call_timeout = _CLOSE_MS
                self.call(self.raw.close)
        except (oracledb.Error, OSError, SlobError):
            self.cut()
        if self._worker:
            self._worker.end()


class _Worker:
    """A thread for the statements of one connection.

    In thick mode nothing ends a statement that hangs. An executor's thread would keep this process from ending then.
    """

    def __init__(self) -> None:
        self._orders = SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]()
        Thread(target=self._work, name="statement", daemon=True).start()

    def submit(self, act: Callable[[], _Found]) -> Future[_Found]:
        """Let the thread do this after what it does now; return what comes of it."""
        future = Future[_Found]()
        self._orders.put((future, act))
        return future

    def end(self) -> None:
        """Let the thread end, without waiting for it."""
        self._orders.put(None)

    def _work(self) -> None:
        while order := self._orders.get():
            future, act = order
            try:
                future.set_result(act())
            except BaseException as error:
                future.set_exception(error)


def _find_socket(raw: oracledb.Connection) -> socket.socket | None:
    """Return the socket of a connection, which the library does not expose; None in thick mode.

    It is among the few dozen objects that the connection refers to; `_MOST_OBJECTS` are looked at.
    """
    if not raw.thin:
        return None
    waiting, seen = [getattr(raw, "_impl", None)], set[int]()
    while waiting and len(seen) < _MOST_OBJECTS:
        found = waiting.pop(0)
        if isinstance(found, socket.socket):
            return found
        if id(found) not in seen and not isinstance(found, type):
            seen.add(id(found))
            waiting.extend(gc.get_referents(found))
    return None


def _require_mode(params: ConnectParams) -> None:
    """Load the client libraries if the target asks for them. oracledb.Error when that fails.

    There is no way back: from then on, every connection of this process uses them.
    """
    if not params.thick:
        return
    with _loading:
        if oracledb.is_thin_mode():
            oracledb.init_oracle_client(lib_dir=params.lib_dir, config_dir=params.arguments.get("config_dir"))


def open_connection(
    params: ConnectParams, purpose: str, watch: Watch | None = None, sysdba: bool = False
) -> Connection:
    """Open a connection in autocommit mode that names its purpose. Without a watch a statement may take any time."""
    failure = f"can't connect to {params.shown}"
    with report_as(failure), _report_local_errors(failure):
        _require_mode(params)
        raw = _log_on(params, sysdba)
        raw.autocommit = True
        # Both go with the next statement.
        raw.module, raw.action = APPLICATION, purpose
        return Connection(raw, watch)


def _log_on(params: ConnectParams, sysdba: bool) -> oracledb.Connection:
    """Connect, and wait no longer than `LOG_ON_S` for the log-on: the library does not limit it."""
    patience = Patience()
    patience.allow(max(LOG_ON_S, params.arguments["tcp_connect_timeout"]))
    arguments = {**params.arguments, **({"mode": oracledb.AUTH_MODE_SYSDBA} if sysdba else {})}
    try:
        return patience.connect(lambda: oracledb.connect(**arguments), lambda late: late.close())
    except NoAnswerError as error:
        remedy = "the server hangs, or its listener does; a port that expects TLS needs oracles://"
        raise NoAnswerError(f"can't connect to {params.shown}: {error.what}", remedy) from error


@contextmanager
def _report_local_errors(failure: str) -> Iterator[None]:
    """Turn errors of this host, which the library passes on as they are, into one line that begins with ``failure``."""
    try:
        yield
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SlobError(f"{failure}: {why}", find_remedy((), why)) from error


def require_alive(connection: Connection, what: str) -> None:
    """Raise SlobError when an idle connection was ended; nothing is sent to find out."""
    if connection.is_lost():
        remedy = "an administrator, the server's end or the network ended it; the server's alert log may say which"
        raise SlobError(f"{what} was lost: its connection was ended", remedy)


def query(connection: Connection, text: str, values: Mapping[str, object] | None = None) -> Sequence[Row]:
    """Execute a statement; return all rows of its result by lower-case column name, none if it has no result."""

    def act() -> list[Row]:
        with connection.raw.cursor() as cursor:
            # The rows of most statements come with the answer to the statement itself.
            cursor.arraysize, cursor.prefetchrows = _ROWS, _ROWS + 1
            cursor.execute(text, dict(values or {}))
            if cursor.description is None:
                return []
            names = [column[0].lower() for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    return connection.call(act)


def query_if_visible(
    connection: Connection, text: str, values: Mapping[str, object] | None = None
) -> Sequence[Row] | None:
    """Return the rows of a query; None when a table or view is not there, or this user may not see it."""
    try:
        return query(connection, text, values)
    except oracledb.DatabaseError as error:
        if is_missing(error):
            return None
        raise


def change(connection: Connection, text: str, values: Mapping[str, object] | None = None) -> int:
    """Execute a statement that changes rows; return how many."""

    def act() -> int:
        with connection.raw.cursor() as cursor:
            cursor.execute(text, dict(values or {}))
            return int(cursor.rowcount)

    return connection.call(act)


def execute_allowed(connection: Connection, *statements: tuple[str, Mapping[str, object]]) -> None:
    """Execute the first of these statements, with their values, that this user may. If none, the first one's error."""
    refusals = []
    for text, values in statements:
        try:
            query(connection, text, values)
        except oracledb.DatabaseError as error:
            if not lacks_right(error):
                raise
            refusals.append(error)
        else:
            return
    raise refusals[0]


def drop(connection: Connection, kind: str, name: str) -> None:
    """Drop a table or a procedure, if it is there: somebody else may have been faster."""
    try:
        query(connection, statement("schema", f"drop_{kind}", **{kind: name}))
    except oracledb.DatabaseError as error:
        if not is_gone(error):
            raise


def execute_block(
    connection: Connection, text: str, kinds: Mapping[str, Any], values: Mapping[str, object] | None = None
) -> Row:
    """Execute a PL/SQL block; return the values of its OUT binds. ``kinds`` are their types by name."""

    def act() -> Row:
        with connection.raw.cursor() as cursor:
            found = {name: cursor.var(kind) for name, kind in kinds.items()}
            cursor.execute(text, {**(values or {}), **found})
            return {name: variable.getvalue() for name, variable in found.items()}

    return connection.call(act)


def statement(file: str, name: str, **identifiers: object) -> str:
    """Return a statement of one of our .sql files with its identifiers filled in."""
    return read_statements(PACKAGE, file)[name].format(**identifiers)
