"""Answers to the statements of facts.sql as databases of each version would give them: known columns, views, rights.

From Oracle's manuals and real AWR reports, not from a database: what they prove is that the engine copes with each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from factories.oracle.wire_executor import Executor, OracleError, Rows
from openslob.core.units import GIB, MIB
from openslob.engines.oracle.connection import PACKAGE
from openslob.engines.sql import read_statements

# The version that python-oracledb reports, and the product's name, by the name of a release.
RELEASES: Mapping[str, tuple[str, str]] = {
    "11.2": ("11.2.0.4.0", "Oracle Database 11g Enterprise Edition "),
    "12.1": ("12.1.0.2.0", "Oracle Database 12c Enterprise Edition "),
    "12.2": ("12.2.0.1.0", "Oracle Database 12c Enterprise Edition "),
    "18": ("18.3.0.0.0", "Oracle Database 18c Enterprise Edition"),
    "19": ("19.3.0.0.0", "Oracle Database 19c Enterprise Edition"),
    "21": ("21.3.0.0.0", "Oracle Database 21c Enterprise Edition"),
    "23ai": ("23.4.0.24.5", "Oracle Database 23ai Free"),
    "26ai": ("23.26.0.0.0", "Oracle AI Database 26ai Enterprise Edition"),
}
NOT_SEEN = (942, "table or view does not exist")
NO_COLUMN = (904, "invalid identifier")
NO_CONTEXT = (2003, "invalid USERENV parameter")
_VIEW = re.compile(r"\b(?:FROM|JOIN)\s+(?:SYS\.)?(g?v_?\$\w+|dba_\w+)", re.IGNORECASE)
_ALTERED = re.compile(r"ALTER SESSION (?:SET (?P<name>\w+) = '?(?P<value>[^']*)'?|DISABLE PARALLEL QUERY)$")
_NEEDS_MICRO = (12, 1, 0, 2)

PARAMETERS = {
    "db_block_size": "8192", "db_cache_size": "0", "sga_target": "12G", "memory_target": "0", "cpu_count": "16",
    "filesystemio_options": "SETALL", "commit_wait": None, "commit_logging": None, "timed_statistics": "TRUE",
    "statistics_level": "TYPICAL", "control_management_pack_access": "DIAGNOSTIC+TUNING", "processes": "640",
    "result_cache_mode": "MANUAL", "db_block_checking": "FALSE", "db_block_checksum": "TYPICAL",
    "db_lost_write_protect": "NONE", "undo_tablespace": "UNDOTBS1", "resource_limit": "TRUE",
    "plsql_code_type": "INTERPRETED", "plsql_optimize_level": "2", "optimizer_dynamic_sampling": "2",
    "db_create_file_dest": "/u02",
    "_db_block_prefetch_limit": "0", "_db_block_prefetch_quota": "0", "_db_file_noncontig_mblock_read_count": "0",
}  # fmt: skip
_SINCE = {
    "inmemory_size": ((12, 1, 0, 2), "0"), "pga_aggregate_limit": ((12, 1), "8G"),
    "optimizer_adaptive_plans": ((12, 2), "TRUE"), "optimizer_ignore_hints": ((18,), "FALSE"),
}  # fmt: skip
DATABASE = {
    "dbid": 1234567890, "name": "ORCL", "open_mode": "READ WRITE", "log_mode": "NOARCHIVELOG", "force_logging": "NO",
    "flashback_on": "NO", "database_role": "PRIMARY", "platform_name": "Linux x86 64-bit",
    "protection_mode": "MAXIMUM PERFORMANCE", "supplemental_log_data_min": "NO",
}  # fmt: skip
TABLESPACE = {
    "tablespace_name": "SLOB", "block_size": 8192, "status": "ONLINE", "logging": "LOGGING", "force_logging": "NO",
    "def_tab_compression": "DISABLED", "compress_for": None, "encrypted": "NO", "segment_space_management": "AUTO",
    "bigfile": "YES",
}  # fmt: skip
PRIVILEGES = ("CREATE TABLE", "CREATE PROCEDURE", "ALTER SYSTEM")


@dataclass
class Server:
    """What a database is, as its answers show it. The first is a quiet one of 19c, in which nothing is wrong."""

    release: str = "19"
    container: tuple[int, str] | None = (0, "ORCL")
    without: frozenset[str] = frozenset()
    parameters: Mapping[str, str | None] = field(default_factory=dict)
    database: Mapping[str, Any] = field(default_factory=dict)
    tablespace: Mapping[str, Any] | None = field(default_factory=dict)
    default_tablespace: str = "SLOB"
    instance: Mapping[str, Any] = field(default_factory=dict)
    instances: Sequence[str] = ("slob1",)
    privileges: Sequence[str] = PRIVILEGES
    may_sleep: bool = True
    pools: Sequence[tuple[str, int, int]] = (("DEFAULT", 8192, 8192), ("KEEP", 8192, 0))
    files: Sequence[tuple[str, int, int]] = (("/u02/slob01.dbf", 64 * GIB, 64 * GIB),)
    undo: Sequence[tuple[str, int, int]] = (("/u02/undo01.dbf", 8 * GIB, 8 * GIB),)
    free_bytes: int = 60 * GIB
    held_bytes: int = 0
    quota: int | None = -1
    logs: Sequence[tuple[int, int]] = ((1, 4 * GIB), (1, 4 * GIB), (1, 4 * GIB))
    profile: Mapping[str, str] = field(default_factory=dict)
    session_server: str = "DEDICATED"
    protocol: str = "tcp"
    plan: tuple[str, str] = ("INTERNAL_PLAN", "OFF")
    windows: Sequence[tuple[str, str | None, str, int]] = (
        ("MONDAY_WINDOW", "DEFAULT_MAINTENANCE_PLAN", "FALSE", 40000),
    )
    autotasks: Sequence[str] = ("auto optimizer stats collection",)
    asynch_io: str = "ASYNC_ON"
    in_memory: str = "DISABLED"
    flash_hits: int = 0
    resizes: int = 0
    neighbours: Sequence[tuple[str, str, int]] = ()
    # rds or autonomous, and whether the user is the master user of the first.
    cloud: str = ""
    is_master: bool = False
    # Parameters that sessions may not set: with an error, and without one.
    refused: Sequence[str] = ()
    ignored: Sequence[str] = ()
    processes: tuple[int, str] = (60, "640")

    @property
    def version(self) -> tuple[int, ...]:
        return tuple(int(part) for part in RELEASES[self.release][0].split("."))


Reply = Callable[[Server, Mapping[str, Any]], list[dict[str, Any]]]


def _version(server: Server, _: Mapping[str, Any]) -> list[dict[str, Any]]:
    name = RELEASES[server.release][1]
    others = ["NLSRTL ", "PL/SQL ", "TNS for Linux: "] if server.version < (18,) else []
    rows = [others[0]] if others else []
    names = [*rows, name, *others[1:]]
    return [{"product": each, "version": RELEASES[server.release][0], "status": "Production"} for each in names]


def _identity(server: Server, _: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "user_name": "SLOB", "user_id": 107, "created": "2026-01-01 12:00:00",
            "default_tablespace": server.default_tablespace,
            "db_unique_name": "orcl", "instance_name": "slob1", "service_name": "slob", "protocol": server.protocol,
        }
    ]  # fmt: skip


def _container(server: Server, _: Mapping[str, Any]) -> list[dict[str, Any]]:
    if server.version < (12, 1) or server.container is None:
        raise OracleError(*NO_CONTEXT)
    return [{"con_id": str(server.container[0]), "con_name": server.container[1]}]


def _tablespace(server: Server, binds: Mapping[str, Any]) -> list[dict[str, Any]]:
    if server.tablespace is None:
        return []
    found = {**TABLESPACE, **server.tablespace}
    return [found] if binds["tablespace_name"] in (None, found["tablespace_name"]) else []


def _in_memory(server: Server, _: Mapping[str, Any]) -> list[dict[str, Any]]:
    if server.version < _NEEDS_MICRO:
        raise OracleError(*NO_COLUMN)
    return [{"def_inmemory": server.in_memory}]


def _files(server: Server, binds: Mapping[str, Any]) -> list[dict[str, Any]]:
    files = server.undo if binds["tablespace_name"] == "UNDOTBS1" else server.files
    return [
        {"file_id": at, "file_name": name, "bytes": size, "most_bytes": most}
        for at, (name, size, most) in enumerate(files, 5)
    ]


def _parameters(server: Server, _: Mapping[str, Any]) -> list[dict[str, Any]]:
    newer = {name: value for name, (since, value) in _SINCE.items() if server.version >= since}
    values = {**PARAMETERS, **newer, **server.parameters}
    return [{"name": name, "display_value": value} for name, value in values.items() if value != "absent"]


def _rights(server: Server, _: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"privilege": name} for name in server.privileges]


def _profile(server: Server, _: Mapping[str, Any]) -> list[dict[str, Any]]:
    names = ("SESSIONS_PER_USER", "CPU_PER_CALL", "CPU_PER_SESSION", "LOGICAL_READS_PER_CALL",
             "LOGICAL_READS_PER_SESSION", "CONNECT_TIME", "IDLE_TIME")  # fmt: skip
    return [{"resource_name": name, "limit": server.profile.get(name, "UNLIMITED")} for name in names]


def _limits(server: Server, _: Mapping[str, Any]) -> list[dict[str, Any]]:
    used, most = server.processes
    return [
        {"resource_name": "processes", "current_utilization": used, "limit_value": most},
        {"resource_name": "sessions", "current_utilization": used + 10, "limit_value": "1000"},
    ]


REPLIES: Mapping[str, Reply] = {
    "version": _version,
    "identity": _identity,
    "role": lambda server, _: [{"database_role": {**DATABASE, **server.database}["database_role"]}],
    "container": _container,
    "autonomous": lambda server, _: [{"service": "OLTP" if server.cloud == "autonomous" else None}],
    "rds": lambda server, _: [
        {"is_rds": int(server.cloud == "rds"), "may_administer": int(server.cloud == "rds" and server.is_master)}
    ],
    "tablespace": _tablespace,
    "in_memory": _in_memory,
    "space": lambda server, _: [{"free_bytes": server.free_bytes, "quota_bytes": server.quota}],
    "held": lambda server, _: [{"held_bytes": server.held_bytes}],
    "files": _files,
    "file_io": lambda server, _: [{"file_no": at, "asynch_io": server.asynch_io} for at in (5, 6)],
    "instance": lambda server, _: [
        {
            "instance_name": "slob1", "host_name": "db1", "status": "OPEN", "archiver": "STOPPED",
            "parallel": "YES" if len(server.instances) > 1 else "NO", "logins": "ALLOWED",
            "startup_time": "2026-01-01 00:00:00", **server.instance,
        }
    ],
    "instances": lambda server, _: [{"instance_name": name} for name in server.instances],
    "database": lambda server, _: [{**DATABASE, **server.database}],
    "parameters": _parameters,
    "caches": lambda server, _: [{"name": a, "block_size": b, "mb": c} for a, b, c in server.pools],
    "sga": lambda server, _: [
        {"component": "DEFAULT buffer cache", "current_size": 8192 * MIB, "oper_count": server.resizes}
    ],
    "logs": lambda server, _: [{"thread": a, "bytes": b, "members": 2} for a, b in server.logs],
    "limits": _limits,
    "profile": _profile,
    "rights": _rights,
    "may_sleep": lambda server, _: [{"granted": int(server.may_sleep)}],
    "resource_manager": lambda server, _: [{"name": server.plan[0], "cpu_managed": server.plan[1]}],
    "windows": lambda server, _: [
        {"window_name": a, "resource_plan": b, "active": c, "seconds_until": d} for a, b, c, d in server.windows
    ],
    "autotasks": lambda server, _: [{"client_name": name} for name in server.autotasks],
    "host": lambda server, _: [{"cpus": 16}],
    "smart_storage": lambda server, _: [{"hits": server.flash_hits}],
    "session": lambda server, _: [{"server": server.session_server, "port": 51000}],
    "own_sessions": lambda server, _: [{"sessions": 1}],
    "neighbours": lambda server, _: [{"username": a, "action": b, "sessions": c} for a, b, c in server.neighbours],
}  # fmt: skip


@cache
def _names() -> Mapping[str, str]:
    return {text: name for name, text in read_statements(PACKAGE, "facts").items() if name != "may_read"}


def views_of(text: str) -> set[str]:
    """The views of a statement that need a right, by the names of grants.sql, such as V_$SESSION."""
    return {name.upper().replace("V$", "V_$") for name in _VIEW.findall(text)}


class Answers(Executor):
    """Answers the statements of facts.sql, and a session's settings, and no others, as a `Server` would."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.own: dict[str, str] = {}

    def execute(self, text: str, binds: dict[str, Any]) -> Rows:
        """Rows, or ORA-00942 for a view that this user may not see or this version lacks."""
        views = views_of(text)
        if views & self.server.without or (self.server.version < _NEEDS_MICRO and "V_$EVENT_HISTOGRAM_MICRO" in views):
            raise OracleError(*NOT_SEEN)
        if text.startswith("SELECT 1 AS one FROM SYS."):
            return Rows(("one",), ())
        if altered := _ALTERED.match(text):
            return self._alter(altered["name"] or "parallel query", altered["value"] or "")
        if text == read_statements(PACKAGE, "session")["shown"]:
            values = {row["name"]: row["display_value"] for row in _parameters(self.server, {})} | self.own
            name = binds["name"]
            return Rows(("display_value",), [(values[name],)] if name in values else [])
        rows = REPLIES[_names()[text]](self.server, binds)
        return Rows(tuple(rows[0]) if rows else ("nothing",), [tuple(row.values()) for row in rows])

    def _alter(self, name: str, value: str) -> Rows:
        if name.lower() in self.server.refused:
            raise OracleError(1031, "insufficient privileges")
        if value and name.lower() not in self.server.ignored:
            self.own[name.lower()] = value
        return Rows(("nothing",), ())
