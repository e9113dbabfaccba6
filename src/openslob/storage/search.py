"""How calibration looks for the highest rate of requests: one decision at a time, each with its reason in words.

1. Begin with one request in flight; double the number while the rate grows.
2. Two doublings in a row that bring less than `GAIN` each end the climb: the storage is saturated.
3. A latency over the limit ends it too. Then the middle between the largest number that kept the limit and the smallest
   that did not is tried, until they are an eighth apart.
4. Chosen is the smallest number, among those that kept the limit, whose rate is within `SAME` of the best of them.

`openslob.sweep.search` is another method: it looks for a maximum of throughput, which may fall with more sessions.

Nothing else goes in: not the number of disks, not the files that happen to lie beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

# A doubling that brings less than this costs twice the latency for nothing that matters.
GAIN = 0.05
# Rates this near to each other are the same; more requests in flight would only wait longer.
SAME = 0.02
# Two numbers in flight less than this share apart are not told apart by their rates.
_FINE = 8


@dataclass(frozen=True)
class Trial:
    """One measured number in flight: its rate, and the latency in µs that is held against the limit."""

    in_flight: int
    iops: float
    latency_us: float


@dataclass(frozen=True)
class Rule:
    """What bounds the search. ``limit_us`` None: no limit. ``grain``: numbers above it are multiples of it."""

    most: int
    limit_us: float | None = None
    at: str = "p99"
    grain: int = 1

    def keeps(self, sounding: Trial) -> bool:
        """Whether a latency is within the limit."""
        return self.limit_us is None or sounding.latency_us <= self.limit_us


@dataclass(frozen=True)
class Next:
    """Measure this number in flight, because of ``why``."""

    in_flight: int
    why: str


@dataclass(frozen=True)
class Chosen:
    """The search is over, because of ``why``. ``best`` is None when not even one request kept the limit."""

    best: Trial | None
    why: str


def decide(taken: Sequence[Trial], rule: Rule) -> Next | Chosen:
    """What to do after ``taken``, in the order of measuring."""
    if not taken:
        return Next(1, "one request at a time is where the climb begins")
    kept = sorted((each for each in taken if rule.keeps(each)), key=lambda each: each.in_flight)
    over = [each for each in taken if not rule.keeps(each)]
    if not kept:
        slow = over[0]
        return Chosen(None, f"even one request at a time is over the limit: {rule.at} {slow.latency_us:,.0f} µs")
    if over:
        return _between(kept, min(over, key=lambda each: each.in_flight), rule)
    return _upward(kept, rule)


def _upward(kept: Sequence[Trial], rule: Rule) -> Next | Chosen:
    last = kept[-1]
    gains = [after.iops / before.iops - 1 for before, after in pairwise(kept)]
    if len(gains) >= 2 and max(gains[-2:]) < GAIN:
        told = " and ".join(f"{100 * gain:+.1f} %" for gain in gains[-2:])
        return _chosen(kept, f"saturated: the last two doublings brought {told}, less than {100 * GAIN:g} % each")
    if 2 * last.in_flight > rule.most:
        return _chosen(kept, f"{last.in_flight} in flight are the most that are tried")
    brought = f"the last doubling brought {100 * gains[-1]:+.1f} %" if gains else "double, to see whether it grows"
    return Next(2 * last.in_flight, brought)


def _between(kept: Sequence[Trial], first_over: Trial, rule: Rule) -> Next | Chosen:
    low = max(each.in_flight for each in kept if each.in_flight < first_over.in_flight)
    high = first_over.in_flight
    middle = (low + high) // 2
    middle -= middle % rule.grain if middle > rule.grain else 0
    limit = (
        f"{rule.at} {first_over.latency_us:,.0f} µs with {high} in flight is over the limit of {rule.limit_us:,.0f} µs"
    )
    if high - low <= max(rule.grain, low // _FINE) or middle <= low:
        return _chosen([each for each in kept if each.in_flight < high], limit)
    return Next(middle, f"{limit}, {low} kept it: the middle")


def _chosen(kept: Sequence[Trial], why: str) -> Chosen:
    best = max(each.iops for each in kept)
    smallest = next(each for each in kept if each.iops >= best * (1 - SAME))
    return Chosen(
        smallest, f"{why}; {smallest.in_flight} in flight chosen, the fewest within {100 * SAME:g} % of the best"
    )
