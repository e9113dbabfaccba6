"""The picture of a lab: a forest plot, one row for each setting under each load, a panel for each figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from openslob.kinds.lab.figures import CPU_SECONDS, P99, RATE, per_cpu_of
from openslob.kinds.lab.record import ArmResult, LabArm, LabRecord
from openslob.kinds.lab.report import head_of, ratio_text
from openslob.report.charts.colours import INK, QUIET, SERIES, WARNING
from openslob.report.charts.picture import Panel, Picture, layer_charts
from openslob.report.charts.theme import Tip, inline, legend_columns, with_tips
from openslob.report.document import TextTable
from openslob.report.format import number

Row = dict[str, Any]
_OUTCOMES = {
    "differs": (SERIES[0], "diamond"),
    "no difference seen": (QUIET, "circle"),
    "control: no difference": (SERIES[2], "square"),
    "control: differs": (WARNING, "cross"),
}
# Two lines of a label each.
_ROW_HEIGHT = 34
# What a ratio of more or less is cut off at: it would shrink all others. Its figure is written there instead.
_WIDEST = 1.5


def lab_pictures(record: LabRecord) -> tuple[Picture, ...]:
    """Return the forest plot; none before there are intervals."""
    found = [(arm, result) for arm in record.arms for load in arm.every_load if (result := record.result(arm, load))]
    panels: list[Panel] = []
    heights: dict[int, int] = {}
    per_cpu = per_cpu_of(record)
    for name, title in ((RATE, "rate"), (per_cpu, f"rate per {CPU_SECONDS[per_cpu]}"), (P99, "p99")):
        rows = [row for arm, result in found if (row := _row(arm, result, name))]
        if rows:
            heights[len(panels)] = _ROW_HEIGHT * len(rows)
            panels.append(_panel(rows, title))
    if not panels:
        return ()
    picture = Picture(
        name="lab",
        title="What each setting does",
        description=f"Ratio of figures with each of {len(record.arms)} values to those without, with 95 % intervals.",
        panels=tuple(panels),
        notes=(
            "Right of 1: more than with the value that the server has. Of p99, less is better.",
            "Bars: 95 % intervals. Colour: whether all comparisons taken together show the difference.",
            *(
                ("What is beyond an end of the axis is drawn at the end; its figure is beside it.",)
                if _is_cut(found)
                else ()
            ),
        ),
        table=TextTable(head_of(per_cpu), tuple(_cells(arm, result, per_cpu) for arm, result in found)),
        heights=heights,
    )
    return (picture,)


def _row(arm: LabArm, result: ArmResult, name: str) -> Row | None:
    ratio = result.figures.get(name)
    if ratio is None or ratio.ratio is None or ratio.joint is None:
        return None
    ends = ratio.joint
    low, value, high = (min(max(each, 1 / _WIDEST), _WIDEST) for each in (ends[0], ratio.ratio, ends[1]))
    what = "control: " * result.control
    differs = "differs" if ratio.together else "no difference" if result.control else "no difference seen"
    label = f"{arm.setting}|{arm.value}, {result.load}" if arm.value else f"{arm.setting}|{result.load}"
    beyond = 0 if value == ratio.ratio else 1 if value > 1 else -1
    return {
        "what": label, "arm": arm.label, "load": result.load, "here": arm.here or "the same", "pairs": ratio.pairs,
        "low": low, "value": value, "high": high, "outcome": what + differs, "beyond": beyond,
        "shown": ratio_text(ratio).strip(), "figure": f"× {number(ratio.ratio)}",
    }  # fmt: skip


def _is_cut(found: Sequence[tuple[LabArm, ArmResult]]) -> bool:
    ends = [end for _, result in found for each in result.figures.values() for end in each.joint or () if end]
    return any(not 1 / _WIDEST <= end <= _WIDEST for end in ends)


def _panel(rows: Sequence[Row], title: str) -> Panel:
    shown = [outcome for outcome in _OUTCOMES if any(row["outcome"] == outcome for row in rows)]
    colours = alt.Scale(domain=shown, range=[_OUTCOMES[each][0] for each in shown])
    shapes = alt.Scale(domain=shown, range=[_OUTCOMES[each][1] for each in shown])
    low, high = min(0.95, *(row["low"] for row in rows)), max(1.05, *(row["high"] for row in rows))
    scale = alt.Scale(type="log", domain=[low * 0.98, high * 1.02], nice=False)
    x = alt.X("value:Q", title=f"{title}, × the value here", scale=scale, axis=alt.Axis(format=".3~r"))
    legend = alt.Legend(title=None, columns=legend_columns(max(map(len, shown))))
    axis = alt.Axis(labelLimit=300, grid=True, labelExpr="split(datum.label, '|')", labelLineHeight=13, labelOffset=-6)
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("what:N", title=None, sort=None, axis=axis),
        color=alt.Color("outcome:N", scale=colours, legend=legend),
    )
    tips = (Tip("arm", "setting"), Tip("load", "load"), Tip("here", "here"), Tip("shown", title), Tip("pairs", "pairs"))
    return layer_charts(
        alt.Chart(inline([{"value": 1.0}])).mark_rule(color=QUIET, strokeDash=[4, 3]).encode(x=x),
        base.mark_rule(clip=True, strokeWidth=1.6).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q")),
        with_tips(
            base.mark_point(filled=True, size=85, clip=True).encode(
                x=x, shape=alt.Shape("outcome:N", scale=shapes, legend=legend)
            ),
            *tips,
        ),
        *(_figures(base, x, end) for end in (1, -1) if any(row["beyond"] == end for row in rows)),
    )


def _figures(base: alt.Chart, x: alt.X, end: int) -> alt.Chart:
    """Return the figures of the ratios beyond an end of the axis, beside their points."""
    there = base.transform_filter(f"datum.beyond === {end}")
    text: alt.Chart = there.mark_text(align="right" if end > 0 else "left", dx=-10 * end, fontSize=12).encode(
        x=x, text=alt.Text("figure:N"), color=alt.value(INK)
    )
    return text


def _cells(arm: LabArm, result: ArmResult, per_cpu: str) -> tuple[str, ...]:
    ratios = [ratio_text(result.figures.get(name)).strip() for name in (RATE, per_cpu, P99)]
    return arm.label, f"{result.load} (control)" if result.control else result.load, *ratios, str(result.rate.pairs)
