"""Summary of several runs in sentences: the best point of each series, its cost and its limit."""

from __future__ import annotations

from collections.abc import Sequence

from openslob.analyze.curves.points import CLASS_COUNT, ORDER, SESSIONS, ParameterValue, Point, step_word
from openslob.analyze.curves.series import ONE_LINE, Axes, Exhausted, PointSet, Series
from openslob.analyze.load_kinds import LOAD
from openslob.analyze.statistics import Estimate
from openslob.core.units import Price
from openslob.core.workload import CLASSES
from openslob.metrics import Timed
from openslob.record.model import Holds, RunRecord
from openslob.report.format import micros, number, percent, shorten, size
from openslob.report.headline import READS_MATTER, read_share
from openslob.report.record_view import REACHED_DEVICE, caveats, costs_in_words

_WIDEST_FACT = 40


def reads_are_physical(records: Sequence[RunRecord]) -> bool:
    """Return whether the reads of every run reached a device, so that they may be called physical.

    Runs with hardly any reads are ignored.
    """
    shares = ((record, read_share(record)) for record in records)
    matter = (record for record, share in shares if share is None or share >= READS_MATTER)
    return all(record.outcome(REACHED_DEVICE) is Holds.HOLDS for record in matter)


def set_summary_lines(points: PointSet, is_physical: bool, *, one_platform: bool = True) -> list[str]:
    """Return a sentence for each series, the one with the best throughput first.

    Unless all points are of ``one_platform``, and show what it can do, each sentence begins with its series.
    """
    known = [series for series in points.series if _best(series) is not None]
    if not known:
        return ["No run gave a rate: see the verdicts."]
    best = max(known, key=lambda series: _throughput(series, _best(series)))
    rest = [series for series in known if series is not best]
    if not one_platform:
        return [f"{_capitalize(series.label)}: {_performance(series, is_physical)}." for series in [best, *rest]]
    # What an observed load did is not what the platform can do.
    peak = _best(best)
    begin = "Observed:" if peak is not None and LOAD in peak.parameters else "This platform does"
    first = f"{begin} {_performance(best, is_physical)}{_series_suffix(best, points)}."
    return [first, *(f"{_capitalize(series.label)}: {_performance(series, is_physical)}." for series in rest)]


def axis_text(points: PointSet) -> str:
    """Return what the points of a line are ordered by, in words."""
    if points.along == SESSIONS:
        return "sessions"
    if points.along == ORDER:
        return "the order of the reports"
    if points.along.endswith(CLASS_COUNT):
        return f"sessions of {step_word(points.along)}"
    return "operations/s requested" if points.along == "target_ops" else "block visits/s requested"


def figure_with_interval(estimate: Estimate) -> str:
    """Format a mean with half of its 95 % interval, if known, such as ``54,300 ± 600``."""
    half = f" ± {number(estimate.half_width)}" if estimate.half_width is not None else ""
    return f"{number(estimate.mean)}{half}"


def _best(series: Series) -> Point | None:
    """Return the knee of a series, or its peak if it has none."""
    return series.knee or series.peak


def _throughput(series: Series, point: Point | None) -> float:
    return (point.mean(series.axes.throughput) if point else None) or 0.0


def _performance(series: Series, is_physical: bool) -> str:
    point = _best(series)
    assert point is not None
    parts = [
        f"{figure_with_interval(point.figure(series.axes.throughput))} {reads_per_s(series, point, is_physical)}",
        f" at {micros(point.mean(series.axes.latency))} mean",
        _p99(point),
        _per_cpu(series, point),
        _cpu(point),
        f", {cost}" if (cost := cost_at(point, series.axes)) else "",
        f", {_where(series, point)}",
        f", {caveats(point.failed)}" if caveats(point.failed) else "",
    ]
    return f"{''.join(parts)}; {_limit(series)}"


def reads_per_s(series: Series, point: Point, is_physical: bool) -> str:
    """Return what a throughput is a rate of, such as ``physical 8 KB reads/s``."""
    block = point.parameters.get("block_size")
    of = f"{size(block)} " if isinstance(block, int) else ""
    if series.axes.throughput.startswith("lio"):
        return f"logical {of}reads/s"
    return f"{'physical' if is_physical else 'engine'} {of}reads/s"


def _p99(point: Point) -> str:
    response = point.mean("op_response_p99_us")
    p99 = point.mean("op_p99_us") if response is None else response
    since = "" if response is None else " from when it was due"
    blocks = point.parameters.get("work_unit")
    # Operations of several classes of sessions need not be alike.
    of = "" if point.parameters.get(CLASSES) else f" of {blocks} block{'' if blocks == 1 else 's'}"
    operation = f"{Timed.of(point.parameters).one(point.main_kind)}{of}"
    return "" if p99 is None else f" ({operation} p99 {micros(p99)}{since})"


def _per_cpu(series: Series, point: Point) -> str:
    logical = series.axes.throughput.startswith("lio")
    whole, alone = point.mean("lio_per_db_cpu" if logical else "iops_per_db_cpu"), point.mean("iops_per_foreground_cpu")
    if whole is not None:
        return f", {number(whole)} per CPU second,"
    return "" if logical or alone is None else f", {number(alone)} per foreground CPU second,"


def cost_at(point: Point, axes: Axes) -> str:
    """Return what a million reads and commits cost at a point; empty without a price, or with several."""
    price = Price.parse(point.price) if point.price else None
    costs = costs_in_words(point.mean, price, axes.throughput.startswith("lio"))
    return f"{costs} at {price}" if costs else ""


def _cpu(point: Point) -> str:
    busy, used = point.mean("host_cpu_busy_pct"), point.mean("db_cpu_per_s")
    if busy is not None:
        return f" with {percent(busy)} of the host's CPU busy"
    return " with unknown CPU" if used is None else f" with {used:,.3g} CPUs used by the database"


def _where(series: Series, point: Point) -> str:
    sessions = point.at
    if series.knee is None:
        return f"at {sessions}, its peak"
    peak = series.peak
    if peak is None or peak is point:
        return f"at its knee of {sessions}"
    most = figure_with_interval(peak.figure(series.axes.throughput))
    return f"at its knee of {sessions} (at most {most}/s, with {peak.step:,g})"


def _limit(series: Series) -> str:
    if series.exhausted is None:
        return series.knee_result.why or "its limit is not known"
    return f"it is {name_limit(series.exhausted)}"


def name_limit(exhausted: Exhausted) -> str:
    """Name the exhausted resource and its onset, such as ``limited by storage from 8 sessions on``."""
    return f"{name_resource(exhausted.limit.resource)} from {exhausted.at} on"


def name_resource(resource: str) -> str:
    """Name what limits a point, such as ``limited by the server's CPU``."""
    return f"limited by {'' if resource == 'storage' else 'the '}{resource}"


def mismatch_text(series: Series) -> str:
    """Return a sentence on the conditions that differ between the runs of a series."""
    conditions = "; ".join(f"{one.name} is {' or '.join(map(_fact, one.values))}" for one in series.mismatches)
    runs = "The runs" if series.label == ONE_LINE else f"The runs with {series.label}"
    return f"{runs} were not all made under the same conditions: {conditions}."


def _fact(value: ParameterValue) -> str:
    return "unknown" if value is None else shorten(str(value).replace("\n", " "), _WIDEST_FACT)


def _series_suffix(series: Series, points: PointSet) -> str:
    return f" ({series.label})" if len(points.series) > 1 else ""


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]
