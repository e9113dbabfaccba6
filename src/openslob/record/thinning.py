"""The raw files of long runs: beyond the first hour a row is about several seconds, so that the files stay small.

Nothing is left out of what is counted: slices, intervals and latencies are added up, samples of waits become their
mean, and of cumulative counters fewer readings are written. `STEPS` has how long a step is, and the event ``step_s`` in
`events.csv` says from when on. Up to there every row is written as it comes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from openslob.core.histogram import Histogram
from openslob.core.units import NANOS
from openslob.record.raw_csv import Event, RawCsv, SliceRow

# From so many seconds of the load on, a step has so many seconds. Each begins at a multiple of the next one's length.
STEPS: Sequence[tuple[int, int]] = ((0, 1), (3600, 5), (8 * 3600, 60))
# No report reads the engine's own counters, which are evidence: they are written once in so many steps.
_COUNTERS_EVERY = 6
# Readings come a little before or after their second.
_JITTER_S = 0.5
# What is a level, and no counter, by the end of its name: it may fall at any time.
_LEVELS = ("cores", "memory_bytes", "cache_bytes", "available_bytes")
# Limits are levels whose changes matter.
_LIMITS = ("_limit", "_quota", "limit_bytes")

Durations = Mapping[str, Mapping[tuple[int, int], int]]


@dataclass
class _Session:
    """What is kept of a session: the slices of a step, and apart from them its last slice."""

    step: SliceRow | None = None
    last: SliceRow | None = None


@dataclass
class _Interval:
    begin_ns: int
    end_ns: int
    amounts: Mapping[str, float]
    durations: Durations = field(default_factory=dict)


@dataclass
class _Samples:
    at_s: float
    count: int = 0
    sessions: Counter[str] = field(default_factory=Counter)


def _step_at(at_s: float) -> tuple[int, int]:
    """Return since when steps have the length that they have at a moment, and that length."""
    return next((each for each in reversed(STEPS) if at_s >= each[0]), STEPS[0])


class ThinnedCsv(RawCsv):
    """Raw files that become coarser with the time since the window began. `finish` writes what is still kept."""

    def __init__(self, folder: Path) -> None:
        # The begin of the window by the server's clock and by the driver's; until it is known nothing is thinned.
        self._begin_ns: int | None = None
        self._offset_ns = 0
        self._step = STEPS[0][1]
        self._sessions: dict[int, _Session] = {}
        self._intervals: list[_Interval] = []
        self._waiting: _Samples | None = None
        self._histograms: dict[str, tuple[int, dict[str, Histogram]]] = {}
        # The last reading of the operating system, if it was not written, and the values that were read last.
        self._unwritten_os: tuple[int, Mapping[str, float | None]] | None = None
        self._os_seen: Mapping[str, float | None] = {}
        self._counters: tuple[int, str, dict[str, float | None]] | None = None
        # The step of the last reading that was written, by file.
        self._written: dict[str, int] = {}
        super().__init__(folder)

    def event(self, kind: Event, text: str, wall_ns: int | None = None) -> None:
        """Write at once that something happens."""
        super().event(kind, text, wall_ns)
        if kind is Event.CLOCK_OFFSET_NS:
            self._offset_ns = int(text)
        elif kind is Event.BEGIN_NS:
            self._begin_ns = int(text)

    def _at_s(self, server_ns: int) -> float:
        return 0.0 if self._begin_ns is None else (server_ns - self._begin_ns) / NANOS

    def _begin_of_step(self, at_s: float) -> int | None:
        """Return when the step of a moment begins, in s; None where each row is written as it comes."""
        since_s, step = _step_at(at_s)
        if step > self._step and self._begin_ns is not None:
            self._step = step
            super().event(Event.STEP_S, str(step), self._begin_ns - self._offset_ns + since_s * NANOS)
        return None if step == STEPS[0][1] else int(at_s // step) * step

    def add_slice(self, made: SliceRow) -> None:
        """Write a slice, or add it to those of its step; the last one of a session stays apart."""
        of_session = self._sessions.setdefault(made.session, _Session())
        if self._begin_of_step(self._at_s(made.start_ns)) is None and of_session.last is None:
            super().add_slice(made)
            return
        if of_session.last is not None:
            self._join(of_session, of_session.last)
        of_session.last = made

    def _join(self, of_session: _Session, slices: SliceRow) -> None:
        before = of_session.step
        begins = [self._begin_of_step(self._at_s(each.start_ns)) for each in (before or slices, slices)]
        if before is not None and begins[0] == begins[1]:
            before.join(slices)
            return
        self._write_slices(before)
        of_session.step = slices

    def _write_slices(self, made: SliceRow | None) -> None:
        if made is not None:
            super().add_slice(made)

    def engine(self, begin_ns: int, end_ns: int, values: Mapping[str, float | None]) -> None:
        """Write an interval, or add it to those of its step; the last one stays apart, because it may be replaced."""
        known = {name: value for name, value in values.items() if value is not None}
        if self._begin_of_step(self._at_s(begin_ns) + _JITTER_S) is None:
            super().engine(begin_ns, end_ns, known)
            return
        if self._intervals and self._intervals[-1].begin_ns == begin_ns:
            self._intervals.pop()
        elif self._intervals:
            steps = {
                self._begin_of_step(self._at_s(each) + _JITTER_S) for each in (self._intervals[0].begin_ns, begin_ns)
            }
            if len(steps) > 1:
                self._write_intervals()
        self._intervals.append(_Interval(begin_ns, end_ns, known))

    def engine_latency(self, begin_ns: int, end_ns: int, by_event: Durations) -> None:
        """Write the waits of an interval that the engine counts by duration, or keep them with the interval."""
        if self._intervals and self._intervals[-1].begin_ns == begin_ns:
            self._intervals[-1].durations = by_event
        else:
            super().engine_latency(begin_ns, end_ns, by_event)

    def _write_intervals(self) -> None:
        if not self._intervals:
            return
        begin_ns, end_ns = self._intervals[0].begin_ns, self._intervals[-1].end_ns
        # What is not known of a part is not known of the whole.
        names = [name for name in self._intervals[0].amounts if all(name in each.amounts for each in self._intervals)]
        super().engine(begin_ns, end_ns, {name: sum(each.amounts[name] for each in self._intervals) for name in names})
        durations: dict[str, Counter[tuple[int, int]]] = {}
        for each in self._intervals:
            for event, counts in each.durations.items():
                durations.setdefault(event, Counter()).update(counts)
        super().engine_latency(begin_ns, end_ns, durations)
        self._intervals = []

    def os(self, wall_ns: int, values: Mapping[str, float | None]) -> None:
        """Write a reading of the operating system: the first one of each step, and both around a reset."""
        seen = self._must_be_seen(values)
        self._os_seen = values
        if self._is_first("os.csv", wall_ns + self._offset_ns) or seen:
            if seen and self._unwritten_os:
                super().os(*self._unwritten_os)
            self._unwritten_os = None
            super().os(wall_ns, values)
        else:
            self._unwritten_os = (wall_ns, values)

    def _must_be_seen(self, values: Mapping[str, float | None]) -> bool:
        """Return whether a counter fell, a limit changed, or any came or went: later readings would not show it."""
        if values.keys() != self._os_seen.keys():
            return True
        pairs = [(name, self._os_seen[name], value) for name, value in values.items()]
        return any(
            (value or 0.0) < (before or 0.0) if not name.endswith(_LIMITS) else value != before
            for name, before, value in pairs
            if not name.endswith(_LEVELS)
        )

    def sample(self, server_ns: int, epoch: str, values: Mapping[str, float | None]) -> None:
        """Write a reading of the engine's counters that moved: the first one of each step, and the last of an epoch."""
        if self._counters and self._counters[1] != epoch:
            self._write_counters()
        moved = {**(self._counters[2] if self._counters else {}), **values}
        self._counters = (server_ns, epoch, moved)
        if self._is_first("samples.csv", server_ns, _COUNTERS_EVERY):
            self._write_counters()

    def _write_counters(self) -> None:
        if self._counters:
            super().sample(*self._counters)
        self._counters = None

    def _is_first(self, file: str, server_ns: int, steps: int = 1) -> bool:
        """Return whether a reading is the first one in so many steps, and take it for written if it is."""
        at_s = self._at_s(server_ns) + _JITTER_S
        step = self._begin_of_step(at_s)
        if step is None:
            return True
        step //= _step_at(at_s)[1] * steps
        first = self._written.get(file) != step
        self._written[file] = step
        return first

    def waits(self, wall_ns: int, sessions_by_event: Mapping[str, float]) -> None:
        """Write a sample of waits, or the mean of those of a step, as one in the middle of it."""
        at_s = self._at_s(wall_ns + self._offset_ns)
        step = self._begin_of_step(at_s)
        if self._waiting and self._begin_of_step(self._waiting.at_s) != step:
            self._write_waits()
        if step is None:
            super().waits(wall_ns, sessions_by_event)
            return
        self._waiting = self._waiting or _Samples(at_s)
        self._waiting.count += 1
        self._waiting.sessions.update(sessions_by_event)

    def _write_waits(self) -> None:
        if self._waiting and self._begin_ns is not None:
            middle_s = (self._begin_of_step(self._waiting.at_s) or 0) + _step_at(self._waiting.at_s)[1] / 2
            means = {event: round(sum_ / self._waiting.count, 4) for event, sum_ in self._waiting.sessions.items()}
            super().waits(self._begin_ns - self._offset_ns + round(middle_s * NANOS), means)
        self._waiting = None

    def latency(self, second: int, kind: str, histogram: Histogram) -> None:
        """Write the service times of a second, or add them to those of its step."""
        self._keep("latency.csv", second, kind, histogram, super().latency)

    def response(self, second: int, kind: str, histogram: Histogram) -> None:
        """Write the response times of a second, or add them to those of its step."""
        self._keep("response.csv", second, kind, histogram, super().response)

    def _keep(
        self,
        file: str,
        second: int,
        kind: str,
        histogram: Histogram,
        write: Callable[[int, str, Histogram], None],
    ) -> None:
        step = self._begin_of_step(second)
        if file in self._histograms and self._histograms[file][0] != step:
            self._write_histograms(file, write)
        if step is None:
            write(second, kind, histogram)
            return
        _, of_step = self._histograms.setdefault(file, (step, {}))
        of_step.setdefault(kind, Histogram()).merge(histogram)

    def _write_histograms(self, file: str, write: Callable[[int, str, Histogram], None]) -> None:
        step, of_step = self._histograms.pop(file, (0, {}))
        for kind, histogram in of_step.items():
            write(step, kind, histogram)

    def finish(self) -> None:
        """Write what is kept, and all rows: the window has ended."""
        for kept in self._sessions.values():
            self._write_slices(kept.step)
            self._write_slices(kept.last)
        self._sessions = {}
        self._write_intervals()
        if self._unwritten_os:
            super().os(*self._unwritten_os)
            self._unwritten_os = None
        self._write_counters()
        self._write_waits()
        self._write_histograms("latency.csv", super().latency)
        self._write_histograms("response.csv", super().response)
        self.flush()

    def close(self) -> None:
        """Write what is kept, and close."""
        if not self.error:
            self.finish()
        super().close()
