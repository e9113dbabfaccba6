"""Pictures over the session count, a line for each series: latency percentiles, CPU, and the rates of classes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import altair as alt

from openslob.analyze.curves.points import CLASS_COUNT
from openslob.analyze.curves.series import RESPONSE_LATENCY, PointSet
from openslob.core.session_classes import name_kind
from openslob.metrics import Timed
from openslob.report.charts.petals import dots_by_doubt, stretches, verdict_sign
from openslob.report.charts.picture import Panel, Picture, layer_charts
from openslob.report.charts.theme import (
    Tip,
    colour_by,
    count_axis,
    dash_by,
    from_zero,
    inline,
    legend_selection,
    selection_opacity,
    shape_by,
    with_tips,
)
from openslob.report.document import TextTable
from openslob.report.format import number
from openslob.report.record_view import FigureNames, unit_of
from openslob.report.set_summary import axis_text, figure_with_interval

Row = dict[str, Any]
PERCENTILES = {"p50_us": "p50", "p90_us": "p90", "p99_us": "p99", "p999_us": "p99.9"}
# With more lines than this, only p50 and p99 are drawn, because four percentiles of each are unreadable.
FULL_LINES = 2
FEW = ("p50_us", "p99_us")
PANEL_HEIGHT = 260
_RATE = "ops_per_s"
NOTES = ("Hollow points: a verdict fails. Bars: 95 % intervals.",)


def latency_percentiles(points: PointSet) -> Picture:
    """Return the latency percentiles of the most frequent kind of operation over sessions."""
    chosen = tuple(PERCENTILES) if len(points.series) <= FULL_LINES else FEW
    op = "op_response" if points.axes.latency == RESPONSE_LATENCY else "op"
    what = "Latency" if op == "op" else "Response time"
    whose = f" of {points.timed.many()}" if points.timed.is_batch else ""
    rows = [row | {"percentile": PERCENTILES[name]} for name in chosen for row in session_rows(points, f"{op}_{name}")]
    shown = ", ".join(PERCENTILES[name] for name in chosen)
    return Picture(
        name="latency-percentiles",
        title=f"{what} percentiles{whose} over {axis_text(points)}",
        description=f"Latency of {points.timed.a()} ({shown}) over the number of {axis_text(points)}. "
        f"{_first_to_last(points, f'{op}_p99_us', 'p99')}",
        panels=(_percentile_panel(rows, axis_text(points), points.timed),) if rows else (),
        notes=NOTES,
        table=_table(points, {f"{op}_{name}": PERCENTILES[name] + " (µs)" for name in PERCENTILES}),
    )


def cpu(points: PointSet, names: FigureNames | None = None) -> Picture:
    """Return host CPU, and reads per CPU second of the server, over sessions."""
    names = names or FigureNames()
    per_cpu = "iops_per_db_cpu" if points.axes.throughput.startswith("pio") else "lio_per_db_cpu"
    used = "db_cpu_per_s"
    # Where the CPU of the whole server is not known, that of its sessions may be.
    if not session_rows(points, "db_cpu_per_s") and session_rows(points, "iops_per_foreground_cpu"):
        used, per_cpu = "foreground_cpu_per_s", "iops_per_foreground_cpu"
    figures = ("host_cpu_busy_pct", per_cpu)
    title = f"CPU, and {names.label(per_cpu)}, over {axis_text(points)}"
    return _picture("cpu", title, points, figures, names, (used, *figures))


def class_rates(points: PointSet) -> Picture:
    """Return what each class of sessions did per second, over the sessions of the class whose number varies."""
    counts = dict.fromkeys(name for point in points.points for name in point.parameters if name.endswith(CLASS_COUNT))
    classes = [name.removesuffix(CLASS_COUNT) for name in counts]
    figures = {name_kind(of_class, _RATE): f"Operations of {of_class}" for of_class in classes}
    title = f"Operations per second of each class over {axis_text(points)}"
    return _picture("classes", title, points, tuple(figures), FigureNames(instead=figures), tuple(figures))


def _picture(
    name: str, title: str, points: PointSet, figures: Sequence[str], names: FigureNames, listed: Sequence[str]
) -> Picture:
    """Return a panel for each of the figures that is known, and a table of those that are ``listed``."""
    panels = {figure: rows for figure in figures if (rows := session_rows(points, figure))}
    return Picture(
        name=name,
        title=title,
        description=" ".join(_first_to_last(points, figure, names.label(figure)) for figure in figures),
        panels=tuple(_panel(points, rows, figure, names) for figure, rows in panels.items()),
        notes=NOTES,
        table=_table(points, {figure: names.axis(figure) for figure in listed}),
        heights=dict.fromkeys(range(len(panels)), PANEL_HEIGHT),
    )


def session_rows(points: PointSet, figure: str) -> list[Row]:
    """Return a row for each point that has ``figure``: session count, mean, interval, and whether verdicts fail.

    Observations have no place on the axis: their sessions are not known.
    """
    return [
        {
            "line": series.label, "sessions": point.step, "value": estimate.mean, "low": estimate.low,
            "high": estimate.high, "doubt": verdict_sign(point.severity), "stretch": stretch,
        }
        for series in points.series
        for stretch, _, point in stretches(series, (figure,))
        for estimate in (point.figure(figure),)
        if point.has_place
    ]  # fmt: skip


def _percentile_panel(rows: list[Row], along: str, timed: Timed) -> Panel:
    lines, names = (list(dict.fromkeys(row[field] for row in rows)) for field in ("line", "percentile"))
    picks = [legend_selection("line", "picked_line"), legend_selection("percentile", "picked_percentile")]
    y = alt.Y("value:Q", title=f"latency of {timed.a()} (µs)", scale=_axis_scale(rows))
    base = _base(rows, along).encode(y=y, color=colour_by("line", lines), **selection_opacity(*picks))
    drawn = base.mark_line(strokeWidth=1.8).encode(
        strokeDash=dash_by("percentile", names, outlined=True),
        detail=[alt.Detail("line:N"), alt.Detail("percentile:N"), alt.Detail("stretch:N")],
    )
    tips = [*_tips(f"{timed.at('latency')} (µs)", along), Tip("percentile", "percentile")]
    return layer_charts(_bars(base), drawn, *_dots(base, shape_by("line", lines), tips), params=picks)


def _panel(points: PointSet, rows: list[Row], figure: str, names: FigureNames) -> Panel:
    """Return the lines of a figure; a line has the same colour in all panels, though it may not be in each."""
    lines, along = [series.label for series in points.series], axis_text(points)
    # What selects is named as a variable is.
    pick = legend_selection("line", re.sub(r"\W", "_", f"picked_{figure}"))
    scale = alt.Scale(domain=[0, 100]) if unit_of(figure) == "%" else _axis_scale(rows)
    y = alt.Y("value:Q", title=names.axis(figure), scale=scale)
    base = _base(rows, along).encode(y=y, color=colour_by("line", lines), **selection_opacity(pick))
    drawn = base.mark_line(strokeWidth=1.8).encode(strokeDash=dash_by("line", lines), detail=alt.Detail("stretch:N"))
    dots = _dots(base, shape_by("line", lines), _tips(names.axis(figure), along))
    return layer_charts(_bars(base), drawn, *dots, params=[pick])


def _base(rows: list[Row], along: str) -> alt.Chart:
    x = count_axis([row["sessions"] for row in rows], along[:1].upper() + along[1:])
    base: alt.Chart = alt.Chart(inline(rows)).encode(x=x)
    return base


def _bars(base: alt.Chart) -> alt.Chart:
    known = base.transform_filter("isValid(datum.low)")
    bars: alt.Chart = known.mark_rule(clip=True, strokeWidth=1).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
    return bars


def _dots(base: alt.Chart, shape: alt.Shape, tips: Sequence[Tip]) -> list[alt.Chart]:
    return [with_tips(dots.encode(shape=shape), *tips) for dots in dots_by_doubt(base, 55)]


def _tips(title: str, along: str) -> list[Tip]:
    return [Tip("line", "line"), Tip("sessions", along), Tip("value", title, "low", "high"), Tip("doubt", "verdicts")]


def _axis_scale(rows: Sequence[Row]) -> alt.Scale:
    return from_zero([row["value"] for row in rows])


def _first_to_last(points: PointSet, figure: str, label: str) -> str:
    parts = []
    for series in points.series:
        known = [point for point in series.points if point.has_place and point.mean(figure) is not None]
        if known:
            first, last = known[0], known[-1]
            course = f"{number(first.mean(figure))} with {first.step:,g} to {number(last.mean(figure))} with"
            parts.append(f"{series.label}: from {course} {last.at}")
    return f"{label}: {'; '.join(parts)}." if parts else f"{label}: not known."


def _table(points: PointSet, columns: dict[str, str]) -> TextTable:
    rows = [
        (series.label, f"{point.step:,g}", *(figure_with_interval(point.figure(name)) for name in columns))
        for series in points.series
        for point in series.points
        if point.has_place
    ]
    return TextTable(("line", axis_text(points), *columns.values()), tuple(rows))
