"""Data model of a report.

A figure that the report does not print is None; ``Report.missing`` may say why. Numbers keep the precision in which
they were printed (``Number``), because ``0`` seconds and ``0.00`` seconds allow different conclusions. Times are
seconds and latencies microseconds, whatever unit the report prints.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from openslob.awr.numbers import Number

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TIME = re.compile(
    r"(?P<day>\d{1,2})-(?:(?P<name>[a-z]{3})|(?P<number>\d{1,2})\S? ?)-(?P<year>\d{4}|\d{2})"
    r" +(?P<hour>\d{1,2}):(?P<minute>\d{2})(?P<second>:\d{2})?",
    re.IGNORECASE | re.ASCII,
)
_SPREAD_S = 1.0  # two times, each within half a second
# Counter of a run -> statistic of the report.
_RUN_COUNTERS: Mapping[str, str] = {
    "logical_reads": "session logical reads",
    "read_requests": "physical read IO requests",
    "read_bytes": "physical read bytes",
    "write_requests": "physical write IO requests",
    "write_bytes": "physical write bytes",
    "log_bytes": "redo size",
    "log_syncs": "redo synch writes",
    "commits": "user commits",
}


class ReportKind(StrEnum):
    """Type of report, by the script that made it. One that compares periods is read as the reports of both."""

    AWR = "awr"
    AWR_PDB = "awr_pdb"
    AWR_GLOBAL = "awr_rac_global"
    STATSPACK = "statspack"
    AWR_COMPARE = "awr_compare_period"


class Scope(StrEnum):
    """Processes whose waits a table counts, in the order in which tables are preferred."""

    FOREGROUND = "Foreground Wait Events"
    TOP = "Top Timed Foreground Events"
    ALL = "Wait Events (foreground and background)"
    TOP_ALL = "Top Timed Events (foreground and background)"
    BACKGROUND = "Background Wait Events"
    TOP_BACKGROUND = "Top Timed Background Events"


@dataclass(frozen=True, slots=True)
class ReportInstance:
    """One instance of the database.

    ``elapsed_min``, ``db_time_min`` and ``active_sessions`` are printed in global reports only. The last one is the
    instance's DB time per second.
    """

    name: str | None = None
    number: int | None = None
    host: str | None = None
    release: str | None = None
    startup: str | None = None
    platform: str | None = None
    elapsed_min: Number | None = None
    db_time_min: Number | None = None
    active_sessions: Number | None = None


@dataclass(frozen=True, slots=True)
class Header:
    """Database, host and snapshots. ``memory_gb`` is in units of 2^30 bytes, ``block_size`` in bytes.

    ``pdb_name`` is the container that the report covers: a pluggable database or ``CDB$ROOT``.
    """

    db_name: str | None = None
    db_id: int | None = None
    unique_name: str | None = None
    role: str | None = None
    edition: str | None = None
    release: str | None = None
    rac: bool | None = None
    cdb: bool | None = None
    pdb_name: str | None = None
    instances: tuple[ReportInstance, ...] = ()
    host: str | None = None
    platform: str | None = None
    cpus: int | None = None
    cores: int | None = None
    sockets: int | None = None
    memory_gb: Number | None = None
    begin_snap: int | None = None
    end_snap: int | None = None
    begin_time: str | None = None
    end_time: str | None = None
    sessions_begin: Number | None = None
    sessions_end: Number | None = None
    elapsed_min: Number | None = None
    db_time_min: Number | None = None
    db_cpu_min: Number | None = None
    block_size: int | None = None

    @property
    def instance(self) -> str | None:
        """Name of the instance, if the report covers a single instance."""
        return self.instances[0].name if len(self.instances) == 1 else None

    @property
    def began(self) -> datetime | None:
        """Time of the first snapshot; None if it is not printed, or in a language that is not known."""
        return snapshot_time(self.begin_time)

    @property
    def ended(self) -> datetime | None:
        """Time of the last snapshot."""
        return snapshot_time(self.end_time)


@dataclass(frozen=True, slots=True)
class Rate:
    """A row of the load profile. ``origin`` is the section that prints it."""

    per_second: Number | None = None
    per_transaction: Number | None = None
    origin: str = "Load Profile"


@dataclass(frozen=True, slots=True)
class Statistic:
    """An instance activity statistic."""

    total: Number | None = None
    per_second: Number | None = None
    per_transaction: Number | None = None


@dataclass(frozen=True, slots=True)
class WaitEvent:
    """A wait event as listed in one table. ``cut``: the name fills its column, so its end may be missing.

    ``idle``: the report marks it as an event that has no part in DB time. ``waits_per_s`` is printed in place of
    ``waits`` by reports that compare periods.
    """

    name: str
    scope: Scope
    waits: Number | None = None
    time_s: Number | None = None
    avg_us: Number | None = None
    timeouts_pct: Number | None = None
    share_pct: Number | None = None
    wait_class: str | None = None
    cut: bool = False
    idle: bool = False
    waits_per_s: Number | None = None

    def is_same(self, other: WaitEvent) -> bool:
        """Return whether a row of another table is of the same event: one that is cut also needs the same figures."""
        if self.name == other.name and not (self.cut or other.cut):
            return True
        cut, whole = (self, other) if self.cut and len(self.name) <= len(other.name) else (other, self)
        if not (cut.cut and whole.name.startswith(cut.name)):
            return False
        classes = sorted((self.wait_class or "", other.wait_class or ""), key=len)
        pairs = (self.waits, other.waits), (self.time_s, other.time_s)
        return classes[1].startswith(classes[0]) and all(
            one is None or two is None or abs(one.value - two.value) <= one.step + two.step for one, two in pairs
        )


@dataclass(frozen=True, slots=True)
class Bucket:
    """Share of an event's waits that took from ``low_us`` to below ``high_us`` (None: no upper limit)."""

    low_us: float
    high_us: float | None
    share_pct: float


@dataclass(frozen=True, slots=True)
class WaitHistogram:
    """Distribution of an event's wait times. Oracle counts foreground and background waits together.

    The shares are those that are printed: rounded, so that their sum, ``total_pct``, is not always 100.
    """

    name: str
    waits: Number | None
    buckets: tuple[Bucket, ...]
    cut: bool = False

    @property
    def total_pct(self) -> float:
        """Sum of the printed shares."""
        return sum(bucket.share_pct for bucket in self.buckets)


@dataclass(frozen=True, slots=True)
class IoRates:
    """A row of the I/O profile, per second: requests, MB (2^20 bytes) or blocks, depending on the row's name."""

    total: Number | None = None
    read: Number | None = None
    write: Number | None = None


@dataclass(frozen=True, slots=True)
class IoStat:
    """I/O of one function or file type. MB are 2^20 bytes."""

    name: str
    read_requests_per_s: Number | None = None
    write_requests_per_s: Number | None = None
    read_mb_per_s: Number | None = None
    write_mb_per_s: Number | None = None
    waits: Number | None = None
    avg_us: Number | None = None
    small_read_us: Number | None = None
    large_read_us: Number | None = None


@dataclass(frozen=True, slots=True)
class FileIo:
    """I/O of a data file or, without ``file``, of a tablespace. ``writes`` is None where the report misprints it.

    ``pdb`` is the pluggable database it belongs to; None where the report has none, as for the root's.
    """

    tablespace: str
    file: str | None = None
    reads: Number | None = None
    reads_per_s: Number | None = None
    read_us: Number | None = None
    blocks_per_read: Number | None = None
    writes: Number | None = None
    writes_per_s: Number | None = None
    buffer_waits: Number | None = None
    buffer_wait_us: Number | None = None
    pdb: str | None = None


@dataclass(frozen=True, slots=True)
class HourlyStat:
    """A statistic of thread activity, such as log switches."""

    total: Number | None = None
    per_hour: Number | None = None


@dataclass(frozen=True, slots=True)
class OsStat:
    """An operating system statistic. ``end`` is its value at the last snapshot, if the report prints one."""

    value: Number | None = None
    end: Number | None = None


@dataclass(frozen=True, slots=True)
class HostCpu:
    """Host CPU over the interval in percent of all CPUs, and load averages at both snapshots."""

    load_begin: Number | None = None
    load_end: Number | None = None
    user_pct: Number | None = None
    system_pct: Number | None = None
    wio_pct: Number | None = None
    idle_pct: Number | None = None


@dataclass(frozen=True, slots=True)
class InitParameter:
    """An initialization parameter.

    ``end`` is empty unless the value changed. ``instance`` is a number in global reports, or ``*`` for all instances.
    """

    begin: str
    end: str = ""
    instance: str = "*"


@dataclass(frozen=True, slots=True)
class ListedRow:
    """A row of a section that is a list: its texts and figures by heading, and why a figure is missing."""

    cells: dict[str, Number | str] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """A parsed report.

    ``complete`` is False for a report that is cut off. ``sections`` are the titles that were parsed, ``unparsed`` those
    that were not. ``warnings`` name figures that contradict each other; ``missing`` maps a cell or figure that could
    not be read to the reason. ``wait_classes`` have the name of the class in place of an event's, and the scope of
    their processes. ``global_cache`` has times in µs and shares in %. ``per_instance`` has the figures of each instance
    of a global report by its number, and ``instance_events`` its waits. ``listed`` has the rows of statements, segments
    and other lists, by the names of their sets of columns.
    """

    path: str
    kind: ReportKind
    format: str
    header: Header
    load_profile: Mapping[str, Rate]
    events: tuple[WaitEvent, ...]
    histograms: tuple[WaitHistogram, ...]
    time_model_s: Mapping[str, Number]
    activity: Mapping[str, Statistic]
    io_profile: Mapping[str, IoRates]
    iostat_functions: tuple[IoStat, ...]
    iostat_filetypes: tuple[IoStat, ...]
    os_stats: Mapping[str, OsStat]
    host_cpu: HostCpu | None
    parameters: Mapping[str, InitParameter]
    complete: bool
    sections: tuple[str, ...] = ()
    unparsed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    wait_classes: tuple[WaitEvent, ...] = ()
    efficiency_pct: Mapping[str, Number] = field(default_factory=dict)
    thread_activity: Mapping[str, HourlyStat] = field(default_factory=dict)
    tablespaces: tuple[FileIo, ...] = ()
    files: tuple[FileIo, ...] = ()
    global_cache: Mapping[str, Number] = field(default_factory=dict)
    per_instance: Mapping[int, Mapping[str, Number]] = field(default_factory=dict)
    instance_events: Mapping[int, tuple[WaitEvent, ...]] = field(default_factory=dict)
    listed: Mapping[str, tuple[ListedRow, ...]] = field(default_factory=dict)

    @property
    def elapsed_s(self) -> Number | None:
        """Seconds between the two snapshots; None if not printed or zero.

        They are the printed minutes, or the difference of the snapshots' times where that is finer and agrees.
        """
        minutes = self.header.elapsed_min
        printed = minutes.scaled(60.0) if minutes is not None and minutes.value > 0 else None
        clock = seconds_between(self.header.begin_time, self.header.end_time)
        if clock is None or clock.value <= 0:
            return printed
        if printed is None:
            return clock
        is_finer = clock.step < printed.step and abs(clock.value - printed.value) <= clock.step + printed.step
        return clock if is_finer else printed

    def list_events(self, scope: Scope) -> tuple[WaitEvent, ...]:
        """Return the events of one table, in its order."""
        return tuple(event for event in self.events if event.scope is scope)

    def event(self, name: str, *scopes: Scope) -> WaitEvent | None:
        """Return the wait event ``name`` from the first of ``scopes`` that lists it (default: foreground only).

        A name that is cut by its column matches if it is the only cut name of the table that ``name`` starts with.
        """
        for scope in scopes or (Scope.FOREGROUND,):
            if found := _by_name(name, self.list_events(scope)):
                return found
        return None

    def foreground(self, name: str) -> WaitEvent | None:
        """Return the event ``name`` as waited for by foreground processes, from the most complete table."""
        if self.list_events(Scope.FOREGROUND):
            return self.event(name, Scope.FOREGROUND, Scope.TOP)
        return self.event(name, Scope.TOP, Scope.ALL, Scope.TOP_ALL)

    def background(self, name: str) -> WaitEvent | None:
        """Return the event ``name`` as waited for by background processes."""
        if self.list_events(Scope.BACKGROUND):
            return self.event(name, Scope.BACKGROUND, Scope.TOP_BACKGROUND)
        return self.event(name, Scope.TOP_BACKGROUND, Scope.ALL, Scope.TOP_ALL)

    def histogram(self, name: str) -> WaitHistogram | None:
        """Return the wait histogram of the event ``name``."""
        return _by_name(name, self.histograms)


_Named = TypeVar("_Named", WaitEvent, WaitHistogram)


def _by_name(name: str, listed: tuple[_Named, ...]) -> _Named | None:
    same = [item for item in listed if item.name == name]
    if same:
        return same[0] if len(same) == 1 or not same[0].cut else None  # events whose names are cut alike
    cut = [item for item in listed if item.cut and name.startswith(item.name)]
    return cut[0] if len(cut) == 1 else None


def snapshot_time(text: str | None) -> datetime | None:
    """Return the time in ``text``, such as ``02-Mar-15 10:00:00``; None if the month's name is of another language."""
    match = _TIME.fullmatch((text or "").strip())
    if match is None:
        return None
    name = (match["name"] or "").lower()
    if name and name not in _MONTHS:
        return None
    month = _MONTHS.index(name) + 1 if name else int(match["number"])
    year = int(match["year"]) + (2000 if len(match["year"]) == 2 else 0)
    second = int((match["second"] or ":0")[1:])
    try:
        return datetime(year, month, int(match["day"]), int(match["hour"]), int(match["minute"]), second)
    except ValueError:
        return None


def seconds_between(begin: str | None, end: str | None) -> Number | None:
    """Return the seconds between two snapshots; None unless both are printed to the second."""
    times = [snapshot_time(text) for text in (begin, end) if (text or "").count(":") == 2]
    if len(times) != 2 or times[0] is None or times[1] is None:
        return None
    return Number((times[1] - times[0]).total_seconds(), _SPREAD_S)


def run_totals(report: Report) -> dict[str, float]:
    """Return the report's totals by the name of the run's counter; those that it does not print are left out."""
    found = {name: report.activity.get(statistic) for name, statistic in _RUN_COUNTERS.items()}
    return {name: row.total.value for name, row in found.items() if row is not None and row.total is not None}


def plain_model(report: Report) -> dict[str, object]:
    """Return the model with numbers as they are; figures that the report does not print are None."""
    found = _plain(report)
    assert isinstance(found, dict)
    return found | {"elapsed_s": _plain(report.elapsed_s)}


def _plain(value: object) -> object:
    if isinstance(value, Number):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(found) for key, found in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(found) for found in value]
    return value
