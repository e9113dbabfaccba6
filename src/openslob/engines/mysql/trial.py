"""Lets the server parse the statements of a load, a run and a drop, and the work loop's procedure.

What creates or removes anything can't be rolled back here. PREPARE parses a statement and has no effect, so what the
statement would do is not tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pymysql
from pymysql.constants import ER

from openslob.engines.base import SessionPlan
from openslob.engines.facts import Finding
from openslob.engines.mysql.connection import PACKAGE, Connection, is_on, override_defaults, query
from openslob.engines.mysql.errors import code_of, explain_error
from openslob.engines.mysql.names import TABLES, MysqlNames
from openslob.engines.mysql.page_layout import layout_of
from openslob.engines.mysql.quiesce import SETTING
from openslob.engines.mysql.slice_procedure import compose_slice
from openslob.engines.mysql.tables import COLUMNS
from openslob.engines.sql import read_statements

# The files of the statements that each load, run or drop may execute.
_FILES = ("facts", "schema", "load", "manifest", "verify", "connection_registry", "global_settings", "session")
# Refused by every server that is no node of a Galera cluster, which sessions expect.
_ONLY_IN_CLUSTERS = ("session", "once")
_PARAMETER = re.compile(r"%\((\w+)\)s")
_NOTHING_PREPARED = 1461  # max_prepared_stmt_count; a run prepares nothing
# What a server says that understands a statement, or can't say: that kind can't be prepared, the table is not there or
# is another one of this name, or this user lacks a right. Other findings are about data and rights.
_UNDERSTOOD = frozenset({
    *(ER.UNSUPPORTED_PS, _NOTHING_PREPARED),
    *(ER.NO_SUCH_TABLE, ER.BAD_DB_ERROR, ER.BAD_FIELD_ERROR, ER.KEY_DOES_NOT_EXITS),
    *(ER.TABLEACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR, ER.COLUMNACCESS_DENIED_ERROR),
    *(ER.SPECIFIC_ACCESS_DENIED_ERROR, ER.PROCACCESS_DENIED_ERROR),
})  # fmt: skip


def try_statements(connection: Connection, names: MysqlNames, plan: SessionPlan) -> Iterator[Finding]:
    """Yield a finding for the first statement that the server does not understand."""
    override_defaults(connection)
    in_cluster = is_on(connection, "wsrep_on")
    value_bytes = layout_of(plan.block_size).value_bytes
    loop = compose_slice(names, plan.schema, plan.workload, value_bytes, in_cluster)
    for what, text in (*_statements(names, plan, value_bytes, in_cluster), ("the work loop", loop)):
        try:
            query(connection, "PREPARE trial FROM %(text)s", {"text": text})
        except pymysql.Error as error:
            if code_of(error) in _UNDERSTOOD:
                continue
            if not connection.open:
                raise
            why = f"the server refuses a statement that loads, runs or drops need ({what}): {explain_error(error)}"
            yield Finding("statements", why, "report it, with the version of the server", True)
            return


def _statements(names: MysqlNames, plan: SessionPlan, value_bytes: int, in_cluster: bool) -> Iterator[tuple[str, str]]:
    """Yield where each statement is, and its text with names and some values in it."""
    identifiers = {
        "database": names.schema(),
        "table": names.cf1(plan.schema),
        "cf1": names.cf1(plan.schema),
        "cf2": names.cf2(plan.schema),
        "routine": names.procedure(plan.schema),
        "manifest": names.manifest(),
        "roster": names.roster(),
        "borrowed": names.borrowed(),
        "status": "performance_schema.global_status",
        "setting": SETTING,
        "scope": "SESSION",
    }
    texts = {
        "create_table": {"columns": ", ".join(f"{name} CHAR({value_bytes})" for name in COLUMNS)},
        "insert": {"columns": ", ".join(COLUMNS), "rows": f"(1, 1, {', '.join(['@value'] * len(COLUMNS))}, @pad)"},
    }
    for file in _FILES:
        for name, text in read_statements(PACKAGE, file).items():
            if (file, name) != _ONLY_IN_CLUSTERS or in_cluster:
                yield f"{file}.sql, {name}", _bound(text.format_map({**identifiers, **texts.get(name, {})}), names)


def _bound(text: str, names: MysqlNames) -> str:
    """Return a statement with a value for each parameter, as the driver would write it."""
    parameters = _PARAMETER.findall(text)
    if not parameters:
        return text
    values: Mapping[str, str] = {"database": names.database, "tables": TABLES, "lock": names.lock("use")}
    literals = {name: _literal(values[name]) if name in values else "1" for name in parameters}
    return text % literals


def _literal(text: str) -> str:
    return pymysql.converters.escape_string(text).join("''")
