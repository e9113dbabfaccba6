"""The state of one run or observation: what the files of its folder hold so far, as tables over time.

Times are seconds since the load began; before the begin is known there are no tables.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from openslob.analyze.timeline import amounts_between
from openslob.counts import COUNTERS
from openslob.histogram import bucket_of
from openslob.live.cells import Cells
from openslob.live.growing import GrowingFile
from openslob.live.latencies import Latencies
from openslob.live.tables import Array, Intervals, Moments, Seconds
from openslob.record.model import RunRecord
from openslob.record.raw_csv import Event
from openslob.units import NANOS

SAMPLES = "samples"
BUSY_US = "busy_us"
# A part of a file has a few dozen names, or a few dozen moments.
_MOST_CELLS = 10_000_000


@dataclass(frozen=True)
class Happening:
    """A row of `events.csv`."""

    wall_ns: int
    kind: str
    text: str


@dataclass(frozen=True)
class Duration:
    """What an engine counts: waits for an event that took from ``low_us`` to less than ``below_us``."""

    event: str
    low_us: int
    below_us: int

    @property
    def name(self) -> str:
        """The name of its row in a table."""
        return f"{self.low_us} {self.below_us} {self.event}"

    @classmethod
    def of(cls, name: str) -> Duration:
        """Return that of a name."""
        low_us, below_us, event = name.split(" ", 2)
        return cls(event, int(low_us), int(below_us))

    @property
    def middle_us(self) -> float:
        """How long each is taken to have lasted."""
        return (self.low_us + max(self.below_us - 1, self.low_us)) / 2


class RunState:
    """What is known of a run from its folder. ``zero_ns`` is the begin of the load by the server's clock."""

    def __init__(self, folder: Path) -> None:
        self._files = {
            name: GrowingFile(folder / name)
            for name in (
                "engine.csv",
                "os.csv",
                "slices.csv",
                "waits.csv",
                "latency.csv",
                "response.csv",
                "engine_latency.csv",
            )
        }
        self._events = GrowingFile(folder / "events.csv")
        self._readers: dict[str, Callable[[Cells, bool], None]] = {
            "engine.csv": self._engine_rows,
            "os.csv": self._host_rows,
            "slices.csv": self._slice_rows,
            "waits.csv": self._wait_rows,
            "engine_latency.csv": self._duration_rows,
            "latency.csv": lambda *part: self._latency_rows(self.latency, *part),
            "response.csv": lambda *part: self._latency_rows(self.response, *part),
        }
        self.events: list[Happening] = []
        self.zero_ns: int | None = None
        self.offset_ns = 0
        # It changes when something was read, or read again, that lies before what was known.
        self.version = 0
        # How often anything was read.
        self.reads = 0
        self._clear()

    def _clear(self) -> None:
        self.version += 1
        self.engine, self.host = Intervals(), Intervals()
        # The engine's waits by `Duration.name`.
        self.durations = Intervals()
        self.work, self.waits = Seconds(), Seconds()
        self.latency: dict[str, Latencies] = {}
        self.response: dict[str, Latencies] = {}
        # By session: the ends of its first and its last slice, and the begin of its last one.
        self._first_ends_s: dict[int, float] = {}
        self._last_begins_s: dict[int, float] = {}
        self.ends_s: dict[int, float] = {}
        # The moments of the first and the last sample of waits.
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
        ends = [float(table.end_s[-1]) for table in (self.engine, self.host, self.durations) if len(table)]
        return max([*ends, *self.ends_s.values(), 0.0])

    @property
    def even_s(self) -> tuple[float, float] | None:
        """The time in which the engine's counters keep pace with the work (`counted_evenly`); None without slices."""
        if not self._first_ends_s:
            return None
        return max(self._first_ends_s.values()), max(self._last_begins_s.values())

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
            # One part of each file in any case: what is shown together must not lack a file on a busy machine.
            while lines := self._files[name].newer():
                self._take(name, lines, older=False)
                changed = True
                if time.monotonic() >= until:
                    break
        while time.monotonic() < until:
            name, file = max(self._files.items(), key=lambda each: each[1].left_bytes)
            lines = file.older()
            if not lines:
                break
            self._take(name, lines, older=True)
            self.version += 1
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
                at, (kinds, kind), (texts, text) = cells.integers(0), cells.names(1), cells.names(2)
            except ValueError as error:
                raise self._events.damaged(error) from error
            rows = zip(at.tolist(), kind.tolist(), text.tolist(), strict=True)
            found = [Happening(wall_ns, kinds[first], texts[second]) for wall_ns, first, second in rows]
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
        self.reads += 1
        try:
            self._readers[name](file.cells(lines), older)
        except (ValueError, OverflowError, KeyError) as error:
            raise file.damaged(error) from error

    def _at(self, moments: Moments, offset_ns: int = 0) -> Array:
        """Return times in ns of the server's clock, or of one that is ``offset_ns`` behind it, in seconds.

        ValueError if one is so far off that it is damage: what is drawn over such a time has no end.
        """
        seconds: Array = (moments - ((self.zero_ns or 0) - offset_ns)) / NANOS
        far_s = float(np.abs(seconds).max(initial=0.0))
        if far_s > Seconds.MOST:
            raise ValueError(f"a time is {far_s / 86_400:.0f} days from the begin of the load in events.csv")
        return seconds

    def _engine_rows(self, cells: Cells, older: bool) -> None:
        rows, run = cells.moments(1)
        begins, ends = self._at(cells.integers(0, rows)), self._at(cells.integers(1, rows))
        names, values = _matrix(cells, 2, run, len(rows))
        # An interval without a length has no rates.
        long = ends > begins
        if long.any():
            self.engine.put(begins[long], ends[long], names, values[:, long], older)

    def _duration_rows(self, cells: Cells, older: bool) -> None:
        rows, run = cells.moments(1)
        begins, ends = self._at(cells.integers(0, rows)), self._at(cells.integers(1, rows))
        events, code = cells.names(2)
        found, place = np.unique(np.stack([code, cells.integers(3), cells.integers(4)]), axis=1, return_inverse=True)
        names = [Duration(events[event], low, below).name for event, low, below in found.T.tolist()]
        table = np.full((len(names), len(rows)), np.nan)
        table[place.ravel(), run] = cells.numbers(5)
        long = ends > begins
        if long.any():
            self.durations.put(begins[long], ends[long], names, table[:, long], older)

    def _host_rows(self, cells: Cells, older: bool) -> None:
        rows, run = cells.moments(0)
        at = self._at(cells.integers(0, rows), self.offset_ns)
        self.host.put(at, at, *_matrix(cells, 1, run, len(rows)), older)

    def _wait_rows(self, cells: Cells, older: bool) -> None:
        rows, run = cells.moments(0)
        samples = cells.integers(0, rows)
        seconds = np.floor(self._at(samples, self.offset_ns)).astype(np.int64)
        events, code = cells.names(1)
        # A sample that a part of the file cuts in two is counted once.
        counted = np.ones(len(samples))
        first, last = int(samples[0]), int(samples[-1])
        if self._sampled_ns and older and last == self._sampled_ns[0]:
            counted[-1] = 0
        elif self._sampled_ns and not older and first == self._sampled_ns[1]:
            counted[0] = 0
        low, high = self._sampled_ns or (first, last)
        self._sampled_ns = (min(low, first), max(high, last))
        self.waits.add([SAMPLES], np.zeros(len(seconds), np.int64), seconds, counted)
        self.waits.add([event or SAMPLES for event in events], code, seconds[run], np.nan_to_num(cells.numbers(2)))

    def _slice_rows(self, cells: Cells, older: bool) -> None:
        columns = {name: number for number, name in enumerate(self._files["slices.csv"].columns)}
        begins, ends = (self._at(cells.integers(columns[name])) for name in ("start_ns", "end_ns"))
        sessions = cells.integers(columns["session"]).tolist()
        first = dict(zip(reversed(sessions), reversed(ends.tolist()), strict=True))
        last, begun = (dict(zip(sessions, each.tolist(), strict=True)) for each in (ends, begins))
        self._first_ends_s = self._first_ends_s | first if older else first | self._first_ends_s
        self._last_begins_s = begun | self._last_begins_s if older else self._last_begins_s | begun
        self.ends_s = last | self.ends_s if older else self.ends_s | last
        low, high = int(np.floor(begins.min())), int(np.ceil(ends.max()))
        # Room for all of it first: a time that is far off is found before anything of its length is made.
        self.work.cover(low, high)
        edges = np.arange(low, high + 1, dtype=np.float64)
        spans = np.stack([begins, ends], axis=1)
        there = [name for name in (*COUNTERS, BUSY_US) if name in columns]
        if there and high > low:
            done = amounts_between(spans, np.nan_to_num(cells.table([columns[name] for name in there])), edges)
            code, seconds = np.indices(done.shape)
            self.work.add(there, code.ravel(), low + seconds.ravel(), done.ravel())

    def _latency_rows(self, into: dict[str, Latencies], cells: Cells, older: bool) -> None:
        seconds, counts = cells.integers(0), cells.integers(3)
        edges, place = np.unique(cells.integers(2), return_inverse=True)
        buckets = np.array([bucket_of(edge) for edge in edges.tolist()])[place]
        kinds, code = cells.names(1)
        for number, kind in enumerate(kinds):
            mine = code == number
            if kind not in into:
                into[kind] = Latencies()
            into[kind].add(seconds[mine], buckets[mine], counts[mine], older)


def _matrix(cells: Cells, column: int, run: Moments, moments: int) -> tuple[list[str], Array]:
    """Return the names in a column, and the values in the next one by name and moment; NaN where there is none."""
    names, code = cells.names(column)
    if len(names) * moments > _MOST_CELLS:
        raise ValueError(f"it has {len(names)} different names")
    table = np.full((len(names), moments), np.nan)
    table[code, run] = cells.numbers(column + 1)
    return names, table
