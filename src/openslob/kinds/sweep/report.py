"""Text report of a sweep: the plan before it runs, and afterwards each series with a row per point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from openslob.analyze.compare import ComparedValues, compare_values
from openslob.analyze.curves.points import Point, Run, step_word
from openslob.analyze.curves.series import (
    MIN_POINTS,
    ONE_LINE,
    RESPONSE_LATENCY,
    Axes,
    PointSet,
    Series,
    point_set,
)
from openslob.analyze.load_kinds import load_kind
from openslob.analyze.statistics import Estimate
from openslob.core.errors import UsageError
from openslob.core.units import format_duration
from openslob.kinds.sweep.record import PointState, SearchRecord, SweepRecord
from openslob.kinds.sweep.screen import sweep_screen
from openslob.metrics import METRICS
from openslob.record.model import all_reservations
from openslob.record.varied import Value, format_parameter, word_for
from openslob.report.compare_screen import rate_sentence
from openslob.report.comparison import show_side_by_side
from openslob.report.document import (
    Document,
    LabelledTexts,
    Paragraph,
    Section,
    TextPicture,
    TextTable,
    in_words,
    plain_paragraphs,
    title_of,
)
from openslob.report.format import MISSING, NO_BREAK, WIDTH, micros, number, percent, size
from openslob.report.record_view import REACHED_DEVICE, FigureNames
from openslob.report.set_summary import cost_at, figure_with_interval, mismatch_text, name_limit
from openslob.report.several_runs import names_for
from openslob.report.slowest import of_single_blocks, slowest_section
from openslob.report.text_plot import text_petals

OP_PERCENTILES = ("op_p50_us", "op_p99_us")
_COLUMNS = (
    "sessions",
    "per s",
    f"±{NO_BREAK}95{NO_BREAK}%",
    "latency",
    "op p50",
    "op p99",
    "DB CPU",
    "CPU left",
    "runs",
    "limit",
    "verdicts",
)
_TEXTS = frozenset({0, _COLUMNS.index("limit"), _COLUMNS.index("verdicts")})
# What changes a setting of the server's own.
_EFFECTS = {"session": "set in each session", "restart": "a restart each", "new server": "a new server each"}
# Longest list of failed points; the rest are counted.
_MOST_ERRORS = 10
# A wider plot has more room between its points, and nothing else.
_WIDEST_PLOT = 100


def sweep_document(record: SweepRecord, runs: Sequence[Run], folder: Path | None = None) -> Document:
    """Return the report: the result of a search, each series with its knee and points, then what failed.

    If ``folder`` is given, its last lines name it and what draws its runs.
    """
    doubts = all_reservations(run.record for run in runs)
    points = point_set(runs) if runs else None
    search, states = _search_result(record, runs), _point_states(record)
    series = points.series if points else ()
    heads = plain_paragraphs(_head(each, points) for each in series) if points else ()
    names = names_for([run.record for run in runs])
    shown = (
        (section for each in series for section in _show_series(each, points, record.figures, names)) if points else ()
    )
    against, compared = _compare(record, runs, points)
    answer = search[0].text if search else ""
    return Document(
        title_of(record, "sweep", f"a sweep on {record.target}", why=_why_incomplete(record), warnings=doubts),
        (
            Section("", (*(Paragraph(each, "! ") for each in doubts), *search)),
            *shown,
            *compared,
            *([_show_slowest(runs), _failed_verdicts(points.points), _draw(points, names)] if points else []),
            Section("", states),
            Section("", (*(search or heads), *states), short_only=True),
        ),
        (f"records: {folder}", *([f"slob report {folder} draws them"] if runs else [])) if folder else (),
        titled=False,
        screen=sweep_screen(record, runs, points, answer, against, folder),
    )


def _why_incomplete(record: SweepRecord) -> str:
    """Return the first of the points that have no result, or how many are left."""
    bad = [point for point in record.points if point.state in (PointState.FAILED, PointState.SKIPPED)]
    left = f"{len(record.pending)} of {len(record.points)} points are left" if record.pending else ""
    first = f"{len(bad)} of {len(record.points)} points failed, the first {bad[0].label}: {bad[0].error}" if bad else ""
    return "; ".join(filter(None, (first, left)))


def _search_result(record: SweepRecord, runs: Sequence[Run]) -> tuple[Paragraph, ...]:
    search = record.search
    if search is None or search.why is None:
        return ()
    limit = f"{micros(search.limit_us)} at {search.at}"
    if search.sessions is None or search.throughput is None:
        return plain_paragraphs([f"No session count stays under {limit}: {search.why}."])
    reads = names_for([run.record for run in runs]).label(search.throughput).lower()
    sessions = f"{search.sessions} session{'s' if search.sessions != 1 else ''}"
    return plain_paragraphs(
        [
            f"The most under {limit}: {number(search.best)} {reads}/s with {sessions}, "
            f"at {micros(search.latency_us)}{_cost_of_best(search, runs)}; {search.why}."
        ]
    )


def _cost_of_best(search: SearchRecord, runs: Sequence[Run]) -> str:
    """Return what reads and commits cost at the latency limit; empty without a price."""
    best = [run for run in runs if load_kind(run.record).sessions(run.record) == search.sessions]
    if not best:
        return ""
    points = point_set(best)
    costs = [cost for point in points.points if (cost := cost_at(point, points.axes))]
    return f", {costs[0]}" if len(costs) == 1 else ""


def _show_series(series: Series, points: PointSet, figures: Sequence[str], names: FigureNames) -> Iterator[Section]:
    """Yield the table of a series under its knee, that of further figures, and how its conditions differ."""
    head = Paragraph(_head(series, points), plain=True)
    table = TextTable(_titles(points), [_row(point, points.axes) for point in series.points], texts=_TEXTS)
    mismatches = plain_paragraphs([mismatch_text(series)] if series.mismatches else [], "! ")
    if not figures:
        yield Section("", (head, table, *mismatches))
        return
    yield Section("", (head, table))
    yield Section("", (_table_figures(series, points, figures, names), *mismatches))


def _titles(points: PointSet) -> tuple[str, ...]:
    heads = {"sessions": step_word(points.along)}
    heads |= {f"op {at}": f"{points.timed.short} {at}" for at in ("p50", "p99")}
    if points.axes.latency == RESPONSE_LATENCY:
        heads |= {"op p50": "resp p50", "op p99": "resp p99", "latency": "response"}
    return tuple(heads.get(name, name) for name in _COLUMNS)


def _head(series: Series, points: PointSet) -> str:
    is_physical = all(REACHED_DEVICE in point.held for point in series.points)
    label = METRICS[points.axes.throughput].label_of(is_physical)
    which = label if series.label == ONE_LINE else f"{series.label}, {label.lower()}"
    return f"{which}: {_shape(series, points.axes)}"


def _table_figures(series: Series, points: PointSet, figures: Sequence[str], names: FigureNames) -> TextTable:
    """Return a table of further figures with half of their 95 % intervals where known."""
    rows = [
        (f"{point.step:,g}", *(figure_with_interval(point.figure(name)) for name in figures)) for point in series.points
    ]
    return TextTable(
        (step_word(points.along), *(f"{names.label(name)}, {METRICS[name].unit}" for name in figures)), rows
    )


def _compare(record: SweepRecord, runs: Sequence[Run], points: PointSet | None) -> tuple[str, tuple[Section, ...]]:
    """Return how the two values compare that the sweep was asked to compare, if any: the answer, and all of it."""
    if not record.against or points is None:
        return "", ()
    try:
        comparison = compare_values(runs, ComparedValues(record.against, *record.values_against))
    except UsageError as error:
        why = f"The two values are not compared: {error}"
        return why, (Section("", plain_paragraphs([why], "! ")),)
    return rate_sentence(comparison, points.axes.throughput), show_side_by_side(comparison, record.figures)


def _show_slowest(runs: Sequence[Run]) -> Section:
    """Return the slowest operations of all runs if they visit one block each: then they are single reads."""
    records = [run.record for run in runs]
    return slowest_section(records) if of_single_blocks(records) else Section("", ())


def _draw(points: PointSet, names: FigureNames) -> Section:
    """Return latency over throughput, drawn in characters, where there are enough points for a line."""
    if all(len(series.points) < MIN_POINTS for series in points.series):
        return Section("", ())
    plot = TextPicture(lambda columns: text_petals(points, names.axis, min(columns or WIDTH, _WIDEST_PLOT)), plot=True)
    return Section("", (plot,))


def _shape(series: Series, axes: Axes) -> str:
    knee = series.knee
    if knee is None:
        text = f"no knee, {series.knee_result.why}" if series.knee_result.why else "no knee"
        cost = cost_at(series.peak, axes) if series.peak else ""
        return f"{text}; at its peak, {series.peak.at}, {cost}." if series.peak and cost else f"{text}."
    text = f"knee at {knee.at}, {number(knee.mean(axes.throughput))}/s at {micros(knee.mean(axes.latency))}"
    if cost := cost_at(knee, axes):
        text += f", {cost}"
    if series.exhausted:
        text += f"; {name_limit(series.exhausted)}"
    return (
        f"{text}; at the end, throughput {series.knee_result.tail_trend.value}."
        if series.knee_result.tail_trend
        else f"{text}."
    )


def _row(point: Point, axes: Axes) -> tuple[str, ...]:
    throughput = point.figure(axes.throughput)
    percentiles = ("op_response_p50_us", "op_response_p99_us") if axes.latency == RESPONSE_LATENCY else OP_PERCENTILES
    return (
        f"{point.step:,g}",
        number(throughput.mean),
        _half_width(throughput),
        micros(point.mean(axes.latency)),
        *(micros(point.mean(name)) for name in percentiles),
        number(point.mean("db_cpu_per_s")),
        percent(point.mean("host_cpu_left_pct")),
        str(len(point.record_ids)),
        point.limit.resource if point.limit else MISSING,
        f"{len(point.failed)} fail" if point.failed else "none fails",
    )


def _half_width(estimate: Estimate) -> str:
    if estimate.half_width is None or not estimate.mean:
        return MISSING
    return percent(round(100 * estimate.half_width / abs(estimate.mean), 1))


def _failed_verdicts(points: Sequence[Point]) -> Section:
    """Return a line for each failed verdict: the number of points and the reason in the first."""
    reasons: dict[str, list[str]] = {}
    for point in points:
        for name, why in point.failed.items():
            reasons.setdefault(name, []).append(why)
    texts = [
        f"{in_words(name)} fails in {len(why)} of {len(points)} points. First: {why[0]}"
        for name, why in reasons.items()
    ]
    return Section("", plain_paragraphs(texts, "! "))


def _point_states(record: SweepRecord) -> tuple[Paragraph, ...]:
    states = ", ".join(f"{count} {state.value}" for state, count in record.counts.items() if count)
    bad = [point for point in record.points if point.state in (PointState.FAILED, PointState.SKIPPED)]
    texts = [f"{point.state.value} {point.label}: {point.error}" for point in bad[:_MOST_ERRORS]]
    texts += [f"and {len(bad) - _MOST_ERRORS} more"] if len(bad) > _MOST_ERRORS else []
    return (Paragraph(f"points: {states or 'none'}", plain=True), *plain_paragraphs(texts, "! "))


def _describe_varied(name: str, values: Sequence[Value], effect: str) -> tuple[str, str]:
    shown = [format_parameter(name, value)[1] for value in values]
    return word_for(name), ", ".join(shown) + (f" ({effect})" if effect else "")


def plan_sections(record: SweepRecord, rows: Sequence[tuple[str, ...]], free_bytes: int | None) -> tuple[Section, ...]:
    """Return the plan of a sweep. ``rows``: number, point, what happens before it, seconds; in order of execution."""
    grid = {**record.server_grid, **record.grid}
    free = "" if free_bytes is None else f", {size(free_bytes)} free"
    facts = [
        ("target", record.target),
        *(
            _describe_varied(name, values, _EFFECTS.get(record.effects.get(name, ""), ""))
            for name, values in grid.items()
        ),
        ("repeats", str(record.repeats)),
        ("points", str(len(rows)) if rows else "chosen by the search as it runs"),
        ("time", f"about {format_duration(record.estimated_s or 0)}" if rows else "depends on the search"),
        ("disk", f"about {size(record.estimated_bytes)}{free}" if rows else f"not known{free}"),
    ]
    table = TextTable(("no", "point", "before it", "s"), rows, texts=frozenset({1, 2}))
    return (
        Section("", (LabelledTexts(facts),)),
        Section("", (table,) if rows else ()),
        Section("", plain_paragraphs(record.notes, "! ")),
    )
