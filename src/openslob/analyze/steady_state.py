"""Steady state and spread: judgements on a series of (time, value), numbers in and numbers out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openslob.measurement import TimelinePoint

RatePoint = tuple[float, float]
_Array = NDArray[np.float64]

# Ten points leave eight degrees of freedom beside the line: with fewer, a trend can't be told from chance.
MIN_STEADY_POINTS = 10
# Half of what two runs on a quiet machine may differ by: a smaller drift can't be what a comparison shows.
MAX_DRIFT_PCT = 2.0
# A drift within two standard errors of the line is what chance gives in 19 series of 20 that do not drift.
DRIFT_ERRORS = 2.0
# Beyond it the mean over the window depends on which seconds were taken.
MAX_SPREAD_PCT = 5.0
# The spread of five windows is itself known within a factor of about two; with fewer it says nothing.
MIN_WINDOWS = 5
# Ten windows average over the second-to-second jitter and still show a disturbance of a tenth of the run.
WINDOWS = 10
# Independent operations spread by 1/√n by chance: 5 % at 400, so that a point with fewer shows its own grain.
MIN_OPS_PER_POINT = 400


@dataclass(frozen=True)
class SuffixFits:
    """Straight lines through every suffix of a series: drift over it, its error, and the spread, in % of the mean."""

    drift: _Array
    error: _Array
    spread: _Array


def rate_points(timeline: Sequence[TimelinePoint], at_least: float = MIN_OPS_PER_POINT) -> list[RatePoint]:
    """Operations per second by start time, neighbours merged until a point holds ``at_least`` operations on average.

    A last point shorter than half the others is a sliver and left out, and so is what does not fill a merged point.
    """
    whole = _without_sliver(timeline)
    ops = sum(point.ops for point in whole)
    if ops <= 0:
        return []
    merged = math.ceil(at_least * len(whole) / ops)
    groups = [whole[first : first + merged] for first in range(0, len(whole) - merged + 1, merged)]
    return [_rate(group) for group in groups]


def steady_since(points: Sequence[RatePoint]) -> float | None:
    """Time from which the series is steady until its end; None when it is not, or has too few points to tell.

    It is the time of the first point of the longest suffix of at least `MIN_STEADY_POINTS` points whose straight
    line rises or falls over the whole suffix by no more than `MAX_DRIFT_PCT` of the mean, or no more than
    `DRIFT_ERRORS` standard errors of that line, and around which the points spread (coefficient of variation) by no
    more than `MAX_SPREAD_PCT`.
    """
    if len(points) < MIN_STEADY_POINTS:
        return None
    fits = _suffix_fits(points)
    allowed = np.maximum(MAX_DRIFT_PCT, DRIFT_ERRORS * fits.error)
    steady = (np.abs(fits.drift) <= allowed) & (fits.spread <= MAX_SPREAD_PCT)
    starts = np.flatnonzero(steady[: len(points) - MIN_STEADY_POINTS + 1])
    return points[int(starts[0])][0] if len(starts) else None


def drift_pct(points: Sequence[RatePoint]) -> float | None:
    """Rise of the straight line over the whole series, in % of the mean; None with too few points."""
    if len(points) < MIN_STEADY_POINTS:
        return None
    drift = float(_suffix_fits(points).drift[0])
    return drift if math.isfinite(drift) else None


def spread(points: Sequence[RatePoint]) -> float | None:
    """Coefficient of variation between equal windows after removing the trend, in %; None with too few points.

    The series is cut into `WINDOWS` windows of equally many points, or its points are the windows when they are
    fewer; the first points are left out where they do not come out even.
    """
    count = min(WINDOWS, len(points))
    if count < MIN_WINDOWS:
        return None
    each = len(points) // count
    used = np.asarray(points[len(points) - each * count :], dtype=float).reshape(count, each, 2).mean(axis=1)
    value = float(_suffix_fits([(at, rate) for at, rate in used.tolist()]).spread[0])
    return value if math.isfinite(value) else None


def _suffix_fits(points: Sequence[RatePoint]) -> SuffixFits:
    """Least-squares lines through ``points[i:]`` for every i, from running sums, so that long runs stay cheap."""
    series = np.asarray(points, dtype=float)
    scale = float(series[:, 1].mean())
    with np.errstate(divide="ignore", invalid="ignore"):
        # Centred and scaled first: sums of squares of raw values would cancel away what is looked for.
        t = series[:, 0] - series[:, 0].mean()
        y = series[:, 1] / scale - 1
        n = np.arange(len(points), 0, -1)
        st, sy, stt, sty, syy = (np.cumsum(x[::-1])[::-1] for x in (t, y, t * t, t * y, y * y))
        var_t, cov, var_y = stt - st * st / n, sty - st * sy / n, syy - sy * sy / n
        slope = cov / var_t
        residual = np.sqrt(np.clip(var_y - slope * cov, 0, None) / (n - 2))
        percent = 100 / (sy / n + 1)
        length = t[-1] - t
        return SuffixFits(slope * length * percent, residual / np.sqrt(var_t) * length * percent, residual * percent)


def _without_sliver(timeline: Sequence[TimelinePoint]) -> list[TimelinePoint]:
    points = [point for point in timeline if point.seconds > 0]
    if len(points) > 1 and points[-1].seconds < 0.5 * float(np.median([point.seconds for point in points])):
        points.pop()
    return points


def _rate(group: Sequence[TimelinePoint]) -> RatePoint:
    seconds = sum(point.seconds for point in group)
    return group[0].at_s - group[0].seconds, sum(point.ops for point in group) / seconds
