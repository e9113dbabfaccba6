"""Receives all messages of sessions and samplers in the window: adds them up, writes the raw files, shows progress."""

from __future__ import annotations

from collections.abc import Sequence

from openslob.core.units import NANOS
from openslob.core.workload import SLICE_S, slice_seconds
from openslob.engines.base import SessionPlan
from openslob.host.sampler import difference
from openslob.kinds.run.accumulator import WindowAccumulator
from openslob.kinds.run.plan import SHORTEST_SLICE
from openslob.kinds.run.progress import Amounts, Progress, ProgressSink, amounts, rates_between
from openslob.kinds.run.readings import EngineDifference, ReadingsRecorder
from openslob.kinds.run.samplers import SystemReading
from openslob.kinds.run.session_pool import Message
from openslob.kinds.run.worker import SliceDone
from openslob.metrics.measurement import EngineDelta
from openslob.record.raw_csv import RawCsv


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
        self._slice_s = slice_seconds(plans[0].workload.total_sessions)
        self._lag_s = 2 * self._slice_s + 1
        # What was counted when progress was last shown, and the time before that.
        self._shown = self._shown_before = Amounts()

    def handle(self, message: Message) -> None:
        """Handle one message from the queue."""
        if isinstance(message, SliceDone):
            self._slice(message)
        elif isinstance(message, SystemReading):
            self.reading(message)

    def _slice(self, done: SliceDone) -> None:
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
        known = shown.reads is not None and engine.read_requests is not None
        reads = (shown.reads or 0) + (engine.read_requests or 0) if known else None
        # The difference in time is that of the readings, which may begin before the window does.
        now = amounts(self.accumulator, shown.at_s + (end_ns - begin_ns) / NANOS, reads)
        self._shown_before, self._shown = shown, now
        self._show(
            Progress(
                phase="window",
                elapsed_s=max(0.0, (end_ns - self.accumulator.begin_ns) / NANOS),
                total_s=self._total_s,
                rates=rates_between(shown, now) if self._keeps_pace(begin_ns, end_ns) else None,
                server_cpu=None if host.server_cpu_s is None else host.server_cpu_s / host.seconds,
                wanted_per_s=self.accumulator.wanted_per_s,
                so_far=now,
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
