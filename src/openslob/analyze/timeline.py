"""One run cut into seconds: the figures whose course is recorded, for their spread within the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from openslob.histogram import bucket_of, middle_us
from openslob.units import MIB, NANOS

# Values of a figure in consecutive parts of a run, by `Point.figure` name.
Timeline = Mapping[str, Sequence[float]]
SliceRow = tuple[int, int, int, int]
LatencyRow = tuple[int, str, int, int]
EngineRow = tuple[int, int, str, float]

_Array = NDArray[np.float64]

# A part shorter than half a second is the sliver at the end of a window: its rate is mostly chance.
MIN_PART_S = 0.5
_ENGINE_RATES: Mapping[str, tuple[str, float]] = {
    "lio_per_s": ("logical_reads", 1),
    "pio_read_per_s": ("read_requests", 1),
    "pio_read_mb_per_s": ("read_bytes", 1 / MIB),
    "pio_write_per_s": ("write_requests", 1),
    "pio_write_mb_per_s": ("write_bytes", 1 / MIB),
    "redo_mb_per_s": ("log_bytes", 1 / MIB),
    "log_syncs_per_s": ("log_syncs", 1),
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


def of_engine(rows: Iterable[EngineRow], start_ns: int, end_ns: int) -> Timeline:
    """Rates and read latency by interval within the load, from (begin, end, field of `EngineDelta`, value).

    Of intervals that begin at the same time the last counts (`RunFiles.engine`). The first interval and the last are
    taken as one: the engine counts what a slice did when it ends, so that what the first lacks is in the last.
    """
    parts: dict[int, tuple[int, dict[str, float]]] = {}
    for begin, end, name, value in rows:
        if begin not in parts or parts[begin][0] != end:
            parts[begin] = (end, {})
        parts[begin][1][name] = value
    slack = MIN_PART_S * NANOS
    inside = _ends_joined(
        [
            ((end - begin) / NANOS, values)
            for begin, (end, values) in sorted(parts.items())
            if begin >= start_ns - slack and end <= end_ns + slack and end - begin >= slack
        ]
    )
    rates = {
        figure: [values[name] * factor / seconds for seconds, values in inside if name in values]
        for figure, (name, factor) in _ENGINE_RATES.items()
    }
    latency = [
        v["read_time_us"] / v["read_requests"] for _, v in inside if v.get("read_requests") and "read_time_us" in v
    ]
    return {**rates, "engine_read_latency_us": latency}


def _ends_joined(parts: Sequence[tuple[float, dict[str, float]]]) -> list[tuple[float, dict[str, float]]]:
    if len(parts) < 2:
        return []
    (first_s, first), *between, (last_s, last) = parts
    return [(first_s + last_s, {name: first[name] + last[name] for name in first.keys() & last.keys()}), *between]
