"""Connections to a server, and statements of our .sql files on them."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import pymysql
from pymysql.cursors import DictCursor

from openslob.engines.mysql.dsn import Place
from openslob.engines.mysql.errors import reported
from openslob.engines.sql import read_statements
from openslob.errors import SlobError

PACKAGE = "openslob.engines.mysql"
APPLICATION = "slob"
CONNECT_TIMEOUT_S = 10
# A stopped server lets its kernel accept connections all the same, and says nothing.
_CANCEL_S = 5
Connection: TypeAlias = "pymysql.connections.Connection[DictCursor]"
Row = Mapping[str, Any]


def open_connection(place: Place, purpose: str) -> Connection:
    """One more connection, in autocommit mode, that names its purpose where the server keeps such names."""
    arguments = {"connect_timeout": CONNECT_TIMEOUT_S, **place.arguments}
    failure = f"can't connect to {place.shown}"
    with reported(failure), _prepared(failure):
        return pymysql.connect(
            **arguments,
            autocommit=True,
            charset="utf8mb4",
            cursorclass=DictCursor,
            program_name=f"{APPLICATION}/{purpose}",
        )


@contextmanager
def _prepared(failure: str) -> Iterator[None]:
    """The library raises what it lacks as it comes: files, and for a password without TLS `cryptography`."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise SlobError(f"{failure}: files for TLS can't be used: {why}", "see ssl_ca, ssl_cert, ssl_key") from error
    except RuntimeError as error:
        why = "the server wants the password, and there is no TLS to send it through"
        raise SlobError(f"{failure}: {why}", "use TLS (no ssl_disabled in the URL) or unix_socket") from error


def ask(connection: Connection, text: str, values: Mapping[str, object] | None = None) -> Sequence[Row]:
    """All rows of a statement's result; none of one that has no result."""
    with connection.cursor() as cursor:
        cursor.execute(text, values)
        return cursor.fetchall()


def statement(file: str, name: str, **identifiers: object) -> str:
    """A statement of one of our .sql files with its quoted names put in."""
    return read_statements(PACKAGE, file)[name].format(**identifiers)


def is_on(connection: Connection, variable: str) -> bool:
    """Whether a setting is on; one that this product does not have is not."""
    try:
        return bool(ask(connection, f"SELECT @@{variable} AS its_on")[0]["its_on"])
    except pymysql.Error:
        return False


def cancel(place: Place, connection_id: int) -> None:
    """End what another connection does, and the connection. pymysql.Error when the server no longer answers.

    KILL QUERY would leave the connection, but is forgotten when it meets a procedure between two of its statements.
    """
    limits = {"connect_timeout": _CANCEL_S, "read_timeout": _CANCEL_S, "write_timeout": _CANCEL_S}
    with pymysql.connect(**{**place.arguments, **limits}) as other:
        other.cursor().execute("KILL CONNECTION %s", (connection_id,))


def own_socket(connection: Connection) -> socket.socket:
    """Our end of the connection, which the driver library has no public name for; AttributeError once it is closed."""
    ours = connection._sock  # type: ignore[attr-defined]
    if ours is None:
        raise AttributeError("the connection is closed")
    assert isinstance(ours, socket.socket)
    return ours


def handle(connection: Connection) -> int:
    """The file descriptor of our end."""
    return own_socket(connection).fileno()


def thread_id(connection: Connection) -> int:
    """The server's number for a connection."""
    return int(connection.thread_id())  # type: ignore[no-untyped-call]
