"""Maps of latency over time: of operations, and of the engine's waits for storage where it counts them by duration.

Each has two panels. In the first a cell's colour is its share of the step's operations, in the second its share of the
time that these took: what is rare and slow is faint in the first and may be most of the second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import altair as alt

from openslob.analyze.load_kinds import timed_of
from openslob.core.histogram import Histogram
from openslob.record.model import RunRecord
from openslob.report.charts import over_time
from openslob.report.charts.colours import MAP_GROUND, MAP_STEPS, WARNING
from openslob.report.charts.picture import Panel, Picture, layer_charts
from openslob.report.charts.theme import Tip, inline, legend_columns, with_tips
from openslob.report.charts.time_panels import Data, Ends, log_scale, time_axis
from openslob.report.format import seconds
from openslob.report.run_series import RunSeries

Row = dict[str, Any]
# Longest normal slice: one second plus the remainder of the previous one.
_LONG_SLICE_S = 1.5
# Shares in % at which the colour of a map's cells changes.
SHARES = (0.1, 0.3, 1, 3, 10, 30)
HEIGHT = 230
# More events would be more pictures than anybody reads.
MOST_EVENTS = 3
LATENCY_AXIS = alt.Axis(
    minExtent=58, maxExtent=58, format=",", values=[times * 10**power for power in range(9) for times in (1, 3)]
)
MEAN = "The line is the mean of each step."
ROUGH = "The engine counts in wide buckets, so the shares of the time are rough."


@dataclass(frozen=True)
class Weight:
    """What the colour of a map's cells shows: a share in ``field``, of what the legend says."""

    field: str
    of: str


FREQUENCY, INTENSITY = Weight("share_pct", "% of the step's {}"), Weight("time_pct", "% of their time")


def heat_map(record: RunRecord, raw: RunSeries) -> Picture | None:
    """Return maps of latency over time, in which a stall is a tall column; None if nothing was recorded."""
    timed = timed_of(record)
    title = f"Latency of {timed.many()} over time" if timed.is_batch else "Latency over time"
    return _of_operations("latency-over-time", title, record, raw, raw.latency)


def response_map(record: RunRecord, raw: RunSeries) -> Picture | None:
    """Return maps of response times over time; None without a target rate."""
    return _of_operations("response-over-time", "Response time over time", record, raw, raw.response)


def engine_map(record: RunRecord, raw: RunSeries) -> Picture | None:
    """Return maps of the waits for storage that took most of the time; None if the engine counts none by duration."""
    length = record.window.load_seconds if record.window else 0.0
    if not length:
        return None
    found = {event: over_time.engine_heat_cells(waits, length) for event, waits in raw.engine_latency.items()}
    order = sorted(found, key=lambda event: -sum(row["time_us"] for row in found[event]))
    drawn = {event.partition(":")[2] or event: found[event] for event in order[:MOST_EVENTS] if found[event]}
    left = f"Not drawn: {', '.join(order[MOST_EVENTS:])}." if order[MOST_EVENTS:] else ""
    notes = tuple(filter(None, (ROUGH, "Waits of all sessions of the server are counted.", left)))
    return _maps("engine-latency-over-time", "Engine's waits over time", "waits", drawn, length, notes)


def slice_notes(raw: RunSeries) -> tuple[str, ...]:
    """Return a note that latencies may be drawn too late, if slices took longer than about a second."""
    if raw.slice_s < _LONG_SLICE_S:
        return ()
    return (f"Latencies are drawn at the end of their session's slice; slices took up to {seconds(raw.slice_s)}.",)


def _of_operations(
    name: str, title: str, record: RunRecord, raw: RunSeries, latency: Mapping[str, Mapping[int, Histogram]]
) -> Picture | None:
    length = record.window.load_seconds if record.window else 0.0
    timed = timed_of(record)
    cells = {timed.one(kind): over_time.heat_cells(found, length) for kind, found in latency.items()} if length else {}
    return _maps(name, title, "operations", cells, length, (MEAN, *slice_notes(raw)))


def _maps(
    name: str, title: str, what: str, cells: Mapping[str, list[Row]], length: float, notes: tuple[str, ...]
) -> Picture | None:
    drawn = {kind: rows for kind, rows in cells.items() if rows}
    if not drawn:
        return None
    panels = [
        heat_panel(kind, what, weight, inline(rows), latency_ends(rows), (0, length), MEAN in notes)
        for kind, rows in drawn.items()
        for weight in (FREQUENCY, INTENSITY)
    ]
    return Picture(
        name=name,
        title=title,
        description=(
            f"Maps of latency over {seconds(length)} of load, of {' and '.join(drawn)}: "
            f"which latencies were frequent, and which took the time."
        ),
        panels=tuple(panels),
        notes=notes,
        heights=dict.fromkeys(range(len(panels)), HEIGHT),
    )


def latency_ends(rows: Sequence[Row]) -> tuple[float, float]:
    """Return the shortest and the longest latency of cells."""
    return min(row["from_us"] for row in rows), max(row["to_us"] for row in rows)


def heat_panel(kind: str, what: str, weight: Weight, data: Data, latency: Ends, ends: Ends, mean: bool = True) -> Panel:
    """Return a map of the cells of `over_time`; with ``mean``, that of each step is in the map of frequencies."""
    steps = [f"below {SHARES[0]}", *(f"{a} to {b}" for a, b in pairwise(SHARES)), f"{SHARES[-1]} or more"]
    # A scale of steps would have a legend whose labels lie on top of each other.
    step = "".join(f"datum.{weight.field} < {share} ? '{name}' : " for share, name in zip(SHARES, steps, strict=False))
    legend = alt.Legend(title=weight.of.format(what), symbolStrokeWidth=0, columns=legend_columns(max(map(len, steps))))
    y = alt.Y("from_us:Q", title=f"{kind} latency (µs)", scale=log_scale(*latency), axis=LATENCY_AXIS)
    base = alt.Chart(data).encode(x=time_axis("from_s", ends), x2=alt.X2("to_s:Q"))
    tips = (
        Tip("from_s", "from (s)"), Tip("from_us", "from (µs)"), Tip("to_us", "below (µs)"), Tip("count", what),
        Tip("share_pct", f"% of the step's {what}"), Tip("time_pct", "% of their time"),
    )  # fmt: skip
    cells = with_tips(base.mark_rect().transform_calculate(step=f"{step}'{steps[-1]}'"), *tips).encode(
        y=y,
        y2=alt.Y2("to_us:Q"),
        color=alt.Color("step:N", scale=alt.Scale(domain=steps, range=MAP_STEPS), legend=legend),
    )
    layers = [cells, *([_mean(base, y)] if mean and weight is FREQUENCY else [])]
    return layer_charts(*layers, view={"fill": MAP_GROUND})


def _mean(base: alt.Chart, y: alt.Y) -> alt.Chart:
    mean: alt.Chart = (
        base.transform_aggregate(time="sum(time_us)", of="sum(count)", groupby=["from_s", "to_s"])
        .transform_calculate(from_us="datum.time / datum.of")
        .mark_rule(color=WARNING, strokeWidth=2)
        .encode(y=y)
    )
    return mean
