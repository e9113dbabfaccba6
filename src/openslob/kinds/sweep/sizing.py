"""Cache and data of a sweep: data that are large enough for its verdicts, and verdicts that cannot hold as planned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain

from openslob.analyze.outcome import count_noun
from openslob.analyze.steady_state import MIN_STEADY_POINTS
from openslob.config.grid import Grid
from openslob.config.layers import LOADED
from openslob.config.resolve import DEFAULT
from openslob.core.errors import SlobError
from openslob.core.units import MIB, Extent
from openslob.core.workload import Workload
from openslob.engines import registry
from openslob.host.counters import page_cache_limit
from openslob.kinds.run.preflight import DIRECT, ServerMemory, active_bytes, host_memory, purpose_findings
from openslob.kinds.sweep.plan import ASSUMED_BLOCK_BYTES, workload_of
from openslob.kinds.sweep.record import SweepRecord
from openslob.record.varied import Value

# Sources of a SCALE that the user did not ask for.
_OPEN = (DEFAULT, LOADED)
UNKNOWN_CACHE_SCALE = Extent.parse("2G")


def server_memory(target: str) -> ServerMemory | None:
    """Return the memory of a target; of a managed server from its specification, whether it runs or not.

    None for a server that can't be asked now.
    """
    try:
        if "://" in target or "," in target:
            engine = registry.resolve(target)[0]
            facts, host = engine.facts(), host_memory(engine.location(), engine.host)
            direct, more = (facts.direct_io, host, facts.direct_io_remedy), (facts.least_window_s, facts.no_device)
            return ServerMemory(facts.block_size, facts.cache_bytes, *direct, *more, facts.cache_use_limit)
        spec = registry.find_or_new(target).status().spec
    except SlobError:
        return None
    block_size, host = spec.block_size or ASSUMED_BLOCK_BYTES, page_cache_limit(None)
    return ServerMemory(block_size, spec.cache_bytes, spec.io == DIRECT, host)


def with_enough_data(
    grid: Grid, servers: Mapping[str, tuple[Value, ...]], memory: ServerMemory | None, data_per_cache: int
) -> Grid:
    """Return the grid with tables large enough for data of ``data_per_cache`` times the largest cache of the sweep.

    A SCALE that the user gave stays, and so do data that are larger.
    """
    workload, source = grid.workload, grid.sources.get("scale", DEFAULT)
    if source not in _OPEN or "scale" in grid.values:
        return grid
    caches = [int(cache) for cache in servers.get("cache_bytes", ()) if cache]
    if memory and memory.cache_bytes:
        caches = caches or [memory.cache_bytes]
    if memory is None or not caches:
        why = f"the size of the server's cache is not known: the data are {UNKNOWN_CACHE_SCALE}; --scale changes that"
        return replace(grid, workload=_with_scale(workload, UNKNOWN_CACHE_SCALE), notices=(*grid.notices, why))
    needed = max(caches) * data_per_cache
    if active_bytes(workload, memory.block_size) >= needed:
        return grid
    scale = Extent(-(-needed // (workload.schemas * MIB)) * MIB, in_bytes=True)
    return replace(grid, workload=_with_scale(workload, scale))


def _with_scale(workload: Workload, scale: Extent) -> Workload:
    return Workload.model_validate({**workload.to_record(), "scale": str(scale)})


def expected_failures(record: SweepRecord, memory: ServerMemory | None) -> list[str]:
    """Return what the verdicts of the pending points will not hold for, as far as the plan tells: a sentence each."""
    reasons: dict[str, int] = {}
    for point in record.pending:
        workload = workload_of(record, point)
        known = () if memory is None else _of_memory(workload, memory.with_settings(point.server))
        least_s = memory.least_window_s if memory else 0.0
        for reason in dict.fromkeys(chain(known, _of_length(workload, least_s))):
            reasons[reason] = reasons.get(reason, 0) + 1
    alone = _without_repeats(record)
    return [f"{_share(count, len(record.pending))}: {reason}" for reason, count in reasons.items()] + alone


def _of_memory(workload: Workload, memory: ServerMemory) -> Iterator[str]:
    for finding in purpose_findings(workload, memory, memory.host_bytes):
        outcome = "is refused" if finding.blocking else "can't hold"
        subject = "the run" if finding.blocking else f"the verdict on mode {workload.mode}"
        yield f"{subject} {outcome}: {finding.why}; {finding.remedy}"


def _of_length(workload: Workload, least_s: float) -> Iterator[str]:
    if 0 < workload.run_time < least_s:
        yield (
            f"what the server counts, such as reads, stays unknown: it shows its counts too late for a window of "
            f"{workload.run_time:g} s; --run-time {least_s:g} or longer"
        )
    if 0 < workload.run_time < MIN_STEADY_POINTS:
        longer = "" if least_s > MIN_STEADY_POINTS else f"; --run-time {MIN_STEADY_POINTS} or longer"
        yield f"the verdict steady stays unknown: a window of {workload.run_time:g} s is too short to judge{longer}"


def _without_repeats(record: SweepRecord) -> list[str]:
    if not record.against or record.repeats > 1:
        return []
    return [f"the comparison of {record.against} has no interval: each value is run once; --repeats 5 gives one"]


def _share(count: int, every: int) -> str:
    return f"in all {count_noun(every, 'point')}" if count == every else f"in {count} of {every} points"
