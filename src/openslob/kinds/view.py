"""What a viewer of a record shows, at the end of what was recorded or at an earlier moment of a replay.

Times are seconds since the load of the run, or the observation, began. A sweep has a view of itself, with its points
and petals, and one of the run that is in progress.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from openslob.metrics import Timed
from openslob.record.model import Figure, Verdict


class RecordState(StrEnum):
    """Whether a record is still written. ABANDONED: its driver ended without writing the result."""

    RUNNING = "running"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    ABANDONED = "abandoned"


@dataclass(frozen=True)
class Head:
    """What is being shown. ``kind`` is ``run``, ``sweep`` or ``observation``.

    ``phase`` is what a run does at this moment (check, connect, warm-up, window, …), empty once it has ended.
    ``elapsed_s`` is the time of the window so far, ``planned_s`` its planned length; None when there is no plan, as
    under WORK_LOOP. ``load`` says in a few words what the load is: sessions and updates, or the observed command.
    ``batch`` is the number of operations that a session sends at once, and whose common time is the latency of each;
    None: not the same for all points of a sweep.
    """

    id: str
    name: str
    kind: str
    progress: RecordState
    phase: str
    product: str
    target: str
    load: str
    started_at: str
    elapsed_s: float
    planned_s: float | None
    reservations: tuple[str, ...] = ()
    batch: int | None = 1

    @property
    def timed(self) -> Timed:
        """What latencies of operations are the time of."""
        return Timed(self.batch)


@dataclass(frozen=True)
class Curve:
    """One figure over time in at most as many steps as were asked for (two at the least).

    The arrays have one entry for each step: when it ends, and the lowest, the mean and the highest value in it; None
    where the figure is not known. Steps begin at multiples of ``step_s``; the last may not be over.
    """

    name: str
    unit: str
    at_s: Sequence[float]
    low: Sequence[float | None]
    mean: Sequence[float | None]
    high: Sequence[float | None]
    step_s: float = 1.0


@dataclass(frozen=True)
class Stack:
    """Parts of a whole over time: ``values`` has a sequence for each name in ``names``; None: unknown in this step."""

    unit: str
    at_s: Sequence[float]
    names: Sequence[str]
    values: Sequence[Sequence[float | None]]
    step_s: float = 1.0


@dataclass(frozen=True)
class HeatMap:
    """Latency over time: a cell for each step and bucket.

    ``edges_us`` are the lower edges of the buckets, and the upper one of the last. ``counts`` and ``time_us`` are by
    step, then by bucket: how many took so long, and the time that these took together. ``what`` took it: operations,
    or waits of all sessions of the server, which the engine counts in wide buckets.
    """

    of: str
    at_s: Sequence[float]
    edges_us: Sequence[float]
    counts: Sequence[Sequence[float]]
    time_us: Sequence[Sequence[float]]
    step_s: float = 1.0
    what: str = "operations"


@dataclass(frozen=True)
class Note:
    """Something that happened, with the moment if it is known: a note of the run, an error, the begin of a phase."""

    at_s: float | None
    kind: str
    text: str


@dataclass(frozen=True)
class PetalPoint:
    """One point of a sweep: ``petal`` names its line of the chart, ``sessions`` its place on it.

    ``state`` is pending, running, done, failed or skipped; ``figures`` are the result's with ``op_mean_us``, the mean
    latency of the most frequent operation, or those so far. ``fails`` names the verdicts on it that fail.
    """

    number: int
    petal: str
    sessions: int
    state: str
    run: str
    figures: Mapping[str, Figure] = field(default_factory=dict)
    fails: Sequence[str] = ()


# The end of the name of a series: the operations per second of a class of sessions.
CLASS_RATE = "/ops_per_s"


class View(Protocol):
    """All that a screen or a page shows of one record.

    Series have the names of figures (``ops_per_s``, ``pio_read_per_s``, …), or ``latency.KIND.p50_us`` (p90, p99, p999,
    max) for the operations of a second, ``host.busy_pct``, and ``device.reads_per_s``, ``device.writes_per_s``,
    ``device.read_mb_per_s``, ``device.write_mb_per_s``, ``device.read_latency_us``. Of a class of sessions there are
    ``CLASS/ops_per_s``, and latencies of ``CLASS/KIND``.
    ``begin_s`` and ``end_s`` limit the time that is shown, None: all of it. ``most`` is the number of steps.
    """

    @property
    def head(self) -> Head:
        """What is being shown, and how far it is."""

    @property
    def now(self) -> Mapping[str, Figure]:
        """The figures of the last whole interval; those of the result once there is one."""

    @property
    def names(self) -> Sequence[str]:
        """The series that there are."""

    @property
    def waits_by_duration(self) -> Sequence[str]:
        """The events that the engine counts by duration, and of which there is a map: most of the time first."""

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """The verdicts as they stand so far; those of the result once there is one."""

    @property
    def notes(self) -> Sequence[Note]:
        """What happened, in the order of time."""

    @property
    def points(self) -> Sequence[PetalPoint]:
        """The points of a sweep; none for a run."""

    @property
    def current(self) -> View | None:
        """The run in progress of a sweep, or the last one until that has something to show; None for a run."""

    def series(self, name: str, begin_s: float | None = None, end_s: float | None = None, most: int = 200) -> Curve:
        """Return one figure over time; KeyError when there is none of this name."""

    def waits(self, begin_s: float | None = None, end_s: float | None = None, most: int = 200) -> Stack:
        """Return the mean number of sessions by wait event, as sampled; the most frequent one is first."""

    def cpu(self, begin_s: float | None = None, end_s: float | None = None, most: int = 200) -> Stack:
        """Return the host's CPU time in % by kind; what is missing to 100 was idle."""

    def heat(self, of: str, begin_s: float | None = None, end_s: float | None = None, most: int = 120) -> HeatMap:
        """Return latency over time of a kind of operation, or of an event of those above; KeyError if unknown."""


# Of what an engine does per second, most important first; what our sessions do is known a second earlier.
REQUESTS = ("pio_read_per_s", "lio_per_s", "pio_write_per_s", "transactions_per_s")
_OWN = ("ops_per_s",)


def requests_in(names: Sequence[str]) -> Sequence[str]:
    """Return the names of what a load did per second, of those that there are: the engine's, or else our sessions'."""
    return [name for name in REQUESTS if name in names] or [name for name in _OWN if name in names]


def has_begun(view: View) -> bool:
    """Return whether there is something to show of a run: it has ended, or what it does per second is known."""
    if view.head.progress is not RecordState.RUNNING:
        return True
    now = view.now
    return any(now[name].value is not None for name in requests_in(view.names) if name in now)


class Follower(Protocol):
    """What follows a record while it grows, for the screen and the page."""

    @property
    def read_share(self) -> float:
        """The share of the record that was read: the end of a long one comes first, the rest with later looks."""

    def poll(self) -> bool:
        """Read what is new, or some of it; return whether something changed. SlobError for a record that is damaged."""

    def view(self, at_s: float | None = None) -> View:
        """Return what is to be shown: at the end of what is known, or as it stood at a second of the load."""
