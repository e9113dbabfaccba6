"""Receives all that a window reports: adds up what no row says, writes the raw files, and shows progress.

A load that is not ours has readings and samples alone; one of our own has slices, too.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from openslob.core.counts import SliceCounts
from openslob.core.errors import SlobError
from openslob.core.histogram import Histogram, Slow, slowest_of
from openslob.core.measurement import EngineDelta, OtherSessions, Schedule
from openslob.core.method import OpKind
from openslob.core.session_classes import name_kind
from openslob.core.units import NANOS, Anchor
from openslob.core.workload import SLICE_S, Pacing, slice_seconds
from openslob.engines.base import Activity, SessionPlan, SliceResult
from openslob.engines.copies import LogPlaces
from openslob.host.limits import CGROUP, LIMITS
from openslob.host.model import OsReading
from openslob.host.sampler import difference
from openslob.kinds.run.plan import SHORTEST_SLICE, Pacer, pacer_of
from openslob.kinds.run.progress import Amounts, ProgressSink, RunProgress, rates_between
from openslob.kinds.run.samplers import SystemReading
from openslob.kinds.run.session_pool import Message
from openslob.kinds.run.worker import SliceDone
from openslob.metrics.timed import Timed
from openslob.record.raw_csv import RawCsv

# The closing reading may follow a periodic one at once; rates over less than this would be noise.
SHORTEST_INTERVAL_S = 0.5
# Sessions report whole microseconds. A clock that is slewed does not go back.
CLOCK_STEP_NS = 1_000_000
# The slowest operations of each kind that are kept with the time when they came.
MOST_SLOW = 10

EngineDifference = Callable[[SystemReading, SystemReading], EngineDelta]


class SeenLimits:
    """The limits of the server's control group, and when they changed, in seconds after the first reading."""

    # A limit that changes with every reading is a control loop's: the first changes show that.
    MOST = 20

    def __init__(self) -> None:
        self.first: Mapping[str, float] = {}
        self.why_unknown = ""
        self.changes: list[tuple[float, str]] = []
        self._last: Mapping[str, float] = {}
        self._begin_ns = 0

    def see(self, reading: OsReading) -> None:
        """Take the limits of a reading."""
        sample = reading.sources.get(CGROUP)
        if sample is None:
            return
        if not sample.values:
            self.why_unknown = next(iter(sample.unknown.values()), "")
            return
        limits = {name: sample.values[name] for name in LIMITS if name in sample.values}
        if not self._begin_ns:
            self.first, self._begin_ns = limits, reading.time_ns
        elif limits != self._last and len(self.changes) < self.MOST:
            names = [name for name in LIMITS if limits.get(name) != self._last.get(name)]
            what = ", ".join(
                f"{name.replace('_', ' ')} {_limit(self._last, name)} → {_limit(limits, name)}" for name in names
            )
            self.changes.append(((reading.time_ns - self._begin_ns) / NANOS, what))
        self._last = limits


def _limit(limits: Mapping[str, float], name: str) -> str:
    return f"{limits[name]:,.10g}" if name in limits else "none"


class ReadingsRecorder:
    """Records the readings and samples of one window. Its methods are called by one thread only."""

    def __init__(
        self, raw: RawCsv, difference_of: EngineDifference, saw_sample: Callable[[Activity], None] | None = None
    ) -> None:
        self.waits: Counter[str] = Counter()
        self.wait_samples = 0
        self._others: Counter[str] = Counter()
        self._hidden = 0
        self._raw = raw
        self._anchor = Anchor.now()
        self._difference_of = difference_of
        self._saw_sample = saw_sample
        self._readings: list[SystemReading] = []
        self._raw_seen: dict[str, float] = {}
        self.limits = SeenLimits()
        self.places = LogPlaces()

    def add_sample(self, activity: Activity) -> None:
        """Record a sample of what the sessions are doing, the test's and others."""
        for event, sessions in activity.events.items():
            self.waits[event] += sessions
        self.wait_samples += 1
        for who, sessions in (activity.others or {}).items():
            self._others[who] += sessions
        self._hidden += activity.others is None
        self._raw.waits(time.time_ns(), activity.events)
        if self._saw_sample:
            self._saw_sample(activity)

    def forget_samples(self) -> None:
        """Drop the samples: those of a part of the window do not tell about all of it."""
        self.waits.clear()
        self._others.clear()
        self.wait_samples = self._hidden = 0

    @property
    def error(self) -> SlobError | None:
        """Why the raw files can't be written; None while they can."""
        return self._raw.error

    @property
    def others(self) -> OtherSessions:
        """The sessions that are not the test's."""
        seen = dict(self._others) if self.wait_samples else None
        return OtherSessions(seen, self.wait_samples, hidden=self._hidden)

    def add_reading(self, reading: SystemReading) -> None:
        """Record a reading: the one before the window, the one after it, or one between."""
        # Only counters that moved are written: a run has thousands that never do. Where none did, one tells the moment.
        values = reading.counters.values
        self.places.see(reading.counters.server_ns, values)
        moved = {name: v for name, v in values.items() if self._raw_seen.get(name) != v} or dict([*values.items()][:1])
        gone: dict[str, float | None] = dict.fromkeys(self._raw_seen.keys() - values.keys())
        self._raw_seen = dict(values)
        self._raw.sample(reading.counters.server_ns, reading.counters.epoch, {**moved, **gone})
        wall_ns = self._anchor.wall_of(reading.os.time_ns)
        self.limits.see(reading.os)
        self._raw.os(wall_ns, {f"{source}.{name}": value for _, source, name, value in reading.os.rows()})
        if self.last_reading is not None:
            self._interval(self._interval_begin(reading), reading)
        self._readings = [*self._readings[-1:], reading]

    @property
    def last_reading(self) -> SystemReading | None:
        """The last reading that was recorded."""
        return self._readings[-1] if self._readings else None

    def _interval_begin(self, reading: SystemReading) -> SystemReading:
        """Return the previous reading, or the one before it if the interval would be too short."""
        before = self._readings[-1]
        seconds = (reading.counters.server_ns - before.counters.server_ns) / NANOS
        if seconds >= SHORTEST_INTERVAL_S or len(self._readings) < 2:
            return before
        self._readings.pop()
        self.interval_replaced()
        return self._readings[-1]

    def _interval(self, before: SystemReading, after: SystemReading) -> None:
        engine = self._difference_of(before, after)
        begin_ns, end_ns = before.counters.server_ns, after.counters.server_ns
        self._raw.engine(begin_ns, end_ns, engine.amounts())
        self._raw.engine_latency(begin_ns, end_ns, engine.storage_waits)
        self.interval_ended(before, after, engine)

    def finish(self) -> None:
        """Write all rows: the window has ended."""
        self._raw.finish()

    def interval_ended(self, before: SystemReading, after: SystemReading, engine: EngineDelta) -> None:
        """Handle what the engine counted between two readings; nothing more by default."""

    def interval_replaced(self) -> None:
        """Forget what was made of the last interval: a longer one with the same begin comes; nothing by default."""


def sum_of(amounts: Iterable[float | None]) -> float | None:
    """Return the sum; None unless all are known."""
    known = list(amounts)
    return None if None in known else sum(amount for amount in known if amount is not None)


@dataclass
class _SessionAccumulator:
    plan: SessionPlan
    pacer: Pacer | None
    counts: SliceCounts = field(default_factory=SliceCounts)
    idle_us: float = 0.0
    end_ns: int = 0
    due_ns: int | None = None
    set_back_ns: int = 0

    def add(self, result: SliceResult) -> None:
        self.set_back_ns = max(self.set_back_ns, result.start_ns - result.end_ns)
        if self.end_ns:
            self.set_back_ns = max(self.set_back_ns, self.end_ns - result.start_ns)
            self.idle_us += (result.start_ns - self.end_ns) / 1000
        self.counts += result.counts
        self.end_ns = max(self.end_ns, result.end_ns)
        self.due_ns = result.due_ns

    def overdue_us(self, end_ns: int) -> float:
        """Return how long its next operation was overdue when the window ended; 0 when none was due."""
        limit = self.plan.workload.work_loop
        if self.due_ns is None or (limit and self.counts.ops >= limit):
            return 0.0
        return max(0.0, (min(end_ns, self.end_ns) - self.due_ns) / 1000)

    def not_begun(self, end_ns: int) -> float:
        """Return how many operations were due before the end and had not begun."""
        overdue_us, interval_us = self.overdue_us(end_ns), self.plan.interval_us
        if not overdue_us or not interval_us:
            return 0.0
        later = overdue_us / interval_us
        if self.pacer and self.due_ns is not None:
            later = self.pacer.ops_between(self.due_ns, self.due_ns + round(overdue_us * 1000))
        return 1 + (later if self.plan.workload.pacing is Pacing.POISSON else math.floor(later))


class _Latencies:
    """Latencies by kind, of each class by the kind's name in raw files, and of each second by that name."""

    def __init__(self) -> None:
        self.totals = {kind: Histogram() for kind in OpKind}
        self.of_classes: dict[str, Histogram] = {}
        self._seconds: dict[int, dict[str, Histogram]] = {}

    def add(self, second: int, of_class: str, histograms: Mapping[OpKind, Histogram]) -> None:
        of_second = self._seconds.setdefault(second, {})
        for kind, histogram in histograms.items():
            if not histogram.counts:
                continue
            self.totals[kind].merge(histogram)
            name = name_kind(of_class, kind)
            if of_class:
                self.of_classes.setdefault(name, Histogram()).merge(histogram)
            of_second.setdefault(name, Histogram()).merge(histogram)

    def before(self, second: int) -> Iterator[tuple[int, str, Histogram]]:
        for number in sorted(number for number in self._seconds if number < second):
            for kind, histogram in self._seconds.pop(number).items():
                if histogram.counts:
                    yield number, kind, histogram


class _Slowest:
    """The slowest operations by kind, the slowest first; of batches, one of each."""

    def __init__(self, batch: int) -> None:
        self._batch = batch
        self.found: dict[OpKind, list[Slow]] = {}

    def add(self, session: int, result: SliceResult) -> None:
        for kind, histogram in result.latency.items():
            before = self.found.get(kind, [])
            # Few slices have one: the others must cost nothing.
            if histogram.counts and (len(before) < MOST_SLOW or histogram.max_us > before[-1].us):
                slowest = slowest_of(histogram, MOST_SLOW, self._batch)
                own = [Slow(us, session, result.start_ns, result.end_ns) for us in slowest]
                self.found[kind] = sorted([*before, *own], key=lambda each: -each.us)[:MOST_SLOW]


class WindowAccumulator:
    """Latencies by kind and by second, the slowest operations, how late sessions were, and what was counted so far.

    ``begin_ns`` is the window's planned begin by the server's clock; second 0 begins there.
    """

    def __init__(self, plans: Sequence[SessionPlan], begin_ns: int) -> None:
        self.begin_ns = begin_ns
        self._service = _Latencies()
        self._response = _Latencies()
        self._wake_ups = Histogram()
        self.connects = Histogram()
        # Several drivers have a part of the sessions each.
        self._pacer = pacer_of(plans[0].workload, begin_ns) if plans else None
        batch = plans[0].workload.pipeline if plans else 1
        self.timed, self._slowest = Timed(batch), _Slowest(batch)
        self._by_number = {plan.number: _SessionAccumulator(plan, self._pacer) for plan in plans}
        self._sessions = list(self._by_number.values())

    @property
    def latency(self) -> Mapping[OpKind, Histogram]:
        """Service times by kind."""
        return self._service.totals

    @property
    def response(self) -> Mapping[OpKind, Histogram]:
        """Times from when operations were due, by kind; empty when no rate is given."""
        return self._response.totals

    @property
    def of_classes(self) -> Mapping[str, Mapping[str, Histogram]]:
        """Service and response times of each class and kind, by `name_kind`; empty without classes."""
        return {"latency": self._service.of_classes, "response": self._response.of_classes}

    @property
    def slowest(self) -> Mapping[OpKind, Sequence[Slow]]:
        """The slowest operations by kind and service time, the slowest first."""
        return self._slowest.found

    @property
    def counts(self) -> SliceCounts:
        """The counts of all sessions."""
        return sum((session.counts for session in self._sessions), SliceCounts())

    def add(self, session: int, result: SliceResult) -> None:
        """Add one slice."""
        of_session = self._by_number[session]
        of_session.add(result)
        # A slice belongs to the second in which it ended; -1 because one that ends on a full second lies before it.
        second = (result.end_ns - 1 - self.begin_ns) // NANOS
        self._service.add(second, of_session.plan.of_class, result.latency)
        self._response.add(second, of_session.plan.of_class, result.response)
        self._slowest.add(session, result)
        self._wake_ups.merge(result.wake_ups)
        self.connects.merge(result.connects)

    def seconds_before(self, second: int) -> Iterator[tuple[int, str, Histogram]]:
        """Take out the latencies of the seconds before ``second``, in order: no slice will end in them any more.

        Kinds have the names of raw files (`name_kind`).
        """
        return self._service.before(second)

    def responses_before(self, second: int) -> Iterator[tuple[int, str, Histogram]]:
        """Take out the response times of those seconds."""
        return self._response.before(second)

    @property
    def is_paced(self) -> bool:
        """Whether all sessions have a rate; of several classes, some may work as fast as they can."""
        return all(session.plan.interval_us is not None for session in self._sessions)

    @property
    def wanted_per_s(self) -> float | None:
        """Operations per second that are asked of all sessions that have a rate, at first; None without a rate."""
        intervals_us = [session.plan.interval_us for session in self._sessions if session.plan.interval_us is not None]
        return sum(1e6 / interval_us for interval_us in intervals_us) if intervals_us else None

    def asked_per_s(self, begin_ns: int, end_ns: int) -> float | None:
        """Return the rate that is asked between two moments: that of each, unless it changes; None without one."""
        if self._pacer is None or end_ns <= begin_ns:
            return self.wanted_per_s
        return len(self._sessions) * self._pacer.ops_between(begin_ns, end_ns) * NANOS / (end_ns - begin_ns)

    def schedule(self, end_ns: int) -> Schedule | None:
        """Return how well the due times up to the window's planned end were met; None when no rate is given."""
        known_ns = max((session.end_ns for session in self._sessions), default=0)
        asked = self.asked_per_s(self.begin_ns, min(end_ns, known_ns))
        if asked is None:
            return None
        return Schedule(
            wanted_per_s=asked,
            not_begun=sum(session.not_begun(end_ns) for session in self._sessions),
            oldest_s=max(session.overdue_us(end_ns) for session in self._sessions) / 1e6,
            wake_ups=self._wake_ups,
        )

    @property
    def idle_us(self) -> Mapping[int, float]:
        """The time between slices, by session."""
        return {number: session.idle_us for number, session in self._by_number.items()}

    def amounts(self, at_s: float, reads: float | None) -> Amounts:
        """Return what was counted up to a moment of the window, until which there were so many reads."""
        service, counts = self.latency.values(), self.counts
        return Amounts(
            at_s,
            counts.ops,
            sum(histogram.sum_us for histogram in service),
            counts.rows_visited,
            counts.updates,
            reads,
            (_together(self.response) if self.is_paced else {}) or _together(self.latency),
        )

    @property
    def clock_set_back_s(self) -> float:
        """How far the server's clock was set back while sessions ran; 0 if it was not."""
        set_back_ns = max((session.set_back_ns for session in self._sessions), default=0)
        return set_back_ns / NANOS if set_back_ns > CLOCK_STEP_NS else 0.0


def _together(histograms: Mapping[OpKind, Histogram]) -> dict[int, int]:
    total: dict[int, int] = {}
    for histogram in histograms.values():
        for bucket, count in histogram.counts.items():
            total[bucket] = total.get(bucket, 0) + count
    return total


class Recorder(ReadingsRecorder):
    """Records one window of a run. Its methods are called by the runner's thread only."""

    def __init__(
        self,
        plans: Sequence[SessionPlan],
        begin_ns: int,
        total_s: float,
        raw: RawCsv,
        difference_of: EngineDifference,
        show: ProgressSink,
    ) -> None:
        super().__init__(raw, difference_of)
        self.accumulator = WindowAccumulator(plans, begin_ns)
        self._show = show
        self._total_s = total_s
        self._slice_s = slice_seconds(plans[0].of_all)
        self._lag_s = 2 * self._slice_s + 1
        # What was counted when progress was last shown, and the time before that.
        self._shown = self._shown_before = Amounts()

    def handle(self, message: Message) -> None:
        """Handle one message from the queue."""
        if isinstance(message, SliceDone):
            self._add_slice(message)
        elif isinstance(message, SystemReading):
            self.add_reading(message)

    def _add_slice(self, done: SliceDone) -> None:
        result = done.result
        self.accumulator.add(done.session, result)
        self._raw.slice(
            done.session,
            done.number,
            start_ns=result.start_ns,
            end_ns=result.end_ns,
            first_op_ns=result.first_op_ns,
            counts=result.counts,
            latency=result.latency,
            due_ns=result.due_ns,
        )
        self._write_latency(before=int((result.end_ns - self.accumulator.begin_ns) / NANOS - self._lag_s))

    def _write_latency(self, before: int) -> None:
        for second, kind, histogram in self.accumulator.seconds_before(before):
            self._raw.latency(second, kind, histogram)
        for second, kind, histogram in self.accumulator.responses_before(before):
            self._raw.response(second, kind, histogram)

    def interval_replaced(self) -> None:
        """Show progress again since the reading before the last."""
        self._shown = self._shown_before

    def interval_ended(self, before: SystemReading, after: SystemReading, engine: EngineDelta) -> None:
        """Show progress."""
        shown, host = self._shown, difference(before.os, after.os)
        begin_ns, end_ns = before.counters.server_ns, after.counters.server_ns
        reads = sum_of([shown.reads, engine.read_requests])
        # The difference in time is that of the readings, which may begin before the window does.
        now = self.accumulator.amounts(shown.at_s + (end_ns - begin_ns) / NANOS, reads)
        self._shown_before, self._shown = shown, now
        self._show(
            RunProgress(
                phase="window",
                elapsed_s=max(0.0, (end_ns - self.accumulator.begin_ns) / NANOS),
                total_s=self._total_s,
                rates=rates_between(shown, now) if self._keeps_pace(begin_ns, end_ns) else None,
                server_cpu=None if host.server_cpu_s is None else host.server_cpu_s / host.seconds,
                wanted_per_s=self.accumulator.asked_per_s(begin_ns, end_ns) if self.accumulator.is_paced else None,
                so_far=now,
                timed=self.accumulator.timed,
            )
        )

    def _keeps_pace(self, begin_ns: int, end_ns: int) -> bool:
        """Return whether rates can be computed from the slices that ended in the interval.

        A slice counts when it ends, so there is no rate while the first slices are still running, nor when all
        sessions end their last ones. With slices longer than the interval, slices of odd lengths distort it too.
        """
        begin_s, end_s = ((at - self.accumulator.begin_ns) / NANOS for at in (begin_ns, end_ns))
        long_s = self._slice_s if self._slice_s > SLICE_S else 0.0
        odd_s = SHORTEST_SLICE * long_s
        return begin_s >= long_s + odd_s and (not self._total_s or end_s < self._total_s - odd_s)

    def finish(self) -> None:
        """Write the latencies that were kept until no more slices could belong to their seconds, and all other rows."""
        self._write_latency(before=2**62)
        self._raw.finish()
