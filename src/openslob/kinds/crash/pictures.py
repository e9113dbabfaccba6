"""Pictures of a proof of durability: how long each recovery took, and what each crash lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from openslob.kinds.crash.record import CrashCycle, CrashRecord
from openslob.report.charts.picture import Panel, Picture, layer_charts
from openslob.report.charts.theme import Tip, colour_by, from_zero, inline, shape_by, with_tips
from openslob.report.document import TextTable
from openslob.report.format import number, seconds

_KIND, _CYCLE = "crash", "cycle"
_HEAD = ("cycle", "crash", "load", "acknowledged", "in doubt", "of these there", "lost", "faults", "recovery")


def crash_pictures(record: CrashRecord) -> tuple[Picture, ...]:
    """Return the picture of all cycles; none without any that recovered."""
    recovered = [cycle for cycle in record.cycles if cycle.recovery_s is not None]
    if not recovered:
        return ()
    panels = [_dots(record.cycles, recovered, "recovery_s", "time to the first query (s)")]
    if any(cycle.lost for cycle in record.cycles):
        panels.append(_dots(record.cycles, record.cycles, "lost", "lost commits"))
    most = max(cycle.recovery_s or 0.0 for cycle in recovered)
    picture = Picture(
        name="crashes",
        title="Each crash: time to recovery, and commits lost",
        description=f"{len(record.cycles)} crashes; recovery took at most {seconds(most)}.",
        panels=tuple(panels),
        table=TextTable(_HEAD, tuple(_row(cycle) for cycle in record.cycles)),
    )
    return (picture,)


def _dots(every: Sequence[CrashCycle], cycles: Sequence[CrashCycle], field: str, title: str) -> Panel:
    kinds = list(dict.fromkeys(cycle.kind.value for cycle in every))
    rows: list[dict[str, Any]] = [
        {_CYCLE: cycle.number, _KIND: cycle.kind.value, "value": getattr(cycle, field), "acked": cycle.acked}
        for cycle in cycles
    ]
    scale = alt.Scale(domain=[0, max(cycle.number for cycle in every) + 1], nice=False)
    base = alt.Chart(inline(rows)).encode(
        x=alt.X(f"{_CYCLE}:Q", title=_CYCLE, scale=scale, axis=alt.Axis(format="d", tickMinStep=1)),
        y=alt.Y("value:Q", title=title, scale=from_zero([row["value"] for row in rows])),
        color=colour_by(_KIND, kinds),
        shape=shape_by(_KIND, kinds),
    )
    tips = (Tip(_CYCLE, _CYCLE), Tip(_KIND, _KIND), Tip("value", title), Tip("acked", "acknowledged commits"))
    return layer_charts(with_tips(base.mark_point(filled=True, size=55), *tips))


def _row(cycle: CrashCycle) -> tuple[str, ...]:
    return (
        str(cycle.number),
        cycle.kind.value,
        seconds(cycle.load_s),
        f"{cycle.acked:,}",
        number(cycle.in_doubt),
        number(cycle.doubtful_there),
        number(cycle.lost),
        number(len(cycle.faults) + len(cycle.damage)),
        seconds(cycle.recovery_s),
    )
