"""The shape of a line of points: its peak, its knee, and whether it comes back.

The knee is the best throughput before latency pays for nothing: among the points up to the peak, in the order of
the session count, the one with the greatest *power*, throughput divided by latency (Kleinrock, "Power and
deterministic rules of thumb for probabilistic problems in computer communications", ICC 1979). Up to there one
percent more throughput costs no more than one percent more latency; beyond, it costs more. Points after the peak are
left out, because on the way back latency can fall together with throughput.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

# With two points any line is straight.
MIN_POINTS = 3
# The spread that windows of a steady run may have (`steady.MAX_SPREAD_PCT`): less is not a fall or a rise.
MIN_CHANGE_PCT = 5.0


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
    peak_at = max(range(len(points)), key=lambda at: points[at].throughput)
    knee_at = max(range(peak_at + 1), key=lambda at: points[at].throughput / points[at].latency_us)
    peak, last = points[peak_at], points[-1]
    fall = 100 * (1 - last.throughput / peak.throughput)
    turn = _turn(points, peak_at, fall)
    if knee_at == len(points) - 1:
        why = f"throughput was still worth its latency at {last.sessions} sessions: more sessions may show the knee"
        return Shape(peak.sessions, None, turn, fall, why)
    return Shape(peak.sessions, points[knee_at].sessions, turn, fall)


def _turn(points: Sequence[CurvePoint], peak_at: int, fall_pct: float) -> Turn:
    if fall_pct > MIN_CHANGE_PCT:
        return Turn.BACK
    gain_pct = 100 * (points[-1].throughput / points[-2].throughput - 1)
    return Turn.RISES if peak_at == len(points) - 1 and gain_pct > MIN_CHANGE_PCT else Turn.FLAT
