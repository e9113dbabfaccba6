"""Pictures of raw measurements: of each tool, Orion's rates and latencies, and storage alone beside databases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import altair as alt

from openslob.kinds.storage.charts.bars import bars, bars_height, ways
from openslob.kinds.storage.charts.calibration import calibration
from openslob.kinds.storage.comparison.realism import ContenderKind, ContenderRow, RoundRange
from openslob.kinds.storage.comparison.realism import rows as contender_rows
from openslob.kinds.storage.headline import comparison_headline, range_text
from openslob.record.storage import StorageRecord, StorageStep
from openslob.report.charts.picture import Panel, Picture
from openslob.report.charts.theme import (
    HEAT,
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
from openslob.report.format import micros, number, percent

Row = dict[str, Any]
SMALL, LARGE = "small", "large"
# Tools that measure rates and latencies by the number of requests in flight.
CALIBRATIONS = ("calibrate", "ceiling")
PERCENTILES = {"p50_us": "p50", "p90_us": "p90", "p99_us": "p99", "p999_us": "p99.9", "max_us": "longest"}
# With more lines than this they cannot be distinguished; the others are in the matrix and the table.
MOST_LINES = 6
_MATRIX_HEIGHT = 240
_TITLES = {SMALL: "small requests in flight", LARGE: "large requests in flight, or streams"}
_MEANINGS = {
    ContenderKind.RAW: "storage alone: data not examined",
    ContenderKind.LOCAL: "private memory",
    ContenderKind.SHARED: "shared cache",
    ContenderKind.UPDATES: "shared cache, with updates",
    ContenderKind.CLIENT: "client outside the server",
}


def storage_pictures(record: StorageRecord) -> tuple[Picture, ...]:
    """Return the pictures of a raw measurement; none for commands that have no picture."""
    draw = _PICTURES.get(record.tool)
    return draw(record) if draw else ()


def _orion(record: StorageRecord) -> tuple[Picture, ...]:
    """Return the pictures for which the test has points."""
    drawn = (_rates(record, SMALL), _rates(record, LARGE), _latencies(record), _matrix(record))
    return tuple(picture for picture in drawn if picture is not None)


def load_of(step: StorageStep, kind: str) -> int:
    """Return the load of one kind in a step, in requests in flight or streams."""
    return round(step.value(kind) or 0)


def steps_of(record: StorageRecord, kind: str) -> list[StorageStep]:
    """Return the steps that measured requests of one kind."""
    return [step for step in record.steps if step.name == kind]


def rate_rows(record: StorageRecord, kind: str) -> list[Row]:
    """Return rows of IOPS (small requests) or MB/s (large ones); a line for each load of the other kind."""
    other, figure = _other(kind), "iops" if kind == SMALL else "mb_per_s"
    steps = steps_of(record, kind)
    chosen = _evenly_spaced(sorted({load_of(step, other) for step in steps}))
    return [
        {"load": load_of(step, kind), "line": _load_text(load_of(step, other), other), "value": value}
        for step in steps
        if load_of(step, other) in chosen and (value := step.value(figure)) is not None
    ]


def latency_rows(record: StorageRecord) -> list[Row]:
    """Return rows of latency percentiles of small requests at the lowest load of large requests."""
    _, steps = _with_lowest(steps_of(record, SMALL))
    return [
        {"load": load_of(step, SMALL), "line": name, "value": value}
        for step in steps
        for field, name in PERCENTILES.items()
        if (value := step.value(field)) is not None
    ]


def _with_lowest(steps: Sequence[StorageStep]) -> tuple[int, list[StorageStep]]:
    """Return the lowest load of large requests among ``steps``, and the steps with that load."""
    least = min((load_of(step, LARGE) for step in steps), default=0)
    return least, [step for step in steps if load_of(step, LARGE) == least]


def _rates(record: StorageRecord, kind: str) -> Picture | None:
    rows = rate_rows(record, kind)
    if not rows:
        return None
    best = max(rows, key=lambda row: row["value"])
    what, unit = ("IOPS of small requests", "IOPS") if kind == SMALL else ("Throughput of large requests", "MB/s")
    return Picture(
        name="orion-iops" if kind == SMALL else "orion-mbps",
        title=f"{what} over the load",
        description=f"{what}: at most {number(best['value'])} {unit} with {best['load']} in flight, {best['line']}.",
        panels=(_lines(rows, _TITLES[kind], unit),),
        table=_orion_table(steps_of(record, kind)),
    )


def _latencies(record: StorageRecord) -> Picture | None:
    rows = latency_rows(record)
    if not rows:
        return None
    lowest, steps = _with_lowest(steps_of(record, SMALL))
    ends = " to ".join(micros(step.value("p99_us")) for step in (steps[0], steps[-1]))
    return Picture(
        name="orion-latency",
        title="Latency of small requests over the load",
        description=f"Percentiles of the latency of small requests, {_load_text(lowest, LARGE)}; p99 from {ends}.",
        panels=(_lines(rows, _TITLES[SMALL], "latency (µs)"),),
        notes=(f"Small requests {_load_text(lowest, LARGE)}.",),
        table=_orion_table(steps),
    )


def _matrix(record: StorageRecord) -> Picture | None:
    """Return a heat map of each figure, if small and large requests were measured together."""
    if not any(load_of(step, _other(step.name)) for step in record.steps):
        return None
    figures = ((SMALL, "iops", "small: IOPS"), (LARGE, "mb_per_s", "large: MB/s"), (SMALL, "p99_us", "small: p99 (µs)"))
    panels = [(rows, title) for kind, field, title in figures if (rows := _cells(record, kind, field))]
    return Picture(
        name="orion-matrix",
        title="The matrix of small and large loads",
        description="Small IOPS, large MB/s and the p99 latency of small requests at every combination of loads.",
        panels=tuple(_heat(rows, title) for rows, title in panels),
        heights=dict.fromkeys(range(len(panels)), _MATRIX_HEIGHT),
    )


def _cells(record: StorageRecord, kind: str, field: str) -> list[Row]:
    return [
        {"small": load_of(step, SMALL), "large": load_of(step, LARGE), "value": value, "shown": number(value)}
        for step in steps_of(record, kind)
        if (value := step.value(field)) is not None
    ]


def _lines(rows: Sequence[Row], x_title: str, y_title: str) -> Panel:
    lines = list(dict.fromkeys(row["line"] for row in rows))
    loads = sorted({row["load"] for row in rows})
    pick = legend_selection("line", "picked_line")
    # Logarithmic, because the effect of a queue depends on the ratio of its lengths.
    scale = alt.Scale(type="log", base=2, domain=[loads[0] / 1.15, loads[-1] * 1.15])
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("load:Q", title=x_title, scale=scale, axis=alt.Axis(values=loads, format="d")),
        y=alt.Y("value:Q", title=y_title, scale=from_zero([row["value"] for row in rows])),
        color=coloured("line", lines),
        **selection_opacity(pick),
    )
    drawn = base.mark_line(strokeWidth=1.8).encode(strokeDash=dashed("line", lines))
    dots = base.mark_point(filled=True, size=55).encode(shape=shaped("line", lines))
    tips = (Tip("line", "line"), Tip("load", x_title), Tip("value", y_title))
    return layered(drawn, with_tips(dots, *tips), params=[pick])


def _heat(rows: Sequence[Row], title: str) -> Panel:
    # Dark text on the light half of the scale, light text on the dark half.
    middle = (min(row["value"] for row in rows) + max(row["value"] for row in rows)) / 2
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("small:O", title=_TITLES[SMALL], axis=alt.Axis(labelAngle=0)), y=alt.Y("large:O", title="large")
    )
    legend = alt.Legend(title=title, gradientLength=220, format=",.4~r", orient="top")
    squares = base.mark_rect().encode(
        color=alt.Color("value:Q", scale=alt.Scale(scheme=HEAT, reverse=True), legend=legend),
    )
    tips = (Tip(SMALL, SMALL), Tip(LARGE, LARGE), Tip("value", title))
    text = base.mark_text(fontSize=11).encode(
        text=alt.Text("shown:N"), color=alt.condition(alt.datum.value > middle, alt.value("white"), alt.value("black"))
    )
    return alt.layer(with_tips(squares, *tips), text)


def _other(kind: str) -> str:
    return LARGE if kind == SMALL else SMALL


def _load_text(load: int, kind: str) -> str:
    return f"with {load} {kind}" if load else "alone"


def _evenly_spaced(loads: Sequence[int]) -> set[int]:
    """Return at most `MOST_LINES` of the loads, evenly spaced, including the first and the last."""
    if len(loads) <= MOST_LINES:
        return set(loads)
    return {loads[round(at * (len(loads) - 1) / (MOST_LINES - 1))] for at in range(MOST_LINES)}


def _orion_table(steps: Sequence[StorageStep]) -> TextTable:
    head = ("small", "large", "IOPS", "MB/s", *PERCENTILES.values())
    rows = tuple(
        (
            str(load_of(step, SMALL)), str(load_of(step, LARGE)), number(step.value("iops")),
            number(step.value("mb_per_s")), *(micros(step.value(field)) for field in PERCENTILES),
        )
        for step in steps
    )  # fmt: skip
    return TextTable(head, rows)


def _comparison(record: StorageRecord) -> tuple[Picture, ...]:
    """Return the picture of storage beside databases, or none if nothing was measured."""
    contenders = [row for row in contender_rows(record) if row.iops.median is not None]
    if not contenders:
        return ()
    panels = (
        (bar_rows(contenders, lambda row: row.iops_per_cpu), "reads per CPU second"),
        (bar_rows(contenders, lambda row: row.iops), "reads per second"),
    )
    height = bars_height(len(contenders))
    return (
        Picture(
            name="realism",
            title="What storage gives, and what databases get",
            description=comparison_headline(record),
            panels=tuple(bars(cells, title, _kinds(cells)) for cells, title in panels),
            notes=("Bars: medians of the rounds. Lines: lowest to highest.",),
            table=_comparison_table(contenders),
            heights=dict.fromkeys(range(len(panels)), height),
        ),
    )


def bar_rows(contenders: Sequence[ContenderRow], figure: Callable[[ContenderRow], RoundRange]) -> list[Row]:
    """Return a row for each contender: median, range over the rounds, and the label of its bar."""
    return [
        {
            "name": row.name, "what": _MEANINGS[row.kind], "value": spread.median, "low": spread.low,
            "high": spread.high, "shown": number(spread.median),
        }
        for row in contenders
        if (spread := figure(row)).median is not None
    ]  # fmt: skip


def _kinds(cells: Sequence[Row]) -> list[str]:
    return [meaning for meaning in _MEANINGS.values() if any(cell["what"] == meaning for cell in cells)]


def _comparison_table(contenders: Sequence[ContenderRow]) -> TextTable:
    head = ("", "IOPS", "lowest–highest", "of ceiling", "IOPS/CPU", "lowest–highest", "host CPU", "what it does")
    return TextTable(
        head,
        tuple(
            (
                row.name, number(row.iops.median), range_text(row.iops), percent(row.ceiling_pct),
                number(row.iops_per_cpu.median), range_text(row.iops_per_cpu), percent(row.host_pct), row.does,
            )
            for row in contenders
        ),
    )  # fmt: skip


_PICTURES: Mapping[str, Callable[[StorageRecord], tuple[Picture, ...]]] = {
    **dict.fromkeys(CALIBRATIONS, calibration),
    "compare": _comparison,
    "dd": ways,
    "orion": _orion,
}
