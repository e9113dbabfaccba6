"""The table that says which connections are ours, and what for."""

from __future__ import annotations

from collections.abc import Sequence

import pymysql
from pymysql.constants import ER

from openslob.engines.mysql.connection import Connection, ask, statement
from openslob.engines.mysql.errors import code_of
from openslob.engines.mysql.names import Names

_NOT_THERE = (ER.NO_SUCH_TABLE, ER.BAD_DB_ERROR)


def make(connection: Connection, names: Names) -> None:
    """Make the table if it is not there, and take out connections that are gone."""
    ask(connection, statement("roster", "create", roster=names.roster()))
    ask(connection, statement("roster", "forget", roster=names.roster()))


def enter(connection: Connection, names: Names, purpose: str) -> None:
    """Note down what a connection is for."""
    ask(connection, statement("roster", "enter", roster=names.roster()), {"purpose": purpose})


def sessions(connection: Connection, names: Names, pattern: str) -> Sequence[int]:
    """Numbers of connections that are still there and whose purpose is like ``pattern``."""
    try:
        rows = ask(connection, statement("roster", "sessions", roster=names.roster()), {"purpose": pattern})
    except pymysql.Error as error:
        if code_of(error) in _NOT_THERE:
            return []
        raise
    return [row["connection"] for row in rows]


def purpose_of(connection: Connection, names: Names, number: int) -> str | None:
    """What another connection is for; None when it is not ours, or nothing was loaded yet."""
    try:
        rows = ask(connection, statement("roster", "purpose", roster=names.roster()), {"connection": number})
    except pymysql.Error as error:
        if code_of(error) in _NOT_THERE:
            return None
        raise
    return rows[0]["purpose"] if rows else None
