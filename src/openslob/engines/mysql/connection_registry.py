"""The table of our connections and their purposes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pymysql
from pymysql.constants import ER

from openslob.engines.mysql.connection import Connection, Row, query, statement
from openslob.engines.mysql.errors import code_of
from openslob.engines.mysql.names import Names

_MISSING = (ER.NO_SUCH_TABLE, ER.BAD_DB_ERROR)
_DENIED = (ER.DBACCESS_DENIED_ERROR, ER.TABLEACCESS_DENIED_ERROR)


def make(connection: Connection, names: Names) -> None:
    """Create the table if it does not exist, and delete connections that have ended."""
    _query(connection, names, "create")
    _query(connection, names, "forget")


def enter(connection: Connection, names: Names, purpose: str) -> None:
    """Record the purpose of a connection."""
    _query(connection, names, "enter", purpose=purpose)


@contextmanager
def if_there_is_one() -> Iterator[None]:
    """Ignore that the table does not exist, or that this user may not use it: so it is before the first load."""
    try:
        yield
    except pymysql.Error as error:
        if code_of(error) not in (*_MISSING, *_DENIED):
            raise


def sessions(connection: Connection, names: Names, pattern: str) -> Sequence[int]:
    """Return the numbers of open connections whose purpose matches the LIKE pattern ``pattern``."""
    try:
        rows = _query(connection, names, "sessions", purpose=pattern)
    except pymysql.Error as error:
        # A user without rights has no sessions; the check of rights says what to grant.
        if code_of(error) in (*_MISSING, *_DENIED):
            return []
        raise
    return [row["connection"] for row in rows]


def purpose_of(connection: Connection, names: Names, number: int) -> str | None:
    """Return the purpose of another connection; None when it is not ours, or nothing was loaded yet."""
    try:
        rows = _query(connection, names, "purpose", connection=number)
    except pymysql.Error as error:
        if code_of(error) in _MISSING:
            return None
        raise
    return rows[0]["purpose"] if rows else None


def _query(connection: Connection, names: Names, name: str, /, **values: object) -> Sequence[Row]:
    return query(connection, statement("connection_registry", name, roster=names.roster()), values)
