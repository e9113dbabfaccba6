"""Pictures that compare runs: the change in each figure, and the tails of latencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from openslob.analyze.compare import Comparison
from openslob.analyze.differences import Difference, Outcome
from openslob.core.histogram import bucket_of
from openslob.metrics import METRICS, Better, Timed
from openslob.record.model import RunRecord
from openslob.report.charts.colours import QUIET, SERIES
from openslob.report.charts.over_time import exceeding
from openslob.report.charts.picture import Picture, layer_charts
from openslob.report.charts.theme import (
    Tip,
    colour_by,
    dash_by,
    from_zero,
    inline,
    legend_selection,
    selection_opacity,
    with_tips,
)
from openslob.report.comparison import main_differences, multiple, summary
from openslob.report.record_view import FigureNames

Row = dict[str, Any]
# Colour and shape of each outcome that is drawn.
OUTCOMES = {
    Outcome.BETTER: (SERIES[2], "triangle-up"),
    Outcome.WORSE: (SERIES[1], "triangle-down"),
    Outcome.DIFFERENT: (SERIES[0], "diamond"),
    Outcome.NOT_SHOWN: (QUIET, "circle"),
    Outcome.NOT_ENOUGH: (QUIET, "cross"),
}
ROW_HEIGHT = 22
# Figures that describe how a run was made, which are the same on both sides by intention.
_NOT_FIGURES = ("sessions", "elapsed_s", "start_skew_ms")
# Longer intervals are cut off: they mean that the change is unknown, and would shrink the others.
WIDEST_PCT = 100.0


def changes(comparison: Comparison, names: FigureNames | None = None) -> Picture | None:
    """Return the change of B against A in % with 95 % intervals, a row per figure; None if no change can be judged."""
    names, differences = names or FigureNames(), main_differences(comparison)
    rows = change_rows(differences, names)
    if all(row["outcome"] == Outcome.NOT_ENOUGH.value for row in rows):
        return None
    shown = [outcome for outcome in OUTCOMES if any(row["outcome"] == outcome.value for row in rows)]
    scale = alt.Scale(domain=[each.value for each in shown], range=[OUTCOMES[each][0] for each in shown])
    shapes = alt.Scale(domain=[each.value for each in shown], range=[OUTCOMES[each][1] for each in shown])
    x = alt.X("pct:Q", title="B against A (%)", scale=alt.Scale(domain=_axis_domain(rows), nice=False))
    legend = alt.Legend(title=None)
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("figure:N", title=None, sort=None, axis=alt.Axis(labelLimit=260, grid=True)),
        color=alt.Color("outcome:N", scale=scale, legend=legend),
    )
    tips = (
        Tip("figure", "figure"), Tip("a", "A"), Tip("b", "B"), Tip("pct", "change (%)", "low", "high", form="+.2f"),
        Tip("outcome", "outcome"),
    )  # fmt: skip
    panel = layer_charts(
        alt.Chart(inline([{"pct": 0}])).mark_rule(color=QUIET, strokeDash=[4, 3]).encode(x=x),
        base.mark_rule(clip=True, strokeWidth=1.6).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q")),
        with_tips(
            base.mark_point(filled=True, size=85, clip=True).encode(
                x=x, shape=alt.Shape("outcome:N", scale=shapes, legend=legend)
            ),
            *tips,
        ),
    )
    return Picture(
        name="changes",
        title="What changed",
        description=f"{summary(comparison)} A is {comparison.name_a}, B is {comparison.name_b}.",
        panels=(panel,),
        notes=(
            f"A: {comparison.name_a}",
            f"B: {comparison.name_b}",
            "Bars: 95 % intervals of the change.",
            *_too_large(differences, names),
        ),
        heights={0: ROW_HEIGHT * len(rows)},
    )


def change_rows(differences: Mapping[str, Difference], names: FigureNames) -> list[Row]:
    """Return a row for each figure with a known change of at most `MOST_PCT`, those with a better direction first."""
    known = {name: change for name, change in differences.items() if _is_shown(name, change) and not multiple(change)}
    ordered = sorted(known.items(), key=lambda item: item[0] in METRICS and METRICS[item[0]].better is Better.NEITHER)
    return [
        {
            "figure": names.axis(name), "outcome": change.outcome.value, "a": change.a.mean, "b": change.b.mean,
            "pct": change.pct, "low": change.pct_low, "high": change.pct_high,
        }
        for name, change in ordered
    ]  # fmt: skip


def tails(records: Sequence[tuple[str, RunRecord]]) -> Picture | None:
    """Return the share of operations that took at least a given time, a line for each named record."""
    rows = [{"run": name, **row} for name, record in records for row in exceeding(_buckets(record))]
    if not rows:
        return None
    runs = list(dict.fromkeys(row["run"] for row in rows))
    timed = Timed.together(record.spec for _, record in records)
    pick = legend_selection("run", "picked_run")
    least = min(row["share_pct"] for row in rows)
    y_scale = alt.Scale(type="log", domain=[least * 0.85, 100])
    panel = (
        alt.Chart(inline(rows))
        .mark_line(interpolate="step-before", strokeWidth=1.8)
        .encode(
            x=alt.X("us:Q", title=f"latency of {timed.a()} (µs)", scale=from_zero([row["us"] for row in rows])),
            y=alt.Y("share_pct:Q", title=f"{timed.many()} that took at least this long (%)", scale=y_scale),
            color=colour_by("run", runs, outlined=True),
            strokeDash=dash_by("run", runs, outlined=True),
            tooltip=[alt.Tooltip("run:N", title="run")],
            **selection_opacity(pick),
        )
        .add_params(pick)
    )
    return Picture(
        name="tails",
        title=f"Latency of {timed.many()}, side by side",
        description=f"The share of {timed.many()} that took at least a given time, for {', '.join(runs)}.",
        panels=(panel,),
    )


_ENDS = ("pct", "low", "high")


def _is_shown(name: str, difference: Difference) -> bool:
    is_figure = name not in _NOT_FIGURES and not name.endswith("_total") and difference.pct is not None
    return is_figure and difference.outcome in OUTCOMES and difference.a.mean != 0


def _too_large(differences: Mapping[str, Difference], names: FigureNames) -> list[str]:
    """Return a note on the figures that are not drawn because their change would shrink all others."""
    large = [(name, multiple(change)) for name, change in differences.items() if _is_shown(name, change)]
    texts = [f"{names.axis(name)} {times}" for name, times in large if times]
    return [f"Not drawn, because B is many times A: {'; '.join(texts)}."] if texts else []


def _axis_domain(rows: Sequence[Row]) -> list[float]:
    ends = [row[field] for row in rows for field in _ENDS if row[field] is not None]
    low, high = max(min(ends, default=-1.0), -WIDEST_PCT), min(max(ends, default=1.0), WIDEST_PCT)
    low, high = min([low, *(row["pct"] for row in rows)]), max([high, *(row["pct"] for row in rows)])
    return [min(low * 1.08, -1.0), max(high * 1.08, 1.0)]


def _buckets(record: RunRecord) -> dict[int, int]:
    """Return counts by bucket of the most frequent kind of operation."""
    most = max(record.latency.values(), key=lambda figures: figures.get("count") or 0, default={})
    return {bucket_of(edge): count for edge, count in most.get("buckets", ())}
