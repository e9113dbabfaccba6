"""Time series of a run, read from its raw CSV files. Times are seconds since the load began.

Series that were not recorded (by an older version, or for a server on another host) are empty. A last line that was
cut off by a crash is ignored.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import overload

import numpy as np

from openslob.analyze.latencies import Latencies, histograms
from openslob.analyze.run_folder import tables_of, take_engine_counts
from openslob.analyze.run_tables import MOST_UNITS, SAMPLES, Duration, RunTables, fewer
from openslob.analyze.steps import step_s
from openslob.analyze.tables import Array, Intervals
from openslob.analyze.timeline import EngineRow, parts
from openslob.core.histogram import Histogram
from openslob.core.units import NANOS
from openslob.record.model import RunRecord


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
class WaitSamples:
    """Samples of what sessions wait for: sessions by event, summed over so many samples from ``at_s`` on."""

    at_s: float
    sessions: Mapping[str, float]
    samples: int = 1


@dataclass(frozen=True)
class HostReading:
    """Cumulative counters of the operating system at one moment."""

    at_s: float
    counters: Mapping[str, float]


@dataclass(frozen=True)
class RunSeries:
    """A run over time.

    ``even_s`` is the period in which the engine's counts kept pace with the work (`RunTables.even_s`), if known.
    ``slice_s`` is the length of the longest slice, 0 if unknown; latencies are recorded at the end of their slice.
    ``latency`` maps kind of operation and the begin of a step, in seconds of the load, to a histogram of service times;
    with classes of sessions, kinds are named by class (`name_kind`). ``response`` does the same for response times,
    measured from when operations were due, if the run had a target rate.
    ``engine_latency`` has, by event, the waits that the engine counts by duration.
    """

    engine: Sequence[EngineInterval] = ()
    even_s: tuple[float, float] | None = None
    slice_s: float = 0.0
    waits: Sequence[WaitSamples] = ()
    host: Sequence[HostReading] = ()
    latency: Mapping[str, Mapping[int, Histogram]] = field(default_factory=dict)
    response: Mapping[str, Mapping[int, Histogram]] = field(default_factory=dict)
    engine_latency: Mapping[str, Sequence[EngineWaits]] = field(default_factory=dict)


def read(folder: Path, record: RunRecord) -> RunSeries:
    """Read the series of the run in ``folder``; empty if the run has no window. SlobError for a damaged file."""
    if record.window is None:
        return RunSeries()
    start, tables = record.window.load_start_ns, tables_of(folder, record)
    rows, even = take_engine_counts(tables, record)
    # Nothing is drawn in shorter steps than these.
    length_s = step_s(record.window.load_seconds)
    return RunSeries(
        engine=_engine(rows, start),
        even_s=None if even is None else ((even[0] - start) / NANOS, (even[1] - start) / NANOS),
        slice_s=tables.slice_s,
        waits=_waits(tables),
        host=_Readings(tables.host),
        latency=_latency(tables, tables.class_latency or tables.latency, length_s),
        response=_latency(tables, tables.class_response or tables.response, length_s),
        engine_latency=_engine_latency(tables),
    )


def _engine(rows: Iterable[EngineRow], start_ns: int) -> list[EngineInterval]:
    return [
        EngineInterval((begin - start_ns) / NANOS, (end - start_ns) / NANOS, amounts)
        for begin, end, amounts in parts(rows)
    ]


def _engine_latency(tables: RunTables) -> dict[str, list[EngineWaits]]:
    begins, ends, counts = fewer(tables.durations, MOST_UNITS // 2)
    by_event: dict[str, dict[tuple[int, int], Array]] = {}
    for name, values in counts.items():
        each = Duration.of(name)
        by_event.setdefault(each.event, {})[each.low_us, each.below_us] = np.nan_to_num(values)
    found: dict[str, list[EngineWaits]] = {}
    for event, of_event in by_event.items():
        table, edges = np.array(list(of_event.values())), list(of_event)
        for at in np.flatnonzero(table.any(axis=0)).tolist():
            durations = {edges[row]: int(table[row, at]) for row in np.flatnonzero(table[:, at])}
            found.setdefault(event, []).append(EngineWaits(float(begins[at]), float(ends[at]), durations))
    return found


def _waits(tables: RunTables) -> list[WaitSamples]:
    waits = tables.waits
    samples = waits.value(SAMPLES)
    if samples is None:
        return []
    seen = {event: each for event in waits.names if event != SAMPLES and (each := waits.value(event)) is not None}
    begins = waits.begin_s
    return [
        WaitSamples(
            float(begins[at]), {event: float(each[at]) for event, each in seen.items() if each[at]}, int(samples[at])
        )
        for at in np.flatnonzero(samples).tolist()
    ]


class _Readings(Sequence[HostReading]):
    """The readings of a table, made when they are asked for: few of many are drawn."""

    def __init__(self, table: Intervals) -> None:
        self._table = table

    def __len__(self) -> int:
        return len(self._table)

    @overload
    def __getitem__(self, at: int) -> HostReading: ...

    @overload
    def __getitem__(self, at: slice) -> list[HostReading]: ...

    def __getitem__(self, at: int | slice) -> HostReading | list[HostReading]:
        if isinstance(at, slice):
            return [self._at(number) for number in range(len(self))[at]]
        return self._at(range(len(self))[at])

    def _at(self, at: int) -> HostReading:
        values = {name: float(each[at]) for name in self._table.names if (each := self._table.value(name)) is not None}
        known = {name: value for name, value in values.items() if not math.isnan(value)}
        return HostReading(float(self._table.end_s[at]), known)


def _latency(tables: RunTables, kinds: Mapping[str, Latencies], length_s: int) -> dict[str, dict[int, Histogram]]:
    return {
        kind: {
            step * length_s: histogram
            for step, histogram in histograms(each, lambda units: units * tables.unit_s // length_s).items()
        }
        for kind, each in kinds.items()
    }
