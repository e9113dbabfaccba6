"""What only the driver learns of slices, and what is shown of them: no row says it. One call per slice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from openslob.core.counts import SliceCounts
from openslob.core.histogram import Histogram, Slow, slowest_of
from openslob.core.method import OpKind
from openslob.core.units import NANOS
from openslob.core.workload import Pacing
from openslob.engines.base import SessionPlan, SliceResult
from openslob.metrics.measurement import Schedule

# Sessions report whole microseconds. A clock that is slewed does not go back.
CLOCK_STEP_NS = 1_000_000
# The slowest operations of each kind that are kept with the time when they came.
MOST_SLOW = 10


@dataclass
class _SessionAccumulator:
    plan: SessionPlan
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
        return 1 + (later if self.plan.workload.pacing is Pacing.POISSON else math.floor(later))


class _Latencies:
    """Latencies by kind, and by second and kind."""

    def __init__(self) -> None:
        self.totals = {kind: Histogram() for kind in OpKind}
        self._seconds: dict[int, dict[OpKind, Histogram]] = {}

    def add(self, second: int, histograms: Mapping[OpKind, Histogram]) -> None:
        of_second = self._seconds.setdefault(second, {})
        for kind, histogram in histograms.items():
            if not histogram.counts:
                continue
            self.totals[kind].merge(histogram)
            of_second.setdefault(kind, Histogram()).merge(histogram)

    def before(self, second: int) -> Iterator[tuple[int, OpKind, Histogram]]:
        for number in sorted(number for number in self._seconds if number < second):
            for kind, histogram in self._seconds.pop(number).items():
                if histogram.counts:
                    yield number, kind, histogram


class _Slowest:
    """The slowest operations by kind, the slowest first."""

    def __init__(self) -> None:
        self.found: dict[OpKind, list[Slow]] = {}

    def add(self, session: int, result: SliceResult) -> None:
        for kind, histogram in result.latency.items():
            before = self.found.get(kind, [])
            # Few slices have one: the others must cost nothing.
            if histogram.counts and (len(before) < MOST_SLOW or histogram.max_us > before[-1].us):
                own = [Slow(us, session, result.start_ns, result.end_ns) for us in slowest_of(histogram, MOST_SLOW)]
                self.found[kind] = sorted([*before, *own], key=lambda each: -each.us)[:MOST_SLOW]


class WindowAccumulator:
    """Latencies by kind and by second, the slowest operations, how late sessions were, and what was counted so far.

    ``begin_ns`` is the window's planned begin by the server's clock; second 0 begins there.
    """

    def __init__(self, plans: Sequence[SessionPlan], begin_ns: int) -> None:
        self.begin_ns = begin_ns
        self._service = _Latencies()
        self._response = _Latencies()
        self._slowest = _Slowest()
        self._wake_ups = Histogram()
        # Several drivers have a part of the sessions each.
        self._by_number = {plan.number: _SessionAccumulator(plan) for plan in plans}
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
    def slowest(self) -> Mapping[OpKind, Sequence[Slow]]:
        """The slowest operations by kind and service time, the slowest first."""
        return self._slowest.found

    @property
    def counts(self) -> SliceCounts:
        """The counts of all sessions."""
        return sum((session.counts for session in self._sessions), SliceCounts())

    def add(self, session: int, result: SliceResult) -> None:
        """Add one slice."""
        self._by_number[session].add(result)
        # A slice belongs to the second in which it ended; -1 because one that ends on a full second lies before it.
        second = (result.end_ns - 1 - self.begin_ns) // NANOS
        self._service.add(second, result.latency)
        self._response.add(second, result.response)
        self._slowest.add(session, result)
        self._wake_ups.merge(result.wake_ups)

    def seconds_before(self, second: int) -> Iterator[tuple[int, OpKind, Histogram]]:
        """Take out the latencies of the seconds before ``second``, in order: no slice will end in them any more."""
        return self._service.before(second)

    def responses_before(self, second: int) -> Iterator[tuple[int, OpKind, Histogram]]:
        """Take out the response times of those seconds."""
        return self._response.before(second)

    @property
    def wanted_per_s(self) -> float | None:
        """Operations per second that are asked of all sessions; None when no rate is given."""
        intervals_us = [session.plan.interval_us for session in self._sessions if session.plan.interval_us is not None]
        return sum(1e6 / interval_us for interval_us in intervals_us) if intervals_us else None

    def schedule(self, end_ns: int) -> Schedule | None:
        """Return how well the due times up to the window's planned end were met; None when no rate is given."""
        if self.wanted_per_s is None:
            return None
        return Schedule(
            wanted_per_s=self.wanted_per_s,
            not_begun=sum(session.not_begun(end_ns) for session in self._sessions),
            oldest_s=max(session.overdue_us(end_ns) for session in self._sessions) / 1e6,
            wake_ups=self._wake_ups,
        )

    @property
    def idle_us(self) -> Mapping[int, float]:
        """The time between slices, by session."""
        return {number: session.idle_us for number, session in self._by_number.items()}

    @property
    def clock_set_back_s(self) -> float:
        """How far the server's clock was set back while sessions ran; 0 if it was not."""
        set_back_ns = max((session.set_back_ns for session in self._sessions), default=0)
        return set_back_ns / NANOS if set_back_ns > CLOCK_STEP_NS else 0.0
