"""Latencies by second and bucket, and their percentiles over any time."""

from __future__ import annotations

import numpy as np

from openslob.analyze.verdicts.environment import least_for
from openslob.histogram import BUCKETS, PERCENTILES, middle_us
from openslob.live.steps import Steps
from openslob.live.tables import Array, Grid, Moments, Seconds

MIDDLES_US: Array = np.array([middle_us(bucket) for bucket in range(BUCKETS)])
MAX = "max_us"
_SHARES = {name: (share, least_for(share)) for name, share in PERCENTILES.items()}
# An entry is one number: second, bucket and count, in bits from the left. The numbers' order is that of time.
_BUCKET_BITS, _COUNT_BITS = 11, 29
_MINUTE_S = 60
_SECOND_AT, _MOST_COUNT = _BUCKET_BITS + _COUNT_BITS, (1 << _COUNT_BITS) - 1


class Latencies:
    """How many operations of one kind took how long, second by second."""

    def __init__(self) -> None:
        self._entries = Grid(0, np.int64)
        self._entries.codes(["entry"])
        self._percentiles = Seconds(np.nan)
        # The same counts by minute: long steps are made of these.
        self._minutes = Seconds(rows=BUCKETS)

    def add(self, seconds: Moments, buckets: Moments, counts: Moments, older: bool) -> None:
        """Add counts of seconds that follow, or precede, those that are known; they may meet in a second."""
        if counts.min() < 0 or buckets.min() < 0 or np.abs(seconds).max() > Seconds.MOST:
            raise ValueError("a count, a latency or a second is not possible")
        new = (seconds << _SECOND_AT) | (buckets << _COUNT_BITS) | np.minimum(counts, _MOST_COUNT)
        self._minutes.add_at(buckets, seconds // _MINUTE_S, counts.astype(np.float64))
        known = self._entries.cells[0]
        if older:
            split = int(np.searchsorted(known, (int(seconds.max()) + 1) << _SECOND_AT))
            meeting = known[:split]
        else:
            split = int(np.searchsorted(known, int(seconds.min()) << _SECOND_AT))
            meeting = known[split:]
        together = np.sort(np.concatenate([meeting, new]))
        self._entries.grow(len(new) if older else 0, 0 if older else len(new))
        if older:
            self._entries.cells[0, : len(together)] = together
        else:
            self._entries.cells[0, split:] = together
        self._judge(together)

    def _judge(self, entries: Moments) -> None:
        """Compute the percentiles of these seconds, of which the entries are complete."""
        seconds, buckets, counts = _unpacked(entries)
        starts = np.flatnonzero(np.append(True, seconds[1:] != seconds[:-1]))
        ends = np.append(starts[1:], len(seconds)) - 1
        done = np.cumsum(counts)
        before = done[starts] - counts[starts]
        totals = done[ends] - before
        found = {name: _ranked(done, before, totals, share, least) for name, (share, least) in _SHARES.items()}
        values = [np.where(at < 0, np.nan, MIDDLES_US[buckets[at]]) for at in found.values()]
        self._percentiles.set([*found, MAX], seconds[starts], np.array([*values, MIDDLES_US[buckets[ends]]]))

    def percentile(self, name: str) -> tuple[Array, Array]:
        """Return the begin of each second, and the percentile, or maximum, of its operations."""
        values = self._percentiles.value(name)
        return self._percentiles.begin_s, np.empty(0) if values is None else values

    def counts(self, steps: Steps, until_s: float) -> Array:
        """Return how many operations fell into each step and bucket, in the seconds before ``until_s``."""
        until = int(min(steps.end_s, until_s))
        found: Array = np.zeros((steps.count, BUCKETS))
        begin = int(steps.begin_s)
        if steps.length_s % _MINUTE_S == 0:
            begin = max(begin, until // _MINUTE_S * _MINUTE_S)
            self._add_minutes(found, steps, begin // _MINUTE_S)
        entries = self._entries.cells[0]
        low, high = (int(np.searchsorted(entries, at << _SECOND_AT)) for at in (begin, until))
        seconds, buckets, counts = _unpacked(entries[low:high])
        flat = (seconds // steps.length_s - steps.first) * BUCKETS + buckets
        found += np.bincount(flat, weights=counts, minlength=found.size).reshape(found.shape)
        return found

    def _add_minutes(self, into: Array, steps: Steps, until: int) -> None:
        """Add the minutes before minute ``until``; a step has a whole number of minutes."""
        length, first = steps.length_s // _MINUTE_S, self._minutes.first
        low = max(steps.first * length, first)
        high = min(until, first + len(self._minutes))
        if low >= high:
            return
        step = np.arange(low, high) // length - steps.first
        starts = np.flatnonzero(np.append(True, step[1:] != step[:-1]))
        into[step[starts]] += np.add.reduceat(self._minutes.cells[:, low - first : high - first], starts, axis=1).T


def percentiles(counts: Array, name: str) -> Array:
    """Return the percentile, or maximum, of each row of counts by bucket; NaN where too few lie beyond it."""
    totals = counts.sum(axis=1)
    if name == MAX:
        last = counts.shape[1] - 1 - np.argmax(counts[:, ::-1] > 0, axis=1)
        return np.where(totals > 0, MIDDLES_US[last], np.nan)
    share, least = _SHARES[name]
    ranks = np.maximum(np.ceil(share * totals), 1)
    at = np.argmax(np.cumsum(counts, axis=1) >= ranks[:, None], axis=1)
    return np.where(totals >= least, MIDDLES_US[at], np.nan)


def _unpacked(entries: Moments) -> tuple[Moments, Moments, Moments]:
    return entries >> _SECOND_AT, (entries >> _COUNT_BITS) & ((1 << _BUCKET_BITS) - 1), entries & _MOST_COUNT


def _ranked(done: Moments, before: Moments, totals: Moments, share: float, least: int) -> Moments:
    """Return the entry with the operation of this rank in each second; -1 where too few lie beyond it."""
    ranks = np.maximum(np.ceil(share * totals).astype(np.int64), 1)
    return np.where(totals >= least, np.searchsorted(done, before + ranks), -1)
