"""The measurement of a run or an observation by its raw files alone, whole or up to a moment of it.

Nothing is taken from the record but what was asked for (the workload), facts such as the block size, what it says of
its counters, and the longest operation of each kind. What the files do not have is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from types import MappingProxyType
from typing import Any

import numpy as np

from openslob.analyze.latencies import MIDDLES_US, Latencies
from openslob.analyze.run_tables import SAMPLES, RunTables
from openslob.analyze.session_sums import AMOUNTS, BUSY_US, SessionSums
from openslob.analyze.tables import Array, Intervals, Seconds
from openslob.core.counts import COUNTERS, SliceCounts
from openslob.core.group import GroupUse
from openslob.core.histogram import Histogram, bucket_of
from openslob.core.method import OpKind
from openslob.core.units import NANOS
from openslob.core.workload import Workload
from openslob.metrics.measurement import (
    DEVICE_COUNTERS,
    EVERY_FIGURE,
    DeviceIo,
    EngineDelta,
    HostDelta,
    Measurement,
    Observed,
    SessionTotals,
    TimelinePoint,
    Window,
)
from openslob.record.model import RecordKind, RunRecord
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
# Time lines of more points would not change what is judged, and cost time.
_MOST_POINTS = 600


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


def measure(
    record: RunRecord,
    tables: RunTables,
    totals: Mapping[str, float] = MappingProxyType({}),
    until: Until | None = None,
    errors: Sequence[str] = (),
) -> Observed:
    """Return what was measured, by the tables of the load and its totals; ``until`` a moment of it while it goes on.

    ValueError if its parameters are not known.
    """
    at_s = until.at_s if until else math.inf
    engine, host = _Part.of(tables.engine, at_s), _Part.of(tables.host, at_s)
    # A run whose counters do not belong to its window has intervals of them all the same.
    is_counted = until is not None or (record.window is not None and record.window.counter_seconds > 0)
    waits = _waited(tables.waits)
    # A record without waits that were sampled says that samples had to end, or did not see all sessions.
    dropped = any(waits.values()) and not record.waits
    facts: dict[str, Any] = {
        "block_size": int(record.engine.get("block_size") or 0),
        "cache_bytes": record.engine.get("cache_bytes"),
        "engine": _engine(engine, totals) if is_counted else EngineDelta(unknown={EVERY_FIGURE: NOT_COUNTED}),
        "host": _host(host, totals, not record.environment.get("drivers")),
        "waits": {} if dropped else waits,
        "wait_samples": 0 if dropped else round(_total(tables.waits, SAMPLES)),
        "direct_io": record.engine.get("direct_io"),
        "stand_in": bool(record.engine.get("stand_in")),
        "local": bool(record.environment.get("local", tables.host.value(SERVER_CPU) is not None)),
        "errors": errors,
    }
    counted_s = engine.span_s if is_counted else 0.0
    if record.kind is RecordKind.OBSERVATION:
        # Of a load that is not ours, the window is that of the counters.
        begin_ns = record.window.load_start_ns if record.window else tables.zero_ns
        end_ns = tables.zero_ns + round(float(engine.end_s[-1]) * NANOS) if engine.count else begin_ns
        return Observed(window=Window(begin_ns, end_ns, counted_s, None, 0.0, 0.0), timeline=(), **facts)
    load = Workload.model_validate(record.spec)
    window = _window(tables, load, counted_s, record.window.warmup_s if record.window else 0.0, until)
    work_ends = _work_ends(tables, until or Until(math.inf, (window.load_end_ns - tables.zero_ns) / NANOS))
    return Measurement(
        workload=load,
        data_bytes=int(record.engine.get("data_bytes") or 0),
        window=window,
        sessions=_together(tables.work, len(work_ends), load) if until else _totals(tables.sessions, load),
        latency=_histograms(tables.latency, record.latency, at_s),
        response=_histograms(tables.response, record.response, at_s),
        timeline=tuple(_timeline(tables, engine, host, work_ends)),
        **facts,
    )


def _window(tables: RunTables, load: Workload, counted_s: float, warmup_s: float, until: Until | None) -> Window:
    """Return the window; of a load that goes on, it is that of the counters."""
    if until:
        return Window(tables.zero_ns, tables.zero_ns + int(counted_s * NANOS), counted_s, 0.0, 0.0, 0.0)
    paced = load.target_ops is not None or load.target_iops is not None
    sums = tables.sessions.by_number().values()
    starts = [at for each in sums if (at := each.begin_ns if paced else each.first_op_ns) is not None]
    begin_ns, end_ns = min(starts, default=0), max((each.end_ns for each in sums), default=0)
    skew_ms = (max(starts) - begin_ns) / 1e6 if starts else 0.0
    return Window(begin_ns, end_ns, counted_s, skew_ms, load.run_time, warmup_s)


def _totals(sessions: SessionSums, load: Workload) -> list[SessionTotals]:
    totals = [
        SessionTotals(number, 1 + number % load.schemas, each.counts, each.busy_us, 0.0, each.slices)
        for number, each in sessions.by_number().items()
    ]
    # A session that ended no slice has no row.
    return totals + [_NOTHING] * max(load.total_sessions - len(totals), 0)


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


def totals_beside(measured: Observed, tables: RunTables) -> dict[str, float]:
    """Return the totals that are not the sums of the intervals in the tables, by the names that they have in events.

    The counters of a session go with it: intervals before that can be of the test's sessions alone, and the whole
    window of all.
    """
    if not measured.window.counter_seconds or not len(tables.engine):
        return {}
    sums = {_OF_ENGINE + name: value for name, value in _sums(_Part.of(tables.engine, math.inf)).items()}
    read = _host(_Part.of(tables.host, math.inf), {}, alone=True)
    sums |= {_OF_HOST + name: getattr(read, name) for name in _KNOWN_AT_THE_END}
    known = {_OF_ENGINE + name: value for name, value in measured.engine.amounts().items()}
    known |= {_OF_HOST + name: getattr(measured.host, name) for name in _KNOWN_AT_THE_END}
    return {
        name: value
        for name, value in known.items()
        if value is not None
        and ((added := sums.get(name)) is None or not math.isclose(value, added, rel_tol=_ROUNDING, abs_tol=_ROUNDING))
    }


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
    grown = {name: value for name in readings.table.names if (value := _grown(readings.value(name))) is not None}
    cpu = {name[len(_CPU) : -2]: value for name, value in grown.items() if name.startswith(_CPU)}
    return HostDelta(
        seconds=readings.span_s,
        cores=int(_last(readings, "host.cores") or 0),
        cpu=cpu or None,
        server_cpu_s=grown.get(SERVER_CPU),
        sampler_cpu_s=grown.get("sampler.sampler_cpu_s"),
        server_read_bytes=grown.get("server.server_read_bytes"),
        server_write_bytes=grown.get("server.server_write_bytes"),
        package_energy_j=grown.get("energy.package_energy_j"),
        driver_cpu_s=totals.get(f"{_OF_HOST}driver_cpu_s", grown.get("driver.driver_cpu_s") if alone else None),
        client_cpu_s=totals.get(f"{_OF_HOST}client_cpu_s"),
        device=_device(readings, grown),
        group=_group(readings, grown),
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


def _last(readings: _Part, name: str) -> float | None:
    values = readings.value(name)
    return None if values is None or np.isnan(values[-1]) else float(values[-1])


def _grown(values: Array | None) -> float | None:
    """Return by how much a counter grew; None if it was reset in between."""
    if values is None or np.isnan(values[0]) or np.isnan(values[-1]):
        return None
    known = values[~np.isnan(values)]
    return float(values[-1] - values[0]) if bool(np.all(np.diff(known) >= 0)) else None


def _total(table: Seconds, name: str) -> float:
    values = table.value(name)
    return 0.0 if values is None else float(values.sum())


def _waited(waits: Seconds) -> dict[str, int]:
    """Return in how many samples each event was; of a thinned record, means of several samples count as one."""
    return {event: round(_total(waits, event)) for event in waits.names if event != SAMPLES}


def _histograms(
    tables: Mapping[str, Latencies], recorded: Mapping[str, Mapping[str, Any]], at_s: float
) -> dict[OpKind, Histogram]:
    """Return the latencies by kind, up to a moment. The longest one is by its bucket, unless the record has it."""
    found = {}
    for kind in (kind for kind in OpKind if kind.value in tables):
        totals = tables[kind.value].totals(at_s)
        buckets = np.flatnonzero(totals)
        histogram = Histogram()
        if len(buckets):
            longest, last = float(recorded.get(kind.value, {}).get("max_us") or 0.0), int(buckets[-1])
            histogram.add(
                zip(buckets.tolist(), totals[buckets].astype(int).tolist(), strict=True),
                float((totals * MIDDLES_US).sum()),
                # The longest operation is in the highest bucket.
                longest if bucket_of(longest) == last else float(MIDDLES_US[last]),
            )
        found[kind] = histogram
    return found


def _timeline(tables: RunTables, engine: _Part, host: _Part, work_ends: Array) -> Iterator[TimelinePoint]:
    """Yield the intervals of the engine in which all sessions reported, with the operations in each."""
    ops = tables.work.value("ops")
    if ops is None or not len(work_ends):
        return
    edges = np.append(tables.work.begin_s[: len(work_ends)], work_ends[-1])
    done = np.append(0.0, np.cumsum(ops[: len(work_ends)]))
    known = _Part.of(engine.table, min(float(work_ends[-1]), float(engine.end_s[-1]) if engine.count else 0.0))
    group = max(1, -(-known.count // _MOST_POINTS))
    reads, steal = known.value("read_requests"), _cumulative(host, "host.cpu_steal_s")
    for first in range(0, known.count, group):
        last = min(first + group, known.count) - 1
        begin, end = max(float(known.begin_s[first]), 0.0), float(known.end_s[last])
        if end <= begin:
            continue
        begun, ended = np.interp([begin, end], edges, done)
        counted = None if reads is None else float(reads[first : last + 1].sum())
        stolen = None if steal is None else float(np.diff(np.interp([begin, end], *steal))[0])
        yield TimelinePoint(end, end - begin, float(ended - begun), counted, None, stolen)


def _cumulative(host: _Part, name: str) -> tuple[Array, Array] | None:
    values = host.value(name)
    return None if values is None or not host.count or np.isnan(values).any() else (host.end_s, values)
