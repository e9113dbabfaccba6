"""Pre-flight check of a run: what would stop or spoil it, and which of its figures will be unknown.

The run refuses to start for the same findings. Each figure declares the counters that it needs, so that the figures
that a run will lack follow from what its own samplers do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from openslob.core.access import AccessKind
from openslob.core.host import Host
from openslob.core.measurement import EngineDelta, HostDelta
from openslob.core.units import NANOS, format_bytes
from openslob.core.workload import BlockPath, InstanceRole, Mode, Workload
from openslob.engines.base import Engine
from openslob.engines.facts import DATA, Finding, ServerFacts, ServerLocation
from openslob.host.counters import page_cache_limit
from openslob.host.sampler import difference
from openslob.host.this_host import HERE
from openslob.kinds.run.plan import session_plans
from openslob.kinds.run.samplers import Samplers, split_cpu
from openslob.kinds.run.server_reports import ServerReports
from openslob.kinds.run.session_pool import PULSE_S, ignore
from openslob.metrics import CHANGING, CHURNING, CONNECTING, METRICS, OBSERVED, OF_ROW_BYTES, PACED, PRICED
from openslob.metrics.run_metrics import ENGINE_INPUTS
from openslob.record.varied import Values

# Data of up to this share of the cache stay in it when read once.
CACHEABLE = 0.8
# The proof of PIO asks for nine visits of ten to be engine reads; hits of a uniform choice are cache over data.
_PIO_FACTOR = 10
# Buffered reads of data of so many times the host's memory: half of them reach storage.
_MEMORY_FACTOR = 2
# Counters that no verdict needs: they replace the host's CPU time and the sessions' time where those are unknown.
_UNUSED = ("db_cpu_us", "db_time_us", "foreground_cpu_us", "background_cpu_us")
# A run that ends by WORK_LOOP has no length beforehand: assume one.
_ANY_LENGTH_S = 60.0
# The value of a server's parameter ``io`` for direct I/O.
DIRECT = "direct"


@dataclass(frozen=True)
class ServerMemory:
    """What of a server decides which data a test needs, where there are no `ServerFacts`.

    Its fields are as there. ``host_bytes`` is the memory of its host; it and the cache are None if they are unknown.
    """

    block_size: int
    cache_bytes: int | None
    direct_io: bool | None
    host_bytes: int | None = None
    direct_io_remedy: str = "use --io direct"
    least_window_s: float = 0.0
    no_device: str = ""
    cache_use_limit: int | None = None

    def with_settings(self, server: Values) -> ServerMemory:
        """Return the memory of the server after a restart with these settings."""
        cache = server.get("cache_bytes")
        return replace(
            self,
            block_size=int(server.get("block_size") or self.block_size),
            cache_bytes=int(cache) if cache else self.cache_bytes,
            direct_io=server["io"] == DIRECT if "io" in server else self.direct_io,
        )


Memory = ServerFacts | ServerMemory


@dataclass(frozen=True)
class Purpose:
    """Whether a kind of test is possible with this much data and cache, and why (not); None when that is unknown."""

    mode: Mode
    possible: bool | None
    why: str


@dataclass(frozen=True)
class Preflight:
    """The result of the pre-flight check.

    ``findings`` are sorted, the gravest first. ``purposes`` has one entry each for physical and logical reads.
    ``unknown`` maps each figure that the run's summary will lack to the reason, and ``unproved`` each engine counter
    that the verdicts will lack.
    """

    facts: ServerFacts
    location: ServerLocation
    findings: Sequence[Finding]
    purposes: Sequence[Purpose]
    data_bytes: int
    unknown: Mapping[str, str]
    unproved: Mapping[str, str]

    @property
    def blocked(self) -> bool:
        """Whether a run is impossible, for another reason than missing data, which a load repairs."""
        return _is_blocked(self.findings)


@dataclass(frozen=True)
class Probe:
    """Counters of engine and host over a moment before the run. Only the unknown ones and their reasons are used.

    ``waits`` are as many as the run will have, if its sessions are at work all the time.
    """

    engine: EngineDelta
    host: HostDelta
    local: bool
    waits: Mapping[str, int]


def active_bytes(workload: Workload, block_size: int) -> int:
    """Return the size of the tables that the sessions of this workload visit."""
    return workload.scale.blocks(block_size) * block_size * workload.active_tables


def server_reports(
    engine: Engine,
    workload: Workload,
    consented: frozenset[str] = frozenset(),
    sources: Mapping[str, str] | None = None,
) -> ServerReports:
    """Return the server's own reports on a run of this workload, whose parameters have these sources."""
    source = (sources or {}).get("database_statistics_type", "")
    return ServerReports(engine, workload.database_statistics_type, consented, source)


def findings(engine: Engine, workload: Workload, facts: ServerFacts, reports: ServerReports) -> Iterator[Finding]:
    """Yield what would stop or spoil the run: the engine's findings, then those about reports, data and cache size."""
    if facts.stand_in:
        why = "the server says that it is a stand-in and no database: its figures are computed, not measured"
        yield Finding("stand-in", why, "name a database as the target", False, spoils=True)
    yield from engine.findings(workload)
    yield from role_findings(workload, facts)
    yield from reports.findings()
    host = host_memory(engine.location(), engine.host) if workload.mode is Mode.PIO and not facts.direct_io else None
    yield from purpose_findings(workload, facts, host)


def role_findings(workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    """Yield a finding for each role that sessions ask for and no instance of the target has, or the single server."""
    roles = [each.read_only for each in facts.instances] or [facts.read_only]
    for role in sorted({part.workload.instance_role for part in workload.parts} - {InstanceRole.ANY}):
        if not any(map(role.includes, roles)):
            why = f"INSTANCE_ROLE is {role}, and the target has no instance of that role"
            yield Finding("cluster", why, "name a primary and its copies, separated by commas, as --target", True)


def host_memory(location: ServerLocation, host: Host | None = None) -> int | None:
    """Return the memory that can hold a server's files, if its host is known: the host's, or the server's share."""
    if not location.is_known:
        return None
    return page_cache_limit(location.main_pid, (host or HERE).root)


def purpose_findings(workload: Workload, memory: Memory, host_bytes: int | None = None) -> Iterator[Finding]:
    """Yield what keeps the run from being the test that its MODE names; nothing without a MODE.

    ``host_bytes`` is the memory that the server's page cache may use, None if that is unknown.
    There is nothing to find for the local path: it bypasses the server's cache, and sessions' own caches are small.
    """
    if workload.block_path is BlockPath.LOCAL:
        return
    data, cache = active_bytes(workload, memory.block_size), memory.cache_bytes
    is_skewed = workload.access.kind is AccessKind.ZIPF
    more = "use ACCESS=uniform" if is_skewed else f"load more ({_PIO_FACTOR} times the cache or more)"
    remedies = {
        Mode.PIO: f"{more}, or use a smaller cache",
        Mode.LIO: "load less, or use a larger cache",
    }
    # A test of the log needs cached data, too: otherwise it waits for reads.
    needed = Mode.LIO if workload.mode is Mode.REDO else workload.mode
    for purpose in _by_cache(data, cache, _skewed_hits(workload, memory)):
        if purpose.mode is needed and purpose.possible is None:
            remedy = "let this user see the cache's size, or look at the verdict on the mode after the run"
            yield Finding("mode", purpose.why, remedy, blocking=False)
        elif purpose.mode is needed and not purpose.possible:
            # Data that fit the cache are read from it: the run would measure memory and call it storage.
            blocking = purpose.mode is Mode.PIO and cache is not None and data <= cache
            yield Finding("mode", purpose.why, remedies[purpose.mode], blocking, spoils=True)
    if workload.mode is Mode.PIO and memory.no_device:
        remedy = "call them reads of the engine, not physical ones, when you quote them"
        yield Finding("storage", f"whether reads reach a device will be unknown: {memory.no_device}", remedy, False)
    elif workload.mode is Mode.PIO and not memory.direct_io:
        verb = "serves" if host_bytes and data <= host_bytes else "may serve"
        why = f"the server does buffered I/O: the page cache {verb} what the engine reads{_of_host(data, host_bytes)}"
        yield Finding("page cache", why, _past_the_page_cache(memory, host_bytes), False, True)


def _of_host(data: int, host_bytes: int | None) -> str:
    if host_bytes is None:
        return ""
    return f" ({format_bytes(data)} of active data, {format_bytes(host_bytes)} of memory on the server's host)"


def _past_the_page_cache(memory: Memory, host_bytes: int | None) -> str:
    least = f", {format_bytes(_MEMORY_FACTOR * host_bytes)} at least" if host_bytes else ""
    return f"{memory.direct_io_remedy or 'use direct I/O'}; otherwise load far more than the host's memory{least}"


def _skewed_hits(workload: Workload, memory: Memory) -> float | None:
    """Return the share of visits that are expected to be hits, with a Zipf law; None if unknown, and with others."""
    if workload.access.kind is not AccessKind.ZIPF:
        return None
    from openslob.analyze.expected_hits import expected_hit_pct  # noqa: PLC0415 - imports NumPy

    pct = expected_hit_pct(workload, memory.block_size, memory.cache_bytes, memory.cache_use_limit).value
    return None if pct is None else pct / 100


def purposes(
    data_bytes: int, memory: Memory, host_bytes: int | None = None, skewed_hits: float | None = None
) -> Sequence[Purpose]:
    """Return whether a test of physical reads, and one of logical reads, is possible with this much data and cache.

    ``host_bytes`` as for `purpose_findings`: buffered reads of data that it can hold do not reach storage.
    ``skewed_hits`` is the share of visits that are expected to be hits, where keys are not all alike.
    """
    physical, logical = _by_cache(data_bytes, memory.cache_bytes, skewed_hits)
    return (_by_page_cache(physical, data_bytes, memory, host_bytes), logical)


def _by_page_cache(physical: Purpose, data: int, memory: Memory, host_bytes: int | None) -> Purpose:
    if memory.direct_io or memory.no_device or not physical.possible:
        return physical
    if host_bytes is None:
        why = f"unknown: if its host's memory is larger than {format_bytes(data)}, the page cache serves the reads"
        return Purpose(Mode.PIO, None, f"{physical.why}; {why}")
    host, needed = format_bytes(host_bytes), format_bytes(_MEMORY_FACTOR * host_bytes)
    if data <= host_bytes:
        why = f"the page cache of its host ({host} of memory) holds all of it; {needed} or more are needed"
        return Purpose(Mode.PIO, False, f"{physical.why}; {why}")
    share = 100 * host_bytes / data
    why = f"the page cache of its host ({host} of memory) may serve {share:.0f} % of the reads"
    return Purpose(Mode.PIO, None, f"{physical.why}; {why}")


def is_cacheable(data_bytes: int, cache_bytes: int | None) -> bool:
    """Return whether data of this size stay in the cache when read once; not where its size is unknown."""
    return cache_bytes is not None and data_bytes <= CACHEABLE * cache_bytes


def _by_cache(data_bytes: int, cache_bytes: int | None, skewed_hits: float | None) -> Sequence[Purpose]:
    """Return what the server's own cache makes possible."""
    if cache_bytes is None:
        why = f"{format_bytes(data_bytes)} of active data, and the size of the cache is not known"
        return (Purpose(Mode.PIO, None, why), Purpose(Mode.LIO, None, why))
    sizes = f"{format_bytes(data_bytes)} of active data, {format_bytes(cache_bytes)} of cache"
    hits = min(1.0, cache_bytes / data_bytes) if data_bytes else 1.0
    hits = max(hits, skewed_hits or 0.0)
    if data_bytes <= cache_bytes:
        physical = f"{sizes}: all of it can be cached, so reads would be hits"
    else:
        physical = f"{sizes}: about {100 * hits:.0f} % of the visits would be hits"
    fits = is_cacheable(data_bytes, cache_bytes)
    logical = f"{sizes}: {'all of it stays cached' if fits else 'it will not all stay cached'}"
    return (
        Purpose(Mode.PIO, data_bytes >= _PIO_FACTOR * cache_bytes and hits <= 1 / _PIO_FACTOR, physical),
        Purpose(Mode.LIO, fits, logical),
    )


def preflight(
    engine: Engine,
    workload: Workload,
    consented: frozenset[str] = frozenset(),
    sources: Mapping[str, str] | None = None,
) -> Preflight:
    """Examine the server, the host and the data. Raises SlobError if the server can't be reached.

    ``consented`` names the licensed capabilities that a run may use; ``sources`` are those of the parameters.
    """
    reports = server_reports(engine, workload, consented, sources)
    facts = engine.facts()
    probe = _probe(engine, workload)
    data_bytes = active_bytes(workload, facts.block_size)
    location = engine.location()
    found = list(findings(engine, workload, facts, reports))
    if not _is_blocked(found):
        firsts = [plan for plan in session_plans(workload, facts.block_size, "check") if plan.number == plan.first]
        found += dict.fromkeys(finding for plan in firsts for finding in engine.try_statements(plan))
    return Preflight(
        facts=facts,
        location=location,
        findings=sorted(found, key=_gravity),
        purposes=purposes(data_bytes, facts, host_memory(location, engine.host), _skewed_hits(workload, facts)),
        data_bytes=data_bytes,
        unknown={
            name: why for name in _figures_of(workload, probe.engine) if (why := METRICS[name].why_unknown(probe))
        },
        unproved={name: why for name, why in probe.engine.unknown.items() if name not in (*ENGINE_INPUTS, *_UNUSED)},
    )


def _figures_of(workload: Workload, engine: EngineDelta) -> list[str]:
    """Return the names of the figures that a run of this workload has, known or not, by what the engine counts."""
    # What rows leave behind that come and go is counted with the first run.
    left_out = OBSERVED | CHURNING if workload.is_paced else OBSERVED | CHURNING | PACED
    left_out = left_out if workload.rate_schedule else left_out | CHANGING
    left_out = left_out if workload.price else left_out | PRICED
    left_out = left_out if workload.connect_every else left_out | CONNECTING
    counts_bytes = engine.row_bytes_read is not None or "row_bytes_read" in engine.unknown
    left_out = left_out if counts_bytes else left_out | OF_ROW_BYTES
    return [name for name in METRICS if name not in left_out]


def _is_blocked(found: Iterable[Finding]) -> bool:
    return any(finding.blocking and finding.name != DATA for finding in found)


def _gravity(finding: Finding) -> tuple[bool, bool]:
    return not finding.blocking, not finding.spoils


def _probe(engine: Engine, workload: Workload) -> Probe:
    """Read the counters twice with the run's own samplers and return the difference.

    The second reading is dated as if the run lay between the two: some counters are known for long windows only.
    """
    samplers = Samplers(engine, 1, ignore)
    try:
        before, after = samplers.opening_reading(), samplers.closing_reading()
        length_ns = int((workload.run_time or _ANY_LENGTH_S) * NANOS)
        late = replace(after.counters, server_ns=before.counters.server_ns + length_ns)
        counted = samplers.engine_delta(before, replace(after, counters=late))
        host = difference(before.os, after.os)
        # What processes are for is asked at the end of a run.
        kinds = None if host.server_cpu_s is None else {"session": 0.0}
        parts = split_cpu(host, kinds, host.unknown.get("server_cpu_s", ""))
        return Probe(counted, parts, samplers.local, {"": _wait_samples(workload)})
    finally:
        samplers.close()


def _wait_samples(workload: Workload) -> int:
    """Return how many samples a run will have; none of sessions that rest, for how long is not known before it."""
    if workload.is_paced or workload.thinks:
        return 0
    return int(workload.total_sessions * (workload.run_time or _ANY_LENGTH_S) / PULSE_S)
