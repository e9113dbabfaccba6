"""Whether two estimates of one figure differ, by how much, and how many repeats it would take to tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from openslob.analyze.intervals import Basis, Estimate, t_quantile
from openslob.metrics import Better

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
