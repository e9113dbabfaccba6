"""Time series of a run, read from its raw CSV files. Times are seconds since the load began.

Series that were not recorded (by an older version, or for a server on another host) are empty. A last line that was
cut off by a crash is ignored.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from openslob.analyze.load_kinds import load_kind
from openslob.analyze.timeline import EngineRow, Span, counted_evenly, in_steps, parts
from openslob.histogram import Histogram, bucket_of
from openslob.record.model import RunRecord
from openslob.record.raw_csv import engine_latency_rows, engine_rows, host_rows, latency_rows, slice_spans, wait_rows
from openslob.units import NANOS


@dataclass(frozen=True)
class EngineInterval:
    """Engine counters from ``begin_s`` to ``end_s``: ``amounts`` by field of `EngineDelta`."""

    begin_s: float
    end_s: float
    amounts: Mapping[str, float]


@dataclass(frozen=True)
class EngineWaits:
    """Waits for one event from ``begin_s`` to ``end_s``: ``durations`` is their number by [shortest, longest) in µs."""

    begin_s: float
    end_s: float
    durations: Mapping[tuple[int, int], int]


@dataclass(frozen=True)
class WaitSample:
    """One sample of what sessions wait for: number of sessions by event."""

    at_s: float
    sessions: Mapping[str, float]


@dataclass(frozen=True)
class HostReading:
    """Cumulative counters of the operating system at one moment."""

    at_s: float
    counters: Mapping[str, float]


@dataclass(frozen=True)
class RunSeries:
    """A run over time.

    ``even_s`` is the period in which the engine's counts kept pace with the work (`counted_evenly`), if known.
    ``slice_s`` is the length of the longest slice, 0 if unknown; latencies are recorded at the end of their slice.
    ``latency`` maps kind of operation and second of the load to a histogram of service times; ``response`` does the
    same for response times, measured from when operations were due, if the run had a target rate. ``engine_latency``
    has, by event, the waits that the engine counts by duration.
    """

    engine: Sequence[EngineInterval] = ()
    even_s: tuple[float, float] | None = None
    slice_s: float = 0.0
    waits: Sequence[WaitSample] = ()
    host: Sequence[HostReading] = ()
    latency: Mapping[str, Mapping[int, Histogram]] = field(default_factory=dict)
    response: Mapping[str, Mapping[int, Histogram]] = field(default_factory=dict)
    engine_latency: Mapping[str, Sequence[EngineWaits]] = field(default_factory=dict)


def read(folder: Path, record: RunRecord) -> RunSeries:
    """Read the series of the run in ``folder``; empty if the run has no window. SlobError for a damaged file."""
    if record.window is None:
        return RunSeries()
    start = record.window.load_start_ns
    # Host counters and wait samples have times of the driver's clock, everything else of the server's.
    (rows, even), slices = counted(folder, record), slice_spans(folder)
    offset = round(float(record.environment.get("server_clock_offset_s") or 0) * NANOS)
    return RunSeries(
        engine=_engine(rows, start),
        even_s=None if even is None else ((even[0] - start) / NANOS, (even[1] - start) / NANOS),
        slice_s=max((end - begin for _, begin, end in slices), default=0) / NANOS,
        waits=_waits(wait_rows(folder), start - offset),
        host=_host(host_rows(folder), start - offset),
        latency=_latency(latency_rows(folder)),
        response=_latency(latency_rows(folder, "response.csv")),
        engine_latency=_engine_latency(engine_latency_rows(folder), start),
    )


def counted(folder: Path, record: RunRecord) -> tuple[Iterable[EngineRow], Span | None]:
    """Return what the engine counted, and the span in ns in which its counts keep pace with the work, if known."""
    if record.window is not None and load_kind(record).publishes_late:
        return in_steps(engine_rows(folder)), (record.window.load_start_ns, record.window.load_end_ns)
    return engine_rows(folder), counted_evenly(slice_spans(folder))


def _engine(rows: Iterable[EngineRow], start_ns: int) -> list[EngineInterval]:
    return [
        EngineInterval((begin - start_ns) / NANOS, (end - start_ns) / NANOS, amounts)
        for begin, end, amounts in parts(rows)
        if end > begin
    ]


def _engine_latency(rows: Iterable[tuple[int, int, str, int, int, int]], start_ns: int) -> dict[str, list[EngineWaits]]:
    # A later interval with the same begin replaces the earlier one: see `RawCsv.engine`.
    intervals: dict[str, dict[int, tuple[int, dict[tuple[int, int], int]]]] = {}
    for begin, end, event, low, below, count in rows:
        of_event = intervals.setdefault(event, {})
        if begin not in of_event or of_event[begin][0] != end:
            of_event[begin] = (end, {})
        of_event[begin][1][low, below] = count
    return {
        event: [
            EngineWaits((begin - start_ns) / NANOS, (end - start_ns) / NANOS, durations)
            for begin, (end, durations) in sorted(of_event.items())
        ]
        for event, of_event in intervals.items()
    }


def _waits(rows: Iterable[tuple[int, str, float]], start_ns: int) -> list[WaitSample]:
    samples: dict[int, dict[str, float]] = {}
    for at, event, sessions in rows:
        waiting = samples.setdefault(at, {})
        if event:
            waiting[event] = sessions
    return [WaitSample((at - start_ns) / NANOS, sessions) for at, sessions in sorted(samples.items())]


def _host(rows: Iterable[tuple[int, str, float]], start_ns: int) -> list[HostReading]:
    readings: dict[int, dict[str, float]] = {}
    for at, counter, value in rows:
        readings.setdefault(at, {})[counter] = value
    return [HostReading((at - start_ns) / NANOS, counters) for at, counters in sorted(readings.items())]


def _latency(rows: Iterable[tuple[int, str, int, int]]) -> dict[str, dict[int, Histogram]]:
    latencies: dict[str, dict[int, Histogram]] = {}
    for at, kind, edge, count in rows:
        second = latencies.setdefault(kind, {}).setdefault(at, Histogram())
        # The file does not contain the maximum, so a percentile is bounded only by its bucket.
        second.add({bucket_of(edge): count}, 0.0, math.inf)
    return latencies
