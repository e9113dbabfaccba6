"""Two runs or two sweeps held against each other: what makes them incomparable, and the difference in every figure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from openslob.analyze.comparability import facts, in_order
from openslob.analyze.curves.points import (
    RESPONSE_PREFIX,
    SESSIONS,
    Parameters,
    ParameterValue,
    Point,
    Run,
    points,
    varying,
)
from openslob.analyze.curves.series import label, order
from openslob.analyze.statistics import Difference, difference, mean_difference
from openslob.errors import UsageError
from openslob.metrics import METRICS, Better

# What was asked for, and sums that follow from the length of the run: no results.
_NO_RESULTS = frozenset(
    {"elapsed_s", "sessions", "ops_total", "updates_total", "selects_total", "scans_total"} | {"target_ops_per_s"}
)
_LATENCY = re.compile(r"(op|select|update|scan)_(response_)?(mean|p50|p90|p99|p999)_us")
LATENCY_FIGURES = tuple(
    f"{kind}_{whole}{at}_us"
    for whole in ("", RESPONSE_PREFIX)
    for kind in ("select", "update", "scan")
    for at in ("mean", "p50", "p90", "p99", "p999")
)
FIGURES = (*(name for name in METRICS if name not in _NO_RESULTS), *LATENCY_FIGURES)

Key = tuple[tuple[str, ParameterValue], ...]


@dataclass(frozen=True)
class Mismatch:
    """A parameter or fact that is not the same in A and B, with the values it has in each."""

    name: str
    a: tuple[ParameterValue, ...]
    b: tuple[ParameterValue, ...]


@dataclass(frozen=True)
class Pair:
    """The same point in A and in B, and the difference in every figure of `FIGURES` that either has."""

    sessions: int
    label: str
    a: Point
    b: Point
    differences: Mapping[str, Difference]


@dataclass(frozen=True)
class Comparison:
    """A and B by points. ``overall`` has the mean difference over the points, empty when there is only one.

    ``only_a`` and ``only_b`` name the points which the other does not have.
    """

    name_a: str
    name_b: str
    mismatches: tuple[Mismatch, ...]
    pairs: tuple[Pair, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    overall: Mapping[str, Difference]

    def answer(self, figure: str) -> Difference | None:
        """The difference in a figure for which `is_figure` holds: of the only point, or the mean over the points."""
        kind, _, at = figure.partition("_")
        if kind == "op":
            figure = f"{self.pairs[0].a.main_kind}_{at}"
        found = self.overall if len(self.pairs) > 1 else self.pairs[0].differences
        return found.get(figure)


def is_figure(name: str) -> bool:
    """A figure that can be compared: of the registry, or a latency such as ``select_p99_us`` or ``op_p99_us``."""
    return name in FIGURES or bool(_LATENCY.fullmatch(name))


def unit_of(figure: str) -> str:
    """Unit of a figure."""
    return METRICS[figure].unit if figure in METRICS else "µs"


def better_of(figure: str) -> Better:
    """Direction of a figure: less latency is better."""
    return METRICS[figure].better if figure in METRICS else Better.LESS


def compare(a: Sequence[Run], b: Sequence[Run], name_a: str = "A", name_b: str = "B") -> Comparison:
    """Every point that both have, matched by those parameters that have a value in common.

    A parameter without one is a mismatch, and points are matched without it. UsageError when no point matches, or
    when leaving a parameter out makes points of one side equal.
    """
    other = _foreign(a, b)
    by_a, by_b = _by_key(a, other, name_a), _by_key(b, other, name_b)
    told_apart = [name for name in varying([*a, *b]) if name not in other]
    pairs = tuple(_pair(by_a[key], by_b[key], told_apart) for key in _ordered(by_a, told_apart) if key in by_b)
    if not pairs:
        raise UsageError(f"{name_a} and {name_b} have no point in common", "compare runs with the same sessions")
    return Comparison(
        name_a,
        name_b,
        (*_parameter_mismatches(a, b, other), *_fact_mismatches(a, b, pairs)),
        pairs,
        tuple(_name(by_a[key], told_apart) for key in _ordered(by_a, told_apart) if key not in by_b),
        tuple(_name(by_b[key], told_apart) for key in _ordered(by_b, told_apart) if key not in by_a),
        _overall(pairs),
    )


def _foreign(a: Sequence[Run], b: Sequence[Run]) -> frozenset[str]:
    """Parameters of which A and B have no value in common; sessions tell points apart, whatever they are."""
    names = {name for run in (*a, *b) for name in run.parameters} - {SESSIONS}
    return frozenset(name for name in names if not _values(a, name) & _values(b, name))


def _values(runs: Sequence[Run], name: str) -> set[ParameterValue]:
    return {run.parameters.get(name) for run in runs}


def _by_key(runs: Sequence[Run], without: frozenset[str], side: str) -> dict[Key, Point]:
    found: dict[Key, Point] = {}
    for point in points(runs):
        key = tuple(sorted((name, value) for name, value in point.parameters.items() if name not in without))
        if key in found:
            raise UsageError(f"{side} holds several points that differ only by {', '.join(sorted(without))}")
        found[key] = point
    return found


def _ordered(by_key: Mapping[Key, Point], told_apart: Sequence[str]) -> list[Key]:
    """By the parameters that vary, then by sessions."""

    def place(key: Key) -> list[tuple[bool, bool, float, str]]:
        values = by_key[key].parameters
        return [order(values.get(name)) for name in (*told_apart, SESSIONS)]

    return sorted(by_key, key=place)


def _pair(a: Point, b: Point, told_apart: Sequence[str]) -> Pair:
    differences = {
        name: difference(name, unit_of(name), better_of(name), a.figure(name), b.figure(name))
        for name in FIGURES
        if a.mean(name) is not None or b.mean(name) is not None
    }
    return Pair(a.sessions, _name(a, told_apart), a, b, differences)


def _name(point: Point, told_apart: Sequence[str]) -> str:
    sessions = f"{point.sessions} session{'' if point.sessions == 1 else 's'}"
    key: Parameters = {name: point.parameters.get(name) for name in told_apart}
    return f"{label(key)}, {sessions}" if key else sessions


def _overall(pairs: Sequence[Pair]) -> dict[str, Difference]:
    if len(pairs) < 2:
        return {}
    names = dict.fromkeys(name for pair in pairs for name in pair.differences)
    return {
        name: mean_difference(
            name, unit_of(name), better_of(name), [p.differences[name] for p in pairs if name in p.differences]
        )
        for name in names
    }


def _parameter_mismatches(a: Sequence[Run], b: Sequence[Run], names: frozenset[str]) -> list[Mismatch]:
    return [Mismatch(name, in_order(_values(a, name)), in_order(_values(b, name))) for name in sorted(names)]


def _fact_mismatches(a: Sequence[Run], b: Sequence[Run], pairs: Sequence[Pair]) -> list[Mismatch]:
    """Facts that differ between or within the two sides of at least one pair, with all values they have in such."""
    records = [{run.record.id: run.record for run in side} for side in (a, b)]
    seen: dict[str, tuple[set[ParameterValue], set[ParameterValue]]] = {}
    for pair in pairs:
        sides = [facts([by_id[i] for i in p.record_ids]) for by_id, p in zip(records, (pair.a, pair.b), strict=True)]
        for name in dict.fromkeys((*sides[0], *sides[1])):
            mine, others = sides[0].get(name, {None}), sides[1].get(name, {None})
            if mine != others or len(mine) > 1:
                both = seen.setdefault(name, (set(), set()))
                both[0].update(mine)
                both[1].update(others)
    return [Mismatch(name, in_order(mine), in_order(others)) for name, (mine, others) in sorted(seen.items())]


@dataclass(frozen=True)
class ComparedValues:
    """The runs with the value ``b`` of a parameter against those with ``a``."""

    parameter: str
    a: ParameterValue
    b: ParameterValue


def compare_values(runs: Sequence[Run], against: ComparedValues) -> Comparison:
    """Every point that both have; that the parameter differs is the question, and so no mismatch.

    UsageError when one of them has no run, or they have no point in common.
    """
    values = (against.a, against.b)
    names = [label({against.parameter: value}) for value in values]
    sides = [[run for run in runs if run.parameters.get(against.parameter) == value] for value in values]
    for name, side in zip(names, sides, strict=True):
        if not side:
            raise UsageError(f"there is no run with {name}")
    found = compare(sides[0], sides[1], names[0], names[1])
    mismatches = tuple(each for each in found.mismatches if each.name != against.parameter)
    return replace(found, mismatches=mismatches)
