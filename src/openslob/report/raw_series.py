"""The raw measurements of a run, read back: times in seconds since the load began.

What is not there (an older record, a server on another host) is empty, and a last line that a crash cut is left out.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from openslob.errors import SlobError
from openslob.histogram import Histogram, bucket_of
from openslob.record.model import RunRecord
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
class RawSeries:
    """A run over time. ``latency`` has a histogram for each second of the load and kind of operation in it.

    ``response`` has the same from when operations were due, if the run had a rate.
    """

    engine: Sequence[Interval] = ()
    waits: Sequence[Look] = ()
    host: Sequence[HostReading] = ()
    latency: Mapping[str, Mapping[int, Histogram]] = field(default_factory=dict)
    response: Mapping[str, Mapping[int, Histogram]] = field(default_factory=dict)


def read(folder: Path, record: RunRecord) -> RawSeries:
    """The series of the run in ``folder``; empty when the run has no window. SlobError for a file that is damaged."""
    if record.window is None:
        return RawSeries()
    start = record.window.load_start_ns
    # Host and wait events are stamped by the driver's clock, the rest by the server's.
    offset = round(float(record.environment.get("server_clock_offset_s") or 0) * NANOS)
    try:
        return RawSeries(
            engine=_engine(folder / "engine.csv", start),
            waits=_waits(folder / "waits.csv", start - offset),
            host=_host(folder / "os.csv", start - offset),
            latency=_latency(folder / "latency.csv"),
            response=_latency(folder / "response.csv"),
        )
    except (ValueError, csv.Error, UnicodeDecodeError) as error:
        raise SlobError(f"the raw measurements in {folder} are damaged: {error}") from error
    except OSError as error:
        raise SlobError(f"{error.filename} can't be read: {error.strerror}") from error


def _rows(file: Path) -> Iterator[dict[str, str]]:
    if not file.exists():
        return
    with file.open(encoding="utf-8", newline="") as opened:
        for row in csv.DictReader(opened):
            if None not in row.values():
                yield row


def _engine(file: Path, start_ns: int) -> list[Interval]:
    # A later interval with the same beginning replaces the earlier one: see `RawFiles.engine`.
    found: dict[int, tuple[int, dict[str, float]]] = {}
    for row in _rows(file):
        begin, end = int(row["begin_ns"]), int(row["end_ns"])
        if begin not in found or found[begin][0] != end:
            found[begin] = (end, {})
        found[begin][1][row["figure"]] = float(row["value"])
    return [
        Interval((begin - start_ns) / NANOS, (end - start_ns) / NANOS, amounts)
        for begin, (end, amounts) in sorted(found.items())
        if end > begin
    ]


def _waits(file: Path, start_ns: int) -> list[Look]:
    found: dict[int, dict[str, int]] = {}
    for row in _rows(file):
        look = found.setdefault(int(row["wall_ns"]), {})
        if row["event"]:
            look[row["event"]] = int(row["sessions"])
    return [Look((at - start_ns) / NANOS, sessions) for at, sessions in sorted(found.items())]


def _host(file: Path, start_ns: int) -> list[HostReading]:
    found: dict[int, dict[str, float]] = {}
    for row in _rows(file):
        reading = found.setdefault(int(row["wall_ns"]), {})
        if row["value"]:
            reading[row["counter"]] = float(row["value"])
    return [HostReading((at - start_ns) / NANOS, counters) for at, counters in sorted(found.items())]


def _latency(file: Path) -> dict[str, dict[int, Histogram]]:
    found: dict[str, dict[int, Histogram]] = {}
    for row in _rows(file):
        second = found.setdefault(row["kind"], {}).setdefault(int(row["second"]), Histogram())
        edge = int(row["lower_edge_us"])
        # The file does not have the maximum: nothing bounds a percentile but its bucket.
        second.add({bucket_of(edge): int(row["count"])}, 0.0, math.inf)
    return found
