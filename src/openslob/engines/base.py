"""What an engine must offer: a new engine implements these protocols and passes the contract tests.

An engine object is cheap: it holds a target and opens connections when asked. Nothing in here is specific to one
product, and nothing outside an engine's own package may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol, runtime_checkable

from openslob.core.counts import SliceCounts
from openslob.core.histogram import Histogram
from openslob.core.host import OtherHost
from openslob.core.measurement import EngineDelta
from openslob.core.method import OpKind, Phases
from openslob.core.secrets import Address
from openslob.core.workload import DataSpec, StatisticsType, Workload
from openslob.engines.capabilities import Capability
from openslob.engines.copies import Replicated
from openslob.engines.facts import DataState, Finding, LoadResult, ProgressSink, ServerFacts, ServerLocation
from openslob.engines.ledger import LedgerTables
from openslob.engines.patience import Patience
from openslob.engines.proofs import Proving
from openslob.engines.settings import KnownSettings, SettingChange

# How long the server may take to accept the request to cancel a slice, in s.
CANCEL_S = 2.0


class SamplingScope(StrEnum):
    """Whose work a sampler reports: the test's sessions, with others apart, or everything that the server does."""

    TEST = "test"
    SERVER = "server"


# 127 years: longer than any run.
ENDLESS_US = 4e15


@dataclass(frozen=True)
class SessionPlan:
    """One session's part of a workload, resolved: ``number`` from 0, ``schema`` from 1, ranges in keys.

    ``hotspot`` is (first key, number of keys) or None. ``tag`` is unique to session and run, so that every update
    writes a value that no earlier update wrote. ``interval_us`` is the mean time between the due times of its
    operations (how they lie is the workload's ``pacing``), None for a session that works as fast as it can.
    ``settings`` are what the run is made with: the session sets its own, before all that the work loop needs.

    In a run with classes of sessions ``workload`` is that of the session's class, which ``of_class`` names; ``part`` is
    the number of the class, from 0, and ``first`` that of its first session. ``crowd`` is how many sessions all classes
    have; None: those of the workload. ``instance`` is the number of the instance of a cluster; None: by its own number.
    """

    number: int
    schema: int
    scale: int
    block_size: int
    workload: Workload
    phases: Phases
    hotspot: tuple[int, int] | None
    tag: str
    interval_us: float | None = None
    settings: Sequence[SettingChange] = ()
    of_class: str = ""
    part: int = 0
    first: int = 0
    crowd: int | None = None
    instance: int | None = None

    @property
    def of_all(self) -> int:
        """How many sessions the run has."""
        return self.crowd or self.workload.total_sessions


@dataclass(frozen=True)
class SliceRequest:
    """The order for one slice: when it may begin and must end, by the server's clock in ns since the epoch.

    ``first_op`` is the number of the session's next operation; ``max_ops`` ends the slice early, 0 for no limit.
    ``due_ns`` is when that operation is due; None when the session is not paced. ``interval_us`` is the mean time
    between due times in this slice; None: that of the session's plan. The slice ends before the first operation that is
    due ``due_for_us`` after ``due_ns``, or later.
    """

    first_op: int
    not_before_ns: int
    until_ns: int
    max_ops: int
    due_ns: int | None = None
    interval_us: float | None = None
    due_for_us: float = ENDLESS_US


@dataclass(frozen=True)
class SliceResult:
    """The result of one slice: times by the server's clock, counts, and a latency histogram for each kind of operation.

    ``first_op_ns`` is when the first operation began (None if none did); ``busy_us`` is the time inside operations.
    ``latency`` is service time, from an operation's begin. Of a paced session ``response`` is the time from when an
    operation was due, so that waiting for a late predecessor counts, and ``due_ns`` is when the next one is due: a
    slice begins no operation before it is due. An operation that is overdue at the end of a slice is left to the next.
    ``wake_ups`` is how late the session woke up for operations that it had waited for, where the engine measures that.
    ``connects`` is how long it took to connect, of a session that does so again and again.
    An operation that was refused and run again (``counts.conflicts``) counts once, with all its attempts in its
    latency. A loop that does not run such an operation again loses the session, so that no operation is skipped.
    """

    start_ns: int
    end_ns: int
    first_op_ns: int | None
    counts: SliceCounts
    latency: Mapping[OpKind, Histogram]
    response: Mapping[OpKind, Histogram] = field(default_factory=dict)
    due_ns: int | None = None
    wake_ups: Histogram = field(default_factory=Histogram)
    connects: Histogram = field(default_factory=Histogram)

    @property
    def busy_us(self) -> float:
        """Time inside operations, in µs."""
        return sum(histogram.sum_us for histogram in self.latency.values())


class Session(Protocol):
    """One connection that runs the work loop. Used by one thread, but `cancel` may come from another."""

    def load_private_tables(self, wrote_blocks: Callable[[int], None]) -> None:
        """Create and verify the session's own copy of its tables; before `prepare`, on the local path only.

        ``wrote_blocks`` is called with the blocks of every batch, and with 0 after a step without blocks; what it
        raises ends the load.
        """

    def prepare(self) -> None:
        """Set the session up (settings, plans, caches, seed), so that the first operation is no slower than others."""

    def plans(self) -> Mapping[str, str]:
        """Return the plan of each statement of the work loop; SlobError when one is not single-block index access."""

    def settings(self) -> Mapping[str, str]:
        """Return the plan's settings after `prepare` as the server shows them; SlobError for another value."""

    def run_slice(self, order: SliceRequest) -> SliceResult:
        """Run the loop inside the server until the order's end. SlobError when the session is lost."""

    def backend_id(self) -> int:
        """Return the server's number for this session (its process or thread)."""

    def instance(self) -> str | None:
        """Return the instance that the session landed on; None when the target is one server or does not report it.

        In a cluster it is the target of the instance. Behind a service or a load balancer only the session knows it.
        """

    def cancel(self) -> bool:
        """Ask the server to stop the running slice at once; return whether it took the request, within `CANCEL_S`."""

    def cut(self) -> None:
        """Break the connection off from this side, without asking the server: a slice that runs fails. Never raises."""

    def close(self) -> None:
        """End the session; never raises."""


@dataclass(frozen=True)
class CounterReading:
    """The engine's cumulative counters at one moment of its clock: ``values`` by dotted name, raw.

    ``epoch`` changes when any of them was reset, so that no difference is taken across a reset.
    """

    server_ns: int
    values: Mapping[str, float]
    epoch: str


class Counting(Protocol):
    """How an engine takes differences of its readings.

    An implementation is a frozen dataclass of plain values, which a record keeps: with them and the readings in
    `samples.csv` the differences can be taken again, without the server.
    """

    def difference(self, before: CounterReading, after: CounterReading) -> EngineDelta:
        """Return what happened between two readings; all figures are unknown if a counter was reset in between."""


@runtime_checkable
class Recountable(Protocol):
    """Counters whose differences can be taken again."""

    @property
    def counting(self) -> Counting | None:
        """What takes their differences; None if one of several can't be taken again."""


@runtime_checkable
class Settling(Protocol):
    """Counters of which the server shows some late, after a load has ended as well."""

    def settle(self, before: CounterReading, after: CounterReading) -> CounterReading:
        """Return the reading ``after`` a load with what came late, once no more comes.

        Where it has not ended when it should have, the reading says so, and the figures of it are unknown.
        """


# What engines call the tasks that serve sessions: the test's, our samplers', those of other clients and their workers.
SESSION_KINDS = frozenset({
    "client backend", "parallel worker", "session", "slob", "sampler", "other client", "other session",
})  # fmt: skip


class Counters(Protocol):
    """Reads the engine's counters over one connection kept open for the whole run."""

    def read(self) -> CounterReading:
        """Return all counters as they are now."""

    def backend_ids(self) -> Sequence[int]:
        """Return the sampler's own session (one on each instance of a cluster), so that its cost can be measured."""

    def difference(self, before: CounterReading, after: CounterReading) -> EngineDelta:
        """Return what happened between two readings; all figures are unknown if a counter was reset in between."""

    def task_kinds(self) -> Mapping[int, str]:
        """Return what each process or thread of the server is for, by the operating system's number for it.

        Those that serve sessions have one of `SESSION_KINDS`. Tasks that the server does not report are left out. A
        cluster returns none: its numbers may be of several hosts.
        """

    def close(self) -> None:
        """Close the connection; never raises."""


@dataclass(frozen=True)
class Activity:
    """What the server's sessions are doing at one moment.

    ``events`` are the test's sessions by event (``Class:Event``, or ``CPU`` for no wait); those outside operations are
    left out. Class ``Stage`` is for a server that reports where a session is in its statement instead of what it waits
    for. Its stage of committing is a wait for the log.

    ``others`` are sessions of clients that are not this product's on this database and are at work: they run a
    statement and do not just sleep. They are counted by who they are, one text of user, database and application, as
    the engine names them. It is empty when nobody else is at work, and None when this user may not see that. The
    server's own maintenance (autovacuum, purge, replication) is not among them; a copy of the server's files made for
    a client is.

    ``by_instance`` are the instances of a cluster, in their order, of which this is the sum.
    """

    events: Mapping[str, int]
    others: Mapping[str, int] | None = None
    by_instance: Sequence[Activity] = ()


class WaitSampler(Protocol):
    """Samples what the server's sessions are doing at this moment, over one connection kept open."""

    def sample(self) -> Activity:
        """Return what they are doing now; ten times a second, so it must cost little."""

    def backend_ids(self) -> Sequence[int]:
        """Return the sampler's own session (one on each instance of a cluster), so that its cost can be measured."""

    def close(self) -> None:
        """Close the connection; never raises."""


class Snapshotter(Protocol):
    """Brackets the window with snapshots of the server's own statistics, for reports that the server makes of them."""

    def begin(self) -> None:
        """Take the snapshot before the window, which may take seconds. SlobError when the server refuses."""

    def end(self) -> Mapping[str, str | bytes]:
        """Take the snapshot after the window; return what goes into the record's folder, by file name."""

    def close(self) -> None:
        """Close the connection; never raises."""


@dataclass(frozen=True)
class OwnCalibration:
    """What a server says of its storage by a means of its own, named by ``by``; no figure of ours.

    The rates are the highest of random reads of one block, and of 1 MB in MB/s; ``latency_ms`` is the mean of the
    former, in whole ms.
    """

    by: str
    max_iops: float
    max_mb_per_s: float
    latency_ms: float


class Calibrator(Protocol):
    """Lets a server calibrate its own storage, over a connection of its own."""

    def calibrate(self, disks: int, most_ms: int) -> OwnCalibration:
        """Return what the server finds, after minutes. SlobError when it refuses.

        ``disks`` is about how many disks there are, ``most_ms`` the latency of one block that is allowed.
        """

    def close(self) -> None:
        """Close the connection; never raises."""


@dataclass(frozen=True)
class Hold:
    """The target's lock while it is held.

    ``restored`` has one line for each server setting that a killed driver had left changed and that was restored.
    ``require`` raises SlobError once the lock is lost; it asks the server nothing, so that it may be called often.
    ``restore`` restores the settings that were changed under the lock, as its end does.
    """

    restored: Sequence[str] = ()
    require: Callable[[], None] = lambda: None
    restore: Callable[[], None] = lambda: None

    @contextmanager
    def part(self) -> Iterator[Hold]:
        """Hold the same lock for a part of its time, such as a run of a sweep; its settings are restored at its end."""
        try:
            self.require()
            yield Hold(require=self.require)
        finally:
            self.restore()


class StopSignal(Protocol):
    """Makes the sessions of a run end their slices early."""

    def request(self) -> None:
        """Make every session stop soon. SlobError when the server can't be reached."""

    def close(self) -> None:
        """Withdraw the signal; never raises."""


class DataStore(Protocol):
    """The test data of one target, which `slob load` creates and `slob drop` removes."""

    def state(self) -> DataState | None:
        """Return what is loaded, or None."""

    def load(self, spec: DataSpec, degree: int, progress: ProgressSink, cancelled: Callable[[], bool]) -> LoadResult:
        """Load the tables and verify them. After a failure `state` never reports the data as verified."""

    def drop(self) -> list[str]:
        """Remove everything that a load made; return the names of what was removed."""

    def table_blocks(self) -> int:
        """Return the number of blocks of the test tables now, which shows whether updates made them grow."""

    def files(self, directory: Path) -> Sequence[Path]:
        """Return the files of the test tables of a server on this host, whose data are in ``directory``.

        None of a server whose tables have no files of their own, and of a cluster.
        """


class Engine(Protocol):
    """One database server as a target of loads and runs.

    ``address`` is what the engine was made of, with the password. ``server_pid`` is the server's main process on this
    host as the user names it, for servers whose process can't be found from here. ``host`` is the server's host if the
    user names another one: the process is one of that host then. ``direct`` is the server itself behind an address that
    is a pooler's: only sessions go through that. UsageError where it is set and can't be. ``data`` are the test data.
    ``replication`` is None for a database whose instances share one copy of the data: no cluster waits for copies.
    """

    name: str
    target: str
    address: Address
    server_pid: int | None
    host: OtherHost | None
    direct: Address | None

    @property
    def data(self) -> DataStore:
        """The test data of this target."""

    @property
    def replication(self) -> Replicated | None:
        """The position of this instance's copy of the data; None when instances have no copies of their own."""

    def facts(self) -> ServerFacts:
        """Return what the server is and how it is configured. SlobError when it can't be reached.

        Block size and cache are those of the test tables: of the tablespace that the target names, if it does.
        """

    def location(self) -> ServerLocation:
        """Return the server's processes and data directories, if they are proven to be on this host, or on ``host``."""

    def findings(self, workload: Workload) -> Iterator[Finding]:
        """Return the findings about server, rights, data and settings that would make this run fail or mislead."""

    def try_statements(self, plan: SessionPlan) -> Iterator[Finding]:
        """Try what a load, a run of this plan and a drop would execute; yield a finding for what the server refuses.

        Nothing stays of it, and nothing that others use is changed. Called where `findings` has nothing that blocks but
        missing data. What can't be tried without effect is left out; an engine with `proving` leaves it to that.
        """

    def capabilities(self) -> Sequence[Capability]:
        """Return every capability that the engine can use, present or missing on this server."""

    def proving(self) -> AbstractContextManager[Proving] | None:
        """Return the questions that only a real server can answer, with what they need, which ends with the block.

        None for an engine whose contract tests run on real servers. The target's lock is to be held.
        """

    def ledger(self) -> LedgerTables | None:
        """Return the tables that prove what the server keeps; None for an engine that has none, and for a cluster."""

    def known_settings(self) -> AbstractContextManager[KnownSettings]:
        """Give the settings that a session can change on this server, during the block."""

    def exclusive(self, purpose: str) -> AbstractContextManager[Hold]:
        """Hold the target's lock: one load or run at a time. SlobError names the holder."""

    def install(self, workload: Workload) -> None:
        """Create the work loop for this workload's tables in the server."""

    def quiesce(self, workload: Workload, warm_cache: bool) -> Sequence[str]:
        """Prepare the server before the clock starts (a checkpoint and the like); return what was done.

        Global settings that the run needs are changed here and restored when `exclusive` ends. ``warm_cache``: read
        all blocks that the workload will visit once, so that the run begins with them in the cache.
        """

    def open_session(self, plan: SessionPlan) -> Session:
        """Connect one session."""

    def open_counters(self, scope: SamplingScope = SamplingScope.TEST) -> Counters:
        """Connect the counter sampler.

        With `SamplingScope.SERVER` every figure is of the whole server, of all its databases and clients, as far as it
        counts them; what only the work loop's own tables and sessions tell is unknown, with the reason. No test data
        and no schema of ours are needed then. Transactions are the clients' alone; all other figures have the samplers'
        own work in them, too, and that of the server's background processes.
        """

    def open_waits(self, scope: SamplingScope = SamplingScope.TEST) -> WaitSampler:
        """Connect the wait sampler.

        With `SamplingScope.SERVER` the events are those of the sessions of all clients in all databases, parallel
        workers of their statements included, and there are no others: the server's own maintenance is in neither. What
        is no session of the work loop but has this product's name is left out. Others are None then where this user may
        not see what some sessions do.
        """

    def open_snapshots(self, kind: StatisticsType, consented: frozenset[str]) -> Snapshotter | None:
        """Connect the snapshotter of this kind; return None for ``NONE``, and where servers make no such reports.

        ``consented`` names the licensed capabilities that may be used; SlobError for any other that is needed.
        Where ``kind`` is of all instances of a database, so are the snapshots and the reports.
        """

    def open_calibrator(self, consented: frozenset[str]) -> Calibrator:
        """Connect what lets the server calibrate its storage. SlobError if it can't, or the user consented to less."""

    def open_stop(self) -> StopSignal:
        """Connect the stop signal of a run."""

    def follow(self, patience: Patience) -> None:
        """Let every wait for the server end when ``patience`` says so, those of connections to be opened above all."""

    def obstacle(self) -> str:
        """Return who keeps connections of this product waiting, in one line; empty when nobody else does.

        It is empty, too, when the server answers that it takes no further connection. SlobError, within a few seconds,
        when it does not answer. Called from any thread.
        """

    def sessions_left(self) -> int:
        """Return how many of this product's sessions the server still has, this connection left out."""

    def release_sessions(self) -> int:
        """End this product's sessions that were left behind; return how many.

        SlobError when they are those of a run that is still going on, although it has lost its lock.
        """
