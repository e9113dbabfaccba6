"""Latencies by unit of time and bucket, and their percentiles over any time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from openslob.analyze.steps import Steps
from openslob.analyze.tables import Array, GrowingRows, Moments, Seconds
from openslob.analyze.verdicts.environment import least_for
from openslob.core.histogram import BUCKETS, PERCENTILES, Histogram, middle_us

MIDDLES_US: Array = np.array([middle_us(bucket) for bucket in range(BUCKETS)])
MAX = "max_us"
_SHARES = {name: (share, least_for(share)) for name, share in PERCENTILES.items()}
# An entry is one number: unit of time, bucket and count, in bits from the left. The numbers' order is that of time.
_BUCKET_BITS, _COUNT_BITS = 11, 29
_MINUTE_S = 60
# So many entries, or steps, are worked on at a time.
_PART, _STEPS_AT_ONCE = 200_000, 500
_UNIT_AT, _MOST_COUNT = _BUCKET_BITS + _COUNT_BITS, (1 << _COUNT_BITS) - 1


class Latencies:
    """How many operations of one kind took how long, by seconds or by units of ``unit_s`` seconds."""

    def __init__(self, unit_s: int = 1) -> None:
        self._unit_s = unit_s
        self._entries = GrowingRows(0, np.int64)
        self._entries.codes(["entry"])
        self._percentiles = Seconds(np.nan, unit_s=unit_s)
        # The same counts by minute: long steps are made of these. Longer units than a second are few enough.
        self._minutes = Seconds(rows=BUCKETS, unit_s=_MINUTE_S) if unit_s == 1 else None

    def add(self, units: Moments, buckets: Moments, counts: Moments, older: bool) -> None:
        """Add counts of units that follow, or precede, those that are known; they may meet in a unit."""
        if not len(units):
            return
        if counts.min() < 0 or buckets.min() < 0 or np.abs(units).max() * self._unit_s > Seconds.MOST:
            raise ValueError("a count, a latency or a second is not possible")
        new = _pack(units, buckets, counts)
        if self._minutes is not None:
            self._minutes.add_at(buckets, units // _MINUTE_S, counts.astype(np.float64))
        known = self._entries.cells[0]
        if older:
            split = int(np.searchsorted(known, (int(units.max()) + 1) << _UNIT_AT))
            meeting = known[:split]
        else:
            split = int(np.searchsorted(known, int(units.min()) << _UNIT_AT))
            meeting = known[split:]
        together = _merge(np.sort(np.concatenate([meeting, new])))
        more = len(together) - len(meeting)
        self._entries.grow(more if older else 0, 0 if older else more)
        if older:
            self._entries.cells[0, : len(together)] = together
        else:
            self._entries.cells[0, split:] = together
        at, found = _percentiles(together)
        self._percentiles.set(list(found), at, np.array(list(found.values())))

    def percentile(self, name: str) -> tuple[Array, Array]:
        """Return the begin of each unit, and the percentile, or maximum, of its operations."""
        values = self._percentiles.value(name)
        return self._percentiles.begin_s, np.empty(0) if values is None else values

    @property
    def entries(self) -> tuple[Moments, Moments, Moments]:
        """The unit, the bucket and the count of each entry, in the order of time and latency."""
        return _unpack(self._entries.cells[0])

    def parts(self) -> Iterator[tuple[Moments, Moments, Moments]]:
        """Yield the same in parts: all at once would take several times the memory of the entries."""
        for low in range(0, len(self._entries), _PART):
            yield _unpack(self._entries.cells[0, low : low + _PART])

    def totals(self, until_s: float = math.inf) -> Array:
        """Return how many operations fell into each bucket, in the units that begin before ``until_s``."""
        if math.isfinite(until_s):
            found: Array = self.counts(Steps(0, 1, _MINUTE_S * (int(until_s) // _MINUTE_S + 1), until_s), until_s)[0]
            return found
        found = np.zeros(BUCKETS)
        for _, buckets, counts in self.parts():
            found += np.bincount(buckets, counts, BUCKETS)
        return found

    def by_unit(self) -> Iterator[tuple[int, Moments, Moments]]:
        """Yield each unit with its buckets and counts."""
        units, buckets, counts = self.entries
        starts = np.flatnonzero(np.append(True, units[1:] != units[:-1])[: len(units)])
        for begin, end in pairwise([*starts.tolist(), len(units)]):
            yield int(units[begin]), buckets[begin:end], counts[begin:end]

    def coarser(self, factor: int) -> Latencies:
        """Return the same counts by units that are ``factor`` times as long."""
        coarse = Latencies(self._unit_s * factor)
        for units, buckets, counts in self.parts():
            coarse.add(units // factor, buckets, counts, older=False)
        return coarse

    def between(self, low: int, high: int) -> tuple[Moments, Moments, Moments]:
        """Return the same of the units from ``low`` to before ``high``."""
        entries = self._entries.cells[0]
        first, last = (int(np.searchsorted(entries, unit << _UNIT_AT)) for unit in (low, high))
        return _unpack(entries[first:last])

    def counts(self, steps: Steps, until_s: float) -> Array:
        """Return how many operations fell into each step and bucket, in the units that begin before ``until_s``."""
        until = int(min(steps.end_s, until_s))
        found: Array = np.zeros((steps.count, BUCKETS))
        begin = int(steps.begin_s)
        if self._minutes is not None and steps.length_s % _MINUTE_S == 0:
            begin = max(begin, until // _MINUTE_S * _MINUTE_S)
            self._add_minutes(found, steps, self._minutes, begin // _MINUTE_S)
        entries = self._entries.cells[0]
        low, high = (int(np.searchsorted(entries, -(-at // self._unit_s) << _UNIT_AT)) for at in (begin, until))
        units, buckets, counts = _unpack(entries[low:high])
        flat = (units * self._unit_s // steps.length_s - steps.first) * BUCKETS + buckets
        found += np.bincount(flat, weights=counts, minlength=found.size).reshape(found.shape)
        return found

    @staticmethod
    def _add_minutes(into: Array, steps: Steps, minutes: Seconds, until: int) -> None:
        """Add the minutes before minute ``until``; a step has a whole number of minutes."""
        length, first = steps.length_s // _MINUTE_S, minutes.first
        low = max(steps.first * length, first)
        high = min(until, first + len(minutes))
        if low >= high:
            return
        step = np.arange(low, high) // length - steps.first
        starts = np.flatnonzero(np.append(True, step[1:] != step[:-1]))
        into[step[starts]] += np.add.reduceat(minutes.cells[:, low - first : high - first], starts, axis=1).T


def histograms(of_kind: Latencies, step_of: Callable[[Moments], Moments]) -> dict[int, Histogram]:
    """Return the operations of each step that has any; ``step_of`` returns the step of each unit.

    The files do not contain the maximum, so a percentile is bounded only by its bucket.
    """
    found: dict[int, Histogram] = {}
    for units, buckets, counts in of_kind.parts():
        merged = _unpack(_merge(np.sort(_pack(step_of(units), buckets, counts))))
        for step, bucket, count in zip(*(each.tolist() for each in merged), strict=True):
            of_step = found.setdefault(step, Histogram(max_us=math.inf)).counts
            of_step[bucket] = of_step.get(bucket, 0) + count
    return found


def means_us(of_kind: Latencies) -> list[float]:
    """Return the mean latency of each unit that has any operation."""
    known: dict[int, tuple[float, float]] = {}
    for units, buckets, counts in of_kind.parts():
        at, unit = np.unique(units, return_inverse=True)
        sums = np.bincount(unit, counts * MIDDLES_US[buckets]), np.bincount(unit, counts)
        for number, time_us, count in zip(at.tolist(), *(each.tolist() for each in sums), strict=True):
            before = known.get(number, (0.0, 0.0))
            known[number] = before[0] + time_us, before[1] + count
    return [time_us / count for time_us, count in known.values()]


def percentiles_of(
    kinds: Sequence[Latencies], names: Sequence[str], step_s: int, unit_s: int, count: int
) -> list[Array]:
    """Return percentiles, or the maximum, of all kinds together in each of ``count`` steps; NaN where unknown."""
    found = [np.full(count, np.nan) for _ in names]
    for first in range(0, count, _STEPS_AT_ONCE):
        ends = (first, min(first + _STEPS_AT_ONCE, count))
        low, high = (-(-step * step_s // unit_s) for step in ends)
        parts = [kind.between(low, high) for kind in kinds]
        packed = [_pack(units * unit_s // step_s, buckets, counts) for units, buckets, counts in parts]
        at, known = _percentiles(_merge(np.sort(np.concatenate(packed))))
        for values, name in zip(found, names, strict=True):
            values[at] = known[name]
    return found


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


def _percentiles(entries: Moments) -> tuple[Moments, dict[str, Array]]:
    """Return the units of sorted entries, and the percentiles and the maximum of each, by name."""
    units, buckets, counts = _unpack(entries)
    starts = np.flatnonzero(np.append(True, units[1:] != units[:-1])[: len(units)])
    ends = np.append(starts[1:], len(units))[: len(starts)] - 1
    done = np.cumsum(counts)
    before = done[starts] - counts[starts]
    totals = done[ends] - before
    found = {}
    for name, (share, least) in _SHARES.items():
        at = _rank(done, before, totals, share, least)
        found[name] = np.where(at < 0, np.nan, MIDDLES_US[buckets[at]]) if len(at) else np.empty(0)
    return units[starts], {**found, MAX: MIDDLES_US[buckets[ends]]}


def _pack(units: Moments, buckets: Moments, counts: Moments) -> Moments:
    return (units << _UNIT_AT) | (buckets << _COUNT_BITS) | np.minimum(counts, _MOST_COUNT)


def _merge(entries: Moments) -> Moments:
    """Return sorted entries with one for each unit and bucket."""
    first = np.append(True, entries[1:] >> _COUNT_BITS != entries[:-1] >> _COUNT_BITS)
    if first.all():
        return entries
    starts = np.flatnonzero(first)
    units, buckets, counts = _unpack(entries)
    return _pack(units[starts], buckets[starts], np.add.reduceat(counts, starts))


def _unpack(entries: Moments) -> tuple[Moments, Moments, Moments]:
    return entries >> _UNIT_AT, (entries >> _COUNT_BITS) & ((1 << _BUCKET_BITS) - 1), entries & _MOST_COUNT


def _rank(done: Moments, before: Moments, totals: Moments, share: float, least: int) -> Moments:
    """Return the entry with the operation of this rank in each unit; -1 where too few lie beyond it."""
    ranks = np.maximum(np.ceil(share * totals).astype(np.int64), 1)
    return np.where(totals >= least, np.searchsorted(done, before + ranks), -1)
