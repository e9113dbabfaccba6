"""Receives the readings and samples of a window, whatever its load: adds them up and writes the raw files."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from openslob.core.errors import SlobError
from openslob.core.units import NANOS, Anchor
from openslob.engines.base import Activity
from openslob.host.limits import CGROUP, LIMITS
from openslob.host.model import OsReading
from openslob.kinds.run.samplers import SystemReading
from openslob.metrics.measurement import EngineDelta, OtherSessions, WaitClass
from openslob.record.raw_csv import RawCsv

# The closing reading may follow a periodic one at once; rates over less than this would be noise.
SHORTEST_INTERVAL_S = 0.5


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

    def sampled(self, activity: Activity) -> None:
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

    def reading(self, reading: SystemReading) -> None:
        """Record a reading: the one before the window, the one after it, or one between."""
        # Only counters that moved are written: a run has thousands that never do.
        moved = {name: v for name, v in reading.counters.values.items() if self._raw_seen.get(name) != v}
        self._raw_seen.update(moved)
        self._raw.sample(reading.counters.server_ns, reading.counters.epoch, moved)
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
        self._raw.engine_latency(begin_ns, end_ns, storage_waits(engine))
        self.interval_ended(before, after, engine)

    def finish(self) -> None:
        """Write all rows: the window has ended."""
        self._raw.finish()

    def interval_ended(self, before: SystemReading, after: SystemReading, engine: EngineDelta) -> None:
        """Handle what the engine counted between two readings; nothing more by default."""

    def interval_replaced(self) -> None:
        """Forget what was made of the last interval: a longer one with the same begin comes; nothing by default."""


def storage_waits(engine: EngineDelta) -> Mapping[str, Mapping[tuple[int, int], int]]:
    """Return the durations of waits for storage and for the log by event, for engines that count by duration."""
    kinds = (WaitClass.DATA_IO, WaitClass.LOG)
    return {wait.event: wait.durations for wait in engine.timed_waits if wait.durations and wait.wait_class in kinds}


def sum_of(amounts: Iterable[float | None]) -> float | None:
    """Return the sum; None unless all are known."""
    known = list(amounts)
    return None if None in known else sum(amount for amount in known if amount is not None)
