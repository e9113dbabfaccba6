"""The verdicts on a run as they stand so far, by the rules that judge it at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from openslob.analyze.causes import episodes
from openslob.analyze.latencies import MIDDLES_US
from openslob.analyze.level import find_cap
from openslob.analyze.load_kinds import is_paced, load_kind
from openslob.analyze.run_tables import RunTables
from openslob.analyze.session_sums import BUSY_US
from openslob.analyze.steps import Steps
from openslob.analyze.trace import trace_of
from openslob.analyze.verdicts import environment, server, validity
from openslob.analyze.verdicts.course import no_stalls
from openslob.analyze.verdicts.outcome import unknown
from openslob.counts import COUNTERS, SliceCounts
from openslob.group import GroupUse
from openslob.histogram import Histogram
from openslob.live.figures import DEVICE, ENGINE, SERVER_CPU, WORK, Track
from openslob.measurement import (
    DEVICE_COUNTERS,
    EVERY_FIGURE,
    DeviceIo,
    EngineDelta,
    HostDelta,
    Measurement,
    SessionTotals,
    TimelinePoint,
    Window,
)
from openslob.method import OpKind
from openslob.record.model import RunRecord, Verdict
from openslob.record.raw_csv import Happening
from openslob.units import NANOS
from openslob.workload import Workload

AT_END = "known at the end of the run"
# These need no more than the files so far; all others need what is known at the end alone.
_JUDGED: tuple[Callable[[Measurement], Verdict | None], ...] = (
    validity.errors,
    server.real_server,
    validity.reads_reached_device,
    server.single_block,
    validity.commits_waited,
    server.cache_size_kept,
    server.not_throttled,
    server.log_switches,
    environment.driver_quiet,
    environment.quiet_machine,
    environment.steady,
    no_stalls,
    environment.percentiles_supported,
)
# These judge latencies, which come later than all else.
_TIMED = (no_stalls, environment.percentiles_supported)
_LATE = "Not judged yet: the latencies of operations come some seconds late."
_LATER = (
    *("window", "planned_time", "sessions_busy", "alone_on_server", "counts_agree", "exact_mix", "mode"),
    *("data_in_place", "limit_found", "level_sustained"),
)
# Of a run at a given rate; and of some runs, but which ones is known at their end.
_OF_RATE, OF_SOME = "rate_reached", frozenset({"block_path", "within_ceiling", "awr_agrees"})
JUDGED_OR_NOT = frozenset({*(judge.__name__ for judge in _JUDGED), *_LATER, _OF_RATE}) | OF_SOME
# More points in time would not change what is judged, and cost time.
_MOST_POINTS = 600
_ENGINE_FIELDS = frozenset(EngineDelta().amounts())
_NO_ROWS = "it is not in the record so far"


def verdicts_so_far(
    tables: RunTables, record: RunRecord, tracks: Mapping[str, Track], at_s: float, errors: Sequence[str]
) -> tuple[Verdict, ...]:
    """Return the verdicts on the run up to ``at_s``; unknown where only the end of the run can tell."""
    names = (*_LATER, _OF_RATE) if is_paced(record) else _LATER
    later = tuple(unknown(name, f"Not judged yet: {AT_END}.") for name in names)
    if not len(tracks[ENGINE].end_s):
        return later
    try:
        measured = measurement_so_far(tables, record, tracks, at_s, errors)
    except ValueError:
        # A later version may have parameters that this one does not know: it can't judge such a run.
        return later
    early = () if measured.latency else tuple(unknown(judge.__name__, _LATE) for judge in _TIMED)
    judges = (judge for judge in _JUDGED if measured.latency or judge not in _TIMED)
    return (*(verdict for judge in judges if (verdict := judge(measured))), *early, *later)


def slow_so_far(
    tables: RunTables, record: RunRecord, end_s: float, events: Sequence[Happening]
) -> list[tuple[float, str]]:
    """Return when the load was slow up to ``end_s``, each with its end, cause and evidence."""
    trace = trace_of(tables, end_s, events, load_kind(record).publishes_late)
    found = episodes(trace, find_cap(trace))
    return [(each.begin_s, slow_text(each.end_s, each.cause, each.evidence)) for each in found]


def slow_text(end_s: float, cause: str, evidence: str) -> str:
    """Return a stretch in which the load was slow in words."""
    return f"slow until {end_s:.0f} s: {cause}; {evidence}"


def measurement_so_far(
    tables: RunTables, record: RunRecord, tracks: Mapping[str, Track], at_s: float, errors: Sequence[str]
) -> Measurement:
    """Return what the files tell about the run up to ``at_s``, with everything else unknown."""
    workload = Workload.model_validate(record.spec)
    engine = tracks[ENGINE]
    counted_s = float(engine.end_s[-1] - engine.begin_s[0])
    begin_ns = tables.zero_ns
    return Measurement(
        workload=workload,
        block_size=int(record.engine.get("block_size") or 0),
        cache_bytes=record.engine.get("cache_bytes"),
        data_bytes=int(record.engine.get("data_bytes") or 0),
        window=Window(begin_ns, begin_ns + int(counted_s * NANOS), counted_s, 0.0, 0.0, 0.0),
        sessions=_sessions(tracks[WORK], workload.total_sessions),
        latency=_latency(tables, at_s),
        engine=_engine(engine),
        host=_host(tables, at_s),
        waits={},
        wait_samples=0,
        timeline=list(_timeline(tables, tracks, at_s)),
        direct_io=record.engine.get("direct_io"),
        local=tables.host.value(SERVER_CPU) is not None,
        errors=errors,
        stand_in=bool(record.engine.get("stand_in")),
    )


def _engine(track: Track) -> EngineDelta:
    sums = {name: float(each.sum()) for name, each in track.amounts(tuple(sorted(_ENGINE_FIELDS))).items()}
    known = {name: value for name, value in sums.items() if np.isfinite(value)}
    return EngineDelta(**known, unknown={EVERY_FIGURE: _NO_ROWS})  # type: ignore[arg-type]


def _host(tables: RunTables, at_s: float) -> HostDelta:
    """Return what the host counted between its first reading and the last one before ``at_s``."""
    ends = tables.host.end_s
    last = int(np.searchsorted(ends, at_s, side="right")) - 1
    if last < 1:
        return HostDelta(0.0, 0, unknown={EVERY_FIGURE: _NO_ROWS})
    grown = {name: _difference(tables, name, last) for name in tables.host.names}
    known = {name: value for name, value in grown.items() if value is not None}
    cpu = {name[9:-2]: value for name, value in known.items() if name.startswith("host.cpu_")}
    io: dict[str, Any] = {name: known[DEVICE + name] for name in DEVICE_COUNTERS if DEVICE + name in known}
    cores = tables.host.value("host.cores")
    return HostDelta(
        seconds=float(ends[last] - ends[0]),
        cores=0 if cores is None or np.isnan(cores[last]) else int(cores[last]),
        cpu=cpu or None,
        server_cpu_s=known.get(SERVER_CPU),
        sampler_cpu_s=known.get("sampler.sampler_cpu_s"),
        server_read_bytes=known.get("server.server_read_bytes"),
        server_write_bytes=known.get("server.server_write_bytes"),
        driver_cpu_s=known.get("driver.driver_cpu_s"),
        device=DeviceIo("device", **io) if len(io) == len(DEVICE_COUNTERS) else None,
        group=_group(tables, known, last),
        unknown={EVERY_FIGURE: _NO_ROWS},
    )


def _group(tables: RunTables, grown: Mapping[str, float], last: int) -> GroupUse | None:
    quota = tables.host.value("cgroup.cpu_quota")
    counted = [grown.get(f"cgroup.{name}") for name in ("cpu_throttled_s", "cpu_periods", "cpu_periods_throttled")]
    amounts = [amount for amount in counted if amount is not None]
    if len(amounts) < len(counted):
        return None
    return GroupUse(None if quota is None or np.isnan(quota[last]) else float(quota[last]), *amounts)


def _difference(tables: RunTables, name: str, last: int) -> float | None:
    values = tables.host.value(name)
    if values is None:
        return None
    # A counter that fell between any two readings was reset: what it counted over all of them is not known.
    steps = np.diff(values[: last + 1])
    return float(steps.sum()) if np.all(steps >= 0) else None


def _sessions(work: Track, count: int) -> list[SessionTotals]:
    """Return the sessions; the files so far tell what they did together, which the first one has here."""
    sums = {name: float(each.sum()) for name, each in work.amounts((*COUNTERS, BUSY_US)).items()}
    together = SliceCounts(**{name: round(sums.get(name, 0.0)) for name in COUNTERS})
    first = SessionTotals(0, 0, together, sums.get(BUSY_US, 0.0), 0.0, 0)
    return [first, *(SessionTotals(number, 0, SliceCounts(), 0.0, 0.0, 0) for number in range(1, count))]


def _latency(tables: RunTables, at_s: float) -> dict[OpKind, Histogram]:
    found = {}
    for kind in (kind for kind in OpKind if kind.value in tables.latency):
        counts = tables.latency[kind.value].counts(Steps(0, 1, 60 * (int(at_s) // 60 + 1), at_s), at_s)[0]
        buckets = np.flatnonzero(counts)
        histogram = Histogram()
        if len(buckets):
            sum_us = float((counts[buckets] * MIDDLES_US[buckets]).sum())
            pairs = zip(buckets.tolist(), counts[buckets].astype(int).tolist(), strict=True)
            histogram.add(pairs, sum_us, float(MIDDLES_US[buckets[-1]]))
        found[kind] = histogram
    return found


def _timeline(tables: RunTables, tracks: Mapping[str, Track], at_s: float) -> Iterator[TimelinePoint]:
    """Yield the intervals of the engine in which all sessions reported, with the operations in each."""
    engine, work = tracks[ENGINE], tracks[WORK]
    ops = work.amount("ops")
    if ops is None or not len(ops):
        return
    known = engine.until(float(work.end_s[-1]))
    edges = np.append(work.begin_s, work.end_s[-1])
    done = np.append(0.0, np.cumsum(ops))
    group = max(1, -(-len(known.end_s) // _MOST_POINTS))
    reads = known.amount("read_requests")
    steal = _cumulative(tables, "host.cpu_steal_s", at_s)
    for first in range(0, len(known.end_s), group):
        last = min(first + group, len(known.end_s)) - 1
        begin, end = max(float(known.begin_s[first]), 0.0), float(known.end_s[last])
        if end <= begin:
            continue
        begun, ended = np.interp([begin, end], edges, done)
        counted = None if reads is None else float(reads[first : last + 1].sum())
        stolen = None if steal is None else float(np.diff(np.interp([begin, end], *steal))[0])
        yield TimelinePoint(end, end - begin, float(ended - begun), counted, None, stolen)


def _cumulative(tables: RunTables, name: str, at_s: float) -> tuple[np.ndarray, np.ndarray] | None:
    values = tables.host.value(name)
    count = int(np.searchsorted(tables.host.end_s, at_s, side="right"))
    if values is None or not count or np.isnan(values[:count]).any():
        return None
    return tables.host.end_s[:count], values[:count]
