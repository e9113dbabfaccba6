"""The figures of one run second by second, which give their spread within the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from openslob.core.units import NANOS
from openslob.metrics import METRICS
from openslob.metrics.computation import Amount, EngineCounter, PerSecond, SessionSum

# Values of a figure in consecutive parts of a run, by `Point.figure` name.
Timeline = Mapping[str, Sequence[float]]
EngineRow = tuple[int, int, str, float]
# Begin and end (ns) of a part of the run.
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
# A count of a part depends on how long the part is, and is no value of the figure.
_OF_ENGINE = {
    name: metric.computation.of_amounts
    for name, metric in METRICS.items()
    if metric.computation.only_from(EngineCounter) and type(metric.computation) is not Amount
}


def of_work(ops: _Array, updates: _Array, unit_s: int, seconds: float) -> Timeline:
    """Return rates by unit of time of the load.

    Args:
        ops: operations in each unit of the load; a slice that lies in two units counts in both, by its share of time.
        updates: the updates among them.
        unit_s: the length of a unit in seconds.
        seconds: the length of the load.

    """
    edges = np.arange(int(seconds // unit_s) + 1, dtype=np.float64) * unit_s
    if seconds - edges[-1] >= MIN_PART_S:
        edges = np.append(edges, seconds)
    count = min(len(edges) - 1, len(ops))
    if not count:
        return {}
    counted = {"ops": ops[:count] / np.diff(edges)[:count], "updates": updates[:count] / np.diff(edges)[:count]}
    rates = {
        name: (counted[rate.input.field] * rate.factor).tolist()
        for name, rate in _OF_SESSIONS.items()
        if rate.input.field in counted
    }
    # The work of an operation is fixed by WORK_UNIT: the blocks visited rise and fall with the operations.
    return {**rates, "block_visits_per_s": counted["ops"].tolist()}


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


def of_engine(rows: Iterable[EngineRow], start_ns: int, end_ns: int, even: Span | None = None) -> Timeline:
    """Return the figures that depend only on the engine's counters, by interval within the load.

    Args:
        rows: begin and end (ns), field of `EngineDelta` and value. Of intervals with the same begin only the last one
            counts (`RawCsv.engine`).
        start_ns: when the load began.
        end_ns: when the load ended.
        even: the span in which the counters keep pace with the work (`RunTables.even_ns`). Intervals outside that span
            are taken together, because work that is not yet counted at the beginning is counted at the end. None: the
            first and the last interval are taken together.

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
