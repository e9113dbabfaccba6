"""Steady state, drift and spread of a series of (time, value) points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openslob.analyze.verdict_registry import MAX_SPREAD_PCT
from openslob.core.measurement import TimelinePoint

RatePoint = tuple[float, float]
_Array = NDArray[np.float64]

# Ten points leave eight degrees of freedom for the line: with fewer, a trend can't be distinguished from chance.
MIN_STEADY_POINTS = 10
# Half the difference between two runs on a quiet machine: a smaller drift does not affect a comparison.
MAX_DRIFT_PCT = 2.0
# In 19 of 20 series without a drift, the fitted drift is within two standard errors by chance.
DRIFT_ERRORS = 2.0
# The spread of five windows is known within a factor of about two; with fewer windows it says nothing.
MIN_WINDOWS = 5
# Ten windows average over the jitter between seconds and still show a disturbance of a tenth of the run.
WINDOWS = 10
# Counts of independent operations spread by 1/√n: 5 % at 400. Points with fewer operations would show that noise.
MIN_OPS_PER_POINT = 400


@dataclass(frozen=True)
class SuffixFits:
    """Straight lines through every suffix of a series: drift, standard error of the drift, and spread, in % of mean."""

    drift: _Array
    error: _Array
    spread: _Array


def rate_points(timeline: Sequence[TimelinePoint]) -> list[RatePoint]:
    """Return operations per second by start time, with neighbours merged to `MIN_OPS_PER_POINT` operations on average.

    A last point shorter than half the others is left out, and so is a rest that does not fill a merged point.
    """
    whole = _without_sliver(timeline)
    ops = sum(point.ops for point in whole)
    if ops <= 0:
        return []
    merged = math.ceil(MIN_OPS_PER_POINT * len(whole) / ops)
    groups = [whole[first : first + merged] for first in range(0, len(whole) - merged + 1, merged)]
    return [_rate(group) for group in groups]


def steady_since(points: Sequence[RatePoint]) -> float | None:
    """Return the time from which the series is steady until its end; None when it is not, or has too few points.

    It is the time of the first point of the longest steady suffix with at least `MIN_STEADY_POINTS` points. A suffix is
    steady when its straight line rises or falls by no more than `MAX_DRIFT_PCT` of the mean, or by no more than
    `DRIFT_ERRORS` standard errors, and when the points spread around the line (coefficient of variation) by no more
    than `MAX_SPREAD_PCT`.
    """
    if len(points) < MIN_STEADY_POINTS:
        return None
    fits = _suffix_fits(points)
    allowed = np.maximum(MAX_DRIFT_PCT, DRIFT_ERRORS * fits.error)
    steady = (np.abs(fits.drift) <= allowed) & (fits.spread <= MAX_SPREAD_PCT)
    starts = np.flatnonzero(steady[: len(points) - MIN_STEADY_POINTS + 1])
    return points[int(starts[0])][0] if len(starts) else None


def drift_pct(points: Sequence[RatePoint]) -> float | None:
    """Return the rise of the straight line over the whole series, in % of the mean; None with too few points."""
    if len(points) < MIN_STEADY_POINTS:
        return None
    drift = float(_suffix_fits(points).drift[0])
    return drift if math.isfinite(drift) else None


def spread(points: Sequence[RatePoint]) -> float | None:
    """Return the coefficient of variation between equal windows without the trend, in %; None with too few points.

    The series is divided into `WINDOWS` windows with an equal number of points; if it has fewer points, each is a
    window. The first points are left out when the division leaves a remainder.
    """
    count = min(WINDOWS, len(points))
    if count < MIN_WINDOWS:
        return None
    each = len(points) // count
    used = np.asarray(points[len(points) - each * count :], dtype=float).reshape(count, each, 2).mean(axis=1)
    value = float(_suffix_fits([(at, rate) for at, rate in used.tolist()]).spread[0])
    return value if math.isfinite(value) else None


def _suffix_fits(points: Sequence[RatePoint]) -> SuffixFits:
    """Fit least-squares lines through ``points[i:]`` for every i, from running sums, in linear time."""
    series = np.asarray(points, dtype=float)
    scale = float(series[:, 1].mean())
    with np.errstate(divide="ignore", invalid="ignore"):
        # Centred and scaled first: sums of squares of raw values would lose the differences to rounding.
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
