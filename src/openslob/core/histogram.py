"""The latency histogram: one bucket layout for Python and for the work loops of all engines.

A latency of ``v`` whole microseconds falls into bucket ``floor(72 * asinh(v / 50))``. The formula stands in this module
only: a work loop that counts by bucket in SQL gets it from `bucket_expression`. The inverse hyperbolic sine
is linear near zero and logarithmic above, so one expression without a branch gives one bucket a microsecond up to
51 µs and buckets 1.4 % wide far above: the middle of a bucket is within 1 % of every value in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

STEEPNESS = 72
LINEAR_US = 50
# Values above 100 s share the last bucket: a single operation that long is an outage, not a latency.
BUCKETS = 1 + math.floor(STEEPNESS * math.asinh(100_000_000 / LINEAR_US))
# An operation that took less than one tick of the server's microsecond clock counts as half a tick, never as 0.
BELOW_RESOLUTION_US = 0.5

PERCENTILES = {"p50_us": 0.50, "p90_us": 0.90, "p99_us": 0.99, "p999_us": 0.999}


def bucket_of(us: float) -> int:
    """Return the bucket number (from 0) of a latency in whole microseconds."""
    return min(math.floor(STEEPNESS * math.asinh(us / LINEAR_US)), BUCKETS - 1)


def bucket_expression(us: str) -> str:
    """Return the formula as an SQL expression, for servers that have ``asinh``.

    The caller limits the result to the last bucket, ``BUCKETS - 1``.

    Args:
        us: an SQL expression of a latency in whole microseconds, of a floating-point type.

    """
    return f"floor({STEEPNESS} * asinh({us} / {LINEAR_US}))"


@cache
def lower_edge_us(bucket: int) -> int:
    """Return the smallest whole number of microseconds that falls into ``bucket``."""
    return math.ceil(LINEAR_US * math.sinh(bucket / STEEPNESS) - 1e-9)


def middle_us(bucket: int) -> float:
    """Return the representative value of a bucket: the mean of the whole microseconds that it covers."""
    if bucket == 0:
        return BELOW_RESOLUTION_US
    return (lower_edge_us(bucket) + max(lower_edge_us(bucket + 1) - 1, lower_edge_us(bucket))) / 2


def step_of(us: float) -> float:
    """Return how wide the bucket of a latency is, as a share of the latency: percentiles come in such steps."""
    bucket = bucket_of(us)
    return max(lower_edge_us(bucket + 1) - lower_edge_us(bucket), 1) / us


@dataclass
class Histogram:
    """Counts by bucket, with the exact sum and maximum.

    ``counts`` maps bucket numbers to counts; ``sum_us`` and ``max_us`` are exact and not derived from the buckets.
    """

    counts: dict[int, int] = field(default_factory=dict)
    sum_us: float = 0.0
    max_us: float = 0.0

    @property
    def count(self) -> int:
        """The number of recorded latencies."""
        return sum(self.counts.values())

    def add(self, buckets: Mapping[int, int] | Iterable[tuple[int, int]], sum_us: float, max_us: float) -> None:
        """Add the counts, sum and maximum of one slice."""
        pairs = buckets.items() if isinstance(buckets, Mapping) else buckets
        counts = self.counts
        for bucket, count in pairs:
            counts[bucket] = counts.get(bucket, 0) + count
        self.sum_us += sum_us
        self.max_us = max(self.max_us, max_us)

    def merge(self, other: Histogram) -> None:
        """Add another histogram."""
        if self.counts:
            self.add(other.counts, other.sum_us, other.max_us)
        else:
            self.counts = dict(other.counts)
            self.add({}, other.sum_us, other.max_us)

    def mean_us(self) -> float | None:
        """Return the exact mean latency in µs, at least half a clock tick; None when nothing was recorded."""
        count = self.count
        return max(self.sum_us / count, BELOW_RESOLUTION_US) if count else None

    def beyond(self, us: float) -> tuple[int, float]:
        """Return how many latencies were at least ``us``, and their sum in µs; by buckets, so within 1 %."""
        if us > self.max_us:  # the last bucket has all above its lower edge
            return 0, 0.0
        count, sum_us, first = 0, 0.0, bucket_of(us)
        for bucket, found in self.counts.items():
            if bucket >= first:
                count += found
                sum_us += found * (self.max_us if bucket == BUCKETS - 1 else middle_us(bucket))
        return count, min(sum_us, self.sum_us)

    def quantile_us(self, share: float) -> float | None:
        """Return the latency in µs that ``share`` of the operations did not exceed, within 1 %; None when empty.

        In the last bucket, which has no upper edge, it is the maximum if that is finite.
        """
        rank = math.ceil(share * self.count)
        cumulative = 0
        for bucket in sorted(self.counts):
            cumulative += self.counts[bucket]
            if cumulative >= max(rank, 1):
                most = max(self.max_us, BELOW_RESOLUTION_US)
                unbounded = bucket == BUCKETS - 1 and math.isfinite(most)
                return most if unbounded else min(middle_us(bucket), most)
        return None

    def summary(self) -> dict[str, object]:
        """Return the form of the record: count, mean, percentiles, maximum and ``[lower edge µs, count]`` buckets."""
        percentiles = {name: self.quantile_us(share) for name, share in PERCENTILES.items()}
        return {
            "count": self.count,
            "mean_us": self.mean_us(),
            **percentiles,
            "max_us": max(self.max_us, BELOW_RESOLUTION_US) if self.counts else None,
            "buckets": [[lower_edge_us(bucket), self.counts[bucket]] for bucket in sorted(self.counts)],
        }


@dataclass(frozen=True)
class Slow:
    """One of the slowest operations: how long it took, exactly or within 1 %, and in which slice of which session.

    A session reports the longest operation of a slice, and the others by bucket.
    """

    us: float
    session: int
    slice_start_ns: int
    slice_end_ns: int


def slowest_of(histogram: Histogram, most: int, batch: int = 1) -> Iterator[float]:
    """Yield the longest latencies of one slice, longest first: the first one exactly, the others within 1 %.

    ``batch``: so many operations are sent together and have one latency. A bucket then has as many latencies as it has
    batches at least.
    """
    yield from ([histogram.max_us] if histogram.counts else [])
    left, first = most - 1, 1
    for bucket in sorted(histogram.counts, reverse=True):
        count = min(-(-histogram.counts[bucket] // batch) - first, left)
        yield from [min(middle_us(bucket), histogram.max_us)] * count
        left, first = left - count, 0
        if not left:
            return
