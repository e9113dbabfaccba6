"""How every picture looks: colours that colour-blind people tell apart, and shapes and dashes that need no colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import altair as alt

from openslob.analyze.curves.points import RESPONSE_PREFIX
from openslob.metrics import METRICS

# Okabe and Ito (2008), without black and yellow, which are lost on a dark and on a white page; grey and violet instead.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A63B8", "#808080")
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "triangle-right", "triangle-left")
DASHES = ((1, 0), (6, 3), (2, 2), (9, 3, 2, 3))
# A mark that says "beware", and one that is quiet; both can be seen on white and on dark.
WARNING, QUIET = "#C62828", "#8C8C8C"
# A light colour to a dark one of even steps, readable in grey and by the colour-blind.
HEAT: Literal["cividis"] = "cividis"
WIDTH, HEIGHT = 640, 380
# From this ratio of largest to smallest on, a linear axis presses the small values flat.
LOG_RATIO = 100.0
CONFIG: dict[str, Any] = {
    "background": "transparent",
    "view": {"stroke": None},
    "axis": {"gridColor": "#e4e4e4", "domainColor": QUIET, "tickColor": QUIET, "labelFontSize": 12, "titleFontSize": 13,
             "titleFontWeight": "normal", "labelOverlap": True},
    "legend": {"orient": "bottom", "labelFontSize": 12, "titleFontSize": 12, "symbolSize": 110,
               "labelLimit": 360,
               "layout": {"bottom": {"direction": "vertical", "anchor": "start", "center": False, "margin": 4}}},
    "title": {"fontSize": 16, "subtitleFontSize": 12, "subtitleColor": "#606060"},
}  # fmt: skip
# Width of a letter and of a symbol with its spaces, in dots: the columns of a legend are as wide as its longest name.
LETTER, SYMBOL = 7, 40
_LATENCIES = {
    "mean_us": "mean latency",
    "p50_us": "p50 latency",
    "p90_us": "p90 latency",
    "p99_us": "p99 latency",
    "p999_us": "p99.9 latency",
    "max_us": "longest",
}
_LATENCIES |= {RESPONSE_PREFIX + name: f"response time, {text}" for name, text in _LATENCIES.items()}
_KINDS = {"op": "operation", "select": "select", "update": "update", "scan": "scan"}


@dataclass(frozen=True)
class FigureNames:
    """What figures are called. ``physical``: every read is known to have reached a device, so that one may say so.

    ``instead`` has names for figures that are not quite those of the registry, as in reports of others.
    """

    physical: bool = True
    instead: Mapping[str, str] = field(default_factory=dict)

    def label(self, figure: str) -> str:
        """A figure of the registry, or a latency such as ``select_p99_us``, in words."""
        if figure in self.instead:
            return self.instead[figure]
        if figure not in METRICS:
            kind, _, percentile = figure.partition("_")
            return f"{_KINDS[kind].capitalize()}: {_LATENCIES[percentile]}"
        text = METRICS[figure].label
        return text if self.physical else text.replace("Physical", "Engine").replace("IOPS", "Engine reads")

    def axis(self, figure: str) -> str:
        """The same with its unit."""
        unit = unit_of(figure)
        return f"{self.label(figure)} ({unit})" if unit else self.label(figure)


def unit_of(figure: str) -> str:
    """Unit of a figure or latency."""
    return METRICS[figure].unit if figure in METRICS else "µs"


@dataclass(frozen=True)
class Sign:
    """A mark over a point that says something about it: its shape (an SVG path, to be filled) and colour."""

    name: str
    shape: str
    colour: str = QUIET


def coloured(field: str, names: Sequence[str], signs: Sequence[Sign] = (), outlined: bool = False) -> alt.Color:
    """The colour of each name, with a legend; ``signs`` stand in the same legend.

    ``outlined``: what the legend shows are strokes and outlines, as those of lines without points, and not solid.
    """
    scale = _scale(names, COLOURS, signs, [sign.colour for sign in signs])
    return alt.Color(f"{field}:N", scale=scale, legend=_legend(names, signs, outlined))


def shaped(field: str, names: Sequence[str], signs: Sequence[Sign] = (), outlined: bool = False) -> alt.Shape:
    """The shape of each name's points."""
    scale = _scale(names, SHAPES, signs, [sign.shape for sign in signs])
    return alt.Shape(f"{field}:N", scale=scale, legend=_legend(names, signs, outlined))


def dashed(field: str, names: Sequence[str], signs: Sequence[Sign] = (), outlined: bool = False) -> alt.StrokeDash:
    """The dash of each name's line: one of its own where it is all that tells them apart (``outlined``).

    Else the colours' first round is solid, the next dashed, and so on.
    """
    round_of = 1 if outlined else len(COLOURS)
    dashes = [list(DASHES[at // round_of % len(DASHES)]) for at in range(len(names))]
    none: list[list[int]] = [[1, 0]] * len(signs)
    scale = _scale(names, dashes, signs, none)
    return alt.StrokeDash(f"{field}:N", scale=scale, legend=_legend(names, signs, outlined))


def picked(field: str, name: str) -> alt.Parameter:
    """A selection by clicks on the legend of ``field``: what is not picked fades; none picked is all."""
    return alt.selection_point(name=name, fields=[field], bind="legend", toggle="true")


def faded(*picks: alt.Parameter, shown: float = 1.0) -> dict[str, Any]:
    """The opacity of marks: ``shown`` for what every selection holds."""
    test: Any = picks[0]
    for pick in picks[1:]:
        test = test & pick
    return {"opacity": alt.condition(test, alt.value(shown), alt.value(0.07))}


def from_zero(values: Sequence[float], most: float | None = None) -> alt.Scale:
    """A linear scale from 0, or a logarithmic one where the values lie far apart; ``most`` is the upper end to show."""
    positive = [value for value in values if value > 0]
    top = most or max(values, default=1.0) or 1.0
    if positive and max(positive) / min(positive) > LOG_RATIO:
        return alt.Scale(type="log", domain=[min(positive) * 0.85, top * 1.15], nice=False)
    return alt.Scale(zero=True, domain=[0, top * 1.08], nice=False)


def is_log(scale: alt.Scale) -> bool:
    """The scale is logarithmic."""
    return scale.to_dict().get("type") == "log"


def counted(counts: Sequence[float], title: str = METRICS["sessions"].label) -> alt.X:
    """The axis of session counts, or of rates: each doubling as wide as the last, a tick at every one measured."""
    ticks = sorted(set(counts))
    axis = alt.Axis(values=ticks, format="d" if all(tick == int(tick) for tick in ticks) else "~g", grid=True)
    scale = alt.Scale(type="log", base=2, domain=[ticks[0] / 1.15, ticks[-1] * 1.15]) if ticks else alt.Scale()
    return alt.X("sessions:Q", title=title, scale=scale, axis=axis)


def _scale(names: Sequence[str], values: Sequence[Any], signs: Sequence[Sign], of_signs: Sequence[Any]) -> alt.Scale:
    chosen = [values[at % len(values)] for at in range(len(names))]
    return alt.Scale(domain=[*names, *(sign.name for sign in signs)], range=[*chosen, *of_signs])


def _legend(names: Sequence[str], signs: Sequence[Sign], outlined: bool) -> alt.Legend:
    # Legends of equal domains become one, and so must be equal in everything.
    widest = max((len(name) for name in (*names, *(sign.name for sign in signs))), default=0)
    columns = alt.expr(f"max(1, floor(width / {LETTER * widest + SYMBOL}))")
    return alt.Legend(title=None, columns=columns, symbolStrokeWidth=2 if outlined else 0)
