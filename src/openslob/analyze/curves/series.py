"""Points joined to lines: everything equal but the session count; each with its shape, limit and scaling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from openslob.analyze.comparability import ConditionMismatch, mismatches
from openslob.analyze.curves.knee import CurvePoint, KneeResult, find_knee
from openslob.analyze.curves.points import (
    ORDER,
    RATES,
    SESSIONS,
    LimitingResource,
    Parameters,
    ParameterValue,
    Point,
    Run,
    points,
    varying,
)  # fmt: skip
from openslob.analyze.curves.usl import NoFit, Scaling, fit
from openslob.units import format_bytes

# From this share of block visits on a set of runs is about reading, not about the cache.
_READS_LEAD = 0.5
ONE_LINE = "all runs"
ONE_COUNT = "it is a law of session counts, and there is one"
UNORDERED = "a knee needs the session counts, which are not known"


@dataclass(frozen=True)
class Axes:
    """Names of the figures (`Point.figure`) that a line is drawn and judged by."""

    throughput: str
    latency: str


PHYSICAL = Axes("pio_read_per_s", "engine_read_latency_us")
CACHED = Axes("lio_per_s", "op_mean_us")
RESPONSE_LATENCY = "op_response_mean_us"


@dataclass(frozen=True)
class Exhausted:
    """The resource at its limit from ``sessions`` sessions on, up to the end of the line or beyond the peak.

    ``at`` tells where in words, of lines along a rate as well.
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
        """The point with the best throughput before latency pays for nothing."""
        return self.at(self.knee_result.knee)

    @property
    def peak(self) -> Point | None:
        """The point with the highest throughput."""
        return self.at(self.knee_result.peak)

    def at(self, step: float | None) -> Point | None:
        """The point with so many sessions, or at that rate."""
        return next((point for point in self.points if point.step == step), None)


@dataclass(frozen=True)
class PointSet:
    """All that a set of runs says: its lines, by which parameters they differ, and what is the same in all.

    ``along`` is the parameter that lines run along.
    """

    series: tuple[Series, ...]
    axes: Axes
    varying: tuple[str, ...]
    common: Parameters
    along: str = SESSIONS

    @property
    def points(self) -> tuple[Point, ...]:
        """Every point, line by line."""
        return tuple(point for series in self.series for point in series.points)


def point_set(runs: Sequence[Run], axes: Axes | None = None) -> PointSet:
    """Runs of a sweep, or any others, as lines of points; ``axes`` default to what the runs are about."""
    along = _along(runs)
    names = tuple(name for name in varying(runs) if name != along)
    found = [replace(point, along=along) for point in points(runs)]
    chosen = axes or axes_for(found)
    groups: dict[tuple[ParameterValue, ...], list[Point]] = {}
    for point in found:
        groups.setdefault(tuple(point.parameters.get(name) for name in names), []).append(point)
    by_id = {run.record.id: run.record for run in runs}
    found_series = [
        replace(
            series_of(dict(zip(names, key, strict=True)), group, chosen),
            mismatches=mismatches([by_id[number] for point in group for number in point.record_ids]),
        )
        for key, group in groups.items()
    ]
    found_series.sort(key=lambda series: [order(series.key[name]) for name in names])
    first = runs[0].parameters if runs else {}
    common = {name: value for name, value in first.items() if name not in (SESSIONS, along, *names)}
    return PointSet(tuple(found_series), chosen, names, common, along)


def _along(runs: Sequence[Run]) -> str:
    """What lines run along: a rate that varies while the sessions stay, the sessions otherwise."""
    rates = [name for name in varying(runs) if name in RATES]
    same = len({run.parameters.get(SESSIONS) for run in runs}) < 2
    return rates[0] if same and len(rates) == 1 else SESSIONS


def axes_for(found: Sequence[Point]) -> Axes:
    """Physical reads and their latency where most of the points read; logical reads and operations else.

    At a given rate the latency is that from the due time.
    """
    reading = [_reads_lead(point) for point in found if point.mean("block_visits_per_s")]
    axes = PHYSICAL if not reading or 2 * sum(reading) >= len(reading) else CACHED
    paced = found and all(point.mean("target_ops_per_s") is not None for point in found)
    return replace(axes, latency=RESPONSE_LATENCY) if paced else axes


def label(key: Parameters) -> str:
    """A line's parameters in words, such as ``20 % updates, 8 KB blocks``."""
    return ", ".join(_worded(name, value) for name, value in key.items()) or ONE_LINE


def order(value: ParameterValue) -> tuple[bool, bool, float, str]:
    """What to sort values of a parameter by: numbers by size, then words, then what is not known."""
    is_number = isinstance(value, (int, float))
    return value is None, not is_number, float(value) if isinstance(value, (int, float)) else 0.0, str(value)


def series_of(key: Parameters, group: Sequence[Point], axes: Axes, called: str = "") -> Series:
    """The line of these points, in whatever order they come; ``called`` defaults to its key in words."""
    ordered = tuple(sorted(group, key=lambda point: point.step))
    known = [
        CurvePoint(point.step, x, y)
        for point in ordered
        if (x := point.mean(axes.throughput)) is not None and (y := point.mean(axes.latency)) is not None
    ]
    found = find_knee(known)
    if any(point.along == ORDER for point in ordered):
        found = replace(found, knee=None, tail_trend=None, why=UNORDERED)
    rates = [(point.sessions, x) for point in ordered if (x := point.mean(axes.throughput)) is not None]
    by_sessions = all(point.along == SESSIONS for point in ordered)
    scaling = fit([sessions for sessions, _ in rates], [x for _, x in rates]) if by_sessions else NoFit(ONE_COUNT)
    return Series(key, called or label(key), ordered, axes, found, scaling, _exhausted(ordered, found))


def _exhausted(ordered: Sequence[Point], found: KneeResult) -> Exhausted | None:
    """What set the pace at the peak of a line that bends, and from which point, the knee at the earliest."""
    bent = [point for point in ordered if found.knee is not None and point.step >= found.knee]
    peak = next((point for point in bent if point.step == found.peak), None)
    if peak is None or peak.limit is None:
        return None
    since = peak
    for point in reversed(bent[: bent.index(peak)]):
        if point.limit is None or point.limit.resource != peak.limit.resource:
            break
        since = point
    return Exhausted(peak.limit, since.sessions, since.at)


def _reads_lead(point: Point) -> bool:
    reads, visits = point.mean("pio_read_per_s"), point.mean("block_visits_per_s")
    return reads is not None and visits is not None and reads >= _READS_LEAD * visits


def _worded(name: str, value: ParameterValue) -> str:
    if value is None:
        return f"{name.replace('_', ' ')} unknown"
    if name == "direct_io":
        return "direct I/O" if value else "buffered I/O"
    if name in RATES:
        return RATES[name].format(value)
    if name in _WORDS:
        return _WORDS[name].format(format_bytes(value) if isinstance(value, int) and value >= 1024 else value)
    if isinstance(value, bool):
        return f"{name.replace('_', ' ')} {'on' if value else 'off'}"
    return f"{name.replace('_', ' ')} {value}"


_WORDS = {
    "update_pct": "{} % updates",
    "scan_pct": "{} % scans",
    "block_size": "{} blocks",
    "cache_bytes": "{} cache",
    "cpus": "{} CPUs",
    "instances": "{} instances",
    "product": "{}",
    "mode": "{}",
}
