"""One run cut into seconds: the figures whose course is recorded, for their spread within the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from openslob.histogram import bucket_of, middle_us
from openslob.metrics import METRICS
from openslob.metrics.computation import EngineCounter
from openslob.units import NANOS

# Values of a figure in consecutive parts of a run, by `Point.figure` name.
Timeline = Mapping[str, Sequence[float]]
SliceRow = tuple[int, int, int, int]
LatencyRow = tuple[int, str, int, int]
EngineRow = tuple[int, int, str, float]
# Session, begin and end (ns) of one of its slices; begin and end of a part of the run.
SessionSlice = tuple[int, int, int]
Span = tuple[int, int]
# Begin and end (ns) of an interval, and what was counted in it by name.
_Part = tuple[int, int, Mapping[str, float]]

_Array = NDArray[np.float64]

# A part shorter than half a second is the sliver at the end of a window: its rate is mostly chance.
MIN_PART_S = 0.5
_OF_ENGINE = {
    name: metric.computation.of_amounts
    for name, metric in METRICS.items()
    if metric.computation.only_from(EngineCounter)
}


def of_slices(rows: Sequence[SliceRow], start_ns: int, end_ns: int) -> Timeline:
    """Rates by second of the load, from (start, end in ns, operations, updates) of every slice of every session.

    A slice that reaches over a second's edge counts in both by its share of time.
    """
    whole = (end_ns - start_ns) // NANOS
    edges = start_ns + NANOS * np.arange(whole + 1, dtype=np.float64)
    if end_ns - edges[-1] >= MIN_PART_S * NANOS:
        edges = np.concatenate([edges, np.array([end_ns], dtype=np.float64)])
    if not len(rows) or len(edges) < 2:
        return {}
    spans = np.asarray(rows, dtype=float)
    ops, updates = (_amounts(spans[:, :2], spans[:, column], edges) / np.diff(edges) * NANOS for column in (2, 3))
    # The work of an operation is fixed by WORK_UNIT: what is counted in rows rises and falls with operations/s.
    same = dict.fromkeys(("ops_per_s", "sql_per_s", "block_visits_per_s"), ops.tolist())
    return {**same, "commits_per_s": updates.tolist()}


def of_latencies(rows: Iterable[LatencyRow], figure: str = "mean_us") -> Timeline:
    """Mean latency by second and kind, from (second, kind, bucket's lower edge in µs, count)."""
    counts: dict[tuple[str, int], int] = {}
    time_us: dict[tuple[str, int], float] = {}
    for second, kind, edge_us, count in rows:
        counts[kind, second] = counts.get((kind, second), 0) + count
        time_us[kind, second] = time_us.get((kind, second), 0.0) + count * middle_us(bucket_of(edge_us))
    means: dict[str, list[float]] = {}
    for (kind, second), count in sorted(counts.items()):
        means.setdefault(f"{kind}_{figure}", []).append(time_us[kind, second] / count)
    return means


def _amounts(spans: _Array, amounts: _Array, edges: _Array) -> _Array:
    """How much falls between each two edges, when every amount is spread evenly over its span."""
    kept = spans[:, 1] > spans[:, 0]
    rates = amounts[kept] / (spans[kept, 1] - spans[kept, 0])
    times = np.concatenate([spans[kept, 0], spans[kept, 1]])
    order = np.argsort(times, kind="stable")
    at, rate = times[order], np.cumsum(np.concatenate([rates, -rates])[order])
    done = np.concatenate([[0.0], np.cumsum(rate[:-1] * np.diff(at))])
    return np.diff(np.interp(edges, at, done))


def counted_evenly(slices: Iterable[SessionSlice]) -> Span | None:
    """From when until when (ns) an engine that counts a slice when it ends counts as much as is done; None: no slice.

    Sessions end their slices one after the other. So counting begins to keep pace once each has ended its first, and
    falls behind after the last of them has begun its last: those end all together.
    """
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for session, begin, end in slices:
        first[session] = min(first.get(session, end), end)
        last[session] = max(last.get(session, begin), begin)
    return (max(first.values()), max(last.values())) if first else None


def of_engine(rows: Iterable[EngineRow], start_ns: int, end_ns: int, even: Span | None = None) -> Timeline:
    """Rates and read latency by interval within the load, from (begin, end, field of `EngineDelta`, value).

    Of intervals that begin at the same time the last counts (`RawCsv.engine`). Those outside ``even``, the span that
    `counted_evenly` gives, are taken as one, because what is lacking at the begin is there at the end; without it those
    are the first and the last.
    """
    parts: dict[int, tuple[int, dict[str, float]]] = {}
    for begin, end, name, value in rows:
        if begin not in parts or parts[begin][0] != end:
            parts[begin] = (end, {})
        parts[begin][1][name] = value
    slack = MIN_PART_S * NANOS
    within = [
        (begin, end, values)
        for begin, (end, values) in sorted(parts.items())
        if begin >= start_ns - slack and end <= end_ns + slack and end - begin >= slack
    ]
    inside = _outside_joined(within, even or (within[0][1], within[-1][0])) if within else []
    return {
        name: [figure for seconds, amounts in inside if (figure := computed(amounts, seconds)) is not None]
        for name, computed in _OF_ENGINE.items()
    }


def _outside_joined(parts: Sequence[_Part], even: Span) -> list[tuple[float, Mapping[str, float]]]:
    """Seconds and amounts of what lies outside of ``even``, taken together, then of each part inside."""
    inside: list[_Part] = []
    outside: list[_Part] = []
    for part in parts:
        (inside if even[0] <= part[0] and part[1] <= even[1] else outside).append(part)
    known = set.intersection(*(set(values) for _, _, values in outside)) if outside else set()
    joined = {name: sum(values[name] for _, _, values in outside) for name in known}
    of_all = [(sum(end - begin for begin, end, _ in outside), joined)] if outside else []
    return [(ns / NANOS, values) for ns, values in (*of_all, *((end - begin, each) for begin, end, each in inside))]
