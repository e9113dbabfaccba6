"""Connections to a server: the parameters in a target URL, connecting, and statements of our .sql files."""

from __future__ import annotations

import errno
import io
import os
import select
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

import pymysql
from pymysql.constants import CLIENT, CR, ER
from pymysql.cursors import DictCursor

from openslob.core.errors import SlobError, UsageError, of_the_system
from openslob.core.secrets import redact_url, require_target
from openslob.engines.base import CANCEL_S
from openslob.engines.mysql.errors import explain_error, ignoring, report_as
from openslob.engines.mysql.names import DEFAULT_DATABASE
from openslob.engines.patience import POLL_S, Watch
from openslob.engines.sql import read_statements

DEFAULT_PORT = 3306
# The variable and the file that the server's own clients read.
PASSWORD_VARIABLE = "MYSQL_PWD"
_OPTION_FILE = Path("~/.my.cnf")
_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")

PACKAGE = "openslob.engines.mysql"
APPLICATION = "slob"
# A server that is stopped (SIGSTOP) does not answer, while its kernel still accepts connections.
CONNECT_TIMEOUT_S = 10
# How long the server may take to accept that a statement is ended which is no longer waited for.
_KILL_S = 0.5
_BUFFER_BYTES = 64 * 1024
# The handshake has this many bits of a connection's number.
_NUMBER_BITS = 32
Connection: TypeAlias = "pymysql.connections.Connection[DictCursor]"
if TYPE_CHECKING:
    _Base = pymysql.connections.Connection[DictCursor]
else:  # only the description of the library's types has a parameter
    _Base = pymysql.connections.Connection
Row = Mapping[str, Any]


def _truth(text: str) -> bool:
    if text.lower() not in (*_YES, *_NO):
        raise ValueError(text)
    return text.lower() in _YES


_PARAMETERS: Mapping[str, Callable[[str], object]] = {
    "unix_socket": str,
    "ssl_ca": str,
    "ssl_cert": str,
    "ssl_key": str,
    "ssl_disabled": _truth,
    "ssl_verify_cert": _truth,
    "ssl_verify_identity": _truth,
    "connect_timeout": int,
}


@dataclass(frozen=True)
class MysqlParams:
    """Parameters of a connection.

    ``arguments`` are those of PyMySQL, with the password, so they are never shown; ``shown`` is the target's name for
    messages and records.
    """

    shown: str
    database: str
    arguments: Mapping[str, Any] = field(repr=False)


def _option_file() -> Path | None:
    """Return the user's option file, if there is one."""
    try:
        file = _OPTION_FILE.expanduser()
    except RuntimeError:  # a user without a home, as in many containers
        return None
    return file if file.is_file() else None


def parse(url: str) -> MysqlParams:
    """Return the parameters in a ``mysql://`` or ``mariadb://`` URL. UsageError for a part that is not known."""
    require_target(url)
    try:
        parts = urlsplit(url)
        port = parts.port or DEFAULT_PORT
    except ValueError as error:
        raise UsageError(
            f"{redact_url(url)} is not a URL ({error})", "write mariadb://USER@HOST:PORT/DATABASE"
        ) from None
    given = dict(_parameter(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True))
    host, socket = parts.hostname or "localhost", given.get("unix_socket")
    password = unquote(parts.password) if parts.password is not None else os.environ.get(PASSWORD_VARIABLE)
    arguments = {"host": host, "port": port, "user": unquote(parts.username or ""), "password": password, **given}
    if option_file := _option_file():
        arguments["read_default_file"] = str(option_file)
    database = unquote(parts.path.lstrip("/")) or DEFAULT_DATABASE
    if "%" in database:
        raise UsageError(
            f"the database {database} has a % in its name, which the client library misreads", "use another"
        )
    shown = f"{socket or f'{host}:{port}'}/{database}"
    return MysqlParams(shown, database, {k: v for k, v in arguments.items() if v})


def _parameter(name: str, text: str) -> tuple[str, object]:
    if name not in _PARAMETERS:
        raise UsageError(f"the target's parameter {name!r} is not known", f"there are {', '.join(_PARAMETERS)}")
    try:
        return name, _PARAMETERS[name](text)
    except ValueError:
        raise UsageError(f"the target's parameter {name} can't be understood", "give yes or no, or a number") from None


class _Incoming(io.RawIOBase):
    """What the server sends: a socket with a time limit of `POLL_S`, of which one wait lasts as a watch says.

    The file that a socket makes of itself can't be read again after a time limit.
    """

    def __init__(self, source: socket.socket, watch: Watch) -> None:
        self._source = source
        self._watch = watch

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - any writable buffer
        receive = partial(self._source.recv_into, buffer)
        try:
            return _act_within(receive, self._watch)
        except BrokenPipeError:
            # Reading breaks no pipe: Python 3.13 takes what broke another connection of this thread for this one's.
            _forget_tls_errors()
            return _act_within(receive, self._watch)


def _forget_tls_errors() -> None:
    """Empty OpenSSL's list of this thread's errors: Python does so when it refuses ciphers."""
    with suppress(ssl.SSLError):
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).set_ciphers("none")


def _act_within(act: Callable[[], int], watch: Watch) -> int:
    """Return what ``act`` does on a socket, however long it takes, within the limits of the watch."""
    check = None
    while True:
        try:
            return act()
        except TimeoutError:
            check = check or watch.begin(POLL_S)
            check()


class DirectConnection(_Base):
    """A connection of PyMySQL, which forgets to close a Unix socket on which no server listens.

    It shares what TLS needs unless the target has files for it: PyMySQL reads all certificates of the system for
    each connection, and does not use them then. That was most of a driver's CPU when a thousand sessions connected.
    """

    _plain_tls: ClassVar[Any] = None

    def _create_ssl_ctx(self, sslp: Any) -> Any:  # noqa: ANN401
        if sslp:
            return super()._create_ssl_ctx(sslp)  # type: ignore[misc]
        if DirectConnection._plain_tls is None:
            DirectConnection._plain_tls = super()._create_ssl_ctx(sslp)  # type: ignore[misc]
        return DirectConnection._plain_tls

    def connect(self, sock: socket.socket | None = None) -> None:
        """Connect. pymysql.Error when that fails."""
        if sock is None and self.unix_socket:
            sock = self._unix_socket(str(self.unix_socket))
            self.host_info, self._secure = "Localhost via UNIX socket", True
        super().connect(sock)

    def close(self) -> None:
        """Close the connection; never raises, even if it is closed already."""
        with suppress(pymysql.Error):
            super().close()

    def _unix_socket(self, path: str) -> socket.socket:
        own = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        own.settimeout(self.connect_timeout)
        try:
            own.connect(path)
        except BaseException as error:
            own.close()
            if not isinstance(error, OSError):
                raise
            why = f"Can't connect to MySQL server on {self.host!r} ({error})"
            raise pymysql.OperationalError(CR.CR_CONN_HOST_ERROR, why) from error
        return own


class PatientPyMySQL(DirectConnection):
    """A connection whose waits end when its watch says so: with SlobError, and then it is closed.

    PyMySQL itself waits in a way that no signal ends, or up to a fixed time limit.
    """

    def __init__(self, watch: Watch, params: MysqlParams, **arguments: Any) -> None:  # noqa: ANN401 - PyMySQL's
        self._watch = watch
        self._params = params
        self._source: socket.socket | None = None
        self._incoming: io.BufferedReader | None = None
        self._ended_by: SlobError | None = None
        super().__init__(**arguments, read_timeout=POLL_S, write_timeout=POLL_S)

    def _execute_command(self, command: int, sql: str | bytes) -> None:
        if self._ended_by:
            raise self._ended_by
        super()._execute_command(command, sql)  # type: ignore[misc]

    def _read_bytes(self, num_bytes: int) -> bytes:
        with self._end_on_failure():
            own = own_socket(self)
            # TLS replaces the socket.
            if self._incoming is None or self._source is not own:
                self._source = own
                self._incoming = io.BufferedReader(_Incoming(own, self._watch), _BUFFER_BYTES)
            received = self._incoming.read(num_bytes)
            if len(received) < num_bytes:
                raise OSError("the server closed the connection")
            return received

    def _write_bytes(self, data: bytes) -> None:
        with self._end_on_failure():
            own, rest = own_socket(self), memoryview(data)
            own.settimeout(POLL_S)
            while rest:
                rest = rest[_act_within(partial(own.send, rest), self._watch) :]

    @contextmanager
    def _end_on_failure(self) -> Iterator[None]:
        """Close the connection when the block fails; after a wait was ended, what the server still does for it, too."""
        try:
            yield
        except OSError as error:
            self._force_close()  # type: ignore[attr-defined]
            why = f"Lost connection to MySQL server during query ({error})"
            raise pymysql.OperationalError(CR.CR_SERVER_LOST, why) from error
        except SlobError as error:
            self._ended_by = error
            self._force_close()  # type: ignore[attr-defined]
            # Before its greeting the server does nothing.
            with suppress(pymysql.Error, AttributeError):
                kill(self._params, thread_id(self), _KILL_S)
            raise


def open_connection(
    params: MysqlParams, purpose: str, watch: Watch | None = None, *, several: bool = False
) -> Connection:
    """Open a connection in autocommit mode that names its purpose, where the server keeps such names.

    Without a watch a statement may take any time. With ``several`` a text may have several statements.
    """
    failure = f"can't connect to {params.shown}"
    with report_as(failure), _local_errors(failure):
        arguments = {
            "connect_timeout": CONNECT_TIMEOUT_S,
            **params.arguments,
            "autocommit": True,
            "charset": "utf8mb4",
            "cursorclass": DictCursor,
            "program_name": f"{APPLICATION}/{purpose}",
        }
        if several:
            arguments["client_flag"] = CLIENT.MULTI_STATEMENTS
        if watch:
            return PatientPyMySQL(watch, params, **arguments)
        connection: Connection = DirectConnection(**arguments, read_timeout=CONNECT_TIMEOUT_S)
        connection._read_timeout = None  # type: ignore[attr-defined]  # noqa: SLF001 - PyMySQL lacks it
        return connection


def override_defaults(connection: Connection) -> None:
    """Set what our statements rely on, whatever the server sets for applications."""
    for name in ("memory", "own", "isolation"):
        query(connection, read_statements(PACKAGE, "session")[name])


def is_proxied(connection: Connection) -> bool:
    """Return whether a proxy is between: the server's number of the connection is not that of the handshake."""
    number = int(query(connection, statement("facts", "own_number"))[0]["number"])
    return number % (1 << _NUMBER_BITS) != thread_id(connection)


def require_alive(connection: Connection, what: str) -> None:
    """Raise SlobError when an idle connection was ended; nothing is sent to find out."""
    readable = select.poll()
    try:
        readable.register(file_descriptor(connection), select.POLLIN)
    except (AttributeError, ValueError) as error:
        raise SlobError(f"{what} was lost: {explain_error(error)}") from error
    if readable.poll(0):
        remedy = "an administrator, the server's end or the network ended it; the server's log may say which"
        raise SlobError(f"{what} was lost: its connection was ended", remedy)


@contextmanager
def _local_errors(failure: str) -> Iterator[None]:
    """Turn errors of the driver's host into SlobErrors: files for TLS; a password without TLS needs `cryptography`."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise of_the_system(error) from error
        why = error.strerror or str(error)
        raise SlobError(f"{failure}: files for TLS can't be used: {why}", "see ssl_ca, ssl_cert, ssl_key") from error
    except RuntimeError as error:
        why = "the server asks for the password, but the connection has no TLS to protect it"
        raise SlobError(f"{failure}: {why}", "use TLS (no ssl_disabled in the URL) or unix_socket") from error


def query(connection: Connection, text: str, values: Mapping[str, object] | None = None) -> Sequence[Row]:
    """Execute a statement; return all rows of its result, none if it has no result."""
    with connection.cursor() as cursor:
        cursor.execute(text, values)
        return cursor.fetchall()


def query_shown(connection: Connection, text: str) -> dict[str, str]:
    """Execute a statement such as SHOW VARIABLES; return the values that it shows by name."""
    return {row["Variable_name"]: row["Value"] for row in query(connection, text)}


def statement(file: str, name: str, **identifiers: object) -> str:
    """Return a statement of one of our .sql files with its quoted names filled in."""
    return read_statements(PACKAGE, file)[name].format(**identifiers)


def is_on(connection: Connection, variable: str) -> bool:
    """Return whether a setting is on; False for a setting that this product does not have."""
    with ignoring(ER.UNKNOWN_SYSTEM_VARIABLE):
        return bool(query(connection, f"SELECT @@{variable} AS its_on")[0]["its_on"])
    return False


def kill(params: MysqlParams, connection_id: int, seconds: float = CANCEL_S) -> None:
    """End another connection and what it does. pymysql.Error when the server does not answer in time.

    KILL QUERY would keep the connection, but has no effect on a procedure between two of its statements.
    """
    with open_limited(params, seconds) as other:
        other.cursor().execute("KILL CONNECTION %s", (connection_id,))


def open_limited(params: MysqlParams, seconds: float) -> Connection:
    """Open a connection that waits for no answer longer than this. pymysql.Error when the server does not answer."""
    limits = {"connect_timeout": seconds, "read_timeout": seconds, "write_timeout": seconds}
    return DirectConnection(**{**params.arguments, **limits}, cursorclass=DictCursor, autocommit=True)


def own_socket(connection: Connection) -> socket.socket:
    """Return the socket of the connection, which PyMySQL does not expose. AttributeError once it is closed."""
    own = connection._sock  # type: ignore[attr-defined]  # noqa: SLF001 - PyMySQL lacks it
    if own is None:
        raise AttributeError("the connection is closed")
    assert isinstance(own, socket.socket)
    return own


def file_descriptor(connection: Connection) -> int:
    """Return the file descriptor of the connection's socket."""
    return own_socket(connection).fileno()


def cut_off(connection: Connection) -> None:
    """Break a connection off that another thread uses, without asking the server. Never raises.

    Only the socket is shut down, which that thread sees as a lost connection.
    """
    with suppress(OSError, AttributeError), socket.socket(fileno=os.dup(file_descriptor(connection))) as shared:
        shared.shutdown(socket.SHUT_RDWR)


def thread_id(connection: Connection) -> int:
    """Return the server's number of a connection."""
    return int(connection.thread_id())  # type: ignore[no-untyped-call]
