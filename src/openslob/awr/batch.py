"""Extraction of the selected columns, events or verdicts from many reports, on all cores.

A result holds only what was selected, and the report's point in the pictures: latency over read requests and over MB
read. The reports themselves are not kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import PurePath
from typing import Literal

from openslob.awr.cells import ColumnValue, Subject
from openslob.awr.columns import COLUMNS, column_of
from openslob.awr.inputs import STDIN, compile_pattern, parse_name
from openslob.awr.model import plain_model
from openslob.awr.parse import read_all
from openslob.awr.rows import ROW_SETS
from openslob.awr.selection import (
    LIST,
    LIST_HEADINGS,
    MODEL,
    SortKey,
    SortOrder,
    chosen,
    headings,
    names_of,
    sort_key,
)
from openslob.awr.source import ForeignFileError, ReportError
from openslob.awr.verdicts import AwrVerdict, verdicts
from openslob.awr.wait_cells import FOREGROUND, read_wait
from openslob.core.errors import SlobError

REPORTS_PER_CORE = 8  # fewer are read sooner than another process starts


@dataclass(frozen=True, slots=True)
class Extraction:
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
    order: SortOrder = field(default_factory=SortOrder)

    def headings(self) -> tuple[str, ...]:
        """Return the headings of the result rows."""
        if self.columns == LIST:
            return LIST_HEADINGS
        return () if self.columns == MODEL else headings(self.columns, self.in_file)


@dataclass(frozen=True, slots=True)
class ReportPoint:
    """A report's point in the pictures. Rates are per second and count reads only, MB are 2^20 bytes.

    ``db_cpu`` is the CPU seconds of the sessions per second, ``host_busy_pct`` the busy share of the host's CPUs.
    ``database`` is its name and id, empty if the report has neither.
    """

    series: str
    sessions: int | None
    reads: float
    read_mb: float | None
    latency_us: float
    db_cpu: float | None
    host_busy_pct: float | None
    file: str
    database: str = ""


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
    point: ReportPoint | None = None
    no_point: str = ""
    foreign: bool = False
    model: dict[str, object] | None = None
    sort_key: SortKey = ()


def extract_each(path: str, wanted: Extraction) -> tuple[Result, ...]:
    """Read the file at ``path`` and extract what is ``wanted`` of each report: a compare-period report has two.

    A file that is not a report gives a failed result.
    """
    try:
        reports = read_all(path)
    except ReportError as error:
        return (Result(path, "failed", error=str(error), foreign=isinstance(error, ForeignFileError)),)
    name = parse_name(path, compile_pattern(wanted.pattern) if wanted.pattern else None)
    return tuple(_extract(Subject(report, name), wanted) for report in reports)


def _extract(subject: Subject, wanted: Extraction) -> Result:
    report = subject.report
    point = _find_point(subject, wanted.group_by, wanted.events[0] if wanted.events else None)
    return Result(
        report.path,
        status="whole" if report.complete else "partial",
        rows=tuple(_rows(subject, wanted)),
        warnings=report.warnings,
        unparsed=report.unparsed if wanted.details else (),
        verdicts=verdicts(report, subject.name.sessions) if wanted.details else (),
        point=point if isinstance(point, ReportPoint) else None,
        no_point=point if isinstance(point, str) else "",
        model=plain_model(report) if wanted.columns == MODEL else None,
        sort_key=sort_key(subject, wanted.order),
    )


def extract_all(paths: Sequence[str], wanted: Extraction, jobs: int | None = None) -> Iterator[Result]:
    """Yield the results of ``paths`` in their order, as they become available; two of a compare-period report.

    ``jobs`` is the number of processes, by default one per core, and at most one for `REPORTS_PER_CORE` files.
    """
    wanted.headings()  # an unknown column is an error before the first file is read
    extract_one = partial(extract_each, wanted=wanted)
    processes = jobs or min(cores(), -(-len(paths) // REPORTS_PER_CORE))
    if processes <= 1 or STDIN in paths:  # another process does not have this one's standard input
        yield from chain.from_iterable(map(extract_one, paths))
        return
    try:
        with ProcessPoolExecutor(processes) as pool:
            chunk = max(1, min(REPORTS_PER_CORE, len(paths) // processes))
            yield from chain.from_iterable(pool.map(extract_one, paths, chunksize=chunk))
    except BrokenProcessPool:
        raise SlobError("a process that read reports was killed", "try --jobs 1") from None


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _rows(subject: Subject, wanted: Extraction) -> Iterator[tuple[ColumnValue, ...]]:
    if wanted.columns == LIST:
        yield from (tuple(map(ColumnValue, line)) for line in names_of(subject.report))
    elif wanted.columns in ROW_SETS:
        yield from ROW_SETS[wanted.columns].rows_of(subject, wanted.events)
    elif wanted.columns != MODEL:
        names = chosen(wanted.columns, wanted.in_file).values()
        yield tuple(column_of(name).read(subject) for name in names)


def _find_point(subject: Subject, group_by: str, event: str | None) -> ReportPoint | str:
    """Return the point of a report, or why it has none. The latency is that of ``event`` or the single-block read."""
    latency = read_wait(subject, event, FOREGROUND, "us") if event else COLUMNS["latency_us"].read(subject)
    reads = COLUMNS["preads"].read(subject)
    if not isinstance(reads.value, float):
        return reads.why
    if not isinstance(latency.value, float):
        return latency.why
    read_mb, db_cpu, busy = (COLUMNS[name].read(subject) for name in ("read_mb_per_s", "db_cpu", "host_busy_pct"))
    return ReportPoint(
        series=_name_series(subject, group_by),
        sessions=subject.name.sessions,
        reads=reads.value,
        read_mb=read_mb.number,
        latency_us=latency.value,
        db_cpu=db_cpu.number,
        host_busy_pct=busy.number,
        file=PurePath(subject.report.path).name,
        database=" ".join(
            str(part) for part in (subject.report.header.db_name, subject.report.header.db_id) if part is not None
        ),
    )


def _name_series(subject: Subject, group_by: str) -> str:
    """Return the name of the series that a report belongs to."""
    path = PurePath(subject.report.path)
    if group_by == "dir":
        return path.parent.name or "."
    if group_by == "block_size":
        size = COLUMNS["block_size"].read(subject).value
        return f"{size / 1024:g}k" if isinstance(size, int) else "block size unknown"
    if group_by == "none":
        return "all reports"
    return subject.name.group if subject.name.sessions is not None else "no session count"
