"""The raw measurements of a run: CSV files, written while it runs and read back as rows.

A missing file, as in older records, has no rows. An incomplete last row, as after a crash, is left out. Readers raise
SlobError for any other damage.
"""

from __future__ import annotations

import csv
import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

from openslob.core.counts import COUNTERS, SliceCounts
from openslob.core.disk import open_regular
from openslob.core.errors import SlobError
from openslob.core.histogram import Histogram, lower_edge_us
from openslob.core.method import OpKind
from openslob.core.secrets import redact_text
from openslob.core.units import NANOS

Cell = str | int | float | None

# Readers know columns by their position: counters that were added after the first version follow all other columns.
_LATER = COUNTERS.index("conflicts")
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "slices.csv": (
        "session", "slice", "start_ns", "end_ns", "first_op_ns", *COUNTERS[:_LATER],
        "busy_us", "max_us", "due_ns", *COUNTERS[_LATER:],
    ),
    "samples.csv": ("server_ns", "epoch", "counter", "value"),
    "engine.csv": ("begin_ns", "end_ns", "figure", "value"),
    "os.csv": ("wall_ns", "counter", "value"),
    "waits.csv": ("wall_ns", "event", "sessions"),
    "latency.csv": ("second", "kind", "lower_edge_us", "count"),
    "response.csv": ("second", "kind", "lower_edge_us", "count"),
    "engine_latency.csv": ("begin_ns", "end_ns", "event", "lower_edge_us", "upper_edge_us", "count"),
    "events.csv": ("wall_ns", "kind", "text"),
}  # fmt: skip


class Event(StrEnum):
    """A kind of row in `events.csv`; those from ``BEGIN_NS`` on are facts of the window, written before it begins.

    ``BEGIN_NS`` is its begin by the server's clock, ``PLANNED_S`` its planned length (0: none), ``CLOCK_OFFSET_NS`` the
    server's clock minus the driver's. ``STEP_S`` is written in a long window: from here on, a row is about so many
    seconds. ``TOTAL`` is a number of the whole window, by its name, that is not the sum of rows: see `totals`.
    ``PROBE`` is a part of a probe after the window: see `ProbePart`.
    """

    PHASE = "phase"
    NOTE = "note"
    ERROR = "error"
    BEGIN_NS = "begin_ns"
    PLANNED_S = "planned_s"
    CLOCK_OFFSET_NS = "clock_offset_ns"
    STEP_S = "step_s"
    TOTAL = "total"
    PROBE = "probe"


# The events that say when the window began, by which clock.
WINDOW_FACTS = (Event.BEGIN_NS, Event.CLOCK_OFFSET_NS)


class Happening(NamedTuple):
    """A row of `events.csv`."""

    wall_ns: int
    kind: str
    text: str


ALONE = "alone"


class ProbePart(NamedTuple):
    """A part of a probe: how many of all sessions worked, for how many seconds, and how many operations they did.

    ``alone``: one session did single operations with pauses, while nobody else worked; the seconds are those of these
    operations.
    """

    active: int
    sessions: int
    seconds: float
    ops: float
    alone: bool = False

    @property
    def text(self) -> str:
        """The text of its event."""
        return f"{self.active}/{self.sessions} {self.seconds:.6f} {self.ops:.1f}{f' {ALONE}' if self.alone else ''}"


def parse_probe(text: str) -> ProbePart:
    """Return the part of a probe that an event's text is. ValueError if it is none."""
    sessions, seconds, ops, *alone = text.split()
    active, _, of_all = sessions.partition("/")
    part = ProbePart(int(active), int(of_all), float(seconds), float(ops), bool(alone))
    if not (0 < part.active <= part.sessions and part.seconds > 0 and part.ops >= 0) or alone not in ([], [ALONE]):
        raise ValueError(f"{text!r} is no part of a probe")
    return part


# A crash of the driver loses at most the rows of this time: rows that are not flushed are only in its memory.
FLUSH_EVERY_NS = NANOS
# More rows than a usual run writes to one file in a second; keeping more would only take memory.
MOST_ROWS_KEPT = 2000
_MOST_EPOCH = 12
# The end of a file that has the last slice of every session.
_END_BYTES = 1024 * 1024
RESTORE = "restore it, or move its folder elsewhere (`slob show` needs run.json alone)"

_Row = TypeVar("_Row")


@dataclass
class SliceRow:
    """A row of `slices.csv`: a slice of a session, or several that are taken together.

    ``busy_us`` is the time inside operations, ``max_us`` the longest one; None if there was none.
    """

    session: int
    number: int
    start_ns: int
    end_ns: int
    first_op_ns: int | None
    counts: SliceCounts
    busy_us: float
    max_us: float | None
    due_ns: int | None

    def join(self, later: SliceRow) -> None:
        """Take a later slice of the session together with this one."""
        self.end_ns, self.due_ns = later.end_ns, later.due_ns
        self.first_op_ns = later.first_op_ns if self.first_op_ns is None else self.first_op_ns
        self.counts += later.counts
        self.busy_us += later.busy_us
        self.max_us = max((us for us in (self.max_us, later.max_us) if us is not None), default=None)


class RawCsv:
    """The CSV files of one run. It is not thread-safe: only the recorder's thread calls it.

    Rows are written together once a second. When they can't be written, for example because the disk is full, ``error``
    says so, earlier rows stay on disk, and later ones are not written. ``events`` has all rows of `events.csv`.
    """

    def __init__(self, folder: Path) -> None:
        self.events: list[Happening] = []
        self._stack = ExitStack()
        self._folder = folder
        self._files: dict[str, IO[bytes]] = {}
        self._copy: Callable[[str, bytes], None] | None = None
        self._rows: dict[str, list[Iterable[Cell]]] = {}
        self._flushed_ns = time.monotonic_ns()
        self.error: SlobError | None = None
        for name, columns in COLUMNS.items():
            self._open(name, columns)
        self.flush()
        if self.error:
            self.close()
            raise self.error

    def slice(
        self,
        session: int,
        number: int,
        *,
        start_ns: int,
        end_ns: int,
        first_op_ns: int | None,
        counts: SliceCounts,
        latency: Mapping[OpKind, Histogram],
        due_ns: int | None = None,
    ) -> None:
        """Write slice ``number`` (from 0) of a session; moments are those of the server's clock."""
        busy_us = sum(histogram.sum_us for histogram in latency.values())
        max_us = max((histogram.max_us for histogram in latency.values() if histogram.counts), default=None)
        self.add_slice(SliceRow(session, number, start_ns, end_ns, first_op_ns, counts, busy_us, max_us, due_ns))

    def add_slice(self, made: SliceRow) -> None:
        """Write the row of a slice."""
        values = made.counts.values()
        row = (
            made.session, made.number, made.start_ns, made.end_ns, made.first_op_ns, *values[:_LATER],
            _cell(made.busy_us), _cell(made.max_us), made.due_ns, *values[_LATER:],
        )  # fmt: skip
        self._append("slices.csv", [row])

    def sample(self, server_ns: int, epoch: str, values: Mapping[str, float | None]) -> None:
        """Write one reading of the engine's cumulative counters; ``epoch`` changes when they were reset."""
        # It is on every row, and half of the file if it is long: what matters is whether it changes.
        short = epoch if len(epoch) <= _MOST_EPOCH else hashlib.sha256(epoch.encode()).hexdigest()[:_MOST_EPOCH]
        self._append("samples.csv", [(server_ns, short, name, _cell(value)) for name, value in values.items()])

    def engine(self, begin_ns: int, end_ns: int, values: Mapping[str, float | None]) -> None:
        """Write what the engine did between two readings, by the fields of `EngineDelta`; times by the server's clock.

        The names are the same for every engine, so that reports need not know the engine. An interval replaces an
        earlier one with the same begin: the closing reading may come too soon after the last regular one.
        """
        rows = [(begin_ns, end_ns, name, _cell(value)) for name, value in values.items() if value is not None]
        self._append("engine.csv", rows)

    def engine_latency(self, begin_ns: int, end_ns: int, by_event: Mapping[str, Mapping[tuple[int, int], int]]) -> None:
        """Write the waits between two readings that the engine counts by duration, by [shortest, longest) in µs.

        Intervals are those of `engine`: one replaces an earlier one with the same begin.
        """
        self._append(
            "engine_latency.csv",
            [
                (begin_ns, end_ns, event, *edges, count)
                for event, durations in by_event.items()
                for edges, count in sorted(durations.items())
            ],
        )

    def os(self, wall_ns: int, values: Mapping[str, float | None]) -> None:
        """Write one reading of the operating system's cumulative counters."""
        self._append("os.csv", [(wall_ns, name, _cell(value)) for name, value in values.items()])

    def waits(self, wall_ns: int, sessions_by_event: Mapping[str, float]) -> None:
        """Write one sample of what the sessions wait for. A sample without waits is a row without an event."""
        rows = sessions_by_event.items() or [("", 0)]
        self._append("waits.csv", [(wall_ns, event, _cell(sessions)) for event, sessions in rows])

    def latency(self, second: int, kind: str, histogram: Histogram) -> None:
        """Write the service times of one kind of operation in one second of the load (from 0).

        The kind of a class of sessions has the name that `name_kind` returns.
        """
        self._histogram("latency.csv", second, kind, histogram)

    def response(self, second: int, kind: str, histogram: Histogram) -> None:
        """Write the response times, measured from the due time, of one kind of operation in one second of the load."""
        self._histogram("response.csv", second, kind, histogram)

    def event(self, kind: Event, text: str, wall_ns: int | None = None) -> None:
        """Write at once that something happens, or happened at ``wall_ns``; a text is one line, without secrets."""
        at_ns = time.time_ns() if wall_ns is None else wall_ns
        self.events.append(Happening(at_ns, kind.value, redact_text(" ".join(text.split()))))
        self._append("events.csv", self.events[-1:])
        self.flush()

    def _histogram(self, name: str, second: int, kind: str, histogram: Histogram) -> None:
        buckets, named = sorted(histogram.counts.items()), str(kind)
        self._append(name, [(second, named, lower_edge_us(bucket), count) for bucket, count in buckets])

    def copy_to(self, copy: Callable[[str, bytes], None]) -> None:
        """Call ``copy`` with the name of a file and its new lines from now on, also when they can't be written."""
        self._copy = copy

    def flush(self) -> None:
        """Write all rows to the operating system. While rows are added, this happens once a second without a call."""
        for name, rows in self._rows.items():
            if rows and (self._copy or not self.error):
                self._write(name, rows)
            rows.clear()
        self._flushed_ns = time.monotonic_ns()

    def _write(self, name: str, rows: Iterable[Iterable[Cell]]) -> None:
        text = StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        lines = text.getvalue().encode()
        if self._copy:
            self._copy(name, lines)
        if self.error:
            return
        try:
            self._files[name].write(lines)
            self._files[name].flush()
        except OSError as error:
            self._fail(name, error)

    def finish(self) -> None:
        """Write all rows: the window has ended."""
        self.flush()

    def close(self) -> None:
        """Flush and close; closing twice is harmless. SlobError when only now something can't be written."""
        known = self.error
        self.flush()
        self._rows = {}
        try:
            self._stack.close()
        except OSError as error:
            self._fail("*.csv", error)
        if self.error and not known:
            raise self.error

    def __enter__(self) -> RawCsv:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, name: str, columns: tuple[str, ...]) -> None:
        try:
            self._files[name] = self._stack.enter_context((self._folder / name).open("wb"))
        except OSError as error:
            self._fail(name, error)
        self._rows[name] = [columns]

    def _append(self, name: str, rows: Iterable[Iterable[Cell]]) -> None:
        # Writing a hundred rows at once costs the driver a fraction of writing them one by one.
        pending = self._rows[name]
        pending.extend(rows)
        if len(pending) >= MOST_ROWS_KEPT or time.monotonic_ns() - self._flushed_ns >= FLUSH_EVERY_NS:
            self.flush()

    def _fail(self, name: str, error: OSError) -> None:
        what = f"{self._folder / name} can't be written: {error.strerror}"
        self.error = self.error or SlobError(what, "free space or choose another folder with --results")


def _cell(value: Cell) -> Cell:
    """Return a whole number as an int: counters are floats only because some have fractions."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def window_facts(folder: Path) -> dict[Event, int]:
    """Read the facts of the window from `events.csv`, in ns: of a run that did not live to write its record, too."""
    rows = _read(folder / "events.csv", lambda row: (row[1], row[2]))
    return {Event(kind): int(text) for kind, text in rows if kind in WINDOW_FACTS}


def last_slice_end_ns(folder: Path) -> int | None:
    """Return until when the slices of all sessions are known, by the server's clock; None without any slice.

    It is read from the end of `slices.csv`. A driver that was killed had slices of some sessions in memory: after that,
    only a part of the work is known.
    """
    try:
        with open_regular(folder / "slices.csv") as file:
            file.seek(max(file.seek(0, 2) - _END_BYTES, 0))
            *complete, _cut_off = file.read().split(b"\n")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SlobError(f"{folder / 'slices.csv'} can't be read: {error.strerror}", RESTORE) from error
    # The first line is the header, or the end of a row.
    cells = [line.split(b",") for line in complete[1:]]
    rows = [(row[0], int(row[2]), int(row[3])) for row in cells if len(row) > 3 and (row[2] + row[3]).isdigit()]
    if not rows:
        return None
    ends = {session: end_ns for session, _, end_ns in rows}
    # A session that ended long before the others is not waited for.
    since_ns = max(ends.values()) - 2 * max(end_ns - start_ns for _, start_ns, end_ns in rows)
    return min(end_ns for end_ns in ends.values() if end_ns >= since_ns)


def event_rows(folder: Path) -> list[Happening]:
    """Read `events.csv`."""
    return _read(folder / "events.csv", lambda row: Happening(int(row[0]), row[1], row[2]))


def counter_readings(folder: Path) -> Iterator[tuple[int, str, dict[str, float]]]:
    """Yield the readings of the engine's counters in `samples.csv`: moment, epoch, and every counter at that moment.

    A row is of a counter that moved, or of one that is no longer there; if none did, of any one. SlobError for a
    damaged file.
    """
    now: dict[str, float] = {}
    try:
        for (moment, epoch), rows in groupby(_rows(folder / "samples.csv"), key=lambda row: (row[0], row[1])):
            moved = {name: None if not text else _number(text) for _, _, name, text in rows}
            now = {name: value for name, value in {**now, **moved}.items() if value is not None}
            yield int(moment), epoch, now
    except ValueError as error:
        raise SlobError(f"{folder / 'samples.csv'} is damaged: {error}", RESTORE) from error


# Columns of text; all others hold numbers.
TEXTS = frozenset({"epoch", "counter", "figure", "event", "kind", "text"})


def raw_table(folder: Path, name: str) -> tuple[tuple[str, ...], list[list[Cell]]]:
    """Read any of the files in `COLUMNS`: its columns, and its rows with numbers as numbers; None is unknown.

    Files of older records lack the columns that were added since.
    """
    columns = COLUMNS[name]
    rows = _read(folder / name, lambda row: [_value(*each) for each in zip(columns, row, strict=False)])
    return columns[: len(rows[0])] if rows else columns, rows


def _value(column: str, text: str) -> Cell:
    if column in TEXTS:
        return text or None
    return _number(text) if text else None


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _read(path: Path, parse: Callable[[list[str]], _Row]) -> list[_Row]:
    try:
        return [parse(row) for row in _rows(path)]
    except ValueError as error:
        raise SlobError(f"{path} is damaged: {error}", RESTORE) from error


def _rows(path: Path) -> Iterator[list[str]]:
    """Yield the rows below the header."""
    try:
        with open_regular(path) as file:
            lines = file.read().decode("utf-8").splitlines(keepends=True)
    except FileNotFoundError:
        return
    except OSError as error:
        raise SlobError(f"{path} can't be read: {error.strerror}", RESTORE) from error
    except UnicodeDecodeError as error:
        raise SlobError(f"{path} is damaged: it is not UTF-8", RESTORE) from error
    complete = lines if not lines or lines[-1].endswith("\n") else lines[:-1]
    reader = csv.reader(complete)
    columns = len(next(reader, []))
    for row in reader:
        if len(row) != columns:
            why = f"{path} is damaged at line {reader.line_num}: {len(row)} of {columns} columns"
            raise SlobError(why, RESTORE)
        yield row
