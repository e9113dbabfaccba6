"""The raw measurements of a run, read back as rows. A file that is not there, as in older records, has none.

A last row that a crash cut short is left out; SlobError for a file that is damaged elsewhere.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from openslob.errors import SlobError

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
