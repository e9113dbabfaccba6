"""Extraction of the selected columns, events or verdicts from many reports, on all cores.

A result holds only what was selected: the reports themselves are not kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from openslob.awr.cells import ColumnValue, Subject
from openslob.awr.filenames import compile_pattern, parse_name
from openslob.awr.inputs import STDIN
from openslob.awr.order import Order, SortKey, sort_key
from openslob.awr.parse import read
from openslob.awr.plain import plain_model
from openslob.awr.points import PetalPoint, point_of
from openslob.awr.rows import ROW_SETS
from openslob.awr.selection import LIST, LIST_HEADINGS, MODEL, chosen, column_of, headings, names_of
from openslob.awr.source import ForeignFileError, ReportError
from openslob.awr.verdicts import AwrVerdict, verdicts
from openslob.core.errors import SlobError

REPORTS_PER_CORE = 8  # fewer are read sooner than another process starts


@dataclass(frozen=True, slots=True)
class Selection:
    """What to extract from each report.

    ``columns`` is the name of a set or a comma-separated list of columns. ``events`` are the wait events of the sets
    with rows for events; the first one also replaces the single-block read as the latency of points. ``pattern`` reads
    session counts from file names. ``group_by`` makes the series of points. ``details`` adds verdicts and the titles of
    unparsed sections, which would make the results of thousands of reports large. ``in_file`` adds columns that the
    screen does not show. ``order`` is that of the reports.
    """

    columns: str = "slob"
    events: tuple[str, ...] = ()
    pattern: str | None = None
    group_by: str = "name"
    details: bool = False
    in_file: bool = False
    order: Order = field(default_factory=Order)

    def headings(self) -> tuple[str, ...]:
        """Return the headings of the result rows."""
        if self.columns == LIST:
            return LIST_HEADINGS
        return () if self.columns == MODEL else headings(self.columns, self.in_file)


@dataclass(frozen=True, slots=True)
class Result:
    """What was extracted from one file.

    ``partial``: the report is damaged or cut off, and the rows hold the figures that could be read. ``error`` is why a
    failed file could not be read; ``foreign``: it is of another kind. ``no_point`` is why a report has no point in the
    picture. ``model`` is the whole report as plain data, if it was selected.
    """

    path: str
    status: Literal["whole", "partial", "failed"]
    rows: tuple[tuple[ColumnValue, ...], ...] = ()
    error: str = ""
    warnings: tuple[str, ...] = ()
    unparsed: tuple[str, ...] = ()
    verdicts: tuple[AwrVerdict, ...] = ()
    point: PetalPoint | None = None
    no_point: str = ""
    foreign: bool = False
    model: dict[str, object] | None = None
    sort_key: SortKey = ()


def extract(path: str, selection: Selection) -> Result:
    """Read the file at ``path`` and extract ``selection``. A file that is not a report gives a failed result."""
    try:
        report = read(path)
    except ReportError as error:
        return Result(path, "failed", error=str(error), foreign=isinstance(error, ForeignFileError))
    pattern = compile_pattern(selection.pattern) if selection.pattern else None
    subject = Subject(report, parse_name(path, pattern))
    judged = verdicts(report, subject.name.sessions) if selection.details else ()
    point = point_of(subject, selection.group_by, selection.events[0] if selection.events else None)
    return Result(
        path,
        status="whole" if report.complete else "partial",
        rows=tuple(_rows(subject, selection)),
        warnings=report.warnings,
        unparsed=report.unparsed if selection.details else (),
        verdicts=judged,
        point=point if isinstance(point, PetalPoint) else None,
        no_point=point if isinstance(point, str) else "",
        model=plain_model(report) if selection.columns == MODEL else None,
        sort_key=sort_key(subject, selection.order),
    )


def extract_all(paths: Sequence[str], selection: Selection, jobs: int | None = None) -> Iterator[Result]:
    """Yield the results of ``paths`` in their order, as they become available.

    ``jobs`` is the number of processes, by default one per core, and at most one for `REPORTS_PER_CORE` files.
    """
    selection.headings()  # an unknown column is an error before the first file is read
    extract_one = partial(extract, selection=selection)
    processes = jobs or min(cores(), -(-len(paths) // REPORTS_PER_CORE))
    if processes <= 1 or STDIN in paths:  # another process does not have this one's standard input
        yield from map(extract_one, paths)
        return
    try:
        with ProcessPoolExecutor(processes) as pool:
            chunk = max(1, min(REPORTS_PER_CORE, len(paths) // processes))
            yield from pool.map(extract_one, paths, chunksize=chunk)
    except BrokenProcessPool:
        raise SlobError("a process that read reports was killed", "try --jobs 1") from None


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _rows(subject: Subject, selection: Selection) -> Iterator[tuple[ColumnValue, ...]]:
    if selection.columns == LIST:
        yield from (tuple(map(ColumnValue, line)) for line in names_of(subject.report))
    elif selection.columns in ROW_SETS:
        yield from ROW_SETS[selection.columns].rows_of(subject, selection.events)
    elif selection.columns != MODEL:
        names = chosen(selection.columns, selection.in_file).values()
        yield tuple(column_of(name).read(subject) for name in names)
