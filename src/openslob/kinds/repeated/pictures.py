"""The picture of a repeated run: the figures of its runs over hours and days, with their levels between changes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import altair as alt

from openslob.core.units import format_duration
from openslob.kinds.repeated.record import RepeatedRecord, TimeState
from openslob.metrics import Timed
from openslob.report.charts.colours import BANDS, SERIES, WARNING
from openslob.report.charts.picture import Panel, Picture, layer_charts
from openslob.report.charts.theme import Tip, inline, with_tips
from openslob.report.charts.time_panels import PANEL_HEIGHT, Y_AXIS
from openslob.report.format import local_moment

Row = dict[str, Any]
_TITLES = {"ops_per_s": "operations/s", "p99_us": "{} (µs)"}
# Units of the axis, each with the least length in it for which it is used.
_UNITS = ((86_400.0, "d", 3), (3600.0, "h", 3), (60.0, "min", 3), (1.0, "s", 0))


def repeated_picture(record: RepeatedRecord) -> Picture | None:
    """Return each figure of the runs over time; None before there was a run."""
    length_s = len(record.times) * record.every_s
    unit_s, unit = next((unit_s, unit) for unit_s, unit, least in _UNITS if length_s >= least * unit_s)
    drawn = [panel for name in _TITLES if (panel := _panel(record, name, unit_s, unit)) is not None]
    if not drawn:
        return None
    missing = sum(each.state is not TimeState.DONE for each in record.times)
    return Picture(
        name="repeated",
        title="The runs over time",
        description=f"Figures of {len(record.done)} runs, one every {format_duration(record.every_s)}.",
        panels=tuple(drawn),
        notes=(
            "A dot is a run; the line is the median between two change points.",
            *((f"Crosses: {missing} times without a run.",) if missing else ()),
        ),
        heights=dict.fromkeys(range(len(drawn)), PANEL_HEIGHT),
    )


def _panel(record: RepeatedRecord, name: str, unit_s: float, unit: str) -> Panel | None:
    rows = [
        {
            "at": (each.due_s - record.first_s) / unit_s,
            "value": value,
            "run": each.number,
            "when": local_moment(each.due_s),
        }
        for each in record.done
        if (value := each.figures.get(name)) is not None
    ]  # fmt: skip
    if not rows:
        return None
    ends = (0.0, max(len(record.times) * record.every_s / unit_s, record.every_s / unit_s))
    x = alt.X("at:Q", title=f"time since the first run ({unit})", scale=alt.Scale(domain=list(ends), nice=False))
    title = _TITLES[name].format(Timed.of(record.workload).at("p99"))
    y = alt.Y("value:Q", title=title, scale=alt.Scale(zero=True), axis=Y_AXIS)
    base = alt.Chart(inline(rows)).mark_point(size=28, filled=True, color=SERIES[0]).encode(x=x, y=y)
    dots = with_tips(base, Tip("run", "run"), Tip("when", "due"), Tip("value", title))
    lines = (
        alt.Chart(inline(_levels(record, name, unit_s, ends[1])))
        .mark_rule(color=BANDS[0], strokeWidth=3)
        .encode(x=x, x2=alt.X2("until:Q"), y=y)
    )
    missed = [
        {"at": (each.due_s - record.first_s) / unit_s, "value": 0, "why": f"{each.state.value}: {each.why}"}
        for each in record.times
        if each.state is not TimeState.DONE
    ]
    crosses = alt.Chart(inline(missed)).mark_point(shape="cross", size=50, color=WARNING, filled=True)
    layers = [dots, lines, *([with_tips(crosses.encode(x=x, y=y), Tip("why", "no run"))] if missed else [])]
    return layer_charts(*layers)


def _levels(record: RepeatedRecord, name: str, unit_s: float, end: float) -> list[Row]:
    """Return the median of the runs between each two changes."""
    changes = [each for each in record.changes if each["figure"] == name]
    edges = [0.0, *((each["due_s"] - record.first_s) / unit_s for each in changes), end]
    medians = [changes[0]["before"], *(each["after"] for each in changes)] if changes else [record.value(name)]
    return [
        {"at": begin, "until": until, "value": value}
        for (begin, until), value in zip(pairwise(edges), medians, strict=True)
    ]
