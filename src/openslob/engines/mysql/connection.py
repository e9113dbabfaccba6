"""Connections to a server: the parameters in a target URL, connecting, and statements of our .sql files."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

import pymysql
from pymysql.cursors import DictCursor

from openslob.engines.base import CANCEL_S
from openslob.engines.mysql.errors import reported
from openslob.engines.mysql.names import DEFAULT_DATABASE
from openslob.engines.sql import read_statements
from openslob.errors import SlobError, UsageError
from openslob.secrets import redact_url, require_target

DEFAULT_PORT = 3306
# The variable and the file that the server's own clients read.
PASSWORD_VARIABLE = "MYSQL_PWD"
_OPTION_FILE = Path("~/.my.cnf")
_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")

PACKAGE = "openslob.engines.mysql"
APPLICATION = "slob"
CONNECT_TIMEOUT_S = 10
Connection: TypeAlias = "pymysql.connections.Connection[DictCursor]"
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
class ConnectionParams:
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


def parse(url: str) -> ConnectionParams:
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
    return ConnectionParams(shown, database, {k: v for k, v in arguments.items() if v})


def _parameter(name: str, text: str) -> tuple[str, object]:
    if name not in _PARAMETERS:
        raise UsageError(f"the target's parameter {name!r} is not known", f"known are {', '.join(_PARAMETERS)}")
    try:
        return name, _PARAMETERS[name](text)
    except ValueError:
        raise UsageError(f"the target's parameter {name} can't be understood", "give yes or no, or a number") from None


def open_connection(params: ConnectionParams, purpose: str) -> Connection:
    """Open a connection in autocommit mode that names its purpose, where the server keeps such names."""
    arguments = {"connect_timeout": CONNECT_TIMEOUT_S, **params.arguments}
    failure = f"can't connect to {params.shown}"
    with reported(failure), _local_errors(failure):
        return pymysql.connect(
            **arguments,
            autocommit=True,
            charset="utf8mb4",
            cursorclass=DictCursor,
            program_name=f"{APPLICATION}/{purpose}",
        )


@contextmanager
def _local_errors(failure: str) -> Iterator[None]:
    """Turn errors of the driver's host into SlobErrors: files for TLS; a password without TLS needs `cryptography`."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise SlobError(f"{failure}: files for TLS can't be used: {why}", "see ssl_ca, ssl_cert, ssl_key") from error
    except RuntimeError as error:
        why = "the server asks for the password, and there is no TLS to send it through"
        raise SlobError(f"{failure}: {why}", "use TLS (no ssl_disabled in the URL) or unix_socket") from error


def query(connection: Connection, text: str, values: Mapping[str, object] | None = None) -> Sequence[Row]:
    """Execute a statement; return all rows of its result, none if it has no result."""
    with connection.cursor() as cursor:
        cursor.execute(text, values)
        return cursor.fetchall()


def statement(file: str, name: str, **identifiers: object) -> str:
    """Return a statement of one of our .sql files with its quoted names filled in."""
    return read_statements(PACKAGE, file)[name].format(**identifiers)


def is_on(connection: Connection, variable: str) -> bool:
    """Return whether a setting is on; False for a setting that this product does not have."""
    try:
        return bool(query(connection, f"SELECT @@{variable} AS its_on")[0]["its_on"])
    except pymysql.Error:
        return False


def cancel(params: ConnectionParams, connection_id: int) -> None:
    """End another connection and what it does. pymysql.Error when the server no longer answers.

    KILL QUERY would keep the connection, but has no effect on a procedure between two of its statements.
    """
    limits = {"connect_timeout": CANCEL_S, "read_timeout": CANCEL_S, "write_timeout": CANCEL_S}
    with pymysql.connect(**{**params.arguments, **limits}) as other:
        other.cursor().execute("KILL CONNECTION %s", (connection_id,))


def own_socket(connection: Connection) -> socket.socket:
    """Return the socket of the connection, which PyMySQL does not expose. AttributeError once it is closed."""
    own = connection._sock  # type: ignore[attr-defined]
    if own is None:
        raise AttributeError("the connection is closed")
    assert isinstance(own, socket.socket)
    return own


def file_descriptor(connection: Connection) -> int:
    """Return the file descriptor of the connection's socket."""
    return own_socket(connection).fileno()


def thread_id(connection: Connection) -> int:
    """Return the server's number of a connection."""
    return int(connection.thread_id())  # type: ignore[no-untyped-call]
