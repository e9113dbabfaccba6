"""Pre-flight checks: properties of server, user and data that make a run fail or its figures misleading."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from openslob.core.workload import CommitMode, Workload
from openslob.engines import common_checks
from openslob.engines.capabilities import Capability, lacking
from openslob.engines.facts import READ_ONLY_FINDING, DataState, Finding, ServerFacts
from openslob.engines.oracle import rights, server_checks, snapshots, storage_checks
from openslob.engines.oracle.connection import Connection, ConnectionParams
from openslob.engines.oracle.local_path import refused_path
from openslob.engines.oracle.server_facts import limit, setting
from openslob.engines.oracle.survey import Survey
from openslob.engines.oracle.versions import OLDEST, OLDEST_THIN

# The server sleeps in hundredths of a second.
_SLEEP_S = 0.01
_REDEDICATE = "put (SERVER = DEDICATED) into the connect descriptor, or name a service without shared servers"
# Limits of a profile on one call: a slice is one.
_PER_CALL = ("CPU_PER_CALL", "LOGICAL_READS_PER_CALL")
_PER_SESSION = ("CPU_PER_SESSION", "LOGICAL_READS_PER_SESSION")
# In minutes. The connections that hold the lock and send the stop signal are idle for the whole run.
_MINUTES = ("CONNECT_TIME", "IDLE_TIME")


def findings(
    connection: Connection,
    params: ConnectionParams,
    workload: Workload,
    facts: ServerFacts,
    state: Callable[[], DataState | None],
) -> Iterator[Finding]:
    """Yield all findings; ``state`` is called only after the checks of server and rights."""
    survey = Survey(connection)
    yield from refused_path(workload)
    yield from _server(survey, params, facts)
    yield from rights.findings(survey)
    yield from _limits(survey, workload)
    yield from _connections(survey, workload, facts)
    loaded = state()
    yield from common_checks.data(workload, facts, loaded)
    yield from _commits(survey, workload, facts)
    yield from _pacing(workload, facts)
    yield from storage_checks.findings(survey, workload, facts, loaded)
    yield from server_checks.findings(survey, workload, facts)
    yield from lacking(_by_settings(survey, facts))


def _server(survey: Survey, params: ConnectionParams, facts: ServerFacts) -> Iterator[Finding]:
    version = survey.connection.version
    if version < OLDEST or (version < OLDEST_THIN and not params.thick):
        oldest = OLDEST if params.thick else OLDEST_THIN
        why = f"the server is older than Oracle {oldest[0]}.{oldest[1]}"
        remedy = "use Oracle 12.1 or later; with Oracle's client libraries (?thick=yes in the target), 11.2 or later"
        yield Finding("version", why, remedy, True)
    if facts.read_only:
        why = "the database accepts no writes: it is a standby, or was opened to be read only"
        yield Finding(READ_ONLY_FINDING, why, "use the primary", True)
    if pooler := facts.connection.get("pooler"):
        why = f"sessions go through {pooler}: they share processes, and calls of one wait for those of others"
        yield Finding("pooler", why, _REDEDICATE, True)
    logins = survey.row("instance").get("logins")
    if logins == "RESTRICTED":
        by = rights.sysdba(survey)
        why = "the instance is in restricted mode, so that sessions may be refused at any time"
        yield Finding("restricted", why, "ALTER SYSTEM DISABLE RESTRICTED SESSION;", True, by=by)


def _limits(survey: Survey, workload: Workload) -> Iterator[Finding]:
    """Yield the limits of this user's profile that a run would reach."""
    seconds = workload.warmup + workload.run_time
    reached = [name for name in _PER_CALL + _PER_SESSION if limit(survey, name) is not None]
    reached += [name for name in _MINUTES if (minutes := limit(survey, name)) is not None and 60 * minutes <= seconds]
    if reached:
        user = rights.user_name(survey)
        values = ", ".join(f"{name} {limit(survey, name):,}" for name in reached)
        # A slice is one call, and the connection that holds the lock is idle for the whole run.
        why = f"the profile of user {user} would end slices, or the connection that holds the lock: {values}"
        unlimited = " ".join(f"{name} UNLIMITED" for name in reached)
        remedy = f"CREATE PROFILE slob LIMIT {unlimited};\nALTER USER {user} PROFILE slob;"
        yield Finding("profile", why, remedy, True, by=rights.sysdba(survey))
    idle = setting(survey, "max_idle_time")
    if idle.isdigit() and 0 < 60 * int(idle) <= seconds:
        why = f"max_idle_time is {idle} minutes: the connection that holds the lock is idle longer, and would be ended"
        yield Finding("idle time", why, "ALTER SYSTEM SET max_idle_time = 0;", True, by=rights.sysdba(survey))


def _connections(survey: Survey, workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    def remedy(needed: int) -> str:
        allowed = limit(survey, "SESSIONS_PER_USER")
        if allowed is not None and allowed < needed:
            user = rights.user_name(survey)
            return f"CREATE PROFILE slob LIMIT SESSIONS_PER_USER {needed};\nALTER USER {user} PROFILE slob;"
        return (
            f"ALTER SYSTEM SET processes = {_room(survey, needed)} SCOPE = SPFILE;\n"
            "-- and restart the instance; or use fewer sessions"
        )

    yield from common_checks.connections(workload, facts.free_connections, remedy, rights.sysdba_of_root(survey))


def _room(survey: Survey, needed: int) -> int:
    """Return how many processes the server needs for so many connections beside those that it has."""
    rows = survey.rows("limits") or ()
    used = [int(row["current_utilization"]) for row in rows if row["resource_name"] == "processes"]
    return needed + max(used, default=0)


def _commits(survey: Survey, workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    """Yield what the server's own settings of commits do to COMMIT_MODE."""
    if not workload.update_pct:
        return
    by = rights.sysdba_of_root(survey)
    waits = facts.settings.get("commit_wait", "").upper()
    if workload.commit_mode is CommitMode.NOWAIT and waits == "FORCE_WAIT":
        why = "COMMIT_MODE=nowait, but the server makes every commit wait (commit_wait is FORCE_WAIT)"
        yield Finding("commit mode", why, "ALTER SYSTEM SET commit_wait = NOWAIT;", True, by=by)
    if workload.commit_mode is CommitMode.ENGINE:
        why = "COMMIT_MODE=engine: commits in PL/SQL wait for the log once a call, not one by one"
        yield Finding("commit mode", why, "use COMMIT_MODE=wait to wait for each", False)
        for name in ("commit_wait", "commit_logging", "commit_write"):
            if value := facts.settings.get(name):
                why = f"{name} is {value}: the server decides how commits wait"
                yield Finding(name, why, "use COMMIT_MODE=wait or nowait to decide it for the run", False)


def _pacing(workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    """Yield a finding for a rate at which operations are due more often than a session can wake up."""
    wanted = workload.ops_per_s_wanted(facts.block_size)
    if wanted and wanted * _SLEEP_S > workload.total_sessions:
        each = wanted / workload.total_sessions
        why = (
            f"{each:,.0f} operations a second are due in each session, and Oracle sleeps in hundredths of a second: "
            "they begin in batches, up to 10 ms late"
        )
        sessions = math.ceil(wanted * _SLEEP_S)
        yield Finding("pacing", why, f"use {sessions} sessions or more, or a lower rate", False, spoils=True)


def capabilities(connection: Connection, facts: ServerFacts) -> list[Capability]:
    """Return what the server's settings and this user's rights allow to be measured, and which reports it makes."""
    return [*_by_settings(Survey(connection), facts), *snapshots.capabilities(connection)]


def _by_settings(survey: Survey, facts: ServerFacts) -> list[Capability]:
    by = rights.sysdba_of_root(survey)
    settings = {name: value.upper() for name, value in facts.settings.items()}
    return [
        Capability(
            "timed_statistics",
            settings.get("timed_statistics") != "FALSE",
            "timed_statistics is FALSE",
            "how long waits and reads took will be unknown",
            "ALTER SYSTEM SET timed_statistics = TRUE;",
            by=by,
        ),
        Capability(
            "statistics_level",
            settings.get("statistics_level") != "BASIC",
            "statistics_level is BASIC",
            "I/O by table will be unknown",
            "ALTER SYSTEM SET statistics_level = TYPICAL;",
            by=by,
        ),
    ]
