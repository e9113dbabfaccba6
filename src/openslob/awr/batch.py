"""Extraction of the selected columns, events or verdicts from many reports, on all cores.

A result holds only what was selected: the reports themselves are not kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from typing import Literal

from openslob.awr.cells import ColumnValue, Subject, absent
from openslob.awr.cells.waits import latency_value, why_no_event
from openslob.awr.columns import ROW_SETS, chosen, column_of
from openslob.awr.filenames import compile_pattern, parse_name
from openslob.awr.model import Report, WaitEvent
from openslob.awr.parse import read
from openslob.awr.points import PetalPoint, point_of
from openslob.awr.source import ReportError
from openslob.awr.verdicts import AwrVerdict, single_block_read, verdicts
from openslob.errors import SlobError

REPORTS_PER_CORE = 8  # fewer are read sooner than another process starts


@dataclass(frozen=True, slots=True)
class Selection:
    """What to extract from each report.

    ``columns`` is the name of a set or a comma-separated list of columns. ``events`` are the wait events of the set
    ``events``; the first one also replaces the single-block read as the latency of points. ``pattern`` reads session
    counts from file names. ``group_by`` makes the series of points. ``details`` adds verdicts and the titles of
    unparsed sections, which would make the results of thousands of reports large.
    """

    columns: str = "slob"
    events: tuple[str, ...] = ()
    pattern: str | None = None
    group_by: str = "name"
    details: bool = False

    def headings(self) -> tuple[str, ...]:
        """Return the headings of the result rows."""
        return tuple(ROW_SETS.get(self.columns) or chosen(self.columns))


@dataclass(frozen=True, slots=True)
class Result:
    """What was extracted from one file.

    ``partial``: the report is damaged or cut off, and the rows hold the figures that could be read. ``error`` is why a
    failed file could not be read, ``no_point`` why a report has no point in the picture.
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


def extract(path: str, selection: Selection) -> Result:
    """Read the file at ``path`` and extract ``selection``. A file that is not a report gives a failed result."""
    try:
        report = read(path)
    except ReportError as error:
        return Result(path, "failed", error=str(error))
    pattern = compile_pattern(selection.pattern) if selection.pattern else None
    subject = Subject(report, parse_name(path, pattern))
    judged = verdicts(report, subject.name.sessions) if selection.details or selection.columns == "verdicts" else ()
    point = point_of(subject, selection.group_by, selection.events[0] if selection.events else None)
    return Result(
        path,
        status="whole" if report.complete else "partial",
        rows=tuple(_rows(subject, selection, judged)),
        warnings=report.warnings,
        unparsed=report.unparsed if selection.details else (),
        verdicts=judged if selection.details else (),
        point=point if isinstance(point, PetalPoint) else None,
        no_point=point if isinstance(point, str) else "",
    )


def extract_all(paths: Sequence[str], selection: Selection, jobs: int | None = None) -> Iterator[Result]:
    """Yield the results of ``paths`` in their order, as they become available.

    ``jobs`` is the number of processes, by default one per core, and at most one for `REPORTS_PER_CORE` files.
    """
    selection.headings()  # an unknown column is an error before the first file is read
    extract_one = partial(extract, selection=selection)
    processes = jobs or min(cores(), -(-len(paths) // REPORTS_PER_CORE))
    if processes <= 1:
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


def _rows(subject: Subject, selection: Selection, judged: tuple[AwrVerdict, ...]) -> Iterator[tuple[ColumnValue, ...]]:
    file = ColumnValue(subject.report.path)
    if selection.columns == "events":
        yield from (_event_row(subject.report, file, event) for event in _events(subject.report, selection))
    elif selection.columns == "verdicts":
        for verdict in judged:
            yield file, ColumnValue(verdict.name), ColumnValue(verdict.verdict), ColumnValue(verdict.why)
    else:
        yield tuple(column_of(name).read(subject) for name in chosen(selection.columns).values())


def _events(report: Report, selection: Selection) -> Iterator[WaitEvent | str]:
    """Yield the selected events, by default the single-block read; for an event that is not listed, its name."""
    if not selection.events:
        yield single_block_read(report) or "db file sequential read"
    for name in selection.events:
        yield report.foreground(name) or report.background(name) or name


def _event_row(report: Report, file: ColumnValue, event: WaitEvent | str) -> tuple[ColumnValue, ...]:
    if isinstance(event, str):
        nothing = absent(why_no_event(report, event))
        return (file, ColumnValue(event), *(nothing,) * 6)
    mean = latency_value(report, event)
    elapsed, waits = report.elapsed_s, event.waits
    rate = ColumnValue(waits.value / elapsed.value) if elapsed and waits else absent("Elapsed or Waits is missing")
    return (
        file,
        ColumnValue(event.name),
        ColumnValue(int(waits.value)) if waits else absent("Waits is blank"),
        ColumnValue(event.time_s.value) if event.time_s else absent("Time is blank"),
        mean,
        rate,
        ColumnValue(mean.source) if mean.value is not None else absent(mean.why),
        ColumnValue(str(event.scope)),
    )
