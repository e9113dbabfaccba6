"""The knee of a series of points: the point beyond which more throughput costs too much latency; and its peak and tail.

The knee is the point with the greatest *power* X^α / R among the points up to the peak, in the order of the session
count; X is throughput and R latency (Kleinrock, "Power and deterministic rules of thumb for probabilistic problems in
computer communications", ICC 1979). Up to the knee one percent more throughput costs at most α percent more latency;
beyond it, more. Points after the peak are left out, because there latency can fall together with throughput. The rule
does not depend on units, and adding points beyond the peak does not move the knee.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

# Two points always lie on a straight line.
MIN_POINTS = 3
# The spread that windows of a steady run may have (`steady_state.MAX_SPREAD_PCT`): less is neither a fall nor a rise.
MIN_CHANGE_PCT = 5.0
# α. With 2, doubling the sessions must give at least a quarter more throughput (X³ / N grows, since R = N / X). With 1
# it would have to give 41 %, and the knee would be where most users would still add sessions.
PREFERENCE = 2


class TailTrend(StrEnum):
    """The direction of throughput at the end of a series."""

    RISING = "rises"
    FLAT = "stays"
    FALLING = "comes back"


@dataclass(frozen=True)
class CurvePoint:
    """One point: its session count or rate, its throughput per second in any unit, its latency in µs."""

    sessions: float
    throughput: float
    latency_us: float


@dataclass(frozen=True)
class KneeResult:
    """The session counts of peak and knee, and the trend at the end; None with a reason in ``why`` for unknown ones.

    ``fall_pct`` is how far the last point is below the peak, in %. When throughput still rises at the end and ``knee``
    is None, the series needs points with more sessions.
    """

    peak: float | None
    knee: float | None
    tail_trend: TailTrend | None
    fall_pct: float | None
    why: str = ""


def find_knee(curve: Sequence[CurvePoint]) -> KneeResult:
    """Find the knee and the peak of a series. The points may be in any order."""
    points = sorted(
        (p for p in curve if p.throughput > 0 and p.latency_us > 0),
        key=lambda point: point.sessions,
    )
    if len({point.sessions for point in points}) < MIN_POINTS:
        most = max((point.throughput for point in points), default=None)
        best = next((point.sessions for point in points if point.throughput == most), None)
        return KneeResult(best, None, None, None, f"not enough data: a knee needs {MIN_POINTS} points")
    most = max(point.throughput for point in points)
    peak_at = next(at for at, point in enumerate(points) if point.throughput == most)
    fall = 100 * (1 - points[-1].throughput / most)
    knee = max(points[: peak_at + 1], key=_power)
    if knee is points[-1]:
        why = f"the last point, {knee.sessions:,g}, is still worth its latency: points beyond it may show the knee"
        return KneeResult(points[peak_at].sessions, None, _tail_trend(points, fall), fall, why)
    return KneeResult(points[peak_at].sessions, knee.sessions, _tail_trend(points, fall), fall)


def _power(point: CurvePoint) -> float:
    return PREFERENCE * math.log(point.throughput) - math.log(point.latency_us)


def _tail_trend(points: Sequence[CurvePoint], fall_pct: float) -> TailTrend:
    if fall_pct > MIN_CHANGE_PCT:
        return TailTrend.FALLING
    before = max(point.throughput for point in points[:-1])
    return TailTrend.RISING if 100 * (points[-1].throughput / before - 1) > MIN_CHANGE_PCT else TailTrend.FLAT
