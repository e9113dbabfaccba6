"""The picture of a comparison in pairs: each pair, and the interval after each look."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from openslob.analyze.compare import better_of
from openslob.analyze.outcome import count_noun
from openslob.kinds.ab.figures import is_invalid, values
from openslob.kinds.ab.record import AbLook, AbRecord
from openslob.kinds.ab.report import called, change_text, name_figure
from openslob.metrics import Better
from openslob.report.charts.colours import BANDS, QUIET, SERIES
from openslob.report.charts.picture import Panel, Picture, layer_charts
from openslob.report.charts.theme import Tip, inline, with_tips

# The axis has this room beyond the pairs; an interval that is wider is cut off: it would shrink all others.
_ROOM = 1.05
_HEIGHT = 260


def ab_picture(record: AbRecord) -> Picture | None:
    """Return the ratio of each pair with the intervals; None without a pair, or if runs are not what they claim."""
    ratios = [b / a for a, b in values(record, record.figure)]
    if not ratios or is_invalid(record):
        return None
    pairs = count_noun(len(ratios), "pair")
    looks = [each for each in record.looks if each.low is not None and each.high is not None]
    better = "more" if better_of(record.figure) is Better.MORE else "less"
    return Picture(
        name="ab",
        title="B against A, pair by pair",
        description=f"{name_figure(record, record.figure)}, B / A: {pairs} of runs, with intervals.",
        panels=(_panel(record, ratios, looks),),
        notes=(
            f"A dot is a pair; {better} is better. A bar is the 95 % interval of all pairs until then.",
            f"The band: less than {record.within_pct:g} % apart, which counts as the same.",
        ),
        heights={0: _HEIGHT},
    )


def _panel(record: AbRecord, ratios: Sequence[float], looks: Sequence[AbLook]) -> Panel:
    last = [end for each in looks[-1:] for end in (each.low, each.high) if end]
    ends = [*ratios, *last, 1 - record.within_pct / 100, 1 + record.within_pct / 100]
    scale = alt.Scale(type="log", domain=[min(ends) / _ROOM, max(ends) * _ROOM], nice=False)
    along = alt.Scale(domain=[0.5, len(ratios) + 0.5], nice=False, zero=False)
    x = alt.X("pair:Q", title="pair", scale=along, axis=alt.Axis(tickMinStep=1, format="d", grid=False))
    name = called(record, record.figure).rstrip(",")
    y = alt.Y("value:Q", title=f"{name}: B / A", scale=scale, axis=alt.Axis(format=".3~r"))
    dots = [{"pair": number, "value": ratio} for number, ratio in enumerate(ratios, 1)]
    bars = [
        {"pair": each.pairs, "value": each.ratio, "low": each.low, "high": each.high, "shown": change_text(each)}
        for each in looks
    ]
    same = [{"low": 1 - record.within_pct / 100, "high": 1 + record.within_pct / 100}]
    drawn = alt.Chart(inline(bars)).encode(x=x)
    return layer_charts(
        alt.Chart(inline(same)).mark_rect(color=BANDS[0], opacity=0.2).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        alt.Chart(inline([{"value": 1.0}])).mark_rule(color=QUIET, strokeDash=[4, 3]).encode(y=y),
        with_tips(
            alt.Chart(inline(dots)).mark_point(size=28, filled=True, color=QUIET).encode(x=x, y=y),
            Tip("pair", "pair"), Tip("value", "B / A"),
        ),
        drawn.mark_rule(color=SERIES[0], strokeWidth=2, clip=True).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        with_tips(
            drawn.mark_point(size=70, filled=True, color=SERIES[0], clip=True).encode(y=y),
            Tip("pair", "pairs"), Tip("shown", "B against A"),
        ),
    )  # fmt: skip
