"""Pre-flight checks: what about this server, role and data would make the run fail, or its figures mean little."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
from psycopg.rows import dict_row

from openslob.engines import common_checks
from openslob.engines.capabilities import Capability, lacking
from openslob.engines.facts import READ_ONLY_FINDING, DataState, Finding, ServerFacts
from openslob.engines.postgresql import local_path
from openslob.engines.postgresql.connection import REMEDY, Pooling, why_not
from openslob.engines.postgresql.names import Names
from openslob.engines.sql import read_statements
from openslob.errors import SlobError
from openslob.workload import Workload

PACKAGE = "openslob.engines.postgresql"
OLDEST = 130000
_CHECKPOINT_ROLE_SINCE = 150000


def findings(
    connection: psycopg.Connection[Any],
    names: Names,
    workload: Workload,
    facts: ServerFacts,
    data_state: Callable[[], DataState | None],
) -> Iterator[Finding]:
    """All findings; the data are asked about once the rights are known, without which the server just refuses."""
    role = _role(connection, names)
    yield from _role_findings(role, names)
    yield from common_checks.connections(workload, facts.free_connections, _raise_limit(role))
    yield from common_checks.data(workload, facts, data_state())
    yield from local_path.findings(connection, workload, facts.block_size)
    yield from _pooler(facts)
    yield from _settings(facts)


def _role(connection: psycopg.Connection[Any], names: Names) -> dict[str, Any]:
    text = read_statements(PACKAGE, "facts")["role"]
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(text, {"schema": names.schema}).fetchone()
    if row is None:
        raise SlobError("the server does not tell what this role may do")
    return row


def require_version(connection: psycopg.Connection[Any]) -> None:
    """SlobError, with the connection closed, when the server is too old for what all else asks of it."""
    if connection.info.server_version < OLDEST:
        found = connection.info.parameter_status("server_version")
        connection.close()
        raise SlobError(f"the server is PostgreSQL {found}", f"{OLDEST // 10000} or later is needed")


def _role_findings(role: dict[str, Any], names: Names) -> Iterator[Finding]:
    if role.get("standby"):
        yield Finding(READ_ONLY_FINDING, "the server is a standby and takes no writes", "name its primary too", True)
    if role["has_schema"] and not (role["may_use"] and role["may_create"]):
        grant = f"GRANT USAGE, CREATE ON SCHEMA {names.schema} TO {role['name']}"
        yield Finding("rights", f"role {role['name']} may not use schema {names.schema}", grant, True)
    if not role["has_schema"] and not role["may_make_schema"]:
        why = f"there is no schema {names.schema}, and role {role['name']} may not make it"
        yield Finding("rights", why, f"CREATE SCHEMA {names.schema} AUTHORIZATION {role['name']}", True)
    if not (role["superuser"] or role["may_checkpoint"]):
        why = "this role may not run a checkpoint before the window: old writes may fall into it"
        there = role["version"] >= _CHECKPOINT_ROLE_SINCE
        grant = f"GRANT pg_checkpoint TO {role['name']}" if there else "let a superuser run CHECKPOINT before a run"
        yield Finding("checkpoint", why, grant, False)
    if not role["may_see_all"]:
        why = "what sessions of other roles do is hidden from this role; their load goes unnoticed"
        yield Finding("monitor", why, f"GRANT pg_monitor TO {role['name']}", False)


def _raise_limit(role: dict[str, Any]) -> Callable[[int], str]:
    """How to make room for so many connections, by what limits them."""

    def remedy(needed: int) -> str:
        for limit, whose in ((role["database_limit"], "DATABASE {database}"), (role["role_limit"], "ROLE {name}")):
            if limit is not None and limit < needed:
                return f"ALTER {whose.format(**role)} CONNECTION LIMIT {needed}"
        return common_checks.MORE_CONNECTIONS

    return remedy


def _pooler(facts: ServerFacts) -> Iterator[Finding]:
    mode = facts.connection.get("pooler")
    if mode == Pooling.TRANSACTION:
        yield Finding("pooler", why_not("the target"), REMEDY, True)
    elif mode:
        why = "sessions go through a connection pooler: their number, a common start and a cancel are its matter"
        yield Finding("pooler", why, "connect to the server itself", False)


# Setting, value, what it does, what to do, whether it makes another thing of what is measured.
_BAD_SETTINGS = (
    ("fsync", "off", "commits are not durable and log syncs mean nothing", "set fsync = on", True),
    ("full_page_writes", "off", "the log is smaller than a safe server's", "set full_page_writes = on", True),
)
# Setting, what is unknown without it.
_CAPABILITIES = (
    ("track_io_timing", "the engine's read latency will be unknown"),
    ("track_counts", "rows and table I/O will be unknown"),
)


def capabilities(facts: ServerFacts) -> list[Capability]:
    """Return what the server's settings allow to be measured."""
    return [
        Capability(name, facts.settings.get(name) != "off", f"{name} is off", why, f"set {name} = on")
        for name, why in _CAPABILITIES
    ]


def _settings(facts: ServerFacts) -> Iterator[Finding]:
    for name, bad, why, remedy, spoils in _BAD_SETTINGS:
        if facts.settings.get(name) == bad:
            yield Finding(name, f"{name} is {bad}: {why}", remedy, False, spoils)
    yield from lacking(capabilities(facts))
