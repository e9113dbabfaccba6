"""The measurements of a run, or of another load, as plain data: made by engines and samplers, read by the analysis.

A missing number is None, never 0; ``unknown`` maps its name to the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum

from openslob.core.counts import SliceCounts
from openslob.core.histogram import Histogram, Slow
from openslob.core.method import OpKind
from openslob.core.rate_schedule import Stage
from openslob.core.workload import LoadPart, Workload

# The key in ``unknown`` of the reason for all numbers that have no reason of their own.
EVERY_FIGURE = "*"
# How such a reason begins if the server's clock, by which sessions time themselves, jumped.
CLOCK_WAS_SET = "the server's clock was set"


@dataclass(frozen=True)
class ObjectIo:
    """I/O of one kind of object over an interval. ``hits`` are blocks found in the cache; times are in µs."""

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
    CLUSTER = "cluster"
    STAGE = "stages"
    OTHER = "other"


@dataclass(frozen=True)
class TimedWait:
    """The waits of one event that the engine counts and times itself, over an interval.

    ``durations`` has the number of waits by [shortest, longest) in µs, if the engine counts them by duration.
    """

    event: str
    wait_class: WaitClass
    count: float
    time_us: float
    durations: Mapping[tuple[int, int], int] | None = None

    def __add__(self, other: TimedWait) -> TimedWait:
        known = self.durations is not None and other.durations is not None
        both = Counter(self.durations) + Counter(other.durations) if known else None
        return replace(self, count=self.count + other.count, time_us=self.time_us + other.time_us, durations=both)


def sum_waits(waits: Iterable[TimedWait]) -> list[TimedWait]:
    """Return the sum of the waits of each event, in the order in which events come first."""
    sums: dict[str, TimedWait] = {}
    for wait in waits:
        sums[wait.event] = sums[wait.event] + wait if wait.event in sums else wait
    return list(sums.values())


def scale(value: float | None, factor: float) -> float | None:
    """Return a figure in another unit; None if it is unknown."""
    return None if value is None else value * factor


@dataclass(frozen=True)
class EngineDelta:
    """The engine's counters over an interval, under names that are the same for every engine.

    A counter that is None is unknown; ``unknown`` has the reason. Times are in µs. ``rows_read`` counts rows fetched
    through the test tables' index, look-ups of updates included. ``shared_visits`` and ``private_visits`` are the
    blocks of the test tables, indexes excluded, that were requested from the shared cache and from the sessions'
    private memory. ``block_changes`` are the changes of blocks in the shared cache, those of index and undo blocks
    included. ``checkpoints`` are the server's, whoever caused them. ``db_cpu_us`` is the CPU time of the whole
    server, background processes included, and ``db_time_us`` the time that all sessions spent inside calls: both are
    for servers whose host can't be examined. ``timed_waits`` are the wait events that the engine times itself.
    ``by_instance`` has the counters of each instance of a cluster, whose sums these are.

    The counters from ``background_cpu_us`` on are those that only some engines have (`ONLY_SOME_HAVE`): None without a
    reason where the engine has no such thing. ``foreground_cpu_us``, of the processes that serve sessions, and
    ``background_cpu_us`` are the parts of ``db_cpu_us``; ``host_busy_us`` and ``host_idle_us`` are the CPU time of the
    server's host, over all its CPUs. ``single_reads`` are the waits for one
    block each; ``cache_blocks_read`` the blocks read into the shared cache, of which ``cache_blocks_prefetched`` were
    read before anybody asked for them. ``commit_waits`` are the commits that waited for the log, each counted once,
    however many shared a write. ``log_switches``: the log went on in its next file; ``log_switch_waits``: sessions had
    to wait for that because the next file was still needed. ``cache_resizes`` are the times that the server changed the
    size of its cache by itself; ``throttled_us`` is the time for which its resource manager held sessions back.
    ``direct_scans`` are the scans of tables that read past the shared cache. ``row_bytes_read`` and
    ``row_bytes_written`` are the bytes of the rows that sessions read and changed, whatever the engine read and wrote.
    With MODE=churn: ``rows_inserted_or_deleted``, ``vacuums`` that ended, and the growth, which may be less than 0, of
    ``table_bytes``, ``index_bytes``, ``dead_rows`` and ``purge_lag`` (transactions whose old row versions are left).
    ``transactions`` are all clients', committed or rolled back, our samplers' left out: counted of the whole server
    only.

    ``remedies`` says, by the name of a verdict, what to do on this server if it fails.

    ``server_wide`` names what counts the whole server, other sessions' work included: fields, kinds in ``by_object``
    and events in ``timed_waits``. All else is the work of the test's sessions alone. ``others`` has, by field, what
    other sessions did, where the engine can tell: part of a field in ``server_wide``, left out of any other field.
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
    block_changes: float | None = None
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
    background_cpu_us: float | None = None
    host_busy_us: float | None = None
    host_idle_us: float | None = None
    single_reads: float | None = None
    single_read_time_us: float | None = None
    cache_blocks_read: float | None = None
    cache_blocks_prefetched: float | None = None
    commit_waits: float | None = None
    log_switches: float | None = None
    log_switch_waits: float | None = None
    cache_resizes: float | None = None
    throttled_us: float | None = None
    transactions: float | None = None
    foreground_cpu_us: float | None = None
    direct_scans: float | None = None
    rows_inserted_or_deleted: float | None = None
    table_bytes: float | None = None
    index_bytes: float | None = None
    dead_rows: float | None = None
    vacuums: float | None = None
    purge_lag: float | None = None
    row_bytes_read: float | None = None
    row_bytes_written: float | None = None
    by_object: Mapping[str, ObjectIo] = field(default_factory=dict)
    timed_waits: Sequence[TimedWait] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)
    by_instance: Sequence[EngineDelta] = ()
    server_wide: frozenset[str] = frozenset()
    others: Mapping[str, float] = field(default_factory=dict)
    remedies: Mapping[str, str] = field(default_factory=dict)

    @property
    def wait_means_us(self) -> Mapping[str, float]:
        """Mean wait in µs by event, for each event that was waited for and that the engine times itself."""
        return {wait.event: wait.time_us / wait.count for wait in self.timed_waits if wait.count and wait.time_us}

    def of_all_sessions(self, name: str) -> float | None:
        """Return a counter of the test's sessions and, as far as the engine can tell, of all others."""
        value: float | None = getattr(self, name)
        if value is None or name in self.server_wide:
            return value
        return value + self.others.get(name, 0.0)

    def amounts(self) -> Mapping[str, float | None]:
        """Return every counter by name: all fields but those that break others down."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name not in _NO_AMOUNTS}

    @property
    def storage_waits(self) -> Mapping[str, Mapping[tuple[int, int], int]]:
        """The durations of waits for storage and for the log by event, for engines that count by duration."""
        kinds = (WaitClass.DATA_IO, WaitClass.LOG)
        return {wait.event: wait.durations for wait in self.timed_waits if wait.durations and wait.wait_class in kinds}


# What `EngineDelta.unknown` calls the durations of waits: the fact of the record, where the engine could count them.
WAIT_LATENCY = "wait_latency"
# And the size of the test tables, of an engine where updates alone change it.
SIZE = "size"
# And of an engine where a visited row has no block of its own, so that visits and reads of blocks can't be compared.
BLOCK_VISITS = "block_visits"
# The fields of `EngineDelta` that are no counters: they break counters down or say what they are.
_NO_AMOUNTS = frozenset({"by_object", "timed_waits", "unknown", "by_instance", "server_wide", "others", "remedies"})
# The counters that are read of a load with MODE=churn only.
CHURN_COUNTERS = frozenset(
    {"rows_inserted_or_deleted", "table_bytes", "index_bytes", "dead_rows", "vacuums", "purge_lag"}
)
# The counters that an engine may not have at all. What has no such counter needs no reason, and no verdict on it.
# Of engines that know the bytes of rows.
ROW_BYTE_COUNTERS = frozenset({"row_bytes_read", "row_bytes_written"})
ONLY_SOME_HAVE = frozenset({
    "background_cpu_us", "host_busy_us", "host_idle_us", "single_reads", "single_read_time_us", "cache_blocks_read",
    "cache_blocks_prefetched", "commit_waits", "log_switches", "log_switch_waits", "cache_resizes", "throttled_us",
    "transactions", "foreground_cpu_us", "direct_scans", *ROW_BYTE_COUNTERS, *CHURN_COUNTERS,
})  # fmt: skip


@dataclass(frozen=True)
class DeviceIo:
    """What a block device completed in an interval: requests, bytes, total request time in ms, busy time in ms.

    For several devices, each figure is a sum, except the busy time: it is that of the busiest device, because devices
    are busy at the same time. ``parts`` are the single devices; empty for one device.
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
        """Return the figures of both devices together."""
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


DEVICE_COUNTERS = tuple(each.name for each in fields(DeviceIo) if each.name not in ("name", "parts"))


@dataclass(frozen=True)
class HostDelta:
    """The operating system's counters of this host over an interval; CPU times in seconds.

    ``cpu`` is host time by kind (user, nice, system, irq, softirq, steal, idle, iowait …), summed over ``cores``.
    ``server_cpu_s`` is the CPU of all processes of the server, ended ones included, and ``sampler_cpu_s`` the part of
    it that sampling took; ``server_read_bytes`` is what they read from storage, without hits of the page cache.
    ``server_cpus_busy_s`` is how long the ``server_cores`` that it may run on were busy, for anything. ``client_cpu_s``
    is the CPU of an observed command and of all it waited for, ``package_energy_j`` the energy of all processors.
    ``server_runqueue_s`` is for how long threads of the server were ready to run and waited for a CPU.
    ``foreground_cpu_s`` and ``background_cpu_s`` are the parts of ``server_cpu_s`` that processes or threads took which
    serve sessions, and all others.
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
    package_energy_j: float | None = None
    driver_cpu_s: float | None = None
    driver_peak_rss_bytes: float | None = None
    client_cpu_s: float | None = None
    device: DeviceIo | None = None
    page_cache_bytes_before: float | None = None
    page_cache_bytes_after: float | None = None
    memory_available_bytes: float | None = None
    group: GroupUse | None = None
    server_runqueue_s: float | None = None
    foreground_cpu_s: float | None = None
    background_cpu_s: float | None = None
    unknown: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Window:
    """The measured window.

    ``load_start_ns`` is when the first operation began and ``load_end_ns`` when the last one ended, by the server's
    clock; of a load that is not ours, begin and end of what is observed. ``counter_seconds`` is the time that the
    engine's counters span. ``planned_s`` is RUN_TIME, or 0 when the run ends by WORK_LOOP.
    """

    load_start_ns: int
    load_end_ns: int
    counter_seconds: float
    start_skew_ms: float | None
    planned_s: float
    warmup_s: float

    @property
    def load_seconds(self) -> float:
        """Length of the load in seconds."""
        return (self.load_end_ns - self.load_start_ns) / 1e9


@dataclass(frozen=True)
class SessionTotals:
    """What one session did in the window.

    ``busy_us`` is time inside operations, ``idle_us`` time between slices. ``apart_us`` is the time of the load before
    its first slice and after its last one; the latter is not known of a session that was cancelled, and left out.
    """

    number: int
    schema: int
    counts: SliceCounts
    busy_us: float
    idle_us: float
    slices: int
    apart_us: float = 0.0


@dataclass(frozen=True)
class ClassTimes:
    """How long the operations of a class of sessions took, by kind: service and, at a given rate, response times."""

    latency: Mapping[OpKind, Histogram] = field(default_factory=dict)
    response: Mapping[OpKind, Histogram] = field(default_factory=dict)


@dataclass(frozen=True)
class Schedule:
    """The due times of a run at a given rate: how many operations did not begin, and how late sessions woke up.

    ``wanted_per_s`` is the rate, in operations per second over all sessions that have one. ``not_begun`` operations
    were due in the window and had not begun at its end; the oldest had then been due for ``oldest_s``. With a Poisson
    process only the first of a session is exact, and the number of later ones is their mean. ``wake_ups`` is how late
    sessions woke up for operations that they waited for; empty when the engine does not measure it.
    """

    wanted_per_s: float
    not_begun: float
    oldest_s: float
    wake_ups: Histogram


@dataclass(frozen=True)
class TimelinePoint:
    """A second (or more) that ends ``at_s`` after the start of the load; ``ops`` are transactions if it is not ours."""

    at_s: float
    seconds: float
    ops: float


@dataclass(frozen=True)
class Behind:
    """How far a copy was behind its primary over the readings of a window.

    ``bytes_mean`` and ``bytes_most`` of the primary's log were not applied there. What came into that log after the
    first reading was applied within ``late_s``, which is by readings, as a rule a second apart.
    """

    bytes_mean: float
    bytes_most: float
    late_s: float


@dataclass(frozen=True)
class Instance:
    """One instance of a cluster: the numbers of its sessions, how many of them were lost, and its own counters.

    ``behind`` is how far a copy was behind its primary; None for one that takes writes, and where it is not known.
    """

    target: str
    read_only: bool
    sessions: Sequence[int]
    lost: int
    engine: EngineDelta
    behind: Behind | None = None


@dataclass(frozen=True)
class OtherSessions:
    """Sessions of the server's clients that are not the test's, as the samples of the window saw them.

    ``seen`` maps who they are (user, database, application) to how often they were at work, over ``samples`` samples;
    None if there were no samples. In ``hidden`` of them this user could not see all sessions. ``shares_pct`` is their
    share of what the engine counted, in %, by field of `EngineDelta`.
    """

    seen: Mapping[str, int] | None = None
    samples: int = 0
    shares_pct: Mapping[str, float] = field(default_factory=dict)
    hidden: int = 0


@dataclass(frozen=True)
class GroupUse:
    """The CPU quota of the server's control group at the end of an interval, and what it held back.

    ``cpu_quota`` is in CPUs; None without a quota. ``throttled_s`` is the time for which tasks were ready and held
    back, summed over CPUs. ``periods`` are those of the quota in which the group had something to do; in
    ``periods_throttled`` of them it used up its quota.
    """

    cpu_quota: float | None
    throttled_s: float
    periods: float
    periods_throttled: float

    @property
    def throttled_pct(self) -> float:
        """The share of the periods in which the group used up its quota, in %."""
        return 100 * self.periods_throttled / self.periods if self.periods else 0.0


@dataclass(frozen=True)
class CeilingPoint:
    """The storage's rate with ``in_flight`` requests: requests/s and mean latency in µs, medians over all steps."""

    in_flight: int
    iops: float
    mean_us: float | None


@dataclass(frozen=True)
class Ceiling:
    """Random reads of one block size by the raw measurement ``id``, by requests in flight in ascending order."""

    id: str
    block_bytes: int
    points: tuple[CeilingPoint, ...]


@dataclass(frozen=True)
class StorageAlone:
    """The random reads of the raw measurement ``id``, with which runs on the same storage are compared.

    ``points`` are by block size in bytes and, for each, by requests in flight in ascending order. ``buffered``: the
    reads went through the page cache. ``host`` and its block ``device`` are None where they are not known.
    """

    id: str
    points: Mapping[int, tuple[CeilingPoint, ...]] = field(default_factory=dict)
    buffered: bool = False
    host: str | None = None
    device: str | None = None

    def ceiling(self, block_bytes: int) -> Ceiling:
        """Return the ceiling for random reads of ``block_bytes``; it has no points if none of this size were made."""
        return Ceiling(self.id, block_bytes, self.points.get(block_bytes, ()))


@dataclass(frozen=True)
class ServerReport:
    """The server's own report on an interval that holds the window.

    ``totals`` are over ``seconds``, which are printed in units of ``step_s``, by field of `EngineDelta`.
    """

    name: str
    seconds: float
    step_s: float
    totals: Mapping[str, float]


@dataclass(frozen=True)
class DriverUse:
    """One driver of several: a process that ran some of the sessions. What is None is unknown, for ``why_unknown``.

    ``number`` counts from 1. ``machine`` tells hosts apart, whatever their names. ``here`` means that it ran on the
    host of the process that led the run. ``seconds`` is the time of the window in which ``cpu_s`` (of the process) and
    ``host_busy_s`` (of all ``host_cpus`` together) were counted. ``clock_offset_s`` is the server's clock minus the
    driver's. ``lost`` says what became of a driver that did not end in order; ``files`` where its own raw files are,
    below the record's folder, or on its host if they could not be fetched (``left``).

    ``still_s`` is the longest time in the window in which the process did not go on although it had to, 0 for less than
    a second; it began ``still_at_s`` after the window. In it the process used ``still_cpu_s`` of CPU, and waited for a
    CPU for ``still_waited_s``.
    """

    number: int
    address: str
    host: str
    pid: int
    machine: str
    here: bool
    sessions: Sequence[int]
    python: str = ""
    seconds: float | None = None
    cpu_s: float | None = None
    peak_rss_bytes: float | None = None
    host_busy_s: float | None = None
    host_cpus: int | None = None
    clock_offset_s: float | None = None
    round_trip_ms: float | None = None
    ops: int | None = None
    ops_written: int | None = None
    files: str = ""
    left: bool = False
    lost: str = ""
    why_unknown: str = ""
    still_s: float = 0.0
    still_at_s: float | None = None
    still_cpu_s: float | None = None
    still_waited_s: float | None = None

    @property
    def name(self) -> str:
        """The driver as messages name it."""
        return f"driver {self.number} ({self.host}, pid {self.pid})"

    @property
    def cpu_pct(self) -> float | None:
        """CPU of the process in % of one CPU: its threads share one, since Python runs one of them at a time."""
        return None if self.cpu_s is None or not self.seconds else 100 * self.cpu_s / self.seconds

    @property
    def host_busy_pct(self) -> float | None:
        """How busy the CPUs of its host were, in %."""
        if self.host_busy_s is None or not self.seconds or not self.host_cpus:
            return None
        return 100 * self.host_busy_s / self.seconds / self.host_cpus


@dataclass(frozen=True)
class MeanRate:
    """A mean throughput between two times of the load: operations per second, with the 95 % interval if it is known."""

    ops_per_s: float
    low: float | None
    high: float | None
    begin_s: float
    end_s: float


class Known(StrEnum):
    """How it is known that a cap held a load back, and not requests that took longer.

    A ``limit read`` is one that the kernel, or a volume, reported. In a ``probe`` some sessions rested, and the rate
    stayed. A ``flat rate`` varied by so little that no latency explains it. ``either``: nothing tells the two apart.
    """

    LIMIT = "limit read"
    PROBE = "probe"
    FLAT = "flat rate"
    EITHER = "either"


@dataclass(frozen=True)
class Cap:
    """A cap that was in force in ``held``, periods in s of the load, and in the rest of the load was not.

    ``kind`` is ``iops``, ``bytes`` or ``cpu``, and ``direction`` ``read``, ``write``, ``both``, or ``request`` where it
    was not seen which of them (empty for CPU). All requests of one size have a rate of both kinds: ``kind_known`` says
    whether the kind is more than a guess.
    ``cap`` is in ``unit``: IOPS, MB/s or CPUs; it is also what refills a bucket in a second. ``dry_at_s`` is when it
    came into force; None if it was from the beginning. ``used`` is what was used beyond the refill until then, in
    requests, MB or s of CPU. It is the content of a ``bucket`` only if one was seen to refill, ``refills`` times: else
    that is None. ``lifted_at_s`` is when it went out of force; None if it held until the end. ``burst`` is the level
    without the cap and ``sustained`` the one under it. ``evidence`` says what speaks for it, and ``known`` what tells
    it from higher latency. ``request_bytes`` is the mean size of the requests, if that is known. ``each_ms`` is how
    long each took without the cap and under it, if that is known. ``flushes`` are those of the device's cache a second:
    whether a cap counts them as writes is not seen. ``beside`` has what else may be capped, where a ``request`` is: a
    direction, the level of its rate, and the mean size of its requests.
    """

    kind: str
    direction: str
    cap: float
    unit: str
    held: Sequence[tuple[float, float]]
    dry_at_s: float | None
    lifted_at_s: float | None
    bucket: float | None
    burst: MeanRate | None
    sustained: MeanRate | None
    evidence: Sequence[str]
    request_bytes: float | None = None
    known: Known = Known.EITHER
    kind_known: bool = False
    used: float | None = None
    refills: int = 0
    each_ms: tuple[float, float] | None = None
    flushes: float = 0.0
    beside: Sequence[tuple[str, float, float | None]] = ()

    @property
    def always(self) -> bool:
        """Whether the cap was in force from the beginning to the end."""
        return self.dry_at_s is None and self.lifted_at_s is None

    @property
    def is_sure(self) -> bool:
        """Whether it is a cap, and not only one of two explanations of a lower level."""
        return self.known is not Known.EITHER


@dataclass(frozen=True)
class LevelCourse:
    """How the throughput of a load went, whatever the cause; shares are of the ``level``, in operations per second.

    ``kept_pct`` is the share of the time in which it was not far below the level, and ``lowest`` the longest other
    stretch, in s; None without one. A slow ``fall`` goes from ``fall[0]`` to ``fall[1]`` (s) by ``fall_pct`` of the
    rate before. ``period_s`` is that of a throughput that goes up and down; None if it does not.
    """

    level: float
    kept_pct: float
    lowest: tuple[float, float] | None = None
    lowest_rate: float | None = None
    fall: tuple[float, float] | None = None
    fall_pct: float = 0.0
    period_s: float | None = None

    @property
    def slope_pct_per_min(self) -> float | None:
        """By how much of the rate before it the throughput fell in a minute of the slow fall."""
        return None if self.fall is None else -60 * self.fall_pct / (self.fall[1] - self.fall[0])


@dataclass(frozen=True)
class CapSearch:
    """What the course of a load of so many ``seconds`` tells of whether its level lasts.

    ``cap`` is what held it back; None if nothing did, or if ``why_unknown`` says why the course does not show it.
    ``more`` are further caps, at other levels. ``slower`` is a lower level at which each request took longer, as a
    probe showed: no cap. ``course`` is that of the throughput.
    """

    seconds: float
    cap: Cap | None = None
    why_unknown: str = ""
    more: Sequence[Cap] = ()
    slower: Cap | None = None
    course: LevelCourse | None = None

    @property
    def proven(self) -> Cap | None:
        """The first cap that is known to be one."""
        return next(iter(self.every_proven), None)

    @property
    def every_proven(self) -> Sequence[Cap]:
        """The caps that are known to be some, in the order of time."""
        return [each for each in (self.cap, *self.more) if each and each.is_sure]


@dataclass(frozen=True)
class RefusedSetting:
    """A setting that the sessions of a load give themselves and that the server refused.

    ``why`` says with which error, and what it means; ``spoils``: the figures may differ from those with it.
    """

    name: str
    why: str
    spoils: bool


@dataclass(frozen=True, kw_only=True)
class Observed:
    """What was measured of a server and its host, whatever the load.

    ``waits`` maps a wait event to the number of sessions seen in it, over all ``wait_samples`` samples. ``others`` are
    the sessions that are not the test's; there are none where the load is everybody's. ``local`` means that the server
    is on this host. ``file_system`` is the type of file system of its data; None when not known. ``no_device`` is
    why no read of the engine is known to be one of a device; empty where they may be. ``stand_in``: the server says
    that it is no database. ``refused_settings`` are those of the work loop's sessions. ``caps`` is what its course
    shows of caps on it; None if nobody looked. ``unevenness`` is how much its rate of requests varied from second to
    second, relative to the mean. ``elsewhere``: the server's host, whose counters were read, is not that of the driver.
    ``clock_us`` is what an operation's readings of the server's clock take, where the engine has measured that.
    ``cache_use_limit`` is that of `ServerFacts`, of a run whose hits are predicted.
    """

    block_size: int
    cache_bytes: int | None
    window: Window
    engine: EngineDelta
    host: HostDelta
    waits: Mapping[str, int]
    wait_samples: int
    timeline: Sequence[TimelinePoint]
    direct_io: bool | None
    local: bool
    file_system: str | None = None
    errors: Sequence[str] = ()
    interrupted: bool = False
    others: OtherSessions = OtherSessions()
    stand_in: bool = False
    no_device: str = ""
    refused_settings: Sequence[RefusedSetting] = ()
    caps: CapSearch | None = None
    unevenness: float | None = None
    elsewhere: bool = False
    clock_us: float | None = None
    cache_use_limit: int | None = None

    @property
    def busy_us(self) -> float | None:
        """DB time: here that by samples."""
        return self.sampled_us

    @property
    def sampled_us(self) -> float | None:
        """The mean number of sessions at work in the server, by samples, times the length of the window."""
        at_work = sum(self.waits.values()) / self.wait_samples if self.wait_samples else None
        return None if at_work is None else at_work * self.window.load_seconds * 1e6


@dataclass(frozen=True, kw_only=True)
class Measurement(Observed):
    """Everything that one run measured: the load is its own, and no other.

    ``blocks_before`` and ``blocks_after`` are the sizes of the test tables, which were loaded with the rows of
    ``blocks_loaded``. ``data_fault`` says why no further run can
    be made on them. ``latency`` is service time, by which ``slowest`` are the slowest. At a given rate there are also
    ``response``, the time from when an operation was due, and ``schedule``. ``instances`` are those of a cluster,
    ``drivers`` those that ran the sessions, if this process did not. ``ceiling`` is the rate of storage alone, if
    given; ``other_storage`` is the reason if that was made on other storage. ``unfinished_s`` has how long each
    operation had run at least that was cancelled at the end. ``server_report`` is the server's own, if it can be read.
    ``classes`` are the times of each class of sessions, by its name, ``stages`` those of a rate that changes.
    ``connects`` is how long it took sessions to connect in the window, if they did so again and again.
    """

    workload: Workload
    data_bytes: int
    sessions: Sequence[SessionTotals]
    latency: Mapping[OpKind, Histogram]
    blocks_before: int | None = None
    blocks_after: int | None = None
    blocks_loaded: int | None = None
    data_fault: str = ""
    response: Mapping[OpKind, Histogram] = field(default_factory=dict)
    schedule: Schedule | None = None
    instances: Sequence[Instance] = ()
    ceiling: Ceiling | None = None
    other_storage: str = ""
    unfinished_s: Sequence[float] = ()
    server_report: ServerReport | None = None
    slowest: Mapping[OpKind, Sequence[Slow]] = field(default_factory=dict)
    drivers: Sequence[DriverUse] = ()
    classes: Mapping[str, ClassTimes] = field(default_factory=dict)
    stages: Sequence[Stage] = ()
    connects: Histogram = field(default_factory=Histogram)

    @property
    def counts(self) -> SliceCounts:
        """The work loop's counters, summed over the sessions."""
        return sum((session.counts for session in self.sessions), SliceCounts())

    @property
    def parts(self) -> Sequence[tuple[LoadPart, Sequence[SessionTotals]]]:
        """The parts of the load, one for each class, with what their sessions did."""
        if not self.workload.classes:
            return [(part, self.sessions) for part in self.workload.parts]
        by_number = {session.number: session for session in self.sessions}
        return [
            (part, [by_number[number] for number in part.numbers if number in by_number])
            for part in self.workload.parts
        ]

    @property
    def timed(self) -> Sequence[Histogram]:
        """The times by kind that users would feel: response times of sessions with a rate, service times of others."""
        if not self.workload.classes:
            return list((self.latency if self.schedule is None else self.response).values())
        times = [(part.workload.is_paced, self.classes.get(part.name, ClassTimes())) for part in self.workload.parts]
        return [found for paced, each in times for found in (each.response if paced else each.latency).values()]

    @property
    def paced_ops(self) -> int:
        """How many operations the sessions did that have a rate."""
        paced = [sessions for part, sessions in self.parts if part.workload.is_paced or not part.name]
        return sum(session.counts.ops for sessions in paced for session in sessions)

    @property
    def busy_us(self) -> float:
        """The time that the sessions spent inside operations: DB time, if the server has the work loop."""
        return sum(session.busy_us for session in self.sessions)
