"""The report of several runs, such as those of a sweep: series of points, and the runs side by side if they are few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from openslob.analyze.compare import ComparedValues, Comparison, compare, compare_values
from openslob.analyze.curves.ceiling import other_storage
from openslob.analyze.curves.points import SESSIONS, Point, Run
from openslob.analyze.curves.series import (
    CACHED,
    PHYSICAL,
    RESPONSE_LATENCY,
    Axes,
    PointSet,
    Series,
    axes_for,
    point_set,
)
from openslob.analyze.curves.usl import Scaling
from openslob.analyze.load_kinds import load_kind
from openslob.core.errors import UsageError
from openslob.core.measurement import StorageAlone
from openslob.metrics import METRICS, Timed
from openslob.record.model import RunRecord, Status, all_reservations
from openslob.report import context
from openslob.report.comparison import (
    runs_needed,
    side_by_side_rows,
    stage_tables,
    summary,
    unrecovered,
    value_text,
)
from openslob.report.document import (
    Answer,
    Document,
    MadePictures,
    Paragraph,
    Section,
    TextTable,
    TitleOfSeveral,
    VerdictsOfSeveral,
    in_words,
    named_paragraphs,
    shorten_names,
)
from openslob.report.figures import definitions
from openslob.report.format import MISSING, micros, number, percent, shorten, size
from openslob.report.headline import headline
from openslob.report.record_view import FigureNames, show_figure
from openslob.report.set_summary import (
    axis_text,
    figure_with_interval,
    mismatch_text,
    reads_are_physical,
    set_summary_lines,
)
from openslob.report.slowest import slowest_section
from openslob.report.text import run_document

MOST_REASONS = 3
# More runs would be too many columns of a table and too many lines of a picture.
MOST_SIDE_BY_SIDE = 6
_POINT_FIGURES = (
    "ops_per_s", "pio_read_per_s", "pio_read_mb_per_s", "lio_per_s", "engine_read_latency_us", "redo_mb_per_s",
    "db_cpu_per_s", "iops_per_db_cpu", "host_cpu_left_pct",
)  # fmt: skip
# Letters of a side's name beside a figure.
_SIDE = 16
_LAST = (context.test, context.host, context.server)
_LATENCIES = ("op_p50_us", "op_p99_us")
_RESPONSES = ("op_p50_us", "op_p99_us", "op_response_p50_us", "op_response_p99_us")

# The two sides of a comparison, or the only side: the user's name for it, and its runs.
Sides = Sequence[tuple[str, Sequence[Run]]]


def runs_document(
    sides: Sides,
    runs: Sequence[Run],
    folders: Sequence[Path],
    problems: Sequence[str],
    against: ComparedValues | None = None,
    ceilings: Sequence[StorageAlone] = (),
) -> Document:
    """Return the report of a single run, or that of several runs with a comparison where one is possible.

    Args:
        sides: One or two named groups of runs. Two sides are compared with each other.
        runs: All runs of the sides.
        folders: The record folder of each run.
        problems: Problems found while reading the records; they become remarks.
        against: With one side, the parameter whose two values are compared.
        ceilings: Raw measurements to draw beside physical reads.

    If the two sides cannot be compared, a remark says why.

    """
    if len(runs) == 1:
        return run_document(runs[0].record, folders[0])
    name = shorten_names([part for side, _ in sides for part in side.split(",")])
    try:
        return set_document(name, runs, problems, _compare(sides, runs, against), ceilings)
    except UsageError as error:
        return set_document(name, runs, (*problems, f"The two sides are not compared: {error}"), ceilings=ceilings)


def _compare(sides: Sides, runs: Sequence[Run], against: ComparedValues | None) -> Comparison | None:
    if len(sides) == 2:
        (name_a, a), (name_b, b) = sides
        return compare(a, b, *(shorten_names(name.split(",")) for name in (name_a, name_b)))
    return compare_values(runs, against) if against and len(sides) == 1 else None


def set_document(
    name: str,
    runs: Sequence[Run],
    problems: Sequence[str],
    comparison: Comparison | None = None,
    ceilings: Sequence[StorageAlone] = (),
) -> Document:
    """Return the report of ``runs``, titled ``name``. With a ``comparison`` of two sides, its result comes first.

    ``ceilings`` are drawn beside physical reads, for each block size that they have in common with the runs.
    """
    records, sets = [run.record for run in runs], point_sets(keep_measured(runs))
    names = names_for(records)
    few = records if len(records) <= MOST_SIDE_BY_SIDE else []
    result = [" ".join([summary(comparison), *runs_needed(comparison)])] if comparison else []
    return Document(
        TitleOfSeveral(
            f"{name}: {_servers_and_hosts(records)}",
            _about(records, sets),
            (*_banners(records, problems), *_mixed_conditions(runs, ceilings)),
        ),
        (
            Answer((*result, *_sentences(sets, names))),
            VerdictsOfSeveral(
                tuple((load_kind(record).in_words(record), record.verdicts) for record in records), "run"
            ),
            *([_mismatches(comparison)] if comparison and comparison.mismatches else []),
            *([_comparison_table(comparison), _stages_compared(comparison)] if comparison else []),
            *(section for points in sets for section in (_lines(points, names), _points(points, names))),
            slowest_section(records),
            *([_runs_side_by_side(few)] if few else []),
            _configuration(point_set(keep_measured(runs))),
            _runs(records, sets),
            *(_of_last(show(records[-1]), records) for show in _LAST),
            definitions(),
        ),
        pictures=lambda: _draw(runs, comparison, ceilings),
        key_figures=_of_sides(comparison, names) or _key_figures(sets, names),
    )


def _of_sides(comparison: Comparison | None, names: FigureNames) -> tuple[tuple[str, str], ...]:
    """Return rate and latency of both sides of a comparison; nothing unless each side is one point."""
    if comparison is None or len(comparison.pairs) != 1:
        return ()
    pair = comparison.pairs[0]
    axes = axes_for([pair.a, pair.b])
    sides = tuple(
        (shorten(name, _SIDE), point)
        for name, point in zip((comparison.name_a, comparison.name_b), (pair.a, pair.b), strict=True)
    )
    rate = "logical" if axes.throughput.startswith("lio") else "physical" if names.physical else "engine"
    return (
        *((f"{rate} reads/s, {name}", number(point.mean(axes.throughput))) for name, point in sides),
        *((f"latency, {name}", micros(point.mean(axes.latency))) for name, point in sides),
    )


def _key_figures(sets: Sequence[PointSet], names: FigureNames) -> tuple[tuple[str, str], ...]:
    """Return the best point of all series: its rate, where it is, its latency, and the CPU that is left there."""
    best = [(series, peak) for points in sets for series in points.series if (peak := series.knee or series.peak)]
    known = [(series, peak) for series, peak in best if peak.mean(series.axes.throughput)]
    if not known:
        return ()
    series, point = max(known, key=lambda each: each[1].mean(each[0].axes.throughput) or 0.0)
    engine = "physical" if names.physical else "engine"
    reads = "logical" if series.axes.throughput.startswith("lio") else engine
    return (
        (f"{reads} reads/s", number(point.mean(series.axes.throughput))),
        ("reached with", point.at),
        ("mean latency", micros(point.mean(series.axes.latency))),
        ("host CPU left", percent(point.mean("host_cpu_left_pct"))),
    )


def set_answers(runs: Sequence[Run]) -> list[str]:
    """Return what several runs show in sentences: one for each line of points."""
    return _sentences(point_sets(keep_measured(runs)), names_for([run.record for run in runs]))


def _sentences(sets: Sequence[PointSet], names: FigureNames) -> list[str]:
    return [text for points in sets for text in set_summary_lines(points, names.physical)]


def _of_last(section: Section, records: Sequence[RunRecord]) -> Section:
    """Return a section on the last run under a title that says so: the others may differ."""
    return replace(section, title=f"{section.title} of the last run, {records[-1].id}")


def _draw(runs: Sequence[Run], comparison: Comparison | None, ceilings: Sequence[StorageAlone]) -> MadePictures:
    from openslob.report.pictures import pictures_of_runs  # noqa: PLC0415 - takes a second to import

    return pictures_of_runs(runs, comparison, ceilings), ""


def keep_measured(runs: Sequence[Run]) -> Sequence[Run]:
    """Return the runs with figures, or all if there is none.

    Runs that failed before their window have no points, and would add parameters to the names of the others.
    """
    return [run for run in runs if run.record.summary] or runs


def names_for(records: Sequence[RunRecord]) -> FigureNames:
    """Return the names of figures for these records."""
    timed = Timed.together(record.spec for record in records)
    return FigureNames(
        reads_are_physical([record for record in records if record.status is Status.COMPLETE]), timed=timed
    )


def point_sets(runs: Sequence[Run]) -> list[PointSet]:
    """Return a set for physical reads and one for cached runs, as their figures have different axes."""
    by_axes: dict[Axes, set[str]] = {PHYSICAL: set(), CACHED: set()}
    for series in point_set(runs).series:
        ids = by_axes.setdefault(axes_for(series.points), set())
        ids.update(run for point in series.points for run in (*point.record_ids, *point.left_out))
    return [point_set([run for run in runs if run.record.id in ids], axes) for axes, ids in by_axes.items() if ids]


def _servers_and_hosts(records: Sequence[RunRecord]) -> str:
    engines = [record.engine for record in records]
    products = dict.fromkeys(
        f"{engine.get('product', 'unknown server')} {engine.get('version', '')}" for engine in engines
    )
    hosts = dict.fromkeys(str(host) for record in records if (host := record.environment.get("host")))
    on = "driven from" if any(record.environment.get("local") is False for record in records) else "on"
    where = f" {on} {', '.join(hosts)}" if hosts else ""
    return f"{' and '.join(products).strip()}{where}"


def _about(records: Sequence[RunRecord], sets: Sequence[PointSet]) -> str:
    times = sorted(record.started_at.replace("T", " ").removesuffix("Z") for record in records)
    lines, points = (sum(map(len, each)) for each in zip(*((one.series, one.points) for one in sets), strict=True))
    return (
        f"{len(records)} run{'s' if len(records) > 1 else ''} from {times[0]} to {times[-1]} UTC: {points} points on "
        f"{lines} line{'s' if lines > 1 else ''}."
    )


def _banners(records: Sequence[RunRecord], problems: Sequence[str]) -> list[str]:
    bad = [record for record in records if record.status is not Status.COMPLETE]
    incomplete = [
        f"{record.id} is {record.status.value}: {'; '.join(record.errors[:1])}" for record in bad[:MOST_REASONS]
    ]
    more = [f"and {len(bad) - MOST_REASONS} more runs are not complete"] if len(bad) > MOST_REASONS else []
    return [*incomplete, *more, *all_reservations(records), *problems]


def _mixed_conditions(runs: Sequence[Run], ceilings: Sequence[StorageAlone]) -> list[str]:
    """Return banners for series with mixed conditions, and for raw measurements of other storage than the runs'."""
    mismatches = [mismatch_text(series) for series in point_set(runs).series if series.mismatches]
    reasons = dict.fromkeys(_other_storage(run, ceilings) for run in runs)
    return [*mismatches, *(f"The raw measurement is not of the runs' storage: {why}" for why in reasons if why)]


def _other_storage(run: Run, ceilings: Sequence[StorageAlone]) -> str:
    """Return why no raw measurement is of this run's storage; empty if one may be."""
    whys = [other_storage(ceiling, run.record.environment) for ceiling in ceilings]
    return whys[0] if whys and all(whys) else ""


def _comparison_table(comparison: Comparison) -> Section:
    rows = tuple((pair.label, *row) for pair in comparison.pairs for row in side_by_side_rows(pair))
    head = ("point", "figure", comparison.name_a, comparison.name_b, "difference", "shown")
    text = "Means over the runs. Differences are of the second side to the first, ± half of the 95 % interval."
    return Section("Both sides", (Paragraph(text), TextTable(head, rows)))


def _stages_compared(comparison: Comparison) -> Section:
    """Return the stages of a rate that changes, of a comparison of one point; else an empty section."""
    pairs = comparison.pairs if len(comparison.pairs) == 1 else ()
    tables = [table for pair in pairs for table in stage_tables(pair)]
    why = unrecovered(comparison, (comparison.name_a, comparison.name_b)) if tables else []
    return Section("The stages of both sides", (*tables, *map(Paragraph, why)))


def _mismatches(comparison: Comparison) -> Section:
    rows = tuple((in_words(each.name), value_text(each.a), value_text(each.b)) for each in comparison.mismatches)
    lead = Paragraph("Conditions that are not the same on both sides may explain differences between the figures.")
    table = TextTable(("parameter or fact", "A", "B"), rows)
    return Section("What makes the two sides hard to compare", (lead, table))


def _lines(points: PointSet, names: FigureNames) -> Section:
    head = (
        "line", "knee", "at the knee", "peak", "at the peak", "then", "limited by", "one session gives", "serial σ",
        "coherence κ", "R²", "remark",
    )  # fmt: skip
    unit = (
        f"Throughput is {names.axis(points.axes.throughput)}; σ, κ and R² are those of the Universal Scalability Law."
    )
    return Section("The lines", (Paragraph(unit), TextTable(head, [_line(series) for series in points.series])))


def _line(series: Series) -> tuple[str, ...]:
    knee, peak, fit = series.knee, series.peak, series.scaling
    limit = f"{series.exhausted.limit.resource} from {series.exhausted.at} on" if series.exhausted else MISSING
    law = (
        (number(fit.lambda_per_s), number(fit.sigma), number(fit.kappa), number(fit.r2))
        if isinstance(fit, Scaling)
        else (MISSING,) * 4
    )
    why = "; ".join(filter(None, (series.knee_result.why, "" if isinstance(fit, Scaling) else fit.why)))
    turn = series.knee_result.tail_trend.value if series.knee_result.tail_trend else MISSING
    return (series.label, *_at(series, knee), *_at(series, peak), turn, limit, *law, why)


def _at(series: Series, point: Point | None) -> tuple[str, str]:
    if point is None:
        return MISSING, MISSING
    return point.at, figure_with_interval(point.figure(series.axes.throughput))


def _points(points: PointSet, names: FigureNames) -> Section:
    latencies = _RESPONSES if points.axes.latency == RESPONSE_LATENCY else _LATENCIES
    head = (
        "line",
        axis_text(points),
        "runs",
        *(names.axis(name) for name in (*_POINT_FIGURES, *latencies)),
        "verdicts that fail",
    )
    rows = tuple(
        (
            series.label, f"{point.step:,g}", str(len(point.record_ids)),
            *(figure_with_interval(point.figure(name)) for name in (*_POINT_FIGURES, *latencies)),
            ", ".join(map(in_words, point.failed)) or "none",
        )
        for series in points.series
        for point in series.points
    )  # fmt: skip
    lead = Paragraph("Means over the runs, ± half of the 95 % interval where it is known.")
    return Section("The points", (lead, TextTable(head, rows)))


def _runs_side_by_side(records: Sequence[RunRecord]) -> Section:
    names = names_for(records)
    found = {name for record in records for name in load_kind(record).figures(record)}
    listed = [name for name in METRICS if name in found]
    rows = tuple((names.label(name), *(show_figure(record, name) for record in records)) for name in listed)
    headlines = named_paragraphs((record.id, headline(record)) for record in records)
    return Section("Side by side", (*headlines, TextTable(("figure", *(record.id for record in records)), rows)))


def _configuration(points: PointSet) -> Section:
    varied = tuple(
        (in_words(name), ", ".join(dict.fromkeys(_value(name, series.key.get(name)) for series in points.series)))
        for name in points.varying
    )
    counts = sorted({point.sessions for point in points.points})
    sessions = ", ".join(str(count) if count else "not known of observations" for count in counts)
    common = tuple((in_words(name), _value(name, value)) for name, value in points.common.items())
    asked = ", ".join(dict.fromkeys(point.at for point in points.points)) if points.along != SESSIONS else ""
    rates = ((in_words(points.along), asked),) if asked else ()
    table = TextTable(("parameter", "value"), (("sessions", sessions), *rates, *varied, *common))
    return Section("Configuration", (Paragraph("Varied parameters first; the others are the same in all runs."), table))


def _value(name: str, value: object) -> str:
    if value is None:
        return MISSING
    if name.endswith(("_bytes", "block_size")) and isinstance(value, int):
        return size(value)
    if name.endswith("_pct") and isinstance(value, (int, float)):
        return percent(value)
    return str(value)


def _runs(records: Sequence[RunRecord], sets: Sequence[PointSet]) -> Section:
    head = ("id", "started (UTC)", "status", "sessions", "seed", "left out because")
    left_out = {run: why for points in sets for point in points.points for run, why in point.left_out.items()}
    rows = tuple(
        (
            record.id, record.started_at, record.status.value, str(load_kind(record).sessions(record) or MISSING),
            str(record.spec.get("seed", MISSING)), left_out.get(record.id, ""),
        )
        for record in records
    )  # fmt: skip
    return Section("The runs", (TextTable(head, rows),))
