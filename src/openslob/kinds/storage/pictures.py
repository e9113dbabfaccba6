"""The pictures of raw measurements, by tool, and the page of several.

Of a calibration latency over IOPS and over MB/s, of dd data that are only read beside data that are examined, of Orion
rates and latencies over the load, and of a comparison storage alone beside databases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import altair as alt

from openslob.core.units import MIB, format_bytes
from openslob.kinds.storage.comparison.realism import ContenderKind, ContenderRow, RoundRange
from openslob.kinds.storage.comparison.realism import rows as contender_rows
from openslob.kinds.storage.record import StorageRecord, StorageStep, median_of
from openslob.kinds.storage.report import (
    CALIBRATIONS,
    LARGE_READS,
    calibration_curves,
    comparison_headline,
    curves_table,
    range_text,
    storage_headline,
)
from openslob.report.charts.colours import INK, QUIET, WARNING
from openslob.report.charts.picture import Panel, Picture, layer_charts
from openslob.report.charts.theme import (
    HEAT,
    Tip,
    colour_by,
    dash_by,
    from_zero,
    inline,
    legend_selection,
    selection_opacity,
    shape_by,
    with_tips,
)
from openslob.report.document import TextTable
from openslob.report.format import micros, number, percent

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
    drawn = with_tips(base.mark_bar(height={"band": 0.62}).encode(x=x, color=colour_by("what", kinds)), *tips)
    ranges = base.mark_rule(strokeWidth=1.6, color=INK).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    text = base.mark_text(align="left", dx=6, fontSize=12, color=INK).encode(
        x=alt.X("high:Q"), text=alt.Text("shown:N")
    )
    return layer_charts(drawn, ranges, text)


def _bar(name: str, what: str, spread: RoundRange) -> Row:
    """Return the row of a bar: the median of what was measured, its range, and its label."""
    return {
        "name": name, "what": what, "value": spread.median, "low": spread.low, "high": spread.high,
        "shown": number(spread.median),
    }  # fmt: skip


def _in_bars(
    name: str, title: str, result: str, panels: Mapping[str, list[Row]], kinds: Iterable[str], of: str, table: TextTable
) -> Picture:
    """Return a picture with a panel of bars for each figure; ``of`` says what the bars are the medians of."""
    return Picture(
        name=name,
        title=title,
        description=result,
        panels=tuple(bars(cells, each, _kinds(cells, kinds)) for each, cells in panels.items()),
        notes=(f"Bars: medians of the {of}. Lines: lowest to highest.",),
        table=table,
        heights={at: FRAME + ROW_HEIGHT * len(cells) for at, cells in enumerate(panels.values())},
    )


def ways(record: StorageRecord) -> tuple[Picture, ...]:
    """Return the picture of dd, or none if nothing was measured."""
    panels = {
        title: cells
        for title, figure in (("MB/s", "mb_per_s"), ("CPU time per MB (µs)", "cpu_us_per_io"))
        if (cells := way_rows(record, figure))
    }
    if not panels:
        return ()
    title = "Data that are only read, and data that are examined"
    kinds, table = (ONLY_READ, EXAMINED), _ways_table(panels)
    return (_in_bars("dd", title, storage_headline(record), panels, kinds, "repeats", table),)


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
        _bar(name, EXAMINED if examined[name] else ONLY_READ, RoundRange.of(values)) for name, values in steps.items()
    ]


def _per_mb(step: StorageStep, figure: str) -> float | None:
    value = step.value(figure)
    if value is None or not figure.endswith("_per_io"):
        return value
    return value * MIB / step.load.block_bytes if step.load else None


def _kinds(cells: Sequence[Row], every: Iterable[str]) -> list[str]:
    return [kind for kind in every if any(cell["what"] == kind for cell in cells)]


def _ways_table(panels: dict[str, list[Row]]) -> TextTable:
    rows = tuple(
        (cell["name"], title, cell["shown"], f"{number(cell['low'])}–{number(cell['high'])}", cell["what"])
        for title, cells in panels.items()
        for cell in cells
    )
    return TextTable(("way", "figure", "median", "lowest–highest", "data"), rows)


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
            table=_curve_table(rows),
            heights=dict.fromkeys(range(len(rows)), _HEIGHT),
        ),
        *_by_depth(record),
    )


def _by_depth(record: StorageRecord) -> tuple[Picture, ...]:
    """Return rates and latencies of small requests over the number in flight; none if there is only one number."""
    rates, latencies = depth_rows(record, {"iops": ""}), depth_rows(record, {"mean_us": "mean", "p99_us": "p99"})
    if len({row["load"] for row in rates}) < 2 or not latencies:
        return ()
    block = format_bytes(int(record.asked.get("block_bytes") or 0))
    names = ", ".join(dict.fromkeys(row["line"] for row in rates))
    return (
        Picture(
            name="calibration-depth",
            title="Rates and latencies over requests in flight, storage alone",
            description=f"Rates and latencies of {names}, of {block} each, by requests in flight.",
            panels=(
                _lines(rates, _IN_FLIGHT, "requests/s"),
                _lines(latencies, _IN_FLIGHT, "latency (µs)", _latency_scale([row["value"] for row in latencies])),
            ),
            notes=("Medians.", *(("Of syncs: processes that each write and sync.",) if "syncs" in names else ())),
            table=curves_table(record),
        ),
    )


_IN_FLIGHT = "requests in flight"


def depth_rows(record: StorageRecord, figures: Mapping[str, str]) -> list[Row]:
    """Return a row for each curve of small requests, number in flight and figure, whose name is part of the line's."""
    return [
        {"load": depth, "line": f"{name} {text}".rstrip(), "value": value}
        for name, curve in calibration_curves(record).items()
        if name != LARGE_READS
        for figure, text in figures.items()
        for depth, steps in curve.items()
        if (value := median_of(steps, figure))
    ]


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
            table=_curve_table(shared),
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
        if (at := median_of(group, rate)) is not None and (us := median_of(group, figure)) is not None
    ]  # fmt: skip


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
    colour, shape = colour_by("line", lines), shape_by("line", lines)
    tips = (Tip("line", "latency"), Tip("in_flight", "in flight"), Tip("rate", title), Tip("us", "latency (µs)"),
            Tip("times", "measured, times"))  # fmt: skip
    dots = base.mark_point(filled=True, size=60).encode(color=colour, shape=shape)
    labels = base.transform_filter("datum.labelled").mark_text(align="left", dx=7, dy=9, fontSize=11)
    ring = base.transform_filter("datum.result").mark_point(filled=False, size=260, color=QUIET, strokeWidth=1.6)
    return layer_charts(
        base.mark_line(strokeWidth=1.8).encode(
            color=colour, strokeDash=dash_by("line", lines), order=alt.Order("in_flight:Q")
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


def _curve_table(rows: Mapping[int, Sequence[Row]]) -> TextTable:
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


SMALL, LARGE = "small", "large"
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


def _lines(rows: Sequence[Row], x_title: str, y_title: str, y_scale: alt.Scale | None = None) -> Panel:
    lines = list(dict.fromkeys(row["line"] for row in rows))
    loads = sorted({row["load"] for row in rows})
    pick = legend_selection("line", "picked_line")
    # Logarithmic, because the effect of a queue depends on the ratio of its lengths.
    scale = alt.Scale(type="log", base=2, domain=[loads[0] / 1.15, loads[-1] * 1.15])
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("load:Q", title=x_title, scale=scale, axis=alt.Axis(values=loads, format="d")),
        y=alt.Y("value:Q", title=y_title, scale=y_scale or from_zero([row["value"] for row in rows])),
        color=colour_by("line", lines),
        **selection_opacity(pick),
    )
    drawn = base.mark_line(strokeWidth=1.8).encode(strokeDash=dash_by("line", lines))
    dots = base.mark_point(filled=True, size=55).encode(shape=shape_by("line", lines))
    tips = (Tip("line", "line"), Tip("load", x_title), Tip("value", y_title))
    return layer_charts(drawn, with_tips(dots, *tips), params=[pick])


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
    return layer_charts(with_tips(squares, *tips), text)


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
    panels = {
        "reads per CPU second": bar_rows(contenders, lambda row: row.iops_per_cpu),
        "reads per second": bar_rows(contenders, lambda row: row.iops),
    }
    title, result = "What storage gives, and what databases get", comparison_headline(record)
    kinds, table = _MEANINGS.values(), _comparison_table(contenders)
    return (_in_bars("realism", title, result, panels, kinds, "rounds", table),)


def bar_rows(contenders: Sequence[ContenderRow], figure: Callable[[ContenderRow], RoundRange]) -> list[Row]:
    """Return a row for each contender: median, range over the rounds, and the label of its bar."""
    return [
        _bar(row.name, _MEANINGS[row.kind], spread) for row in contenders if (spread := figure(row)).median is not None
    ]


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


def pictures_of_storage(records: Sequence[StorageRecord]) -> tuple[Picture, ...]:
    """Return the pictures of one or several measurements of storage: calibrations side by side, then those of each."""
    if len(records) == 1:
        return storage_pictures(records[0])
    own = (
        replace(picture, name=f"{picture.name}-{number}", title=f"{record.id}: {picture.title}")
        for number, record in enumerate(records, 1)
        for picture in storage_pictures(record)
    )
    return (*calibrations([record for record in records if record.tool in CALIBRATIONS]), *own)
