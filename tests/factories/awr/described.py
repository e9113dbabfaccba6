"""A database's figures between two snapshots, of which reports are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

Counts = Mapping[int, int]  # exponent e -> waits of at least 2^(e-1) and less than 2^e microseconds


@dataclass(frozen=True, slots=True)
class Wait:
    """What processes waited for. Each wait of a bucket took three quarters of its upper edge."""

    name: str
    wait_class: str
    counts: Counts
    timeouts: int = 0

    @property
    def waits(self) -> int:
        return sum(self.counts.values())

    @property
    def is_idle(self) -> bool:
        return self.wait_class == "Idle"

    @property
    def seconds(self) -> float:
        return sum(number * 0.75 * 2.0**power for power, number in self.counts.items()) / 1e6

    @property
    def mean_us(self) -> float:
        return self.seconds * 1e6 / self.waits

    def __add__(self, other: Wait) -> Wait:
        counts = {
            power: self.counts.get(power, 0) + other.counts.get(power, 0) for power in {*self.counts, *other.counts}
        }
        return replace(self, counts=counts, timeouts=self.timeouts + other.timeouts)


@dataclass(frozen=True, slots=True)
class Traffic:
    """I/O of a function or a type of file; times are means in microseconds, None where there was none."""

    name: str
    reads: int = 0
    writes: int = 0
    read_bytes: int = 0
    write_bytes: int = 0
    waits: int = 0
    wait_us: float | None = None
    small_us: float | None = None
    large_us: float | None = None

    def __add__(self, other: Traffic) -> Traffic:
        names = ("reads", "writes", "read_bytes", "write_bytes", "waits")
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in names})


@dataclass(frozen=True, slots=True)
class DataFile:
    """I/O of a data file over the interval; times are in all, in seconds."""

    tablespace: str
    path: str
    reads: int
    blocks: int
    read_s: float
    single_reads: int
    single_s: float
    writes: int
    buffer_waits: int
    buffer_s: float

    def __add__(self, other: DataFile) -> DataFile:
        names = ("reads", "blocks", "read_s", "single_reads", "single_s", "writes", "buffer_waits", "buffer_s")
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in names})


@dataclass(frozen=True, slots=True)
class Host:
    """A host; what it does not know is None. ``user``, ``system`` and ``iowait`` are shares of 1."""

    name: str
    platform: str
    cpus: int | None
    cores: int | None
    sockets: int | None
    memory: int
    load: tuple[float, float]
    user: float
    system: float
    iowait: float


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance. ``times`` are the time model's seconds without DB time, ``gc_us`` times of the global cache.

    ``ran_s`` is the time between its own snapshots, if that is not the time of the whole report.
    """

    number: int
    name: str
    host: Host
    started: datetime
    sessions: tuple[int, int]
    foreground: tuple[Wait, ...]
    background: tuple[Wait, ...]
    statistics: Mapping[str, int]
    times: Mapping[str, float]
    functions: tuple[Traffic, ...]
    filetypes: tuple[Traffic, ...]
    files: tuple[DataFile, ...]
    os_stats: Mapping[str, tuple[int, int | None]]
    efficiency: Mapping[str, float]
    parameters: Mapping[str, tuple[str, str]]
    log_switches: int
    gc_us: Mapping[str, float]
    gc_flushes: Mapping[str, float]
    ran_s: float | None = None

    @property
    def active(self) -> tuple[Wait, ...]:
        """The waits of the foreground that are part of DB time."""
        return tuple(wait for wait in self.foreground if not wait.is_idle)

    @property
    def db_time(self) -> float:
        return self.times["DB CPU"] + sum(wait.seconds for wait in self.active)

    @property
    def transactions(self) -> int:
        return self.statistics["user commits"] + self.statistics["user rollbacks"]


@dataclass(frozen=True, slots=True)
class Database:
    """A database with its instances. ``containers`` are those that its reports list; empty unless it has any."""

    name: str
    identifier: int
    unique_name: str
    role: str
    edition: str
    is_rac: bool
    is_container: bool
    containers: tuple[str, ...]
    block_size: int
    cache_mb: tuple[int, int]
    snaps: tuple[int, int]
    begin: datetime
    end: datetime
    instances: tuple[Instance, ...]

    @property
    def elapsed(self) -> float:
        return (self.end - self.begin).total_seconds()

    @property
    def db_time(self) -> float:
        return sum(one.db_time for one in self.instances)

    def per_second(self, one: Instance, total: float) -> float:
        """A total of an instance over its own time."""
        return total / (one.ran_s or self.elapsed)

    def statistics(self) -> dict[str, int]:
        """The sums over all instances."""
        names = self.instances[0].statistics
        return {name: sum(one.statistics[name] for one in self.instances) for name in names}

    def times(self) -> dict[str, float]:
        names = self.instances[0].times
        return {name: sum(one.times[name] for one in self.instances) for name in names}


def longest_first(*listed: tuple[Wait, ...]) -> list[Wait]:
    """Waits by their time, those of the same event added."""
    ordered = sorted((wait for some in listed for wait in some), key=lambda wait: wait.name)
    added = [_sum(list(waits)) for _, waits in groupby(ordered, key=lambda wait: wait.name)]
    return sorted(added, key=lambda wait: (-wait.seconds, -wait.waits, wait.name))


def _sum(waits: list[Wait]) -> Wait:
    total = waits[0]
    for wait in waits[1:]:
        total = total + wait
    return total


def by_class(waits: list[Wait]) -> list[Wait]:
    """Waits added by their class, whose name is that of the event, by their time."""
    return longest_first(tuple(replace(wait, name=wait.wait_class) for wait in waits))
