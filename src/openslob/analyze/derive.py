"""The figures of a run or an observation, derived once more from its raw measurements alone, and what they say.

Nothing is taken from the record but what was asked for (the workload), facts such as the block size, and the longest
operation of each kind where there are several kinds. The definitions are those of every run: `metrics`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from openslob.analyze.latencies import Latencies
from openslob.analyze.run_tables import SAMPLES, RunTables
from openslob.analyze.session_sums import SessionSums
from openslob.analyze.tables import Array, Intervals, Seconds
from openslob.counts import SliceCounts
from openslob.histogram import PERCENTILES, Histogram, bucket_of
from openslob.measurement import (
    DEVICE_COUNTERS,
    EVERY_FIGURE,
    DeviceIo,
    EngineDelta,
    HostDelta,
    Measurement,
    Observed,
    SessionTotals,
    Window,
)
from openslob.method import OpKind
from openslob.metrics import priced, summary
from openslob.metrics.cost import price_of
from openslob.metrics.run_metrics import PACED
from openslob.metrics.waits import top_events
from openslob.record.model import Figure, RecordKind, RunRecord, value_of
from openslob.units import NANOS
from openslob.workload import Workload

# Sums of fractions depend on their order: an error of the last digits is none.
_SAME = 1e-9
_ENGINE_FIELDS = frozenset(EngineDelta().amounts())
NOT_COUNTED = "the record says that the engine's counters are not those of the window"
NOT_KEPT = "its raw numbers are not in the record's files"
_OF_SCHEDULE = "it follows from when sessions woke up, which no raw file has"
_THINNED = "samples of a load of more than an hour are means of steps"


@dataclass(frozen=True)
class Derived:
    """A number of the record and the same one from its raw measurements; ``value`` is None for the reason ``why``."""

    name: str
    recorded: float
    value: float | None
    why: str = ""

    @property
    def same(self) -> bool:
        """Whether both are the same, but for the rounding of sums."""
        return self.value is not None and math.isclose(self.recorded, self.value, rel_tol=_SAME, abs_tol=_SAME)


def derived(record: RunRecord, tables: RunTables, thinned: bool = False) -> list[Derived]:
    """Return every number that the record states and that follows from its raw files, in the order of the record.

    ``thinned`` says that rows of them are about steps of several seconds.
    """
    if record.window is None:
        return []
    measured = measurement_of(record, tables)
    return [
        *_window(record, measured),
        *_figures(record, measured, thinned),
        *_latencies(record, measured, tables.sessions),
        *_waits(record, measured, thinned),
    ]


def _figures(record: RunRecord, measured: Observed, thinned: bool) -> Iterator[Derived]:
    again = _summary(record, measured)
    without = _summary(record, replace(measured, waits={})) if thinned else again
    for name, figure in record.summary.items():
        if figure.value is None:
            continue
        of_samples = again.get(name) != without.get(name)
        why = _OF_SCHEDULE if name in PACED else _THINNED if of_samples else NOT_KEPT
        value = None if of_samples else value_of(again, name)
        yield Derived(name, figure.value, value, why if value is None else "")


def _summary(record: RunRecord, measured: Observed) -> Mapping[str, Figure]:
    """Return the figures of the measurement; the price of an observation is no part of it."""
    again, price = summary(measured), price_of(record)
    if price and record.kind is RecordKind.OBSERVATION:
        return priced(record.model_copy(update={"summary": again}), price).summary
    return again


def _window(record: RunRecord, measured: Observed) -> Iterator[Derived]:
    if record.window is None:
        return
    of_run = {
        "window.load_seconds": (record.window.load_seconds, measured.window.load_seconds),
        "window.counter_seconds": (record.window.counter_seconds, measured.window.counter_seconds),
    }
    for name, (recorded, value) in of_run.items():
        if not recorded:
            continue
        yield Derived(name, recorded, value or None, "" if value else NOT_KEPT)


def _latencies(record: RunRecord, measured: Observed, sessions: SessionSums) -> Iterator[Derived]:
    if not isinstance(measured, Measurement):
        return
    for what, recorded, again in (
        ("latency", record.latency, measured.latency),
        ("response", record.response, measured.response),
    ):
        for kind, known in recorded.items():
            found = again.get(OpKind(kind), Histogram())
            for name in ("count", *PERCENTILES):
                if known.get(name) is not None:
                    value = float(found.count) if name == "count" else found.quantile_us(PERCENTILES[name])
                    yield Derived(f"{what}.{kind}.{name}", float(known[name]), value, "" if found.count else NOT_KEPT)
    if sessions.slices:
        yield from _of_all_kinds(record, measured, sessions.max_us)


def _of_all_kinds(record: RunRecord, measured: Measurement, longest_us: float | None) -> Iterator[Derived]:
    """Yield mean and maximum: slices have both of all kinds together."""
    known, kinds, ops = record.latency.values(), "+".join(record.latency), measured.counts.ops
    counts = sum(float(each.get("count") or 0) for each in known)
    # A mean below a clock tick is stated as half a tick.
    if ops and counts and measured.busy_us / ops >= 1 and all(each.get("mean_us") is not None for each in known):
        mean = sum(float(each["mean_us"]) * float(each["count"]) for each in known) / counts
        yield Derived(f"latency.{kinds}.mean_us", mean, measured.busy_us / ops)
    longest = [float(each["max_us"]) for each in known if each.get("max_us") is not None]
    if longest:
        why = "" if longest_us is not None else NOT_KEPT
        yield Derived(f"latency.{kinds}.max_us", max(longest), longest_us, why)


def _waits(record: RunRecord, measured: Observed, thinned: bool) -> Iterator[Derived]:
    again = {row.event: row for row in top_events(measured)}
    for row in record.waits:
        found = again.get(row.event)
        for name in ("samples", "share_pct", "db_time_s"):
            value = None if found is None or thinned else float(getattr(found, name))
            if name == "db_time_s" and not measured.busy_us:
                value = None
            why = _THINNED if thinned else NOT_KEPT
            recorded = float(getattr(row, name))
            yield Derived(f"waits.{row.event}.{name}", recorded, value, why if value is None else "")


def measurement_of(record: RunRecord, tables: RunTables) -> Observed:
    """Return the measurement that the tables are of; what they do not have is unknown.

    Of the record, only what was asked for and facts such as the block size count, and what it says of its counters.
    """
    # A run whose counters do not belong to its window has intervals of them all the same.
    counted = record.window is not None and record.window.counter_seconds > 0
    waits = _waited(tables.waits)
    # A record without waits that were sampled says that samples had to end, or did not see all sessions.
    dropped = any(waits.values()) and not record.waits
    facts: dict[str, Any] = {
        "block_size": int(record.engine.get("block_size") or 0),
        "cache_bytes": record.engine.get("cache_bytes"),
        "engine": _engine(tables.engine) if counted else EngineDelta(unknown={EVERY_FIGURE: NOT_COUNTED}),
        "host": _host(tables.host, not record.environment.get("drivers")),
        "waits": {} if dropped else waits,
        "wait_samples": 0 if dropped else round(_total(tables.waits, SAMPLES)),
        "timeline": (),
        "direct_io": record.engine.get("direct_io"),
        "local": bool(record.environment.get("local")),
    }
    counted_s = _span_s(tables.engine) if counted else 0.0
    warmup_s = record.window.warmup_s if record.window else 0.0
    if record.kind is RecordKind.OBSERVATION:
        # Of a load that is not ours, the window is that of the counters.
        begin_ns = record.window.load_start_ns if record.window else 0
        end_ns = tables.zero_ns + round(float(tables.engine.end_s[-1]) * NANOS) if len(tables.engine) else begin_ns
        return Observed(window=Window(begin_ns, end_ns, counted_s, None, 0.0, warmup_s), **facts)
    workload = Workload.model_validate(record.spec)
    begin_ns, end_ns, skew_ms = _load(tables.sessions, workload)
    return Measurement(
        workload=workload,
        data_bytes=int(record.engine.get("data_bytes") or 0),
        window=Window(begin_ns, end_ns, counted_s, skew_ms, workload.run_time, warmup_s),
        sessions=_totals(tables.sessions, workload),
        latency=_histograms(tables.latency, record.latency),
        response=_histograms(tables.response, record.response),
        **facts,
    )


def _load(sessions: SessionSums, workload: Workload) -> tuple[int, int, float]:
    """Return begin and end of the load, in ns, and the ms from the begin of the first session's to the last one's."""
    paced = workload.target_ops is not None or workload.target_iops is not None
    sums = sessions.by_number().values()
    starts = [at for each in sums if (at := each.begin_ns if paced else each.first_op_ns) is not None]
    begin_ns, end_ns = min(starts, default=0), max((each.end_ns for each in sums), default=0)
    return begin_ns, end_ns, (max(starts) - begin_ns) / 1e6 if starts else 0.0


def _totals(sessions: SessionSums, workload: Workload) -> list[SessionTotals]:
    totals = [
        SessionTotals(number, 0, each.counts, each.busy_us, 0.0, each.slices)
        for number, each in sessions.by_number().items()
    ]
    # A session that ended no slice has no row.
    return totals + [SessionTotals(-1, 0, SliceCounts(), 0.0, 0.0, 0)] * max(workload.total_sessions - len(totals), 0)


def _engine(intervals: Intervals) -> EngineDelta:
    sums = {name: _sum(intervals.value(name)) for name in intervals.names if name in _ENGINE_FIELDS}
    known: dict[str, Any] = {name: value for name, value in sums.items() if value is not None}
    return EngineDelta(**known, unknown={EVERY_FIGURE: NOT_KEPT})


def _sum(values: Array | None) -> float | None:
    return None if values is None or bool(np.isnan(values).any()) else float(values.sum())


def _span_s(table: Intervals) -> float:
    return float(table.end_s[-1] - table.begin_s[0]) if len(table) else 0.0


def _host(readings: Intervals, alone: bool) -> HostDelta:
    """Return what the host counted; a driver that was not alone has the others' CPU in files of theirs."""
    if len(readings) < 2:
        return HostDelta(0.0, 0, unknown={EVERY_FIGURE: NOT_KEPT})
    grown = {name: value for name in readings.names if (value := _grown(readings.value(name))) is not None}
    cpu = {name[9:-2]: value for name, value in grown.items() if name.startswith("host.cpu_")}
    io: dict[str, Any] = {
        name: grown[f"device.dev_{name}"] for name in DEVICE_COUNTERS if f"device.dev_{name}" in grown
    }
    cores = readings.value("host.cores")
    return HostDelta(
        seconds=_span_s(readings),
        cores=0 if cores is None or np.isnan(cores[-1]) else int(cores[-1]),
        cpu=cpu or None,
        server_cpu_s=grown.get("server.server_cpu_s"),
        sampler_cpu_s=grown.get("sampler.sampler_cpu_s"),
        server_read_bytes=grown.get("server.server_read_bytes"),
        server_write_bytes=grown.get("server.server_write_bytes"),
        package_energy_j=grown.get("energy.package_energy_j"),
        driver_cpu_s=grown.get("driver.driver_cpu_s") if alone else None,
        client_cpu_s=grown.get("client.client_cpu_s"),
        device=DeviceIo("device", **io) if len(io) == len(DEVICE_COUNTERS) else None,
        unknown={EVERY_FIGURE: NOT_KEPT},
    )


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


def _histograms(tables: Mapping[str, Latencies], recorded: Mapping[str, Mapping[str, Any]]) -> dict[OpKind, Histogram]:
    found = {}
    for kind, each in tables.items():
        totals = each.totals()
        buckets = np.flatnonzero(totals)
        longest = float(recorded.get(kind, {}).get("max_us") or 0.0)
        histogram = Histogram()
        histogram.add(zip(buckets.tolist(), totals[buckets].astype(int).tolist(), strict=True), 0.0, longest)
        # The longest operation is in the highest bucket: a percentile is no higher than it.
        if len(buckets) and bucket_of(longest) != int(buckets[-1]):
            histogram.max_us = math.inf
        found[OpKind(kind)] = histogram
    return found
