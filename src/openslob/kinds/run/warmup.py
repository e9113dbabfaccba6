"""A warm-up that lasts until the throughput is steady, judged second by second while it runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from openslob.analyze.steady_state import RatePoint, drift_pct, rate_points, spread, steady_since
from openslob.core.measurement import TimelinePoint
from openslob.core.units import NANOS
from openslob.engines.base import SessionPlan, SliceResult
from openslob.kinds.run.plan import Phase
from openslob.kinds.run.session_pool import Message
from openslob.kinds.run.worker import SliceDone


class WarmupMonitor:
    """Ends a phase once the operations per second of its last seconds are steady, by the rule of `steady_since`.

    Only seconds that every session has completed are judged. ``least_s`` seconds run in any case.
    """

    def __init__(self, phase: Phase, plans: Sequence[SessionPlan], least_s: float) -> None:
        self._phase = phase
        self._limit_s = (phase.end_ns - phase.begin_ns) / NANOS
        self._least_s = least_s
        self._ops: defaultdict[int, float] = defaultdict(float)
        self._ends = dict.fromkeys(range(len(plans)), phase.begin_ns)
        self._timeline: list[TimelinePoint] = []
        self._since: float | None = None

    def handle(self, message: Message) -> None:
        """Handle one message from the queue."""
        if not isinstance(message, SliceDone) or self._since is not None:
            return
        result = message.result
        self._count(result)
        self._ends[message.session] = result.end_ns
        if self._complete_seconds() and len(self._timeline) >= self._least_s:
            self._since = steady_since(rate_points(self._timeline))
            if self._since is not None:
                self._phase.end_soon(max(self._ends.values()), len(self._ends))

    def _count(self, result: SliceResult) -> None:
        """Count a slice in each second that it lies in, by its share of time."""
        # The server's clock may show no time between a slice's begin and its end.
        end_ns = max(result.end_ns, result.start_ns + 1)
        first, last = ((at_ns - self._phase.begin_ns) // NANOS for at_ns in (result.start_ns, end_ns - 1))
        for second in range(first, last + 1):
            begin_ns = self._phase.begin_ns + second * NANOS
            shared_ns = min(end_ns, begin_ns + NANOS) - max(result.start_ns, begin_ns)
            self._ops[second] += result.counts.ops * shared_ns / (end_ns - result.start_ns)

    def _complete_seconds(self) -> bool:
        """Add each second that all sessions have completed; return whether there was one."""
        before = len(self._timeline)
        complete = (min(self._ends.values()) - self._phase.begin_ns) // NANOS
        self._timeline += [TimelinePoint(second + 1, 1, self._ops[second]) for second in range(before, complete)]
        return complete > before

    def finding(self) -> str:
        """Return a note for the record: the length of the warm-up, and the drift and spread of its steady part."""
        if self._since is None:
            return f"a warm-up of {self._limit_s:.0f} s, the limit, was discarded: its throughput did not become steady"
        points = [point for point in rate_points(self._timeline) if point[0] >= self._since]
        discarded = (self._phase.end_ns - self._phase.begin_ns) / NANOS
        return (
            f"a warm-up of {discarded:.1f} s was discarded: it was steady from second {self._since:.0f} on{_by(points)}"
        )


def _by(points: Sequence[RatePoint]) -> str:
    drift, varied = drift_pct(points), spread(points)
    return "" if drift is None or varied is None else f" (drift {drift:+.1f} %, spread {varied:.1f} %)"
