"""The shape of a line of points: its peak, its knee, and whether it comes back.

The knee is the best throughput before latency pays for nothing: among the points up to the peak, in the order of the
session count, the one with the greatest *power* X^α / R, X being throughput and R latency (Kleinrock, "Power and
deterministic rules of thumb for probabilistic problems in computer communications", ICC 1979). Up to there one percent
more throughput costs no more than α percent more latency; beyond, it costs more. Points after the peak are left out,
because on the way back latency can fall together with throughput. The rule needs no scale, and driving a line further
does not move its knee.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

# With two points any line is straight.
MIN_POINTS = 3
# The spread that windows of a steady run may have (`steady.MAX_SPREAD_PCT`): less is not a fall or a rise.
MIN_CHANGE_PCT = 5.0
# α. With 2 twice as many sessions must bring at least a quarter more throughput (X³ / N grows, as R = N / X); with
# the plain 1 it would be 41 %, and a platform would be called exhausted where most would still go on.
PREFERENCE = 2


class TailTrend(StrEnum):
    """Where the line goes at its end."""

    RISING = "rises"
    FLAT = "stays"
    FALLING = "comes back"


@dataclass(frozen=True)
class CurvePoint:
    """One point: its sessions (or what else the line runs along), throughput per second in any unit, latency in µs."""

    sessions: float
    throughput: float
    latency_us: float


@dataclass(frozen=True)
class KneeResult:
    """Session counts of peak and knee, and the turn; None and a reason in ``why`` for what can't be told.

    ``fall_pct`` is how far the last point lies below the peak. A knee of None on a line that rises means that the
    line was not driven far enough.
    """

    peak: float | None
    knee: float | None
    tail_trend: TailTrend | None
    fall_pct: float | None
    why: str = ""


def find_knee(curve: Sequence[CurvePoint]) -> KneeResult:
    """The shape of a line; its points may come in any order."""
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
        why = f"throughput was still worth its latency at the last point, {knee.sessions:,g}: more may show the knee"
        return KneeResult(points[peak_at].sessions, None, _tail_trend(points, fall), fall, why)
    return KneeResult(points[peak_at].sessions, knee.sessions, _tail_trend(points, fall), fall)


def _power(point: CurvePoint) -> float:
    return PREFERENCE * math.log(point.throughput) - math.log(point.latency_us)


def _tail_trend(points: Sequence[CurvePoint], fall_pct: float) -> TailTrend:
    if fall_pct > MIN_CHANGE_PCT:
        return TailTrend.FALLING
    before = max(point.throughput for point in points[:-1])
    return TailTrend.RISING if 100 * (points[-1].throughput / before - 1) > MIN_CHANGE_PCT else TailTrend.FLAT
