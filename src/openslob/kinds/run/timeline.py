"""What the time line has of the window: its intervals, with the operations in each, in memory of limited size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from openslob.core.units import NANOS

# So many intervals are kept; of a longer window, neighbours are taken together. They take about 2 MB.
MOST_INTERVALS = 7200
# Readings do not come exactly an interval apart.
_JITTER = 1.25


@dataclass(slots=True)
class TimelineInterval:
    """What the time line has of the time between two readings. ``ops`` are those that were reported so far."""

    begin_ns: int
    end_ns: int
    reads: float | None
    transactions: float | None
    server_cpu_s: float | None
    steal_s: float | None
    ops: float = 0.0

    @property
    def seconds(self) -> float:
        """Length of the interval."""
        return (self.end_ns - self.begin_ns) / NANOS

    def join(self, later: TimelineInterval) -> None:
        """Take in the interval that follows this one."""
        self.end_ns = later.end_ns
        self.reads = _sum(self.reads, later.reads)
        self.transactions = _sum(self.transactions, later.transactions)
        self.server_cpu_s = _sum(self.server_cpu_s, later.server_cpu_s)
        self.steal_s = _sum(self.steal_s, later.steal_s)
        self.ops += later.ops


class WindowTimeline:
    """The intervals of a window in their order. Slices may be reported before and after the readings around them."""

    def __init__(self, most: int = MOST_INTERVALS) -> None:
        self._most = most
        self._intervals: list[TimelineInterval] = []
        # Slices that go on after the last interval.
        self._ahead: list[tuple[int, int, int]] = []
        # The interval that a longer one with the same begin is to replace.
        self._replaced: TimelineInterval | None = None
        self._least_s = 0.0

    def __len__(self) -> int:
        return len(self._intervals)

    def __iter__(self) -> Iterator[TimelineInterval]:
        return iter(self._intervals)

    def add(self, interval: TimelineInterval) -> None:
        """Add the next interval."""
        done_ns = interval.begin_ns
        if self._replaced is not None:
            interval.ops, done_ns = self._replaced.ops, self._replaced.end_ns
            self._replaced = None
        interval.ops += sum(_share(span, done_ns, interval.end_ns) for span in self._ahead)
        self._ahead = [span for span in self._ahead if span[1] > interval.end_ns]
        # The last one may be replaced: it stays apart.
        if len(self._intervals) > 1 and self._fit(*self._intervals[-2:]):
            self._intervals[-2].join(self._intervals.pop())
        self._intervals.append(interval)
        if len(self._intervals) > self._most:
            self._shorten()

    def replace_last(self) -> None:
        """Take the last interval away: a longer one with the same begin comes."""
        self._replaced = self._intervals.pop()

    def worked(self, begin_ns: int, end_ns: int, ops: int) -> None:
        """Count a slice; one that lies in several intervals counts in each, by its share of time."""
        span = (begin_ns, end_ns, ops)
        for interval in reversed(self._intervals):
            if interval.end_ns <= begin_ns:
                break
            interval.ops += _share(span, interval.begin_ns, interval.end_ns)
        if not self._intervals or end_ns > self._intervals[-1].end_ns:
            self._ahead.append(span)

    def _fit(self, first: TimelineInterval, second: TimelineInterval) -> bool:
        return first.seconds + second.seconds <= _JITTER * self._least_s

    def _shorten(self) -> None:
        every = self._intervals
        self._least_s = 2 * (every[-1].end_ns - every[0].begin_ns) / NANOS / len(every)
        kept: list[TimelineInterval] = []
        for interval in every[:-1]:
            if kept and self._fit(kept[-1], interval):
                kept[-1].join(interval)
            else:
                kept.append(interval)
        self._intervals = [*kept, every[-1]]


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _share(span: tuple[int, int, int], begin_ns: int, end_ns: int) -> float:
    start, end, ops = span
    shared = min(end, end_ns) - max(start, begin_ns)
    return ops * min(1.0, shared / (end - start)) if shared > 0 and end > start else 0.0
