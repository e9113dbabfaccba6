"""Comparing in pairs until it is decided: intervals that hold at 95 % although they are looked at after every pair.

A plain 95 % interval that is looked at after each pair from the sixth to the fiftieth excludes the truth at some time
in 27 of 100 series. Here the error of 5 % is spent bit by bit over the time that the comparison may take, so that all
looks together err in 5 %: K. K. G. Lan and D. L. DeMets, "Discrete sequential boundaries for clinical trials",
Biometrika 70, 1983; by calendar time, since how many pairs there will be is not known: the same, "Group sequential
procedures: calendar versus information time", Statistics in Medicine 8, 1989. After the share t of the time, 4.5 % · t²
may be spent: K. Kim and D. L. DeMets, "Design and analysis of group sequential tests based on the type I error spending
rate function", Biometrika 74, 1987. The intervals are the repeated confidence intervals of C. Jennison and B. W.
Turnbull ("Interim analyses: the repeated confidence interval approach", Journal of the Royal Statistical Society B 51,
1989).

What is looked at is Student's t of the logarithms of the pairs' ratios. Its bounds are those of simulated series of
normal noise: bounds for normal values, taken over to t by their significance, err in up to 5.8 % with few pairs. Noise
with heavier tails errs less often, and some with lighter ones a little more often, for which 0.5 % is kept back.

Of the methods that were tried on the noise of real runs (`bench/gate.py` has it), this one finds most at few pairs. A
fall of 20 % among eight pairs that vary by 16 to 18 %: found in 76 to 87 of 100 series; by Wilcoxon's signed ranks
within the same bounds in 56 to 71; by an always-valid t interval (a mixture over effects, H. Robbins 1970, T. L. Lai
1976) in 35 to 50. All three find it in each series within fifty pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from openslob.analyze.intervals import CONFIDENCE, LEAST_STARTS, Interval
from openslob.metrics import Better

# Pairs before the first look. Fewer that vary little by chance would pass for certain.
LEAST_PAIRS = LEAST_STARTS
# Simulated series. The seed is fixed, so that a record's intervals can be made again.
_SERIES, _SEED = 100_000, 1983
# The error that may be spent by then grows with this power of the time.
_POWER = 2
# Of the 5 %, a tenth is kept back: with noise of lighter tails than normal, looks err up to a tenth more often.
_ERROR = 0.9 * (1 - CONFIDENCE)


class Decision(StrEnum):
    """What a comparison comes to: B is better or worse than A, the same but for so many per cent, or none of these."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    UNDECIDED = "undecided"


class Boundary:
    """How far the mean of pairs must be from a value, in standard errors, to exclude it at a look.

    All looks together exclude a true value in 5 % of series.
    """

    def __init__(self) -> None:
        self._random = np.random.default_rng(_SEED)
        # Of the series that no look excluded yet: the sum of the values, and of their squares.
        self._sums, self._squares = np.zeros(_SERIES), np.zeros(_SERIES)
        self._pairs = 0

    def look(self, pairs: int, share: float) -> float:
        """Return the distance for a look at so many pairs, after this share of the time; infinite if it is too early.

        Looks come in the order of time.
        """
        for _ in range(pairs - self._pairs):
            new = self._random.standard_normal(len(self._sums))
            self._sums += new
            self._squares += new**2
        self._pairs = max(pairs, self._pairs)
        spent = _SERIES - len(self._sums)
        to_spend = round(_ERROR * min(share, 1.0) ** _POWER * _SERIES) - spent
        if pairs < LEAST_PAIRS or to_spend < 1:
            return math.inf
        means = self._sums / pairs
        errors = np.sqrt((self._squares / pairs - means**2) / (pairs - 1))
        distances = np.abs(means) / errors
        distance = float(np.partition(distances, -to_spend)[-to_spend])
        stays = distances < distance
        self._sums, self._squares = self._sums[stays], self._squares[stays]
        return distance


def ratio_at(pairs: Sequence[tuple[float, float]], distance: float, step: float = 0.0) -> Interval:
    """Return B / A over pairs of values above 0, with the interval of a look; without ends if it was too early.

    Values come in steps of the share ``step``, as percentiles of a histogram do: both sides may be rounded by half one.
    """
    if not pairs:
        return Interval(None, why="no pair of runs has it")
    logs = np.log([b / a for a, b in pairs])
    mean = float(logs.mean())
    if len(pairs) < LEAST_PAIRS or math.isinf(distance):
        return Interval(math.exp(mean), starts=len(pairs), runs=len(pairs), why="too few pairs")
    rounding = step * math.sqrt(2 / 12)
    half = distance * max(float(logs.std(ddof=1)) / math.sqrt(len(pairs)), rounding)
    return Interval(math.exp(mean), math.exp(mean - half), math.exp(mean + half), len(pairs), len(pairs))


def decide(ratio: Interval, within_pct: float, better: Better) -> Decision:
    """Return what an interval of B / A decides.

    SAME: all of it is within ± ``within_pct``. BETTER or WORSE: it excludes 1, and the ratio itself is farther from 1
    than that. If it excludes 1 and the ratio is nearer, a difference is certain, and whether it matters is not.
    """
    if ratio.value is None or ratio.low is None or ratio.high is None:
        return Decision.UNDECIDED
    within = within_pct / 100
    if 1 - within <= ratio.low and ratio.high <= 1 + within:
        return Decision.SAME
    if ratio.low <= 1 <= ratio.high or abs(ratio.value - 1) <= within:
        return Decision.UNDECIDED
    return Decision.BETTER if (ratio.value > 1) is (better is Better.MORE) else Decision.WORSE


def pairs_needed(pairs: Sequence[tuple[float, float]], distance: float, within_pct: float) -> int | None:
    """Return how many pairs would have an interval of ± ``within_pct``; None if it is not known how much they vary."""
    if len(pairs) < LEAST_PAIRS or math.isinf(distance):
        return None
    spread = float(np.log([b / a for a, b in pairs]).std(ddof=1))
    return max(len(pairs), math.ceil((distance * spread / math.log1p(within_pct / 100)) ** 2))
