"""Change points of a series: where its values began to be others than before.

The method is E-divisive, by D. S. Matteson and N. A. James, "A Nonparametric Approach for Multiple Change Point
Analysis of Multivariate Data", Journal of the American Statistical Association 109 (2014), 334–345. It compares the
distances between values of two neighbouring parts of the series with those within each part, and assumes nothing of
their distribution but that values without a change are exchangeable. Whether a change is one, a permutation test says:
the share of random orders of the same values that look at least as changed. The random orders come from a fixed seed,
so the same series has the same change points.

Runs one after the other are rarely independent: what is slow now mostly still is a quarter of an hour later. The test
would take that for a change. So it is made on the series without what each value keeps of the one before it, as
M. Robbins, C. Gallagher, R. Lund and A. Aue advise in "Mean Shift Testing in Correlated Data", Journal of Time Series
Analysis 32 (2011), 498–511. `bench/change_points.py` counts false alarms, and how often a change is found and placed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]

# A change is reported when fewer than 1 in 100 random orders look so changed: a series of days has many points.
SIGNIFICANCE = 0.01
PERMUTATIONS = 199
# Two values may be alike by chance: a part of the series has at least so many.
LEAST_PART = 3
# Of values that keep more of the one before, hardly anything would be left to compare.
MOST_CORRELATED = 0.9
# A longer series is compared in groups of neighbours: the work grows with the square of the number of values.
MOST_VALUES = 200


@dataclass(frozen=True)
class ChangePoint:
    """A change before value number ``at``, from 0: the medians of the parts before and after, ``p`` the probability.

    ``p`` is that of a series without a change to look so changed.
    """

    at: int
    before: float
    after: float
    p: float

    @property
    def change_pct(self) -> float:
        """The change in % of the value before."""
        return 100 * (self.after - self.before) / self.before if self.before else float("nan")


def change_points(
    values: Sequence[float], significance: float = SIGNIFICANCE, least: int = LEAST_PART
) -> list[ChangePoint]:
    """Return the change points of a series of known values, in their order.

    Args:
        values: the series; unknown values must be left out.
        significance: the highest ``p`` of a change that is reported.
        least: the fewest values between two change points.

    """
    series = np.asarray(values, dtype=np.float64)
    group = _group(len(series))
    merged = series[: len(series) // group * group].reshape(-1, group).mean(axis=1)
    found = sorted(_divide(merged, 0, significance, max(least, 2), np.random.default_rng(1)))
    return _with_levels(series, [(at * group, p) for at, p in found])


def change_points_to_the_last(values: Sequence[float]) -> list[ChangePoint]:
    """Return the change points of a series that grows, in their order: a late one shows at once, however long it is.

    Of a series of more than `MOST_VALUES` values, so many at its end are also compared one by one.
    """
    found, begin = [(each.at, each.p) for each in change_points(values)], len(values) - MOST_VALUES
    if begin > 0:
        late = [(begin + each.at, each.p) for each in change_points(values[begin:])]
        # What both have found has its place by single values.
        near = LEAST_PART * _group(len(values))
        found = sorted([*(each for each in found if all(abs(each[0] - at) > near for at, _ in late)), *late])
    return _with_levels(np.asarray(values, dtype=np.float64), found)


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


def _divide(
    part: _Array, offset: int, significance: float, least: int, random: np.random.Generator
) -> Iterator[tuple[int, float]]:
    """Yield number and probability of the changes within a part of the series: that of the part, then of its parts."""
    if len(part) < 2 * least:
        return
    kept = correlation(part, least)
    tested = _distances(part[1:] - kept * part[:-1] if kept > 0 else part)
    if len(tested) < 2 * least:
        return
    p = _probability(tested, largest_difference(tested, least)[0], significance, least, random)
    if p > significance:
        return
    # What a value keeps of the one before it blurs a change: its place is that in the series itself.
    at = largest_difference(_distances(part), least)[1]
    yield offset + at, p
    yield from _divide(part[:at], offset, significance, least, random)
    yield from _divide(part[at:], offset + at, significance, least, random)


def correlation(part: _Array, least: int = LEAST_PART) -> float:
    """Return the correlation of neighbours, without the change and its end that stand out most; 0 if it is negative.

    Each mean that is taken away lowers the correlation of the rest by about (1 + 2 ρ) / n, which is added again (for
    one mean, see F. H. C. Marriott and J. A. Pope, "Bias in the Estimation of Autocorrelations", Biometrika 41, 1954).
    """
    edges = sorted({0, *_outstanding(part, least), len(part)})
    rest = np.concatenate([part[begin:end] - part[begin:end].mean() for begin, end in pairwise(edges)])
    squares = float((rest * rest).sum())
    if not squares > 0:
        return 0.0
    found = float((rest[1:] * rest[:-1]).sum()) / squares
    return min(max(found + (len(edges) - 1) * (1 + 2 * found) / len(part), 0.0), MOST_CORRELATED)


def _outstanding(part: _Array, least: int) -> tuple[int, int]:
    """Return begin and end of the values whose mean differs most from that of all others, by least squares."""
    count = len(part)
    sums = np.concatenate([[0.0], np.cumsum(part - part.mean())])
    begin, end = np.meshgrid(np.arange(count + 1), np.arange(count + 1), indexing="ij")
    inside = (end - begin).astype(np.float64)
    fits = (inside >= least) & (count - inside >= least)
    fits &= ((begin == 0) | (begin >= least)) & ((end == count) | (count - end >= least))
    gained = np.where(fits, (sums[end] - sums[begin]) ** 2 / np.maximum(inside * (count - inside), 1.0), -1.0)
    best = int(gained.argmax())
    return int(begin.flat[best]), int(end.flat[best])


def _distances(values: _Array) -> _Array:
    return np.abs(values[:, None] - values[None, :])


def _probability(
    distances: _Array, statistic: float, significance: float, least: int, random: np.random.Generator
) -> float:
    """Return the share of random orders that look at least so changed; of an ordinary series, some orders tell."""
    enough = significance * (PERMUTATIONS + 1)
    higher = 1
    for done in range(1, PERMUTATIONS + 1):
        order = random.permutation(len(distances))
        higher += largest_difference(distances[np.ix_(order, order)], least)[0] >= statistic
        if higher > enough:
            return higher / (done + 1)
    return higher / (PERMUTATIONS + 1)


@dataclass(frozen=True)
class _Splits:
    """All pairs of neighbouring parts of a series, and what the difference of each pair is divided by and scaled with.

    The first part begins with the series and ends before ``at``; the second may end before the series, at ``end``, so
    that a change and its end do not hide each other. ``place`` is where the sum of distances up to both is.
    """

    at: NDArray[np.int64]
    end: NDArray[np.int64]
    place: NDArray[np.int64]
    between: _Array
    within_first: _Array
    within_second: _Array
    scale: _Array


# All random orders of a series are split in the same ways.
@lru_cache(maxsize=2)
def _splits(count: int, least: int) -> _Splits:
    at, end = np.meshgrid(np.arange(least, count - least + 1), np.arange(2 * least, count + 1), indexing="ij")
    fits = end - at >= least
    at, end = at[fits], end[fits]
    first, second = at.astype(np.float64), (end - at).astype(np.float64)
    both = first * second
    return _Splits(
        at, end, at * (count + 1) + end, both, first * (first - 1), second * (second - 1), both / (first + second)
    )


def largest_difference(distances: _Array, least: int) -> tuple[float, int]:
    """Return the largest scaled difference of two neighbouring parts, and where the second begins."""
    count = len(distances)
    split = _splits(count, least)
    sums = np.zeros((count + 1, count + 1))
    np.cumsum(distances.cumsum(axis=0), axis=1, out=sums[1:, 1:])
    within = np.diagonal(sums)
    to_both, to_first = sums.ravel()[split.place], within[split.at]
    # Of the square of all distances up to `end`, what is left without those within each part, halved.
    inside_second = within[split.end] - 2 * to_both + to_first
    energy = (
        2 * (to_both - to_first) / split.between - to_first / split.within_first - inside_second / split.within_second
    )
    scaled = split.scale * energy
    best = int(scaled.argmax())
    return float(scaled[best]), int(split.at[best])
