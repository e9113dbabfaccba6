"""Connections to a server, and statements of our .sql files on them."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import pymysql
from pymysql.cursors import DictCursor

from openslob.engines.mysql.dsn import ConnectionParams
from openslob.engines.mysql.errors import reported
from openslob.engines.sql import read_statements
from openslob.errors import SlobError

PACKAGE = "openslob.engines.mysql"
APPLICATION = "slob"
CONNECT_TIMEOUT_S = 10
# A server that is stopped (SIGSTOP) does not answer, while its kernel still accepts connections.
_CANCEL_S = 5
Connection: TypeAlias = "pymysql.connections.Connection[DictCursor]"
Row = Mapping[str, Any]


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
    limits = {"connect_timeout": _CANCEL_S, "read_timeout": _CANCEL_S, "write_timeout": _CANCEL_S}
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
