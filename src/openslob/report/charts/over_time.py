"""The figures of a run over time, as rows to draw: numbers in, rows out.

A long run is drawn in fewer, wider steps; they are merged from the measurements, never sampled from them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, TypeVar

from openslob.analyze.verdicts.environment import MIN_BEYOND
from openslob.histogram import Histogram, lower_edge_us, middle_us
from openslob.metrics import METRICS, RunMetric
from openslob.metrics.computation import DeviceCounter, EngineCounter, Input
from openslob.metrics.cpu import AT_REST
from openslob.metrics.model import TimelinePanel
from openslob.metrics.waits import CPU_EVENT, CPU_ROW
from openslob.report.run_series import HostReading, Interval, Look

Row = dict[str, Any]
T = TypeVar("T")
# More steps than this are finer than the picture's dots.
MOST_STEPS = 120
STEPS_S = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600)
# Events beyond the first few are so rare that they only make the legend long.
MOST_EVENTS = 7
OTHERS = "all others"
# A part shorter than this share of a step is not a step of its own: its rate would be noise.
SLIVER = 0.5
# Four buckets of the histogram, 5.7 % of the latency, are as wide as a bar can be drawn; eight as a cell of a map.
BAR_BUCKETS, CELL_BUCKETS = 4, 8
CPU_KINDS = {
    "user": ("host.cpu_user_s", "host.cpu_nice_s"),
    "system": ("host.cpu_system_s",),
    "interrupts": ("host.cpu_irq_s", "host.cpu_softirq_s"),
    "stolen": ("host.cpu_steal_s",),
}
_IDLE = tuple(f"host.cpu_{kind}_s" for kind in AT_REST)
SERVER = "of it the server's processes"


def step_s(seconds: float) -> int:
    """The shortest step, from 1 s up, of which at most `MOST_STEPS` make up so many seconds."""
    return next((step for step in STEPS_S if seconds / step <= MOST_STEPS), math.ceil(seconds / MOST_STEPS))


def evenly_counted(intervals: Sequence[Interval], even_s: tuple[float, float] | None) -> Sequence[Interval]:
    """Those in which the engine's counts kept pace with the work; all but the first and last where none are known.

    The engine counts what a slice did when it ends, so that the others show less, and more at the end.
    """
    if even_s is None:
        return intervals[1:-1]
    return [each for each in intervals if even_s[0] <= each.begin_s and each.end_s <= even_s[1]]


def engine_rates(intervals: Sequence[Interval], panel: TimelinePanel) -> list[Row]:
    """Return the rates of the engine's counters that this panel draws; none where a counter is not known."""
    metrics = _drawn(panel, EngineCounter)
    group = math.ceil(len(intervals) / MOST_STEPS) or 1
    rows = []
    for first in range(0, len(intervals), group):
        part = intervals[first : first + group]
        span = (part[0].begin_s, part[-1].end_s)
        known = set.intersection(*(set(interval.amounts) for interval in part))
        amounts = {name: sum(interval.amounts[name] for interval in part) for name in known}
        seconds = sum(interval.end_s - interval.begin_s for interval in part)
        rows += [
            _at(span, figure=metric.name, value=value)
            for metric in metrics
            if (value := metric.computation.of_amounts(amounts, seconds)) is not None
        ]
    return rows


def device_rates(readings: Sequence[HostReading], panel: TimelinePanel) -> list[Row]:
    """Return the rates of the device's counters that this panel draws; none where a counter fell, which is a reset."""
    metrics = _drawn(panel, DeviceCounter)
    rows = []
    for before, after in _spans(readings):
        grown = {each.field: _grown(before, after, f"device.dev_{each.field}") for each in _inputs(metrics)}
        amounts = {field: amount for field, amount in grown.items() if amount is not None and amount >= 0}
        rows += [
            _at((before.at_s, after.at_s), figure=metric.name, value=value)
            for metric in metrics
            if (value := metric.computation.of_amounts(amounts, after.at_s - before.at_s)) is not None
        ]
    return rows


def _drawn(panel: TimelinePanel, kind: type[Input]) -> list[RunMetric]:
    return [each for each in METRICS.values() if each.panel is panel and each.computation.only_from(kind)]


def _inputs(metrics: Sequence[RunMetric]) -> Iterator[Input]:
    return (each for metric in metrics for each in metric.computation.inputs)


def cpu_shares(readings: Sequence[HostReading]) -> list[Row]:
    """Shares of the host's CPU time in %, stacked by kind: each from ``low`` to ``high``; the server's part from 0.

    The server's part is within the others, and not stacked.
    """
    rows = []
    for before, after in _spans(readings):
        span = (before.at_s, after.at_s)
        kinds = {kind: _sum(before, after, counters) for kind, counters in CPU_KINDS.items()}
        total = sum(kinds.values()) + _sum(before, after, _IDLE)
        if total <= 0 or min(kinds.values()) < 0:
            continue
        rows += _stacked(span, "kind", {kind: 100 * spent / total for kind, spent in kinds.items()})
        server = _grown(before, after, "server.server_cpu_s")
        if server is not None and server >= 0:
            rows += _stacked(span, "kind", {SERVER: 100 * server / total})
    return rows


def wait_rows(looks: Sequence[Look], length_s: float) -> list[Row]:
    """Average number of sessions in each event, which is DB time per second, by step and stacked, the greatest below.

    What is not among the `MOST_EVENTS` most frequent is taken together.
    """
    total: Counter[str] = Counter()
    for look in looks:
        total.update(look.sessions)
    order = [event for event, _ in sorted(total.items(), key=lambda each: (-each[1], each[0]))][:MOST_EVENTS]
    rows = []
    for span, part in _grouped_by_step(((look.at_s, look) for look in looks), length_s):
        counts: Counter[str] = Counter()
        for look in part:
            for event, sessions in look.sessions.items():
                counts[event if event in order else OTHERS] += sessions
        rows += _stacked(span, "event", {_spoken(each): counts[each] / len(part) for each in (*order, OTHERS)})
    return rows


def latency_bands(seconds: Mapping[int, Histogram], length_s: float) -> list[Row]:
    """Percentiles of each step in µs; one is None where fewer than `MIN_BEYOND` operations lie beyond it."""
    return [
        _at(span, count=merged.count, **{name: _supported(merged, share) for name, share in _BANDS.items()})
        for span, merged in _merged(seconds, length_s)
    ]


def heat_cells(seconds: Mapping[int, Histogram], length_s: float) -> list[Row]:
    """Cells of a map over time and latency: share of the step's operations in %, edges of the latency in µs."""
    return [
        _at(span, **_edges(cell, CELL_BUCKETS), count=count, share_pct=100 * count / merged.count)
        for span, merged in _merged(seconds, length_s)
        for cell, count in sorted(_grouped(merged.counts, CELL_BUCKETS).items())
    ]


def histogram_bars(counts: Mapping[int, int]) -> list[Row]:
    """Bars of a histogram, ``counts`` by bucket: share of the operations in %, edges in µs."""
    total = sum(counts.values())
    grouped = _grouped(counts, BAR_BUCKETS)
    return [
        _edges(bar, BAR_BUCKETS) | {"count": count, "share_pct": 100 * count / total}
        for bar, count in sorted(grouped.items())
    ]


def exceeding(counts: Mapping[int, int]) -> list[Row]:
    """Share of the operations, in %, that took at least so many µs: one row a bucket."""
    total, left, rows = sum(counts.values()), sum(counts.values()), []
    for bucket in sorted(counts):
        rows.append({"us": middle_us(bucket), "share_pct": 100 * left / total})
        left -= counts[bucket]
    return rows


_BANDS = {"p50_us": 0.50, "p90_us": 0.90, "p99_us": 0.99}


def _at(span: tuple[float, float], **values: Any) -> Row:  # noqa: ANN401
    return {"from_s": round(span[0], 3), "to_s": round(span[1], 3), **values}


def _stacked(span: tuple[float, float], field: str, values: Mapping[str, float]) -> list[Row]:
    """Rows on top of each other, in the order of ``values``; what is 0 has none."""
    tops = list(accumulate(values.values()))
    return [
        _at(span, **{field: name}, value=value, low=top - value, high=top)
        for (name, value), top in zip(values.items(), tops, strict=True)
        if value
    ]


def _spans(readings: Sequence[HostReading]) -> Iterator[tuple[HostReading, HostReading]]:
    """Neighbouring readings; of many, those a step apart. A last one that comes too soon replaces the one before."""
    group = math.ceil(len(readings) / MOST_STEPS) or 1
    kept = [*readings[:-1:group], *readings[-1:]]
    if len(kept) > 2 and kept[-1].at_s - kept[-2].at_s < SLIVER * (kept[-2].at_s - kept[-3].at_s):
        del kept[-2]
    return ((before, after) for before, after in pairwise(kept) if after.at_s > before.at_s)


def _grown(before: HostReading, after: HostReading, counter: str) -> float | None:
    if counter not in before.counters or counter not in after.counters:
        return None
    return after.counters[counter] - before.counters[counter]


def _sum(before: HostReading, after: HostReading, counters: Sequence[str]) -> float:
    return sum(_grown(before, after, counter) or 0.0 for counter in counters)


def _grouped_by_step(
    timed: Iterable[tuple[float, T]], length_s: float
) -> Iterator[tuple[tuple[float, float], list[T]]]:
    """What lies in each step of the load. A remainder at the end that would be a sliver belongs to the last step."""
    step = step_s(length_s)
    last = max(math.ceil(length_s / step - SLIVER) - 1, 0)
    groups: dict[int, list[T]] = {}
    for at_s, each in timed:
        if at_s >= 0:
            groups.setdefault(min(int(at_s // step), last), []).append(each)
    for number, group in sorted(groups.items()):
        yield (number * step, length_s if number == last else (number + 1) * step), group


def _merged(seconds: Mapping[int, Histogram], length_s: float) -> Iterator[tuple[tuple[float, float], Histogram]]:
    for span, group in _grouped_by_step(seconds.items(), length_s):
        merged = Histogram()
        for histogram in group:
            merged.merge(histogram)
        yield span, merged


def _supported(histogram: Histogram, share: float) -> float | None:
    enough = histogram.count >= round(MIN_BEYOND / (1 - share))
    return histogram.quantile_us(share) if enough else None


def _grouped(counts: Mapping[int, int], size: int) -> dict[int, int]:
    grouped: Counter[int] = Counter()
    for bucket, count in counts.items():
        grouped[bucket // size] += count
    return dict(grouped)


def _edges(group: int, size: int) -> Row:
    # A logarithmic axis has no 0: what took less than a tick of the clock is drawn from half a tick on.
    return {"from_us": max(lower_edge_us(group * size), 0.5), "to_us": lower_edge_us((group + 1) * size)}


def _spoken(event: str) -> str:
    return CPU_ROW if event == CPU_EVENT else event
