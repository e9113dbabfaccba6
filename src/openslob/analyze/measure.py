"""The measurement of a run or an observation by its raw files alone, whole or up to a moment of it.

Nothing is taken from the record but what was asked for (the workload), facts such as the block size, and what it says
of its counters. What the files do not have is unknown; who makes a record puts on it what they alone know.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from types import MappingProxyType
from typing import Any

import numpy as np

from openslob.analyze.latencies import MIDDLES_US, Latencies
from openslob.analyze.rate_stages import stages_of
from openslob.analyze.run_tables import SAMPLES, RunTables
from openslob.analyze.session_sums import AMOUNTS, BUSY_US, SessionSums
from openslob.analyze.tables import Array, Intervals, Seconds
from openslob.core.counts import COUNTERS, SliceCounts
from openslob.core.histogram import Histogram, bucket_of
from openslob.core.measurement import (
    DEVICE_COUNTERS,
    EVERY_FIGURE,
    ClassTimes,
    DeviceIo,
    EngineDelta,
    GroupUse,
    HostDelta,
    Measurement,
    Observed,
    RefusedSetting,
    SessionTotals,
    TimelinePoint,
    Window,
)
from openslob.core.method import OpKind
from openslob.core.session_classes import name_kind
from openslob.core.units import NANOS
from openslob.core.workload import Workload, slice_seconds
from openslob.record.model import REFUSED, RecordKind, RunRecord
from openslob.record.raw_csv import Event, Happening

NOT_COUNTED = "the record says that the engine's counters are not those of the window"
NOT_KEPT = "its raw numbers are not in the record's files"
_ENGINE_FIELDS = frozenset(EngineDelta().amounts())
SERVER_CPU = "server.server_cpu_s"
_OF_ENGINE, _OF_HOST = "engine.", "host."
# What other processes used: known when they have ended.
_KNOWN_AT_THE_END = ("client_cpu_s", "driver_cpu_s")
# Sums of fractions depend on their order.
_ROUNDING = 1e-10
_CPU, _DEV = "host.cpu_", ".dev_"
_NOTHING = SessionTotals(-1, 0, SliceCounts(), 0.0, 0.0, 0)
# Time lines of more points would not change what is judged, and cost time: of a load that goes on, once a second.
_MOST_POINTS, _MOST_SO_FAR = 7200, 600
# Sessions at work may publish what they counted as much as a second late, all at the same moment: over a second, rates
# jump between 0 and twice the truth, over so many seconds they are off by 2 %.
OBSERVED_POINT_S = 20.0
# Readings do not come exactly an interval apart.
_JITTER_S = 0.5
LATENCY, RESPONSE = "latency", "response"
_OF_WAITS, WAIT_SAMPLES = "waits.", "wait_samples"


@dataclass(frozen=True)
class Until:
    """A moment of a load that goes on, in s after its begin; all of what sessions did is known up to ``complete_s``."""

    at_s: float
    complete_s: float


@dataclass(frozen=True)
class _Part:
    """The first intervals of a table, up to a moment."""

    table: Intervals
    count: int

    @classmethod
    def of(cls, table: Intervals, at_s: float) -> _Part:
        return cls(table, int(np.searchsorted(table.end_s, at_s, side="right")))

    @property
    def begin_s(self) -> Array:
        return self.table.begin_s[: self.count]

    @property
    def end_s(self) -> Array:
        return self.table.end_s[: self.count]

    @property
    def span_s(self) -> float:
        return float(self.end_s[-1] - self.begin_s[0]) if self.count else 0.0

    def value(self, name: str) -> Array | None:
        values = self.table.value(name)
        return None if values is None else values[: self.count]


def _list_facts(record: RunRecord) -> dict[str, Any]:
    """Return what the record says of server and host, by the names of `Observed`."""
    return {
        "block_size": int(record.engine.get("block_size") or 0),
        "cache_bytes": record.engine.get("cache_bytes"),
        "direct_io": record.engine.get("direct_io"),
        "stand_in": bool(record.engine.get("stand_in")),
        "no_device": str((record.engine.get("flavour") or {}).get("no_device") or ""),
        "clock_us": record.engine.get("clock_us"),
        "cache_use_limit": record.engine.get("cache_use_limit"),
        "refused_settings": _list_refused(record),
        "elsewhere": bool(record.environment.get("reader")),
    }


def measure(
    record: RunRecord,
    tables: RunTables,
    totals: Mapping[str, float] = MappingProxyType({}),
    until: Until | None = None,
    errors: Sequence[str] = (),
    unfinished: Container[int] = (),
) -> Observed:
    """Return what was measured, by the tables of the load and its totals; ``until`` a moment of it while it goes on.

    A record without a window is one that is being made. ``unfinished`` are the sessions that were cancelled in their
    last slice. ValueError if the parameters are not known.
    """
    at_s = until.at_s if until else math.inf
    engine, host = _Part.of(tables.engine, at_s), _Part.of(tables.host, at_s)
    # A run whose counters do not belong to its window has intervals of them all the same.
    is_counted = record.window is None or record.window.counter_seconds > 0
    waits = _count_waited(tables.waits, totals)
    # A record without waits that were sampled says that samples had to end, or did not see all sessions.
    dropped = record.window is not None and any(waits.values()) and not record.waits
    facts: dict[str, Any] = {
        **_list_facts(record),
        "engine": _engine(engine, totals) if is_counted else EngineDelta(unknown={EVERY_FIGURE: NOT_COUNTED}),
        "host": _host(host, totals, not record.environment.get("drivers")),
        "waits": {} if dropped else waits,
        "wait_samples": 0 if dropped else round(totals.get(WAIT_SAMPLES, _total(tables.waits, SAMPLES))),
        "local": bool(record.environment.get("local", tables.host.value(SERVER_CPU) is not None)),
        "errors": errors,
    }
    counted_s = engine.span_s if is_counted else 0.0
    if record.kind is RecordKind.OBSERVATION:
        # Of a load that is not ours, the window is that of the counters.
        begin_ns = record.window.load_start_ns if record.window else tables.zero_ns
        end_ns = tables.zero_ns + round(float(engine.end_s[-1]) * NANOS) if engine.count else begin_ns
        window = Window(begin_ns, end_ns, counted_s, None, float(record.spec.get("seconds") or 0.0), 0.0)
        return Observed(window=window, timeline=tuple(_observed_timeline(engine)), **facts)
    load = Workload.model_validate(record.spec)
    warmup_s = record.window.warmup_s if record.window else 0.0
    window = _window(tables, load, counted_s, warmup_s, until)
    work_ends = _work_ends(tables, until or Until(math.inf, (window.load_end_ns - tables.zero_ns) / NANOS))
    known = _Part.of(engine.table, min(at_s, float(work_ends[-1]))) if until and len(work_ends) else engine
    return Measurement(
        workload=load,
        data_bytes=int(record.engine.get("data_bytes") or 0),
        window=window,
        sessions=(
            _together(tables.work, len(work_ends), load)
            if until
            else _totals(tables.sessions, load, window, unfinished)
        ),
        latency=_histograms(tables.latency, LATENCY, totals, record.latency, at_s),
        response=_histograms(tables.response, RESPONSE, totals, record.response, at_s),
        classes={part.name: _class_times(part.name, tables, totals, at_s) for part in load.parts if part.name},
        stages=() if until else stages_of(load, tables, window.load_seconds),
        timeline=tuple(_timeline(tables, known, work_ends, load, _MOST_SO_FAR if until else _MOST_POINTS)),
        **facts,
    )


def _window(tables: RunTables, load: Workload, counted_s: float, warmup_s: float, until: Until | None) -> Window:
    """Return the window; of a load that goes on, it is that of the counters."""
    if until:
        return Window(tables.zero_ns, tables.zero_ns + int(counted_s * NANOS), counted_s, 0.0, 0.0, 0.0)
    by_number = tables.sessions.by_number()
    sums = by_number.values()
    begun = any(each.first_op_ns is not None for each in sums)
    # At a given rate, a session may have to wait for its first operation.
    waiting = {number for part in load.parts if part.workload.is_paced for number in part.numbers}
    moments = [each.begin_ns if number in waiting else each.first_op_ns for number, each in by_number.items()]
    starts = [at for at in moments if begun and at is not None]
    begin_ns, end_ns = min(starts, default=0), max((each.end_ns for each in sums), default=0)
    skew_ms = (max(starts) - begin_ns) / 1e6 if starts else 0.0
    return Window(begin_ns, end_ns, counted_s, skew_ms, load.run_time, warmup_s)


def _totals(sessions: SessionSums, load: Workload, window: Window, unfinished: Container[int]) -> list[SessionTotals]:
    """Return what each session did; of one that ended no slice there is no row."""
    sums = sessions.by_number()
    totals = []
    for number in sorted({*range(load.total_sessions), *sums}):
        own, begin_ns = sums.get(number), window.load_start_ns
        counts, busy_us, idle_us, slices, end_ns = SliceCounts(), 0.0, 0.0, 0, begin_ns
        if own is not None:
            counts, busy_us, idle_us, slices = own.counts, own.busy_us, own.idle_us, own.slices
            begin_ns, end_ns = own.begin_ns, own.end_ns
        after_ns = 0 if number in unfinished else window.load_end_ns - max(end_ns, begin_ns)
        apart_ns = max(0, begin_ns - window.load_start_ns) + max(0, after_ns)
        schema = 1 + number % load.schemas
        totals.append(SessionTotals(number, schema, counts, busy_us, idle_us, slices, apart_ns / 1000))
    return totals


def _together(work: Seconds, units: int, load: Workload) -> list[SessionTotals]:
    """Return the sessions of a load that goes on: up to a moment, it is known what they did together."""
    sums = {name: 0.0 if (values := work.value(name)) is None else float(values[:units].sum()) for name in AMOUNTS}
    counts = SliceCounts(**{name: round(sums[name]) for name in COUNTERS})
    return [SessionTotals(0, 0, counts, sums[BUSY_US], 0.0, 0), *[_NOTHING] * (load.total_sessions - 1)]


def _work_ends(tables: RunTables, until: Until) -> Array:
    """Return the ends of the units of time of which it is known what all sessions did."""
    ends: Array = np.minimum(tables.work.begin_s + tables.unit_s, until.complete_s)
    known = int(np.searchsorted(tables.work.begin_s, until.complete_s))
    return ends[: int(np.searchsorted(ends[:known], min(until.at_s, until.complete_s), side="right"))]


def totals_beside(measured: Observed, derived: Observed) -> dict[str, float]:
    """Return the totals of a measurement that its raw files do not add up to, by the names that they have in events.

    ``derived`` is what the files alone come to. The counters of a session go with it: intervals before that can be of
    the test's sessions alone, and the whole window of all. Of a long load, samples of waits are means of several.
    """
    known, sums = _numbers(measured), _numbers(derived)
    return {name: value for name, value in known.items() if not _are_same(value, sums.get(name))}


def _are_same(value: float, other: float | None) -> bool:
    return other is not None and math.isclose(value, other, rel_tol=_ROUNDING, abs_tol=_ROUNDING)


def _numbers(measured: Observed) -> dict[str, float]:
    """Return the totals of a measurement by the names that they have in events; those of no window are none."""
    found: dict[str, float | None] = {}
    if measured.window.counter_seconds:
        found = {_OF_ENGINE + name: value for name, value in measured.engine.amounts().items()}
        found |= {_OF_HOST + name: getattr(measured.host, name) for name in _KNOWN_AT_THE_END}
    if measured.wait_samples:
        found |= {_OF_WAITS + event: float(count) for event, count in measured.waits.items() if event}
        found[WAIT_SAMPLES] = float(measured.wait_samples)
    if isinstance(measured, Measurement):
        for what, histograms in ((LATENCY, measured.latency), (RESPONSE, measured.response)):
            found |= {name: value for kind, of_kind in histograms.items() for name, value in times(what, kind, of_kind)}
    return {name: value for name, value in found.items() if value is not None}


def times(what: str, kind: str, histogram: Histogram) -> Iterator[tuple[str, float]]:
    """Yield the totals of a kind of operation that its buckets do not say, by name: time and longest operation.

    The kind may be one of a class of sessions (`name_kind`).
    """
    if histogram.count:
        yield f"{what}.{kind}.sum_us", histogram.sum_us
        yield f"{what}.{kind}.max_us", histogram.max_us


def totals_in(events: Iterable[Happening]) -> dict[str, float]:
    """Return the totals in events, by name. ValueError if one is no number."""
    pairs = [each.text.rpartition(" ")[::2] for each in events if each.kind == Event.TOTAL]
    return {name: float(value) for name, value in pairs}


def _engine(part: _Part, totals: Mapping[str, float]) -> EngineDelta:
    whole = {name.removeprefix(_OF_ENGINE): value for name, value in totals.items() if name.startswith(_OF_ENGINE)}
    counted = {**_sums(part), **whole}
    known: dict[str, Any] = {name: value for name, value in counted.items() if name in _ENGINE_FIELDS}
    return EngineDelta(**known, unknown={EVERY_FIGURE: NOT_KEPT})


def _sums(part: _Part) -> dict[str, float]:
    sums = {name: _sum(part.value(name)) for name in part.table.names}
    return {name: value for name, value in sums.items() if value is not None}


def _sum(values: Array | None) -> float | None:
    return None if values is None or bool(np.isnan(values).any()) else float(values.sum())


def _host(readings: _Part, totals: Mapping[str, float], alone: bool) -> HostDelta:
    """Return what the host counted; of a driver that was not alone the readings are a part of all drivers' CPU."""
    if readings.count < 2:
        return HostDelta(0.0, 0, unknown={EVERY_FIGURE: NOT_KEPT})
    by_name = {name: measure_growth(readings.value(name)) for name in readings.table.names}
    grown = {name: value for name, value in by_name.items() if value is not None}
    cpu = {name[len(_CPU) : -2]: value for name, value in grown.items() if name.startswith(_CPU)}
    return HostDelta(
        seconds=readings.span_s,
        cores=int(_last(readings, "host.cores") or 0),
        cpu=cpu or None,
        server_cpu_s=grown.get(SERVER_CPU),
        sampler_cpu_s=grown.get("sampler.sampler_cpu_s"),
        server_cores=None if (cores := _last(readings, "server.server_cores")) is None else int(cores),
        server_cpus_busy_s=grown.get("cpus.server_cpus_busy_s"),
        server_read_bytes=grown.get("server.server_read_bytes"),
        server_write_bytes=grown.get("server.server_write_bytes"),
        package_energy_j=grown.get("energy.package_energy_j"),
        driver_cpu_s=totals.get(f"{_OF_HOST}driver_cpu_s", grown.get("driver.driver_cpu_s") if alone else None),
        client_cpu_s=totals.get(f"{_OF_HOST}client_cpu_s"),
        driver_peak_rss_bytes=_last(readings, "driver.driver_peak_rss_bytes") if alone else None,
        device=_device(readings, grown),
        page_cache_bytes_before=_last(readings, "memory.page_cache_bytes", 0),
        page_cache_bytes_after=_last(readings, "memory.page_cache_bytes"),
        memory_available_bytes=_last(readings, "memory.memory_available_bytes"),
        group=_group(readings, grown),
        server_runqueue_s=grown.get("server.server_runqueue_s"),
        unknown={EVERY_FIGURE: NOT_KEPT},
    )


def _device(readings: _Part, grown: Mapping[str, float]) -> DeviceIo | None:
    """Return the I/O of the device, or of all of several; None if anything of one is not known."""
    sources = {name.rpartition(_DEV)[0] for name in readings.table.names if _DEV in name}
    parts = []
    for source in sorted(sources - {"device"}) or ["device"]:
        io: dict[str, Any] = {name: grown.get(f"{source}{_DEV}{name}") for name in DEVICE_COUNTERS}
        if None in io.values():
            return None
        parts.append(DeviceIo(source, **io))
    return reduce(add, parts)


def _group(readings: _Part, grown: Mapping[str, float]) -> GroupUse | None:
    counted = [grown.get(f"cgroup.{name}") for name in ("cpu_throttled_s", "cpu_periods", "cpu_periods_throttled")]
    known = [amount for amount in counted if amount is not None]
    return GroupUse(_last(readings, "cgroup.cpu_quota"), *known) if len(known) == len(counted) else None


def _last(readings: _Part, name: str, at: int = -1) -> float | None:
    """Return the last reading, or another one."""
    values = readings.value(name)
    return None if values is None or np.isnan(values[at]) else float(values[at])


def measure_growth(values: Array | None) -> float | None:
    """Return by how much a counter grew; None if it was reset in between."""
    if values is None or np.isnan(values[0]) or np.isnan(values[-1]):
        return None
    known = values[~np.isnan(values)]
    return float(values[-1] - values[0]) if bool(np.all(np.diff(known) >= 0)) else None


def _total(table: Seconds, name: str) -> float:
    values = table.value(name)
    return 0.0 if values is None else float(values.sum())


def _count_waited(waits: Seconds, totals: Mapping[str, float]) -> dict[str, int]:
    """Return in how many samples each event was; of a thinned record, means of several samples count as one."""
    events = [event for event in waits.names if event != SAMPLES]
    return {event: round(totals.get(_OF_WAITS + event, _total(waits, event))) for event in events}


def _class_times(of_class: str, tables: RunTables, totals: Mapping[str, float], at_s: float) -> ClassTimes:
    """Return the times of a class of sessions by kind, up to a moment."""
    return ClassTimes(
        _histograms(tables.class_latency, LATENCY, totals, {}, at_s, of_class),
        _histograms(tables.class_response, RESPONSE, totals, {}, at_s, of_class),
    )


def _histograms(
    tables: Mapping[str, Latencies],
    what: str,
    totals: Mapping[str, float],
    recorded: Mapping[str, Mapping[str, Any]],
    at_s: float,
    of_class: str = "",
) -> dict[OpKind, Histogram]:
    """Return the latencies by kind, up to a moment; those of one class of sessions, if it is named.

    Without totals of their own, times are by the middles of buckets; the longest one is that of the record, if it can
    be.
    """
    found = {}
    named = {kind: name_kind(of_class, kind) for kind in OpKind}
    for kind, name in ((kind, name) for kind, name in named.items() if name in tables):
        counts = tables[name].totals(at_s)
        buckets = np.flatnonzero(counts)
        histogram = Histogram()
        if len(buckets):
            longest, last = float(recorded.get(kind.value, {}).get("max_us") or 0.0), int(buckets[-1])
            # The longest operation is in the highest bucket.
            longest = longest if bucket_of(longest) == last else float(MIDDLES_US[last])
            histogram.add(
                zip(buckets.tolist(), counts[buckets].astype(int).tolist(), strict=True),
                totals.get(f"{what}.{name}.sum_us", float((counts * MIDDLES_US).sum())),
                totals.get(f"{what}.{name}.max_us", longest),
            )
        found[kind] = histogram
    return found


def _timeline(tables: RunTables, engine: _Part, work_ends: Array, load: Workload, most: int) -> Iterator[TimelinePoint]:
    """Yield operations by intervals of the engine, some of them together if there are more than ``most``.

    A slice reports its total only: finer points would be means over slices, which hide what happened.
    """
    ops = tables.work.value("ops")
    if ops is None or not len(work_ends):
        return
    edges = np.append(tables.work.begin_s[: len(work_ends)], work_ends[-1])
    done = np.append(0.0, np.cumsum(ops[: len(work_ends)]))
    least_s = max(slice_seconds(load.total_sessions) - _JITTER_S, engine.span_s / most)
    for begin, end in _points(engine, least_s, with_rest=True):
        begun, ended = np.interp([begin, end], edges, done)
        yield TimelinePoint(end, end - begin, float(ended - begun))


def _list_refused(record: RunRecord) -> Sequence[RefusedSetting]:
    return [RefusedSetting(each["name"], each["why"], each["spoils"]) for each in record.engine.get(REFUSED, ())]


def _observed_timeline(engine: _Part) -> Iterator[TimelinePoint]:
    """Yield the transactions of a load that is not ours, without a rest at the end; none where they are not known."""
    counted = engine.value("transactions")
    if counted is None:
        return
    for begin, end in _points(engine, OBSERVED_POINT_S, with_rest=False):
        inside = (engine.end_s > begin) & (engine.end_s <= end)
        if (done := _sum(counted[inside])) is not None:
            yield TimelinePoint(end, end - begin, done)


def _points(engine: _Part, least_s: float, with_rest: bool) -> Iterator[tuple[float, float]]:
    """Yield begin and end of intervals, neighbours taken together until they last so long."""
    begin = None
    for begin_s, end_s in zip(engine.begin_s.tolist(), engine.end_s.tolist(), strict=True):
        begin = max(begin_s, 0.0) if begin is None else begin
        if end_s - begin >= least_s:
            yield begin, end_s
            begin = None
    if with_rest and begin is not None and end_s > begin:
        yield begin, end_s
