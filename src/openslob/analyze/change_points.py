"""Change points of a series: where its values began to be others than before.

Runs one after the other are rarely independent: what is slow now mostly still is a quarter of an hour later, and a slow
drift looks like a change. So the likelihood of a series is compared by three explanations, all with noise whose
neighbours are correlated (a first-order autoregression): one level; one level and a jump that fades as all noise does
(an outlier of the second type of A. J. Fox, "Outliers in Time Series", Journal of the Royal Statistical Society B 34,
1972, 350–363); and two levels. The first and the third make the statistic of R. A. Davis, D. Huang and Y.-C. Yao,
"Testing for a Change in the Parameter Values and Order of an Autoregressive Model", Annals of Statistics 23 (1995),
282–304, for a change of the mean alone; M. Robbins, C. Gallagher, R. Lund and A. Aue compare its kin in "Mean Shift
Testing in Correlated Data", Journal of Time Series Analysis 32 (2011), 498–511. A change may end again. Jumps and ends
cost what the criterion of G. Schwarz takes for two parameters ("Estimating the Dimension of a Model", Annals of
Statistics 6, 1978). Values far out are drawn in before, as in A. Dürre and R. Fried, "Robust Change Point Tests by
Bounded Transformations" (2019).

How probable a series without a change is to look so changed depends on a correlation that nobody knows. It is counted
on series that are made up with several correlations, and the highest count is the one that holds: the Monte Carlo test
of J.-M. Dufour, "Monte Carlo Tests with Nuisance Parameters", Journal of Econometrics 133 (2006), 443–477. The seed is
fixed, so the same series has the same change points. `bench/change_points.py` counts false alarms, and how often a
change is found and placed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]
_Places = NDArray[np.int64]

# The highest probability of a series without a change to look so changed. It is that of normal noise; if values are far
# out, or vary more from some time on, up to 5 of 100 do: `bench/change_points.py`.
SIGNIFICANCE = 0.025
# Two values may be alike by chance: a part of the series has at least so many.
LEAST_PART = 3
# Values are drawn in to so many standard deviations (by the median of the deviations) from the median.
FARTHEST = 3.5
# What two parameters cost, as a multiple of the logarithm of the number of values: place and size of a jump, or of the
# end of a change.
TWO_COST = 2.0
# The correlations that are tried for a series, and those of the made-up ones, of each so many. Most series are known
# not to be changed by the first of these.
CORRELATIONS = np.arange(20) / 20
MADE_UP_WITH, MADE_UP = (0.5, 0.7, 0.3, 0.9), 499
# Neighbours of that correlation or more are alike: what would be a change of independent values may be slow drift.
ALIKE = 0.3
# A longer series is compared in groups of neighbours: the work grows with the square of the number of values.
MOST_VALUES = 200
# Places that are tried from each end of a longer part, denser near the ends; the place itself is then found among all.
MOST_PLACES = 24
# A change as late as this that is not sure yet is reported, with how many values more would make it so, up to the most.
LATE, MOST_MORE, EARLY = 8, 20, 0.1
# Of what fits perfectly, the logarithm is taken of this share of the squares.
_LEAST_SHARE = 1e-12


@dataclass(frozen=True)
class Step:
    """Another level from value number ``at`` on, from 0: the medians of the parts before and after."""

    at: int
    before: float
    after: float

    @property
    def change_pct(self) -> float:
        """The change in % of the value before."""
        return 100 * (self.after - self.before) / self.before if self.before else float("nan")


@dataclass(frozen=True)
class ChangePoint(Step):
    """A change of a series.

    ``p`` is the probability of a series without a change to look so changed, at the most, whatever its neighbours have
    in common.
    """

    p: float


@dataclass(frozen=True)
class Drift:
    """Values ``begin`` to ``end`` that would have a change point, were not neighbours so alike by ``correlation``."""

    begin: int
    end: int
    correlation: float


@dataclass(frozen=True)
class EarlyStep(Step):
    """What may become a change point: ``more`` values like those after it would make it one.

    ``more`` is None if it takes more than `MOST_MORE`.
    """

    more: int | None


@dataclass(frozen=True)
class Course:
    """What is known of the level of a series: its changes, parts that may only drift, and a step that is too recent."""

    changes: list[ChangePoint] = field(default_factory=list)
    drifts: list[Drift] = field(default_factory=list)
    early: EarlyStep | None = None


def change_points(values: Sequence[float]) -> list[ChangePoint]:
    """Return the change points of a series, in their order; unknown values must be left out."""
    return _whole_course(np.asarray(values, dtype=np.float64)).changes


def course_to_the_last(values: Sequence[float]) -> Course:
    """Return the course of a series that grows: a late change shows at once, however long it is.

    Of a series of more than `MOST_VALUES` values, so many at its end are also compared one by one.
    """
    series, begin = np.asarray(values, dtype=np.float64), len(values) - MOST_VALUES
    whole = _whole_course(series)
    if begin <= 0:
        return Course(whole.changes, whole.drifts, _early_step(series, whole.changes))
    late = _whole_course(series[begin:])
    found, near = [(begin + each.at, each.p) for each in late.changes], LEAST_PART * _group(len(values))
    # What both have found has its place by single values.
    found += [(each.at, each.p) for each in whole.changes if all(abs(each.at - at) > near for at, _ in found)]
    changes = _with_levels(series, sorted(found))
    drifts = [Drift(begin + each.begin, begin + each.end, each.correlation) for each in late.drifts]
    return Course(changes, whole.drifts or drifts, _early_step(series, changes))


def _whole_course(series: _Array) -> Course:
    """Return changes and drifts of a series, of neighbours together if it is long."""
    group = _group(len(series))
    merged = series[: len(series) // group * group].reshape(-1, group).mean(axis=1)
    found = list(_divide(merged, 0))
    changes = sorted((at * group, p) for at, p in (each for each in found if not isinstance(each, Drift)))
    # What is left of a group at the end belongs to the last part.
    ends = {len(merged): len(series)}
    drifts = [
        Drift(each.begin * group, ends.get(each.end, each.end * group), each.correlation)
        for each in found
        if isinstance(each, Drift)
    ]
    return Course(_with_levels(series, changes), drifts)


def _group(count: int) -> int:
    """Return how many neighbours of a series are compared as one."""
    return -(-count // MOST_VALUES) or 1


def _with_levels(series: _Array, found: Sequence[tuple[int, float]]) -> list[ChangePoint]:
    """Return change points with the medians beside them; ``found`` has the place and the probability of each."""
    edges = [0, *(at for at, _ in found), len(series)]
    medians = [float(np.median(series[begin:end])) for begin, end in pairwise(edges)] if len(series) else []
    return [
        ChangePoint(at, before, after, p) for (at, p), (before, after) in zip(found, pairwise(medians), strict=True)
    ]


def _divide(part: _Array, offset: int) -> Iterator[tuple[int, float] | Drift]:
    """Yield number and probability of the changes within a part of the series: that of the part, then of its parts.

    A part that has none, but drifts, is yielded as such.
    """
    if len(part) < 2 * LEAST_PART or not np.ptp(part) > 0:
        return
    seen = weigh(part, SIGNIFICANCE)
    if seen.p > SIGNIFICANCE:
        if seen.correlation >= ALIKE and seen.p_independent <= SIGNIFICANCE:
            yield Drift(offset, offset + len(part), seen.correlation)
        return
    at = _place(part)
    yield offset + at, seen.p
    yield from _divide(part[:at], offset)
    yield from _divide(part[at:], offset + at)


@dataclass(frozen=True)
class Weighed:
    """How changed a series of ``count`` values looks.

    ``ratio`` is twice the logarithm of the ratio of the likelihoods with and without a change, less what they cost;
    ``plain`` is the same for independent values. ``p`` is the probability that a series without a change looks so
    changed, ``correlation`` that of neighbours around the two levels.
    """

    count: int
    ratio: float
    plain: float
    p: float
    correlation: float

    @property
    def p_independent(self) -> float:
        """The probability that independent values without a change look so changed."""
        return _share(_made_up(self.count, 0.0)[1], self.plain)


def weigh(part: _Array, significance: float = 1.0) -> Weighed:
    """Return how changed a series looks whose values are not all the same.

    As soon as ``p`` is known to be higher than ``significance``, no more is asked: it may be higher still.
    """
    count = len(part)
    found = _compare(_draw_in(part[None, :]))
    ratio, plain, correlation = (float(each[0]) for each in (found.ratio, found.plain, found.correlation))
    p = 0.0
    for each in MADE_UP_WITH:
        if p <= significance:
            p = max(p, _share(_made_up(count, each)[0], ratio))
    return Weighed(count, ratio, plain, p, correlation)


def _share(made_up: Sequence[float], value: float) -> float:
    """Return the share of made-up series, and of this one, whose value is at least so high."""
    return (len(made_up) - bisect_left(made_up, value) + 1) / (MADE_UP + 1)


@lru_cache(maxsize=1024)
def _made_up(count: int, correlation: float) -> tuple[list[float], list[float]]:
    """Return the sorted ratios of made-up series without a change, and those for independent values."""
    noise = np.random.default_rng(count).standard_normal((MADE_UP, count))
    found = _compare(_draw_in(autoregression(noise, correlation)))
    return sorted(found.ratio.tolist()), sorted(found.plain.tolist())


def autoregression(noise: _Array, correlation: float) -> _Array:
    """Return series in rows of which each value keeps a share of the one before it, and has the variance of the noise.

    ``noise`` has independent values.
    """
    values = noise.copy()
    for at in range(1, noise.shape[1]):
        values[:, at] = correlation * values[:, at - 1] + (1 - correlation**2) ** 0.5 * noise[:, at]
    return values


def _draw_in(series: _Array) -> _Array:
    """Return series in rows around their medians, with what is far out drawn in.

    Where more than half of the values are the same, they have no middle deviation: then it is their mean.
    """
    apart = series - np.median(series, axis=1, keepdims=True)
    sizes = np.abs(apart)
    usual = 1.4826 * np.median(sizes, axis=1, keepdims=True)
    usual = np.where(usual > 0, usual, sizes.mean(axis=1, keepdims=True))
    drawn: _Array = np.clip(apart / usual, -FARTHEST, FARTHEST)
    return drawn


@dataclass(frozen=True)
class _Compared:
    """What `weigh` looks at, of series in rows; ``plain`` is the ratio for independent values."""

    ratio: _Array
    plain: _Array
    correlation: _Array


def _compare(series: _Array) -> _Compared:
    """Compare the likelihoods of series in rows without a change, with a jump, and with a change that may end."""
    count = series.shape[1]
    apart = series - series.mean(axis=1, keepdims=True)
    squares = (apart * apart).sum(axis=1)
    begin, end = _parts(count, MOST_PLACES)
    plain, best = _best_part(apart, squares, begin, end)
    between = _between(count, begin[best], end[best])
    rest = apart - ((apart * between).sum(axis=1) / (between * between).sum(axis=1))[:, None] * between
    with_change, jump = _misfits(rest, squares), _misfit_of_jump(apart, squares) + TWO_COST * np.log(count)
    without = np.minimum(_misfits(apart, squares).min(axis=1), jump)
    dear = TWO_COST * np.log(count) * (begin[best] > 0)
    return _Compared(without - with_change.min(axis=1) - dear, plain - dear, CORRELATIONS[with_change.argmin(axis=1)])


def _best_part(apart: _Array, squares: _Array, begin: _Places, end: _Places) -> tuple[_Array, _Places]:
    """Return the ratio for independent values, and the number of the part whose own level fits series in rows best.

    A part that begins the series has no end that would cost anything; these are the first ones.
    """
    count, rows = apart.shape[1], np.arange(len(apart))
    sums = np.concatenate([np.zeros((len(apart), 1)), apart.cumsum(axis=1)], axis=1)
    inside, first = end - begin, int((begin == 0).sum())
    gained = sums[:, end]
    gained -= sums[:, begin]
    gained *= gained
    gained *= count / (inside * (count - inside))
    best = gained[:, :first].argmax(axis=1)
    ratio = _ratio(gained[rows, best], squares, count)
    if first < len(begin):
        ending = first + gained[:, first:].argmax(axis=1)
        other = _ratio(gained[rows, ending], squares, count)
        better = other - TWO_COST * np.log(count) > ratio
        best, ratio = np.where(better, ending, best), np.where(better, other, ratio)
    return ratio, best


def _ratio(gained: _Array, squares: _Array, count: int) -> _Array:
    """Return twice the logarithm of the ratio of likelihoods, if so much of the squares is explained."""
    ratio: _Array = -count * np.log(np.maximum(1 - gained / squares, _LEAST_SHARE))
    return ratio


def _between(count: int, begin: _Places, end: _Places) -> _Array:
    """Return rows that are high from ``begin`` to ``end`` and low elsewhere, around 0."""
    numbers = np.arange(count)
    high = ((numbers >= begin[:, None]) & (numbers < end[:, None])).astype(np.float64)
    between: _Array = high - high.mean(axis=1, keepdims=True)
    return between


def _misfits(series: _Array, squares: _Array) -> _Array:
    """Return -2 times the logarithm of the likelihood of series in rows around one level, less what all have.

    Each of `CORRELATIONS` has a column. The likelihood is the exact one of a first-order autoregression with normal
    noise, at the level and the variance that fit best: G. E. P. Box and G. M. Jenkins, "Time Series Analysis" (1976),
    chapter 7. ``squares`` are those of what no share is taken of.
    """
    kept, count = CORRELATIONS, series.shape[1]
    inner = series[:, 1:-1]
    own = (series * series).sum(axis=1)[:, None] + np.outer((inner * inner).sum(axis=1), kept**2)
    own -= 2 * np.outer((series[:, 1:] * series[:, :-1]).sum(axis=1), kept)
    level = (1 - kept) * (series.sum(axis=1)[:, None] - np.outer(inner.sum(axis=1), kept))
    own -= level * level / ((1 - kept) * (count - (count - 2) * kept))
    share = np.maximum(own / squares[:, None], _LEAST_SHARE)
    misfits: _Array = count * np.log(share) - np.log(1 - kept**2)
    return misfits


def _misfit_of_jump(series: _Array, squares: _Array) -> _Array:
    """Return the lowest of `_misfits` without what comes new with one value, where that fits best.

    It is little lower at a correlation between those that are tried: they are half as dense.
    """
    count, misfits = series.shape[1], []
    for kept in CORRELATIONS[1::2]:
        scale = (1 - kept**2) ** 0.5
        new = np.concatenate([scale * series[:, :1], series[:, 1:] - kept * series[:, :-1]], axis=1)
        level = np.full(count, 1 - kept)
        level[0] = scale
        new -= np.outer(new @ level / (level @ level), level)
        # Without one of them, the level is another one.
        new *= new
        jump = (new[:, 1:] / (1 - level[1:] ** 2 / (level @ level))).max(axis=1)
        share = np.maximum((new.sum(axis=1) - jump) / squares, _LEAST_SHARE)
        misfits.append(count * np.log(share) - np.log(1 - kept**2))
    lowest: _Array = np.min(misfits, axis=0)
    return lowest


# All series of a length are divided in the same ways.
@lru_cache(maxsize=8)
def _parts(count: int, most: int) -> tuple[_Places, _Places]:
    """Return begins and ends of the parts that may have a level of their own; those that end the series begin it."""
    places = np.arange(LEAST_PART, count - LEAST_PART + 1)
    if len(places) > 2 * most:
        near = np.unique(np.geomspace(LEAST_PART, count / 2, most).round().astype(np.int64))
        places = np.unique([*near, *(count - near)])
    begin, end = np.meshgrid([0, *places], places, indexing="ij")
    fits = (end - begin >= LEAST_PART) & ((begin == 0) | (begin >= LEAST_PART))
    return begin[fits], end[fits]


def _place(part: _Array) -> int:
    """Return where the change of a part is that has one; of a change and its end, where both fit best alone."""
    apart = _draw_in(part[None, :])
    apart -= apart.mean()
    begin, end = _parts(len(part), len(part))
    _, best = _best_part(apart, (apart * apart).sum(axis=1), begin, end)
    count, sums = len(part), apart[0].cumsum()
    edges = [int(edge[best[0]]) for edge in (begin, end)]
    return max((each for each in edges if each), key=lambda at: float(sums[at - 1]) ** 2 / (at * (count - at)))


def _early_step(series: _Array, changes: Sequence[ChangePoint]) -> EarlyStep | None:
    """Return a step among the last values that would be a change of independent ones, but is not sure yet."""
    begin = changes[-1].at if changes else max(0, len(series) - MOST_VALUES)
    part = series[begin:]
    if len(part) < 2 * LEAST_PART or not np.ptp(part) > 0:
        return None
    seen, at = weigh(part, SIGNIFICANCE), _place(part)
    late = at >= max(len(part) - LATE, len(part) / 2)
    if not late or seen.correlation >= ALIKE or seen.p <= SIGNIFICANCE or seen.p_independent > EARLY:
        return None

    def is_sure(more: int) -> bool:
        grown = np.concatenate([part, np.resize(part[at:], more)])
        return weigh(grown, SIGNIFICANCE).p <= SIGNIFICANCE

    more = 1 + bisect_left(range(1, MOST_MORE + 1), True, key=is_sure)
    before, after = float(np.median(part[:at])), float(np.median(part[at:]))
    return EarlyStep(begin + at, before, after, more if more <= MOST_MORE else None)
