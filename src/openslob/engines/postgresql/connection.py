"""Connections: statements of our .sql files on them, and how they reach the server."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import psycopg
from psycopg import sql

from openslob.engines.peer_process import is_unix
from openslob.engines.sql import read_statements
from openslob.errors import SlobError

PACKAGE = "openslob.engines.postgresql"
Connection = psycopg.Connection[Any]


def statement(file: str, name: str, **parts: sql.Composable) -> sql.Composed:
    """Return a statement of one of our .sql files with its identifiers and literals filled in."""
    return sql.SQL(read_statements(PACKAGE, file)[name]).format(**parts)


def transport(connection: psycopg.Connection[Any], direct: bool) -> str:
    """Unix socket, plain TCP, or TLS with what was agreed on; ``direct``: the server itself is at the other end.

    Behind a pooler the server tells of another connection, so that nothing but TLS itself is known of ours.
    """
    if not connection.pgconn.ssl_in_use:
        return "unix socket" if is_unix(connection.fileno()) else "TCP, not encrypted"
    row = connection.execute(read_statements(PACKAGE, "facts")["transport"]).fetchone() if direct else None
    return f"{row[0]}, {row[1]}" if row else "TLS"


# A pooler that hands its server processes out in turns gives another one by the second question; some are for luck.
QUESTIONS = 4
REMEDY = "connect to the server itself, or to a pool in session mode"


class Pooling(StrEnum):
    """What stands between."""

    NONE = "none"
    SESSION = "session mode"
    TRANSACTION = "transaction or statement mode"


def backend_pid(connection: Connection) -> int:
    """The process of the server that answers this connection now, by its own word."""
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    return int(row[0]) if row else 0


def detect(connection: Connection, connect: Callable[[], Connection]) -> Pooling:
    """How ``connection``, which must be in autocommit mode, gets to its server; ``connect`` opens one like it."""
    pid = backend_pid(connection)
    if pid == connection.info.backend_pid:
        return Pooling.NONE
    with connect() as other:
        return Pooling.TRANSACTION if _shares(connection, pid, other) else Pooling.SESSION


def _shares(connection: Connection, pid: int, other: Connection) -> bool:
    """Whether two connections at once are served by one process, or one of them by several."""
    try:
        with other.transaction():
            if backend_pid(other) == pid or backend_pid(connection) != pid:
                return True
    except psycopg.errors.ProtocolViolation:
        return True  # statement mode has no transactions
    return any(backend_pid(connection) != pid for _ in range(QUESTIONS))


def why_not(target: str) -> str:
    """Why nothing is measured through a pooler that shares sessions."""
    return f"{target} is a connection pooler in {Pooling.TRANSACTION}: the settings and locks of a session are not kept"


def require_sessions(connection: Connection, connect: Callable[[], Connection], target: str) -> None:
    """SlobError when sessions are not kept between transactions."""
    if detect(connection, connect) is Pooling.TRANSACTION:
        raise SlobError(why_not(target), REMEDY)
