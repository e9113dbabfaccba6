"""The raw measurements of a run: CSV files, written while it runs and read back as rows.

A file that a record does not have, as older ones, has no rows. A last row that a crash cut short is left out. SlobError
for a file that is damaged elsewhere.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import astuple
from pathlib import Path
from types import TracebackType
from typing import IO, TypeVar

from openslob.counts import COUNTERS, SliceCounts
from openslob.errors import SlobError
from openslob.histogram import Histogram, lower_edge_us
from openslob.method import OpKind
from openslob.units import NANOS

Cell = str | int | float | None

# Readers know columns by their position: counters that came after the first version follow all other columns.
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
}  # fmt: skip

# The most that a crash of the driver can lose: what is not flushed is only in this process's memory.
FLUSH_EVERY_NS = NANOS
# More than one file gets in a second of any usual run; beyond this they would only take memory.
MOST_ROWS_KEPT = 2000


class RawCsv:
    """The CSV files of one run. Not thread-safe: one collector thread alone calls it.

    Rows are written together once a second, and the first method that can't write them (disk full) raises SlobError;
    what was written before stays.
    """

    def __init__(self, folder: Path) -> None:
        self._stack = ExitStack()
        self._folder = folder
        self._files: dict[str, IO[str]] = {}
        self._rows: dict[str, list[Iterable[Cell]]] = {}
        self._flushed_ns = time.monotonic_ns()
        self._reported = False
        try:
            for name, columns in COLUMNS.items():
                self._open(name, columns)
            self.flush()
        except SlobError:
            self.close()
            raise

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
        row = (
            session, number, start_ns, end_ns, first_op_ns, *astuple(counts)[:_LATER],
            _cell(busy_us), _cell(max_us), due_ns, *astuple(counts)[_LATER:],
        )  # fmt: skip
        self._append("slices.csv", [row])

    def sample(self, server_ns: int, epoch: str, values: Mapping[str, float | None]) -> None:
        """One reading of the engine's cumulative counters; ``epoch`` changes when they were reset."""
        self._append("samples.csv", [(server_ns, epoch, name, _cell(value)) for name, value in values.items()])

    def engine(self, begin_ns: int, end_ns: int, values: Mapping[str, float | None]) -> None:
        """What the engine did between two readings, by the fields of `EngineDelta`; times by the server's clock.

        The names are the same for every engine, so that reports need not know one. An interval that begins where an
        earlier one began replaces it: the closing reading may come too soon after the last tick.
        """
        rows = [(begin_ns, end_ns, name, _cell(value)) for name, value in values.items() if value is not None]
        self._append("engine.csv", rows)

    def os(self, wall_ns: int, values: Mapping[str, float | None]) -> None:
        """One reading of the operating system's cumulative counters."""
        self._append("os.csv", [(wall_ns, name, _cell(value)) for name, value in values.items()])

    def waits(self, wall_ns: int, sessions_by_event: Mapping[str, int]) -> None:
        """One look at what the sessions wait for. A look that found none counts too: its row has no event."""
        rows = sessions_by_event.items() or [("", 0)]
        self._append("waits.csv", [(wall_ns, event, sessions) for event, sessions in rows])

    def latency(self, second: int, kind: OpKind, histogram: Histogram) -> None:
        """Latencies of one kind of operation in one second of the load (from 0)."""
        self._histogram("latency.csv", second, kind, histogram)

    def response(self, second: int, kind: OpKind, histogram: Histogram) -> None:
        """The same of its times from when operations were due."""
        self._histogram("response.csv", second, kind, histogram)

    def _histogram(self, name: str, second: int, kind: OpKind, histogram: Histogram) -> None:
        buckets, named = sorted(histogram.counts.items()), kind.value
        self._append(name, [(second, named, lower_edge_us(bucket), count) for bucket, count in buckets])

    def flush(self) -> None:
        """Hand everything to the operating system; done by itself once a second while rows come in."""
        for name, rows in self._rows.items():
            if rows:
                self._write(name, rows)
                rows.clear()
        self._flushed_ns = time.monotonic_ns()

    def _write(self, name: str, rows: Iterable[Iterable[Cell]]) -> None:
        file = self._files[name]
        try:
            csv.writer(file, lineterminator="\n").writerows(rows)
            file.flush()
        except OSError as error:
            raise self._failed(name, error) from error

    def close(self) -> None:
        """Flush and close; closing twice does nothing. A failure to write that was told before is not told again."""
        told = self._reported
        try:
            if not told:
                self.flush()
        finally:
            self._close(told)

    def _close(self, told: bool) -> None:
        self._rows = {}
        try:
            self._stack.close()
        except OSError as error:
            if not told:
                raise self._failed("*.csv", error) from error

    def __enter__(self) -> RawCsv:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _value: BaseException | None, _tb: TracebackType | None
    ) -> None:
        self.close()

    def _open(self, name: str, columns: tuple[str, ...]) -> None:
        try:
            self._files[name] = self._stack.enter_context((self._folder / name).open("w", encoding="utf-8", newline=""))
        except OSError as error:
            raise self._failed(name, error) from error
        self._rows[name] = [columns]

    def _append(self, name: str, rows: Iterable[Iterable[Cell]]) -> None:
        # Kept for a while: to write a hundred rows at once costs the driver a fraction of doing it one by one.
        kept = self._rows[name]
        kept.extend(rows)
        if len(kept) >= MOST_ROWS_KEPT or time.monotonic_ns() - self._flushed_ns >= FLUSH_EVERY_NS:
            self.flush()

    def _failed(self, name: str, error: OSError) -> SlobError:
        self._reported = True
        return SlobError(
            f"{self._folder / name} can't be written: {error.strerror}",
            "what was measured up to here is kept; free space or choose another folder with --results",
        )


def _cell(value: Cell) -> Cell:
    """Whole numbers without the ``.0``: counters are floats only because some have fractions."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_Row = TypeVar("_Row")


def slice_rows(folder: Path) -> list[tuple[int, int, int, int]]:
    """(start, end in ns of the server's clock, operations, updates) of every slice in `slices.csv`."""
    return _read(folder / "slices.csv", lambda row: (int(row[2]), int(row[3]), int(row[5]), int(row[7])))


def slice_spans(folder: Path) -> list[tuple[int, int, int]]:
    """(session, start, end in ns of the server's clock) of every slice in `slices.csv`."""
    return _read(folder / "slices.csv", lambda row: (int(row[0]), int(row[2]), int(row[3])))


def latency_rows(folder: Path, file: str = "latency.csv") -> list[tuple[int, str, int, int]]:
    """(second of the load, kind of operation, lower edge of the bucket in µs, count) of a file of latencies."""
    return _read(folder / file, lambda row: (int(row[0]), row[1], int(row[2]), int(row[3])))


def engine_rows(folder: Path) -> list[tuple[int, int, str, float]]:
    """(begin, end in ns of the server's clock, field of `EngineDelta`, value) of `engine.csv`."""
    return _read(folder / "engine.csv", lambda row: (int(row[0]), int(row[1]), row[2], float(row[3])))


def wait_rows(folder: Path) -> list[tuple[int, str, int]]:
    """(moment in ns of the driver's clock, event, sessions) of `waits.csv`; no event when no session was at work."""
    return _read(folder / "waits.csv", lambda row: (int(row[0]), row[1], int(row[2] or 0)))


def host_rows(folder: Path) -> list[tuple[int, str, float]]:
    """(moment in ns of the driver's clock, counter, value) of `os.csv`; what was not known then has no row."""
    rows = _read(folder / "os.csv", lambda row: (int(row[0]), row[1], float(row[2]) if row[2] else None))
    return [(at, counter, value) for at, counter, value in rows if value is not None]


def _read(path: Path, parse: Callable[[list[str]], _Row]) -> list[_Row]:
    try:
        return [parse(row) for row in _rows(path)]
    except ValueError as error:
        raise SlobError(f"{path} is damaged: {error}") from error


def _rows(path: Path) -> Iterator[list[str]]:
    """The rows below the header."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError) as error:
        raise SlobError(f"{path} can't be read: {error}") from error
    whole = lines if not lines or lines[-1].endswith("\n") else lines[:-1]
    reader = csv.reader(whole)
    columns = len(next(reader, []))
    for row in reader:
        if len(row) != columns:
            raise SlobError(f"{path} is damaged at line {reader.line_num}: {len(row)} of {columns} columns")
        yield row
