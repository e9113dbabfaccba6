"""The picture of a history: figures of runs over time, with their levels between change points, and what changed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from textwrap import wrap
from typing import Any

import altair as alt

from openslob.analyze.history import History
from openslob.report.charts.colours import BANDS, SERIES, WARNING
from openslob.report.charts.picture import Panel, Picture, layer_charts
from openslob.report.charts.theme import Tip, inline, with_tips
from openslob.report.charts.time_panels import PANEL_HEIGHT, Y_AXIS
from openslob.report.history import describe, long_enough, when

# Panels that are still one picture.
MOST_PANELS = 8
# The drawing library's own have hours of twelve, without am and pm.
_TIMES = {"hours": "%H:%M", "minutes": "%H:%M", "seconds": "%H:%M:%S", "day": "%b %d", "date": "%b %d"}
_LABEL_WIDTH, _LABEL_LINES = 34, 3


def history_picture(found: Sequence[History]) -> Picture:
    """Return the figures of the runs over time: a panel for each figure of each history."""
    found = long_enough(found)
    every = [(history, name) for history in reversed(found) for name in history.figures]
    drawn = [(each, panel) for each in every if (panel := _panel(*each, several=len(found) > 1)) is not None]
    panels = [panel for _, panel in drawn[:MOST_PANELS]]
    left = len(drawn) - len(panels)
    runs = sum(len(each.runs) for each in found)
    return Picture(
        name="history",
        title=describe(found),
        description=f"Figures of {runs} runs over time, with the levels between change points.",
        panels=tuple(panels),
        notes=(
            "A dot is a run; a thick line is the median between two change points.",
            "A vertical line: settings, versions or the host changed with this run, or nothing was measured before it.",
            *((f"{left} more panels are not drawn: name a target or a figure.",) if left else ()),
        ),
        heights=dict.fromkeys(range(len(panels)), PANEL_HEIGHT),
    )


def _panel(history: History, name: str, several: bool) -> Panel | None:
    rows = [
        {"at": run.at_s * 1000, "value": run.figures[name], "id": run.id, "when": when(run.started_at)}
        for run in history.runs
        if run.figures.get(name) is not None
    ]
    if not rows:
        return None
    unit = history.unit_of(name)
    title = f"{name} ({unit})" if unit else name
    labels = [title, *_label(history)] if several else title
    x = alt.X("at:T", title="begin of the run (UTC)", scale=alt.Scale(type="utc"), axis=alt.Axis(format=_TIMES))
    y = alt.Y("value:Q", title=labels, scale=alt.Scale(zero=True), axis=Y_AXIS)
    base = alt.Chart(inline(rows)).mark_point(size=28, filled=True, color=SERIES[0]).encode(x=x, y=y)
    dots = with_tips(base, Tip("when", "begun"), Tip("id", "run"), Tip("value", title))
    levels = alt.Chart(inline(_levels(history, name, rows)))
    lines = levels.mark_rule(color=BANDS[0], strokeWidth=3).encode(x=x, x2=alt.X2("until:T"), y=y)
    marks = [
        {"at": run.at_s * 1000, "why": "; ".join([*run.changed, *(["no run before it"] if run.gap_s else [])])}
        for run in history.runs
        if run.changed or run.gap_s
    ]
    if not marks:
        return layer_charts(lines, dots)
    changed = alt.Chart(inline(marks)).mark_rule(color=WARNING, strokeDash=[4, 3]).encode(x=x)
    return layer_charts(lines, with_tips(changed, Tip("why", "changed")), dots)


def _label(history: History) -> list[str]:
    """Return the server and its load, in lines that a panel has room for."""
    return wrap(f"{history.server}: {history.words}", _LABEL_WIDTH)[:_LABEL_LINES]


def _levels(history: History, name: str, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    changes = [each for each in history.changes if each.figure == name]
    if not changes:
        return []
    edges = [rows[0]["at"], *(history.runs[each.at].at_s * 1000 for each in changes), rows[-1]["at"]]
    values = [changes[0].before, *(each.after for each in changes)]
    return [{"at": a, "until": b, "value": value} for (a, b), value in zip(pairwise(edges), values, strict=True)]
