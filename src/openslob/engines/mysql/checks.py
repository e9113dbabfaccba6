"""Pre-flight checks: properties of server, user and data that make a run fail or its figures misleading.

The server also parses the statements of a load, a run and a drop, and the work loop's procedure. What creates or
removes anything can't be rolled back here. PREPARE parses a statement and has no effect, so what the statement would do
is not tried.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

import pymysql
from pymysql.constants import ER

from openslob.core.errors import UsageError
from openslob.core.workload import CommitMode, Loop, Workload
from openslob.engines import common_checks
from openslob.engines.base import SessionPlan
from openslob.engines.capabilities import Capability, find_lacking
from openslob.engines.common_checks import BadSetting, check_path
from openslob.engines.facts import READ_ONLY_FINDING, RIGHTS, DataState, Finding, ServerFacts
from openslob.engines.mysql import connection_registry, global_settings
from openslob.engines.mysql.connection import (
    PACKAGE,
    Connection,
    Row,
    is_on,
    override_defaults,
    query,
    query_shown,
    statement,
)
from openslob.engines.mysql.errors import NOT_ANSWERED, code_of, explain_error
from openslob.engines.mysql.location import PROXY_REMEDY, why_not
from openslob.engines.mysql.names import TABLES, MysqlNames, account
from openslob.engines.mysql.page_layout import layout_of
from openslob.engines.mysql.quiesce import find_required
from openslob.engines.mysql.slice_procedure import compose_slice
from openslob.engines.mysql.table_engine import INNODB, TableEngine
from openslob.engines.mysql.tables import COLUMNS
from openslob.engines.mysql.waits import are_observed
from openslob.engines.sql import read_statements

OLDEST = {"MariaDB": (10, 6), "MySQL": (8, 0)}
NO_LOCAL_PATH = Finding(
    "block path",
    "BLOCK_PATH=local: InnoDB reads temporary tables, too, through the cache that all sessions share",
    "use BLOCK_PATH=shared, or PostgreSQL",
    blocking=True,
)
# Privileges for tables, their removal and their index.
_NEEDED = ("SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "INDEX")
# And for the work loop in the server, which is created, replaced and called.
_NEEDED_BY_LOOP = ("CREATE ROUTINE", "ALTER ROUTINE", "EXECUTE")
# The privilege to grant, by product, so that a user may change settings of the whole server.
_SETTING_RIGHTS = {"MariaDB": "SUPER", "MySQL": "SYSTEM_VARIABLES_ADMIN"}
# Name of a statement that fails without the privilege, figures that are unknown without it, privilege to grant.
_READS = (
    (
        "reads_statistics",
        "the block counts of the tables include blocks that are reserved for future rows",
        "SELECT ON mysql.innodb_index_stats",
    ),
    (
        "reads_performance_schema",
        "file reads are not timed, log syncs not separated from others, waits known by stage only, rows not counted "
        "unless userstat is ON",
        "SELECT ON performance_schema.*",
    ),
    (
        "reads_metrics",
        "checkpoints, page splits, waits for row locks and (without performance_schema) other sessions are not known",
        "PROCESS ON *.*",
    ),
)
# Who may run the remedies, whatever the database of their connection.
_BY = "as an administrator, such as root"


def _set(setting: str, value: str) -> str:
    return f"SET GLOBAL {setting} = {value} -- and {setting} = {value} in my.cnf, for restarts"


_READ_ONLY = "transactions are read-only"
# Settings that are in the way unless they have one of these values; of read-only transactions older names and newer.
_IN_THE_WAY = (
    ("transaction_read_only", ("OFF",), READ_ONLY_FINDING, _READ_ONLY),
    ("tx_read_only", ("OFF",), READ_ONLY_FINDING, _READ_ONLY),
    ("enforce_storage_engine", ("NULL", "", "InnoDB"), "storage engine", "tables would not be those of InnoDB"),
)
_DOUBLEWRITE = "put innodb_doublewrite = ON into my.cnf and restart"
_QUERY_CACHE = "results may come from the query cache"
_BAD_SETTINGS = (
    BadSetting("innodb_doublewrite", "OFF", "pages are written less safely, and once instead of twice", _DOUBLEWRITE),
    BadSetting("innodb_doublewrite", "DETECT_ONLY", "pages are written once instead of twice", _DOUBLEWRITE),
    BadSetting(
        "innodb_random_read_ahead", "ON", "the server reads blocks that no statement asked for",
        _set("innodb_random_read_ahead", "OFF"),
    ),
    BadSetting(
        "innodb_adaptive_hash_index", "ON", "visits may skip the index", _set("innodb_adaptive_hash_index", "OFF"),
        spoils=False,
    ),
    # MariaDB takes a log on the file system of /dev/shm for one in persistent memory, also where that is a folder.
    BadSetting(
        "innodb_log_file_mmap", "ON", "the log is mapped into memory: no commit waits for a sync, and none is counted",
        "put innodb_log_file_mmap = OFF into my.cnf, unless the log really is in persistent memory", spoils=False,
    ),
    BadSetting("query_cache_type", "ON", _QUERY_CACHE, _set("query_cache_type", "OFF")),
    BadSetting("query_cache_type", "DEMAND", _QUERY_CACHE, _set("query_cache_type", "OFF"), spoils=False),
    BadSetting(
        "log_bin", "ON", "updates write a second log, the binary log",
        "compare only with servers that write one, or put skip-log-bin into my.cnf and restart", spoils=False,
    ),
)  # fmt: skip


def require_stored_name(connection: Connection, database: str) -> None:
    """Raise UsageError when the server stores the name in lower case: locks and statistics go by the name."""
    stored = str(query(connection, statement("facts", "stored_name"), {"database": database})[0]["name"])
    if stored != database:
        raise UsageError(
            f"the server stores the name of the database {database} as {stored} (lower_case_table_names)",
            "write it like that in the target",
        )


def findings(
    connection: Connection,
    names: MysqlNames,
    tables: TableEngine,
    workload: Workload,
    facts: ServerFacts,
    data_state: Callable[[], DataState | None],
) -> Iterator[Finding]:
    """Yield all findings; ``data_state`` is called only after the checks of server and rights."""
    identity = query(connection, tables.identity)[0]
    grants = [str(text) for row in query(connection, statement("facts", "grants")) for text in row.values()]
    yield from check_path(workload, NO_LOCAL_PATH)
    yield from common_checks.check_loop(workload, facts)
    if workload.churns and tables.no_churn:
        yield Finding("mode", f"MODE=churn: {tables.no_churn}", "use a server with --table-engine innodb", True)
    yield from _server(connection, facts, identity)
    yield from in_the_way(connection)
    yield from _privileges(names, workload, identity["user"], grants)
    yield from _rights(connection, facts, identity["user"], grants)
    yield from common_checks.check_connections(workload, facts.free_connections, _raise_limit(identity), _BY)
    yield from common_checks.check_data(workload, facts, data_state())
    setting = tables.commit_setting
    yield from _commit_mode(workload, facts, setting, may_set(grants), account(identity["user"]))
    yield from binary_log(workload, facts)
    yield from late_commits(workload, facts) if tables.procedures_run_ahead else ()
    yield from find_lacking(capabilities(connection, facts))
    yield from common_checks.check_settings(_BAD_SETTINGS, facts, _BY)
    yield from _check_left_behind(connection, names)
    yield from _neighbours(connection, names)


def in_the_way(connection: Connection) -> Iterator[Finding]:
    """Yield a finding for each setting with which loads and runs fail, and which a session may not or must not set."""
    ours, of_server = (
        query_shown(connection, statement("facts", "in_the_way", scope=scope)) for scope in ("SESSION", "GLOBAL")
    )
    for setting, good, name, why in _IN_THE_WAY:
        value = ours.get(setting, good[0])
        if value not in good:
            place, remedy = (
                "for the server",
                f"SET GLOBAL {setting} = {good[0]} -- and take it out of my.cnf, for restarts",
            )
            if of_server[setting] != value:
                place, remedy = "by init_connect or a proxy", "take it out of there"
            yield Finding(name, f"{why}: {setting} is {value}, set {place}", remedy, True, by=_BY)


def _raise_limit(identity: Row) -> Callable[[int], str]:
    """Return a function that names the remedy for a number of connections; none where max_connections limits them."""

    def remedy(needed: int) -> str:
        if identity["max_user_connections"]:
            return f"ALTER USER {account(identity['user'])} WITH MAX_USER_CONNECTIONS {needed}"
        return ""

    return remedy


def _server(connection: Connection, facts: ServerFacts, identity: Row) -> Iterator[Finding]:
    oldest = OLDEST[facts.family]
    if tuple(int(part) for part in facts.number.split(".")[:2]) < oldest:
        name = f"{facts.family} {oldest[0]}.{oldest[1]}"
        yield Finding("version", f"the server is older than {name}", f"use {name} or later", True)
    if identity["read_only"]:
        yield Finding(READ_ONLY_FINDING, "the server accepts no writes (read_only)", "use the primary", True)
    if "pooler" in facts.connection:
        yield Finding("pooler", why_not("the target"), PROXY_REMEDY, True)
    if not query(connection, statement("facts", "clock_is_now"))[0]["moved"]:
        why = "the server's clock stands still within a statement (sysdate-is-now), so nothing can be timed"
        yield Finding("clock", why, "start the server without sysdate-is-now", True)


def _commit_mode(
    workload: Workload, facts: ServerFacts, setting: str, may_change: bool, grantee: str
) -> Iterator[Finding]:
    required, present = find_required(workload), facts.settings.get(setting)
    if required is None or present == str(required):
        return
    if may_change:
        why = f"{setting} is {present}; it is set to {required} for this run and restored after it"
        yield Finding("commit mode", why, "use COMMIT_MODE=engine to leave it unchanged", False)
    else:
        why = f"COMMIT_MODE={workload.commit_mode} needs {setting} = {required}: it is {present}"
        grant = f"GRANT {_SETTING_RIGHTS[facts.family]} ON *.* TO {grantee}"
        yield Finding("commit mode", f"{why}; COMMIT_MODE=engine leaves it unchanged", grant, True, by=_BY)


def binary_log(workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    """Yield what the binary log, a second log beside the engine's own, does to updates."""
    settings = facts.settings
    if settings.get("log_bin") != "ON" or not workload.writes:
        return
    if settings.get("binlog_format") == "STATEMENT":
        why = "binlog_format is STATEMENT: the server refuses updates at READ COMMITTED"
        yield Finding("binlog_format", why, _set("binlog_format", "ROW"), True, by=_BY)
    if workload.commit_mode is CommitMode.NOWAIT and settings.get("sync_binlog") != "0":
        why = f"COMMIT_MODE=nowait, but commits wait for the binary log (sync_binlog is {settings.get('sync_binlog')})"
        yield Finding("sync_binlog", why, _set("sync_binlog", "0"), False, True, by=_BY)


def late_commits(workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    """Yield a finding where a commit in the work loop may return before it is on disk.

    MariaDB 10.6 and later make a client wait until its commits are on disk, but not a procedure (MDEV-24341). Only the
    session that writes the log waits for it; sessions that find it being written do not: with 6 sessions 50 commits
    shared one sync in 10.11. With a binary log they wait: 3 commits a sync.
    """
    by_engine = workload.commit_mode is CommitMode.ENGINE and facts.settings.get(INNODB.commit_setting) == "1"
    waits = workload.commit_mode is CommitMode.WAIT or by_engine
    alone = facts.settings.get("log_bin") != "ON"
    if facts.family == "MariaDB" and workload.writes and workload.total_sessions > 1 and waits and alone:
        why = "MariaDB lets a procedure continue before its commits are on disk: not all updates wait for the log"
        yield Finding("late commits", why, "compare log syncs with commits; MySQL waits", False, True)


def capabilities(connection: Connection, facts: ServerFacts) -> list[Capability]:
    """Return what the server's settings allow to be measured."""
    observed = facts.settings.get("performance_schema") == "ON"
    enabled = _list_enabled_metrics(connection, facts.family)
    return [
        Capability(
            "waits",
            not (observed and are_observed(connection) is False),
            "the server does not record what sessions wait for",
            "waits will be known by stage only",
            "UPDATE performance_schema.setup_consumers SET enabled = 'YES' WHERE name = 'events_waits_current'",
            by=_BY,
        ),
        Capability(
            "userstat",
            observed or facts.settings.get("userstat") != "OFF",
            "userstat is OFF",
            "the server's count of the rows visited will be unknown",
            _set("userstat", "ON"),
            by=_BY,
        ),
        Capability(
            "checkpoints",
            enabled is None or "log_checkpoints" in enabled,
            "the server does not count checkpoints",
            "their number will be unknown",
            _set_metric("log_checkpoints"),
            by=_BY,
        ),
        Capability(
            "page splits",
            # MariaDB counts them always, among its status.
            facts.family == "MariaDB" or enabled is None or "index_page_splits" in enabled,
            "the server does not count splits of pages",
            "whether updated rows stayed in their blocks will be unknown",
            _set_metric("index_page_splits"),
            by=_BY,
        ),
    ]


def _list_enabled_metrics(connection: Connection, product: str) -> set[str] | None:
    """Return which of the counters that are off by default are on; None when this user may not see it."""
    try:
        rows = query(connection, statement("counters", f"metrics_{product.lower()}"))
    except pymysql.Error as error:
        if code_of(error) in NOT_ANSWERED:
            raise
        return None
    return {str(row["name"]) for row in rows}


def _set_metric(name: str) -> str:
    """Return the statement that turns a counter on; the option takes several names."""
    return f"SET GLOBAL innodb_monitor_enable = '{name}' -- and {name} in innodb_monitor_enable of my.cnf, for restarts"


def _check_left_behind(connection: Connection, names: MysqlNames) -> Iterator[Finding]:
    for leftover in global_settings.find_left_behind(connection, names):
        why = f"{leftover.description}; the next run, load or drop restores it"
        yield Finding("left behind", why, leftover.remedy, False)


def _neighbours(connection: Connection, names: MysqlNames) -> Iterator[Finding]:
    """Yield a finding for each other load or run on this server: the lock keeps apart those on one database only."""
    for row in query(connection, statement("facts", "neighbours"), {"database": names.database}):
        who = f"connection {row['connection']}"
        with connection_registry.if_there_is_one():
            purpose = connection_registry.purpose_of(connection, MysqlNames(row["name"]), row["connection"])
            who = f"{purpose} ({who})" if purpose else who
        yield common_checks.find_neighbour(f"database {row['name']} of this server", who)


# --- rights

# A line of SHOW GRANTS about everything or about whole databases; the names of databases may be patterns.
_GRANT = re.compile(r"""(GRANT|REVOKE) (.+?) ON ([`"]?)(.+?)\3\.\* (?:TO|FROM) """)
_EVERYTHING, _ALL = "*", "ALL PRIVILEGES"
_WILDCARDS = {"%": ".*", "_": "."}


def missing_privileges(needed: Iterable[str], grants: Iterable[str], database: str | None) -> list[str]:
    """Return those of the ``needed`` privileges that the statements ``grants`` do not give.

    ``database``: on this database; None: on everything. MySQL can revoke for some databases what was granted on
    everything.
    """
    granted: set[str] = set()
    revoked: set[str] = set()
    for match in filter(None, map(_GRANT.match, grants)):
        verb, privileges, _, scope = match.groups()
        if scope == _EVERYTHING or (database is not None and _database_pattern(scope).fullmatch(database)):
            (granted if verb == "GRANT" else revoked).update(name.strip() for name in privileges.split(","))
    return [name for name in needed if name in revoked or not granted & {name, _ALL}]


def _database_pattern(text: str) -> re.Pattern[str]:
    r"""Return the pattern of a database's name in a grant: % and _ are wildcards unless a \ is before them."""
    pieces = re.findall(r"\\?.", text, re.DOTALL)
    return re.compile("".join(_WILDCARDS.get(piece, re.escape(piece[-1])) for piece in pieces), re.DOTALL)


def may_set(grants: Iterable[str]) -> bool:
    """Return whether a user with these grants may change settings of the whole server."""
    rights = list(_SETTING_RIGHTS.values())
    return len(missing_privileges(rights, grants, None)) < len(rights)


def _privileges(names: MysqlNames, workload: Workload, user: str, grants: list[str]) -> Iterator[Finding]:
    """Yield the missing privileges without which nothing runs."""
    of_loop = _NEEDED_BY_LOOP if workload.loop is Loop.SERVER else ()
    if missing := missing_privileges((*_NEEDED, *of_loop), grants, names.database):
        why = f"user {user} lacks privileges that a run needs in database {names.database}"
        offer = " -- or --loop client, which needs none of these" if set(missing) <= set(of_loop) else ""
        remedy = f"GRANT {', '.join(missing)} ON {names.schema()}.* TO {account(user)}{offer}"
        yield Finding(RIGHTS, why, remedy, True, by=_BY)


def _rights(connection: Connection, facts: ServerFacts, user: str, grants: list[str]) -> Iterator[Finding]:
    """Yield the missing privileges that would make more figures known."""
    grantee = account(user)
    if not may_set(grants):
        why = "this user may not flush dirty pages before the window, so earlier writes may fall into it"
        yield Finding("checkpoint", why, f"GRANT {_SETTING_RIGHTS[facts.family]} ON *.* TO {grantee}", False, by=_BY)
    for name, why, privilege in _READS:
        if not _is_allowed(connection, name):
            yield Finding("monitor", why, f"GRANT {privilege} TO {grantee}", False, by=_BY)


def _is_allowed(connection: Connection, name: str) -> bool:
    try:
        query(connection, statement("facts", name))
    except pymysql.Error as error:
        if code_of(error) in NOT_ANSWERED:
            raise
        return False
    return True


# The files of the statements that each load, run or drop may execute.
_TRIED_FILES = ("facts", "schema", "load", "manifest", "verify", "connection_registry", "global_settings", "session")
# The procedure, and the statement that removes an older one before: the client loop has neither.
_LOOP, _OF_LOOP = "the work loop", "drop_routine"
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


def try_statements(
    connection: Connection, names: MysqlNames, tables: TableEngine, plan: SessionPlan
) -> Iterator[Finding]:
    """Yield a finding for the first statement that the server does not understand."""
    override_defaults(connection)
    in_cluster = is_on(connection, "wsrep_on")
    layout = layout_of(plan.block_size)
    statements = list(_list_statements(names, tables, plan, layout.value_bytes, in_cluster))
    if plan.workload.loop is Loop.SERVER:
        statements.append((_LOOP, compose_slice(names, plan.schema, plan.workload, layout, in_cluster)))
    for what, text in statements:
        try:
            query(connection, "PREPARE trial FROM %(text)s", {"text": text})
        except pymysql.Error as error:
            if code_of(error) in _UNDERSTOOD:
                continue
            if not connection.open:
                raise
            why = f"the server refuses a statement that loads, runs or drops need ({what}): {explain_error(error)}"
            offer = f"{common_checks.BY_CLIENT}; " if what == _LOOP else ""
            yield Finding("statements", why, f"{offer}report it, with the version of the server", True)
            return


def _list_statements(
    names: MysqlNames, tables: TableEngine, plan: SessionPlan, value_bytes: int, in_cluster: bool
) -> Iterator[tuple[str, str]]:
    """Yield where each statement is, and its text with names and some values in it."""
    identifiers = {
        "database": names.schema(),
        "table": names.cf1(plan.schema),
        "cf1": names.cf1(plan.schema),
        "cf2": names.cf2(plan.schema),
        "routine": names.procedure(plan.schema),
        "manifest": names.manifest(),
        "roster": names.roster(),
        "borrowed": names.name_borrowed(),
        "status": "performance_schema.global_status",
        "setting": tables.commit_setting,
        "block_size": tables.block_size,
        "cache_bytes": tables.cache_bytes,
        "engine": tables.clause,
        "scope": "SESSION",
    }
    texts = {
        "create_table": {"columns": ", ".join(f"{name} CHAR({value_bytes})" for name in COLUMNS)},
        "insert": {"columns": ", ".join(COLUMNS), "rows": f"(1, 1, {', '.join(['@value'] * len(COLUMNS))}, @pad)"},
    }
    for file in _TRIED_FILES:
        for name, text in read_statements(PACKAGE, file).items():
            of_loop = name == _OF_LOOP and plan.workload.loop is Loop.CLIENT
            if not of_loop and ((file, name) != _ONLY_IN_CLUSTERS or in_cluster):
                yield f"{file}.sql, {name}", _bind(text.format_map({**identifiers, **texts.get(name, {})}), names)


def _bind(text: str, names: MysqlNames) -> str:
    """Return a statement with a value for each parameter, as the driver would write it."""
    parameters = _PARAMETER.findall(text)
    if not parameters:
        return text
    values: Mapping[str, str] = {"database": names.database, "tables": TABLES, "lock": names.lock("use")}
    literals = {name: _quote(values[name]) if name in values else "1" for name in parameters}
    return text % literals


def _quote(text: str) -> str:
    return pymysql.converters.escape_string(text).join("''")
