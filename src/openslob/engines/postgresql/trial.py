"""Tries the statements of a load, a run and a drop on tables of a few blocks, in a transaction that is rolled back.

The procedures' own COMMIT and VACUUM are not possible in a transaction: they are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import psycopg
from psycopg import sql

from openslob.engines.base import SessionPlan
from openslob.engines.facts import Finding
from openslob.engines.postgresql import manifest
from openslob.engines.postgresql.connection import PACKAGE, Connection, backend_pid, statement
from openslob.engines.postgresql.errors import explain_error
from openslob.engines.postgresql.libpq_statement import PlainStatement
from openslob.engines.postgresql.local_path import tables_on_path
from openslob.engines.postgresql.names import PostgresNames
from openslob.engines.postgresql.slice_procedure import (
    CALL_PARAMETERS,
    compose_call,
    explain,
    install,
    slice_parameters,
)
from openslob.engines.postgresql.tables import checks_of, create_filled
from openslob.engines.sql import read_sql
from openslob.engines.tables import DataTable, table_cf1, table_cf2

# Rows to load in each table.
_BLOCKS = 3
# A slice that has no time for an operation.
_NO_TIME = (b"0",) * len(CALL_PARAMETERS)


def try_statements(connection: Connection, names: PostgresNames, plan: SessionPlan) -> Iterator[Finding]:
    """Yield a finding for the first statement that the server refuses; names are such as nobody else uses."""
    try:
        with connection.transaction(force_rollback=True):
            trial = _unused(connection, names)
            tables = _load(connection, trial, plan)
            _run(connection, trial, plan)
            _drop(connection, trial, tables)
    except psycopg.Error as error:
        if connection.broken:
            raise
        why = f"the server refuses a statement that loads, runs or drops need: {explain_error(error)}"
        yield Finding("statements", why, "the server's log has the statement; for a syntax error, report it", True)


def _unused(connection: Connection, names: PostgresNames) -> PostgresNames:
    """Return names that no other session creates, in a schema of their own if there is none of this name."""
    prefix = f"try_{backend_pid(connection)}_"
    row = connection.execute(statement("schema", "schema_exists"), {"schema": names.schema}).fetchone()
    return replace(names, prefix=prefix) if row and row[0] else PostgresNames(prefix + names.schema, prefix)


def _load(connection: Connection, names: PostgresNames, plan: SessionPlan) -> list[DataTable]:
    """Do what a load and its checks do; return the tables. What the checks find in so few blocks does not matter."""
    workload = plan.workload
    connection.execute(statement("load", "session"))
    manifest.begin(connection, names, workload.data(plan.block_size))
    on_path = tables_on_path(names, workload)
    tables = [
        table_cf1(on_path.cf1(plan.schema).as_string(), plan.schema, _BLOCKS),
        table_cf2(on_path.cf2(plan.schema).as_string(), plan.schema, _BLOCKS),
    ]
    for table in tables:
        create_filled(connection, table, plan.block_size, workload.obfuscate_columns, _ignore)
        checks_of(connection, table)
    manifest.mark_verified(connection, names, {})
    manifest.read(connection, names)
    return tables


def _run(connection: Connection, names: PostgresNames, plan: SessionPlan) -> None:
    """Do what a run does: install the work loop, plan its statements, and call it without time for an operation."""
    install(connection, names, plan.workload)
    connection.execute(read_sql(PACKAGE, "session"))
    explain(connection, names, plan.schema, plan.workload)
    call = compose_call(names, plan.schema, slice_parameters(plan))
    PlainStatement(connection, call.as_bytes(connection)).row(*_NO_TIME)


def _drop(connection: Connection, names: PostgresNames, tables: list[DataTable]) -> None:
    connection.execute(statement("schema", "objects"), {"schema": names.schema})
    for name in [names.manifest(), *(sql.SQL(table.relation) for table in tables)]:
        connection.execute(sql.SQL("DROP TABLE {}").format(name))


def _ignore(_blocks: int) -> None:
    """Ignore the progress of a few blocks."""
