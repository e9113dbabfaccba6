"""The raw measurements of a run, read back as rows. A file that is not there, as in older records, has none."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from openslob.errors import SlobError


def slice_rows(folder: Path) -> list[tuple[int, int, int, int]]:
    """(start, end in ns of the server's clock, operations, updates) of every slice in `slices.csv`."""
    return [(int(row[2]), int(row[3]), int(row[5]), int(row[7])) for row in _rows(folder / "slices.csv")]


def latency_rows(folder: Path, file: str = "latency.csv") -> list[tuple[int, str, int, int]]:
    """(second of the load, kind of operation, lower edge of the bucket in µs, count) of a file of latencies."""
    rows = _rows(folder / file)
    return [(int(second), kind, int(edge), int(count)) for second, kind, edge, count in rows]


def engine_rows(folder: Path) -> list[tuple[int, int, str, float]]:
    """(begin, end in ns of the server's clock, field of `EngineDelta`, value) of `engine.csv`."""
    rows = _rows(folder / "engine.csv")
    return [(int(begin), int(end), figure, float(value)) for begin, end, figure, value in rows]


def _rows(path: Path) -> Iterator[list[str]]:
    """The rows below the header. A last row that a crash cut short is left out; SlobError for a damaged file."""
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
