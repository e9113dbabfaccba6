"""Horizontal bars with their ranges, and the picture of dd: data that are only read, and data that are examined."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

import altair as alt

from openslob.core.units import MIB
from openslob.kinds.storage.headline import storage_headline
from openslob.record.storage import StorageRecord, StorageStep
from openslob.report.charts.colours import INK
from openslob.report.charts.picture import Panel, Picture
from openslob.report.charts.theme import coloured, inline
from openslob.report.charts.tips import Tip, with_tips
from openslob.report.document import TextTable
from openslob.report.format import number

Row = dict[str, Any]
ROW_HEIGHT, FRAME = 30, 10
ONLY_READ, EXAMINED = "data only read", "every byte examined"


def bars(cells: list[Row], title: str, kinds: Sequence[str]) -> Panel:
    """Return bars of ``value`` by ``name``, coloured by ``what``, with lines from ``low`` to ``high``."""
    most = max((cell["high"] for cell in cells), default=1.0)
    names = alt.Y("name:N", title=None, sort=None, axis=alt.Axis(labelLimit=220, minExtent=150, maxExtent=150))
    # Room for the label of the longest bar.
    x = alt.X("value:Q", title=title, scale=alt.Scale(domain=[0, most * 1.15], nice=False))
    tips = (Tip("name", " "), Tip("what", "data"), Tip("value", title, "low", "high"))
    base = alt.Chart(inline(cells)).encode(y=names)
    drawn = with_tips(base.mark_bar(height={"band": 0.62}).encode(x=x, color=coloured("what", kinds)), *tips)
    ranges = base.mark_rule(strokeWidth=1.6, color=INK).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    text = base.mark_text(align="left", dx=6, fontSize=12, color=INK).encode(
        x=alt.X("high:Q"), text=alt.Text("shown:N")
    )
    return alt.layer(drawn, ranges, text)


def bars_height(count: int) -> int:
    """Return the height of a panel with so many bars."""
    return FRAME + ROW_HEIGHT * count


def ways(record: StorageRecord) -> tuple[Picture, ...]:
    """Return the picture of dd, or none if nothing was measured."""
    panels = {
        title: cells
        for title, figure in (("MB/s", "mb_per_s"), ("CPU time per MB (µs)", "cpu_us_per_io"))
        if (cells := way_rows(record, figure))
    }
    if not panels:
        return ()
    return (
        Picture(
            name="dd",
            title="Data that are only read, and data that are examined",
            description=storage_headline(record),
            panels=tuple(bars(cells, title, _kinds(cells)) for title, cells in panels.items()),
            notes=("Bars: medians of the repeats. Lines: lowest to highest.",),
            table=_table(panels),
            heights={at: bars_height(len(cells)) for at, cells in enumerate(panels.values())},
        ),
    )


def way_rows(record: StorageRecord, figure: str) -> list[Row]:
    """Return a row for each way of reading: median and range of a figure over its steps, per MB where it is per I/O."""
    steps: dict[str, list[float]] = {}
    examined: dict[str, bool] = {}
    for step in record.steps:
        if (value := _per_mb(step, figure)) is not None:
            steps.setdefault(step.name, []).append(value)
            # dd's steps have no checksums: those that look at every byte are named so.
            examined[step.name] = bool(step.load and step.load.verified) or "looked at" in step.name
    return [
        {
            "name": name, "what": EXAMINED if examined[name] else ONLY_READ, "value": median(values),
            "low": min(values), "high": max(values), "shown": number(median(values)),
        }
        for name, values in steps.items()
    ]  # fmt: skip


def _per_mb(step: StorageStep, figure: str) -> float | None:
    value = step.value(figure)
    if value is None or not figure.endswith("_per_io"):
        return value
    return value * MIB / step.load.block_bytes if step.load else None


def _kinds(cells: Sequence[Row]) -> list[str]:
    return [kind for kind in (ONLY_READ, EXAMINED) if any(cell["what"] == kind for cell in cells)]


def _table(panels: dict[str, list[Row]]) -> TextTable:
    rows = tuple(
        (cell["name"], title, cell["shown"], f"{number(cell['low'])}–{number(cell['high'])}", cell["what"])
        for title, cells in panels.items()
        for cell in cells
    )
    return TextTable(("way", "figure", "median", "lowest–highest", "data"), rows)
