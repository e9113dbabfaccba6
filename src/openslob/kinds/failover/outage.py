"""How long an outage took, by the clocks of driver and servers, and when the level was reached again. Pure functions.

The driver's outage is the longest time between two acknowledgements, of all sessions together or of one. The servers'
is that between two commits of operations that are there in the end. The first is longer if acknowledged operations were
lost; so the clocks are compared by the operations that were kept.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openslob.core.units import NANOS
from openslob.kinds.failover.journal import IN_DOUBT, Journal

Times = NDArray[np.int64]
# The rate is a mean over so much time, which moves; the level counts as reached again at so much of what it was.
MEAN_OVER_S = 1.0
LEVEL_SHARE = 0.95


@dataclass(frozen=True)
class Offset:
    """A server's clock minus the driver's, in ns, and the largest error of that."""

    ahead_ns: int = 0
    error_ns: int = 0

    @property
    def known_ns(self) -> int:
        """The difference; 0 if it is within its error, since clocks of one host agree."""
        return self.ahead_ns if abs(self.ahead_ns) > self.error_ns else 0


@dataclass(frozen=True)
class Gap:
    """A time without an event: from the last before it to the first after it."""

    begin_ns: int
    end_ns: int

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.end_ns - self.begin_ns) / NANOS


def acknowledged(journals: Sequence[Journal]) -> Times:
    """Return when operations were acknowledged, in order."""
    acked = _joined([_array(journal.acked_ns, len(journal)) for journal in journals])
    return acked[np.searchsorted(acked, IN_DOUBT, side="right") :]


def kept(
    journals: Sequence[Journal], there: Sequence[Sequence[int]], offsets: Mapping[int, Offset], wall_ns: int
) -> tuple[Times, Times]:
    """Return when operations that are there in the end were acknowledged, and when the servers had committed them.

    Both by the driver's monotonic clock, in order; those in doubt are left out. ``there`` are the attempts, by index,
    of each session; ``wall_ns`` is the wall clock minus the monotonic one.
    """
    acked, done = [], []
    for journal, indexes in zip(journals, there, strict=True):
        attempts = np.asarray(indexes, dtype=np.int64)
        acked_ns, done_ns, targets = (
            _array(each, len(journal))[attempts] for each in (journal.acked_ns, journal.done_ns, journal.targets)
        )
        known = acked_ns != IN_DOUBT
        ahead = np.zeros(len(attempts), np.int64)
        for target, offset in offsets.items():
            ahead[targets == target] = offset.known_ns
        acked.append(acked_ns[known])
        done.append((done_ns - ahead - wall_ns)[known])
    return _joined(acked), _joined(done)


def _array(values: array[int], count: int) -> Times:
    # A copy: an array whose memory is lent can't grow.
    return np.frombuffer(values[:count], dtype=np.int64)


def _joined(parts: Sequence[Times]) -> Times:
    return np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)


def all_back_ns(journals: Sequence[Journal], end_ns: int) -> int:
    """Return when all sessions that lost their server were connected again; the end if one was not, or none lost it."""
    lost = [journal for journal in journals if IN_DOUBT in journal.acked_ns]
    if not lost or any(not journal.losses for journal in lost):
        return end_ns
    return min(end_ns, max(journal.losses[0].back_ns for journal in lost))


def longest_gap(events: Times, from_ns: int, until_ns: int) -> Gap | None:
    """Return the longest time between two events that ended after one moment and began before another.

    A pause that comes after all sessions are back is none of the outage. None without such a time.
    """
    first, last = np.searchsorted(events, (from_ns, until_ns))
    low, high = max(1, int(first)), min(len(events), int(last) + 1)
    if high <= low:
        return None
    lengths = np.diff(events[low - 1 : high])
    longest = low + int(np.argmax(lengths))
    return Gap(int(events[longest - 1]), int(events[longest]))


def level(acked: Times, begin_ns: int, end_ns: int) -> float | None:
    """Return the mean rate between two moments, per second; None for no time at all."""
    seconds = (end_ns - begin_ns) / NANOS
    low, high = np.searchsorted(acked, (begin_ns, end_ns))
    return float(high - low) / seconds if seconds > 0 else None


def back_ns(acked: Times, gap: Gap, before: float, until_ns: int) -> int | None:
    """Return when the level was reached again: the begin of the first mean after the gap that is high enough.

    None: it was not within what was measured.
    """
    window = int(MEAN_OVER_S * NANOS)
    starts = acked[np.searchsorted(acked, gap.end_ns) :]
    starts = starts[starts + window <= until_ns]
    counts = np.searchsorted(acked, starts + window) - np.searchsorted(acked, starts)
    enough = np.flatnonzero(counts >= LEVEL_SHARE * before * MEAN_OVER_S)
    return int(starts[enough[0]]) if len(enough) else None
