"""Pre-flight checks: what about this server, user and data would make the run fail, or its figures mean little."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from openslob.engines import common_checks
from openslob.engines.capabilities import Capability, lacking
from openslob.engines.facts import READ_ONLY_FINDING, DataState, Finding, ServerFacts
from openslob.engines.mysql import global_settings, rights
from openslob.engines.mysql.connection import Connection, Row, ask, statement
from openslob.engines.mysql.location import PROXY_REMEDY, why_not
from openslob.engines.mysql.names import Names
from openslob.engines.mysql.quiesce import SETTING, wanted_setting
from openslob.engines.mysql.waits import are_observed
from openslob.errors import UsageError
from openslob.workload import BlockPath, CommitMode, Workload

OLDEST = {"MariaDB": (10, 6), "MySQL": (8, 0)}
_NO_LOCAL_PATH = Finding(
    "block path",
    "BLOCK_PATH=local: InnoDB reads temporary tables, too, through the cache that all sessions share",
    "use BLOCK_PATH=shared, or PostgreSQL",
    blocking=True,
)


def findings(
    connection: Connection,
    names: Names,
    workload: Workload,
    facts: ServerFacts,
    data_state: Callable[[], DataState | None],
) -> Iterator[Finding]:
    """All findings; the data are asked about once the server is known to be one that can be worked with."""
    identity = ask(connection, statement("facts", "identity"))[0]
    yield from _path(workload)
    yield from _server(connection, facts, identity)
    yield from rights.findings(connection, names, facts, identity["user"])
    yield from common_checks.connections(workload, facts.free_connections, _raise_limit(identity))
    yield from common_checks.data(workload, facts, data_state())
    yield from _commit_mode(workload, facts, rights.may_set(connection), rights.account(identity["user"]))
    yield from binary_log(workload, facts)
    yield from late_commits(workload, facts)
    yield from lacking(capabilities(connection, facts))
    yield from _settings(facts)
    yield from _left_behind(connection, names)


def _path(workload: Workload) -> Iterator[Finding]:
    if workload.block_path is BlockPath.LOCAL:
        yield _NO_LOCAL_PATH


def _raise_limit(identity: Row) -> Callable[[int], str]:
    """How to make room for so many connections, by what limits them."""

    def remedy(needed: int) -> str:
        if identity["max_user_connections"]:
            return f"ALTER USER {rights.account(identity['user'])} WITH MAX_USER_CONNECTIONS {needed}"
        return common_checks.MORE_CONNECTIONS

    return remedy


def require_shared(workload: Workload) -> None:
    """UsageError for a path of blocks that this engine does not have."""
    for finding in _path(workload):
        raise UsageError(finding.why, finding.remedy)


def _server(connection: Connection, facts: ServerFacts, identity: Row) -> Iterator[Finding]:
    oldest = OLDEST[facts.product]
    if tuple(int(part) for part in facts.version.split(".")[:2]) < oldest:
        named = f"{facts.product} {oldest[0]}.{oldest[1]}"
        yield Finding("version", f"the server is older than {named}", f"use {named} or later", True)
    if identity["read_only"]:
        yield Finding(READ_ONLY_FINDING, "the server takes no writes (read_only)", "use the primary", True)
    if "pooler" in facts.connection:
        yield Finding("pooler", why_not("the target"), PROXY_REMEDY, True)
    if not ask(connection, statement("facts", "clock_is_now"))[0]["moved"]:
        why = "the server's clock stands still within a statement (sysdate-is-now), so nothing can be timed"
        yield Finding("clock", why, "start the server without sysdate-is-now", True)


def _commit_mode(workload: Workload, facts: ServerFacts, may_set: bool, account: str) -> Iterator[Finding]:
    wanted, there = wanted_setting(workload), facts.settings.get(SETTING)
    if wanted is None or there == str(wanted):
        return
    if may_set:
        why = f"{SETTING} is {there}; it is set to {wanted} for this run and back again"
        yield Finding("commit mode", why, "say COMMIT_MODE=engine to leave it", False)
    else:
        why = f"COMMIT_MODE={workload.commit_mode} needs {SETTING} = {wanted}: it is {there}"
        grant = f"GRANT {rights.SETTING_RIGHTS[facts.product]} ON *.* TO {account}"
        yield Finding("commit mode", f"{why}; COMMIT_MODE=engine leaves it", grant, True)


def binary_log(workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    """What a second log, beside the engine's own, does to updates."""
    settings = facts.settings
    if settings.get("log_bin") != "ON" or not workload.update_pct:
        return
    if settings.get("binlog_format") == "STATEMENT":
        why = "binlog_format is STATEMENT: the server refuses updates at READ COMMITTED"
        yield Finding("binlog_format", why, "SET GLOBAL binlog_format = 'ROW'", True)
    if workload.commit_mode is CommitMode.NOWAIT and settings.get("sync_binlog") != "0":
        why = f"COMMIT_MODE=nowait, but commits wait for the binary log (sync_binlog is {settings.get('sync_binlog')})"
        yield Finding("sync_binlog", why, "SET GLOBAL sync_binlog = 0", False, True)


def late_commits(workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    """MariaDB 10.6 and later have a client wait until its commits are on disk, not a procedure (MDEV-24341).

    The session that writes the log waits for it; others, who find it being written, don't: with 6 sessions 50 commits
    shared one sync in 10.11. With a binary log they do: 3 commits a sync.
    """
    by_engine = workload.commit_mode is CommitMode.ENGINE and facts.settings.get(SETTING) == "1"
    waits = workload.commit_mode is CommitMode.WAIT or by_engine
    alone = facts.settings.get("log_bin") != "ON"
    if facts.product == "MariaDB" and workload.update_pct and workload.total_sessions > 1 and waits and alone:
        why = "MariaDB lets a procedure go on before its commits are on disk: updates don't all wait for the log"
        yield Finding("late commits", why, "look at log syncs beside commits; MySQL waits", False, True)


def capabilities(connection: Connection, facts: ServerFacts) -> list[Capability]:
    """Return what the server's settings allow to be measured."""
    observed = facts.settings.get("performance_schema") == "ON"
    return [
        Capability(
            "waits",
            not (observed and are_observed(connection) is False),
            "what sessions wait for is not observed",
            "waits will be known by stage only",
            "UPDATE performance_schema.setup_consumers SET enabled = 'YES' WHERE name = 'events_waits_current'",
        ),
        Capability(
            "userstat",
            observed or facts.settings.get("userstat") != "OFF",
            "userstat is OFF",
            "rows visited by the server's own count will be unknown",
            "SET GLOBAL userstat = ON",
        ),
    ]


# Setting, value, what it does, what to do, whether it makes another thing of what is measured.
_BAD_SETTINGS = (
    ("innodb_doublewrite", "OFF", "pages are written less safely, and once instead of twice", "set it to ON", True),
    ("innodb_doublewrite", "DETECT_ONLY", "pages are written once instead of twice", "set it to ON", True),
    ("innodb_random_read_ahead", "ON", "blocks are read that nobody asked for", "set it to OFF", True),
    ("innodb_adaptive_hash_index", "ON", "visits may skip the way down the index", "set it to OFF", False),
    ("query_cache_type", "ON", "results may come from a cache of results", "set it to OFF", True),
    ("query_cache_type", "DEMAND", "results may come from a cache of results", "set it to OFF", False),
    ("log_bin", "ON", "updates write a second log, the binary log", "know it, or start with skip-log-bin", False),
)


def _settings(facts: ServerFacts) -> Iterator[Finding]:
    for name, bad, why, remedy, spoils in _BAD_SETTINGS:
        if facts.settings.get(name) == bad:
            yield Finding(name, f"{name} is {bad}: {why}", remedy, False, spoils)


def _left_behind(connection: Connection, names: Names) -> Iterator[Finding]:
    for left in global_settings.left_behind(connection, names):
        why = f"{left.told}; the next run, load or drop puts it back"
        yield Finding("left behind", why, left.remedy, False)
