"""Pre-flight checks: what about this server, role and data would make the run fail, or its figures mean little."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
from psycopg.rows import dict_row

from openslob.engines.base import READ_ONLY_FINDING, DataState, Finding, ServerFacts
from openslob.engines.postgresql.names import Names
from openslob.engines.sql import read_statements
from openslob.workload import Mode, Workload

PACKAGE = "openslob.engines.postgresql"
OLDEST = 150000
# Beside the work loop's sessions: counters, waits, the lock, the stop signal, and one for questions.
OWN_CONNECTIONS = 5


def findings(
    connection: psycopg.Connection[Any],
    names: Names,
    workload: Workload,
    facts: ServerFacts,
    data_state: Callable[[], DataState | None],
) -> Iterator[Finding]:
    """All findings; the data are asked about once the rights are known, without which the server just refuses."""
    role = _role(connection, names)
    yield from _version(connection)
    yield from _role_findings(role, names)
    yield from _connections(workload, facts, role)
    yield from _data(workload, facts, data_state())
    yield from _settings(facts)
    yield from _cache(workload, facts)


def _role(connection: psycopg.Connection[Any], names: Names) -> dict[str, Any]:
    text = read_statements(PACKAGE, "facts")["role"]
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(text, {"schema": names.schema}).fetchone() or {}


def _version(connection: psycopg.Connection[Any]) -> Iterator[Finding]:
    if connection.info.server_version < OLDEST:
        yield Finding("version", "the server is older than PostgreSQL 15", "use PostgreSQL 15 or later", True)


def _role_findings(role: dict[str, Any], names: Names) -> Iterator[Finding]:
    if role.get("standby"):
        yield Finding(READ_ONLY_FINDING, "the server is a standby and takes no writes", "name its primary too", True)
    if role.get("has_schema") and not (role["may_use"] and role["may_create"]):
        grant = f"GRANT USAGE, CREATE ON SCHEMA {names.schema} TO {role['name']}"
        yield Finding("rights", f"role {role['name']} may not use schema {names.schema}", grant, True)
    if not role.get("may_checkpoint"):
        grant = f"GRANT pg_checkpoint TO {role.get('name')}"
        yield Finding("checkpoint", "this role may not run a checkpoint before the window", grant, False)
    if not role.get("may_see_all"):
        grant = f"GRANT pg_monitor TO {role.get('name')}"
        yield Finding("monitor", "this role sees only its own sessions; others' load goes unnoticed", grant, False)


def _connections(workload: Workload, facts: ServerFacts, role: dict[str, Any]) -> Iterator[Finding]:
    needed = workload.total_sessions + OWN_CONNECTIONS
    free = facts.free_connections
    limit = role.get("connection_limit", -1)
    if limit >= 0:
        free = min(free, limit)
    if needed > free:
        why = f"{workload.total_sessions} sessions need {needed} connections and {free} are free"
        yield Finding("connections", why, "raise max_connections or use fewer sessions", True)


def _data(workload: Workload, facts: ServerFacts, state: DataState | None) -> Iterator[Finding]:
    if state is None:
        yield Finding("data", "nothing is loaded", "run `slob load` first", True)
        return
    if not state.verified:
        yield Finding(
            "data",
            "the last load did not finish, or its tables have grown or shrunk since",
            "run `slob load` again",
            True,
        )
        return
    wanted = workload.data(facts.block_size)
    for what, asked, there in (
        ("SCHEMAS", wanted.schemas, state.spec.schemas),
        ("SCALE", wanted.scale_blocks, state.spec.scale_blocks),
        ("SCAN_TABLE_SZ", wanted.scan_blocks if workload.scan_pct else 0, state.spec.scan_blocks),
    ):
        if asked > there:
            why = f"{what} asks for {asked:,} and {there:,} are loaded"
            yield Finding("data", why, "run `slob load` with the same parameters, or ask for less", True)
    if wanted.obfuscate != state.spec.obfuscate:
        fill = "incompressible" if state.spec.obfuscate else "constant"
        yield Finding("fill", f"the loaded data are {fill}, OBFUSCATE_COLUMNS asks otherwise", "load again", False)
    yield from _range(workload, wanted.scale_blocks, facts.block_size)


def _range(workload: Workload, scale: int, block_size: int) -> Iterator[Finding]:
    largest = max(workload.work_unit, workload.rows_per_update)
    if largest > scale:
        yield Finding("work unit", f"WORK_UNIT {largest} is more than SCALE {scale}", "lower it, or load more", True)
    if not workload.do_hotspot:
        return
    first = int(workload.hotspot_offset_mb * 1024**2) // block_size
    keys = int(workload.hotspot_mb * 1024**2) // block_size
    if first + keys > scale or keys < largest:
        why = f"the hot spot (blocks {first} to {first + keys}) does not fit SCALE {scale} and WORK_UNIT {largest}"
        yield Finding("hot spot", why, "change HOTSPOT_MB or HOTSPOT_OFFSET_MB", True)


_BAD_SETTINGS = (
    ("fsync", "off", "commits are not durable and log syncs mean nothing", "set fsync = on"),
    ("full_page_writes", "off", "the log is smaller than a safe server's", "set full_page_writes = on"),
    ("track_io_timing", "off", "the engine's read latency will be unknown", "set track_io_timing = on"),
    ("track_counts", "off", "rows and table I/O will be unknown", "set track_counts = on"),
)


def _settings(facts: ServerFacts) -> Iterator[Finding]:
    for name, bad, why, remedy in _BAD_SETTINGS:
        if facts.settings.get(name) == bad:
            yield Finding(name, f"{name} is {bad}: {why}", remedy, False)


def _cache(workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    active = workload.data(facts.block_size)
    size = active.scale_blocks * min(active.schemas, workload.total_sessions) * facts.block_size
    if workload.mode is Mode.PIO and size < 4 * facts.cache_bytes:
        why = f"the active data are {size / facts.cache_bytes:.1f} times the server's cache"
        yield Finding("mode", f"{why}: most reads would be hits", "load more, or use a smaller cache", False)
    if workload.mode is Mode.LIO and size > 0.8 * facts.cache_bytes:
        why = f"the active data are {size / facts.cache_bytes:.1f} times the server's cache"
        yield Finding("mode", f"{why}: they will not all stay cached", "load less, or use a larger cache", False)
