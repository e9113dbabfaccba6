"""Pre-flight checks: what about this server, role and data would make the run fail, or its figures mean little."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
from psycopg.rows import dict_row

from openslob.engines import fitness
from openslob.engines.base import READ_ONLY_FINDING, DataState, Finding, ServerFacts
from openslob.engines.postgresql.names import Names
from openslob.engines.sql import read_statements
from openslob.workload import Workload

PACKAGE = "openslob.engines.postgresql"
OLDEST = 150000


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
    yield from fitness.connections(workload, _free(facts, role))
    yield from fitness.data(workload, facts, data_state())
    yield from _settings(facts)
    yield from fitness.cache(workload, facts)


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


def _free(facts: ServerFacts, role: dict[str, Any]) -> int:
    limit: int = role.get("connection_limit", -1)
    return min(facts.free_connections, limit) if limit >= 0 else facts.free_connections


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
