"""The shape of a line of points: its peak, its knee, and whether it comes back.

The knee is the best throughput before latency pays for nothing. Only the way up counts: the points, in the order of
the session count, up to the *top*, the first within `MIN_CHANGE_PCT` of the highest throughput; whatever latency is
paid beyond it buys nothing. Between the first point and the top both axes are scaled to 0…1, and the knee is the
point that lies furthest to the throughput side of the straight line between the two (Satopää, Albrecht, Irwin,
Raghavan, "Finding a Kneedle in a Haystack", ICDCS workshops 2011), if from there to the top latency rises by a greater
share than throughput does. A line without such a bend has its knee at the top, unless it ends there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

# With two points any line is straight.
MIN_POINTS = 3
# The spread that windows of a steady run may have (`steady.MAX_SPREAD_PCT`): less is not a fall or a rise.
MIN_CHANGE_PCT = 5.0
# A tenth of the way: flatter bends come from the grain of the points.
MIN_BULGE = 0.1


class Turn(StrEnum):
    """Where the line goes at its end."""

    RISES = "rises"
    FLAT = "stays"
    BACK = "comes back"


@dataclass(frozen=True)
class CurvePoint:
    """One point: throughput in any unit per second, latency in µs."""

    sessions: int
    throughput: float
    latency_us: float


@dataclass(frozen=True)
class Shape:
    """Session counts of peak and knee, and the turn; None and a reason in ``why`` for what can't be told.

    ``fall_pct`` is how far the last point lies below the peak. A knee of None on a line that rises means that the
    line was not driven far enough.
    """

    peak: int | None
    knee: int | None
    turn: Turn | None
    fall_pct: float | None
    why: str = ""


def shape(curve: Sequence[CurvePoint]) -> Shape:
    """The shape of a line; its points may come in any order."""
    points = sorted(
        (p for p in curve if p.throughput > 0 and p.latency_us > 0),
        key=lambda point: point.sessions,
    )
    if len({point.sessions for point in points}) < MIN_POINTS:
        most = max((point.throughput for point in points), default=None)
        best = next((point.sessions for point in points if point.throughput == most), None)
        return Shape(best, None, None, None, f"not enough data: a knee needs {MIN_POINTS} session counts")
    most = max(point.throughput for point in points)
    top = next(at for at, point in enumerate(points) if point.throughput >= most * (1 - MIN_CHANGE_PCT / 100))
    peak = next(point for point in points if point.throughput == most)
    fall = 100 * (1 - points[-1].throughput / most)
    knee = _bend(points[: top + 1])
    if knee is None and top == len(points) - 1:
        why = (
            f"throughput still rises in proportion to latency at {points[-1].sessions} sessions: more may show the knee"
        )
        return Shape(peak.sessions, None, _turn(points, fall), fall, why)
    return Shape(peak.sessions, (knee or points[top]).sessions, _turn(points, fall), fall)


def _bend(way_up: Sequence[CurvePoint]) -> CurvePoint | None:
    """Where the way up bends; None when it does not."""
    first, top = way_up[0], way_up[-1]
    gain, cost = top.throughput - first.throughput, top.latency_us - first.latency_us
    if gain <= 0 or cost <= 0:
        return None

    def bulge(point: CurvePoint) -> float:
        return (point.throughput - first.throughput) / gain - (point.latency_us - first.latency_us) / cost

    best = max(way_up, key=bulge)
    dearer = top.latency_us / best.latency_us > top.throughput / best.throughput
    return best if bulge(best) >= MIN_BULGE and dearer else None


def _turn(points: Sequence[CurvePoint], fall_pct: float) -> Turn:
    if fall_pct > MIN_CHANGE_PCT:
        return Turn.BACK
    before = max(point.throughput for point in points[:-1])
    return Turn.RISES if 100 * (points[-1].throughput / before - 1) > MIN_CHANGE_PCT else Turn.FLAT
