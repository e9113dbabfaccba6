"""Panels of figures over time: rates, percentiles of latency, wait events and CPU.

A panel is given its rows, or the name under which a page sends them while they come. Its names are those of the rows;
the ends of its axes are numbers, or expressions that the page computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from openslob.core.units import format_duration
from openslob.report.charts import over_time
from openslob.report.charts.colours import BANDS, WARNING
from openslob.report.charts.picture import Panel, combine, layer_charts
from openslob.report.charts.theme import (
    Tip,
    colour_by,
    dash_by,
    inline,
    legend_selection,
    selection_opacity,
    shape_by,
    with_tips,
)
from openslob.report.format import seconds
from openslob.report.record_view import FigureNames

Row = dict[str, Any]
Data = alt.InlineData | alt.NamedData
End = float | alt.ExprRef
Ends = tuple[End, End]
PANEL_HEIGHT = 190
# Of bands behind lines: two that lie on each other are seen.
_SPREAD_OPACITY = 0.2
# From this length on, the axis of time has hours or days.
LONG_S, MOST_TICKS = 7200, 12
# What a page sends while it is shown: rows, the ends of the time, and of an axis of latencies.
SENT = alt.NamedData("rows")
SENT_ENDS: Ends = (alt.ExprRef("begin_s"), alt.ExprRef("end_s"))
SENT_LATENCY: Ends = (alt.ExprRef("low_us"), alt.ExprRef("high_us"))
# From dark at the median to light: the further from the median, the fewer operations.
BAND_COLOURS = dict(zip(("p50", "p50 to p90", "p90 to p99"), BANDS, strict=True))
BAND_ENDS = {"p50": "p50_us", "p50 to p90": "p90_us", "p90 to p99": "p99_us"}
_CALLED = {"p50_us": "p50", "p90_us": "p90", "p99_us": "p99"}
# Room for the widest label, so that the time axes of all panels are aligned.
Y_AXIS = alt.Axis(minExtent=58, maxExtent=58)


def time_axis(field: str, ends: Ends) -> alt.X:
    """Return the axis of time, which all panels share."""
    scale = alt.Scale(domain=list(ends), nice=False, clamp=True)
    # Ticks are whole seconds. With "~g" the last of 10 s would be "1e+1": it gets as many digits as the one before.
    axis = alt.Axis(format="d", tickMinStep=1)
    title = "time since the load began (s)"
    if isinstance(ends[1], (int, float)) and ends[1] >= LONG_S:
        unit_s, unit = (86_400, "d") if ends[1] >= 3 * 86_400 else (3600, "h")
        axis = alt.Axis(
            values=_ticks(float(ends[1]) / unit_s, unit_s), labelExpr=f"format(datum.value / {unit_s}, '~g')"
        )
        title = f"time since the load began ({unit})"
    return alt.X(f"{field}:Q", title=title, scale=scale, axis=axis)


def length_text(length: float) -> str:
    """Return the length of a load in words."""
    return seconds(length) if length < LONG_S else format_duration(length)


def _ticks(length: float, unit_s: int) -> list[float]:
    """Return the ticks of an axis of hours or days, in seconds: round numbers of the unit."""
    step = next((each for each in (0.5, 1, 2, 3, 4, 6, 8, 12, 24) if length / each <= MOST_TICKS), length / MOST_TICKS)
    return [at * step * unit_s for at in range(int(length / step) + 1)]


def shade(panel: Panel, rows: Sequence[Row], ends: Ends) -> Panel:
    """Return a panel with the stretches in which the load was slow behind it; as it is without any."""
    if not rows:
        return panel
    bare: alt.Chart = (
        alt.Chart(inline(rows))
        .mark_rect(color=WARNING, opacity=0.18)
        .encode(x=time_axis("begin_s", ends), x2=alt.X2("end_s:Q"))
    )
    tips = (Tip("cause", "slow by"), Tip("evidence", "seen"), Tip("begin_s", "from (s)"), Tip("end_s", "to (s)"))
    band = with_tips(bare, *tips)
    return combine((band, panel), "layer") if isinstance(panel, dict) else alt.LayerChart(layer=[band, panel])


def mark(panel: Panel, rows: Sequence[Row], ends: Ends) -> Panel:
    """Return a panel with a line over it at each moment ``at_s``; as it is without any."""
    if not rows:
        return panel
    lines: alt.Chart = alt.Chart(inline(rows)).mark_rule(strokeDash=[4, 3], color=WARNING, strokeWidth=1.2)
    return combine((panel, lines.encode(x=time_axis("at_s", ends))), "layer")


def rate_rows(rows: Sequence[Row], names: FigureNames) -> list[Row]:
    """Return the rows of rates with the names of their series and the middles of their steps."""
    return [row | {"series": names.label(row["figure"]), "middle_s": (row["from_s"] + row["to_s"]) / 2} for row in rows]


def rates(pick_name: str, data: Data, series: Sequence[str], title: str, ends: Ends, spread: bool = False) -> Panel:
    """Return a line for each series, of `rate_rows`; with ``spread``, behind it the lowest and highest of each step."""
    pick = legend_selection("series", pick_name)
    base = alt.Chart(data).encode(
        x=time_axis("middle_s", ends),
        y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=True), axis=Y_AXIS),
        color=colour_by("series", series),
        **selection_opacity(pick),
    )
    lines = base.mark_line(strokeWidth=1.8).encode(strokeDash=dash_by("series", series))
    tips = (Tip("series", "figure"), Tip("middle_s", "at (s)"), Tip("value", title))
    dots = base.mark_point(size=28, filled=True).encode(shape=shape_by("series", series))
    drawn = [lines, with_tips(dots, *tips)]
    if spread:
        band = (
            alt.Chart(data)
            .transform_filter("isValid(datum.low)")
            .mark_rect()
            .encode(
                x=time_axis("from_s", ends),
                x2=alt.X2("to_s:Q"),
                y=alt.Y("low:Q"),
                y2=alt.Y2("high:Q"),
                color=colour_by("series", series),
                opacity=alt.OpacityValue(_SPREAD_OPACITY),
            )
            .transform_filter(pick)
        )
        # The legend has the symbols of the lines: the first layer would make them as pale as the bands.
        drawn.append(with_tips(band, *tips, Tip("low", "lowest"), Tip("high", "highest")))
    return layer_charts(*drawn, params=[pick])


def bands_known(rows: Sequence[Row]) -> list[str]:
    """Return the names of the bands of which at least one row of `over_time.latency_bands` has an end."""
    return [name for name, end in BAND_ENDS.items() if any(row[end] is not None for row in rows)]


def bands(kind: str, data: Data, drawn: Sequence[str], scale_y: alt.Scale, ends: Ends) -> Panel:
    """Return the bands ``drawn``, of `over_time.latency_bands`."""
    y = alt.Y("p50_us:Q", title=f"{kind} latency (µs)", scale=scale_y, axis=Y_AXIS)
    scale = {"domain": list(drawn), "range": [BAND_COLOURS[name] for name in drawn]}
    bare = alt.Chart(data).encode(x=time_axis("from_s", ends), x2=alt.X2("to_s:Q"))
    of_ends = (Tip(name, f"{called} (µs)", unknown="too few operations") for name, called in _CALLED.items())
    base = with_tips(bare, Tip("from_s", "from (s)"), Tip("count", "operations"), *of_ends)
    layers = [
        base.transform_filter(f"isValid(datum.{high})")
        .mark_rect()
        .encode(y=alt.Y(f"{low}:Q", scale=scale_y), y2=alt.Y2(f"{high}:Q"), color=alt.ColorDatum(name))
        for low, high, name in (("p90_us", "p99_us", "p90 to p99"), ("p50_us", "p90_us", "p50 to p90"))
        if name in drawn
    ]
    middle = (
        base.transform_filter("isValid(datum.p50_us)").mark_rule(strokeWidth=3).encode(y=y, color=alt.ColorDatum("p50"))
    )
    colour = {"scale": scale, "legend": {"title": None}}
    return layer_charts(*layers, middle, encoding={"color": colour})


def log_scale(low: End, high: End) -> alt.Scale:
    """Return a logarithmic scale with these ends."""
    return alt.Scale(type="log", domain=[low, high], nice=False)


def waits(data: Data, events: Sequence[str], ends: Ends) -> Panel:
    """Return the sessions by wait event, of `over_time.wait_rows`."""
    pick = legend_selection("event", "picked_event")
    drawn: alt.Chart = (
        alt.Chart(data)
        .mark_rect()
        .encode(
            x=time_axis("from_s", ends),
            x2=alt.X2("to_s:Q"),
            y=alt.Y("low:Q", title="DB time (s/s)", scale=alt.Scale(zero=True), axis=Y_AXIS),
            y2=alt.Y2("high:Q"),
            color=colour_by("event", events),
            **selection_opacity(pick),
        )
        .add_params(pick)
    )
    return with_tips(drawn, Tip("event", "event"), Tip("value", "sessions in it"), Tip("from_s", "from (s)"))


def cpu(data: Data, whose: str, kinds: Sequence[str], ends: Ends) -> Panel:
    """Return the shares of the CPU time by kind, of `over_time.cpu_shares`; ``whose`` CPU it is."""
    pick = legend_selection("kind", "picked_kind")
    y = alt.Y("low:Q", title=f"{whose} CPU (%)", scale=alt.Scale(domain=[0, 100]), axis=Y_AXIS)
    bare = alt.Chart(data).encode(
        x=time_axis("from_s", ends), x2=alt.X2("to_s:Q"), color=colour_by("kind", kinds), **selection_opacity(pick)
    )
    base = with_tips(bare, Tip("kind", "kind"), Tip("value", "% of the host's CPU"), Tip("from_s", "from (s)"))
    host, server = (base.transform_filter(f'datum.kind {sign} "{over_time.SERVER}"') for sign in ("!=", "=="))
    line = server.mark_rule(strokeWidth=3).encode(y=alt.Y("high:Q"))
    return layer_charts(host.mark_rect().encode(y=y, y2=alt.Y2("high:Q")), line, params=[pick])
