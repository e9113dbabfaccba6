"""Whether a connection pooler stands between us and the server, and whether it lets a session be one.

A pooler answers for the server when a client connects, and invents the process number that is told then; the server
itself tells the true one. In transaction (or statement) mode each transaction may get another server process, so that
settings, locks and the random generator of a session are somebody else's a moment later.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import psycopg

from openslob.errors import SlobError

Connection = psycopg.Connection[Any]
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
