"""Pictures of one run: its timeline, the distribution of its latencies, and that distribution over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import altair as alt

from openslob.analyze.verdicts.environment import MIN_BEYOND
from openslob.histogram import Histogram, bucket_of
from openslob.metrics import METRICS
from openslob.metrics.model import TimelinePanel
from openslob.record.model import Holds, RunRecord
from openslob.report.charts import over_time
from openslob.report.charts.colours import BANDS, GROUND, MAP_GROUND, MAP_STEPS, WARNING
from openslob.report.charts.picture import DataTable, Panel, Picture
from openslob.report.charts.theme import (
    FigureNames,
    coloured,
    dashed,
    legend_columns,
    legend_selection,
    selection_opacity,
    shaped,
)
from openslob.report.charts.tips import Tip, with_tips
from openslob.report.format import micros, number, seconds
from openslob.report.record_view import ALONE, outcome, value
from openslob.report.run_series import RunSeries

Row = dict[str, Any]
# Longest normal slice: one second plus the remainder of the previous one.
_LONG_SLICE_S = 1.5
# Shares in % at which the colour of a map's cells changes.
MAP_SHARES = (0.1, 0.3, 1, 3, 10, 30)
PANEL_HEIGHT, MAP_HEIGHT = 190, 300
_LINE_HEIGHT = 13
MARKED = {"p50_us": "p50", "p90_us": "p90", "p99_us": "p99", "p999_us": "p99.9"}
# From dark at the median to light: the further from the median, the fewer operations.
_BAND_COLOURS = dict(zip(("p50", "p50 to p90", "p90 to p99"), BANDS, strict=True))
_BAND_ENDS = ("p50_us", "p90_us", "p99_us")
_MAP_TIPS = (
    Tip("from_s", "from (s)"), Tip("from_us", "from (µs)"), Tip("to_us", "below (µs)"), Tip("count", "operations"),
)  # fmt: skip
# Room for the widest label, so that the time axes of all panels are aligned.
_Y_AXIS = alt.Axis(minExtent=58, maxExtent=58)


def timeline(record: RunRecord, raw: RunSeries, names: FigureNames | None = None) -> Picture:
    """Return requests, MB/s, latency percentiles, wait events and CPU over the time of the load."""
    names, length = names or FigureNames(), record.window.load_seconds if record.window else 0.0
    engine = over_time.evenly_counted(raw.engine, raw.even_s)
    requests, sizes = (
        [*_published(record, over_time.engine_rates(engine, panel)), *over_time.device_rates(raw.host, panel)]
        for panel in (TimelinePanel.REQUESTS, TimelinePanel.SIZES)
    )
    panels = {
        TimelinePanel.REQUESTS: _rates("picked_rate", requests, "per second", names, length) if requests else None,
        TimelinePanel.SIZES: _rates("picked_size", sizes, "MB/s", names, length) if sizes else None,
        **{f"latency of {kind}s": _bands(kind, of_kind, length) for kind, of_kind in raw.latency.items()},
        "sessions waiting": _waits(over_time.wait_rows(raw.waits, length), length) if raw.waits else None,
        "CPU": _cpu(record, over_time.cpu_shares(raw.host), length) if raw.host else None,
    }
    shown = {name: panel for name, panel in panels.items() if panel is not None}
    # A panel can be empty although the engine's counters were recorded: they are not drawn at both ends of the load.
    missing = [
        name for name, panel in panels.items() if panel is None and not (raw.engine and name in tuple(TimelinePanel))
    ]
    return Picture(
        name="timeline",
        title="The run over time",
        description=f"Over {seconds(length)} of load: {', '.join(shown)}. {_read_range(requests)}",
        panels=tuple(shown.values()),
        notes=(
            f"Percentiles are drawn where at least {MIN_BEYOND} operations of the step lie beyond them.",
            *(
                ("Not drawn: the engine's counters at both ends, because a slice is counted when it ends.",)
                if raw.engine
                else ()
            ),
            *((f"Not recorded over time: {', '.join(missing)}.",) if missing else ()),
            *_slice_notes(raw),
        ),
        heights=dict.fromkeys(range(len(shown)), PANEL_HEIGHT),
    )


def latency_histogram(record: RunRecord) -> Picture | None:
    """Return histograms of service times by kind of operation, with percentiles marked; None without operations."""
    return _histograms("latency", "Latency of operations", record.latency)


def response_histogram(record: RunRecord) -> Picture | None:
    """Return histograms of response times, measured from when operations were due; None without a target rate."""
    return _histograms("response", "Response time of operations, from when they were due", record.response)


def _histograms(name: str, title: str, latency: Mapping[str, Mapping[str, Any]]) -> Picture | None:
    kinds = {kind: figures for kind, figures in latency.items() if figures.get("count")}
    if not kinds:
        return None
    summaries = [f"{kind}: {_percentiles(figures)}" for kind, figures in kinds.items()]
    return Picture(
        name=name,
        title=title,
        description=f"Histogram of latencies. {'; '.join(summaries)}.",
        panels=tuple(_histogram(kind, figures) for kind, figures in kinds.items()),
        table=DataTable(
            ("operation", "count", "mean", *MARKED.values(), "max"),
            tuple(_latency_cells(kind, figures) for kind, figures in kinds.items()),
        ),
        heights=dict.fromkeys(range(len(kinds)), PANEL_HEIGHT),
    )


def _published(record: RunRecord, rows: list[Row]) -> list[Row]:
    """Return the rates of figures that are the run's own: beside other sessions' load some are the whole server's."""
    if outcome(record, ALONE) is not Holds.FAILS:
        return rows
    return [row for row in rows if value(record, row["figure"]) is not None]


def heat_map(record: RunRecord, raw: RunSeries) -> Picture | None:
    """Return a map of latency over time, in which a stall is a tall column; None if nothing was recorded."""
    return _heat_map("latency-over-time", "Latency over time", record, raw, raw.latency)


def response_map(record: RunRecord, raw: RunSeries) -> Picture | None:
    """Return a map of response times over time; None without a target rate."""
    return _heat_map("response-over-time", "Response time over time", record, raw, raw.response)


def _heat_map(
    name: str, title: str, record: RunRecord, raw: RunSeries, latency: Mapping[str, Mapping[int, Histogram]]
) -> Picture | None:
    length = record.window.load_seconds if record.window else 0.0
    if not latency or not length:
        return None
    return Picture(
        name=name,
        title=title,
        description=f"Map of the latencies of {' and '.join(f'{kind}s' for kind in latency)} over the run's duration.",
        panels=tuple(_map(kind, over_time.heat_cells(of_kind, length), length) for kind, of_kind in latency.items()),
        notes=_slice_notes(raw),
        heights=dict.fromkeys(range(len(latency)), MAP_HEIGHT),
    )


def _slice_notes(raw: RunSeries) -> tuple[str, ...]:
    """Return a note that latencies may be drawn too late, if slices took longer than about a second."""
    if raw.slice_s < _LONG_SLICE_S:
        return ()
    return (f"Latencies are drawn at the end of their session's slice; slices took up to {seconds(raw.slice_s)}.",)


def _time_axis(field: str, length: float) -> alt.X:
    scale = alt.Scale(domain=[0, length], nice=False, clamp=True)
    # Ticks are whole seconds. With "~g" the last of 10 s would be "1e+1": it gets as many digits as the one before.
    axis = alt.Axis(format="d", tickMinStep=1)
    return alt.X(f"{field}:Q", title="time since the load began (s)", scale=scale, axis=axis)


def _rates(pick_name: str, rows: list[Row], title: str, names: FigureNames, length: float) -> Panel:
    drawn = [
        row | {"series": names.label(row["figure"]), "middle_s": (row["from_s"] + row["to_s"]) / 2} for row in rows
    ]
    series = list(dict.fromkeys(row["series"] for row in drawn))
    pick = legend_selection("series", pick_name)
    base = alt.Chart(alt.InlineData(values=drawn)).encode(
        x=_time_axis("middle_s", length),
        y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=True), axis=_Y_AXIS),
        color=coloured("series", series),
        **selection_opacity(pick),
    )
    lines = base.mark_line(strokeWidth=1.8).encode(strokeDash=dashed("series", series))
    tips = (Tip("series", "figure"), Tip("middle_s", "at (s)"), Tip("value", title))
    dots = base.mark_point(size=28, filled=True).encode(shape=shaped("series", series))
    return alt.layer(lines, with_tips(dots, *tips)).add_params(pick)


def _bands(kind: str, seconds_of: Mapping[int, Any], length: float) -> Panel:
    rows = over_time.latency_bands(seconds_of, length)
    values = [row[name] for row in rows for name in _BAND_ENDS if row[name] is not None]
    scale_y = _log_scale(values)
    y = alt.Y("p50_us:Q", title=f"{kind} latency (µs)", scale=scale_y, axis=_Y_AXIS)
    drawn = {
        name: colour
        for (name, colour), end in zip(_BAND_COLOURS.items(), _BAND_ENDS, strict=True)
        if any(row[end] is not None for row in rows)
    }
    scale = alt.Scale(domain=list(drawn), range=list(drawn.values()))
    bare = alt.Chart(alt.InlineData(values=rows)).encode(x=_time_axis("from_s", length), x2=alt.X2("to_s:Q"))
    ends = (Tip(name, f"{MARKED[name]} (µs)", unknown="too few operations") for name in _BAND_ENDS)
    base = with_tips(bare, Tip("from_s", "from (s)"), Tip("count", "operations"), *ends)
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
    return alt.layer(*layers, middle).encode(color=alt.Color(scale=scale, legend=alt.Legend(title=None)))


def _waits(rows: list[Row], length: float) -> Panel:
    events = list(dict.fromkeys(row["event"] for row in rows))
    events.sort(key=lambda event: event == over_time.OTHERS)
    pick = legend_selection("event", "picked_event")
    drawn: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_rect()
        .encode(
            x=_time_axis("from_s", length),
            x2=alt.X2("to_s:Q"),
            y=alt.Y("low:Q", title="DB time (s/s)", scale=alt.Scale(zero=True), axis=_Y_AXIS),
            y2=alt.Y2("high:Q"),
            color=coloured("event", events),
            **selection_opacity(pick),
        )
        .add_params(pick)
    )
    return with_tips(drawn, Tip("event", "event"), Tip("value", "sessions in it"), Tip("from_s", "from (s)"))


def _cpu(record: RunRecord, rows: list[Row], length: float) -> Panel:
    # Of a server elsewhere, this is the other end's.
    whose = "driver's host" if record.environment.get("local") is False else "host"
    kinds = [kind for kind in (*over_time.CPU_KINDS, over_time.SERVER) if any(row["kind"] == kind for row in rows)]
    pick = legend_selection("kind", "picked_kind")
    y = alt.Y("low:Q", title=f"{whose} CPU (%)", scale=alt.Scale(domain=[0, 100]), axis=_Y_AXIS)
    bare = alt.Chart(alt.InlineData(values=rows)).encode(
        x=_time_axis("from_s", length), x2=alt.X2("to_s:Q"), color=coloured("kind", kinds), **selection_opacity(pick)
    )
    base = with_tips(bare, Tip("kind", "kind"), Tip("value", "% of the host's CPU"), Tip("from_s", "from (s)"))
    host, server = (base.transform_filter(f'datum.kind {sign} "{over_time.SERVER}"') for sign in ("!=", "=="))
    line = server.mark_rule(strokeWidth=3).encode(y=alt.Y("high:Q"))
    return alt.layer(host.mark_rect().encode(y=y, y2=alt.Y2("high:Q")), line).add_params(pick)


def _histogram(kind: str, figures: Mapping[str, Any]) -> Panel:
    bars = over_time.histogram_bars({bucket_of(edge): count for edge, count in figures["buckets"]})
    axis = alt.Scale(type="log", domain=[bars[0]["from_us"], bars[-1]["to_us"]], nice=False)
    x = alt.X("from_us:Q", title=f"{kind} latency (µs)", scale=axis)
    drawn = (
        alt.Chart(alt.InlineData(values=bars))
        .mark_bar(color=_BAND_COLOURS["p50 to p90"], stroke=GROUND, strokeWidth=0.3)
        .encode(
            x=x,
            x2=alt.X2("to_us:Q"),
            y=alt.Y("share_pct:Q", title="operations (%)", stack=None, axis=_Y_AXIS),
            y2=alt.Y2Datum(0),
        )
    )
    drawn = with_tips(drawn, *_MAP_TIPS[1:], Tip("share_pct", "% of them"))
    marks = [
        {"us": us, "name": name, "row": at}
        for at, (field, name) in enumerate(MARKED.items())
        if (us := figures.get(field)) is not None
    ]
    marked = alt.Chart(alt.InlineData(values=marks)).encode(x=alt.X("us:Q", scale=axis))
    rules = with_tips(
        marked.mark_rule(strokeDash=[4, 3], color=WARNING, strokeWidth=1.2), Tip("name", "percentile"), Tip("us", "µs")
    )
    # One below the other, because percentiles of a narrow distribution lie side by side.
    labels = (
        marked.transform_filter(alt.datum.row == mark["row"])
        .mark_text(align="left", dx=3, dy=8 + _LINE_HEIGHT * mark["row"], color=WARNING)
        .encode(y=alt.YValue(0), text=alt.Text("name:N"))  # type: ignore[no-untyped-call]
        for mark in marks
    )
    return alt.layer(drawn, rules, *labels)


def _map(kind: str, cells: list[Row], length: float) -> Panel:
    window = [cell["from_us"] for cell in cells] + [cell["to_us"] for cell in cells]
    axis = alt.Scale(type="log", domain=[min(window), max(window)], nice=False)
    steps = [f"below {MAP_SHARES[0]}", *(f"{a} to {b}" for a, b in pairwise(MAP_SHARES)), f"{MAP_SHARES[-1]} or more"]
    # A scale of steps would have a legend whose labels lie on top of each other.
    step = "".join(f"datum.share_pct < {share} ? '{name}' : " for share, name in zip(MAP_SHARES, steps, strict=False))
    legend = alt.Legend(
        title="operations of the step (%)", symbolStrokeWidth=0, columns=legend_columns(max(map(len, steps)))
    )
    drawn: alt.Chart = (
        alt.Chart(alt.InlineData(values=cells))
        .mark_rect()
        .properties(view=alt.ViewBackground(fill=MAP_GROUND))
        .encode(
            x=_time_axis("from_s", length),
            x2=alt.X2("to_s:Q"),
            y=alt.Y("from_us:Q", title=f"{kind} latency (µs)", scale=axis, axis=_Y_AXIS),
            y2=alt.Y2("to_us:Q"),
            color=alt.Color("step:N", scale=alt.Scale(domain=steps, range=MAP_STEPS), legend=legend),
        )
    )
    drawn = drawn.transform_calculate(step=f"{step}'{steps[-1]}'")
    return with_tips(drawn, *_MAP_TIPS, Tip("share_pct", "% of the step"))


def _log_scale(values: Sequence[float]) -> alt.Scale:
    return alt.Scale(type="log", domain=[min(values) * 0.85, max(values) * 1.15], nice=False) if values else alt.Scale()


def _read_range(requests: Sequence[Row]) -> str:
    reads = [row["value"] for row in requests if row["figure"] == "pio_read_per_s"]
    if not reads:
        return ""
    return f"{METRICS['pio_read_per_s'].label}: from {number(min(reads))} to {number(max(reads))} a second."


def _percentiles(figures: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {micros(figures.get(field))}" for field, name in MARKED.items())


def _latency_cells(kind: str, figures: Mapping[str, Any]) -> tuple[str, ...]:
    times = (micros(figures.get(field)) for field in ("mean_us", *MARKED, "max_us"))
    return (kind, number(figures["count"]), *times)
