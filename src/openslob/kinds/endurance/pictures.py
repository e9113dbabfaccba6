"""Pictures of an endurance run: its rate, its latency and what happened, over hours and days."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from openslob.analyze.causes import SLOW
from openslob.analyze.steps import MOST_STEPS, step_s
from openslob.analyze.trace import COUNTED
from openslob.kinds.endurance.figures import GAP
from openslob.kinds.endurance.segments import EnduranceCourse, course_steps, percentiles
from openslob.metrics import Timed
from openslob.metrics.timed import SINGLE
from openslob.report.charts import over_time, time_panels
from openslob.report.charts.colours import BANDS, QUIET, SERIES, WARNING
from openslob.report.charts.heat import FREQUENCY, HEIGHT, INTENSITY, heat_panel, latency_ends
from openslob.report.charts.picture import Panel, Picture, layer_charts
from openslob.report.charts.theme import Tip, inline, with_tips
from openslob.report.charts.time_panels import PANEL_HEIGHT, Y_AXIS, log_scale, time_axis

Row = dict[str, Any]
# Kinds of marks that are drawn as a line through the picture: each of them matters.
LINES = ("write cliff", "lasting drop", "cap", "lower level", "error")
_KIND_HEIGHT = 26
# A mark is at least so wide, as a share of the picture: what took a second would not be seen among hours.
_LEAST_SHARE = 0.002


def endurance_pictures(
    course: EnduranceCourse, marks: Sequence[Mapping[str, Any]], timed: Timed = SINGLE
) -> tuple[Picture, ...]:
    """Return the pictures of a course; ``marks`` are the rows of the record's time line, ``timed`` has latencies."""
    length = course.trace.seconds
    found = (_timeline(course, marks, length, timed), _heat(course, length, timed))
    return tuple(picture for picture in found if picture is not None)


def _timeline(course: EnduranceCourse, marks: Sequence[Mapping[str, Any]], length: float, timed: Timed) -> Picture:
    ends = (0.0, length)
    steps = course_steps(course, step_s(length, MOST_STEPS))
    rates: list[Row] = [
        {"from_s": step.begin_s, "to_s": step.end_s, "mean": step.ops, "low": step.low, "high": step.high}
        for step in steps
        if step.ops is not None
    ]
    latency = [
        {"from_s": step.begin_s, "to_s": step.end_s, "count": int(step.counts.sum()), **percentiles(step.counts)}
        for step in steps
        if step.counts.any()
    ]
    lines = [row for row in marks if row["kind"] in LINES]
    panels: dict[str, Panel | None] = {
        "operations per second": _rates(rates, lines, ends) if rates else None,
        "percentiles of latency": _latency(latency, ends, timed) if time_panels.bands_known(latency) else None,
        "what happened": _marks(marks, ends) if marks else None,
    }
    shown = {name: panel for name, panel in panels.items() if panel is not None}
    kinds = len({row["kind"] for row in marks})
    heights = [_KIND_HEIGHT * kinds + 10 if name == "what happened" else PANEL_HEIGHT for name in shown]
    return Picture(
        name="endurance",
        title="The run over time",
        description=f"Over {time_panels.length_text(length)}: {', '.join(shown)}.",
        panels=tuple(shown.values()),
        notes=(
            "A line is the mean of a step; the band behind it goes from the rate that 5 % of its time was below to the "
            "one that 5 % was above.",
            *[f"{row['kind'].capitalize()}: {row['text']}." for row in lines if row["text"]][:3],
        ),
        heights=dict(enumerate(heights)),
    )


def _rates(rows: Sequence[Row], lines: Sequence[Mapping[str, Any]], ends: tuple[float, float]) -> Panel:
    scale = alt.Scale(zero=True)
    bare = alt.Chart(inline(rows)).encode(x=time_axis("from_s", ends), x2=alt.X2("to_s:Q"))
    tips = (
        Tip("from_s", "from (s)"), Tip("mean", "mean (1/s)"), Tip("low", "5 % below (1/s)"),
        Tip("high", "5 % above (1/s)"),
    )  # fmt: skip
    base = with_tips(bare, *tips)
    y = alt.Y("low:Q", title="operations/s", scale=scale, axis=Y_AXIS)
    spread = base.mark_rect(color=BANDS[-1]).encode(y=y, y2=alt.Y2("high:Q"))
    mean = base.mark_rule(color=BANDS[0], strokeWidth=3).encode(y=alt.Y("mean:Q", scale=scale))
    marked = [{"at_s": row["at_s"], "kind": row["kind"]} for row in lines]
    rules = (
        alt.Chart(inline(marked))
        .mark_rule(color=WARNING, strokeWidth=2, strokeDash=[4, 3])
        .encode(x=time_axis("at_s", ends))
    )
    return layer_charts(spread, mean, *([rules] if marked else []))


def _latency(rows: Sequence[Row], ends: tuple[float, float], timed: Timed) -> Panel:
    known = [row[end] for row in rows for end in time_panels.BAND_ENDS.values() if row[end]]
    scale = log_scale(min(known) / 1.3, max(known) * 1.3)
    drawn = time_panels.bands_known(rows)
    return time_panels.bands(timed.one(), inline(rows), drawn, scale, ends)


def _marks(marks: Sequence[Mapping[str, Any]], ends: tuple[float, float]) -> Panel:
    """Return a row for each kind of mark, with what happened as bars."""
    least = _LEAST_SHARE * (ends[1] - ends[0])
    rows = [
        {
            "kind": row["kind"],
            "from_s": row["at_s"],
            "to_s": max(row["until_s"], row["at_s"] + least),
            "lasted_s": None if row["kind"] in COUNTED else row["until_s"] - row["at_s"],
            "text": row["text"],
        }
        for row in marks
    ]
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    colours = [
        WARNING if kind in (*LINES, SLOW) else QUIET if kind == GAP else SERIES[at % 6] for at, kind in enumerate(kinds)
    ]
    bare = alt.Chart(inline(rows)).encode(
        x=time_axis("from_s", ends),
        x2=alt.X2("to_s:Q"),
        y=alt.Y("kind:N", title=None, sort=kinds, axis=alt.Axis(minExtent=58, labelLimit=120)),
        color=alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=colours), legend=None),
    )
    tips = (Tip("kind", "what"), Tip("from_s", "from (s)"), Tip("lasted_s", "lasted (s)"), Tip("text", "text"))
    drawn: Panel = with_tips(bare.mark_bar(height={"band": 0.6}), *tips)
    return drawn


def _heat(course: EnduranceCourse, length: float, timed: Timed) -> Picture | None:
    rows = [
        row
        for step in course_steps(course, step_s(length, MOST_STEPS))
        for row in over_time.cell_rows((step.begin_s, step.end_s), step.cells())
    ]
    if not rows:
        return None
    data, ends, latency = inline(rows), (0.0, length), latency_ends(rows)
    panels = tuple(
        heat_panel(timed.one(), "operations", weight, data, latency, ends) for weight in (FREQUENCY, INTENSITY)
    )
    return Picture(
        name="endurance-latency",
        title="Latency over time",
        description=f"Latency over {time_panels.length_text(length)}: what was frequent, and what took the time.",
        panels=panels,
        notes=("The line is the mean of each step. Nothing is drawn in gaps.",),
        heights=dict.fromkeys(range(len(panels)), HEIGHT),
    )
