"""Look of the pictures: colours that colour-blind people can distinguish, shapes and dashes, scales and legends.

Tooltips, too: what a mark says when it is pointed at. What is not known says so; an unknown interval is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import altair as alt
from altair.utils.schemapi import debug_mode

from openslob.metrics import METRICS
from openslob.report.charts.colours import GRID, GROUND, INK, QUIET, SERIES, SOFT
from openslob.report.text_plot import LOG_RATIO

# Of tooltips.
FORMAT = ",.4~r"
UNKNOWN = "not known"
Drawn = TypeVar("Drawn", alt.Chart, alt.LayerChart)

SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "triangle-right", "triangle-left")
DASHES = ((1, 0), (6, 3), (2, 2), (9, 3, 2, 3))
# Colour scheme from light to dark in even steps, readable in grey and by colour-blind people.
HEAT: Literal["cividis"] = "cividis"
WIDTH, HEIGHT = 640, 380
# Opacity of what is not selected.
FAINT = 0.07
CONFIG: dict[str, Any] = {
    "background": GROUND, "padding": 12,
    "view": {"stroke": None},
    "text": {"color": INK}, "rule": {"color": INK},
    "axis": {"gridColor": GRID, "domainColor": QUIET, "tickColor": QUIET, "labelFontSize": 12, "titleFontSize": 13,
             "labelColor": INK, "titleColor": INK, "titleFontWeight": "normal", "labelOverlap": True,
             "labelSeparation": 3},
    # A label that is wider than the room at the end of the axis would be cut off.
    "axisX": {"labelBound": True},
    "legend": {"orient": "bottom", "labelFontSize": 12, "titleFontSize": 12, "symbolSize": 110,
               "labelColor": INK, "titleColor": INK, "labelLimit": 360,
               "layout": {"bottom": {"direction": "vertical", "anchor": "start", "center": False, "margin": 4}}},
    "title": {"fontSize": 16, "subtitleFontSize": 12, "color": INK, "subtitleColor": SOFT},
}  # fmt: skip
# Parameter with the width for legends, which a page sets to its own. The width of the drawing would be too late:
# the height that is kept for a legend depends on its number of columns.
LEGEND_ROOM = "legend_room"
# Width in pixels of a letter, and of a symbol with its spaces. Columns of a legend are as wide as the longest name.
LETTER, SYMBOL = 7, 40


def inline(rows: Iterable[Any]) -> alt.InlineData:
    """Return rows as the data of a chart. Altair copies lists with each step of a chart, but keeps a tuple as it is.

    Thousands of rows are not compared with its schema; tests do that with every picture.
    """
    with debug_mode(False):
        return alt.InlineData(values=tuple(rows))


@dataclass(frozen=True)
class Sign:
    """A mark over a point. ``shape`` is an SVG path, drawn filled."""

    name: str
    shape: str
    colour: str = QUIET


def colour_by(field: str, names: Sequence[str], signs: Sequence[Sign] = (), outlined: bool = False) -> alt.Color:
    """Return the encoding of names as colours, with a legend that also contains ``signs``.

    ``outlined`` draws the legend's symbols as strokes, for lines without points.
    """
    scale = _scale(names, SERIES, signs, [sign.colour for sign in signs])
    return alt.Color(f"{field}:N", scale=scale, legend=_legend(names, signs, outlined))


def shape_by(field: str, names: Sequence[str], signs: Sequence[Sign] = (), outlined: bool = False) -> alt.Shape:
    """Return the encoding of names as shapes of points."""
    scale = _scale(names, SHAPES, signs, [sign.shape for sign in signs])
    return alt.Shape(f"{field}:N", scale=scale, legend=_legend(names, signs, outlined))


def dash_by(field: str, names: Sequence[str], signs: Sequence[Sign] = (), outlined: bool = False) -> alt.StrokeDash:
    """Return the encoding of names as dashes of lines.

    With ``outlined`` each name has its own dash. Otherwise the dash changes when the colours repeat.
    """
    round_of = 1 if outlined else len(SERIES)
    dashes = [list(DASHES[at // round_of % len(DASHES)]) for at in range(len(names))]
    none: list[list[int]] = [[1, 0]] * len(signs)
    scale = _scale(names, dashes, signs, none)
    return alt.StrokeDash(f"{field}:N", scale=scale, legend=_legend(names, signs, outlined))


def legend_selection(field: str, name: str) -> alt.Parameter:
    """Return a selection by clicks on the legend of ``field``; without clicks everything is selected."""
    return alt.selection_point(name=name, fields=[field], bind="legend", toggle="true")


def selection_opacity(*picks: alt.Parameter, shown: float = 1.0) -> dict[str, Any]:
    """Return the opacity of marks: ``shown`` for what all selections contain, faint for the rest."""
    test: Any = picks[0]
    for pick in picks[1:]:
        test = test & pick
    # Altair takes milliseconds to find out the class of an encoding that is a dictionary or a text.
    chosen: Any = alt.condition(test, alt.value(shown), alt.value(FAINT))
    return {"opacity": alt.OpacityValue(FAINT, condition=chosen["condition"])}


def from_zero(values: Sequence[float], most: float | None = None) -> alt.Scale:
    """Return a linear scale from 0, or a logarithmic one above `LOG_RATIO`; ``most`` is the upper end to show."""
    positive = [value for value in values if value > 0]
    top = most or max(values, default=1.0) or 1.0
    if positive and max(positive) / min(positive) > LOG_RATIO:
        return alt.Scale(type="log", domain=[min(positive) * 0.85, top * 1.15], nice=False)
    return alt.Scale(zero=True, domain=[0, top * 1.08], nice=False)


def is_log(scale: alt.Scale) -> bool:
    """Return whether the scale is logarithmic."""
    return scale.to_dict(validate=False).get("type") == "log"


def count_axis(counts: Sequence[float], title: str = METRICS["sessions"].label) -> alt.X:
    """Return a logarithmic x axis of session counts or rates, with a tick at each measured value, which may be 0."""
    ticks = sorted(set(counts))
    axis = alt.Axis(values=ticks, format="d" if all(tick == int(tick) for tick in ticks) else "~g", grid=True)
    scale = alt.Scale(type="log", base=2, domain=[ticks[0] / 1.15, ticks[-1] * 1.15]) if ticks else alt.Scale()
    if ticks and not ticks[0]:
        scale = alt.Scale(type="symlog", constant=1, domain=[0, ticks[-1] * 1.15])
    return alt.X("sessions:Q", title=title, scale=scale, axis=axis)


def legend_columns(letters: int) -> alt.ExprRef:
    """Return the number of columns of a legend whose widest entry has so many letters."""
    return alt.expr(f"max(1, floor({LEGEND_ROOM} / {LETTER * letters + SYMBOL}))")


def _scale(names: Sequence[str], values: Sequence[Any], signs: Sequence[Sign], of_signs: Sequence[Any]) -> alt.Scale:
    chosen = [values[at % len(values)] for at in range(len(names))]
    return alt.Scale(domain=[*names, *(sign.name for sign in signs)], range=[*chosen, *of_signs])


def _legend(names: Sequence[str], signs: Sequence[Sign], outlined: bool) -> alt.Legend:
    # Vega-Lite merges legends with equal domains only if all their properties are equal.
    widest = max((len(name) for name in (*names, *(sign.name for sign in signs))), default=0)
    return alt.Legend(title=None, columns=legend_columns(widest), symbolStrokeWidth=2 if outlined else 0)


@dataclass(frozen=True)
class Tip:
    """A line of a tooltip: the text or the number in a field, with the ends of its interval."""

    field: str
    title: str
    low: str = ""
    high: str = ""
    form: str = FORMAT
    unknown: str = UNKNOWN

    @property
    def expression(self) -> str:
        """Vega's expression of the line's text."""
        interval = (
            f"(isValid(datum.{self.low}) ? ' (' + {self._end(self.low)} + ' to ' + {self._end(self.high)} + ')' : '')"
        )
        shown = f"isNumber(datum.{self.field}) ? {self._end(self.field)} : datum.{self.field}"
        known = f"({shown}) + {interval}" if self.low else shown
        return f"isValid(datum.{self.field}) ? ({known}) : '{self.unknown}'"

    def _end(self, field: str) -> str:
        return f"format(datum.{field}, '{self.form}')"


def with_tips(chart: Drawn, *tips: Tip) -> Drawn:
    """Return the chart with these lines as the tooltip of its marks."""
    for tip in tips:
        chart = chart.transform_calculate(**{f"tip_{tip.field}": tip.expression})
    return chart.encode(tooltip=[alt.Tooltip(f"tip_{tip.field}:N", title=tip.title) for tip in tips])
