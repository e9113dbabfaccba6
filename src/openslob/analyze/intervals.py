"""Intervals of figures that vary on two levels: from start to start of the server, and from run to run within a start.

Runs within one start of a server are more alike than runs across starts: each start has its own layout of memory, its
own placement of processes and its own state of the storage. So runs within a start say little about the next start,
however many they are. Kalibera and Jones ("Rigorous benchmarking in reasonable time", ISMM 2013) show that only the
means of the highest level, here of the starts, decide how wide an interval must be: their variance holds that of the
runs within them already. The intervals are of Student's t over these means. A ratio is taken by its logarithm, whose
variance is the sum of both sides' relative variances (the delta method, as for response ratios by Hedges, Gurevitch and
Curtis, Ecology 80, 1999), with the degrees of freedom of Welch and Satterthwaite.

Simulated with skewed noise, 3 to 10 starts a side and 1 to 3 runs in each, 95 % intervals of a ratio hold the truth in
95 to 97 % of cases (`tests/unit/analyze/test_intervals.py`). A hierarchical bootstrap reaches 80 % with three starts.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

from openslob.analyze.distributions import noncentral_t_cdf, t_quantile

CONFIDENCE = 0.95
# The usual choice of a careful plan: nine comparisons of ten find the difference that they were planned for.
POWER = 0.9
# More than this is impracticable: the noise must be reduced instead.
MOST_RUNS = 1000
# Whoever measures until an interval is narrow stops too early when it is narrow by chance. With fewer starts than this,
# that costs more than a point of the confidence.
LEAST_STARTS = 6

_LARGEST_LOG = 700.0

Runs = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its interval; what is unknown is None, and ``why`` says for what reason.

    ``starts`` and ``runs`` are those of the side that has fewer.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    starts: int = 0
    runs: int = 0
    why: str = ""

    @property
    def half_pct(self) -> float | None:
        """Half the width of the interval, in % of the value."""
        if self.value is None or self.low is None or self.high is None or not self.value:
            return None
        return 50 * (self.high - self.low) / abs(self.value)

    def holds(self, value: float) -> bool | None:
        """Return whether the interval contains a value; None if it has no ends."""
        return None if self.low is None or self.high is None else self.low <= value <= self.high


@dataclass(frozen=True)
class Spread:
    """How much equal runs differ, as variances relative to the mean: between starts, and between runs within one.

    ``within`` is None where each start has one run: then ``between`` holds both. ``degrees`` are those of freedom with
    which the spread is known.
    """

    between: float
    within: float | None
    degrees: float

    def of_start(self, runs: int = 1) -> float:
        """Return the relative variance of the mean of ``runs`` runs within one start."""
        return self.between + (self.within or 0.0) / runs

    @property
    def pct(self) -> float:
        """The standard deviation of single runs, each of a start of its own, in % of the mean."""
        return 100 * math.sqrt(self.of_start())


def nested_interval(runs: Runs) -> Interval:
    """Return the mean over starts with its interval; ``runs`` has the values of each start."""
    starts = [start for start in runs if start]
    if not starts:
        return Interval(None, why="there is no run")
    means = _means(starts)
    count, mean = sum(map(len, starts)), fmean(means)
    if len(starts) == 1:
        return Interval(mean, starts=1, runs=count, why=_why_single(count))
    half = standard_errors(len(starts) - 1) * math.sqrt(_variance(means) / len(starts))
    return Interval(mean, mean - half, mean + half, len(starts), count)


def nested_ratio(a: Runs, b: Runs, known: Spread | None = None, step: float = 0.0) -> Interval:
    """Return B / A with its interval; both sides have the values of each of their starts, and these are independent.

    A side of one start has the spread of the other side, with what ``known`` adds to it; ``known`` alone serves where
    both have one. Without either, how much starts differ is not known, and there is no interval. Values come in steps
    of the share ``step``, as percentiles of a histogram do: a few may be alike by chance, and their mean is rounded.
    """
    sides = [[start for start in side if start] for side in (a, b)]
    if not all(sides):
        return Interval(None, why="one side has no run")
    if any(value <= 0 for side in sides for start in side for value in start):
        return Interval(None, why="the ratio of values that are not all above 0 says nothing")
    means = [fmean(_means(side)) for side in sides]
    fewest = min(len(side) for side in sides), min(sum(map(len, side)) for side in sides)
    ratio = means[1] / means[0]
    half = _half_of_logarithm(sides, known, step)
    if half is None:
        return Interval(ratio, None, None, *fewest, _why_single(fewest[1]))
    return Interval(ratio, *_around(math.log(ratio), half), *fewest)


def blocked_ratio(
    blocks: Sequence[tuple[Sequence[float], Sequence[float]]], confidence: float = CONFIDENCE
) -> Interval:
    """Return B / A with its interval from blocks that hold runs of both sides: a start, or a pair made in turn.

    What a block has in common does not count: the ratios within the blocks do (the two-way model without interaction,
    of logarithms). With one run of each side in a block that is Student's t test of pairs.
    """
    both = [
        tuple([math.log(value) for value in side] for side in (a, b))
        for a, b in blocks
        if len(a) and len(b) and min(*a, *b) > 0
    ]
    if not both:
        return Interval(None, why="no block holds runs of both sides above 0")
    weights = [len(a) * len(b) / (len(a) + len(b)) for a, b in both]
    ratios = [fmean(b) - fmean(a) for a, b in both]
    log = fmean(ratios, weights)
    runs = min(sum(len(pair[side]) for pair in both) for side in (0, 1))
    degrees = sum(len(a) + len(b) for a, b in both) - len(both) - 1
    if degrees < 1:
        return Interval(math.exp(log), starts=len(both), runs=runs, why="one run of each side: repeat them")
    rest = sum(_squares(a) + _squares(b) for a, b in both)
    rest += sum(weight * (ratio - log) ** 2 for weight, ratio in zip(weights, ratios, strict=True))
    half = standard_errors(degrees, confidence) * math.sqrt(rest / degrees / sum(weights))
    return Interval(math.exp(log), *_around(log, half), len(both), runs)


def narrow_enough(interval: Interval, within_pct: float, least: int = LEAST_STARTS) -> bool:
    """Return whether to stop: the interval is at most ± ``within_pct`` wide, of at least ``least`` starts or pairs."""
    half = interval.half_pct
    return interval.starts >= least and half is not None and half <= within_pct


def spread(*sides: Runs) -> Spread | None:
    """Return how much equal runs differ, pooled over the sides; None where no side has two starts."""
    between, within, share, degrees, inner = 0.0, 0.0, 0.0, 0, 0
    for side in sides:
        starts = [start for start in side if start]
        means = _means(starts)
        if len(starts) < 2 or not fmean(means):
            continue
        per = 1 / fmean(means) ** 2
        between += _squares(means) * per
        degrees += len(starts) - 1
        within += sum(map(_squares, starts)) * per
        inner += sum(len(start) - 1 for start in starts)
        share += (len(starts) - 1) * fmean(1 / len(start) for start in starts)
    if not degrees:
        return None
    if not inner:
        return Spread(between / degrees, None, degrees)
    # The variance of the means holds the runs' own, divided by how many there are.
    own = within / inner
    return Spread(max(0.0, between / degrees - own * share / degrees), own, degrees)


@lru_cache(maxsize=1024)
def starts_needed(known: Spread | None, see_pct: float, runs: int = 1) -> int | None:
    """Return the number of starts on each side, with ``runs`` runs in each, that show a change of ``see_pct``.

    The probability to show it is `POWER`, although the spread is itself only known with so many degrees of freedom:
    by the noncentral t distribution (Julious and Owen, "Sample size calculations for clinical studies allowing for
    uncertainty about the variance", Pharmaceutical Statistics 5, 2006). None if the spread is not known; `MOST_RUNS`
    stands for that many or more.
    """
    if known is None or not see_pct:
        return None
    # Of a rise and a fall by so many per cent, the rise is the smaller one as a logarithm.
    change, spread_of_start = math.log1p(abs(see_pct) / 100), math.sqrt(known.of_start(runs))
    if not spread_of_start:
        return 2

    def suffices(count: int) -> bool:
        limit = standard_errors(2 * count - 2)
        return noncentral_t_cdf(math.sqrt(count / 2) * change / spread_of_start, known.degrees, limit) >= POWER

    return min(MOST_RUNS, bisect_left(range(MOST_RUNS), True, lo=2, key=suffices))


def _half_of_logarithm(sides: Sequence[Runs], known: Spread | None, step: float) -> float | None:
    """Return half the width of the interval of the logarithm of the ratio; None where the spread is not known."""
    # The variance of a rounded value. More values do not lower it: all of them may be rounded in one direction.
    rounding = step**2 / 12
    if min(map(len, sides)) == 1:
        pooled = pool_spreads(spread(*sides), known)
        if pooled is None:
            return None
        # Both sides have the same spread then, so their variances are not independent: Student's t, not Welch's.
        shares = [pooled.of_start(min(map(len, side))) / len(side) for side in sides]
        total = sum(max(each, rounding) for each in shares)
        return standard_errors(pooled.degrees) * math.sqrt(total)
    means = [_means(side) for side in sides]
    variances = [_variance(each) / fmean(each) ** 2 / len(each) for each in means]
    total = sum(max(each, rounding) for each in variances)
    if total <= 0:
        return 0.0
    # What rounding adds is no better known for it: only what was seen to vary has degrees of freedom.
    seen = variances if sum(variances) > 0 else [1.0] * len(means)
    per_degree = sum(own**2 / (len(each) - 1) for own, each in zip(seen, means, strict=True))
    return standard_errors(sum(seen) ** 2 / per_degree) * math.sqrt(total)


def pool_spreads(found: Spread | None, known: Spread | None) -> Spread | None:
    """Return one spread of two: variances between starts weighted by their degrees of freedom, the larger one within.

    A missing one counts for nothing.
    """
    if found is None or known is None:
        return found or known
    degrees = found.degrees + known.degrees
    of_both = [each for each in (found, known) if each.within is not None]
    within = max((each.within or 0.0 for each in of_both), default=None)
    between = (found.between * found.degrees + known.between * known.degrees) / degrees
    return Spread(between, within, degrees)


def _around(log: float, half: float) -> tuple[float, float]:
    """Return the ends of an interval of a logarithm, as values; what no float can hold is infinite."""
    return math.exp(log - half), math.exp(log + half) if log + half < _LARGEST_LOG else math.inf


def _means(starts: Runs) -> list[float]:
    return [fmean(start) for start in starts]


def _squares(values: Sequence[float]) -> float:
    """Return the sum of the squares of how much values differ from their mean."""
    mean = fmean(values)
    return sum((off := value - mean) * off for value in values)


def _variance(values: Sequence[float]) -> float:
    return _squares(values) / (len(values) - 1)


def _why_single(runs: int) -> str:
    what = "one run does" if runs == 1 else "runs of one start of the server do"
    return f"{what} not show how much the next start differs"


def standard_errors(degrees: float, confidence: float = CONFIDENCE) -> float:
    """Return half the width of an interval in standard errors: a quantile of Student's t distribution."""
    return t_quantile(degrees, 0.5 + confidence / 2)
