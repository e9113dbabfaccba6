"""The figures of a run over time, as rows of data for the pictures.

A long run is drawn in fewer, wider steps. Measurements are merged into steps, never left out.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, TypeVar

from openslob.analyze import heat
from openslob.analyze.steps import MOST_STEPS, step_s
from openslob.analyze.verdicts.environment import least_for
from openslob.core.histogram import Histogram, lower_edge_us, middle_us
from openslob.core.wait_classes import CPU_EVENT
from openslob.metrics import METRICS, RunMetric
from openslob.metrics.computation import DeviceCounter, EngineCounter, Input
from openslob.metrics.cpu import AT_REST
from openslob.metrics.model import TimelinePanel
from openslob.metrics.waits import CPU_ROW
from openslob.report.run_series import EngineInterval, EngineWaits, HostReading, WaitSamples

Row = dict[str, Any]
T = TypeVar("T")
# Rarer events are drawn as one, because they would only lengthen the legend.
MOST_EVENTS = 7
OTHERS = "all others"
# A last part shorter than this share of a step belongs to the step before it: its own rate would be noise.
SLIVER = 0.5
# Buckets of the histogram per bar (5.7 % of the latency).
BAR_BUCKETS = 4
CPU_KINDS = {
    "user": ("host.cpu_user_s", "host.cpu_nice_s"),
    "system": ("host.cpu_system_s",),
    "interrupts": ("host.cpu_irq_s", "host.cpu_softirq_s"),
    "stolen": ("host.cpu_steal_s",),
}
_IDLE = tuple(f"host.cpu_{kind}_s" for kind in AT_REST)
SERVER = "server's processes (included)"


def evenly_counted(intervals: Sequence[EngineInterval], even_s: tuple[float, float] | None) -> Sequence[EngineInterval]:
    """Return the intervals in which the engine's counters kept pace with the work.

    An engine may count the work of a slice only when the slice ends: the first intervals then show too little, and the
    last ones too much. Without ``even_s`` all intervals but the first and the last are returned.
    """
    if even_s is None:
        return intervals[1:-1]
    return [each for each in intervals if even_s[0] <= each.begin_s and each.end_s <= even_s[1]]


def engine_rates(intervals: Sequence[EngineInterval], panel: TimelinePanel) -> list[Row]:
    """Return the rates of the engine's counters that this panel draws; none where a counter is not known.

    Of a step of several intervals also the lowest and the highest rate of one.
    """
    metrics = _select_metrics(panel, EngineCounter)
    group = math.ceil(len(intervals) / MOST_STEPS) or 1
    rows: list[Row] = []
    for first in range(0, len(intervals), group):
        part = intervals[first : first + group]
        span = (part[0].begin_s, part[-1].end_s)
        rows += _step_rows(span, metrics, [(each.amounts, each.end_s - each.begin_s) for each in part])
    return rows


def device_rates(readings: Sequence[HostReading], panel: TimelinePanel) -> list[Row]:
    """Return the rates of the device's counters that this panel draws; none where a counter fell, which is a reset.

    Of a step of several readings also the lowest and the highest rate between two of them.
    """
    metrics = _select_metrics(panel, DeviceCounter)
    rows: list[Row] = []
    for first, last in pairwise(_step_edges(readings)):
        step = readings[first : last + 1]
        parts = [
            (_device_amounts(before, after, metrics), after.at_s - before.at_s)
            for before, after in pairwise(step)
            if after.at_s > before.at_s
        ]
        rows += _step_rows((step[0].at_s, step[-1].at_s), metrics, parts)
    return rows


def _device_amounts(before: HostReading, after: HostReading, metrics: Sequence[RunMetric]) -> dict[str, float]:
    grown = {each.field: _grown(before, after, f"device.dev_{each.field}") for each in _inputs(metrics)}
    return {field: amount for field, amount in grown.items() if amount is not None and amount >= 0}


def _step_rows(
    span: tuple[float, float], metrics: Sequence[RunMetric], parts: Sequence[tuple[Mapping[str, float], float]]
) -> Iterator[Row]:
    """Yield the rates of a step, which consists of ``parts``: amounts by name, each with its seconds."""
    if not parts:
        return
    known = set.intersection(*(set(amounts) for amounts, _ in parts))
    whole = {name: sum(amounts[name] for amounts, _ in parts) for name in known}, sum(seconds for _, seconds in parts)
    for metric in metrics:
        value = metric.computation.of_amounts(*whole)
        if value is None:
            continue
        each = [rate for part in parts if (rate := metric.computation.of_amounts(*part)) is not None]
        ends = {"low": min(each), "high": max(each)} if len(parts) > 1 else {}
        yield row_of(span, figure=metric.name, value=value, **ends)


def _select_metrics(panel: TimelinePanel, kind: type[Input]) -> list[RunMetric]:
    return [each for each in METRICS.values() if each.panel is panel and each.computation.only_from(kind)]


def _inputs(metrics: Sequence[RunMetric]) -> Iterator[Input]:
    return (each for metric in metrics for each in metric.computation.inputs)


def cpu_shares(readings: Sequence[HostReading]) -> list[Row]:
    """Return the shares of the host's CPU time in %, stacked by kind: each reaches from ``low`` to ``high``.

    The server's share is part of the others. It is not stacked, and begins at 0.
    """
    rows = []
    for before, after in _spans(readings):
        span = (before.at_s, after.at_s)
        kinds = {kind: _sum(before, after, counters) for kind, counters in CPU_KINDS.items()}
        total = sum(kinds.values()) + _sum(before, after, _IDLE)
        if total <= 0 or min(kinds.values()) < 0:
            continue
        rows += _stack(span, "kind", {kind: 100 * spent / total for kind, spent in kinds.items()})
        server = _grown(before, after, "server.server_cpu_s")
        if server is not None and server >= 0:
            rows += _stack(span, "kind", {SERVER: 100 * server / total})
    return rows


def wait_rows(samples: Sequence[WaitSamples], length_s: float) -> list[Row]:
    """Return the average number of sessions in each wait event (DB time per second) by step, stacked.

    The most frequent event is at the bottom. Events that are not among the `MOST_EVENTS` most frequent are merged.
    """
    total: Counter[str] = Counter()
    for sample in samples:
        total.update(sample.sessions)
    order = [event for event, _ in sorted(total.items(), key=lambda each: (-each[1], each[0]))][:MOST_EVENTS]
    rows = []
    for span, part in _group_by_step(((sample.at_s, sample) for sample in samples), length_s):
        counts: defaultdict[str, float] = defaultdict(float)
        taken = sum(sample.samples for sample in part)
        for sample in part:
            for event, sessions in sample.sessions.items():
                counts[event if event in order else OTHERS] += sessions
        rows += _stack(span, "event", {_event_label(each): counts[each] / taken for each in (*order, OTHERS)})
    return rows


def latency_bands(seconds: Mapping[int, Histogram], length_s: float) -> list[Row]:
    """Return percentiles of each step in µs; None if too few operations lie beyond the percentile."""
    return [
        row_of(span, count=merged.count, **{name: _compute_quantile(merged, share) for name, share in _BANDS.items()})
        for span, merged in _merge_steps(seconds, length_s)
    ]


def heat_cells(seconds: Mapping[int, Histogram], length_s: float) -> list[Row]:
    """Return the cells of maps of time and latency, with shares of the step's operations and of their time in %."""
    return [
        row for span, merged in _merge_steps(seconds, length_s) for row in cell_rows(span, heat.cells(merged.counts))
    ]


def engine_heat_cells(intervals: Sequence[EngineWaits], length_s: float) -> list[Row]:
    """Return the same of the waits for one event, which the engine counts by duration."""
    timed = (((interval.begin_s + interval.end_s) / 2, interval.durations) for interval in intervals)
    rows = []
    for span, group in _group_by_step(timed, length_s):
        merged: Counter[tuple[int, int]] = Counter()
        for durations in group:
            merged.update(durations)
        rows += cell_rows(span, heat.cells_of_durations(merged))
    return rows


def cell_rows(span: tuple[float, float], cells: Sequence[heat.Cell]) -> list[Row]:
    """Return the cells of one step."""
    count, time_us = sum(cell.count for cell in cells), sum(cell.time_us for cell in cells)
    return [
        row_of(
            span,
            # A logarithmic axis has no 0: the first cell is drawn from 0.5 µs on.
            from_us=max(cell.from_us, 0.5),
            to_us=cell.to_us,
            count=cell.count,
            time_us=cell.time_us,
            share_pct=_digits(100 * cell.count / count),
            time_pct=_digits(100 * cell.time_us / time_us),
        )
        for cell in cells
    ]


def _digits(value: float) -> float:
    """Round to four digits: a page has thousands of cells."""
    return float(f"{value:.4g}")


def histogram_bars(counts: Mapping[int, int]) -> list[Row]:
    """Return the bars of a histogram: share of the operations in %, edges in µs. ``counts`` is by bucket."""
    total = sum(counts.values())
    grouped = _group(counts, BAR_BUCKETS)
    return [
        _edges(bar, BAR_BUCKETS) | {"count": count, "share_pct": 100 * count / total}
        for bar, count in sorted(grouped.items())
    ]


def exceeding(counts: Mapping[int, int]) -> list[Row]:
    """Return the share of the operations, in %, that took at least this many µs: a row for each bucket."""
    total, left, rows = sum(counts.values()), sum(counts.values()), []
    for bucket in sorted(counts):
        rows.append({"us": middle_us(bucket), "share_pct": 100 * left / total})
        left -= counts[bucket]
    return rows


_BANDS = {"p50_us": 0.50, "p90_us": 0.90, "p99_us": 0.99}


def row_of(span: tuple[float, float], **values: Any) -> Row:  # noqa: ANN401
    """Return a row of data on a time from begin to end, in s."""
    return {"from_s": round(span[0], 3), "to_s": round(span[1], 3), **values}


def _stack(span: tuple[float, float], field: str, values: Mapping[str, float]) -> list[Row]:
    """Return rows stacked in the order of ``values``; a value of 0 has no row."""
    tops = list(accumulate(values.values()))
    return [
        row_of(span, **{field: name}, value=value, low=top - value, high=top)
        for (name, value), top in zip(values.items(), tops, strict=True)
        if value
    ]


def _spans(readings: Sequence[HostReading]) -> Iterator[tuple[HostReading, HostReading]]:
    """Yield pairs of neighbouring readings; of many readings, those that are a step apart.

    A last reading that follows too soon replaces the one before it.
    """
    kept = (readings[edge] for edge in _step_edges(readings))
    return ((before, after) for before, after in pairwise(kept) if after.at_s > before.at_s)


def _step_edges(readings: Sequence[HostReading]) -> list[int]:
    """Return where the steps of a picture begin and end among the readings.

    A short remainder at the end belongs to the last step.
    """
    group = math.ceil(len(readings) / MOST_STEPS) or 1
    edges = [*range(0, len(readings) - 1, group), len(readings) - 1]
    if len(edges) > 2:
        before, last, end = (readings[edge].at_s for edge in edges[-3:])
        if end - last < SLIVER * (last - before):
            del edges[-2]
    return edges


def _grown(before: HostReading, after: HostReading, counter: str) -> float | None:
    if counter not in before.counters or counter not in after.counters:
        return None
    return after.counters[counter] - before.counters[counter]


def _sum(before: HostReading, after: HostReading, counters: Sequence[str]) -> float:
    return sum(_grown(before, after, counter) or 0.0 for counter in counters)


def _group_by_step(timed: Iterable[tuple[float, T]], length_s: float) -> Iterator[tuple[tuple[float, float], list[T]]]:
    """Yield the items of each step of the load. A short remainder at the end belongs to the last step."""
    step = step_s(length_s)
    last = max(math.ceil(length_s / step - SLIVER) - 1, 0)
    groups: dict[int, list[T]] = {}
    for at_s, each in timed:
        if at_s >= 0:
            groups.setdefault(min(int(at_s // step), last), []).append(each)
    for number, group in sorted(groups.items()):
        yield (number * step, length_s if number == last else (number + 1) * step), group


def _merge_steps(seconds: Mapping[int, Histogram], length_s: float) -> Iterator[tuple[tuple[float, float], Histogram]]:
    for span, group in _group_by_step(seconds.items(), length_s):
        merged = Histogram()
        for histogram in group:
            merged.merge(histogram)
        yield span, merged


def _compute_quantile(histogram: Histogram, share: float) -> float | None:
    enough = histogram.count >= least_for(share)
    return histogram.quantile_us(share) if enough else None


def _group(counts: Mapping[int, int], size: int) -> dict[int, int]:
    grouped: Counter[int] = Counter()
    for bucket, count in counts.items():
        grouped[bucket // size] += count
    return dict(grouped)


def _edges(group: int, size: int) -> Row:
    # A logarithmic axis has no 0: the first bucket is drawn from 0.5 µs on.
    return {"from_us": max(lower_edge_us(group * size), 0.5), "to_us": lower_edge_us((group + 1) * size)}


def _event_label(event: str) -> str:
    return CPU_ROW if event == CPU_EVENT else event
