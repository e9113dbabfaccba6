"""Pre-flight checks: properties of server, user and data that make a run fail or its figures misleading."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from openslob.core.units import GIB, KIB, MIB, format_bytes
from openslob.core.workload import CommitMode, Loop, Mode, RedoStress, Workload
from openslob.engines import common_checks
from openslob.engines.capabilities import Capability, find_lacking
from openslob.engines.common_checks import BadSetting, check_path, check_settings
from openslob.engines.facts import OTHER_INSTANCES, READ_ONLY_FINDING, RIGHTS, DataState, Finding, ServerFacts
from openslob.engines.oracle import snapshots, tablespace
from openslob.engines.oracle.connection import PACKAGE, Connection
from openslob.engines.oracle.known_settings import find_refused
from openslob.engines.oracle.names import grant_select, identifier
from openslob.engines.oracle.remedies import advise
from openslob.engines.oracle.server_facts import (
    ASM,
    ROOT,
    Survey,
    no_tablespace,
)
from openslob.engines.oracle.slice_procedure import NO_CHURN, NO_CLIENT_LOOP, NO_LOCAL_PATH
from openslob.engines.oracle.tables import tables_of
from openslob.engines.oracle.target import ConnectParams
from openslob.engines.oracle.versions import EVENT_HISTOGRAM, OLDEST, OLDEST_THIN, SLEEP_FOR_ALL, own_view
from openslob.engines.sql import read_statements

# The server sleeps in hundredths of a second.
_SLEEP_S = 0.01
_REDEDICATE = "put (SERVER = DEDICATED) into the connect descriptor, or name a service without shared servers"
# Limits of a profile on one call: a slice is one.
_PER_CALL = ("CPU_PER_CALL", "LOGICAL_READS_PER_CALL")
_PER_SESSION = ("CPU_PER_SESSION", "LOGICAL_READS_PER_SESSION")
# In minutes. The connections that hold the lock and send the stop signal are idle for the whole run.
_MINUTES = ("CONNECT_TIME", "IDLE_TIME")
# A window that begins this soon after a run falls into it: preparing takes time, too.
_MARGIN_S = 120
_PREFETCH = ("_db_block_prefetch_limit", "_db_block_prefetch_quota", "_db_file_noncontig_mblock_read_count")
# A log file should last this long, in s; and the rate of redo that storage of today takes, in bytes a second.
_SWITCH_S, _LIKELY_REDO = 20, 50 * MIB
# Redo of one row of an update, header and undo included: two columns, and all nineteen.
_REDO_BYTES = {RedoStress.LITE: 1 * KIB, RedoStress.HEAVY: 6 * KIB}
_SMALL_UNDO = 2 * GIB
_PROTECTED = ("MAXIMUM PROTECTION", "MAXIMUM AVAILABILITY")
# Sections of grants.sql, and what is not known without their views.
SECTIONS = {
    "figures": "figures of the engine",
    "figures_12_1_0_2": "how long single reads took",
    "sessions": "waits and other sessions",
    "plans": "plans",
    "facts": "settings and sizes of the server",
}
GRANT = re.compile(r"^GRANT SELECT ON SYS\.(\S+) TO .*;$", re.MULTILINE)
_NEEDED = ("CREATE TABLE", "CREATE PROCEDURE")


def _compose_set(parameter: str, value: str) -> str:
    return f"ALTER SYSTEM SET {parameter} = {value};"


def _note(name: str, value: str, why: str, instead: str) -> BadSetting:
    return BadSetting(name, value, why, _compose_set(name, instead), spoils=False)


_CHECKING = "every change of a block is checked, which costs CPU"
_LOST_WRITE = "reads of blocks are written to the redo log"
_BAD_SETTINGS = (
    _note("result_cache_mode", "FORCE", "results of other statements are cached; the work loop's are not", "MANUAL"),
    *(_note("db_block_checking", value, _CHECKING, "FALSE") for value in ("FULL", "TRUE", "MEDIUM", "LOW")),
    _note("db_block_checksum", "FULL", "checksums are compared at every visit, not only at reads", "TYPICAL"),
    *(
        _note("db_block_checksum", value, "blocks are not checked when they are read", "TYPICAL")
        for value in ("OFF", "FALSE")
    ),
    *(_note("db_lost_write_protect", value, _LOST_WRITE, "NONE") for value in ("TYPICAL", "FULL")),
)


def findings(
    connection: Connection,
    params: ConnectParams,
    workload: Workload,
    facts: ServerFacts,
    state: Callable[[], DataState | None],
) -> Iterator[Finding]:
    """Yield all findings; ``state`` is called only after the checks of server and rights."""
    survey = Survey(connection)
    for finding in _find_all(survey, params, workload, facts, state):
        yield advise(survey, finding)


def _find_all(
    survey: Survey,
    params: ConnectParams,
    workload: Workload,
    facts: ServerFacts,
    state: Callable[[], DataState | None],
) -> Iterator[Finding]:
    yield from check_path(workload, NO_LOCAL_PATH)
    yield from [NO_CLIENT_LOOP] if workload.loop is Loop.CLIENT else []
    yield from [NO_CHURN] if workload.churns else []
    yield from _check_server(survey, params, facts)
    yield from _check_rights(survey)
    yield from find_refused(survey.connection, workload)
    yield from _check_profile(survey, workload)
    yield from _check_connections(survey, workload, facts)
    loaded = state()
    yield from common_checks.check_data(workload, facts, loaded)
    yield from _check_commits(survey, workload, facts)
    yield from _check_pacing(workload, facts)
    yield from _check_storage(survey, workload, facts, loaded)
    yield from _check_instance(survey, workload, facts)
    yield from find_lacking(_list_by_settings(survey, facts))


def _check_server(survey: Survey, params: ConnectParams, facts: ServerFacts) -> Iterator[Finding]:
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
        why = "the instance is in restricted mode, so that sessions may be refused at any time"
        yield Finding("restricted", why, "ALTER SYSTEM DISABLE RESTRICTED SESSION;", True, by=survey.sysdba)


def _check_rights(survey: Survey) -> Iterator[Finding]:
    """Yield the missing rights: those that a run needs, and in one finding those that make more figures known."""
    user, by = survey.user, survey.sysdba
    if missing := ", ".join(name for name in _NEEDED if not survey.has_right(name)):
        yield Finding(RIGHTS, f"user {user} lacks {missing}", f"GRANT {missing} TO {user};", True, by=by)
    if survey.connection.version < SLEEP_FOR_ALL and not survey.row("may_sleep").get("granted"):
        why = f"user {user} may not sleep: before Oracle 18 that is a right on DBMS_LOCK, given to the user itself"
        yield Finding("sleep", why, list_grants("sleeping", user)[0], True, by=by)
    if not (survey.has_right("ALTER SYSTEM") or survey.row("rds").get("may_administer")):
        why = (
            "this user may not run a checkpoint before the window, so earlier writes may fall into it, and may not end "
            "sessions that a killed driver left"
        )
        yield Finding("checkpoint", why, list_grants("settling", user)[0], False, by=by)
    yield from _check_views(survey, user, by)


def _check_views(survey: Survey, user: str, by: str) -> Iterator[Finding]:
    unseen = {section: _list_unseen(survey, section) for section in SECTIONS}
    lost = [what for section, what in SECTIONS.items() if unseen[section]]
    views = [view for section in SECTIONS for view in unseen[section]]
    if views:
        number = "one of the server's views" if len(views) == 1 else f"{len(views)} of the server's views"
        why = f"this user may not read {number}, so that less will be known of: {', '.join(lost)}"
        yield Finding("monitor", why, "\n".join(f"{grant_select(view, user)};" for view in views), False, by=by)


def _list_unseen(survey: Survey, section: str) -> list[str]:
    if section == "figures_12_1_0_2" and survey.connection.version < EVENT_HISTOGRAM:
        return []
    # Views of all instances are asked in a cluster only.
    in_cluster = survey.row("instance").get("parallel") == "YES"
    granted = GRANT.findall(read_statements(PACKAGE, "grants")[section])
    views = [own_view(view, survey.is_pluggable, survey.connection.version) for view in granted]
    return [view for view in views if (in_cluster or not view.startswith("GV_")) and not survey.may_read(view)]


def list_grants(section: str, user: str) -> list[str]:
    """Return the statements of a section of grants.sql for a user."""
    return read_statements(PACKAGE, "grants")[section].format(user=user, tablespace="{tablespace}").splitlines()


def _check_profile(survey: Survey, workload: Workload) -> Iterator[Finding]:
    """Yield the limits of this user's profile that a run would reach."""
    seconds = workload.warmup + workload.run_time
    limits = {name: survey.find_limit(name) for name in (*_PER_CALL, *_PER_SESSION, *_MINUTES)}
    reached = {
        name: limit
        for name, limit in limits.items()
        if limit is not None and (name not in _MINUTES or 60 * limit <= seconds)
    }
    if reached:
        user = survey.user
        values = ", ".join(f"{name} {limit:,}" for name, limit in reached.items())
        # A slice is one call, and the connection that holds the lock is idle for the whole run.
        why = f"the profile of user {user} would end slices, or the connection that holds the lock: {values}"
        unlimited = " ".join(f"{name} UNLIMITED" for name in reached)
        remedy = f"CREATE PROFILE slob LIMIT {unlimited};\nALTER USER {user} PROFILE slob;"
        yield Finding("profile", why, remedy, True, by=survey.sysdba)
    idle = survey.find_setting("max_idle_time")
    if idle.isdigit() and 0 < 60 * int(idle) <= seconds:
        why = f"max_idle_time is {idle} minutes: the connection that holds the lock is idle longer, and would be ended"
        yield Finding("idle time", why, "ALTER SYSTEM SET max_idle_time = 0;", True, by=survey.sysdba)


def _check_connections(survey: Survey, workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    def remedy(needed: int) -> str:
        allowed = survey.find_limit("SESSIONS_PER_USER")
        if allowed is not None and allowed < needed:
            user = survey.user
            return f"CREATE PROFILE slob LIMIT SESSIONS_PER_USER {needed};\nALTER USER {user} PROFILE slob;"
        return (
            f"ALTER SYSTEM SET processes = {_count_processes(survey, needed)} SCOPE = SPFILE;\n"
            "-- and restart the instance; or use fewer sessions"
        )

    yield from common_checks.check_connections(workload, facts.free_connections, remedy, survey.sysdba_of_root)


def _count_processes(survey: Survey, needed: int) -> int:
    """Return how many processes the server needs for so many connections beside those that it has."""
    rows = survey.rows("limits") or ()
    used = [int(row["current_utilization"]) for row in rows if row["resource_name"] == "processes"]
    return needed + max(used, default=0)


def _check_commits(survey: Survey, workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    """Yield what the server's own settings of commits do to COMMIT_MODE."""
    if not workload.writes:
        return
    by = survey.sysdba_of_root
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


def _check_pacing(workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    """Yield a finding for a rate at which operations are due more often than a session can wake up."""
    for load in (part.workload for part in workload.parts):
        wanted = load.ops_per_s_wanted(facts.block_size)
        if wanted and wanted * _SLEEP_S > load.total_sessions:
            rate = wanted / load.total_sessions
            why = (
                f"{rate:,.0f} operations a second are due in each session, and Oracle sleeps in hundredths of a second:"
                " they begin in batches, up to 10 ms late"
            )
            sessions = math.ceil(wanted * _SLEEP_S)
            yield Finding("pacing", why, f"use {sessions} sessions or more, or a lower rate", False, spoils=True)


def capabilities(connection: Connection, facts: ServerFacts) -> list[Capability]:
    """Return what the server's settings and this user's rights allow to be measured, and which reports it makes."""
    survey = Survey(connection)
    found = [*_list_by_settings(survey, facts), *snapshots.capabilities(connection)]
    return [advise(survey, each) for each in found]


def _list_by_settings(survey: Survey, facts: ServerFacts) -> list[Capability]:
    by = survey.sysdba_of_root
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


def _check_instance(survey: Survey, workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    """Yield what on the instance spoils a run: who else uses its CPU and cache, and what changes in mid-run."""
    upper = replace(facts, settings={name: value.upper() for name, value in facts.settings.items()})
    yield from _check_container(survey)
    yield from _check_instances(survey, facts)
    yield from _check_resources(survey, facts)
    yield from _check_windows(survey, workload)
    yield from _check_prefetch(survey, facts)
    yield from _check_memory(survey, upper)
    yield from check_settings(_BAD_SETTINGS, upper, survey.sysdba_of_root)
    yield from _check_neighbours(survey)


def _check_container(survey: Survey) -> Iterator[Finding]:
    """Yield whose counters they are: a pluggable database has its own, without those of the instance's processes."""
    if survey.container_number == ROOT:
        why = "the target is the root container: the counters are those of all pluggable databases together"
        yield Finding("container", why, "stop the others' work, or name the service of a pluggable database", False)
    elif survey.is_pluggable:
        why = (
            f"the target is pluggable database {survey.row('container').get('con_name')}: writes of the log and of "
            "blocks are counted for the whole instance only, and are not known here"
        )
        yield Finding("container", why, "to know them, run as a common user in the root container", False)


def _check_instances(survey: Survey, facts: ServerFacts) -> Iterator[Finding]:
    if facts.settings.get("cluster") != "YES":
        return
    rows = survey.rows("instances")
    names = [str(row["instance_name"]) for row in rows or ()]
    if rows is None:
        why = "the database is a cluster (RAC); whether other instances are open is not known"
        yield Finding(OTHER_INSTANCES, why, "name a target for each, separated by commas", False)
    elif len(names) > 1:
        mine = survey.row("identity").get("instance_name")
        why = f"the database is open on {len(names)} instances ({', '.join(names)}), and this target is {mine} alone"
        yield Finding(OTHER_INSTANCES, why, "name a target for each, separated by commas", False)


def _check_resources(survey: Survey, facts: ServerFacts) -> Iterator[Finding]:
    """Yield a plan that throttles sessions, and fewer CPUs than the host has."""
    plan = survey.row("resource_manager")
    managed = plan.get("cpu_managed") == "ON"
    cpus, allowed = survey.row("host").get("cpus"), facts.settings.get("cpu_count", "")
    caged = cpus is not None and allowed.isdigit() and int(allowed) < int(cpus)
    if managed:
        cage = f" on {allowed} of the host's {int(cpus)} CPUs" if caged and cpus is not None else ""
        why = f"the resource manager divides the CPU by plan {plan['name']}{cage}: sessions wait although CPU is left"
        yield Finding(
            "resource manager", why, _compose_set("resource_manager_plan", "''"), False, True, survey.sysdba_of_root
        )
    elif caged and cpus is not None:
        why = f"cpu_count is {allowed}, and the host has {int(cpus)} CPUs: the server sizes itself for fewer"
        yield Finding("cpu_count", why, _compose_set("cpu_count", str(int(cpus))), False, by=survey.sysdba_of_root)


def _check_windows(survey: Survey, workload: Workload) -> Iterator[Finding]:
    """Yield each maintenance window that is open or begins while the run goes on."""
    seconds = workload.warmup + workload.run_time + _MARGIN_S
    tasks = survey.rows("autotasks")
    for row in survey.rows("windows") or ():
        is_open = str(row["active"]) == "TRUE"
        until = row["seconds_until"]
        if not is_open and (until is None or not 0 <= int(until) <= seconds):
            continue
        plan = f"; it switches resource plan {row['resource_plan']} on" if row["resource_plan"] else ""
        if tasks is not None and not tasks and not plan:
            continue
        names = ", ".join(str(task["client_name"]) for task in tasks or ()) or "maintenance tasks"
        when = "is open" if is_open else f"begins in {int(until):,} s"
        why = f"maintenance window {row['window_name']} {when}: {names} may run beside the sessions{plan}"
        remedy = f"EXEC DBMS_SCHEDULER.DISABLE('SYS.{row['window_name']}', force => TRUE)"
        yield Finding("maintenance", why, remedy, False, True, survey.sysdba)


def _check_prefetch(survey: Survey, facts: ServerFacts) -> Iterator[Finding]:
    """Yield a finding unless reading ahead is switched off; after a run the verdict says how much there was."""
    unset = [name for name in _PREFETCH if facts.settings.get(name) != "0"]
    if not survey.is_given("parameters") or not unset:
        return
    why = (
        "the server may read several blocks at once where the work loop asks for one (in SLOB's sample of Oracle 12.2 "
        "46 % of the blocks came so); the verdict on single blocks says what a run did"
    )
    statements = [f'ALTER SYSTEM SET "{name}" = 0 SCOPE = SPFILE;' for name in unset]
    yield Finding(
        "prefetch", why, "\n".join([*statements, "-- and restart the instance"]), False, by=survey.sysdba_of_root
    )


def _check_memory(survey: Survey, facts: ServerFacts) -> Iterator[Finding]:
    """Yield what may change the cache's size in mid-run."""
    moved = next((name for name in ("memory_target", "sga_target") if facts.settings.get(name, "0") != "0"), None)
    cache = next((row for row in survey.rows("sga") or () if row["component"] == "DEFAULT buffer cache"), None)
    if not moved or (cache and _parse_bytes(facts.settings.get("db_cache_size", "")) >= int(cache["current_size"])):
        return
    times = f", and has done so {int(cache['oper_count'])} times" if cache and cache["oper_count"] else ""
    why = f"{moved} is {facts.settings[moved]}: the server may change the size of the cache{times}"
    floor = int(cache["current_size"]) if cache else facts.cache_bytes
    remedy = _compose_set("db_cache_size", str(floor)) if floor else "set db_cache_size to the cache's size"
    yield Finding("memory", f"{why}; db_cache_size sets its least size", remedy, False, by=survey.sysdba_of_root)


def _parse_bytes(text: str) -> int:
    """Return the bytes of a parameter's value as it is displayed, such as 12G; 0 when it has none."""
    units = {"K": KIB, "M": MIB, "G": GIB, "T": GIB * KIB}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1)
    return int(number) * unit if number.isdigit() else 0


def _check_neighbours(survey: Survey) -> Iterator[Finding]:
    for row in survey.rows("neighbours") or ():
        who = f"{row['action']} of user {row['username']} ({row['sessions']} sessions)"
        yield common_checks.find_neighbour("this database", who)


def _check_storage(
    survey: Survey, workload: Workload, facts: ServerFacts, loaded: DataState | None
) -> Iterator[Finding]:
    """Yield what about storage stops or spoils a run."""
    yield from _check_tablespace(survey, facts)
    yield from _check_cache(survey, facts)
    if loaded is None:
        yield from _check_space(survey, workload, facts)
    yield from _check_files(survey, facts)
    yield from _check_flash(survey, facts)
    yield from _check_compression(survey, facts)
    if workload.writes:
        yield from _check_redo(survey, workload, facts)
        yield from _check_undo(survey, workload, facts)
    yield from _check_protection(facts)


def _check_tablespace(survey: Survey, facts: ServerFacts) -> Iterator[Finding]:
    row = survey.row("tablespace", tablespace_name=facts.tablespace)
    user, by = survey.user, survey.sysdba
    quota = f"ALTER USER {user} QUOTA UNLIMITED ON {identifier(str(facts.tablespace))};"
    if not row:
        yield Finding("tablespace", no_tablespace(user, str(facts.tablespace)).what, quota, True, by=by)
    elif row["status"] != "ONLINE":
        why = f"tablespace {facts.tablespace} is {row['status']}"
        change = "ONLINE" if row["status"] == "OFFLINE" else "READ WRITE"
        yield Finding("tablespace", why, f"ALTER TABLESPACE {identifier(str(facts.tablespace))} {change};", True, by=by)
    default = str(survey.row("identity").get("default_tablespace"))
    if default != facts.tablespace and not survey.row("tablespace", tablespace_name=default):
        why = f"the lock and the list of loads are small tables in tablespace {default}, which user {user} may not use"
        yield Finding("tablespace", why, f"ALTER USER {user} QUOTA 16M ON {identifier(default)};", True, by=by)


def _check_cache(survey: Survey, facts: ServerFacts) -> Iterator[Finding]:
    """Yield a finding where no cache holds the tablespace's blocks."""
    if facts.cache_bytes == 0:
        size = facts.block_size // KIB
        why = f"the server has no cache for the blocks of tablespace {facts.tablespace}, of {size} KB"
        remedy = f"ALTER SYSTEM SET db_{size}k_cache_size = 1G;"
        yield Finding("cache", why, remedy, True, by=survey.sysdba_of_root)


def _check_space(survey: Survey, workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    """Yield a finding where the data would not find room."""
    if not survey.row("tablespace", tablespace_name=facts.tablespace):
        return
    tables = tables_of(workload.data(facts.block_size, facts.tablespace))
    place = tablespace.find(survey, facts.tablespace)
    if lack := tablespace.find_lack(survey, place, tablespace.estimate_bytes(tables, facts.block_size)):
        yield lack


def _check_files(survey: Survey, facts: ServerFacts) -> Iterator[Finding]:
    """Yield files that are not read as fast as they could be."""
    files = survey.rows("files", tablespace_name=facts.tablespace)
    modes = {int(row["file_no"]): str(row["asynch_io"]) for row in survey.rows("file_io") or ()}
    slow = [row for row in files or () if modes.get(int(row["file_id"])) == "ASYNC_OFF"]
    if slow and not all(str(row["file_name"]).startswith(ASM) for row in slow):
        why = f"{len(slow)} files of tablespace {facts.tablespace} are open without asynchronous I/O"
        remedy = "ALTER SYSTEM SET filesystemio_options = SETALL SCOPE = SPFILE;\n-- and restart the instance"
        yield Finding("asynchronous I/O", why, remedy, False, True, survey.sysdba_of_root)


def _check_flash(survey: Survey, facts: ServerFacts) -> Iterator[Finding]:
    if file := facts.settings.get("db_flash_cache_file"):
        why = f"blocks that leave the cache are kept in a flash cache ({file}) and read from there"
        remedy = "ALTER SYSTEM SET db_flash_cache_size = 0;"
        yield Finding("flash cache", why, remedy, False, True, survey.sysdba_of_root)
    if int(survey.row("smart_storage").get("hits") or 0):
        why = "the storage has a flash cache of its own (Exadata): reads of blocks visited before may come from it"
        yield Finding("smart storage", why, "load far more than it holds, or compare only with such storage", False)


def _check_compression(survey: Survey, facts: ServerFacts) -> Iterator[Finding]:
    row = survey.row("tablespace", tablespace_name=facts.tablespace)
    if row.get("def_tab_compression") == "ENABLED":
        kind = f" ({row['compress_for']})" if row.get("compress_for") else ""
        why = f"tables in {facts.tablespace} are compressed by default{kind}; the test tables ask not to be"
        remedy = f"ALTER TABLESPACE {identifier(str(facts.tablespace))} DEFAULT NOCOMPRESS;"
        yield Finding("compression", why, remedy, False, by=survey.sysdba)
    if row.get("encrypted") == "YES":
        why = f"tablespace {facts.tablespace} is encrypted: every read and write of a block costs CPU for it"
        yield Finding("encryption", why, "name a tablespace that is not, or compare only with encrypted ones", False)
    in_memory = survey.row("in_memory", tablespace_name=facts.tablespace).get("def_inmemory")
    if in_memory == "ENABLED":
        why = f"tables in {facts.tablespace} are copied into the In-Memory column store, which scans read"
        remedy = f"ALTER TABLESPACE {identifier(str(facts.tablespace))} DEFAULT NO INMEMORY;"
        yield Finding("in-memory", why, remedy, False, True, survey.sysdba)


def _check_redo(survey: Survey, workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    """Yield log files that are full in less than 20 s at the likely rate of redo, and too few of them."""
    logs = survey.rows("logs")
    if not logs:
        return
    smallest = min(int(row["bytes"]) for row in logs)
    given = estimate_redo_rate(workload, facts.block_size)
    rate = given or _LIKELY_REDO
    if smallest < rate * _SWITCH_S:
        size = max(1, -(-int(rate) * _SWITCH_S // GIB))
        measure = f"{format_bytes(rate)}/s of redo" + ("" if given else ", which storage of today takes,")
        why = (
            f"the redo log's files have {format_bytes(smallest)}: at {measure} they are full every "
            f"{smallest / rate:.0f} s, and sessions may wait for the next one"
        )
        remedy = "\n".join(f"ALTER DATABASE ADD LOGFILE SIZE {size}G;" for _ in range(3))
        yield Finding("redo log", why, remedy, False, bool(given) or workload.mode is Mode.REDO, survey.sysdba_of_root)
    groups = [sum(1 for row in logs if row["thread"] == thread) for thread in {row["thread"] for row in logs}]
    if min(groups) < 3:
        why = (
            f"the redo log has {min(groups)} groups: the server soon waits for a checkpoint before it can use one again"
        )
        yield Finding(
            "redo log",
            why,
            f"ALTER DATABASE ADD LOGFILE SIZE {-(-smallest // MIB)}M;",
            False,
            by=survey.sysdba_of_root,
        )


def estimate_redo_rate(workload: Workload, block_size: int) -> float | None:
    """Return the bytes of redo a second at a given rate, about; None for a run as fast as it can be."""
    found = [_redo_rate_of(part.workload, block_size) for part in workload.parts if part.workload.update_pct]
    known = [rate for rate in found if rate is not None]
    return sum(known) if known and len(known) == len(found) else None


def _redo_rate_of(load: Workload, block_size: int) -> float | None:
    operations = load.ops_per_s_wanted(block_size)
    if operations is None:
        return None
    return operations * load.update_pct / 100 * load.rows_per_update * _REDO_BYTES[load.redo_stress]


def _check_undo(survey: Survey, workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    """Yield a finding where undo is small for updates of all columns."""
    name = facts.settings.get("undo_tablespace")
    is_heavy = any(part.workload.redo_stress is RedoStress.HEAVY for part in workload.parts)
    if not is_heavy or not name:
        return
    files = survey.rows("files", tablespace_name=name.upper())
    most = sum(int(row["most_bytes"]) for row in files or ())
    if files and most < _SMALL_UNDO:
        why = f"undo tablespace {name} can grow to {format_bytes(most)}: updates of all columns may fill it"
        add = f"ALTER TABLESPACE {name} ADD DATAFILE SIZE 4G AUTOEXTEND ON;"
        yield Finding("undo", why, add, False, by=survey.sysdba)


def _check_protection(facts: ServerFacts) -> Iterator[Finding]:
    """Yield what the database writes beside the work loop's own changes."""
    settings = facts.settings
    texts = {
        "archiving": (
            settings.get("log_mode") == "ARCHIVELOG",
            "the redo log is copied to the archive, by I/O of its own",
        ),
        "force logging": (settings.get("force_logging") == "YES", "a load is logged in full, so that it takes longer"),
        "flashback": (
            settings.get("flashback_on") == "YES",
            "old versions of changed blocks are written to the flashback log",
        ),
        "supplemental logging": (
            settings.get("supplemental_log_data_min", "NO") != "NO",
            "updates write more redo than they need",
        ),
        "standby": (settings.get("protection_mode") in _PROTECTED, "commits wait for a standby database, too"),
    }
    for name, (holds, why) in texts.items():
        if holds:
            yield Finding(name, why, "take it into account when you compare servers", False)
