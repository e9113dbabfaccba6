"""What an engine must offer. A new engine is a folder that implements these protocols and passes the contract tests.

An engine object is cheap: it holds a target and opens connections when asked. Nothing in here is specific to one
product, and nothing outside `engines/` may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from openslob.histogram import Histogram
from openslob.measurement import EngineDelta
from openslob.method import OpKind, Phases
from openslob.workload import DataSpec, Workload

# The name of findings about the data, which `Engine.load` puts right.
DATA = "data"
# The finding of a server that takes no writes. A cluster has others that do, and a rule of its own.
READ_ONLY_FINDING = "read only"


@dataclass(frozen=True)
class Finding:
    """One result of a pre-flight check. ``blocking``: the run would fail or lie; else it is told and recorded.

    ``spoils``: it runs, but measures something else than what was meant. A ``remedy`` that is a statement for the
    server can be used as it stands.
    """

    name: str
    why: str
    remedy: str
    blocking: bool
    spoils: bool = False


@dataclass(frozen=True)
class InstanceFacts:
    """One instance of a cluster: its target, and whether it takes reads only."""

    target: str
    read_only: bool


@dataclass(frozen=True)
class ServerFacts:
    """What the server says of itself before a run; all of it goes into the record.

    ``settings`` holds every setting that bears on the result, as text. ``free_connections`` counts what is left for
    sessions and samplers. ``connection`` says how it is reached, as text by fact: ``transport`` (unix socket, TCP, TLS
    with version and cipher), ``pooler`` if one stands between. ``read_only``: it takes no writes, being a standby or
    so. ``cluster_id`` is the same for servers that hold copies of the same data, and for no others; empty when the
    server does not say. ``instances`` are those of a cluster, in the order in which sessions go round-robin over them;
    empty for a single server.
    """

    product: str
    version: str
    block_size: int
    cache_bytes: int
    free_connections: int
    settings: Mapping[str, str]
    direct_io: bool | None
    connection: Mapping[str, str] = field(default_factory=dict)
    read_only: bool = False
    cluster_id: str = ""
    instances: Sequence[InstanceFacts] = ()


@dataclass(frozen=True)
class ServerLocation:
    """Where the server is on this host: its main process and its data; or why that is not known.

    Only what is proved: an address of this host may lead through a tunnel, a proxy or into a container. The data
    directory is never known without the main process. ``others`` are those of a cluster's other instances, all of them
    on this host too.
    """

    main_pid: int | None
    data_directory: Path | None
    why_unknown: str = ""
    others: Sequence[ServerLocation] = ()


@dataclass(frozen=True)
class DataState:
    """What is loaded: its specification and whether it was verified; ``tables`` maps schema number to blocks."""

    spec: DataSpec
    verified: bool
    loaded_at: str
    blocks: Mapping[int, int]


@dataclass(frozen=True)
class LoadProgress:
    """Blocks written so far of how many, in which phase; sent every so often while loading."""

    phase: str
    blocks_done: int
    blocks_total: int


@dataclass(frozen=True)
class LoadResult:
    """A finished, verified load; ``checks`` names each check with the figure it saw. ``reused``: it was there."""

    spec: DataSpec
    seconds: float
    blocks: int
    bytes: int
    checks: Mapping[str, str]
    reused: bool


@dataclass(frozen=True)
class SessionPlan:
    """One session's part of a workload, resolved: ``number`` from 0, ``schema`` from 1, ranges in keys.

    ``hotspot`` is (first key, number of keys) or None. ``tag`` is unique to session and run, so that every update
    writes a value that was never there before. ``interval_us`` is the mean time between the due times of its
    operations (how they lie is the workload's ``pacing``), None for a session that works as fast as it can.
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


@dataclass(frozen=True)
class SliceRequest:
    """What the next slice shall do, on the server's clock (ns since the epoch): start not before, end not after.

    ``first_op`` is the number of the session's next operation; ``max_ops`` ends the slice early, 0 for no limit.
    ``due_ns`` is when that operation is due; None when the session is not paced.
    """

    first_op: int
    not_before_ns: int
    until_ns: int
    max_ops: int
    due_ns: int | None = None


@dataclass(frozen=True)
class SliceResult:
    """What one slice did: times by the server's clock, counts, and a latency histogram for each kind of operation.

    ``first_op_ns`` is when the first operation began (None if none did); ``busy_us`` is the time inside operations.
    ``rows_read`` (by SELECTs), ``rows_updated`` and ``rows_scanned`` are what the engine returned, not what was asked.
    ``latency`` is service time, from an operation's begin. Of a paced session ``response`` is the same from the due
    time, so that waiting for a late predecessor counts, and ``due_ns`` is when its next operation is due; a slice
    begins no operation before it is due, and leaves one that is overdue at its end to the next slice. ``wake_ups`` is
    how late it woke up for those operations that it had been waiting for, as far as the engine measures that.
    ``conflicts`` counts how often an operation was refused because of another transaction's change and run again; the
    operation counts once, with all its attempts in its latency. A loop that does not run such an operation again loses
    the session, so that nothing is passed over.
    """

    start_ns: int
    end_ns: int
    first_op_ns: int | None
    ops: int
    rows_read: int
    rows_updated: int
    rows_scanned: int
    latency: Mapping[OpKind, Histogram]
    response: Mapping[OpKind, Histogram] = field(default_factory=dict)
    due_ns: int | None = None
    wake_ups: Histogram = field(default_factory=Histogram)
    conflicts: int = 0

    @property
    def busy_us(self) -> float:
        """Time inside operations, in µs."""
        return sum(histogram.sum_us for histogram in self.latency.values())


class Session(Protocol):
    """One connection that runs the work loop. Used by one thread, but `cancel` may come from another."""

    def load_private_tables(self, wrote_blocks: Callable[[int], None]) -> None:
        """Make and verify the session's own copy of its tables; before `prepare`, on the local path only.

        ``wrote_blocks`` hears of every batch and step (0: no block, but a step done); what it raises ends the load.
        """

    def prepare(self) -> None:
        """Set the session up (settings, plans, caches, seed), so that the first operation costs what the others do."""

    def plans(self) -> Mapping[str, str]:
        """The plan text of each statement of the work loop; SlobError when one is not single-block index access."""

    def run_slice(self, order: SliceRequest) -> SliceResult:
        """Run the loop inside the server until the order's end. SlobError when the session is lost."""

    def backend_id(self) -> int:
        """The server's number for this session (its process or thread)."""

    def cancel(self) -> None:
        """Ask the server to stop the running slice at once."""

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


class Counters(Protocol):
    """Reads the engine's counters over one connection kept open for the whole run."""

    def read(self) -> CounterReading:
        """All counters now."""

    def backend_ids(self) -> Sequence[int]:
        """The sampler's own session (one on each instance of a cluster), so that its cost can be measured."""

    def difference(self, before: CounterReading, after: CounterReading) -> EngineDelta:
        """What happened between two readings; every figure unknown if the counters were reset in between."""

    def task_kinds(self) -> Mapping[int, str]:
        """What each process or thread of the server is for, by the operating system's number for it.

        What the server does not tell is left out; nothing is told of a cluster, whose numbers may mean several hosts'.
        """

    def close(self) -> None:
        """Close the connection; never raises."""


class Waits(Protocol):
    """Samples what the test's sessions are doing at this moment, over one connection kept open."""

    def sample(self) -> Mapping[str, int]:
        """Sessions by event (``Class:Event``, or ``CPU`` for no wait); those outside operations are left out.

        Class ``Stage``: the server tells where a session is in its statement, not what it waits for, but for commits,
        which are a wait for the log.
        """

    def backend_ids(self) -> Sequence[int]:
        """The sampler's own session (one on each instance of a cluster), so that its cost can be measured."""

    def close(self) -> None:
        """Close the connection; never raises."""


class StopSignal(Protocol):
    """Makes the sessions of a run end their slices before their time."""

    def request(self) -> None:
        """Let every session stop soon. SlobError when the server can't be told."""

    def close(self) -> None:
        """Take the signal back; never raises."""


ProgressSink = Callable[[LoadProgress], None]


class Engine(Protocol):
    """One database server as a target of loads and runs."""

    name: str
    target: str

    def facts(self) -> ServerFacts:
        """What the server is and how it is set. SlobError when it can't be reached."""

    def footprint(self) -> ServerLocation:
        """Main process and data directory, when the server is on this host and says so."""

    def findings(self, workload: Workload) -> Iterator[Finding]:
        """Everything about server, rights, data and settings that would spoil this run."""

    def data_state(self) -> DataState | None:
        """What is loaded, or None."""

    def load(self, spec: DataSpec, degree: int, progress: ProgressSink, cancelled: Callable[[], bool]) -> LoadResult:
        """Load and verify. On any failure nothing is left that `data_state` would call verified."""

    def drop(self) -> list[str]:
        """Remove everything a load made; returns the names of what was removed."""

    def exclusive(self, purpose: str) -> AbstractContextManager[Sequence[str]]:
        """Hold the target's lock: one load or run at a time. SlobError names who holds it.

        Its value says what a driver that was killed had left changed in the server and was put right, a line each.
        """

    def install(self, workload: Workload) -> None:
        """Put the work loop in place for this workload's tables."""

    def quiesce(self, workload: Workload, warm_cache: bool) -> Sequence[str]:
        """Bring the server to rest before the clock starts (a checkpoint and the like); returns what was done.

        Settings of the whole server that the run needs are set here, and put back when `exclusive` ends.
        ``warm_cache``: read what the workload will visit once, so that a run on cached data begins with cached data.
        """

    def open_session(self, plan: SessionPlan) -> Session:
        """Connect one session."""

    def open_counters(self) -> Counters:
        """Connect the counter sampler."""

    def open_waits(self) -> Waits:
        """Connect the wait sampler."""

    def open_stop(self) -> StopSignal:
        """Connect the stop signal of a run."""

    def log_position(self) -> int:
        """How far the server's data have come, comparable among the instances of a cluster.

        Where changes are made, the last one that is durable; on a copy, the last one that queries see. SlobError when
        the server does not say.
        """

    def table_blocks(self) -> int:
        """Blocks of the test tables now, to see whether updates made them grow."""

    def sessions_left(self) -> int:
        """How many of this product's sessions the server still has, this connection left out."""

    def release_sessions(self) -> int:
        """End this product's sessions that were left behind; returns how many."""
