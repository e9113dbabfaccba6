"""The raw measurements of a run, read back: times in seconds since the load began.

What is not there (an older record, a server on another host) is empty, and a last line that a crash cut is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from openslob.analyze.timeline import counted_evenly
from openslob.histogram import Histogram, bucket_of
from openslob.record.model import RunRecord
from openslob.record.raw_csv import engine_rows, host_rows, latency_rows, slice_spans, wait_rows
from openslob.units import NANOS


@dataclass(frozen=True)
class Interval:
    """What the engine did from ``begin_s`` to ``end_s``: amounts by the fields of `EngineDelta`."""

    begin_s: float
    end_s: float
    amounts: Mapping[str, float]


@dataclass(frozen=True)
class Look:
    """One look at what the sessions wait for: how many by event."""

    at_s: float
    sessions: Mapping[str, int]


@dataclass(frozen=True)
class HostReading:
    """Cumulative counters of the operating system at one moment."""

    at_s: float
    counters: Mapping[str, float]


@dataclass(frozen=True)
class RunSeries:
    """A run over time. ``latency`` has a histogram for each second of the load and kind of operation in it.

    ``even_s`` is from when until when the engine's counts kept pace with the work (`counted_evenly`), if that is known,
    ``slice_s`` the length of the longest slice, 0 if none is known: latencies are recorded at the end of their slice.
    ``response`` has the same from when operations were due, if the run had a rate.
    """

    engine: Sequence[Interval] = ()
    even_s: tuple[float, float] | None = None
    slice_s: float = 0.0
    waits: Sequence[Look] = ()
    host: Sequence[HostReading] = ()
    latency: Mapping[str, Mapping[int, Histogram]] = field(default_factory=dict)
    response: Mapping[str, Mapping[int, Histogram]] = field(default_factory=dict)


def read(folder: Path, record: RunRecord) -> RunSeries:
    """The series of the run in ``folder``; empty when the run has no window. SlobError for a file that is damaged."""
    if record.window is None:
        return RunSeries()
    start = record.window.load_start_ns
    # Host and wait events are stamped by the driver's clock, the rest by the server's.
    slices = slice_spans(folder)
    offset = round(float(record.environment.get("server_clock_offset_s") or 0) * NANOS)
    return RunSeries(
        engine=_engine(engine_rows(folder), start),
        even_s=_even(slices, start),
        slice_s=max((end - begin for _, begin, end in slices), default=0) / NANOS,
        waits=_waits(wait_rows(folder), start - offset),
        host=_host(host_rows(folder), start - offset),
        latency=_latency(latency_rows(folder)),
        response=_latency(latency_rows(folder, "response.csv")),
    )


def _engine(rows: Iterable[tuple[int, int, str, float]], start_ns: int) -> list[Interval]:
    # A later interval with the same beginning replaces the earlier one: see `RawCsv.engine`.
    found: dict[int, tuple[int, dict[str, float]]] = {}
    for begin, end, figure, value in rows:
        if begin not in found or found[begin][0] != end:
            found[begin] = (end, {})
        found[begin][1][figure] = value
    return [
        Interval((begin - start_ns) / NANOS, (end - start_ns) / NANOS, amounts)
        for begin, (end, amounts) in sorted(found.items())
        if end > begin
    ]


def _even(slices: Sequence[tuple[int, int, int]], start_ns: int) -> tuple[float, float] | None:
    even = counted_evenly(slices)
    return None if even is None else ((even[0] - start_ns) / NANOS, (even[1] - start_ns) / NANOS)


def _waits(rows: Iterable[tuple[int, str, int]], start_ns: int) -> list[Look]:
    found: dict[int, dict[str, int]] = {}
    for at, event, sessions in rows:
        look = found.setdefault(at, {})
        if event:
            look[event] = sessions
    return [Look((at - start_ns) / NANOS, sessions) for at, sessions in sorted(found.items())]


def _host(rows: Iterable[tuple[int, str, float]], start_ns: int) -> list[HostReading]:
    found: dict[int, dict[str, float]] = {}
    for at, counter, value in rows:
        found.setdefault(at, {})[counter] = value
    return [HostReading((at - start_ns) / NANOS, counters) for at, counters in sorted(found.items())]


def _latency(rows: Iterable[tuple[int, str, int, int]]) -> dict[str, dict[int, Histogram]]:
    found: dict[str, dict[int, Histogram]] = {}
    for at, kind, edge, count in rows:
        second = found.setdefault(kind, {}).setdefault(at, Histogram())
        # The file does not have the maximum: nothing bounds a percentile but its bucket.
        second.add({bucket_of(edge): count}, 0.0, math.inf)
    return found
