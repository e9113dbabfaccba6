"""The figures of one run second by second, which give their spread within the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from openslob.histogram import bucket_of, middle_us
from openslob.metrics import METRICS
from openslob.metrics.computation import EngineCounter, PerSecond, SessionSum
from openslob.units import NANOS

# Values of a figure in consecutive parts of a run, by `Point.figure` name.
Timeline = Mapping[str, Sequence[float]]
SliceRow = tuple[int, int, int, int]
LatencyRow = tuple[int, str, int, int]
EngineRow = tuple[int, int, str, float]
# Session, begin and end (ns) of one of its slices; begin and end of a part of the run.
SessionSlice = tuple[int, int, int]
Span = tuple[int, int]
# Begin and end (ns) of an interval, and the engine's counters in it by name.
_Part = tuple[int, int, Mapping[str, float]]

_Array = NDArray[np.float64]

# A shorter part is the remainder at the end of a window: its rate is mostly chance.
MIN_PART_S = 0.5
# The rates of a load that is not ours are shown over so many seconds.
OBSERVED_STEP_S = 5.0
_OF_SESSIONS = {
    name: rate
    for name, metric in METRICS.items()
    if isinstance(rate := metric.computation, PerSecond) and isinstance(rate.input, SessionSum)
}
_OF_ENGINE = {
    name: metric.computation.of_amounts
    for name, metric in METRICS.items()
    if metric.computation.only_from(EngineCounter)
}


def of_slices(rows: Sequence[SliceRow], start_ns: int, end_ns: int) -> Timeline:
    """Return rates by second of the load.

    A slice that lies in two seconds counts in both, by its share of time.

    Args:
        rows: begin and end (ns), operations and updates of every slice of every session.
        start_ns: when the load began.
        end_ns: when the load ended.

    """
    whole = (end_ns - start_ns) // NANOS
    edges = start_ns + NANOS * np.arange(whole + 1, dtype=np.float64)
    if end_ns - edges[-1] >= MIN_PART_S * NANOS:
        edges = np.concatenate([edges, np.array([end_ns], dtype=np.float64)])
    if not len(rows) or len(edges) < 2:
        return {}
    spans = np.asarray(rows, dtype=float)
    ops, updates = (
        amounts_between(spans[:, :2], spans[:, column], edges) / np.diff(edges) * NANOS for column in (2, 3)
    )
    counted = {"ops": ops, "updates": updates}
    rates = {
        name: (counted[rate.input.field] * rate.factor).tolist()
        for name, rate in _OF_SESSIONS.items()
        if rate.input.field in counted
    }
    # The work of an operation is fixed by WORK_UNIT: the blocks visited rise and fall with the operations.
    return {**rates, "block_visits_per_s": ops.tolist()}


def of_latencies(rows: Iterable[LatencyRow], figure: str = "mean_us") -> Timeline:
    """Return the mean latency by second and kind, from rows of second, kind, a bucket's lower edge in µs, and count."""
    counts: dict[tuple[str, int], int] = {}
    time_us: dict[tuple[str, int], float] = {}
    for second, kind, edge_us, count in rows:
        counts[kind, second] = counts.get((kind, second), 0) + count
        time_us[kind, second] = time_us.get((kind, second), 0.0) + count * middle_us(bucket_of(edge_us))
    means: dict[str, list[float]] = {}
    for (kind, second), count in sorted(counts.items()):
        means.setdefault(f"{kind}_{figure}", []).append(time_us[kind, second] / count)
    return means


def amounts_between(spans: _Array, amounts: _Array, edges: _Array) -> _Array:
    """Return the amount between each two neighbouring edges, with every amount spread evenly over its span.

    Amounts of several kinds are by kind, then by span; so is what is returned, by kind.
    """
    kept = spans[:, 1] > spans[:, 0]
    rates = amounts[..., kept] / (spans[kept, 1] - spans[kept, 0])
    times = np.concatenate([spans[kept, 0], spans[kept, 1]])
    order = np.argsort(times, kind="stable")
    at, rate = times[order], np.cumsum(np.concatenate([rates, -rates], axis=-1)[..., order], axis=-1)
    done = np.cumsum(rate[..., :-1] * np.diff(at), axis=-1)
    done = np.concatenate([np.zeros((*done.shape[:-1], 1)), done], axis=-1)
    kinds = [np.interp(edges, at, each) for each in done.reshape(-1, done.shape[-1])]
    return np.diff(np.array(kinds).reshape(*done.shape[:-1], len(edges)))


def counted_evenly(slices: Iterable[SessionSlice]) -> Span | None:
    """Return the span (ns) in which the counters of an engine keep pace with the work; None without slices.

    An engine may count the work of a slice only when the slice ends. Sessions end their slices one after the other.
    Therefore the counters keep pace once every session has ended its first slice, and until every session has begun its
    last one; the last slices all end together.
    """
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for session, begin, end in slices:
        first[session] = min(first.get(session, end), end)
        last[session] = max(last.get(session, begin), begin)
    return (max(first.values()), max(last.values())) if first else None


def of_engine(rows: Iterable[EngineRow], start_ns: int, end_ns: int, even: Span | None = None) -> Timeline:
    """Return the figures that depend only on the engine's counters, by interval within the load.

    Args:
        rows: begin and end (ns), field of `EngineDelta` and value. Of intervals with the same begin only the last one
            counts (`RawCsv.engine`).
        start_ns: when the load began.
        end_ns: when the load ended.
        even: the span that `counted_evenly` returns. Intervals outside that span are taken together, because work that
            is not yet counted at the beginning is counted at the end. None: the first and the last interval are taken
            together.

    """
    slack = MIN_PART_S * NANOS
    within = [
        (begin, end, values)
        for begin, end, values in parts(rows)
        if begin >= start_ns - slack and end <= end_ns + slack and end - begin >= slack
    ]
    inside = _outside_joined(within, even or (within[0][1], within[-1][0])) if within else []
    return {
        name: [figure for seconds, amounts in inside if (figure := computed(amounts, seconds)) is not None]
        for name, computed in _OF_ENGINE.items()
    }


def in_steps(rows: Iterable[EngineRow], seconds: float = OBSERVED_STEP_S) -> list[EngineRow]:
    """Return rows of intervals that last so long at least; the last one takes what remains.

    Sessions of some engines publish what they counted only about once a second, all at the same moment: over a single
    second, rates would jump between 0 and twice the truth.
    """
    steps: list[list[_Part]] = []
    for part in parts(rows):
        if not steps or steps[-1][-1][1] - steps[-1][0][0] >= seconds * NANOS:
            steps.append([])
        steps[-1].append(part)
    if len(steps) > 1 and steps[-1][-1][1] - steps[-1][0][0] < seconds * NANOS:
        steps[-2:] = [[*steps[-2], *steps[-1]]]
    return [
        (step[0][0], step[-1][1], name, sum(values[name] for _, _, values in step))
        for step in steps
        for name in step[0][2]
        if all(name in values for _, _, values in step)
    ]


def parts(rows: Iterable[EngineRow]) -> list[_Part]:
    """Return begin, end and counters of each interval; of those with the same begin only the last one counts."""
    parts: dict[int, tuple[int, dict[str, float]]] = {}
    for begin, end, name, value in rows:
        if begin not in parts or parts[begin][0] != end:
            parts[begin] = (end, {})
        parts[begin][1][name] = value
    return [(begin, end, values) for begin, (end, values) in sorted(parts.items())]


def _outside_joined(parts: Sequence[_Part], even: Span) -> list[tuple[float, Mapping[str, float]]]:
    """Return seconds and amounts: first of all parts outside of ``even`` together, then of each part inside."""
    inside: list[_Part] = []
    outside: list[_Part] = []
    for part in parts:
        (inside if even[0] <= part[0] and part[1] <= even[1] else outside).append(part)
    known = set.intersection(*(set(values) for _, _, values in outside)) if outside else set()
    joined = {name: sum(values[name] for _, _, values in outside) for name in known}
    of_all = [(sum(end - begin for begin, end, _ in outside), joined)] if outside else []
    return [(ns / NANOS, values) for ns, values in (*of_all, *((end - begin, each) for begin, end, each in inside))]
