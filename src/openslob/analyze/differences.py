"""Differences between two estimates of a figure: intervals, whether they are shown, and how many runs that takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from openslob.analyze.intervals import (
    MOST_RUNS,
    Interval,
    Spread,
    blocked_ratio,
    nested_interval,
    nested_ratio,
    spread,
    standard_errors,
    starts_needed,
)
from openslob.analyze.statistics import Basis, Estimate
from openslob.metrics import Better

# The difference that a comparison should be able to show: smaller ones seldom matter for the choice of a platform.
DETECT_PCT = 5.0


class Outcome(StrEnum):
    """The result of a comparison for a figure. DIFFERENT is for figures of which neither more nor less is better."""

    BETTER = "better"
    WORSE = "worse"
    DIFFERENT = "different"
    NOT_SHOWN = "no difference shown"
    NOT_ENOUGH = "not enough data"
    UNKNOWN = "unknown"


class Shows(StrEnum):
    """What the runs of two sides show: how much starts of the server differ, or less, since each side has one."""

    STARTS = "across starts"
    SAME_START = "within the same start"
    ONE_START = "one start each"
    ONE_RUN = "one run each"
    FEW_RUNS = "three runs"


# Of fewer runs on both sides together, one difference between two runs would decide, and two may be alike by chance.
LEAST_RUNS = 4
# In % of A. Half an interval of more, with 0 in it, says that the change is unknown.
WIDEST_PCT = 100.0


# Where the sides do not show how much equal runs differ: what is known all the same, and what is not.
_INSIDE = {Shows.ONE_RUN: "inside each run", Shows.ONE_START: "inside each start of the server"}
_NOT_KNOWN = {
    Shows.FEW_RUNS: "two runs against one: two may be alike by chance",
    Shows.ONE_RUN: "one run each: how much equal runs differ is not known",
    Shows.ONE_START: "one start of the server each: how much starts differ is not known",
}


@dataclass(frozen=True)
class Difference:
    """The difference B − A of one figure, in its unit and in % of A's mean, each with the ends of its 95 % interval.

    Unknown values are None; ``why`` gives the basis of the outcome, or the reason why there is none. ``spread`` is how
    much equal runs differ, None where the runs do not show it; ``runs_per_start`` how many runs were made in each start
    of the server, and ``shows`` what these can show. ``repeats_needed`` is the number of runs on each side that would
    show the difference that the comparison was to see. ``unit_b`` is B's unit where it is another one, a currency: then
    there is no change.
    """

    figure: str
    unit: str
    a: Estimate
    b: Estimate
    outcome: Outcome
    change: float | None = None
    change_low: float | None = None
    change_high: float | None = None
    pct: float | None = None
    pct_low: float | None = None
    pct_high: float | None = None
    repeats_needed: int | None = None
    why: str = ""
    spread: Spread | None = None
    runs_per_start: int = 1
    shows: Shows | None = None
    unit_b: str | None = None

    @property
    def is_vague(self) -> bool:
        """Whether the interval is so much wider than the change that the change is unknown."""
        if self.pct_low is None or self.pct_high is None or not self.pct_low <= 0 <= self.pct_high:
            return False
        return (self.pct_high - self.pct_low) / 2 > WIDEST_PCT

    @property
    def leaves_open(self) -> str:
        """What the runs of both sides do not show of how equal runs differ; empty if they show it."""
        return "" if self.shows is None else _NOT_KNOWN.get(self.shows, "")

    def runs_needed(self, see_pct: float) -> int | None:
        """Return the number of runs on each side that show a change of ``see_pct``; None where no spread is known."""
        starts = starts_needed(self.spread, see_pct, self.runs_per_start)
        return None if starts is None else min(MOST_RUNS, starts * self.runs_per_start)


def judge_runs(a: Estimate, b: Estimate, known: Spread | None = None) -> Shows:
    """Return what the runs of both sides show; ``known`` is the spread that others of the same test have shown."""
    if a.n == b.n == 1:
        return Shows.ONE_RUN if known is None else Shows.STARTS
    if a.n + b.n < LEAST_RUNS and known is None:
        return Shows.FEW_RUNS
    if a.starts == b.starts != frozenset():
        return Shows.SAME_START
    several = max(len(a.by_start), len(b.by_start)) > 1 or known is not None
    return Shows.STARTS if several else Shows.ONE_START


def difference(
    figure: str,
    unit: str,
    better: Better,
    a: Estimate,
    b: Estimate,
    known: Spread | None = None,
    see_pct: float = DETECT_PCT,
    step: float = 0.0,
) -> Difference:
    """Return the difference between two estimates of one figure at one point, with the interval of their ratio.

    `openslob.analyze.intervals` has the arithmetic. A side of one start has the spread of the other side, or ``known``.
    Where neither shows how much starts differ, the interval is that within the starts, or within the runs: inside it no
    difference is shown; beyond it the data are not enough. Runs of the same starts on both sides are compared within
    them, since what a start does to them it does to both. The values come in steps of the share ``step``, if any.
    """
    if a.mean is None or b.mean is None:
        return Difference(figure, unit, a, b, Outcome.UNKNOWN, why=a.why or b.why)
    shows, change = judge_runs(a, b, known), b.mean - a.mean
    low, high = _ends(a, b, shows, known, step)
    per = 100 / abs(a.mean) if a.mean else None
    pct, pct_low, pct_high = (None if per is None or x is None else x * per for x in (change, low, high))
    outcome = _outcome(low, high, better, shows in (Shows.STARTS, Shows.SAME_START))
    spread_known, per_start = _spread(a, b, shows, known)
    found = Difference(
        figure, unit, a, b, outcome, change, low, high, pct, pct_low, pct_high, None, _why(outcome, shows),
        spread_known, per_start, shows,
    )  # fmt: skip
    return replace(found, repeats_needed=found.runs_needed(see_pct))


def _why(outcome: Outcome, shows: Shows) -> str:
    if shows not in _NOT_KNOWN:
        return ""
    inside = _INSIDE.get(shows, "of the runs")
    return f"within the spread {inside}" if outcome is Outcome.NOT_SHOWN else _NOT_KNOWN[shows]


def _units(a: Estimate, b: Estimate, shows: Shows) -> tuple[list[list[float]], list[list[float]]]:
    """Return the values of both sides by what varies on its own: starts, or runs where no start tells them apart."""
    if shows in (Shows.STARTS, Shows.FEW_RUNS):
        return a.runs, b.runs
    first, second = ([[value] for start in side.runs for value in start] for side in (a, b))
    return first, second


def _ends(
    a: Estimate, b: Estimate, shows: Shows, known: Spread | None, step: float
) -> tuple[float, float] | tuple[None, None]:
    """Return the ends of the interval of the change; None where nothing shows them."""
    mean_a, mean_b = a.mean or 0.0, b.mean or 0.0
    units = _units(a, b, shows)
    half: float | None = None
    if shows is Shows.ONE_RUN:
        if Basis.NONE not in (a.basis, b.basis) and a.half_width is not None and b.half_width is not None:
            half = math.hypot(a.half_width, b.half_width)
    elif _all_above_0(a) and _all_above_0(b):
        ratio = _ratio(a, b, shows, known, step)
        if ratio.value is None or ratio.low is None or ratio.high is None:
            return None, None
        return mean_b * ratio.low / ratio.value - mean_a, mean_b * ratio.high / ratio.value - mean_a
    else:
        half = _half_of_change([[float(np.mean(start)) for start in side] for side in units], known)
    return (None, None) if half is None else (mean_b - mean_a - half, mean_b - mean_a + half)


def _ratio(a: Estimate, b: Estimate, shows: Shows, known: Spread | None, step: float) -> Interval:
    if shows is not Shows.SAME_START or len(a.by_start) == 1:
        return nested_ratio(*_units(a, b, shows), known=known if shows is Shows.STARTS else None, step=step)
    second = {start.name: start.values for start in b.by_start}
    return blocked_ratio([(start.values, second[start.name]) for start in a.by_start])


def _half_of_change(sides: Sequence[Sequence[float]], known: Spread | None) -> float | None:
    """Return half the width of the interval of a change of values that have no ratio, by Welch's t test."""
    variances = [float(np.var(side, ddof=1)) if len(side) > 1 else None for side in sides]
    several = [(variance, len(side)) for variance, side in zip(variances, sides, strict=True) if variance is not None]
    if not several:
        # The spread is a share: of a side that is 0 it would be none.
        level = max(abs(side[0]) for side in sides)
        return None if known is None else standard_errors(known.degrees) * math.sqrt(2 * known.of_start()) * level
    if len(several) == 1:
        variance, count = several[0]
        return standard_errors(count - 1) * math.sqrt(variance * (1 / count + 1))
    shares = [(variance / count, count) for variance, count in several]
    total = sum(share for share, _ in shares)
    if total <= 0:
        return 0.0
    degrees = total**2 / sum(share**2 / (count - 1) for share, count in shares)
    return standard_errors(degrees) * math.sqrt(total)


def _spread(a: Estimate, b: Estimate, shows: Shows, known: Spread | None) -> tuple[Spread | None, int]:
    """Return how much equal runs differ as far as a plan may rely on it, and the number of runs in each start."""
    if shows in _NOT_KNOWN:
        return None, 1
    units = _units(a, b, shows)
    per_start = round(float(np.mean([len(start) for side in units for start in side])))
    return spread(*units) or known, per_start


def _outcome(low: float | None, high: float | None, better: Better, enough: bool) -> Outcome:
    """Return the outcome for the interval of a change; ``enough``: it holds all by which equal runs differ."""
    if low is None or high is None:
        return Outcome.NOT_ENOUGH
    if low <= 0 <= high:
        return Outcome.NOT_SHOWN
    if not enough:
        return Outcome.NOT_ENOUGH
    if better is Better.NEITHER:
        return Outcome.DIFFERENT
    return Outcome.BETTER if (low > 0) == (better is Better.MORE) else Outcome.WORSE


def mean_difference(figure: str, unit: str, better: Better, pairs: Sequence[Difference]) -> Difference:
    """Return the mean relative difference over several points: of the logarithms of B / A, each point counting once.

    Points that were made in the same start of the server share what that start does, so they are no independent
    evidence. Groups of points with starts of their own are: then it is Student's t test over the groups. Where one
    start made all points of both sides, it is that over the points; where several starts of each side made all points,
    their means over the points are compared like runs. Points where the figure is unknown or not above 0 do not count.
    """
    known = [pair for pair in pairs if _all_above_0(pair.a) and _all_above_0(pair.b)]
    no_value = Estimate(None, why="the mean over several points is a change, not a value")
    if len(known) < 2:
        return Difference(
            figure, unit, no_value, no_value, Outcome.UNKNOWN, why="fewer than two points have this figure"
        )
    logs = [math.log(pair.b.mean) - math.log(pair.a.mean) for pair in known if pair.a.mean and pair.b.mean]
    mean, why = float(np.mean(logs)), f"mean of {len(known)} points"
    found: Interval | None = None
    groups = _groups(known)
    if len(groups) > 1:
        found = nested_interval([[float(np.mean([logs[at] for at in group]))] for group in groups])
    elif all(pair.a.starts == pair.b.starts != frozenset() for pair in known):
        found = nested_interval([[log] for log in logs])
    else:
        ratio = nested_ratio(_over_points([pair.a for pair in known]), _over_points([pair.b for pair in known]))
        if ratio.low is not None and ratio.high is not None:
            found = Interval(None, math.log(ratio.low), math.log(ratio.high))
        why = f"{why}, {_NOT_KNOWN[Shows.ONE_START]}" if found is None else why
    if found is None or found.low is None or found.high is None:
        pct = 100 * math.expm1(mean)
        return Difference(figure, unit, no_value, no_value, Outcome.NOT_ENOUGH, pct=pct, why=why, shows=Shows.ONE_START)
    shift = mean - (found.low + found.high) / 2
    low, high = found.low + shift, found.high + shift
    pct, pct_low, pct_high = (100 * math.expm1(x) for x in (mean, low, high))
    outcome = _outcome(low, high, better, True)
    return Difference(
        figure, unit, no_value, no_value, outcome, pct=pct, pct_low=pct_low, pct_high=pct_high, why=why,
        shows=Shows.STARTS,
    )  # fmt: skip


def _all_above_0(estimate: Estimate) -> bool:
    return bool(estimate.by_start) and all(value > 0 for start in estimate.runs for value in start)


def _groups(pairs: Sequence[Difference]) -> list[list[int]]:
    """Return the points in groups that share no start of the server with each other."""
    groups: list[tuple[set[str], list[int]]] = []
    for number, pair in enumerate(pairs):
        starts, members = {start.name for side in (pair.a, pair.b) for start in side.by_start} - {""}, [number]
        apart = []
        for group in groups:
            if group[0] & starts:
                starts, members = starts | group[0], [*group[1], *members]
            else:
                apart.append(group)
        groups = [*apart, (starts, members)]
    return [members for _, members in groups]


def _over_points(points: Sequence[Estimate]) -> list[list[float]]:
    """Return the geometric mean over the points of each start that has all of them."""
    of_start: dict[str, list[float]] = {}
    for point in points:
        for start in point.by_start:
            of_start.setdefault(start.name, []).append(float(np.mean(np.log(start.values))))
    return [[math.exp(float(np.mean(logs)))] for name, logs in of_start.items() if name and len(logs) == len(points)]
