"""Petal pictures: latency over throughput, a line for each series, a point for each session count.

Each line connects its points in the order of session counts: it rises, bends where a resource is exhausted, and may
turn back. Arrow heads show the direction, crosses through a point its 95 % intervals, a ring the knee. A point is
pale if a verdict on it fails so that its figures may differ, and hollow and crossed out if they must not be used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import altair as alt

from openslob.analyze.curves.points import ORDER, RATES, Point
from openslob.analyze.curves.series import PHYSICAL, Axes, PointSet, Series
from openslob.analyze.verdict_registry import Severity
from openslob.core.measurement import Ceiling
from openslob.core.units import format_bytes
from openslob.metrics import METRICS
from openslob.report.charts.colours import FAINT, QUIET, WARNING
from openslob.report.charts.picture import Panel, Picture, layer_charts
from openslob.report.charts.theme import (
    Sign,
    Tip,
    colour_by,
    dash_by,
    from_zero,
    inline,
    is_log,
    legend_selection,
    selection_opacity,
    shape_by,
    with_tips,
)
from openslob.report.document import TextTable
from openslob.report.format import MISSING, number, quantity
from openslob.report.record_view import FigureNames
from openslob.report.set_summary import axis_text

Row = dict[str, Any]
_CEILING_AXES = (PHYSICAL.throughput, PHYSICAL.latency)
BY_RATE = ("pio_read_per_s", "lio_per_s")
# With more lines than this, only ends and knees are labelled, because labels would overlap.
LABELLED_LINES = 6
# Longer intervals, as a share of the largest mean, are cut off at the edge so that they do not shrink the picture.
LONGEST_BAR = 0.25
SOUND = "no doubt"
_RING = "M-1,0A1,1,0,1,1,1,0A1,1,0,1,1,-1,0M-{0},0A{0},{0},0,1,0,{0},0A{0},{0},0,1,0,-{0},0Z"
KNEE = Sign("knee", _RING.format("0.85"))
# How much of its colour a point has whose figures may differ.
PALE = 0.35
DOUBTED = Sign("pale: may differ, a verdict fails", "M-1,0A1,1,0,1,1,1,0A1,1,0,1,1,-1,0Z", FAINT)
UNTRUE = Sign(
    "hollow, crossed out: must not be used",
    "M-1,-0.75L-0.75,-1L0,-0.25L0.75,-1L1,-0.75L0.25,0L1,0.75L0.75,1L0,0.25L-0.75,1L-1,0.75L-0.25,0Z",
    WARNING,
)
SIGNS = (KNEE, DOUBTED, UNTRUE)
# The point of a sweep that is being measured: a dot in a circle. Its data have a name, so that it moves.
NOW = "now"
_MEASURED_NOW = _RING.format("0.8") + "M-0.35,0A0.35,0.35,0,1,1,0.35,0A0.35,0.35,0,1,1,-0.35,0Z"


def petals(
    points: PointSet, throughput: str, names: FigureNames | None = None, ceilings: Sequence[Ceiling] = ()
) -> Picture:
    """Return the picture over ``throughput``, a figure of the registry, with the latency of the set's axes.

    ``ceilings`` are drawn only if the axes are physical reads per second and their latency.
    """
    names = names or FigureNames()
    rows = petal_rows(points, throughput)
    latency = points.axes.latency
    ceiling_points = ceiling_rows(ceilings) if (throughput, latency) == _CEILING_AXES else []
    unit = METRICS[throughput].unit
    return Picture(
        name=f"petals-{throughput.removesuffix('_per_s').replace('_', '-')}",
        title=f"Latency over {'MB/s' if unit == 'MB/s' else 'IOPS' if throughput in BY_RATE else unit}",
        description=_describe(points, throughput, names),
        panels=(petal_panel(rows, Axes(throughput, latency), axis_text(points), names, ceiling_points),)
        if rows
        else (),
        notes=(
            _legend(points, rows),
            *(_ceiling_notes(ceilings) if ceiling_points else ()),
            *missing(points, (throughput, latency)),
        ),
        table=_table(rows, throughput, latency, names, axis_text(points)),
    )


def _legend(points: PointSet, rows: Sequence[Row]) -> str:
    bars = " Bars: 95 % intervals." if any(row[end] is not None for row in rows for end in ("x_low", "y_low")) else ""
    known = [row["sessions"] is not None for row in rows]
    numbers = f"Numbers at the points: {axis_text(points)}." if any(known) else ""
    unknown = " Points without a number are observations: their sessions are not known."
    return f"{numbers}{'' if all(known) else unknown}{bars}".strip()


def petal_rows(points: PointSet, throughput: str) -> list[Row]:
    """Return a row for each point with known throughput and latency: means, intervals, verdicts, place in its line."""
    return [
        row | {"stretch": stretch}
        for series in points.series
        for stretch, order, point in stretches(series, (throughput, points.axes.latency))
        if (row := _row(series, point, order, throughput, points.axes.latency)) is not None
    ]


def ceiling_rows(ceilings: Sequence[Ceiling]) -> list[Row]:
    """Return a row for each point of the raw measurements."""
    return [
        {
            "ceiling": each.id,
            "block": format_bytes(each.block_bytes),
            "x": point.iops,
            "y": point.mean_us,
            "in_flight": point.in_flight,
        }
        for each in ceilings
        for point in each.points
        if point.mean_us is not None
    ]


def _ceiling_notes(ceilings: Sequence[Ceiling]) -> list[str]:
    texts = [
        f"{each.id}, {format_bytes(each.block_bytes)} blocks, {each.points[0].in_flight} to {each.points[-1].in_flight}"
        for each in ceilings
        if each.points
    ]
    return [f"Grey, dotted: storage alone ({'; '.join(texts)} in flight), as far as the latency axis reaches."]


def stretches(series: Series, figures: Sequence[str]) -> Iterator[tuple[int, int, Point]]:
    """Yield stretch number, place in the series and point, for the points that have all these figures.

    A stretch ends where a point is missing, because a line across the gap would show values that were not measured. A
    point that only has the number of its report is a stretch by itself: nothing is known of what lies between.
    """
    stretch, before = 0, -1
    for order, point in enumerate(series.points):
        if all(point.mean(figure) is not None for figure in figures):
            stretch += order != before + 1 or point.along == ORDER
            before = order
            yield stretch, order, point


def missing(points: PointSet, figures: Sequence[str]) -> list[str]:
    """Return a sentence for each series in which points are missing."""
    texts = []
    for series in points.series:
        known = {order for _, order, _ in stretches(series, figures)}
        counts = [f"{point.step:,g}" for order, point in enumerate(series.points) if order not in known]
        what = "requested per second" if points.along in RATES else "session" if counts == ["1"] else "sessions"
        texts += [f"No result: {series.label} with {', '.join(counts)} {what}."] if counts else []
    return texts


def arrow_rows(rows: Sequence[Row], logs: Mapping[str, bool]) -> list[Row]:
    """Return the midpoint of each pair of neighbouring points of a line, with both points.

    ``logs`` says whether the ``x`` and ``y`` axes are logarithmic; if so, the midpoint is the geometric mean.
    """
    pairs = [(a, b) for a, b in pairwise(rows) if (a["line"], a["stretch"]) == (b["line"], b["stretch"])]
    return [
        {name: a[name] for name in ("line", "colour", "dash")}
        | {f"{axis}_mid": _midpoint(a[axis], b[axis], logs[axis]) for axis in "xy"}
        | {f"{axis}_{end}": row[axis] for axis in "xy" for end, row in (("from", a), ("to", b))}
        for a, b in pairs
    ]


def verdict_sign(severity: Severity | None) -> str:
    """Return the name of the sign for the gravest of what fails at a point; a note has none."""
    signs = {Severity.INVALID: UNTRUE.name, Severity.CAUTION: DOUBTED.name}
    return SOUND if severity is None else signs.get(severity, SOUND)


def colour_and_dash(series: Series) -> tuple[str, str]:
    """Return what a line's colour and its dash stand for: if block sizes differ, colour is the block size."""
    rest = {name: value for name, value in series.key.items() if name != "block_size"}
    if "block_size" not in series.key or not rest:
        return series.label, series.label
    size = series.key["block_size"]
    block = f"{format_bytes(size)} blocks" if isinstance(size, int) else "block size unknown"
    return block, ", ".join(part for part in series.label.split(", ") if part != block)


def _row(series: Series, point: Point, order: int, throughput: str, latency: str) -> Row | None:
    x, y = point.figure(throughput), point.figure(latency)
    if x.mean is None or y.mean is None:
        return None
    colour, dash = colour_and_dash(series)
    return {
        "line": series.label, "colour": colour, "dash": dash, "order": order,
        "sessions": point.step if point.has_place else None,
        "x": x.mean, "x_low": x.low, "x_high": x.high, "y": y.mean, "y_low": y.low, "y_high": y.high,
        "runs": len(point.record_ids), "doubt": verdict_sign(point.severity),
        "fails": ", ".join(name.replace("_", " ") for name in point.failed) or "none",
        "knee": series.knee_result.knee == point.step,
        "end": order in (0, len(series.points) - 1),
    }  # fmt: skip


@dataclass(frozen=True)
class Growing:
    """What a sweep in progress draws next: ``now`` is the point that is being measured, if there is one.

    ``lines`` names all that the sweep will have, in the order of their colours.
    """

    now: Sequence[Row]
    lines: Sequence[str]


def petal_panel(
    rows: list[Row],
    axes: Axes,
    along: str,
    names: FigureNames,
    ceiling_points: Sequence[Row] = (),
    growing: Growing | None = None,
) -> Panel:
    """Return the lines of `petal_rows`, whose points are ordered by ``along``.

    ``growing`` is what they become: the point that is being measured is drawn from the data `NOW`, whether there is one
    yet or not.
    """
    throughput = axes.throughput
    view = f"petals_{throughput}"
    seen = [*rows, *(growing.now if growing else ())]
    x_scale, y_scale = _axis_scale([*seen, *_within_latency(ceiling_points, seen)], "x"), _axis_scale(seen, "y")
    x = alt.X("x:Q", title=names.axis(throughput), scale=x_scale)
    y = alt.Y("y:Q", title=names.axis(axes.latency), scale=y_scale)
    later = growing.lines if growing else ()
    colours, dashes = (list(dict.fromkeys([*later, *(row[name] for row in seen)])) for name in ("colour", "dash"))
    two = colours != dashes
    picks = [
        legend_selection("colour", f"picked_colour_{throughput}"),
        *([legend_selection("dash", f"picked_dash_{throughput}")] if two else []),
    ]
    signs = _signs_among(rows)
    colour = colour_by("colour", colours, () if two else signs)
    shape, dash = shape_by("dash", dashes, signs, two), dash_by("dash", dashes, signs, two)
    base = alt.Chart(inline(rows)).encode(x=x, y=y, **selection_opacity(*picks))
    between = alt.Chart(inline(arrow_rows(rows, {"x": is_log(x_scale), "y": is_log(y_scale)})))
    tips = _tips(axes, along, names)
    sign = shape_by("sign", dashes, signs, two)
    return layer_charts(
        *([_ceiling(ceiling_points, x, y)] if ceiling_points else []),
        *_bars(base, colour),
        base.mark_line(strokeWidth=1.8).encode(
            color=colour,
            strokeDash=dash,
            order=alt.Order("order:Q"),
            detail=[alt.Detail("line:N"), alt.Detail("stretch:N")],
        ),
        _arrows(between, x_scale, y_scale, colour, view).encode(**selection_opacity(*picks)),
        *_dots(base, colour, shape, tips),
        _labels(base, rows),
        *(_draw_signs(base, sign, each) for each in signs),
        *(_measured_now(alt.Chart(alt.NamedData(NOW)).encode(x=x, y=y, color=colour), tips) if growing else ()),
        params=picks,
        name=view,
    )


def _within_latency(ceiling_points: Sequence[Row], rows: Sequence[Row]) -> list[Row]:
    """Return the ceiling's points up to the highest latency of the lines; higher ones would shrink the picture."""
    top = max(row["y"] for row in rows)
    return [{**row, "x_high": None} for row in ceiling_points if row["y"] <= top]


def _ceiling(ceiling_points: Sequence[Row], x: alt.X, y: alt.Y) -> alt.Chart:
    line = alt.Chart(inline(ceiling_points)).mark_line(
        clip=True,
        color=QUIET,
        strokeDash=[2, 3],
        strokeWidth=1.5,
        point=alt.OverlayMarkDef(color=QUIET, size=18),
    )
    drawn: alt.Chart = line.encode(
        x=x,
        y=y,
        order=alt.Order("in_flight:Q"),
        detail=[alt.Detail("ceiling:N"), alt.Detail("block:N")],
    )
    tips = (("ceiling", "storage alone"), ("block", "block size"), ("in_flight", "in flight"), ("x", "reads/s"))
    return with_tips(drawn, *(Tip(*each) for each in (*tips, ("y", "mean µs"))))


def _bars(base: alt.Chart, colour: alt.Color) -> list[alt.Chart]:
    """Return the 95 % intervals of throughput and latency as bars."""
    across = base.mark_rule(clip=True, strokeWidth=1).encode(x=alt.X("x_low:Q"), x2=alt.X2("x_high:Q"), color=colour)
    along = base.mark_rule(clip=True, strokeWidth=1).encode(y=alt.Y("y_low:Q"), y2=alt.Y2("y_high:Q"), color=colour)
    return [
        across.transform_filter("isValid(datum.x_low)"),
        along.transform_filter("isValid(datum.y_low)"),
    ]


def _arrows(between: alt.Chart, x: alt.Scale, y: alt.Scale, colour: alt.Color, view: str) -> alt.Chart:
    """Return the arrow heads on the lines of ``view``, the name of the panel."""
    # The slope depends on the page's width, so it is computed there, from the scales. Vega-Lite names these after the
    # panel; without a name, by its place in the picture.
    across, up = (f"scale('{view}_{at}', datum.{at}_to) - scale('{view}_{at}', datum.{at}_from)" for at in "xy")
    slope = f"atan2({up}, {across})"
    head = between.mark_point(shape="triangle-right", filled=True, size=60, angle=alt.expr(f"{slope} * 180 / PI"))
    drawn: alt.Chart = head.encode(x=alt.X("x_mid:Q", scale=x), y=alt.Y("y_mid:Q", scale=y), color=colour)
    return drawn


def _dots(base: alt.Chart, colour: alt.Color, shape: alt.Shape, tips: Sequence[Tip]) -> list[alt.Chart]:
    return [with_tips(dots.encode(color=colour, shape=shape), *tips) for dots in dots_by_doubt(base, 70)]


def dots_by_doubt(base: alt.Chart, size: int) -> tuple[alt.Chart, ...]:
    """Return the points: filled, pale if their figures may differ, hollow if they must not be used."""
    signs = (SOUND, DOUBTED.name, UNTRUE.name)
    sound, doubted, untrue = (base.transform_filter(alt.datum.doubt == sign) for sign in signs)
    return (
        sound.mark_point(filled=True, size=size),
        doubted.mark_point(filled=True, size=size, fillOpacity=PALE),
        untrue.mark_point(filled=False, size=size, strokeWidth=1.8),
    )


def _measured_now(moving: alt.Chart, tips: Sequence[Tip]) -> tuple[alt.Chart, alt.Chart]:
    """Return the mark and the label of the point that is being measured."""
    marked = with_tips(moving.mark_point(shape=_MEASURED_NOW, filled=True, size=170), *tips)
    said = moving.transform_calculate(said="datum.sessions + ' now'")
    return marked, said.mark_text(align="left", dx=9, dy=-9, fontSize=11).encode(text="said:N")


def _labels(base: alt.Chart, rows: Sequence[Row]) -> alt.Chart:
    """Return the labels of the points; with many lines only those of ends and knees."""
    many = len({row["line"] for row in rows}) > LABELLED_LINES
    shown = base.transform_filter("datum.end || datum.knee") if many else base
    if any(row["sessions"] is None for row in rows):
        shown = shown.transform_filter("isValid(datum.sessions)")
    text: alt.Chart = shown.mark_text(align="left", dx=7, dy=-7, fontSize=11).encode(text=alt.Text("sessions:Q"))
    return text


def _signs_among(rows: Sequence[Row]) -> list[Sign]:
    """Return the signs of which at least one point has one."""
    return [sign for sign in SIGNS if any(row["knee"] if sign is KNEE else row["doubt"] == sign.name for row in rows)]


def _draw_signs(base: alt.Chart, shape: alt.Shape, sign: Sign) -> alt.Chart:
    """Return the marks of a sign over its points. Pale points need no mark: their sign is only in the legend."""
    test = "datum.knee" if sign is KNEE else f"datum.doubt == '{sign.name}'"
    marks = base.transform_filter(test).transform_calculate(sign=f"'{sign.name}'")
    size = {KNEE.name: 240, UNTRUE.name: 150}.get(sign.name, 0)
    drawn: alt.Chart = marks.mark_point(filled=True, size=size, color=sign.colour).encode(shape=shape)
    return drawn


def _tips(axes: Axes, along: str, names: FigureNames) -> tuple[Tip, ...]:
    return (
        Tip("line", "line"), Tip("sessions", along), Tip("x", names.axis(axes.throughput), "x_low", "x_high"),
        Tip("y", names.axis(axes.latency), "y_low", "y_high"), Tip("runs", "runs"),
        Tip("fails", "verdicts that fail"),
    )  # fmt: skip


def _axis_scale(rows: Sequence[Row], axis: str) -> alt.Scale:
    """Return the scale of an axis: up to the largest mean, and further for intervals up to `LONGEST_BAR`."""
    means = [row[axis] for row in rows]
    ends = [row[f"{axis}_high"] for row in rows if row[f"{axis}_high"] is not None]
    largest = max(means, default=1.0)
    return from_zero(means, min(max([largest, *ends]), largest * (1 + LONGEST_BAR)))


def _midpoint(a: float, b: float, log: bool) -> float:
    return math.sqrt(a * b) if log and a > 0 and b > 0 else (a + b) / 2


def _describe(points: PointSet, throughput: str, names: FigureNames) -> str:
    lines = [f"{series.label}: {_series_text(series, throughput)}" for series in points.series]
    axes = f"{names.label(points.axes.latency)} over {names.label(throughput).lower()}"
    return f"{axes}, a line for each set of parameters. {' '.join(lines)}"


def _series_text(series: Series, throughput: str) -> str:
    known = [(point.at, x) for point in series.points if (x := point.mean(throughput)) is not None]
    if not known:
        return "not known."
    best = max(known, key=lambda each: each[1])
    unit = METRICS[throughput].unit
    knee = f", knee at {series.knee.at}" if series.knee else ""
    most = f"{quantity(best[1], unit if unit != '1/s' else '')}{'/s' if unit == '1/s' else ''}"
    return f"at most {most} with {best[0]}{knee}."


def _table(rows: Sequence[Row], throughput: str, latency: str, names: FigureNames, along: str) -> TextTable:
    head = ("line", along, "runs", names.axis(throughput), "± 95 %", names.axis(latency), "± 95 %", "fails")
    return TextTable(head, tuple(_cells(row) for row in rows))


def _cells(row: Row) -> tuple[str, ...]:
    halves = [None if row[f"{axis}_high"] is None else row[f"{axis}_high"] - row[axis] for axis in "xy"]
    knee = " (knee)" if row["knee"] else ""
    figures = (number(row["x"]), number(halves[0]), number(row["y"]), number(halves[1]))
    step = MISSING if row["sessions"] is None else f"{row['sessions']:,g}"
    return (row["line"], f"{step}{knee}", str(row["runs"]), *figures, row["fails"])
