"""Means with their 95 % confidence intervals: over repeats, and within one run whose seconds depend on each other.

Student's t for the mean of n independent values: mean ± t(0.975, n − 1) · s / √n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

CONFIDENCE = 0.95
# With five values the interval, meant to hold the truth in 95 cases of 100, does so in 97 when they are independent and
# in 88 when neighbours correlate by 0.5 (with twenty: 96 and 92), by simulation; with fewer it says nothing.
MIN_SERIES = 5
# A run that drifts, swings slowly or is short (five seconds are worth three values at most) has so few independent
# values that Student's t is beyond 3.2 and the spread itself a guess: the interval would say nothing.
MIN_EFFECTIVE = 4.0


class Basis(StrEnum):
    """What an interval rests on. WITHIN_RUN does not hold what differs from run to run, and so is the narrower."""

    REPEATS = "repeats"
    WITHIN_RUN = "within one run"
    NONE = "none"


@dataclass(frozen=True)
class Estimate:
    """A mean and how well it is known, in the figure's own unit.

    The 95 % interval is ``mean`` ± ``half_width``. ``n`` is the number of runs behind the mean, ``sd`` the standard
    deviation between them. What is not known is None, and ``why`` tells the reason.
    """

    mean: float | None
    half_width: float | None = None
    n: int = 0
    sd: float | None = None
    basis: Basis = Basis.NONE
    why: str = ""

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        return None if self.mean is None or self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""
        return None if self.mean is None or self.half_width is None else self.mean + self.half_width


def t_quantile(degrees: float, share: float = 0.5 + CONFIDENCE / 2) -> float:
    """The value that Student's t with ``degrees`` degrees of freedom does not exceed with probability ``share``."""
    # Here, since it would take a third of the time in which every command starts.
    from scipy.special import stdtrit  # noqa: PLC0415

    return float(stdtrit(degrees, share))


def of_repeats(values: Sequence[float]) -> Estimate:
    """Mean of independent runs; no interval for fewer than two."""
    if not values:
        return Estimate(None, why="no run gave this figure")
    mean = float(np.mean(values))
    if len(values) == 1:
        return Estimate(mean, n=1, why="one run does not tell how much runs differ")
    sd = float(np.std(values, ddof=1))
    half = t_quantile(len(values) - 1) * sd / math.sqrt(len(values))
    return Estimate(mean, half, len(values), sd, Basis.REPEATS)


def effective_size(values: Sequence[float]) -> float:
    """How many independent values a series of n is worth: n (1 − ρ) / (1 + ρ), at most n.

    That is the size for an autoregressive series of first order (Bayley and Hammersley, 1946). ρ is the lag-1
    autocorrelation, corrected for its bias in short series, ρ + (1 + 4ρ) / n (Marriott and Pope, 1954); a negative
    one counts as 0, so that the interval never becomes narrower by it.
    """
    series = np.asarray(values, dtype=float) - float(np.mean(values))
    n, total = len(series), float(np.dot(series, series))
    if total <= 0:
        return float(n)
    rho = float(np.dot(series[:-1], series[1:])) / total
    rho = min(max(rho + (1 + 4 * rho) / n, 0.0), 0.99)
    return n * (1 - rho) / (1 + rho)


def relative_half_width(values: Sequence[float]) -> float | None:
    """Half the width of the interval of a series' mean, as a share of that mean; None with too little data.

    The values are those of equal, consecutive parts of one run; that neighbours depend on each other is allowed for
    by `effective_size`, in the standard error and in the degrees of freedom.
    """
    if len(values) < MIN_SERIES:
        return None
    mean = float(np.mean(values))
    if mean <= 0:
        return None
    size = effective_size(values)
    if size < MIN_EFFECTIVE:
        return None
    return t_quantile(size - 1) * float(np.std(values, ddof=1)) / math.sqrt(size) / mean
