"""The raw files of a record's folder, read whole into the tables of `analyze`, and its course in equal steps."""

from __future__ import annotations

from functools import partial
from math import inf
from pathlib import Path

from openslob.analyze.load_kinds import load_kind
from openslob.analyze.run_tables import FILES, RunTables, steps_of, unit_for
from openslob.analyze.trace import Trace, trace_of
from openslob.errors import SlobError
from openslob.record.arrays import read_whole
from openslob.record.model import RunRecord
from openslob.record.raw_csv import RESTORE, Event, event_rows
from openslob.units import NANOS


def read_tables(folder: Path, begin_ns: int, offset_ns: int, seconds: float) -> RunTables:
    """Read the tables of a load that began at ``begin_ns`` of the server's clock and took so many seconds.

    ``offset_ns`` is the server's clock minus the driver's. SlobError for a damaged file.
    """
    try:
        events = event_rows(folder)
        thinned_ns = [each.wall_ns + offset_ns - begin_ns for each in events if each.kind == Event.STEP_S]
        unit_s = unit_for(seconds, steps_of(events))
    except ValueError as error:
        raise SlobError(f"{folder / 'events.csv'} is damaged: {error}", RESTORE) from error
    tables = RunTables(begin_ns, offset_ns, unit_s, min(thinned_ns, default=inf) / NANOS)
    for name in FILES:
        read_whole(folder / name, partial(tables.take, name))
    return tables


def tables_of(folder: Path, record: RunRecord) -> RunTables:
    """Read the tables of the record in ``folder``; without anything if it has no window."""
    if record.window is None:
        return RunTables(0)
    offset_ns = round(float(record.environment.get("server_clock_offset_s") or 0) * NANOS)
    return read_tables(folder, record.window.load_start_ns, offset_ns, record.window.load_seconds)


def read_trace(folder: Path, record: RunRecord, tables: RunTables | None = None) -> Trace:
    """Return the course of the load of a record in equal steps; without a step if it has no window.

    ``tables`` are those of the record, if they were read already.
    """
    found = tables or tables_of(folder, record)
    seconds = record.window.load_seconds if record.window else 0.0
    return course_of(folder, found, seconds, load_kind(record).publishes_late)


def course_of(folder: Path, tables: RunTables, seconds: float, publishes_late: bool) -> Trace:
    """Return the course of the first ``seconds`` of a load in equal steps, from its tables and events."""
    try:
        return trace_of(tables, seconds, event_rows(folder), publishes_late)
    except ValueError as error:
        raise SlobError(f"{folder / 'events.csv'} is damaged: {error}", RESTORE) from error
