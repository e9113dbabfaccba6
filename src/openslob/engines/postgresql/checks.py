"""Pre-flight checks: properties of server, role and data that make a run fail or its figures misleading.

The statements of a load, a run and a drop are tried on tables of a few blocks, in a transaction that is rolled back.
The procedures' own COMMIT and VACUUM are not possible in a transaction: they are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from openslob.core.errors import SlobError
from openslob.core.units import format_bytes
from openslob.core.workload import BlockPath, Loop, Workload
from openslob.engines import common_checks
from openslob.engines.base import SessionPlan
from openslob.engines.capabilities import Capability, find_lacking
from openslob.engines.common_checks import BadSetting
from openslob.engines.facts import READ_ONLY_FINDING, RIGHTS, DataState, Finding, ServerFacts
from openslob.engines.postgresql import local_path, manifest
from openslob.engines.postgresql.client_statements import PostgresStatements
from openslob.engines.postgresql.connection import PACKAGE, REMEDY, Connection, Pooling, backend_pid, statement, why_not
from openslob.engines.postgresql.errors import explain_error
from openslob.engines.postgresql.libpq_statement import PlainStatement
from openslob.engines.postgresql.local_path import tables_on_path
from openslob.engines.postgresql.names import PostgresNames
from openslob.engines.postgresql.quiesce import may_checkpoint
from openslob.engines.postgresql.slice_procedure import (
    CALL_PARAMETERS,
    compose_call,
    explain,
    install,
    slice_parameters,
)
from openslob.engines.postgresql.tables import checks_of, create_and_fill
from openslob.engines.sql import read_sql, read_statements
from openslob.engines.tables import DataTable, table_cf1, table_cf2

OLDEST = 130000
_CHECKPOINT_ROLE_SINCE = 150000
_DIRECT_IO_SINCE = 160000


def _set(setting: str) -> str:
    return f"ALTER SYSTEM SET {setting} = on;\nSELECT pg_reload_conf();"


def _apart(by: str) -> str:
    """Say of several statements that they are not to be sent as one: ALTER SYSTEM can't be in a transaction."""
    return f"{by}, one statement after the other"


_BAD_SETTINGS = (
    BadSetting("fsync", "off", "commits are not durable and log syncs mean nothing", _set("fsync")),
    BadSetting("full_page_writes", "off", "the log is smaller than a safe server's", _set("full_page_writes")),
)
# Settings that are in the way unless they have this value: what sessions may not set, or what somebody means by it.
_IN_THE_WAY = (
    ("default_transaction_read_only", "off", READ_ONLY_FINDING, "transactions are read-only"),
    ("track_activities", "on", "track_activities", "what sessions wait for can't be seen"),
)
ORPHANS = "orphaned files"
# What is safe: a mistake about single files would lose data.
_REMOVE_ORPHANS = (
    "they only take space; DROP DATABASE removes them with the database, `slob server destroy` with a managed server"
)
# Setting, what is unknown without it, and how a superuser turns it on: for a role, or for the whole server. Other
# roles' sessions and the server's own processes sync the log, too.
_CAPABILITIES = (
    ("track_io_timing", "the engine's read latency will be unknown", "ALTER ROLE {role} SET track_io_timing = on"),
    ("track_counts", "rows and table I/O will be unknown", "ALTER ROLE {role} SET track_counts = on"),
    ("track_wal_io_timing", "the latency of log syncs will be unknown", _set("track_wal_io_timing")),
)


def findings(
    connection: Connection,
    names: PostgresNames,
    workload: Workload,
    facts: ServerFacts,
    data_state: Callable[[], DataState | None],
) -> Iterator[Finding]:
    """Yield all findings; ``data_state`` is called only if this role may look into the schema."""
    role = _role(connection, names)
    yield from _role_findings(role, names)
    yield from common_checks.check_loop(workload, facts)
    yield from () if role["standby"] else in_the_way(connection)
    # How many sessions share its processes, a pooler decides.
    is_pooled = facts.connection.get("pooler") == Pooling.TRANSACTION
    counted = workload.changed(classes=None, sessions=1) if is_pooled else workload
    yield from common_checks.check_connections(
        counted, facts.free_connections, _raise_limit(role), _superuser(role["database"])
    )
    if role["may_use"] or not role["has_schema"]:
        yield from common_checks.check_data(workload, facts, data_state())
    yield from local_path.findings(connection, workload, facts.block_size)
    yield from _pooler(workload, facts)
    yield from common_checks.check_settings(_BAD_SETTINGS, facts, _apart(_superuser(role["database"])))
    yield from find_lacking(capabilities(facts, role["name"], role["database"]))
    yield from _neighbours(connection)
    yield from _orphans(connection)


def _role(connection: Connection, names: PostgresNames) -> dict[str, Any]:
    text = read_statements(PACKAGE, "facts")["role"]
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(text, {"schema": names.schema}).fetchone()
    if row is None:
        raise SlobError("the server does not report the privileges of this role")
    return {**row, "may_checkpoint": may_checkpoint(connection)}


def require_version(connection: Connection) -> None:
    """Close the connection and raise SlobError when the server is too old."""
    if connection.info.server_version < OLDEST:
        version = connection.info.parameter_status("server_version")
        connection.close()
        raise SlobError(f"the server is PostgreSQL {version}", f"{OLDEST // 10000} or later is needed")


def _by(database: str, remedy: str) -> str:
    """Return who may run a remedy: several statements are not to be sent as one."""
    by = _superuser(database)
    return _apart(by) if "\n" in remedy else by


def in_the_way(connection: Connection) -> Iterator[Finding]:
    """Yield a finding for each setting with which loads and runs fail, and which a session may not or must not set."""
    ((database,),) = connection.execute("SELECT quote_ident(current_database())").fetchall()
    for setting, good, name, why in _IN_THE_WAY:
        values = {"setting": setting, "good": good}
        for value, place, remedy in connection.execute(read_statements(PACKAGE, "facts")["origin"], values).fetchall():
            by = _by(database, remedy) if remedy.startswith("ALTER") else ""
            yield Finding(name, f"{why}: {setting} is {value}, set {place}", remedy, True, by=by)


def _superuser(database: str) -> str:
    return f"as a superuser in database {database}"


def _role_findings(role: dict[str, Any], names: PostgresNames) -> Iterator[Finding]:
    by = _superuser(role["database"])
    if role.get("standby"):
        yield Finding(READ_ONLY_FINDING, "the server is a standby and accepts no writes", "name its primary too", True)
    if role["has_schema"] and not (role["may_use"] and role["may_create"]):
        grant = f"GRANT USAGE, CREATE ON SCHEMA {names.schema} TO {role['name']}"
        yield Finding(RIGHTS, f"role {role['name']} may not use schema {names.schema}", grant, True, by=by)
    if not role["has_schema"] and not role["may_make_schema"]:
        why = f"there is no schema {names.schema}, and role {role['name']} may not create it"
        yield Finding(RIGHTS, why, f"CREATE SCHEMA {names.schema} AUTHORIZATION {role['name']}", True, by=by)
    if not role["may_checkpoint"]:
        why = "this role may not run a checkpoint before the window, so earlier writes may fall into it"
        has_role = role["version"] >= _CHECKPOINT_ROLE_SINCE
        grant = f"GRANT pg_checkpoint TO {role['name']}" if has_role else "let a superuser run CHECKPOINT before a run"
        yield Finding("checkpoint", why, grant, False, by=by if has_role else "")
    if not role["may_see_all"]:
        why = "what sessions of other roles do is hidden from this role; their load goes unnoticed"
        yield Finding("monitor", why, f"GRANT pg_monitor TO {role['name']}", False, by=by)


def _raise_limit(role: dict[str, Any]) -> Callable[[int], str]:
    """Return a function that names the remedy for a number of connections; none where max_connections limits them."""

    def remedy(needed: int) -> str:
        for limit, owner in ((role["database_limit"], "DATABASE {database}"), (role["role_limit"], "ROLE {name}")):
            if limit is not None and limit < needed:
                return f"ALTER {owner.format(**role)} CONNECTION LIMIT {needed}"
        return ""

    return remedy


def _neighbours(connection: Connection) -> Iterator[Finding]:
    """Yield a finding for each other load or run on this server: the lock keeps apart those on one database only."""
    for database, application in connection.execute(read_statements(PACKAGE, "facts")["neighbours"]).fetchall():
        yield common_checks.find_neighbour(f"database {database} of this server", application.removeprefix("slob/"))


def find_orphaned_files(connection: Connection) -> str:
    """Return number, size and place of this database's files that no relation has; empty if none are known.

    A crash of the server leaves the files of tables and indexes whose transactions it ended. It never removes them.
    """
    statements = read_statements(PACKAGE, "orphans")
    if connection.execute(statements["may_look"]).fetchall() != [(True,)]:
        return ""
    files, size, directories = connection.execute(statements["orphans"]).fetchall()[0]
    return f"{files:,} file{'' if files == 1 else 's'} ({format_bytes(size)}) in {directories}" if files else ""


def _orphans(connection: Connection) -> Iterator[Finding]:
    if found := find_orphaned_files(connection):
        why = f"no table or index owns {found}: a crash of the server during a load leaves such files"
        yield Finding(ORPHANS, why, _REMOVE_ORPHANS, False)


def find_another_server(direct: Connection, pooled: Connection, target: str) -> Iterator[Finding]:
    """Yield a finding if a pooler leads to another server, or database, than that of the direct connection."""
    text = read_statements(PACKAGE, "facts")["place"]
    if direct.execute(text).fetchall() != pooled.execute(text).fetchall():
        why = f"{target} leads to another server or database than --direct: its figures would be those of another load"
        yield Finding("direct", why, "give --direct the server and database behind the target", True)


def _pooler(workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    mode = facts.connection.get("pooler")
    if mode == Pooling.TRANSACTION and not (workload.loop is Loop.CLIENT and facts.connection.get("direct")):
        yield Finding("pooler", why_not("the target"), REMEDY, True)
    elif mode == Pooling.TRANSACTION:
        why = "sessions share the server's processes by a pooler: no statement is prepared, and settings are the role's"
        yield Finding("pooler", why, "compare only with runs through the same pooler", False)
        if workload.block_path is BlockPath.LOCAL:
            why = "BLOCK_PATH=local: a pooler keeps no session's own tables"
            yield Finding("block path", why, "use BLOCK_PATH=shared", True)
    elif mode:
        why = "sessions go through a connection pooler, which controls their number, start and cancel"
        yield Finding("pooler", why, "connect to the server itself", False)


def direct_io_remedy(version: int) -> str:
    """Return how a server of this version is given direct I/O."""
    if version < _DIRECT_IO_SINCE:
        return f"PostgreSQL {_DIRECT_IO_SINCE // 10000} or later has direct I/O"
    return "set debug_io_direct = data and restart (a managed server: --io direct)"


def capabilities(facts: ServerFacts, role: str, database: str) -> list[Capability]:
    """Return what the server's settings allow to be measured by this role; names are as the server quotes them."""
    return [
        Capability(
            name,
            facts.settings.get(name) != "off",
            f"{name} is off",
            why,
            remedy.format(role=role),
            by=_by(database, remedy),
        )
        for name, why, remedy in _CAPABILITIES
    ]


# Rows to load in each table.
_TRIED_BLOCKS = 3
# A slice that has no time for an operation.
_NO_TIME = (b"0",) * len(CALL_PARAMETERS)


def try_statements(connection: Connection, names: PostgresNames, plan: SessionPlan) -> Iterator[Finding]:
    """Yield a finding for the first statement that the server refuses; names are such as nobody else uses."""
    offer = ""
    try:
        with connection.transaction(force_rollback=True):
            trial = _find_unused_names(connection, names)
            tables = _try_load(connection, trial, plan)
            offer = f"{common_checks.BY_CLIENT}; " if plan.workload.loop is Loop.SERVER else ""
            _try_run(connection, trial, plan)
            offer = ""
            _try_drop(connection, trial, tables)
    except psycopg.Error as error:
        if connection.broken:
            raise
        why = f"the server refuses a statement that loads, runs or drops need: {explain_error(error)}"
        advice = f"{offer}the server's log has the statement; for a syntax error, report it"
        yield Finding("statements", why, advice, True)


def _find_unused_names(connection: Connection, names: PostgresNames) -> PostgresNames:
    """Return names that no other session creates, in a schema of their own if there is none of this name."""
    prefix = f"try_{backend_pid(connection)}_"
    row = connection.execute(statement("schema", "schema_exists"), {"schema": names.schema}).fetchone()
    return replace(names, prefix=prefix) if row and row[0] else PostgresNames(prefix + names.schema, prefix)


def _try_load(connection: Connection, names: PostgresNames, plan: SessionPlan) -> list[DataTable]:
    """Do what a load and its checks do; return the tables. What the checks find in so few blocks does not matter."""
    workload = plan.workload
    connection.execute(statement("load", "session"))
    manifest.begin(connection, names, workload.data(plan.block_size))
    on_path = tables_on_path(names, workload)
    tables = [
        table_cf1(on_path.cf1(plan.schema).as_string(), plan.schema, _TRIED_BLOCKS),
        table_cf2(on_path.cf2(plan.schema).as_string(), plan.schema, _TRIED_BLOCKS),
    ]
    for table in tables:
        create_and_fill(connection, table, plan.block_size, workload.random_pct, _ignore)
        checks_of(connection, table)
    manifest.mark_verified(connection, names, {})
    manifest.read(connection, names)
    return tables


def _try_run(connection: Connection, names: PostgresNames, plan: SessionPlan) -> None:
    """Do what a run does: install the work loop, plan its statements, and call it without time for an operation.

    Of the client loop, prepare and plan its statements.
    """
    if plan.workload.loop is Loop.CLIENT:
        connection.execute(read_sql(PACKAGE, "session"))
        statements = PostgresStatements(connection, names, plan)
        statements.prepare()
        statements.explain()
        return
    install(connection, names, plan.workload)
    connection.execute(read_sql(PACKAGE, "session"))
    explain(connection, names, plan.schema, plan.workload)
    call = compose_call(names, plan.schema, slice_parameters(plan))
    PlainStatement(connection, call.as_bytes(connection)).row(*_NO_TIME)


def _try_drop(connection: Connection, names: PostgresNames, tables: list[DataTable]) -> None:
    connection.execute(statement("schema", "objects"), {"schema": names.schema})
    for name in [names.manifest(), *(sql.SQL(table.relation) for table in tables)]:
        connection.execute(sql.SQL("DROP TABLE {}").format(name))


def _ignore(_blocks: int) -> None:
    """Ignore the progress of a few blocks."""
