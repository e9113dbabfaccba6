"""The table of our connections and their purposes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

import pymysql
from pymysql.constants import ER

from openslob.engines.mysql.connection import Connection, Row, is_on, query, statement
from openslob.engines.mysql.errors import code_of, ignoring
from openslob.engines.mysql.names import MysqlNames

_MISSING = (ER.NO_SUCH_TABLE, ER.BAD_DB_ERROR)
_DENIED = (ER.DBACCESS_DENIED_ERROR, ER.TABLEACCESS_DENIED_ERROR)


def make(connection: Connection, names: MysqlNames) -> None:
    """Create the table if it does not exist, and delete connections that have ended.

    A server that takes no writes gets it from its primary.
    """
    if not is_on(connection, "read_only"):
        query(connection, statement("connection_registry", "create", roster=names.roster()))
    _query(connection, names, "forget")


def enter(connection: Connection, names: MysqlNames, purpose: str) -> None:
    """Record the purpose of a connection."""
    _query(connection, names, "enter", purpose=purpose)


@contextmanager
def on_this_server(connection: Connection) -> Iterator[None]:
    """Keep changes in the block out of the binary log, where the user may: other servers' connections are others.

    A copy that logs a change of its own can't go on with those of its primary. It does so even where a table in memory
    is read for the first time after a restart: MariaDB then logs that it is empty.
    """
    try:
        query(connection, statement("connection_registry", "not_logged"))
    except pymysql.Error as error:
        if code_of(error) != ER.SPECIFIC_ACCESS_DENIED_ERROR:
            raise
        yield
        return
    try:
        yield
    finally:
        query(connection, statement("connection_registry", "logged"))


def if_there_is_one() -> AbstractContextManager[None]:
    """Ignore that there is no table yet, as before the first load, or that this user or this copy may not write it."""
    return ignoring(*_MISSING, *_DENIED, ER.OPTION_PREVENTS_STATEMENT)


def sessions(connection: Connection, names: MysqlNames, pattern: str) -> Sequence[int]:
    """Return the numbers of open connections whose purpose matches the LIKE pattern ``pattern``."""
    # A user without rights has no sessions; the check of rights says what to grant.
    with ignoring(*_MISSING, *_DENIED):
        return [row["connection"] for row in _query(connection, names, "sessions", purpose=pattern)]
    return []


def purposes(connection: Connection, names: MysqlNames) -> Mapping[int, str]:
    """Return the purpose of every open connection of ours, by its number: those of other drivers of a run as well.

    Nothing while somebody keeps the table locked: who asks this must not wait for it.
    """
    try:
        _query(connection, names, "impatient")
        rows = _query(connection, names, "sessions", purpose="%")
    except pymysql.Error:
        return {}
    return {row["connection"]: _in_words(row["purpose"]) for row in rows}


def _in_words(purpose: str) -> str:
    """Return the purpose of a connection as messages name it: that of a session ends with the session's number."""
    return f"session {purpose.rpartition('.')[2]}" if purpose.startswith("run/") else purpose


def purpose_of(connection: Connection, names: MysqlNames, number: int) -> str | None:
    """Return the purpose of another connection; None when it is not ours, or nothing was loaded yet."""
    with ignoring(*_MISSING):
        rows = _query(connection, names, "purpose", connection=number)
        return rows[0]["purpose"] if rows else None
    return None


def _query(connection: Connection, names: MysqlNames, name: str, /, **values: object) -> Sequence[Row]:
    with on_this_server(connection):
        return query(connection, statement("connection_registry", name, roster=names.roster()), values)
