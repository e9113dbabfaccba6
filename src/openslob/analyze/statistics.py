"""Estimates with confidence intervals, differences between them, and the number of repeats that shows a difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from openslob.metrics import Better

CONFIDENCE = 0.95
# With five values the 95 % interval contains the true mean in 97 % of simulated series of independent values and in
# 88 % of series with a correlation of 0.5 between neighbours (with twenty values: 96 % and 92 %).
MIN_SERIES = 5
# A run that drifts, oscillates slowly or is short has few independent values (five seconds are worth at most three).
# Below four, Student's t exceeds 3.2 and the spread itself is a guess: the interval would say nothing.
MIN_EFFECTIVE = 4.0

# The difference that a comparison should be able to show: smaller ones seldom matter for the choice of a platform.
DETECT_PCT = 5.0
# The usual choice of statistical power: four comparisons of five find such a difference.
POWER = 0.8
# More repeats than this are impracticable: the noise must be reduced instead.
MOST_REPEATS = 1000


class Basis(StrEnum):
    """The data behind an interval. WITHIN_RUN does not include differences between runs, so it is too narrow."""

    REPEATS = "repeats"
    WITHIN_RUN = "within one run"
    NONE = "none"


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval, in the figure's own unit.

    The interval is ``mean`` ± ``half_width``. ``n`` is the number of runs behind the mean, ``sd`` the standard
    deviation between them. Unknown values are None, and ``why`` gives the reason.
    """

    mean: float | None
    half_width: float | None = None
    n: int = 0
    sd: float | None = None
    basis: Basis = Basis.NONE
    why: str = ""

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return None if self.mean is None or self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return None if self.mean is None or self.half_width is None else self.mean + self.half_width


def t_quantile(degrees: float, share: float = 0.5 + CONFIDENCE / 2) -> float:
    """Return the quantile ``share`` of Student's t distribution with ``degrees`` degrees of freedom."""
    # Imported here because the import takes a third of the start-up time of a command.
    from scipy.special import stdtrit  # noqa: PLC0415

    return float(stdtrit(degrees, share))


def of_repeats(values: Sequence[float]) -> Estimate:
    """Return the mean of independent runs, with an interval for two or more."""
    if not values:
        return Estimate(None, why="no run has this figure")
    mean = float(np.mean(values))
    if len(values) == 1:
        return Estimate(mean, n=1, why="one run does not show how much runs differ")
    sd = float(np.std(values, ddof=1))
    half = t_quantile(len(values) - 1) * sd / math.sqrt(len(values))
    return Estimate(mean, half, len(values), sd, Basis.REPEATS)


def effective_size(values: Sequence[float]) -> float:
    """Return the effective sample size of a series of n values: n (1 − ρ) / (1 + ρ), at most n.

    That is the size for an autoregressive series of first order (Bayley and Hammersley, 1946). ρ is the lag-1
    autocorrelation with its bias in short series corrected, ρ + (1 + 4ρ) / n (Marriott and Pope, 1954). A negative ρ
    counts as 0, so that it never makes an interval narrower.
    """
    series = np.asarray(values, dtype=float) - float(np.mean(values))
    n, total = len(series), float(np.dot(series, series))
    if total <= 0:
        return float(n)
    rho = float(np.dot(series[:-1], series[1:])) / total
    rho = min(max(rho + (1 + 4 * rho) / n, 0.0), 0.99)
    return n * (1 - rho) / (1 + rho)


def relative_half_width(values: Sequence[float]) -> float | None:
    """Return half the width of the interval of a series' mean, as a share of the mean; None with too few data.

    The values are those of equal, consecutive parts of one run. Their autocorrelation is accounted for by
    `effective_size`, in the standard error and in the degrees of freedom.
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


class Outcome(StrEnum):
    """The result of a comparison for a figure. DIFFERENT is for figures of which neither more nor less is better."""

    BETTER = "better"
    WORSE = "worse"
    DIFFERENT = "different"
    NOT_SHOWN = "no difference shown"
    NOT_ENOUGH = "not enough data"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Difference:
    """The difference B − A of one figure, in its unit and in % of A's mean, each with the ends of its 95 % interval.

    Unknown values are None; ``why`` gives the basis of the outcome, or the reason why there is none.
    ``repeats_needed`` is the number of runs on each side that would show a difference of `DETECT_PCT`, None when the
    spread between runs is not known.
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


def difference(figure: str, unit: str, better: Better, a: Estimate, b: Estimate) -> Difference:
    """Return the difference between two estimates of one figure at one point.

    Repeats are compared by Welch's t test (Welch, 1947), or by Student's with equal variances when one side is a single
    run. Two single runs are compared with the spread within them: inside it no difference is shown; beyond it the data
    are not enough, because one run on each side does not show how much runs differ from each other.
    """
    if a.mean is None or b.mean is None:
        return Difference(figure, unit, a, b, Outcome.UNKNOWN, why=a.why or b.why)
    change, half = b.mean - a.mean, _half_width(a, b)
    low, high = (None, None) if half is None else (change - half, change + half)
    per = 100 / abs(a.mean) if a.mean else None
    pct, pct_low, pct_high = (None if per is None or x is None else x * per for x in (change, low, high))
    outcome, why = _outcome(change, half, better, min(a.n, b.n) == 1 == max(a.n, b.n))
    needed = repeats_needed(spread_between_runs(a, b))
    return Difference(figure, unit, a, b, outcome, change, low, high, pct, pct_low, pct_high, needed, why)


def mean_difference(figure: str, unit: str, better: Better, pairs: Sequence[Difference]) -> Difference:
    """Return the mean relative difference over several points, by Student's t test of the logarithms of B / A.

    Each point counts once, whatever its number of repeats; points where the figure is unknown or 0 are left out.
    """
    known = [(pair.a.mean, pair.b.mean) for pair in pairs if (pair.a.mean or 0) > 0 and (pair.b.mean or 0) > 0]
    no_value = Estimate(None, why="the mean over several points is a change, not a value")
    if len(known) < 2:
        return Difference(
            figure, unit, no_value, no_value, Outcome.UNKNOWN, why="fewer than two points have this figure"
        )
    logs = np.log([b / a for a, b in known if a is not None and b is not None])
    mean, sd = float(logs.mean()), float(logs.std(ddof=1))
    half = t_quantile(len(logs) - 1) * sd / math.sqrt(len(logs))
    outcome, _ = _outcome(mean, half, better, False)
    pct, low, high = (100 * math.expm1(x) for x in (mean, mean - half, mean + half))
    why = f"mean of {len(logs)} points"
    return Difference(figure, unit, no_value, no_value, outcome, pct=pct, pct_low=low, pct_high=high, why=why)


def repeats_needed(spread: float | None, detect_pct: float = DETECT_PCT) -> int | None:
    """Return the number of runs on each side that show a difference of ``detect_pct`` with probability `POWER`.

    ``spread`` is the standard deviation between runs as a share of the mean; None when it is unknown. The result
    is None then, and otherwise the smallest n ≥ 2 with n ≥ 2 ((t(0.975) + t(power)) · spread / difference)², where t
    has 2n − 2 degrees of freedom (Snedecor and Cochran); `MOST_REPEATS` stands for that many or more.
    """
    if spread is None:
        return None
    ratio = spread / (detect_pct / 100)
    for n in range(2, MOST_REPEATS):
        if n >= 2 * ((t_quantile(2 * n - 2) + t_quantile(2 * n - 2, POWER)) * ratio) ** 2:
            return n
    return MOST_REPEATS


def _half_width(a: Estimate, b: Estimate) -> float | None:
    if a.sd is not None and b.sd is not None:
        return _welch(a.sd**2 / a.n, a.n, b.sd**2 / b.n, b.n)
    repeated = a if a.sd is not None else b
    if repeated.sd is not None:
        return t_quantile(repeated.n - 1) * repeated.sd * math.sqrt(1 / repeated.n + 1)
    if Basis.NONE in (a.basis, b.basis) or a.half_width is None or b.half_width is None:
        return None
    return math.hypot(a.half_width, b.half_width)


def _welch(var_a: float, n_a: int, var_b: float, n_b: int) -> float:
    """Return the half width from the variances of the two means; degrees of freedom by Welch and Satterthwaite."""
    total = var_a + var_b
    if total <= 0:
        return 0.0
    degrees = total**2 / (var_a**2 / (n_a - 1) + var_b**2 / (n_b - 1))
    return t_quantile(degrees) * math.sqrt(total)


def spread_between_runs(a: Estimate, b: Estimate) -> float | None:
    """Return the pooled standard deviation between runs, as a share of the mean; None when it is unknown."""
    known = [
        (estimate.sd / abs(estimate.mean), estimate.n - 1)
        for estimate in (a, b)
        if estimate.sd is not None and estimate.mean
    ]
    degrees = sum(weight for _, weight in known)
    return math.sqrt(sum(cv**2 * weight for cv, weight in known) / degrees) if degrees else None


def _outcome(change: float, half: float | None, better: Better, single: bool) -> tuple[Outcome, str]:
    if half is None:
        return Outcome.NOT_ENOUGH, "one run each, and no spread within them is known: repeat the runs"
    if abs(change) <= half:
        return Outcome.NOT_SHOWN, "within the spread inside each run" if single else ""
    if single:
        return Outcome.NOT_ENOUGH, "beyond the spread inside each run, but one run each does not show how runs differ"
    if better is Better.NEITHER:
        return Outcome.DIFFERENT, ""
    return (Outcome.BETTER if (change > 0) == (better is Better.MORE) else Outcome.WORSE), ""
