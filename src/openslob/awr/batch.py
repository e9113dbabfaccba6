"""Many reports: what was chosen of each, in order, on all cores, without keeping the reports."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from typing import Literal

from openslob.awr.cells import ColumnValue, Subject, absent, latency_reading, why_no_event
from openslob.awr.columns import ROW_SETS, chosen, column_of
from openslob.awr.filenames import compile_pattern, parse_name
from openslob.awr.model import Report, WaitEvent
from openslob.awr.parse import read
from openslob.awr.petals import PetalPoint, point
from openslob.awr.source import ReportError
from openslob.awr.verdicts import AwrVerdict, single_block_read, verdicts
from openslob.errors import SlobError

REPORTS_PER_CORE = 8  # fewer are read sooner than another process starts


@dataclass(frozen=True, slots=True)
class Selection:
    """What is wanted of each report: a set of columns or their names, events, how names and series are told.

    ``details`` are verdicts and the names of sections that were not read; without them a thousand results are small.
    """

    columns: str = "slob"
    events: tuple[str, ...] = ()
    pattern: str | None = None
    group_by: str = "name"
    details: bool = False

    def headings(self) -> tuple[str, ...]:
        """The headings of the rows that come."""
        return tuple(ROW_SETS.get(self.columns) or chosen(self.columns))


@dataclass(frozen=True, slots=True)
class Result:
    """What a file gave. ``partial``: it is damaged or cut off, and the rows hold what is there.

    ``error`` is why a file gave nothing; ``no_point`` why it has no place in the picture.
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
    """Read one file and take from it what ``selection`` wants; a file that is no report is a failed result."""
    try:
        report = read(path)
    except ReportError as error:
        return Result(path, "failed", error=str(error))
    pattern = compile_pattern(selection.pattern) if selection.pattern else None
    subject = Subject(report, parse_name(path, pattern))
    judged = verdicts(report, subject.name.sessions) if selection.details or selection.columns == "verdicts" else ()
    found = point(subject, selection.group_by, selection.events[0] if selection.events else None)
    return Result(
        path,
        status="whole" if report.complete else "partial",
        rows=tuple(_rows(subject, selection, judged)),
        warnings=report.warnings,
        unparsed=report.unparsed if selection.details else (),
        verdicts=judged if selection.details else (),
        point=found if isinstance(found, PetalPoint) else None,
        no_point=found if isinstance(found, str) else "",
    )


def extract_all(paths: Sequence[str], selection: Selection, jobs: int | None = None) -> Iterator[Result]:
    """The results of all ``paths``, in their order, as they come; ``jobs`` processes, by default one per core."""
    selection.headings()  # a wrong column is an error before the first file
    work = partial(extract, selection=selection)
    wanted = jobs or min(cores(), -(-len(paths) // REPORTS_PER_CORE))
    if wanted <= 1:
        yield from map(work, paths)
        return
    try:
        with ProcessPoolExecutor(wanted) as pool:
            yield from pool.map(work, paths, chunksize=max(1, min(REPORTS_PER_CORE, len(paths) // wanted)))
    except BrokenProcessPool:
        raise SlobError("a process that read reports was killed", "try --jobs 1") from None


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _rows(subject: Subject, selection: Selection, judged: tuple[AwrVerdict, ...]) -> Iterator[tuple[ColumnValue, ...]]:
    name = ColumnValue(subject.report.path)
    if selection.columns == "events":
        yield from (_event_row(subject.report, name, event) for event in _events(subject.report, selection))
    elif selection.columns == "verdicts":
        for verdict in judged:
            yield name, ColumnValue(verdict.name), ColumnValue(verdict.verdict), ColumnValue(verdict.why)
    else:
        yield tuple(column_of(name).read(subject) for name in chosen(selection.columns).values())


def _events(report: Report, selection: Selection) -> Iterator[WaitEvent | str]:
    """The events asked for, by default the single-block read; of one that is not there, its name."""
    if not selection.events:
        yield single_block_read(report) or "db file sequential read"
    for name in selection.events:
        yield report.foreground(name) or report.background(name) or name


def _event_row(report: Report, file: ColumnValue, event: WaitEvent | str) -> tuple[ColumnValue, ...]:
    if isinstance(event, str):
        nothing = absent(why_no_event(report, event))
        return (file, ColumnValue(event), *(nothing,) * 6)
    mean = latency_reading(report, event)
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
