"""Whether two estimates of one figure differ, by how much, and how many repeats it would take to tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from openslob.metrics import Better

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


# The difference that a comparison should be able to show: smaller ones seldom decide anything about a platform.
DETECT_PCT = 5.0
# The usual choice: such a difference is found in four comparisons of five.
POWER = 0.8
# More repeats than this nobody makes; the noise has to be lowered instead.
MOST_REPEATS = 1000


class Outcome(StrEnum):
    """What a comparison says of a figure. DIFFERENT is for figures of which neither more nor less is better."""

    BETTER = "better"
    WORSE = "worse"
    DIFFERENT = "different"
    NOT_SHOWN = "no difference shown"
    NOT_ENOUGH = "not enough data"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Difference:
    """B less A for one figure: in its unit and in % of A's mean, each with its 95 % interval's ends.

    What is not known is None; ``why`` says what the outcome rests on or why there is none. ``repeats_needed`` is how
    many runs a side would show a difference of `DETECT_PCT`, None when the spread between runs is not known.
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
    """What can be said of one figure at one point.

    With repeats by Welch's t test (Welch, 1947), Student's with equal variances when one side is a single run. Two
    single runs are held against the spread within them: inside it no difference is shown; beyond it there is not
    enough data, because one run each does not tell how much runs differ from each other.
    """
    if a.mean is None or b.mean is None:
        return Difference(figure, unit, a, b, Outcome.UNKNOWN, why=a.why or b.why)
    change, half = b.mean - a.mean, _half_width(a, b)
    low, high = (None, None) if half is None else (change - half, change + half)
    per = 100 / abs(a.mean) if a.mean else None
    pct, pct_low, pct_high = (None if per is None or x is None else x * per for x in (change, low, high))
    outcome, why = _outcome(change, half, better, min(a.n, b.n) == 1 == max(a.n, b.n))
    needed = repeats_needed(_spread(a, b))
    return Difference(figure, unit, a, b, outcome, change, low, high, pct, pct_low, pct_high, needed, why)


def mean_difference(figure: str, unit: str, better: Better, pairs: Sequence[Difference]) -> Difference:
    """The mean relative difference over several points, by Student's t test of the logarithms of B / A.

    Each point counts once, whatever its number of repeats; points where the figure is unknown or 0 are left out.
    """
    known = [(one.a.mean, one.b.mean) for one in pairs if (one.a.mean or 0) > 0 and (one.b.mean or 0) > 0]
    nothing = Estimate(None, why="a mean over several points has no value of its own")
    if len(known) < 2:
        return Difference(figure, unit, nothing, nothing, Outcome.UNKNOWN, why="fewer than two points give this figure")
    logs = np.log([b / a for a, b in known if a is not None and b is not None])
    mean, sd = float(logs.mean()), float(logs.std(ddof=1))
    half = t_quantile(len(logs) - 1) * sd / math.sqrt(len(logs))
    outcome, _ = _outcome(mean, half, better, False)
    pct, low, high = (100 * math.expm1(x) for x in (mean, mean - half, mean + half))
    why = f"mean of {len(logs)} points"
    return Difference(figure, unit, nothing, nothing, outcome, pct=pct, pct_low=low, pct_high=high, why=why)


def repeats_needed(spread: float | None) -> int | None:
    """Runs a side that show a difference of `DETECT_PCT` at 95 % with probability `POWER`; at least 2.

    ``spread`` is the standard deviation between runs as a share of the mean. The least n with
    n ≥ 2 ((t(0.975) + t(power)) · spread / difference)², t with 2n − 2 degrees of freedom (Snedecor and Cochran).
    None for an unknown spread; `MOST_REPEATS` stands for that many or more.
    """
    if spread is None:
        return None
    ratio = spread / (DETECT_PCT / 100)
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
    """Half width from the variances of the two means; degrees of freedom by Welch and Satterthwaite."""
    total = var_a + var_b
    if total <= 0:
        return 0.0
    degrees = total**2 / (var_a**2 / (n_a - 1) + var_b**2 / (n_b - 1))
    return t_quantile(degrees) * math.sqrt(total)


def _spread(a: Estimate, b: Estimate) -> float | None:
    """Pooled standard deviation between runs, as a share of the mean."""
    known = [(one.sd / abs(one.mean), one.n - 1) for one in (a, b) if one.sd is not None and one.mean]
    degrees = sum(weight for _, weight in known)
    return math.sqrt(sum(cv**2 * weight for cv, weight in known) / degrees) if degrees else None


def _outcome(change: float, half: float | None, better: Better, single: bool) -> tuple[Outcome, str]:
    if half is None:
        return Outcome.NOT_ENOUGH, "one run each, and no spread within them is known: repeat the runs"
    if abs(change) <= half:
        return Outcome.NOT_SHOWN, "within the spread inside each run" if single else ""
    if single:
        return Outcome.NOT_ENOUGH, "beyond the spread inside each run, but one run each does not tell how runs differ"
    if better is Better.NEITHER:
        return Outcome.DIFFERENT, ""
    return (Outcome.BETTER if (change > 0) == (better is Better.MORE) else Outcome.WORSE), ""
