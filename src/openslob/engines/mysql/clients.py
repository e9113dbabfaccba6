"""Client programs of MariaDB and MySQL: the variables of their client library, and the workloads of sysbench."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

import pymysql
from pymysql.constants import ER

from openslob.core.errors import SlobError
from openslob.engines.clients import (
    SYSBENCH_WORKLOADS,
    TABLES,
    ReadyWorkload,
    Sysbench,
    WorkloadRequest,
    require_ours,
    require_workload,
)
from openslob.engines.mysql.connection import PASSWORD_VARIABLE, Row, open_connection, parse, query
from openslob.engines.mysql.errors import code_of, explain_error, report_as
from openslob.engines.mysql.names import account
from openslob.engines.mysql.table_engine import INNODB

# The client library's variable for each parameter of a connection. It has none for user and database: those names are
# for scripts (`mariadb -u"$MYSQL_USER" "$MYSQL_DATABASE"`).
_VARIABLES = {
    "host": "MYSQL_HOST",
    "port": "MYSQL_TCP_PORT",
    "unix_socket": "MYSQL_UNIX_PORT",
    "user": "MYSQL_USER",
    "password": PASSWORD_VARIABLE,
}
_TABLE_NAMES = "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = %(database)s"
_FAILURE = "the tables of the workload"
# Privileges to make them, to work on them and to remove them.
_NEEDED = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX"
_SYSBENCH_OPTIONS = {"host": "host", "port": "port", "unix_socket": "socket", "user": "user", "password": "password"}


def environment(url: str) -> Mapping[str, str]:
    """Return the variables for the target; a password is in one, as the client library itself reads it."""
    params = parse(url)
    found = {variable: str(params.arguments[name]) for name, variable in _VARIABLES.items() if name in params.arguments}
    return {**found, "MYSQL_DATABASE": params.database}


def workloads() -> Sequence[str]:
    """Return the names of the ready-made workloads."""
    return SYSBENCH_WORKLOADS


@contextmanager
def ready(url: str, requests: Sequence[WorkloadRequest], keep: bool) -> Iterator[Mapping[str, ReadyWorkload]]:
    """Make the tables of workloads in a database of their own; remove it at the end of the block unless ``keep``."""
    for request in requests:
        require_workload(request.name, workloads())
    arguments = parse(url).arguments
    connection = {option: arguments[name] for name, option in _SYSBENCH_OPTIONS.items() if name in arguments}
    connection.setdefault("user", os.environ.get("USER", "root"))
    _drop(url)
    _execute(url, f"CREATE DATABASE {TABLES}")
    try:
        with Sysbench("mysql", {**connection, "db": TABLES}).ready(requests) as made:
            yield made
    finally:
        if not keep:
            _drop(url)


def selects(*_asked: object) -> AbstractContextManager[ReadyWorkload]:
    """Raise SlobError: MariaDB has no program that draws random keys (mariadb-slap repeats fixed statements)."""
    raise SlobError("MariaDB comes with no program that selects random rows")


def _drop(url: str) -> None:
    require_ours([str(row["name"]) for row in _execute(url, _TABLE_NAMES, {"database": TABLES})])
    _execute(url, f"DROP DATABASE IF EXISTS {TABLES}")


def _execute(url: str, text: str, values: Mapping[str, object] | None = None) -> Sequence[Row]:
    with report_as(_FAILURE):
        connection = open_connection(parse(url), "workload")
        try:
            return query(connection, text, values)
        except pymysql.Error as error:
            if code_of(error) != ER.DBACCESS_DENIED_ERROR:
                raise
            user = str(query(connection, INNODB.identity)[0]["user"])
            raise SlobError(
                f"{_FAILURE} are in a database {TABLES} of their own: {explain_error(error)}",
                f"as an administrator: GRANT {_NEEDED} ON {TABLES}.* TO {account(user)}",
            ) from error
        finally:
            connection.close()
