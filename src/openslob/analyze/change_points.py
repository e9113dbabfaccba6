"""Change points of a series: where its values began to be others than before.

The method is E-divisive, by D. S. Matteson and N. A. James, "A Nonparametric Approach for Multiple Change Point
Analysis of Multivariate Data", Journal of the American Statistical Association 109 (2014), 334–345. It compares the
distances between values of two neighbouring parts of the series with those within each part, and assumes nothing of
their distribution but that values without a change are exchangeable. Whether a change is one, a permutation test says:
the share of random orders of the same values that look at least as changed. The random orders come from a fixed seed,
so the same series has the same change points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]

# A change is reported when fewer than 1 in 100 random orders look so changed: a series of days has many points.
SIGNIFICANCE = 0.01
PERMUTATIONS = 199
# Two values may be alike by chance: a part of the series has at least so many.
LEAST_PART = 3
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
    group = -(-len(series) // MOST_VALUES) or 1
    merged = series[: len(series) // group * group].reshape(-1, group).mean(axis=1)
    found = sorted(_divided(merged, 0, significance, max(least, 2), np.random.default_rng(1)))
    edges = [0, *(at * group for at, _ in found), len(series)]
    medians = [float(np.median(series[begin:end])) for begin, end in pairwise(edges)] if len(series) else []
    return [
        ChangePoint(at * group, before, after, p)
        for (at, p), (before, after) in zip(found, pairwise(medians), strict=True)
    ]


def _divided(
    part: _Array, offset: int, significance: float, least: int, random: np.random.Generator
) -> Iterator[tuple[int, float]]:
    """Yield number and probability of the changes within a part of the series: that of the part, then of its parts."""
    if len(part) < 2 * least:
        return
    distances = np.abs(part[:, None] - part[None, :])
    statistic, at = _best(distances, least)
    p = _probability(distances, statistic, significance, least, random)
    if p > significance:
        return
    yield offset + at, p
    yield from _divided(part[:at], offset, significance, least, random)
    yield from _divided(part[at:], offset + at, significance, least, random)


def _probability(
    distances: _Array, statistic: float, significance: float, least: int, random: np.random.Generator
) -> float:
    """Return the share of random orders that look at least so changed; of an ordinary series, some orders tell."""
    enough = significance * (PERMUTATIONS + 1)
    higher = 1
    for done in range(1, PERMUTATIONS + 1):
        order = random.permutation(len(distances))
        higher += _best(distances[np.ix_(order, order)], least)[0] >= statistic
        if higher > enough:
            return higher / (done + 1)
    return higher / (PERMUTATIONS + 1)


def _best(distances: _Array, least: int) -> tuple[float, int]:
    """Return the largest scaled difference of two neighbouring parts, and where the second begins.

    The first part begins with the series; the second may end before it, so that a change and its end do not hide each
    other.
    """
    count = len(distances)
    sums = np.zeros((count + 1, count + 1))
    sums[1:, 1:] = distances.cumsum(axis=0).cumsum(axis=1)
    within = np.diagonal(sums)
    at, end = np.meshgrid(np.arange(least, count - least + 1), np.arange(2 * least, count + 1), indexing="ij")
    first, second = at.astype(np.float64), (end - at).astype(np.float64)
    fits = second >= least
    second = np.where(fits, second, 2.0)
    # Of the square of all distances up to `end`, what is left without those within each part, halved.
    inside_second = within[end] - 2 * sums[at, end] + within[at]
    between = sums[at, end] - within[at]
    energy = (
        2 * between / (first * second) - within[at] / (first * (first - 1)) - inside_second / (second * (second - 1))
    )
    scaled = np.where(fits, first * second / (first + second) * energy, -np.inf)
    best = int(scaled.argmax())
    return float(scaled.flat[best]), int(at.flat[best])
