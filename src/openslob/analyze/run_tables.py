"""What the raw files of a run or an observation come to, as tables over time. It opens no file: lines are given to it.

Times are seconds since the load began. Long loads are kept in units of several seconds, so that memory has a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from openslob.analyze.latencies import Latencies
from openslob.analyze.session_sums import AMOUNTS, SessionSums, amounts_of
from openslob.analyze.steps import STEPS_S
from openslob.analyze.tables import Array, Intervals, Moments, Seconds
from openslob.analyze.timeline import EngineRow, Span, amounts_between
from openslob.core.histogram import bucket_of
from openslob.core.method import OpKind
from openslob.core.session_classes import split_kind
from openslob.core.units import NANOS
from openslob.record.arrays import PART_BYTES
from openslob.record.cells import Cells
from openslob.record.raw_csv import COLUMNS, WINDOW_FACTS, Event, Happening, RawCsv

SAMPLES = "samples"
# The files that tables are made of.
FILES = (
    "engine.csv",
    "os.csv",
    "slices.csv",
    "waits.csv",
    "latency.csv",
    "response.csv",
    "engine_latency.csv",
)
# A load of more seconds is kept in longer units than a second: a week in units of 20 s.
MOST_UNITS = 40_000
# A part of a file has a few dozen names, or a few dozen moments.
_MOST_CELLS = 10_000_000
_KINDS = frozenset(kind.value for kind in OpKind)


def unit_for(seconds: float, thinned_s: Iterable[int] = ()) -> int:
    """Return the unit, in seconds, in which so long a load is kept that was recorded in such steps."""
    least = max([1, *thinned_s])
    return next((unit for unit in STEPS_S if seconds <= unit * MOST_UNITS and unit >= least), STEPS_S[-1])


def steps_of(events: Iterable[Happening]) -> list[int]:
    """Return the lengths of the steps, in s, in which parts of a load were recorded. ValueError if one is none."""
    return [int(each.text) for each in events if each.kind == Event.STEP_S]


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


class RunTables:
    """The tables of one load, which grow by `take`.

    ``zero_ns`` is the begin of the load by the server's clock, ``offset_ns`` that clock minus the driver's. What the
    sessions did, waits and latencies are by units of ``unit_s`` seconds; readings are as they were recorded. From
    ``thinned_from_s`` on, rows are about several slices each.
    """

    def __init__(self, zero_ns: int, offset_ns: int = 0, unit_s: int = 1, thinned_from_s: float = inf) -> None:
        self.zero_ns, self.offset_ns, self.unit_s = zero_ns, offset_ns, unit_s
        self.thinned_from_s = thinned_from_s
        self.engine, self.host = Intervals(), Intervals()
        # The engine's waits by `Duration.name`.
        self.durations = Intervals()
        self.work, self.waits = Seconds(unit_s=unit_s), Seconds(unit_s=unit_s)
        self.latency: dict[str, Latencies] = {}
        self.response: dict[str, Latencies] = {}
        # The same of each class of sessions, by the names of kinds in raw files (`name_kind`); empty without classes.
        self.class_latency: dict[str, Latencies] = {}
        self.class_response: dict[str, Latencies] = {}
        # The length of the longest slice.
        self.slice_s = 0.0
        self.sessions = SessionSums()
        # The moments of the first and the last sample of waits.
        self._sampled_ns: tuple[int, int] | None = None
        self._readers: Mapping[str, Callable[[Sequence[str], Cells, bool], None]] = {
            "engine.csv": self._engine_rows,
            "os.csv": self._host_rows,
            "slices.csv": self._slice_rows,
            "waits.csv": self._wait_rows,
            "engine_latency.csv": self._duration_rows,
            "latency.csv": lambda _, *part: self._latency_rows(self.latency, self.class_latency, *part),
            "response.csv": lambda _, *part: self._latency_rows(self.response, self.class_response, *part),
        }

    @property
    def end_s(self) -> float:
        """The last moment of which anything is known."""
        ends = [float(table.end_s[-1]) for table in (self.engine, self.host, self.durations) if len(table)]
        return max([*ends, float(self.ends_s.max(initial=0.0))])

    @property
    def ends_s(self) -> Array:
        """When the last slice of each session ended."""
        return (self.sessions.last_ends_ns - self.zero_ns) / NANOS

    @property
    def even_s(self) -> tuple[float, float] | None:
        """The time in which the engine's counters keep pace with the work; None without slices.

        An engine may count the work of a slice only when the slice ends. Sessions end their slices one after the other.
        Therefore the counters keep pace once every session has ended its first slice, and until every session has begun
        its last one; the last slices all end together.
        """
        if not len(self.sessions):
            return None
        edges = self.sessions.first_ends_ns.max(), self.sessions.last_begins_ns.max()
        begin_s, end_s = ((int(each) - self.zero_ns) / NANOS for each in edges)
        return begin_s, end_s

    @property
    def even_ns(self) -> Span | None:
        """The same by the server's clock."""
        if self.even_s is None:
            return None
        begin_s, end_s = self.even_s
        return self.zero_ns + round(begin_s * NANOS), self.zero_ns + round(end_s * NANOS)

    def take(self, file: str, columns: Sequence[str], cells: Cells, older: bool = False) -> None:
        """Add lines of one of the `FILES`, which has these columns; ``older`` ones precede what is known of it.

        ValueError, OverflowError or KeyError for what can't be read.
        """
        self._readers[file](columns, cells, older)

    def coarsen(self, unit_s: int) -> None:
        """Keep work, waits and latencies in units of so many seconds, a multiple of the units so far."""
        factor, self.unit_s = unit_s // self.unit_s, unit_s
        self.work, self.waits = (table.coarser(factor) for table in (self.work, self.waits))
        for latencies in (self.latency, self.response, self.class_latency, self.class_response):
            latencies.update({kind: of_kind.coarser(factor) for kind, of_kind in latencies.items()})

    def _at(self, moments: Moments, offset_ns: int = 0) -> Array:
        """Return times in ns of the server's clock, or of one that is ``offset_ns`` behind it, in seconds.

        ValueError if one is so far off that it is damage: what is drawn over such a time has no end.
        """
        seconds: Array = (moments - (self.zero_ns - offset_ns)) / NANOS
        far_s = float(np.abs(seconds).max(initial=0.0))
        if far_s > Seconds.MOST:
            raise ValueError(f"a time is {far_s / 86_400:.0f} days from the begin of the load in events.csv")
        return seconds

    def _engine_rows(self, _columns: Sequence[str], cells: Cells, older: bool) -> None:
        rows, run = cells.moments(1)
        begins, ends = self._at(cells.integers(0, rows)), self._at(cells.integers(1, rows))
        names, values = _matrix(cells, 2, run, len(rows))
        # An interval without a length has no rates.
        long = ends > begins
        if long.any():
            self.engine.put(begins[long], ends[long], names, values[:, long], older)

    def _duration_rows(self, _columns: Sequence[str], cells: Cells, older: bool) -> None:
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

    def _host_rows(self, _columns: Sequence[str], cells: Cells, older: bool) -> None:
        rows, run = cells.moments(0)
        at = self._at(cells.integers(0, rows), self.offset_ns)
        self.host.put(at, at, *_matrix(cells, 1, run, len(rows)), older)

    def _wait_rows(self, _columns: Sequence[str], cells: Cells, older: bool) -> None:
        rows, run = cells.moments(0)
        samples = cells.integers(0, rows)
        units = np.floor(self._at(samples, self.offset_ns) / self.unit_s).astype(np.int64)
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
        self.waits.add([SAMPLES], np.zeros(len(units), np.int64), units, counted)
        self.waits.add([event or SAMPLES for event in events], code, units[run], np.nan_to_num(cells.numbers(2)))

    def _slice_rows(self, names: Sequence[str], cells: Cells, older: bool) -> None:
        amounts = amounts_of(names, cells)
        # First of all: what sessions did does not depend on the clock.
        self.sessions.take(names, cells, amounts, older)
        begins, ends = (self._at(cells.integers(names.index(name))) for name in ("start_ns", "end_ns"))
        single = begins < self.thinned_from_s
        self.slice_s = max(self.slice_s, float((ends - begins)[single].max(initial=0.0)))
        low, high = int(np.floor(begins.min() / self.unit_s)), int(np.ceil(ends.max() / self.unit_s))
        # Room for all of it first: a time that is far off is found before anything of its length is made.
        self.work.cover(low, high)
        edges = np.arange(low, high + 1, dtype=np.float64) * self.unit_s
        there = [number for number, name in enumerate(AMOUNTS) if name in names]
        if there and high > low:
            done = amounts_between(np.stack([begins, ends], axis=1), amounts[there], edges)
            code, units = np.indices(done.shape)
            self.work.add([AMOUNTS[number] for number in there], code.ravel(), low + units.ravel(), done.ravel())

    def _latency_rows(
        self, into: dict[str, Latencies], of_classes: dict[str, Latencies], cells: Cells, older: bool
    ) -> None:
        units, counts = cells.integers(0) // self.unit_s, cells.integers(3)
        edges, place = np.unique(cells.integers(2), return_inverse=True)
        buckets = np.array([bucket_of(edge) for edge in edges.tolist()])[place]
        kinds, code = cells.names(1)
        for number, name in enumerate(kinds):
            mine = code == number
            of_class, kind = split_kind(name)
            if kind not in _KINDS:
                raise ValueError(f"{name[:20]!r} is no kind of operation")
            # Those of all classes together, as if there were none, and each by itself.
            for tables, key in ((into, kind), *([(of_classes, name)] if of_class else [])):
                if key not in tables:
                    tables[key] = Latencies(self.unit_s)
                tables[key].add(units[mine], buckets[mine], counts[mine], older)


class TablesInMemory:
    """The tables of a load that this process records: of all rows of its raw files, even if these can't be written.

    Lines are read when there are many: in smaller parts, reading them would cost the driver CPU while it measures.
    """

    def __init__(self, raw: RawCsv) -> None:
        raw.copy_to(self._keep)
        self._events = raw.events
        self._lines: dict[str, list[bytes]] = {file: [] for file in FILES}
        self._kept_bytes = 0
        self._tables: RunTables | None = None
        # Why some of the lines could not be read; empty if all were.
        self.problem = ""

    def _keep(self, file: str, lines: bytes) -> None:
        if file in self._lines:
            self._lines[file].append(lines)
            self._kept_bytes += len(lines)
            if self._kept_bytes > PART_BYTES:
                self.read()

    def read(self) -> RunTables:
        """Return the tables of all lines so far."""
        thinned = [each for each in self._events if each.kind == Event.STEP_S]
        if self._tables is None:
            facts = {each.kind: int(each.text) for each in self._events if each.kind in WINDOW_FACTS}
            self._tables = RunTables(facts.get(Event.BEGIN_NS, 0), facts.get(Event.CLOCK_OFFSET_NS, 0))
        tables = self._tables
        if thinned:
            tables.thinned_from_s = (thinned[0].wall_ns + tables.offset_ns - tables.zero_ns) / NANOS
        for file, parts in self._lines.items():
            try:
                if parts:
                    tables.take(file, COLUMNS[file], Cells(b"".join(parts), len(COLUMNS[file])))
            except (ValueError, OverflowError, KeyError) as error:
                self.problem = self.problem or f"{file} can't be read: {error}"
            parts.clear()
        self._kept_bytes = 0
        unit_s = unit_for(tables.end_s, steps_of(self._events))
        if unit_s > tables.unit_s:
            tables.coarsen(unit_s)
        return tables


def fewer(table: Intervals, most: int) -> tuple[Array, Array, dict[str, Array]]:
    """Return begins, ends and values by name of intervals, of which neighbours are added up if there are more."""
    begins, ends = table.begin_s, table.end_s
    starts = np.arange(0, len(begins), max(1, -(-len(begins) // most)))
    lasts = np.append(starts[1:], len(begins)) - 1
    known = {name: each for name in table.names if (each := table.value(name)) is not None}
    if len(starts) == len(begins):
        return begins, ends, known
    return begins[starts], ends[lasts], {name: np.add.reduceat(each, starts) for name, each in known.items()}


def engine_rows(tables: RunTables) -> list[EngineRow]:
    """Return the rows of `engine.csv`, without intervals that were replaced; of very many, some added up."""
    begins, ends, amounts = fewer(tables.engine, MOST_UNITS // 2)
    begin_ns, end_ns = (tables.zero_ns + np.rint(each * NANOS).astype(np.int64) for each in (begins, ends))
    rows = []
    for name, values in amounts.items():
        there = ~np.isnan(values)
        found = zip(begin_ns[there].tolist(), end_ns[there].tolist(), values[there].tolist(), strict=True)
        rows += [(begin, end, name, value) for begin, end, value in found]
    return rows


def _matrix(cells: Cells, column: int, run: Moments, moments: int) -> tuple[list[str], Array]:
    """Return the names in a column, and the values in the next one by name and moment; NaN where there is none."""
    names, code = cells.names(column)
    if len(names) * moments > _MOST_CELLS:
        raise ValueError(f"it has {len(names)} different names")
    table = np.full((len(names), moments), np.nan)
    table[code, run] = cells.numbers(column + 1)
    return names, table
