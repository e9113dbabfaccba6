"""What a report says, typed. A figure that the report does not give is None; why is asked of the report.

Numbers keep the step in which they were printed (``Number``), because what can be concluded from ``0`` seconds
and from ``0.00`` seconds differs. Times are seconds, latencies microseconds, whatever the report's own unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from openslob.awr.numbers import Number


class ReportKind(StrEnum):
    """What made the report."""

    AWR = "awr"
    AWR_PDB = "awr_pdb"
    AWR_GLOBAL = "awr_rac_global"
    STATSPACK = "statspack"


class Scope(StrEnum):
    """Whose waits a table counts, in the order in which a figure is preferred."""

    FOREGROUND = "Foreground Wait Events"
    TOP = "Top Timed Foreground Events"
    ALL = "Wait Events (foreground and background)"
    TOP_ALL = "Top Timed Events (foreground and background)"
    BACKGROUND = "Background Wait Events"
    TOP_BACKGROUND = "Top Timed Background Events"


@dataclass(frozen=True, slots=True)
class ReportInstance:
    """One instance of the database; ``elapsed_min`` and ``db_time_min`` only in global reports."""

    name: str | None = None
    number: int | None = None
    host: str | None = None
    release: str | None = None
    startup: str | None = None
    platform: str | None = None
    elapsed_min: Number | None = None
    db_time_min: Number | None = None


@dataclass(frozen=True, slots=True)
class Header:
    """Which database, on what host, between which snapshots. Memory in GB of 2^30 bytes, block size in bytes."""

    db_name: str | None = None
    db_id: int | None = None
    unique_name: str | None = None
    role: str | None = None
    edition: str | None = None
    release: str | None = None
    rac: bool | None = None
    cdb: bool | None = None
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
        """The instance's name, when the report is of one instance that it names."""
        return self.instances[0].name if len(self.instances) == 1 else None


@dataclass(frozen=True, slots=True)
class Rate:
    """A row of the load profile: per second and per transaction."""

    per_second: Number | None = None
    per_transaction: Number | None = None
    origin: str = "Load Profile"


@dataclass(frozen=True, slots=True)
class Statistic:
    """An instance activity statistic: how much in all, per second, per transaction."""

    total: Number | None = None
    per_second: Number | None = None
    per_transaction: Number | None = None


@dataclass(frozen=True, slots=True)
class WaitEvent:
    """A wait event as one table lists it. ``cut``: the name fills its column, so its end may be missing."""

    name: str
    scope: Scope
    waits: Number | None = None
    time_s: Number | None = None
    avg_us: Number | None = None
    timeouts_pct: Number | None = None
    share_pct: Number | None = None
    wait_class: str | None = None
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Bucket:
    """Waits from ``low_us`` to below ``high_us`` (None: no upper limit): their share of all waits of the event."""

    low_us: float
    high_us: float | None
    share_pct: float


@dataclass(frozen=True, slots=True)
class WaitHistogram:
    """How long the waits of an event took. Foreground and background together, as Oracle counts them."""

    name: str
    waits: Number | None
    buckets: tuple[Bucket, ...]
    cut: bool = False


@dataclass(frozen=True, slots=True)
class IoRates:
    """A row of the I/O profile, per second: requests, MB (2^20 bytes) or blocks, as its name says."""

    total: Number | None = None
    read: Number | None = None
    write: Number | None = None


@dataclass(frozen=True, slots=True)
class IoStat:
    """I/O of one function or file type: MB/s are 2^20 bytes, service time in µs."""

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
class OsStat:
    """An operating system statistic: its value, and its value at the end where that differs."""

    value: Number | None = None
    end: Number | None = None


@dataclass(frozen=True, slots=True)
class HostCpu:
    """Host CPU over the interval, per cent of all CPUs; load averages at its ends."""

    load_begin: Number | None = None
    load_end: Number | None = None
    user_pct: Number | None = None
    system_pct: Number | None = None
    wio_pct: Number | None = None
    idle_pct: Number | None = None


@dataclass(frozen=True, slots=True)
class InitParameter:
    """An initialization parameter; ``end`` only where it changed; ``instance`` in global reports, ``*`` for all."""

    begin: str
    end: str = ""
    instance: str = "*"


@dataclass(frozen=True, slots=True)
class Report:
    """One report. ``warnings`` say what in it cannot be trusted; ``missing`` maps what was looked for to why not.

    ``sections`` were read, ``unparsed`` are in the report and were not. ``complete`` is whether its end was there.
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

    @property
    def elapsed_s(self) -> Number | None:
        """Seconds between the snapshots."""
        minutes = self.header.elapsed_min
        return minutes.scaled(60.0) if minutes is not None and minutes.value > 0 else None

    def listed(self, scope: Scope) -> tuple[WaitEvent, ...]:
        """The events of one table, in its order."""
        return tuple(event for event in self.events if event.scope is scope)

    def event(self, name: str, *scopes: Scope) -> WaitEvent | None:
        """The wait event ``name``, from the first of ``scopes`` that lists it (default: foreground only).

        A name cut by its column is taken when no other event of the table begins like it.
        """
        for scope in scopes or (Scope.FOREGROUND,):
            if found := _by_name(name, self.listed(scope)):
                return found
        return None

    def foreground(self, name: str) -> WaitEvent | None:
        """``name`` as foreground processes waited for it, from the fullest table that this kind of report has."""
        if self.listed(Scope.FOREGROUND):
            return self.event(name, Scope.FOREGROUND, Scope.TOP)
        return self.event(name, Scope.TOP, Scope.ALL, Scope.TOP_ALL)

    def background(self, name: str) -> WaitEvent | None:
        """``name`` as background processes waited for it."""
        if self.listed(Scope.BACKGROUND):
            return self.event(name, Scope.BACKGROUND, Scope.TOP_BACKGROUND)
        return self.event(name, Scope.TOP_BACKGROUND, Scope.ALL, Scope.TOP_ALL)

    def histogram(self, name: str) -> WaitHistogram | None:
        """The wait histogram of event ``name``."""
        return _by_name(name, self.histograms)


_Named = TypeVar("_Named", WaitEvent, WaitHistogram)


def _by_name(name: str, listed: tuple[_Named, ...]) -> _Named | None:
    for item in listed:
        if item.name == name:
            return item
    cut = [item for item in listed if item.cut and name.startswith(item.name)]
    return cut[0] if len(cut) == 1 else None
