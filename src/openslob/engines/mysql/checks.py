"""Pre-flight checks: what about this server, user and data would make the run fail, or its figures mean little."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from openslob.engines import fitness
from openslob.engines.base import DataState, Finding, ServerFacts
from openslob.engines.mysql.commit import wanted_setting
from openslob.engines.mysql.connection import Connection, Row, ask, statement
from openslob.errors import UsageError
from openslob.workload import BlockPath, Workload

OLDEST = {"MariaDB": (10, 6), "MySQL": (8, 0)}
# Privileges that let a user set what is the whole server's, by product and version.
SETTING_RIGHTS = frozenset({"SUPER", "SYSTEM_VARIABLES_ADMIN"})
_NO_LOCAL_PATH = Finding(
    "block path",
    "BLOCK_PATH=local: InnoDB reads temporary tables, too, through the cache that all sessions share",
    "use BLOCK_PATH=shared, or PostgreSQL",
    blocking=True,
)


def findings(
    connection: Connection,
    workload: Workload,
    facts: ServerFacts,
    data_state: Callable[[], DataState | None],
) -> Iterator[Finding]:
    """All findings; the data are asked about once the server is known to be one that can be worked with."""
    identity = ask(connection, statement("facts", "identity"))[0]
    rights = {row["privilege"] for row in ask(connection, statement("facts", "privileges"))}
    yield from _path(workload)
    yield from _server(connection, facts, identity)
    yield from fitness.connections(workload, facts.free_connections)
    yield from fitness.data(workload, facts, data_state())
    yield from _commit_mode(workload, facts, rights)
    yield from _settings(facts)


def _path(workload: Workload) -> Iterator[Finding]:
    if workload.block_path is BlockPath.LOCAL:
        yield _NO_LOCAL_PATH


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
        yield Finding("read only", "the server takes no writes (read_only)", "use the primary", True)
    if not ask(connection, statement("facts", "clock_is_now"))[0]["moved"]:
        why = "the server's clock stands still within a statement (sysdate-is-now), so nothing can be timed"
        yield Finding("clock", why, "start the server without sysdate-is-now", True)


def _commit_mode(workload: Workload, facts: ServerFacts, rights: set[str]) -> Iterator[Finding]:
    wanted, there = wanted_setting(workload), facts.settings.get("innodb_flush_log_at_trx_commit")
    if wanted is None or there == wanted:
        return
    remedy = "have the server set, say COMMIT_MODE=engine, or grant the right to set it"
    if rights & SETTING_RIGHTS:
        why = f"innodb_flush_log_at_trx_commit is {there}; it is set to {wanted} for this run and back again"
        yield Finding("commit mode", why, "say COMMIT_MODE=engine to leave it", False)
    else:
        why = f"COMMIT_MODE={workload.commit_mode} needs innodb_flush_log_at_trx_commit = {wanted}: it is {there}"
        yield Finding("commit mode", f"{why}, and it is the server's choice", remedy, True)


_BAD_SETTINGS = (
    ("innodb_doublewrite", "OFF", "pages are written less safely, and once instead of twice", "set it to ON"),
    ("innodb_random_read_ahead", "ON", "blocks are read that nobody asked for", "set it to OFF"),
    ("innodb_adaptive_hash_index", "ON", "visits may skip the way down the index", "set it to OFF"),
    ("query_cache_type", "ON", "results may come from a cache of results", "set it to OFF"),
    ("query_cache_type", "DEMAND", "results may come from a cache of results", "set it to OFF"),
    ("log_bin", "ON", "updates write a second log, the binary log", "know it, or start with skip-log-bin"),
    ("userstat", "OFF", "rows visited by the server's own count will be unknown", "set it to ON"),
)


def _settings(facts: ServerFacts) -> Iterator[Finding]:
    for name, bad, why, remedy in _BAD_SETTINGS:
        if facts.settings.get(name) == bad:
            yield Finding(name, f"{name} is {bad}: {why}", remedy, False)
    if facts.direct_io is False:
        why = f"innodb_flush_method is {facts.settings.get('innodb_flush_method')}: reads may come from the page cache"
        yield Finding("buffered", why, "set innodb_flush_method = O_DIRECT", False)
