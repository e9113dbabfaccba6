"""Pictures of a calibration: latency over IOPS and over MB/s, a point for each number of requests in flight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

import altair as alt

from openslob.core.units import MIB, format_bytes
from openslob.kinds.storage.headline import storage_headline
from openslob.record.storage import StorageRecord, StorageStep
from openslob.report.charts.colours import QUIET, WARNING
from openslob.report.charts.picture import Panel, Picture
from openslob.report.charts.theme import (
    coloured,
    dashed,
    from_zero,
    inline,
    layered,
    legend_selection,
    selection_opacity,
    shaped,
)
from openslob.report.charts.tips import Tip, with_tips
from openslob.report.document import TextTable
from openslob.report.format import micros, number

Row = dict[str, Any]
LINES = {"mean_us": "mean", "p99_us": "p99"}
VERIFIED = ", contents verified"
# A limit that is this many times higher than all latencies would shrink them: it is only named.
FARTHEST_LIMIT = 2.0
_HEIGHT = 340


def calibration(record: StorageRecord) -> tuple[Picture, ...]:
    """Return the picture of a calibration, or none if nothing was measured."""
    rows = _curves(record)
    if not rows:
        return ()
    return (
        Picture(
            name="calibration",
            title="Latency over IOPS and MB/s, storage alone",
            description=storage_headline(record),
            panels=tuple(_curve(each, _rate_title(size), _limit(record, each, size)) for size, each in rows.items()),
            notes=tuple(_notes(record, rows)),
            table=_table(rows),
            heights=dict.fromkeys(range(len(rows)), _HEIGHT),
        ),
    )


def calibrations(records: Sequence[StorageRecord]) -> tuple[Picture, ...]:
    """Return the mean latencies of several calibrations in one picture; none if fewer than two were measured."""
    rows: dict[int, list[Row]] = {}
    for record in records:
        for size, of_size in _curves(record).items():
            rows.setdefault(size, []).extend(row | {"line": record.id} for row in of_size if row["labelled"])
    shared = {size: each for size, each in rows.items() if len({row["line"] for row in each}) > 1}
    if not shared:
        return ()
    return (
        Picture(
            name="calibrations",
            title="Latency over IOPS and MB/s, storage alone, side by side",
            description=f"Mean latency of random reads in {', '.join(record.id for record in records)}.",
            panels=tuple(_curve(each, _rate_title(size), None) for size, each in shared.items()),
            notes=("Mean latencies. Numbers at the points: requests in flight. Rings: where the results were found.",),
            table=_table(shared),
            heights=dict.fromkeys(range(len(shared)), _HEIGHT),
        ),
    )


def _curves(record: StorageRecord) -> dict[int, list[Row]]:
    """Return the rows of a calibration by the size of its reads, small ones first."""
    block = int(record.asked.get("block_bytes") or 0)
    axes = {block: ("iops", "max_iops_in_flight"), MIB: ("mb_per_s", "max_mb_in_flight")}
    rows = {size: curve_rows(record, size, rate, record.value(result)) for size, (rate, result) in axes.items()}
    return {size: each for size, each in rows.items() if each}


def curve_rows(record: StorageRecord, block_bytes: int, rate: str, result: float | None) -> list[Row]:
    """Return a row for each statistic and each number in flight of random reads: medians of the steps with it.

    ``rate`` is the figure of the x axis, ``result`` the number in flight at which the calibration found its result.
    """
    steps: dict[tuple[bool, int], list[StorageStep]] = {}
    for step in record.steps:
        load = step.load
        if load and (load.block_bytes, load.read_pct, load.pattern) == (block_bytes, 100, "random"):
            steps.setdefault((load.verified, load.in_flight), []).append(step)
    return [
        {
            "line": text + (VERIFIED if verified else ""), "in_flight": in_flight, "rate": at, "us": us,
            "times": len(group), "result": in_flight == result and not verified,
            "labelled": figure == "mean_us" and not verified,
        }
        for checked in (False, True)
        for figure, text in LINES.items()
        for (verified, in_flight), group in sorted(steps.items())
        if verified is checked
        if (at := _median(group, rate)) is not None and (us := _median(group, figure)) is not None
    ]  # fmt: skip


def _median(steps: Sequence[StorageStep], figure: str) -> float | None:
    values = [value for step in steps if (value := step.value(figure)) is not None]
    return median(values) if values else None


def _rate_title(block_bytes: int) -> str:
    return "random 1 MB reads (MB/s)" if block_bytes == MIB else f"random {format_bytes(block_bytes)} reads (IOPS)"


def _limit(record: StorageRecord, rows: Sequence[Row], block_bytes: int) -> float | None:
    """Return the latency limit if it is near the curve; it holds for small reads only."""
    limit = record.asked.get("latency_limit_us")
    if not limit or block_bytes == MIB or limit > FARTHEST_LIMIT * max(row["us"] for row in rows):
        return None
    return float(limit)


def _curve(rows: list[Row], title: str, limit: float | None) -> Panel:
    lines = list(dict.fromkeys(row["line"] for row in rows))
    pick = legend_selection("line", f"picked_{'mb' if 'MB/s' in title else 'iops'}")
    latencies = [row["us"] for row in rows]
    y = alt.Y("us:Q", title="latency (µs)", scale=_latency_scale([*latencies, *([limit] if limit else [])]))
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("rate:Q", title=title, scale=from_zero([row["rate"] for row in rows])),
        y=y,
        **selection_opacity(pick),
    )
    colour, shape = coloured("line", lines), shaped("line", lines)
    tips = (Tip("line", "latency"), Tip("in_flight", "in flight"), Tip("rate", title), Tip("us", "latency (µs)"),
            Tip("times", "measured, times"))  # fmt: skip
    dots = base.mark_point(filled=True, size=60).encode(color=colour, shape=shape)
    labels = base.transform_filter("datum.labelled").mark_text(align="left", dx=7, dy=9, fontSize=11)
    ring = base.transform_filter("datum.result").mark_point(filled=False, size=260, color=QUIET, strokeWidth=1.6)
    return layered(
        base.mark_line(strokeWidth=1.8).encode(
            color=colour, strokeDash=dashed("line", lines), order=alt.Order("in_flight:Q")
        ),
        with_tips(dots, *tips),
        ring,
        labels.encode(text=alt.Text("in_flight:Q")),
        *(_limit_line(limit) if limit else ()),
        params=[pick],
    )


def _latency_scale(latencies: Sequence[float]) -> alt.Scale:
    # Logarithmic, because latency doubles with the depth once the storage is busy.
    return alt.Scale(type="log", domain=[min(latencies) * 0.75, max(latencies) * 1.2], nice=False)


def _limit_line(limit: float) -> tuple[alt.Chart, alt.Chart]:
    base = alt.Chart(inline([{"us": limit, "text": f"limit {micros(limit)}"}])).encode(y=alt.Y("us:Q"))
    text = base.mark_text(color=WARNING, align="left", dx=4, dy=-6)
    return (
        base.mark_rule(color=WARNING, strokeDash=[4, 3], strokeWidth=1.2),
        text.encode(x=alt.XValue(0), text=alt.Text("text:N")),  # type: ignore[no-untyped-call]
    )


def _notes(record: StorageRecord, rows: Mapping[int, Sequence[Row]]) -> Iterator[str]:
    yield "Numbers at the points: requests in flight. Points measured several times are medians."
    if any(row["result"] for each in rows.values() for row in each):
        yield "Ring: where the result was found."
    limit, (size, small) = record.asked.get("latency_limit_us"), next(iter(rows.items()))
    if limit and size != MIB and _limit(record, small, size) is None:
        yield f"The limit, a {record.asked.get('at', 'p99')} of {micros(limit)}, is above the picture."


def _table(rows: Mapping[int, Sequence[Row]]) -> TextTable:
    head = ("reads", "in flight", "rate", "latency", "µs", "times")
    cells = (
        (
            _rate_title(size),
            str(row["in_flight"]),
            number(row["rate"]),
            row["line"],
            number(row["us"]),
            str(row["times"]),
        )
        for size, of_size in rows.items()
        for row in of_size
    )
    return TextTable(head, tuple(cells))
