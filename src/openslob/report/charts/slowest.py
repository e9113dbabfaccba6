"""The slowest single reads over time: of runs whose operations visit one block each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from openslob.core.units import NANOS
from openslob.record.model import RunRecord
from openslob.report.charts.colours import QUIET
from openslob.report.charts.heat import LATENCY_AXIS
from openslob.report.charts.picture import Panel, Picture, layer_charts
from openslob.report.charts.theme import Tip, colour_by, from_zero, inline, is_log, shape_by, with_tips
from openslob.report.document import TextTable
from openslob.report.format import micros
from openslob.report.slowest import MOST, SLICE_NOTE, cells_of, of_single_blocks, slowest_of

Row = dict[str, Any]
HEIGHT = 300
_TIPS = (
    Tip("us", "latency (µs)"), Tip("sessions", "sessions"), Tip("session", "in session"), Tip("since", "since (UTC)"),
    Tip("run", "run"),
)  # fmt: skip


def slowest_reads(records: Sequence[RunRecord]) -> Picture | None:
    """Return when the slowest reads of each run came, with the run's median; None unless all are single reads."""
    measured = [record for record in records if record.window and slowest_of([record])]
    if not measured or not of_single_blocks(measured):
        return None
    rows = read_rows(measured)
    found = slowest_of(measured)
    return Picture(
        name="slowest-reads",
        title="The slowest reads",
        description=f"The {MOST} slowest operations of each run, of one block each, over time: up to "
        f"{micros(found[0].us)}, {found[0].since:%Y-%m-%d %H:%M:%S} UTC.",
        panels=(_panel(rows, median_rows(measured)),),
        notes=(SLICE_NOTE, "Grey: the median of all operations of the run."),
        table=TextTable(*cells_of(found, len(records) > 1)),
        heights={0: HEIGHT},
    )


def read_rows(records: Sequence[RunRecord]) -> list[Row]:
    """Return a row for each of the slowest reads of each run; times in seconds since the first run's load began."""
    return [
        {
            **_place(records, record, slow.from_s, slow.to_s),
            "us": slow.us, "session": slow.session, "since": f"{slow.since:%Y-%m-%d %H:%M:%S}",
        }
        for record in records
        for slow in slowest_of([record])
    ]  # fmt: skip


def median_rows(records: Sequence[RunRecord]) -> list[Row]:
    """Return the median of the operations of each run, from the begin to the end of its load."""
    return [
        {**_place(records, record, 0.0, record.window.load_seconds), "us": figures["p50_us"]}
        for record in records
        for figures in record.latency.values()
        if record.window and figures.get("p50_us")
    ]


def _place(records: Sequence[RunRecord], record: RunRecord, from_s: float, to_s: float) -> Row:
    begins = [each.window.load_start_ns for each in records if each.window]
    offset_s = (record.window.load_start_ns - min(begins)) / NANOS if record.window else 0.0
    sessions = record.spec.get("sessions")
    return {
        "from_s": offset_s + from_s, "to_s": offset_s + to_s, "run": record.id,
        "sessions": f"{sessions} session{'' if sessions == 1 else 's'}",
    }  # fmt: skip


def _panel(rows: list[Row], medians: list[Row]) -> Panel:
    scale = from_zero([row["us"] for row in (*rows, *medians)])
    y = alt.Y("us:Q", title="latency (µs)", scale=scale, axis=LATENCY_AXIS if is_log(scale) else alt.Axis())
    first = " of the first run" if len({row["run"] for row in rows}) > 1 else ""
    x = alt.X("from_s:Q", title=f"time since the load{first} began (s)", axis=alt.Axis(format="d", tickMinStep=1))
    names = list(dict.fromkeys(row["sessions"] for row in rows))
    base = alt.Chart(inline(rows)).encode(x=x, y=y, color=colour_by("sessions", names))
    spans = base.mark_rule(strokeWidth=2).encode(x2=alt.X2("to_s:Q"))
    dots = base.transform_calculate(middle_s="(datum.from_s + datum.to_s) / 2").mark_point(filled=True, size=60)
    dots = with_tips(dots.encode(x=alt.X("middle_s:Q"), shape=shape_by("sessions", names)), *_TIPS)
    middle = alt.Chart(inline(medians)).mark_rule(color=QUIET, strokeWidth=2)
    return layer_charts(middle.encode(x=x, x2=alt.X2("to_s:Q"), y=y), spans, dots)
