"""The answer of a sweep on one screen: its best point with what limits it, a row for each point, what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from openslob.analyze.curves.points import SESSIONS, Point, Run, step_word
from openslob.analyze.curves.series import ONE_LINE, PHYSICAL, RESPONSE_LATENCY, PointSet, Series, TailTrend
from openslob.analyze.limits import OTHERS_CPU
from openslob.analyze.verdict_registry import Severity, gravest
from openslob.core.places import server_of
from openslob.core.session_classes import parse_classes
from openslob.core.workload import CLASSES
from openslob.kinds.sweep.record import PointState, SweepRecord
from openslob.metrics import Timed
from openslob.record.model import RunRecord, Status, Verdict
from openslob.record.varied import word_for
from openslob.report.document import Paragraph, Part, Screen, TextTable, VerdictsOfSeveral
from openslob.report.format import MISSING, micros, number, percent, shorten, size
from openslob.report.record_view import name_record
from openslob.report.run_screen import flag_value, sweep_command
from openslob.report.set_summary import (
    cost_at,
    figure_with_interval,
    name_limit,
    name_resource,
    reads_are_physical,
    reads_per_s,
)

# More rows leave no room for anything else.
_MOST_ROWS = 8
# So many series have a column each beside the others; of more, each has a row.
_BESIDE = 2
_LONGEST_LABEL = 34
Step = TypeVar("Step")


def sweep_screen(
    record: SweepRecord,
    runs: Sequence[Run],
    points: PointSet | None,
    search: str,
    against: str,
    folder: Path | None,
) -> Screen:
    """Return the screen; ``search`` is the answer of a search, if the sweep was one.

    ``against`` is that of a comparison of two values, if the sweep was asked for one.
    """
    called = name_record(record.id, folder)
    named = {run.record.id: run.record for run in runs}
    judged = judge_points(points, named)
    return Screen(
        _subject(record, [run.record for run in runs]),
        tuple(filter(None, (*((search,) if search else answer_of(points, named, not against)), against))),
        tuple(_parts(record, points)) if points else (),
        tuple(_next(record, runs, points, called)),
        called,
        judged=VerdictsOfSeveral(judged, "run") if judged else None,
    )


def judge_points(points: PointSet | None, named: Mapping[str, RunRecord]) -> tuple[tuple[str, Sequence[Verdict]], ...]:
    """Return the verdicts on each run of the points, with the place of its point; ``named`` are the runs by id."""
    return tuple(
        (point.at, named[each].verdicts) for point in (points.points if points else ()) for each in point.record_ids
    )


def _subject(record: SweepRecord, runs: Sequence[RunRecord]) -> str:
    products = dict.fromkeys(f"{run.engine.get('product')} {run.engine.get('version', '')}".rstrip() for run in runs)
    who = " and ".join(products) if 0 < len(products) <= 2 else "A server"
    sizes = {(run.engine.get("data_bytes"), run.engine.get("cache_bytes")) for run in runs}
    data, cache = next(iter(sizes)) if len(sizes) == 1 else (None, None)
    sized = f", {size(data)} in a cache of {size(cache)}" if data and cache else ""
    names = [word_for(name) for name in (*record.server_grid, *record.grid) if name != CLASSES]
    names += parse_classes(record.grid[CLASSES][0]) if CLASSES in record.grid else []
    varied = f": {' × '.join(names)}" if names else ""
    return f"{who} on {server_of(record.target)}{varied}{sized}"


def answer_of(points: PointSet | None, named: Mapping[str, RunRecord], beside: bool = True) -> tuple[str, ...]:
    """Return the best point with what limits it and what it costs; ``beside``: also how far another series is below."""
    peaks = [(series, peak) for series in (points.series if points else ()) if (peak := series.peak)]
    if not peaks:
        return ("No point gave a rate.",)
    best = max(peaks, key=lambda pair: _rate(*pair))
    series, peak = best
    records = [named[each] for point in series.points for each in point.record_ids]
    reads = reads_per_s(series, peak, reads_are_physical(records))
    whose = "" if series.label == ONE_LINE else f" with {series.label}"
    what = "a read" if series.axes == PHYSICAL else Timed.of(peak.parameters).a()
    latency = f"{micros(peak.mean(series.axes.latency))} {what}"
    doubt = "Not to be used: " if peak.severity is Severity.INVALID else ""
    first = f"{doubt}{figure_with_interval(peak.figure(series.axes.throughput))} {reads} at {peak.at}{whose}, {latency}"
    others = [_against(best, pair) for pair in peaks if pair is not best] if beside and len(peaks) <= _BESIDE else []
    cost = cost_at(series.knee or peak, series.axes)
    return (" ".join([f"{first}{_end(series, peak)}.", *others]), *([f"{cost[:1].upper()}{cost[1:]}."] if cost else []))


def _rate(series: Series, point: Point) -> float:
    return point.mean(series.axes.throughput) or 0.0


def _end(series: Series, peak: Point) -> str:
    """Return how a series ends: what limits it, whether more would give more, or where it is worth its latency most."""
    knee, at_knee = series.knee, ""
    if knee and knee is not peak:
        at_knee = f"; beyond {knee.at} ({number(_rate(series, knee))}/s) more costs too much latency"
    if (found := series.exhausted) and not is_doubtful(found.limit.resource, found.limit.figures):
        return f", {name_limit(found)}{at_knee}"
    if series.knee_result.tail_trend is TailTrend.RISING and series.points[-1] is peak:
        return f"; it still rises, and the peak lies beyond {peak.at}"
    if peak.limit and not is_doubtful(peak.limit.resource, peak.limit.figures):
        return f", {name_resource(peak.limit.resource)}{at_knee}"
    return at_knee or "; what limits it is not known"


def is_doubtful(resource: str, figures: Mapping[str, float]) -> bool:
    """Return whether a limit is that of older rules: a CPU that others use is none unless the server waited for it."""
    return resource == OTHERS_CPU and "cpu_wait_pct" not in figures


def _against(best: tuple[Series, Point], other: tuple[Series, Point]) -> str:
    """Return the peak of a series beside the best one."""
    less = 100 * (1 - _rate(*other) / _rate(*best)) if _rate(*best) else 0.0
    return f"With {other[0].label} {percent(round(less))} less: {number(_rate(*other))}/s at {other[1].at}."


def _parts(record: SweepRecord, points: PointSet) -> Iterator[Part]:
    series = points.series
    if len(series) == 1:
        yield _one_series(series[0], points)
    elif len(series) <= _BESIDE and max(len(each.points) for each in series) > 1:
        yield _beside(series, points)
    else:
        yield _row_each(series, points)
    if said := " ".join(_remarks(record, points)):
        yield Paragraph(said)


def _one_series(series: Series, points: PointSet) -> TextTable:
    latency, p99 = _timed(points)
    rows = [
        (
            f"{point.step:,g}",
            figure_with_interval(point.figure(points.axes.throughput)),
            micros(point.mean(points.axes.latency)),
            micros(point.mean(p99)),
            percent(_whole(point.mean("host_cpu_left_pct"))),
            _limit_of(point),
            _worst([point]),
        )
        for point in _few(series.points)
    ]
    head = (step_word(points.along), "per second", latency, f"{points.timed.short} p99", "CPU left", "limit", "checks")
    return TextTable(head, rows, texts=frozenset({5, 6}))


def _timed(points: PointSet) -> tuple[str, str]:
    """Return what the latency of a table is of, and the name of the figure that is the p99 beside it."""
    if points.axes.latency == RESPONSE_LATENCY:
        return "response", "op_response_p99_us"
    return "a read" if points.axes == PHYSICAL else f"{points.timed.short} mean", "op_p99_us"


def _beside(series: Sequence[Series], points: PointSet) -> TextTable:
    steps = sorted({point.step for each in series for point in each.points})
    rows = []
    for step in _few(steps):
        found = [each.at(step) for each in series]
        cells = [cell for point in found for cell in _rate_and_latency(point, points)]
        known = [point for point in found if point]
        left = "  ".join(percent(_whole(point.mean("host_cpu_left_pct"))) for point in known)
        rows.append((f"{step:,g}", *cells, left, _worst(known)))
    heads = [text for each in series for text in (shorten(each.label, _LONGEST_LABEL), "")]
    head = (step_word(points.along), *heads, "CPU left", "checks")
    return TextTable(head, rows, texts=frozenset({len(head) - 1}))


def _rate_and_latency(point: Point | None, points: PointSet) -> tuple[str, str]:
    rate = point.mean(points.axes.throughput) if point else None
    if point is None or rate is None:
        return MISSING, MISSING
    return f"{number(rate)}/s", micros(point.mean(points.axes.latency))


def _row_each(series: Sequence[Series], points: PointSet) -> TextTable:
    """Return the best point of each series, that with the highest rate first."""
    ranked = sorted(series, key=lambda each: -_rate(each, each.peak) if each.peak else 0.0)
    head = ("best of", step_word(points.along), "per second", "latency", "CPU left", "limit", "checks")
    rows = [
        (
            shorten(each.label, _LONGEST_LABEL),
            f"{peak.step:,g}",
            figure_with_interval(peak.figure(points.axes.throughput)),
            micros(peak.mean(points.axes.latency)),
            percent(_whole(peak.mean("host_cpu_left_pct"))),
            _limit_of(peak),
            _worst(each.points),
        )
        if (peak := each.peak)
        else (shorten(each.label, _LONGEST_LABEL), *[MISSING] * 5, _worst(each.points))
        for each in ranked
    ]
    return TextTable(head, rows[:_MOST_ROWS], texts=frozenset({0, 5, 6}))


def _few(steps: Sequence[Step]) -> Sequence[Step]:
    """Return at most `_MOST_ROWS` of these, evenly, the first and the last among them."""
    if len(steps) <= _MOST_ROWS:
        return steps
    return [steps[round(at * (len(steps) - 1) / (_MOST_ROWS - 1))] for at in range(_MOST_ROWS)]


def _whole(value: float | None) -> float | None:
    return None if value is None else round(value)


def _limit_of(point: Point) -> str:
    if point.limit is None or is_doubtful(point.limit.resource, point.limit.figures):
        return MISSING
    return point.limit.resource


def _worst(points: Sequence[Point]) -> str:
    """Return the gravest of what fails at these points, or that all holds."""
    found = [point.severity for point in points if point.severity]
    if not found:
        return "hold"
    return severity.value.upper() if (severity := gravest(found)) is Severity.INVALID else severity.value


def _remarks(record: SweepRecord, points: PointSet) -> Iterator[str]:
    shown = max(
        len(points.series) if len(points.series) > _BESIDE else 0, *(len(each.points) for each in points.series)
    )
    if shown > _MOST_ROWS:
        yield f"{_MOST_ROWS} of {shown} rows; --all has every point."
    if record.repeats == 1 and not record.search and len(points.points) > 1:
        yield "One run a point: how much runs differ is not known (--repeats 3)."
    if any(each.mismatches for each in points.series):
        yield "The conditions of a series' runs differ: --all says how."


def _next(record: SweepRecord, runs: Sequence[Run], points: PointSet | None, called: str) -> Iterator[tuple[str, str]]:
    counts = record.counts
    if record.status is Status.INTERRUPTED:
        yield f"slob sweep --resume {called}", f"{_count(counts[PointState.PENDING])} left"
    elif bad := counts[PointState.FAILED] + counts[PointState.SKIPPED]:
        yield f"slob sweep --resume {called}", f"{_count(bad)} failed: runs these again"
    peak = _rising(points) if points and not record.search and not record.server_grid else None
    if peak is not None:
        grid = {name: ",".join(flag_value(value) for value in values) for name, values in record.grid.items()}
        sessions = ",".join(str(peak * 2**step) for step in (1, 2, 3))
        if proposed := sweep_command(runs[0].record, sessions, grid):
            yield proposed, "where the peak is"
    yield f"slob report {called}", "petals, and every picture"
    yield f"slob show {called} --all", "every point and figure"


def _count(number: int) -> str:
    return f"{number} point{'' if number == 1 else 's'}"


def _rising(points: PointSet) -> int | None:
    """Return the highest session count, if the throughput still rises there in any series."""
    if points.along != SESSIONS:
        return None
    rising = [each for each in points.series if each.knee_result.tail_trend is TailTrend.RISING]
    return max((int(each.points[-1].step) for each in rising), default=None)
