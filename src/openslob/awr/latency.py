"""Mean latency of a wait event, from the most precise source in the report.

A report gives the mean in up to three ways: as time and waits, as a printed average, and as a histogram. Rounding
leaves an interval around each of them that contains the true mean; the narrowest interval is used. The top list and the
full table print the same waits in different precision, so an event has one latency, whichever row is asked for.
A histogram counts foreground and background waits together: it is used where the tables print too few digits, and only
as far as it agrees with them. If every interval is too wide, the latency is unknown, and only its upper limit is given;
it is never reported as 0.

A mean that the printed average excludes is kept, since a short column rounds or cuts the average, but is marked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from openslob.awr.model import Report, Scope, WaitEvent, WaitHistogram
from openslob.awr.numbers import Number

OTHER_WAITS = 0.05  # a histogram with so many waits more than the table has those of other processes
COARSE = 0.5  # an error above 50 % leaves only the order of magnitude, which is not shown

TIME_BY_WAITS = "time/waits"
PRINTED = "printed average"
HISTOGRAM = "histogram"

# Tables that list the same waits, the full one first.
_SAME_WAITS = (
    (Scope.FOREGROUND, Scope.TOP),
    (Scope.BACKGROUND, Scope.TOP_BACKGROUND),
    (Scope.ALL, Scope.TOP_ALL),
)


@dataclass(frozen=True, slots=True)
class Latency:
    """Mean latency in µs, within ``low_us`` and ``high_us`` by rounding; ``us`` is None if only limits are known.

    ``printed_us`` is the printed average, if ``us`` is another mean and the average's last digit excludes it.
    """

    us: float | None
    low_us: float
    high_us: float
    source: str
    printed_us: float | None = None

    @property
    def origin(self) -> str:
        """The source, and the average that the report prints if it excludes this mean."""
        return (
            self.source if self.printed_us is None else f"{self.source} (the report prints {self.printed_us:.10g} us)"
        )

    @property
    def error(self) -> float:
        """Half of the interval's width as a share of the mean; infinite for an unknown mean."""
        return (self.high_us - self.low_us) / 2 / self.us if self.us else float("inf")


def latency_of(report: Report, event: WaitEvent) -> Latency | None:
    """Return the latency of ``event``; None if the report prints neither time nor average nor histogram."""
    rows = _rows(report, event)
    name = max((row.name for row in rows), key=len)
    return _finest([one for row in rows for one in _list_printed(row)], rows[0].waits, report.histogram(name))


def latency(
    waits: Number | None,
    time_s: Number | None,
    avg_us: Number | None = None,
    histogram: WaitHistogram | None = None,
) -> Latency | None:
    """Return the mean latency from the most precise source; see the module's docstring for the choice."""
    row = WaitEvent("", Scope.FOREGROUND, waits, time_s, avg_us)
    return _finest(_list_printed(row), waits, histogram)


def _rows(report: Report, event: WaitEvent) -> list[WaitEvent]:
    """Return the rows of ``event`` that count the same waits, of the full table first."""
    scopes = next(scopes for scopes in _SAME_WAITS if event.scope in scopes)
    if event.scope in _SAME_WAITS[-1]:  # both together: if only one of them waits, the rows are its
        scopes = next((some for some in _SAME_WAITS if any(_row(report, event, scope) for scope in some)), scopes)
    found = [row for scope in scopes if (row := _row(report, event, scope)) is not None]
    return found or [event]


def _row(report: Report, event: WaitEvent, scope: Scope) -> WaitEvent | None:
    """Return the row of ``event`` in another table, which may cut its name elsewhere; None if two could be it."""
    same = [row for row in report.list_events(scope) if row.name == event.name]
    same = same or [
        row
        for row in report.list_events(scope)
        if (row.cut and event.name.startswith(row.name)) or (event.cut and row.name.startswith(event.name))
    ]
    return same[0] if len(same) == 1 else None


def _finest(printed: list[Latency], waits: Number | None, histogram: WaitHistogram | None) -> Latency | None:
    for candidates in (printed, _narrow(printed, waits, histogram)):
        best = min(candidates, key=lambda candidate: candidate.error, default=None)
        if best is not None and best.error <= COARSE * (1 + 1e-9):
            return _mark(best, printed)
    limit = min(printed, key=lambda candidate: candidate.high_us, default=None)
    return Latency(None, 0.0, limit.high_us, limit.source) if limit else None


def _mark(mean: Latency, printed: list[Latency]) -> Latency:
    averages = [one for one in printed if one.source == PRINTED]
    average = min(averages, key=lambda one: one.high_us - one.low_us, default=None)
    if average is None or mean.us is None or average.low_us <= mean.us <= average.high_us:
        return mean
    return replace(mean, printed_us=average.us)


def _narrow(printed: list[Latency], waits: Number | None, histogram: WaitHistogram | None) -> list[Latency]:
    """Return the histogram's interval within the printed ones; nothing if it contradicts them or counts more waits."""
    found = _from_buckets(histogram)
    if found is None or histogram is None:
        return []
    if waits is not None and histogram.waits is not None:
        slack = histogram.waits.step + waits.step + OTHER_WAITS * waits.value
        if abs(histogram.waits.value - waits.value) > slack:
            return []
    low = max((found.low_us, *(one.low_us for one in printed)))
    high = min((found.high_us, *(one.high_us for one in printed)))
    return [Latency((low + high) / 2, low, high, HISTOGRAM)] if low <= high and high > 0 else []


def _list_printed(row: WaitEvent) -> list[Latency]:
    average = _interval(row.avg_us, PRINTED) if row.avg_us is not None and row.avg_us.value >= 0 else None
    return [one for one in (_divide(row.waits, row.time_s), average) if one is not None]


def _divide(waits: Number | None, time_s: Number | None) -> Latency | None:
    if waits is None or time_s is None or waits.value <= 0 or time_s.value < 0:
        return None
    return _interval(time_s.scaled(1e6 / waits.value), TIME_BY_WAITS)


def _interval(mean: Number, source: str) -> Latency:
    half = mean.step / 2
    return Latency(mean.value, max(0.0, mean.value - half), mean.value + half, source)


def _from_buckets(histogram: WaitHistogram | None) -> Latency | None:
    """Return the mean from the edges of the buckets; None if the last bucket, which has no upper edge, is used."""
    if histogram is None or histogram.total_pct <= 0:
        return None
    low = high = 0.0
    total = histogram.total_pct
    for bucket in histogram.buckets:
        if bucket.high_us is None:
            if bucket.share_pct > 0.05:  # less is rounding
                return None
            continue
        low += bucket.low_us * bucket.share_pct / total
        high += bucket.high_us * bucket.share_pct / total
    return Latency((low + high) / 2, low, high, HISTOGRAM) if high > 0 else None
