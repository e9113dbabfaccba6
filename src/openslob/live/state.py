"""The state of one run or observation: what the files of its folder hold so far, as tables over time.

Times are seconds since the load began; before the begin is known there are no tables.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from openslob.analyze.timeline import amounts_between
from openslob.counts import COUNTERS
from openslob.histogram import bucket_of
from openslob.live.growing import GrowingFile, decoded
from openslob.live.latencies import Latencies
from openslob.live.tables import Array, Intervals, Seconds
from openslob.record.model import RunRecord
from openslob.record.raw_csv import Event
from openslob.units import NANOS

SAMPLES = "samples"
BUSY_US = "busy_us"
# What an observation or a run of an engine counts by duration itself.
ENGINE_LATENCY = "engine_latency.csv"
# A part of a file has a few dozen names, or a few dozen moments.
_MOST_CELLS = 10_000_000


@dataclass(frozen=True)
class Happening:
    """A row of `events.csv`."""

    wall_ns: int
    kind: str
    text: str


class RunState:
    """What is known of a run from its folder. ``zero_ns`` is the begin of the load by the server's clock."""

    def __init__(self, folder: Path) -> None:
        self._files = {
            name: GrowingFile(folder / name)
            for name in ("engine.csv", "os.csv", "slices.csv", "waits.csv", "latency.csv", "response.csv")
        }
        self._events = GrowingFile(folder / "events.csv")
        self._readers: dict[str, Callable[[GrowingFile, bytes, bool], None]] = {
            "engine.csv": self._engine_rows,
            "os.csv": self._host_rows,
            "slices.csv": self._slice_rows,
            "waits.csv": self._wait_rows,
            "latency.csv": lambda *part: self._latency_rows(self.latency, *part),
            "response.csv": lambda *part: self._latency_rows(self.response, *part),
        }
        self.events: list[Happening] = []
        self.zero_ns: int | None = None
        self.offset_ns = 0
        self._clear()

    def _clear(self) -> None:
        self.engine, self.host = Intervals(), Intervals()
        self.work, self.waits = Seconds(), Seconds()
        self.latency: dict[str, Latencies] = {}
        self.response: dict[str, Latencies] = {}
        # The end of each session's last slice, and the moments of the first and the last sample of waits.
        self.ends_s: dict[int, float] = {}
        self._sampled_ns: tuple[int, int] | None = None

    def fact(self, kind: Event) -> str | None:
        """Return the last text of this kind of event."""
        return next((each.text for each in reversed(self.events) if each.kind == kind), None)

    @property
    def read_share(self) -> float:
        """The share of the files that was read: the begin of a long record is read last."""
        left = sum(file.left_bytes for file in self._files.values())
        return 1.0 if not left else 1 - left / (left + sum(file.read_bytes for file in self._files.values()))

    @property
    def end_s(self) -> float:
        """The last moment of which anything is known."""
        ends = [float(table.end_s[-1]) for table in (self.engine, self.host) if len(table)]
        return max([*ends, *self.ends_s.values(), 0.0])

    def poll(self, record: RunRecord | None, budget_s: float) -> bool:
        """Read what was appended, then older parts until the time is used up; return whether there was anything."""
        until = time.monotonic() + budget_s
        waiting = [name for name, file in self._files.items() if file.look()]
        changed = self._read_events()
        if any(file.restarted for file in self._files.values()) or self._moved(record):
            self._begin_again()
            return True
        if self.zero_ns is None:
            return changed
        for name in waiting:
            while lines := self._files[name].newer():
                self._take(name, lines, older=False)
                changed = True
                if time.monotonic() > until:
                    break
        while time.monotonic() < until:
            name, file = max(self._files.items(), key=lambda each: each[1].left_bytes)
            lines = file.older()
            if not lines:
                break
            self._take(name, lines, older=True)
            changed = True
        return changed

    def _begin_again(self) -> None:
        self._files = {name: GrowingFile(file.path) for name, file in self._files.items()}
        self._clear()

    def _read_events(self) -> bool:
        self._events.look()
        if self._events.restarted:
            self.events.clear()
        changed = self._events.restarted
        while lines := self._events.newer() or self._events.older():
            cells = self._events.cells(lines)
            try:
                found = [
                    Happening(int(at), kind.decode(), text.decode()) for at, kind, text in zip(*cells, strict=True)
                ]
            except ValueError as error:
                raise self._events.damaged(error) from error
            self.events = sorted([*self.events, *found], key=lambda each: each.wall_ns)
            changed = True
        return changed

    def _moved(self, record: RunRecord | None) -> bool:
        """Find out when the load began; return whether that differs from what was taken for it before."""
        zero_ns, offset_ns = self._zero(record)
        moved = self.zero_ns is not None and (zero_ns, offset_ns) != (self.zero_ns, self.offset_ns)
        self.zero_ns, self.offset_ns = zero_ns, offset_ns
        return moved

    def _zero(self, record: RunRecord | None) -> tuple[int | None, int]:
        try:
            begin, offset = self.fact(Event.BEGIN_NS), self.fact(Event.CLOCK_OFFSET_NS)
            if begin is not None:
                return int(begin), int(offset or 0)
        except ValueError as error:
            raise self._events.damaged(error) from error
        if record is not None and record.window is not None:
            seconds = float(record.environment.get("server_clock_offset_s") or 0)
            return record.window.load_start_ns, round(seconds * NANOS)
        # A record of an older version whose driver was killed: its first reading was just before the begin.
        first = self._files["engine.csv"].first()
        try:
            return (int(first.split(b",")[0]) if first else None), 0
        except ValueError as error:
            raise self._files["engine.csv"].damaged(error) from error

    def _take(self, name: str, lines: bytes, older: bool) -> None:
        file = self._files[name]
        try:
            self._readers[name](file, lines, older)
        except (ValueError, OverflowError) as error:
            raise file.damaged(error) from error

    def _seconds(self, cells: Sequence[bytes], offset_ns: int) -> Array:
        moments = np.fromiter(map(int, cells), np.int64, len(cells))
        return (moments - ((self.zero_ns or 0) - offset_ns)) / NANOS

    def _engine_rows(self, file: GrowingFile, lines: bytes, older: bool) -> None:
        begins, ends, figures, values = file.cells(lines)
        first = {end: begin for begin, end in zip(reversed(begins), reversed(ends), strict=True)}
        spans = list(dict.fromkeys(ends))
        table = _matrix(ends, figures, values)
        names = list(decoded(figures, file).values())
        self.engine.put(self._seconds([first[end] for end in spans], 0), self._seconds(spans, 0), names, table, older)

    def _host_rows(self, file: GrowingFile, lines: bytes, older: bool) -> None:
        moments, counters, values = file.cells(lines)
        at = self._seconds(list(dict.fromkeys(moments)), self.offset_ns)
        names = list(decoded(counters, file).values())
        self.host.put(at, at, names, _matrix(moments, counters, values), older)

    def _wait_rows(self, file: GrowingFile, lines: bytes, older: bool) -> None:
        cells = file.cells(lines)
        samples = list(dict.fromkeys(cells[0]))
        at = np.floor(self._seconds(samples, self.offset_ns)).astype(np.int64)
        events = decoded(cells[1], file)
        seen = _matrix(*cells) if any(cells[1]) else np.zeros((len(events), len(samples)))
        # A sample that a part of the file cuts in two is counted once.
        counted = np.ones(len(samples))
        first, last = int(samples[0]), int(samples[-1])
        if self._sampled_ns and older and last == self._sampled_ns[0]:
            counted[-1] = 0
        elif self._sampled_ns and not older and first == self._sampled_ns[1]:
            counted[0] = 0
        low, high = self._sampled_ns or (first, last)
        self._sampled_ns = (min(low, first), max(high, last))
        rows = [(name, np.nan_to_num(row)) for name, row in zip(events.values(), seen, strict=True) if name]
        self.waits.add([SAMPLES, *(name for name, _ in rows)], at, np.array([counted, *(row for _, row in rows)]))

    def _slice_rows(self, file: GrowingFile, lines: bytes, older: bool) -> None:  # noqa: ARG002
        cells = dict(zip(file.columns, file.cells(lines), strict=True))
        begins, ends = self._seconds(cells["start_ns"], 0), self._seconds(cells["end_ns"], 0)
        for session, end in zip(map(int, cells["session"]), ends.tolist(), strict=True):
            self.ends_s[session] = max(end, self.ends_s.get(session, end))
        first, last = int(np.floor(begins.min())), int(np.ceil(ends.max()))
        self.work.cover(first, last)
        edges = np.arange(first, last + 1, dtype=np.float64)
        names = [name for name in (*COUNTERS, BUSY_US) if name in cells]
        spans = np.stack([begins, ends], axis=1)
        amounts = [amounts_between(spans, _numbers(cells[name]), edges) for name in names]
        self.work.add(names, np.arange(first, last), np.array(amounts))

    def _latency_rows(self, into: dict[str, Latencies], file: GrowingFile, lines: bytes, older: bool) -> None:
        cells = file.cells(lines)
        seconds, counts = (np.fromiter(map(int, cells[column]), np.int64, len(cells[0])) for column in (0, 3))
        known = {edge: bucket_of(int(edge)) for edge in dict.fromkeys(cells[2])}
        buckets = np.fromiter(map(known.__getitem__, cells[2]), np.int64, len(cells[2]))
        kinds = np.array(cells[1])
        for raw, kind in decoded(cells[1], file).items():
            mine = kinds == raw
            into.setdefault(kind, Latencies()).add(seconds[mine], buckets[mine], counts[mine], older)


def _numbers(cells: Sequence[bytes]) -> Array:
    return np.fromiter((float(cell) if cell else np.nan for cell in cells), np.float64, len(cells))


def _matrix(moments: Sequence[bytes], names: Sequence[bytes], values: Sequence[bytes]) -> Array:
    """Return values by name, then by moment, both in the order of their first appearance; NaN where there is none."""
    columns = {moment: number for number, moment in enumerate(dict.fromkeys(moments))}
    rows = {name: number for number, name in enumerate(dict.fromkeys(names))}
    if len(rows) * len(columns) > _MOST_CELLS:
        raise ValueError(f"it has {len(rows)} different names")
    table = np.full((len(rows), len(columns)), np.nan)
    table[list(map(rows.__getitem__, names)), list(map(columns.__getitem__, moments))] = _numbers(values)
    return table
