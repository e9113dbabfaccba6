"""The realism table as a picture: bars of reads per CPU second and per second, with the range of the rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import altair as alt

from openslob.analyze.realism import ContenderKind, ContenderRow, RoundRange, rows
from openslob.record.storage import StorageRecord
from openslob.report.charts.picture import DataTable, Panel, Picture
from openslob.report.charts.theme import coloured
from openslob.report.format import number, percent
from openslob.report.realism import between, realism_headline

_ROW_HEIGHT, _FRAME = 30, 10
_MEANINGS = {
    ContenderKind.RAW: "storage alone: nobody looks",
    ContenderKind.LOCAL: "private memory",
    ContenderKind.SHARED: "shared cache",
    ContenderKind.UPDATES: "shared cache, with updates",
    ContenderKind.CLIENT: "client outside the server",
}
Cells = list[dict[str, Any]]
# The page makes it light where the page is dark.
_INK = "#404040"


def pictures(record: StorageRecord) -> tuple[Picture, ...]:
    """The picture of a comparison, if anything was measured."""
    found = [row for row in rows(record) if row.iops.median is not None]
    if not found:
        return ()
    panels = (
        (bar_rows(found, lambda row: row.iops_per_cpu), "reads per CPU second"),
        (bar_rows(found, lambda row: row.iops), "reads per second"),
    )
    height = _FRAME + _ROW_HEIGHT * len(found)
    return (
        Picture(
            name="realism",
            title="What storage gives, and what databases get",
            description=realism_headline(record),
            panels=tuple(_bars(cells, title) for cells, title in panels),
            notes=("Bars: medians of the rounds. Lines: lowest to highest.",),
            table=_table(found),
            heights=dict.fromkeys(range(len(panels)), height),
        ),
    )


def bar_rows(found: Sequence[ContenderRow], figure: Callable[[ContenderRow], RoundRange]) -> Cells:
    """A bar for each contender with its range, and the number that stands beside it."""
    return [
        {
            "name": row.name, "what": _MEANINGS[row.kind], "value": spread.median, "low": spread.low,
            "high": spread.high, "shown": number(spread.median),
        }
        for row in found
        if (spread := figure(row)).median is not None
    ]  # fmt: skip


def _bars(cells: Cells, title: str) -> Panel:
    kinds = [meaning for meaning in _MEANINGS.values() if any(cell["what"] == meaning for cell in cells)]
    most = max((cell["high"] for cell in cells), default=1.0)
    names = alt.Y("name:N", title=None, sort=None, axis=alt.Axis(labelLimit=220, minExtent=150, maxExtent=150))
    # Room for the number behind the longest line.
    x = alt.X("value:Q", title=title, scale=alt.Scale(domain=[0, most * 1.15], nice=False))
    tips = [alt.Tooltip("name:N", title=" "), alt.Tooltip("what:N", title="data")]
    tips += [alt.Tooltip(f"{name}:Q", title=name, format=",.0f") for name in ("value", "low", "high")]
    base = alt.Chart(alt.InlineData(values=cells)).encode(y=names)
    bars = base.mark_bar(height={"band": 0.62}).encode(x=x, color=coloured("what", kinds), tooltip=tips)
    ranges = base.mark_rule(strokeWidth=1.6, color=_INK).encode(x="low:Q", x2="high:Q")
    text = base.mark_text(align="left", dx=6, fontSize=12, color=_INK).encode(x="high:Q", text="shown:N")
    return alt.layer(bars, ranges, text)


def _table(found: Sequence[ContenderRow]) -> DataTable:
    head = ("", "IOPS", "lowest–highest", "of ceiling", "IOPS/CPU", "lowest–highest", "host CPU", "what it does")
    return DataTable(
        head,
        tuple(
            (
                row.name, number(row.iops.median), between(row.iops), percent(row.ceiling_pct),
                number(row.iops_per_cpu.median), between(row.iops_per_cpu), percent(row.host_pct), row.does,
            )
            for row in found
        ),
    )  # fmt: skip
