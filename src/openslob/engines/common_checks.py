"""Pre-flight checks that are the same for every engine: connections, loaded data, settings, a target for writes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from openslob.core.errors import SlobError, UsageError
from openslob.core.workload import BlockPath, DataSpec, Loop, Workload
from openslob.engines.facts import DATA, DataState, Finding, ServerFacts
from openslob.engines.patience import wait

# What is offered where the server does not take the work loop.
BY_CLIENT = "--loop client sends the operations from here instead"
# Beside the work loop's sessions: counters, waits, the lock, the stop signal, and one for other queries.
OWN_CONNECTIONS = 5
# The server notices that the driver of a run has ended, and releases what it held: soon, not at once.
LOCK_PATIENCE_S = 3.0
# A session that is ended rolls back first, and a busy server does it later than it says so.
END_PATIENCE_S = 5.0


def require_own_storage(spec: DataSpec, target: str) -> None:
    """Raise SlobError if ``spec`` names a tablespace or block size and the engine uses only the server's default."""
    if spec.tablespace or spec.block_size:
        place = f"tablespace {spec.tablespace}" if spec.tablespace else f"blocks of {spec.block_size} bytes"
        why = f"the data are specified for {place}, but tables of {target} can only use the server's default"
        raise SlobError(why, "leave the tablespace out, or make it the database's default")


def require_none(found: Iterable[Finding]) -> None:
    """Raise SlobError for the first of these findings: what needs the target's lock would fail with any of them."""
    for finding in found:
        raise SlobError(finding.why, finding.advice)


def check_path(workload: Workload, refusal: Finding) -> Iterator[Finding]:
    """Yield the ``refusal`` of an engine without private memory for blocks, if a workload asks for that."""
    if workload.block_path is BlockPath.LOCAL:
        yield refusal


def check_loop(workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    """Yield a finding if the server is to run the work loop and is known not to: the client can instead.

    And one that says whose latency is measured where the client sends several operations at once.
    """
    if facts.no_loop and workload.loop is Loop.SERVER:
        yield Finding("work loop", f"{facts.product} can't run the work loop: {facts.no_loop}", BY_CLIENT, True)
    if workload.pipeline > 1:
        why = f"latency is that of a batch of {workload.pipeline} operations, until all of their results were there"
        yield Finding("latency", f"{why}: each operation counts with it", "PIPELINE=1 shows that of each one", False)


def require_shared(workload: Workload, refusal: Finding) -> None:
    """Raise UsageError with the ``refusal`` for a workload that asks for private memory for blocks."""
    for finding in check_path(workload, refusal):
        raise UsageError(finding.why, finding.remedy)


def require_no_driver(target: str, drivers: Callable[[], Sequence[str]]) -> None:
    """Raise SlobError while the driver of a run that has lost its lock is alive, unless it ends within a moment.

    ``drivers`` asks the server for the connections of stop signals, which are open as long as their drivers live, and
    returns each as the server names it.
    """
    deadline = time.monotonic() + LOCK_PATIENCE_S
    while found := drivers():
        if time.monotonic() > deadline:
            why = f"another run is in progress in {target}, although it lost its lock (see {found[0]})"
            raise SlobError(why, "wait for it to end, or stop it")
        time.sleep(LOCK_PATIENCE_S / 20)


def await_ended(sessions_left: Callable[[], int]) -> None:
    """Wait until the server has ended the sessions that it was asked to end, for some seconds at the most."""
    wait(lambda: not sessions_left(), END_PATIENCE_S, END_PATIENCE_S / 100)


@dataclass(frozen=True)
class BadSetting:
    """A value of a setting that a run should not have, with its effect and the remedy.

    ``spoils``: the run measures something else because of it.
    """

    name: str
    value: str
    why: str
    remedy: str
    spoils: bool = True


def check_settings(bad: Iterable[BadSetting], facts: ServerFacts, by: str) -> Iterator[Finding]:
    """Yield a finding for each of the ``bad`` settings that the server has; ``by``: who may change them."""
    for setting in bad:
        if facts.settings.get(setting.name) == setting.value:
            yield Finding(
                setting.name,
                f"{setting.name} is {setting.value}: {setting.why}",
                setting.remedy,
                False,
                setting.spoils,
                by,
            )


def place_remedies(found: Iterable[Finding], settings: str, statements: Sequence[str]) -> Iterator[Finding]:
    """Yield the findings, with the place where a service takes what these ``statements`` of a remedy change elsewhere.

    ``settings`` is that place, as in `Identity`; empty where the server itself takes the statements.
    """
    for finding in found:
        is_elsewhere = settings and any(statement in finding.remedy for statement in statements)
        yield replace(finding, by=settings) if is_elsewhere else finding


def find_neighbour(where: str, who: str) -> Finding:
    """Return the finding about another load or run on this server: the lock keeps apart those on one database only."""
    why = f"{where} is in use: {who}; the two disturb each other"
    return Finding("other load", why, "run them one after the other", False, spoils=True)


def check_connections(
    workload: Workload, free: int | None, remedy: Callable[[int], str], by: str = ""
) -> Iterator[Finding]:
    """Yield a finding when ``free`` connections are too few; ``remedy`` returns what to do, ``by`` says who may.

    ``remedy`` returns nothing where max_connections is what limits them. Yield nothing where their number is unknown
    (None).
    """
    sessions = workload.total_sessions
    needed = sessions + OWN_CONNECTIONS
    if free is not None and needed > free:
        what = remedy(needed)
        managed = f"for a managed server: slob server start NAME --max-sessions {sessions}"
        general = f"raise max_connections ({managed}), or use fewer sessions"
        why = f"{sessions:,} sessions need {needed:,} connections and {free:,} are free"
        yield Finding("connections", why, what or general, True, by=by if what else "")


def check_data(workload: Workload, facts: ServerFacts, state: DataState | None) -> Iterator[Finding]:
    """Yield a finding for each way in which the loaded data do not fit the workload."""
    if state is None:
        yield Finding(DATA, "nothing is loaded", "run `slob load` first", True)
        return
    if not state.verified and not (workload.churns and state.has_grown):
        yield Finding(DATA, state.fault, "run `slob load` again", True, by_load=state.has_grown)
    if not state.verified and not state.has_grown:
        return
    asked = workload.data(facts.block_size, facts.tablespace)
    yield from _check_amounts(workload, asked, state.spec)
    if asked.tablespace != state.spec.tablespace:
        why = f"the data are in tablespace {state.spec.tablespace}, and the target names {asked.tablespace}"
        yield Finding(DATA, why, "run `slob load` again, or name the tablespace that holds the data", True)
    if asked.obfuscate != state.spec.obfuscate:
        fill = "incompressible" if state.spec.obfuscate else "constant"
        why = f"the loaded data are {fill}, OBFUSCATE_COLUMNS asks for the opposite"
        yield Finding("fill", why, "load again", False, spoils=True)
    elif asked.random_pct != state.spec.random_pct:
        present = state.spec.compressible or 0
        why = f"{present} % of the loaded text compresses, COMPRESSIBLE={workload.compressible} asks for other text"
        yield Finding("fill", why, "load again", False, spoils=True)
    if workload.churns and workload.rings_a_table > asked.scale_blocks:
        why = f"MODE=churn: a table has {asked.scale_blocks} rows, fewer than its {workload.rings_a_table} sessions"
        yield Finding("ring", why, "use fewer sessions, or load more", True)
    for part in workload.parts:
        yield from _check_range(part.workload, asked.scale_blocks, facts.block_size)


def _check_amounts(workload: Workload, asked: DataSpec, present: DataSpec) -> Iterator[Finding]:
    """Yield one finding if less is loaded than asked for; its remedies are the flags to leave out, and the load."""
    amounts = {
        "SCHEMAS": (asked.schemas, present.schemas),
        "SCALE": (asked.scale_blocks, present.scale_blocks),
        "SCAN_TABLE_SZ": (asked.scan_blocks if workload.scans else 0, present.scan_blocks),
    }
    short = {name: amount for name, amount in amounts.items() if amount[0] > amount[1]}
    if not short:
        return
    why = "; ".join(f"{name} asks for {needed:,} and {loaded:,} are loaded" for name, (needed, loaded) in short.items())
    flags = f"--schemas {workload.schemas} --scale {workload.scale}"
    flags += f" --scan-table-sz {workload.scan_table_sz}" if "SCAN_TABLE_SZ" in short else ""
    remedy = f"leave {' and '.join(short)} out to use what is loaded, or load more: `slob load {flags}`"
    yield Finding(DATA, why, remedy, True)


def _check_range(workload: Workload, scale: int, block_size: int) -> Iterator[Finding]:
    largest = workload.largest_unit
    if largest > scale:
        yield Finding("work unit", f"WORK_UNIT {largest} is more than SCALE {scale}", "lower it, or load more", True)
    if not workload.has_hotspot:
        return
    first = int(workload.hotspot_offset_mb * 1024**2) // block_size
    keys = int(workload.hotspot_mb * 1024**2) // block_size
    if first + keys > scale or keys < largest:
        why = f"the hot spot (blocks {first} to {first + keys}) does not fit SCALE {scale} and WORK_UNIT {largest}"
        yield Finding("hot spot", why, "change HOTSPOT_MB or HOTSPOT_OFFSET_MB", True)
