"""The latency of a wait event, from the best of what a report tells about it.

A report gives a mean up to three times: as time and waits, as a printed average, as a histogram; each is rounded,
and each so leaves an interval in which the true mean lies. Time / waits is used while its interval is narrow
(a whole second is coarse for few or short waits); then whichever interval is narrowest. When all of them reach
down to nothing, the latency is not 0: it is unknown, and below the least upper limit.
"""

from __future__ import annotations

from dataclasses import dataclass

from openslob.awr.model import Report, WaitEvent, WaitHistogram
from openslob.awr.numbers import Number

FINE = 0.05  # time / waits is taken when rounding leaves it within 5 %: the accuracy the method itself has
COARSE = 0.5  # beyond a half of itself a figure tells no more than its order of magnitude, and is not shown

TIME_BY_WAITS = "time/waits"
PRINTED = "printed average"
HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Latency:
    """Mean latency in µs, between ``low_us`` and ``high_us`` for rounding; ``us`` None when only limits are known."""

    us: float | None
    low_us: float
    high_us: float
    source: str

    @property
    def error(self) -> float:
        """Half of the interval's width, as a share of the mean."""
        return (self.high_us - self.low_us) / 2 / self.us if self.us else float("inf")


def latency_of(report: Report, event: WaitEvent) -> Latency | None:
    """The latency of ``event`` of ``report``; None when the report prints nothing about it."""
    return latency(event.waits, event.time_s, event.avg_us, report.histogram(event.name))


def latency(
    waits: Number | None,
    time_s: Number | None,
    avg_us: Number | None = None,
    histogram: WaitHistogram | None = None,
) -> Latency | None:
    """The mean latency of ``waits`` waits that took ``time_s`` seconds; see the module for the choice."""
    candidates = [
        candidate
        for candidate in (_divided(waits, time_s), _printed(avg_us), _from_buckets(histogram))
        if candidate is not None
    ]
    if not candidates:
        return None
    if candidates[0].source == TIME_BY_WAITS and candidates[0].error <= FINE:
        return candidates[0]
    best = min(candidates, key=lambda candidate: candidate.error)
    if best.error <= COARSE * (1 + 1e-9):
        return best
    limit = min(candidates, key=lambda candidate: candidate.high_us)
    return Latency(None, 0.0, limit.high_us, limit.source)


def _divided(waits: Number | None, time_s: Number | None) -> Latency | None:
    if waits is None or time_s is None or waits.value <= 0:
        return None
    return _interval(time_s.scaled(1e6 / waits.value), TIME_BY_WAITS)


def _printed(avg_us: Number | None) -> Latency | None:
    return _interval(avg_us, PRINTED) if avg_us is not None else None


def _interval(mean: Number, source: str) -> Latency:
    half = mean.step / 2
    return Latency(mean.value, max(0.0, mean.value - half), mean.value + half, source)


def _from_buckets(histogram: WaitHistogram | None) -> Latency | None:
    """Between all waits at the lower and all at the upper edge of their buckets; none when the last one is used."""
    if histogram is None or not histogram.buckets:
        return None
    low = high = 0.0
    for bucket in histogram.buckets:
        if bucket.high_us is None:
            if bucket.share_pct > 0.05:  # less is rounding
                return None
            continue
        low += bucket.low_us * bucket.share_pct / 100.0
        high += bucket.high_us * bucket.share_pct / 100.0
    return Latency((low + high) / 2, low, high, HISTOGRAM) if high > 0 else None
