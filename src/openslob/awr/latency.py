"""Mean latency of a wait event, from the most precise source in the report.

A report gives the mean in up to three ways: as time and waits, as a printed average, and as a histogram. Rounding
leaves an interval around each of them that contains the true mean. Time / waits is used if its interval is narrow (for
few or short waits, a whole second is coarse), otherwise the source with the narrowest interval. If every interval is
too wide, the latency is unknown, and only its upper limit is given; it is never reported as 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from openslob.awr.model import Report, WaitEvent, WaitHistogram
from openslob.awr.numbers import Number

FINE = 0.05  # time / waits is used if rounding leaves it within 5 %, the accuracy of the method itself
COARSE = 0.5  # an error above 50 % leaves only the order of magnitude, which is not shown

TIME_BY_WAITS = "time/waits"
PRINTED = "printed average"
HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Latency:
    """Mean latency in µs, within ``low_us`` and ``high_us`` by rounding; ``us`` is None if only limits are known."""

    us: float | None
    low_us: float
    high_us: float
    source: str

    @property
    def error(self) -> float:
        """Half of the interval's width as a share of the mean; infinite for an unknown mean."""
        return (self.high_us - self.low_us) / 2 / self.us if self.us else float("inf")


def latency_of(report: Report, event: WaitEvent) -> Latency | None:
    """Return the latency of ``event``; None if the report prints neither time nor average nor histogram."""
    return latency(event.waits, event.time_s, event.avg_us, report.histogram(event.name))


def latency(
    waits: Number | None,
    time_s: Number | None,
    avg_us: Number | None = None,
    histogram: WaitHistogram | None = None,
) -> Latency | None:
    """Return the mean latency from the most precise source; see the module's docstring for the choice."""
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
    """Return the mean from the edges of the buckets; None if the last bucket, which has no upper edge, is used."""
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
