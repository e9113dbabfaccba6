"""The search for the fewest requests in flight that give the highest rate within a latency limit.

`decide` is a pure function of the probes made so far. Each decision has a reason, which goes into the record.

1. The search starts with one request in flight and doubles the number while the rate grows.
2. Two doublings in a row that gain less than `GAIN` each end the doubling: the storage is saturated.
3. A latency above the limit ends it too. Then the gap between the largest number within the limit and the smallest
   number above it is halved, until it is an eighth of the smaller one.
4. The result is the smallest number within the limit whose rate is within `SAME` of the best rate within the limit.

The result depends on nothing else: neither on the number of disks nor on other files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

# A doubling that gains less than this share doubles the latency for almost no higher rate.
GAIN = 0.05
# Rates that differ by less than this share count as equal: more requests in flight would only wait longer.
SAME = 0.02
# The halving ends when the gap is this fraction of the smaller number: rates within it can't be distinguished.
_FINEST_FRACTION = 8


@dataclass(frozen=True)
class DepthProbe:
    """A measured number of requests in flight: its rate, and the latency in µs that the limit applies to."""

    in_flight: int
    iops: float
    latency_us: float


@dataclass(frozen=True)
class SearchLimits:
    """The bounds of a search.

    ``most`` is the highest number in flight. ``limit_us`` limits the latency statistic ``at`` (``p99`` or ``mean``);
    None means no limit. Numbers in flight above ``multiple_of`` are multiples of it.
    """

    most: int
    limit_us: float | None = None
    at: str = "p99"
    multiple_of: int = 1

    def allows(self, probe: DepthProbe) -> bool:
        """Return whether the latency of a probe is within the limit."""
        return self.limit_us is None or probe.latency_us <= self.limit_us


@dataclass(frozen=True)
class NextDepth:
    """The number in flight to measure next, and the reason."""

    in_flight: int
    why: str


@dataclass(frozen=True)
class SearchResult:
    """The result of the search, and the reason for its end.

    ``best`` is None if even one request in flight exceeds the limit.
    """

    best: DepthProbe | None
    why: str


def decide(probes: Sequence[DepthProbe], limits: SearchLimits) -> NextDepth | SearchResult:
    """Return the next number to measure, or the result, after ``probes`` in the order of measurement."""
    if not probes:
        return NextDepth(1, "the search starts with one request at a time")
    allowed = sorted((each for each in probes if limits.allows(each)), key=lambda each: each.in_flight)
    exceeding = [each for each in probes if not limits.allows(each)]
    if not allowed:
        latency = f"{limits.at} {exceeding[0].latency_us:,.0f} µs"
        return SearchResult(None, f"even one request at a time exceeds the limit: {latency}")
    if exceeding:
        return _halve(allowed, min(exceeding, key=lambda each: each.in_flight), limits)
    return _double(allowed, limits)


def _double(allowed: Sequence[DepthProbe], limits: SearchLimits) -> NextDepth | SearchResult:
    last = allowed[-1]
    gains = [after.iops / before.iops - 1 for before, after in pairwise(allowed)]
    if len(gains) >= 2 and max(gains[-2:]) < GAIN:
        last_gains = " and ".join(f"{100 * gain:+.1f} %" for gain in gains[-2:])
        why = f"saturated: the last two doublings gained {last_gains}, less than {100 * GAIN:g} % each"
        return _result(allowed, why)
    if 2 * last.in_flight > limits.most:
        return _result(allowed, f"{last.in_flight} in flight is the highest number tried")
    why = f"the last doubling gained {100 * gains[-1]:+.1f} %" if gains else "double, to see whether the rate grows"
    return NextDepth(2 * last.in_flight, why)


def _halve(allowed: Sequence[DepthProbe], slow: DepthProbe, limits: SearchLimits) -> NextDepth | SearchResult:
    low = max(each.in_flight for each in allowed if each.in_flight < slow.in_flight)
    high = slow.in_flight
    middle = (low + high) // 2
    middle -= middle % limits.multiple_of if middle > limits.multiple_of else 0
    latency = f"{limits.at} {slow.latency_us:,.0f} µs"
    limit = f"{latency} with {high} in flight exceeds the limit of {limits.limit_us:,.0f} µs"
    if high - low <= max(limits.multiple_of, low // _FINEST_FRACTION) or middle <= low:
        return _result([each for each in allowed if each.in_flight < high], limit)
    return NextDepth(middle, f"{limit}, {low} does not: try the middle")


def _result(allowed: Sequence[DepthProbe], why: str) -> SearchResult:
    best = max(each.iops for each in allowed)
    smallest = next(each for each in allowed if each.iops >= best * (1 - SAME))
    return SearchResult(
        smallest, f"{why}; {smallest.in_flight} in flight chosen, the fewest within {100 * SAME:g} % of the best"
    )
