"""The figures of SLOB's script ``awr_info.sh``, by its headings.

The script takes each figure from a line of a text report, and cuts or rounds it. The lines and the digits are those of
its edition of 2014-12-11, with changes of 2017. A figure that is not in the report is empty here, and often 0 there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from openslob.awr.cells import MB, ColumnValue, Subject, absent, read_activity, read_file_name, read_load, read_path
from openslob.awr.model import Scope
from openslob.awr.wait_cells import describe, list_top, why_no_event

_EVENTS = {
    "DFSR_LAT": ("db file sequential read", Scope.FOREGROUND),
    "DPR_LAT": ("direct path read", Scope.FOREGROUND),
    "DFPR_LAT": ("db file parallel read", Scope.FOREGROUND),
    "DFPW_LAT": ("db file parallel write", Scope.BACKGROUND),
    "LFPW_LAT": ("log file parallel write", Scope.BACKGROUND),
}
_Read = Callable[[Subject], ColumnValue]


def _scale(found: ColumnValue, size: float = 1.0, rounded: Callable[[float], float] = math.floor) -> ColumnValue:
    return found if found.number is None else ColumnValue(rounded(found.number / size), source=found.source)


def _read_elapsed(subject: Subject) -> ColumnValue:
    minutes = subject.report.header.elapsed_min
    return ColumnValue(int(minutes.value * 60)) if minutes else absent("Elapsed is not in the report")


def _read_cpu(subject: Subject) -> ColumnValue:
    """Return CPU of foreground and background: the latter is in load profiles since 11.2.0.4."""
    used, background = read_load(subject, "db_cpu"), read_load(subject, "background_cpu")
    if used.number is None or background.number is None:
        return used if used.number is None else ColumnValue(used.value, source="DB CPU; no Background CPU is printed")
    return ColumnValue(round(used.number + background.number, 3), source="DB CPU + Background CPU")


def _read_mean(subject: Subject, name: str, scope: Scope) -> ColumnValue:
    """Return time / waits of the full table, in µs, whatever other tables print."""
    event = subject.report.event(name, scope)
    if event is None or event.waits is None or event.time_s is None or not event.waits.value:
        return absent(why_no_event(subject.report, name) if event is None else f"{name}: waits or time is blank")
    if not event.time_s.value:
        return absent(f"{name}: the time is printed as 0 s")
    return ColumnValue(round(event.time_s.value / event.waits.value * 1e6), source=str(scope))


def _read_top(subject: Subject) -> ColumnValue:
    """Return the first row of the top list, which may be DB CPU."""
    listed = list_top(subject.report)
    return ColumnValue(describe(subject.report, listed[0])) if listed else absent("no waits are listed")


_READERS: dict[str, _Read] = {
    "FILE": read_path,
    "SESSIONS": lambda subject: read_file_name(subject, "sessions"),
    "ELAPSED": _read_elapsed,
    "DB CPU": _read_cpu,
    "DB Tm": lambda subject: read_load(subject, "db_time"),
    "EXECUTES": lambda subject: _scale(read_load(subject, "executes")),
    "LIO": lambda subject: _scale(read_load(subject, "logical_reads")),
    "PREADS": lambda subject: _scale(read_activity(subject, "physical read IO requests")),
    "READ_MBS": lambda subject: _scale(read_activity(subject, "physical read total bytes"), MB, _to_tenths),
    "PWRITES": lambda subject: _scale(read_activity(subject, "physical write IO requests")),
    "WRITE_MBS": lambda subject: _scale(read_activity(subject, "physical write total bytes"), MB, round),
    "REDO_MBS": lambda subject: _scale(read_load(subject, "redo_size"), MB, _cut_to_tenths),
    **{heading: partial(_read_mean, name=name, scope=scope) for heading, (name, scope) in _EVENTS.items()},
    "TOP WAIT": _read_top,
}
HEADINGS = tuple(_READERS)


def _to_tenths(value: float) -> float:
    return round(value, 1)


def _cut_to_tenths(value: float) -> float:
    return math.floor(value * 10) / 10


def read(subject: Subject, heading: str) -> ColumnValue:
    """Return what the script prints under ``heading``."""
    reader = _READERS.get(heading)
    return reader(subject) if reader else absent(f"awr_info.sh has no {heading}; it has {', '.join(HEADINGS)}")
