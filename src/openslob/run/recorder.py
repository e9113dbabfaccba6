"""Receives all messages of sessions and samplers in the window: adds them up, writes the raw files, shows progress."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from openslob.engines.base import Activity, SessionPlan
from openslob.errors import SlobError
from openslob.host.sampler import difference
from openslob.measurement import EngineDelta, HostDelta, OtherSessions, TimelinePoint, WaitClass
from openslob.record.raw_csv import RawCsv
from openslob.run.accumulator import WindowAccumulator
from openslob.run.plan import SHORTEST_SLICE, SLICE_S, slice_seconds
from openslob.run.progress import Amounts, Progress, ProgressSink, amounts, rates_between
from openslob.run.samplers import SystemReading
from openslob.run.session_pool import Message
from openslob.run.worker import SliceDone
from openslob.units import NANOS, Anchor

# The closing reading may follow a periodic one at once; rates over less than this would be noise.
SHORTEST_INTERVAL_S = 0.5


EngineDifference = Callable[[SystemReading, SystemReading], EngineDelta]


@dataclass(frozen=True)
class _Interval:
    begin_ns: int
    end_ns: int
    reads: float | None
    server_cpu_s: float | None
    steal_s: float | None


class Recorder:
    """Records one window. Its methods are called by the runner's thread only."""

    def __init__(
        self,
        plans: Sequence[SessionPlan],
        begin_ns: int,
        total_s: float,
        raw: RawCsv,
        difference_of: EngineDifference,
        show: ProgressSink,
    ) -> None:
        self.accumulator = WindowAccumulator(plans, begin_ns)
        self.waits: Counter[str] = Counter()
        self.wait_samples = 0
        self._others: Counter[str] = Counter()
        self._hidden = 0
        self._raw = raw
        self._anchor = Anchor.now()
        self._difference_of = difference_of
        self._show = show
        self._total_s = total_s
        self._slice_s = slice_seconds(len(plans))
        self._lag_s = 2 * self._slice_s + 1
        self._readings: list[SystemReading] = []
        self._raw_seen: dict[str, float] = {}
        self._intervals: list[_Interval] = []
        # What was counted when progress was last shown, and the time before that.
        self._shown = self._shown_before = Amounts()

    def handle(self, message: Message) -> None:
        """Handle one message from the queue."""
        if isinstance(message, SliceDone):
            self._slice(message)
        elif isinstance(message, SystemReading):
            self.reading(message)

    def sampled(self, activity: Activity) -> None:
        """Record a sample of what the sessions are doing, the test's and others."""
        for event, sessions in activity.events.items():
            self.waits[event] += sessions
        self.wait_samples += 1
        for who, sessions in (activity.others or {}).items():
            self._others[who] += sessions
        self._hidden += activity.others is None
        self._raw.waits(time.time_ns(), activity.events)

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

    def reading(self, reading: SystemReading) -> None:
        """Record a reading: the one before the window, the one after it, or one between."""
        # Only counters that moved are written: a run has thousands that never do.
        moved = {name: v for name, v in reading.counters.values.items() if self._raw_seen.get(name) != v}
        self._raw_seen.update(moved)
        self._raw.sample(reading.counters.server_ns, reading.counters.epoch, moved)
        wall_ns = self._anchor.wall_of(reading.os.time_ns)
        self._raw.os(wall_ns, {f"{source}.{name}": value for _, source, name, value in reading.os.rows()})
        if self.last_reading is not None:
            self._interval(self._interval_begin(reading), reading)
        self._readings.append(reading)

    @property
    def last_reading(self) -> SystemReading | None:
        """The last reading that was recorded."""
        return self._readings[-1] if self._readings else None

    def _interval_begin(self, reading: SystemReading) -> SystemReading:
        """Return the previous reading, or the one before it if the interval would be too short."""
        before = self._readings[-1]
        seconds = (reading.counters.server_ns - before.counters.server_ns) / NANOS
        if seconds >= SHORTEST_INTERVAL_S or not self._intervals:
            return before
        self._intervals.pop()
        self._readings.pop()
        self._shown = self._shown_before
        return self._readings[-1]

    def _interval(self, before: SystemReading, after: SystemReading) -> None:
        engine, host = self._difference_of(before, after), difference(before.os, after.os)
        interval = _Interval(
            before.counters.server_ns,
            after.counters.server_ns,
            engine.read_requests,
            host.server_cpu_s,
            host.cpu.get("steal") if host.cpu else None,
        )
        self._intervals.append(interval)
        self._raw.engine(interval.begin_ns, interval.end_ns, engine.amounts())
        self._raw.engine_latency(interval.begin_ns, interval.end_ns, storage_waits(engine))
        self._show_progress(interval, host)

    def _show_progress(self, interval: _Interval, host: HostDelta) -> None:
        before, seconds = self._shown, (interval.end_ns - interval.begin_ns) / NANOS
        reads = None if before.reads is None or interval.reads is None else before.reads + interval.reads
        # The difference in time is that of the readings, which may begin before the window does.
        now = amounts(self.accumulator, before.at_s + seconds, reads)
        self._shown_before, self._shown = before, now
        self._show(
            Progress(
                phase="window",
                elapsed_s=max(0.0, (interval.end_ns - self.accumulator.begin_ns) / NANOS),
                total_s=self._total_s,
                rates=rates_between(before, now) if self._keeps_pace(interval) else None,
                server_cpu=None if host.server_cpu_s is None else host.server_cpu_s / host.seconds,
                wanted_per_s=self.accumulator.wanted_per_s,
                so_far=now,
            )
        )

    def _keeps_pace(self, interval: _Interval) -> bool:
        """Return whether rates can be computed from the slices that ended in the interval.

        A slice counts when it ends, so there is no rate while the first slices are still running, nor when all
        sessions end their last ones. With slices longer than the interval, slices of odd lengths distort it too.
        """
        begin_s, end_s = ((at - self.accumulator.begin_ns) / NANOS for at in (interval.begin_ns, interval.end_ns))
        long_s = self._slice_s if self._slice_s > SLICE_S else 0.0
        odd_s = SHORTEST_SLICE * long_s
        return begin_s >= long_s + odd_s and (not self._total_s or end_s < self._total_s - odd_s)

    def finish(self) -> None:
        """Write the latencies that were kept until no more slices could belong to their seconds, and all other rows."""
        self._write_latency(before=2**62)
        self._raw.flush()

    def timeline(self) -> list[TimelinePoint]:
        """Return the window by sampling interval, or by slice length where slices are longer.

        A slice reports its total only: finer points would be means over slices, which hide what happened.
        """
        points: list[TimelinePoint] = []
        begun: list[_Interval] = []
        for interval in self._intervals:
            begun.append(interval)
            if (interval.end_ns - begun[0].begin_ns) / NANOS > self._slice_s - SHORTEST_INTERVAL_S:
                points.append(self._point(begun))
                begun = []
        return [*points, self._point(begun)] if begun else points

    def _point(self, parts: Sequence[_Interval]) -> TimelinePoint:
        begin_ns, end_ns = parts[0].begin_ns, parts[-1].end_ns
        return TimelinePoint(
            at_s=(end_ns - self.accumulator.begin_ns) / NANOS,
            seconds=(end_ns - begin_ns) / NANOS,
            ops=self.accumulator.ops_between(begin_ns, end_ns),
            reads=_sum(part.reads for part in parts),
            server_cpu_s=_sum(part.server_cpu_s for part in parts),
            steal_s=_sum(part.steal_s for part in parts),
        )


def storage_waits(engine: EngineDelta) -> Mapping[str, Mapping[tuple[int, int], int]]:
    """Return the durations of waits for storage and for the log by event, for engines that count by duration."""
    kinds = (WaitClass.DATA_IO, WaitClass.LOG)
    return {wait.event: wait.durations for wait in engine.timed_waits if wait.durations and wait.wait_class in kinds}


def _sum(amounts: Iterable[float | None]) -> float | None:
    """Return the sum; None unless all are known."""
    known = list(amounts)
    return None if None in known else sum(amount for amount in known if amount is not None)
