"""The highest throughput whose latency stays under a limit, between the points that were measured."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from openslob.analyze.lines import PHYSICAL, Line
from openslob.errors import UsageError

PERCENTILES = ("mean", "p50", "p90", "p99", "p999")
_MICROS = {"us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(us|µs|ms|s)")


class Reach(StrEnum):
    """How the answer came about."""

    BETWEEN = "between points"
    NOT_REACHED = "not reached"
    NEVER = "never under"
    NO_DATA = "not enough data"


@dataclass(frozen=True)
class UnderLimit:
    """The highest throughput of a line under a latency limit, in the unit of the figure ``throughput``.

    NOT_REACHED: every point is under it, so ``value`` is what was measured at least and more may be had. NEVER: every
    point is above it, and ``value`` is None. ``sessions`` is interpolated as well.
    """

    reach: Reach
    limit_us: float
    latency: str
    throughput: str
    value: float | None
    sessions: float | None


def parse_latency_us(text: str) -> float:
    """µs meant by ``500us``, ``1.5ms`` or ``2s``; UsageError for anything else."""
    match = _DURATION.fullmatch(text.strip())
    if not match or not float(match[1]):
        raise UsageError(f"{text!r} is not a latency", "such as 500us, 1.5ms or 2s")
    return float(match[1]) * _MICROS[match[2]]


def latency_figure(at: str) -> str:
    """The figure (`Point.figure`) that ``p50`` … ``p999`` of an operation means, or ``mean``, that of an engine's read.

    Engines time their reads by the sum only: a percentile is to be had of operations alone. UsageError for others.
    """
    if at not in PERCENTILES:
        raise UsageError(f"{at!r} is not a latency figure", f"one of {', '.join(PERCENTILES)}")
    return PHYSICAL.latency if at == "mean" else f"op_{at}_us"


def best_under(line: Line, limit_us: float, latency: str) -> UnderLimit:
    """The best of the line under ``limit_us`` of the figure ``latency``, by straight lines between its points.

    A line can cross the limit several times, and it can come back under it: the highest throughput counts.
    """
    points = [
        (x, y, float(point.sessions))
        for point in line.points
        if (x := point.mean(line.axes.throughput)) is not None and (y := point.mean(latency)) is not None
    ]
    reach, value, sessions = _best(points, limit_us)
    return UnderLimit(reach, limit_us, latency, line.axes.throughput, value, sessions)


def _best(points: Sequence[tuple[float, float, float]], limit: float) -> tuple[Reach, float | None, float | None]:
    if not points:
        return Reach.NO_DATA, None, None
    under = [(x, n) for x, y, n in points if y <= limit]
    if not under:
        return Reach.NEVER, None, None
    crossings = [
        (x0 + share * (x1 - x0), n0 + share * (n1 - n0))
        for (x0, y0, n0), (x1, y1, n1) in pairwise(points)
        if (y0 <= limit) != (y1 <= limit)
        for share in [(limit - y0) / (y1 - y0)]
    ]
    value, sessions = max([*under, *crossings])
    return (Reach.BETWEEN if len(under) < len(points) else Reach.NOT_REACHED), value, sessions
