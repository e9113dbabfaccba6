"""Pre-flight checks of the instance: who else uses its CPU and cache, and what changes while a run goes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from openslob.core.units import GIB, KIB, MIB
from openslob.core.workload import Workload
from openslob.engines.common_checks import BadSetting, bad_settings
from openslob.engines.facts import OTHER_INSTANCES, Finding, ServerFacts
from openslob.engines.oracle import rights
from openslob.engines.oracle.survey import ROOT, Survey, container_number, is_pluggable

# A window that begins this soon after a run falls into it: preparing takes time, too.
_MARGIN_S = 120
_PREFETCH = ("_db_block_prefetch_limit", "_db_block_prefetch_quota", "_db_file_noncontig_mblock_read_count")


def _set(setting: str, value: str) -> str:
    return f"ALTER SYSTEM SET {setting} = {value};"


def _minor(name: str, value: str, why: str, instead: str) -> BadSetting:
    return BadSetting(name, value, why, _set(name, instead), spoils=False)


_CHECKING = "every change of a block is checked, which costs CPU"
_LOST_WRITE = "reads of blocks are written to the redo log"
_BAD_SETTINGS = (
    _minor("result_cache_mode", "FORCE", "results of other statements are cached; the work loop's are not", "MANUAL"),
    *(_minor("db_block_checking", value, _CHECKING, "FALSE") for value in ("FULL", "TRUE", "MEDIUM", "LOW")),
    _minor("db_block_checksum", "FULL", "checksums are compared at every visit, not only at reads", "TYPICAL"),
    *(
        _minor("db_block_checksum", value, "blocks are not checked when they are read", "TYPICAL")
        for value in ("OFF", "FALSE")
    ),
    *(_minor("db_lost_write_protect", value, _LOST_WRITE, "NONE") for value in ("TYPICAL", "FULL")),
)


def findings(survey: Survey, workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    """Yield what on the instance spoils a run."""
    upper = replace(facts, settings={name: value.upper() for name, value in facts.settings.items()})
    by = rights.sysdba_of_root(survey)
    yield from _container(survey)
    yield from _instances(survey, facts)
    yield from _resources(survey, facts, by)
    yield from _windows(survey, workload)
    yield from _prefetch(survey, facts, by)
    yield from _memory(survey, upper, by)
    yield from bad_settings(_BAD_SETTINGS, upper, by)
    yield from _neighbours(survey)


def _container(survey: Survey) -> Iterator[Finding]:
    """Yield whose counters they are: a pluggable database has its own, without those of the instance's processes."""
    if container_number(survey) == ROOT:
        why = "the target is the root container: the counters are those of all pluggable databases together"
        yield Finding("container", why, "stop the others' work, or name the service of a pluggable database", False)
    elif is_pluggable(survey):
        why = (
            f"the target is pluggable database {survey.row('container').get('con_name')}: writes of the log and of "
            "blocks are counted for the whole instance only, and are not known here"
        )
        yield Finding("container", why, "to know them, run as a common user in the root container", False)


def _instances(survey: Survey, facts: ServerFacts) -> Iterator[Finding]:
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


def _resources(survey: Survey, facts: ServerFacts, by: str) -> Iterator[Finding]:
    """Yield a plan that throttles sessions, and fewer CPUs than the host has."""
    plan = survey.row("resource_manager")
    managed = plan.get("cpu_managed") == "ON"
    cpus, allowed = survey.row("host").get("cpus"), facts.settings.get("cpu_count", "")
    caged = cpus is not None and allowed.isdigit() and int(allowed) < int(cpus)
    if managed:
        limit = f" on {allowed} of the host's {int(cpus)} CPUs" if caged and cpus is not None else ""
        why = f"the resource manager divides the CPU by plan {plan['name']}{limit}: sessions wait although CPU is left"
        yield Finding("resource manager", why, _set("resource_manager_plan", "''"), False, True, by)
    elif caged and cpus is not None:
        why = f"cpu_count is {allowed}, and the host has {int(cpus)} CPUs: the server sizes itself for fewer"
        yield Finding("cpu_count", why, _set("cpu_count", str(int(cpus))), False, by=by)


def _windows(survey: Survey, workload: Workload) -> Iterator[Finding]:
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
        yield Finding("maintenance", why, remedy, False, True, rights.sysdba(survey))


def _prefetch(survey: Survey, facts: ServerFacts, by: str) -> Iterator[Finding]:
    """Yield a finding unless reading ahead is switched off; after a run the verdict says how much there was."""
    unset = [name for name in _PREFETCH if facts.settings.get(name) != "0"]
    if not survey.is_given("parameters") or not unset:
        return
    why = (
        "the server may read several blocks at once where the work loop asks for one (in SLOB's sample of Oracle 12.2 "
        "46 % of the blocks came so); the verdict on single blocks says what a run did"
    )
    statements = [f'ALTER SYSTEM SET "{name}" = 0 SCOPE = SPFILE;' for name in unset]
    yield Finding("prefetch", why, "\n".join([*statements, "-- and restart the instance"]), False, by=by)


def _memory(survey: Survey, facts: ServerFacts, by: str) -> Iterator[Finding]:
    """Yield what may change the cache's size in mid-run."""
    moved = next((name for name in ("memory_target", "sga_target") if facts.settings.get(name, "0") != "0"), None)
    cache = next((row for row in survey.rows("sga") or () if row["component"] == "DEFAULT buffer cache"), None)
    if not moved or (cache and _bytes(facts.settings.get("db_cache_size", "")) >= int(cache["current_size"])):
        return
    times = f", and has done so {int(cache['oper_count'])} times" if cache and cache["oper_count"] else ""
    why = f"{moved} is {facts.settings[moved]}: the server may change the size of the cache{times}"
    floor = int(cache["current_size"]) if cache else facts.cache_bytes
    remedy = _set("db_cache_size", str(floor)) if floor else "set db_cache_size to the cache's size"
    yield Finding("memory", f"{why}; db_cache_size sets its least size", remedy, False, by=by)


def _bytes(text: str) -> int:
    """Return the bytes of a parameter's value as it is displayed, such as 12G; 0 when it has none."""
    units = {"K": KIB, "M": MIB, "G": GIB, "T": GIB * KIB}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1)
    return int(number) * unit if number.isdigit() else 0


def _neighbours(survey: Survey) -> Iterator[Finding]:
    for row in survey.rows("neighbours") or ():
        who = f"{row['action']} of user {row['username']}"
        why = f"this database is in use: {who} ({row['sessions']} sessions); the two disturb each other"
        yield Finding("other load", why, "run them one after the other", False, spoils=True)
