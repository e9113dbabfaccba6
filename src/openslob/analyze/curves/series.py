"""Series: points that differ only in their session count or rate, with knee, limiting resource and scaling.

The knee is the point with the greatest *power* X^α / R among the points up to the peak, in the order of the session
count; X is throughput and R latency (Kleinrock, "Power and deterministic rules of thumb for probabilistic problems in
computer communications", ICC 1979). Up to the knee one percent more throughput costs at most α percent more latency;
beyond it, more. Points after the peak are left out, because there latency can fall together with throughput. The rule
does not depend on units, and adding points beyond the peak does not move the knee.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from openslob.analyze.curves.points import (
    CLASS_COUNT,
    ORDER,
    OTHERS,
    RATES,
    SESSIONS,
    ConditionMismatch,
    LimitingResource,
    Parameters,
    ParameterValue,
    Point,
    Run,
    mismatches,
    points,
    step_word,
    varying,
)  # fmt: skip
from openslob.analyze.curves.usl import NoFit, Scaling, fit
from openslob.core.errors import UsageError
from openslob.core.units import format_bytes
from openslob.core.workload import CLASSES
from openslob.metrics import Timed
from openslob.record.varied import is_setting

# From this share of block visits on, a set of runs is about physical reads and not about the cache.
MIN_READ_SHARE = 0.5
ONE_LINE = "all runs"
ONE_COUNT = "the scalability law needs several session counts, and there is only one"
UNORDERED = "a knee needs the session counts, which are not known"

RESPONSE_LATENCY = "op_response_mean_us"
_TEXTS = {
    "update_pct": "{} % updates",
    "scan_pct": "{} % scans",
    "block_size": "{} blocks",
    "cache_bytes": "{} cache",
    "cpus": "{} CPUs",
    "instances": "{} instances",
    "product": "{}",
    "mode": "{}",
}
PERCENTILES = ("mean", "p50", "p90", "p99", "p999")
_MICROS = {"us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(us|µs|ms|s)")
# Two points always lie on a straight line.
MIN_POINTS = 3
# The spread that windows of a steady run may have (`steady_state.MAX_SPREAD_PCT`): less is neither a fall nor a rise.
MIN_CHANGE_PCT = 5.0
# α. With 2, doubling the sessions must give at least a quarter more throughput (X³ / N grows, since R = N / X). With 1
# it would have to give 41 %, and the knee would be where most users would still add sessions.
PREFERENCE = 2
# From this share of the peak on, a point is at the limit that the peak has: one below it, such as a knee whose latency
# alone rises beyond it, is not yet limited by what limits the peak.
FULL_SHARE = 0.9


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


@dataclass(frozen=True)
class Axes:
    """The names of the two figures (see `Point.figure`) that a series is drawn and analysed by."""

    throughput: str
    latency: str


PHYSICAL = Axes("pio_read_per_s", "engine_read_latency_us")
CACHED = Axes("lio_per_s", "op_mean_us")


@dataclass(frozen=True)
class Exhausted:
    """The resource at its limit from ``sessions`` sessions on, up to the end of the series or beyond the peak.

    ``at`` gives the position in words, also for a series along a rate.
    """

    limit: LimitingResource
    sessions: int
    at: str


@dataclass(frozen=True)
class Series:
    """Points that differ only in their session count, or in their rate, in ascending order.

    ``key`` holds the parameters that distinguish this series from the others. ``knee`` and ``peak`` are points of the
    series, or None for the reason in ``knee_result.why``. ``exhausted`` is None when throughput does not level off,
    or when no verdict names the limiting resource at the peak. ``mismatches`` lists the facts that differ between its
    runs although they are no parameters, such as a server setting that was changed in between.
    """

    key: Parameters
    label: str
    points: tuple[Point, ...]
    axes: Axes
    knee_result: KneeResult
    scaling: Scaling | NoFit
    exhausted: Exhausted | None
    mismatches: tuple[ConditionMismatch, ...] = ()

    @property
    def knee(self) -> Point | None:
        """The point beyond which more throughput costs too much latency."""
        return self.at(self.knee_result.knee)

    @property
    def peak(self) -> Point | None:
        """The point with the highest throughput."""
        return self.at(self.knee_result.peak)

    def at(self, step: float | None) -> Point | None:
        """Return the point with this session count or rate; None when there is none."""
        return next((point for point in self.points if point.step == step), None)


@dataclass(frozen=True)
class PointSet:
    """The series of a set of runs, the names of the parameters that vary, and the parameters that all runs share.

    ``along`` is the parameter that the series run along.
    """

    series: tuple[Series, ...]
    axes: Axes
    varying: tuple[str, ...]
    common: Parameters
    along: str = SESSIONS

    @property
    def points(self) -> tuple[Point, ...]:
        """Every point, series by series."""
        return tuple(point for series in self.series for point in series.points)

    @property
    def timed(self) -> Timed:
        """What latencies of operations are the time of, in all points."""
        return Timed.together(point.parameters for point in self.points)


def point_set(runs: Sequence[Run], axes: Axes | None = None) -> PointSet:
    """Return the points of runs as series; ``axes`` default to those of `axes_for`."""
    return _point_set(tuple(runs), axes)


# A report needs those of the same runs several times, and with other axes.
@lru_cache(maxsize=4)
def _points(runs: tuple[Run, ...]) -> tuple[Point, ...]:
    return tuple(points(runs))


@lru_cache(maxsize=4)
def _point_set(runs: tuple[Run, ...], axes: Axes | None) -> PointSet:
    along = _along(runs)
    names = tuple(name for name in varying(runs) if name != along)
    all_points = [replace(point, along=along) for point in _points(runs)]
    axes = axes or axes_for(all_points)
    groups: dict[tuple[ParameterValue, ...], list[Point]] = {}
    for point in all_points:
        groups.setdefault(tuple(point.parameters.get(name) for name in names), []).append(point)
    by_id = {run.record.id: run for run in runs}
    series = [
        replace(
            series_of(dict(zip(names, key, strict=True)), group, axes),
            mismatches=mismatches([by_id[number] for point in group for number in point.record_ids]),
        )
        for key, group in groups.items()
    ]
    series.sort(key=lambda line: [order(line.key[name]) for name in names])
    first = runs[0].parameters if runs else {}
    common = {name: value for name, value in first.items() if name not in (SESSIONS, along, *names)}
    return PointSet(tuple(series), axes, names, common, along)


def _along(runs: Sequence[Run]) -> str:
    """Return what series run along: a rate that varies while the session count does not, else the sessions.

    Of runs with classes it is the sessions of the first class that has several numbers of them.
    """
    if counts := [name for name in varying(runs) if name.endswith(CLASS_COUNT)]:
        return counts[0]
    rates = [name for name in varying(runs) if name in RATES]
    same = len({run.parameters.get(SESSIONS) for run in runs}) < 2
    return rates[0] if same and len(rates) == 1 else SESSIONS


def axes_for(of_points: Sequence[Point]) -> Axes:
    """Return the axes for points: physical reads if most points read physically, else logical reads and operations.

    At a given rate of all sessions the latency is the response time.
    """
    reading = [_reads_physically(point) for point in of_points if point.mean("block_visits_per_s")]
    axes = PHYSICAL if not reading or 2 * sum(reading) >= len(reading) else CACHED
    rates = [point.mean("target_ops_per_s") for point in of_points if not point.parameters.get(CLASSES)]
    paced = of_points and len(rates) == len(of_points) and None not in rates
    return replace(axes, latency=RESPONSE_LATENCY) if paced else axes


def label(key: Parameters) -> str:
    """Return the parameters of a series in words, such as ``20 % updates, 8 KB blocks``."""
    return ", ".join(_parameter_text(name, value) for name, value in key.items()) or ONE_LINE


def order(value: ParameterValue) -> tuple[bool, bool, float, str]:
    """Return the sort key of a parameter's value: numbers by size, then texts, then unknown values."""
    is_number = isinstance(value, (int, float))
    return value is None, not is_number, float(value) if isinstance(value, (int, float)) else 0.0, str(value)


def series_of(key: Parameters, group: Sequence[Point], axes: Axes, called: str = "") -> Series:
    """Return the series of these points, which may be in any order; ``called`` is its label instead of the key's."""
    ordered = tuple(sorted(group, key=lambda point: point.step))
    known = [
        CurvePoint(point.step, x, y)
        for point in ordered
        if (x := point.mean(axes.throughput)) is not None and (y := point.mean(axes.latency)) is not None
    ]
    knee = find_knee(known)
    if any(point.along == ORDER for point in ordered):
        knee = replace(knee, knee=None, tail_trend=None, why=UNORDERED)
    rates = [(point.sessions, x) for point in ordered if (x := point.mean(axes.throughput)) is not None]
    by_sessions = all(point.along == SESSIONS for point in ordered)
    scaling = fit([sessions for sessions, _ in rates], [x for _, x in rates]) if by_sessions else NoFit(ONE_COUNT)
    return Series(
        key, called or label(key), ordered, axes, knee, scaling, _find_exhausted(ordered, knee, axes.throughput)
    )


def _find_exhausted(ordered: Sequence[Point], result: KneeResult, throughput: str) -> Exhausted | None:
    """Return the limiting resource at the peak, and the first point from the knee on with nearly its rate by it."""
    from_knee = [point for point in ordered if result.knee is not None and point.step >= result.knee]
    peak = next((point for point in from_knee if point.step == result.peak), None)
    if peak is None or peak.limit is None:
        return None
    since, full = peak, FULL_SHARE * (peak.mean(throughput) or 0.0)
    for point in reversed(from_knee[: from_knee.index(peak)]):
        is_full = (point.mean(throughput) or 0.0) >= full
        if point.limit is None or point.limit.resource != peak.limit.resource or not is_full:
            break
        since = point
    return Exhausted(peak.limit, since.sessions, since.at)


def _reads_physically(point: Point) -> bool:
    reads, visits = point.mean("pio_read_per_s"), point.mean("block_visits_per_s")
    return reads is not None and visits is not None and reads >= MIN_READ_SHARE * visits


def _parameter_text(name: str, value: ParameterValue) -> str:
    if value is None:
        return f"{name.replace('_', ' ')} unknown"
    if name == "direct_io":
        return "direct I/O" if value else "buffered I/O"
    if name in RATES or name.endswith(CLASS_COUNT):
        return RATES.get(name, f"{{}} {step_word(name)}").format(value)
    if name in _TEXTS:
        return _TEXTS[name].format(format_bytes(value) if isinstance(value, int) and value >= 1024 else value)
    if isinstance(value, bool):
        return f"{name.replace('_', ' ')} {'on' if value else 'off'}"
    return f"{name}={value}" if is_setting(name) and name not in OTHERS else f"{name.replace('_', ' ')} {value}"


def parse_latency_us(text: str) -> float:
    """Return the µs of ``500us``, ``1.5ms`` or ``2s``. UsageError for anything else."""
    match = _DURATION.fullmatch(text.strip())
    if not match or not float(match[1]):
        raise UsageError(f"{text!r} is not a latency", "such as 500us, 1.5ms or 2s")
    return float(match[1]) * _MICROS[match[2]]


def latency_figure(at: str) -> str:
    """Return the figure name (see `Point.figure`) of ``mean`` or of a percentile from ``p50`` to ``p999``.

    ``mean`` is the latency of the engine's reads, of which only the sum is timed; percentiles are of operations.
    UsageError for any other text.
    """
    if at not in PERCENTILES:
        raise UsageError(f"{at!r} is not a latency figure", f"one of {', '.join(PERCENTILES)}")
    return PHYSICAL.latency if at == "mean" else f"op_{at}_us"
