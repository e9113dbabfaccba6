"""What one run measured, in plain data: the hand-over from runner, engines and samplers to analysis and record.

Missing is None with a reason in ``unknown`` (figure name to reason), never 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum

from openslob.counts import SliceCounts
from openslob.histogram import Histogram
from openslob.method import OpKind
from openslob.record.storage import StorageRecord
from openslob.workload import Workload

# In ``unknown``: the reason that holds for all figures that have none of their own.
EVERY_FIGURE = "*"


@dataclass(frozen=True)
class ObjectIo:
    """I/O of one kind of object, totals of the interval; ``hits`` are blocks found in the cache, times are µs."""

    hits: float | None
    read_requests: float | None
    read_bytes: float | None
    write_requests: float | None
    read_time_us: float | None


class WaitClass(StrEnum):
    """The kind of resource that a wait event is about."""

    CPU = "CPU"
    DATA_IO = "data I/O"
    LOG = "log writes"
    LOCK = "locks"
    STAGE = "stages"
    OTHER = "other"


@dataclass(frozen=True)
class TimedWait:
    """The waits of one event that the engine counts and times itself, over an interval.

    ``histogram`` is how long they took, where the engine keeps that.
    """

    event: str
    wait_class: WaitClass
    count: float
    time_us: float
    histogram: Histogram | None = None

    def __add__(self, other: TimedWait) -> TimedWait:
        histogram = None
        if self.histogram is not None and other.histogram is not None:
            histogram = Histogram()
            histogram.merge(self.histogram)
            histogram.merge(other.histogram)
        return replace(self, count=self.count + other.count, time_us=self.time_us + other.time_us, histogram=histogram)


@dataclass(frozen=True)
class EngineDelta:
    """What the engine's counters say of an interval, in the product's terms; None is not known, with a reason.

    Times are µs. ``rows_read`` counts rows fetched through the test tables' index, updates' look-ups included.
    ``shared_visits`` and ``private_visits`` are the test tables' blocks, without those of indexes, that were asked of
    the shared cache and of sessions' private memory. ``db_cpu_us`` is the CPU time of the whole server, background
    processes included, and ``db_time_us`` the time that all sessions spent inside calls: they are for servers whose
    host can't be looked at. ``timed_waits`` are the wait events that the engine times itself. ``by_instance`` is
    the same of each instance of a cluster, whose sum this is.
    """

    logical_reads: float | None = None
    read_requests: float | None = None
    read_bytes: float | None = None
    read_time_us: float | None = None
    write_requests: float | None = None
    write_bytes: float | None = None
    log_bytes: float | None = None
    log_syncs: float | None = None
    log_sync_time_us: float | None = None
    log_write_requests: float | None = None
    full_page_images: float | None = None
    full_page_image_bytes: float | None = None
    commits: float | None = None
    rows_read: float | None = None
    rows_updated: float | None = None
    rows_updated_in_place: float | None = None
    checkpoints: float | None = None
    maintenance: float | None = None
    shared_visits: float | None = None
    private_visits: float | None = None
    db_cpu_us: float | None = None
    db_time_us: float | None = None
    by_object: Mapping[str, ObjectIo] = field(default_factory=dict)
    timed_waits: Sequence[TimedWait] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)
    by_instance: Sequence[EngineDelta] = ()

    @property
    def wait_means_us(self) -> Mapping[str, float]:
        """Mean wait in µs by event, for each event that was waited for and that the engine times itself."""
        return {wait.event: wait.time_us / wait.count for wait in self.timed_waits if wait.count and wait.time_us}

    def amounts(self) -> Mapping[str, float | None]:
        """Every count, amount and time by name: all but the break-downs."""
        broken_down = ("by_object", "timed_waits", "unknown", "by_instance")
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name not in broken_down}


@dataclass(frozen=True)
class DeviceIo:
    """What a block device completed in an interval: requests, bytes, total request time in ms, busy time in ms.

    Of several devices it is the sum, but for the busy time, which is that of the busiest: devices are busy at the same
    time. ``parts`` are the devices one by one; empty for a single one.
    """

    name: str
    reads: float
    read_bytes: float
    read_ms: float
    writes: float
    write_bytes: float
    write_ms: float
    busy_ms: float
    parts: Sequence[DeviceIo] = ()

    def __add__(self, other: DeviceIo) -> DeviceIo:
        """Return what this device and another one did together."""
        return DeviceIo(
            name=f"{self.name} + {other.name}",
            reads=self.reads + other.reads,
            read_bytes=self.read_bytes + other.read_bytes,
            read_ms=self.read_ms + other.read_ms,
            writes=self.writes + other.writes,
            write_bytes=self.write_bytes + other.write_bytes,
            write_ms=self.write_ms + other.write_ms,
            busy_ms=max(self.busy_ms, other.busy_ms),
            parts=(*(self.parts or (self,)), *(other.parts or (other,))),
        )


@dataclass(frozen=True)
class HostDelta:
    """What the operating system says of an interval on this host; CPU times in seconds.

    ``cpu`` is host time by kind (user, nice, system, irq, softirq, steal, idle, iowait …), summed over ``cores``.
    ``server_cpu_s`` is the CPU of all processes of the server, ended ones included; ``server_read_bytes`` is what
    they caused to be read from storage (page-cache hits are not in it). ``sampler_cpu_s`` is what the product's own
    sampling sessions cost inside the server, part of ``server_cpu_s``. ``server_cores`` is how many CPUs the server
    may run on, ``server_cpus_busy_s`` how long these were busy, with its work, interrupts or anybody else's.
    """

    seconds: float
    cores: int
    cpu: Mapping[str, float] | None = None
    server_cpu_s: float | None = None
    sampler_cpu_s: float | None = None
    server_cores: int | None = None
    server_cpus_busy_s: float | None = None
    server_read_bytes: float | None = None
    server_write_bytes: float | None = None
    driver_cpu_s: float | None = None
    driver_peak_rss_bytes: float | None = None
    device: DeviceIo | None = None
    page_cache_bytes_before: float | None = None
    page_cache_bytes_after: float | None = None
    memory_available_bytes: float | None = None
    unknown: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Window:
    """The measured window. Load times by the server's clock; ``counter_seconds`` is what the counters span.

    ``load_start_ns`` is the first operation's begin, ``load_end_ns`` the last operation's end. ``planned_s`` is
    RUN_TIME, 0 when the run ended by WORK_LOOP.
    """

    load_start_ns: int
    load_end_ns: int
    counter_seconds: float
    start_skew_ms: float
    planned_s: float
    warmup_s: float

    @property
    def load_seconds(self) -> float:
        """Length of the load in seconds."""
        return (self.load_end_ns - self.load_start_ns) / 1e9


@dataclass(frozen=True)
class SessionTotals:
    """What one session did in the window; ``busy_us`` is time inside operations, ``idle_us`` time between slices."""

    number: int
    schema: int
    counts: SliceCounts
    busy_us: float
    idle_us: float
    slices: int


@dataclass(frozen=True)
class Schedule:
    """What came of the due times of a run at a given rate, of ``wanted_per_s`` operations over all sessions.

    ``not_begun`` operations were due in the window and had not begun at its end, the oldest ``oldest_s`` after it had
    been due; of a Poisson process all after a session's first such are counted by their mean. ``wake_ups`` is how late
    sessions woke up for operations that they had been waiting for; empty when the engine does not measure it.
    """

    wanted_per_s: float
    not_begun: float
    oldest_s: float
    wake_ups: Histogram


@dataclass(frozen=True)
class TimelinePoint:
    """One second (or more) of the window: its end from the start of the load, operations, engine reads, CPU."""

    at_s: float
    seconds: float
    ops: float
    reads: float | None
    server_cpu_s: float | None
    steal_s: float | None


@dataclass(frozen=True)
class Instance:
    """One instance of a cluster: the numbers of its sessions, how many of them were lost, what its counters say."""

    target: str
    read_only: bool
    sessions: Sequence[int]
    lost: int
    engine: EngineDelta


@dataclass(frozen=True)
class Measurement:
    """Everything one run measured. ``waits`` counts samples by event; ``wait_samples`` is how often was looked.

    ``blocks_before`` and ``blocks_after`` are the test tables' sizes; ``local``: the server is on this host;
    ``file_system`` is the kind its data lie on, None when that is not known. ``latency`` is service time;
    ``response``, time from when an operation was due, and ``schedule`` are there of a run at a given rate.
    ``instances`` are those of a cluster, none for a single server. ``ceiling`` is a raw measurement of the same
    storage, where one was given; ``other_storage`` tells why it is one of other storage, if it is.
    """

    workload: Workload
    block_size: int
    cache_bytes: int
    data_bytes: int
    window: Window
    sessions: Sequence[SessionTotals]
    latency: Mapping[OpKind, Histogram]
    engine: EngineDelta
    host: HostDelta
    waits: Mapping[str, int]
    wait_samples: int
    timeline: Sequence[TimelinePoint]
    direct_io: bool | None
    local: bool
    file_system: str | None = None
    blocks_before: int | None = None
    blocks_after: int | None = None
    errors: Sequence[str] = ()
    interrupted: bool = False
    response: Mapping[OpKind, Histogram] = field(default_factory=dict)
    schedule: Schedule | None = None
    instances: Sequence[Instance] = ()
    ceiling: StorageRecord | None = None
    other_storage: str = ""

    @property
    def counts(self) -> SliceCounts:
        """What the work loop counted in all sessions together."""
        return sum((session.counts for session in self.sessions), SliceCounts())
