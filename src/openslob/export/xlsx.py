"""A workbook with native charts: the petals over IOPS and over MB/s, and the data they are drawn from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import xlsxwriter

from openslob.analyze.lines import PHYSICAL, Line, PointSet
from openslob.export.tidy import INTERVAL, Row
from openslob.metrics import METRICS

_POINTS, _RUNS, _CHARTS, _FIGURES = "Points", "Runs", "Petals", "Figures"
# Okabe and Ito: colours that colour-blind people tell apart; olive for their yellow, which is faint on white.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999933")
_DASHES = ("solid", "dash")  # with the second, sixteen lines can be told apart
_SIZE = {"width": 760, "height": 520}
_CHART_ROWS = 27  # as many rows as a chart is high
_WIDEST_COLUMN = 28
Range = list[str | int]


def workbook(found: PointSet, points: Sequence[Row], runs: Sequence[Row]) -> bytes:
    """The file. ``points`` are the tidy rows of ``found.points``, in their order."""
    target = BytesIO()
    book = xlsxwriter.Workbook(target, {"in_memory": True, "nan_inf_to_errors": True})
    charts = book.add_worksheet(_CHARTS)
    head = book.add_format({"bold": True, "bottom": 1})
    _sheet(book, _POINTS, points, head)
    _sheet(book, _RUNS, runs, head)
    _sheet(book, _FIGURES, _definitions(), head)
    columns = list(points[0]) if points else []
    for at, (figure, heading) in enumerate(_throughputs(found, columns)):
        chart = _petals(book, found, columns, figure, heading)
        charts.insert_chart(1 + at * _CHART_ROWS, 0, chart)
    book.close()
    return target.getvalue()


def _throughputs(found: PointSet, columns: Sequence[str]) -> list[tuple[str, str]]:
    """Figures that the petals are drawn over, and what their axis is called; none without points."""
    chosen = [(found.axes.throughput, f"{METRICS[found.axes.throughput].label} per second")]
    if found.axes == PHYSICAL:
        chosen = [("pio_read_per_s", "IOPS (read requests per second)"), ("pio_read_mb_per_s", "MB/s (2^20 bytes)")]
    return chosen if columns else []


def _petals(book: Any, found: PointSet, columns: Sequence[str], figure: str, heading: str) -> Any:  # noqa: ANN401
    chart = book.add_chart({"type": "scatter", "subtype": "straight_with_markers"})
    first = 1
    for number, line in enumerate(found.lines):
        chart.add_series(_series(line, first, columns, figure, _latency(found, line), number))
        first += len(line.points)
    _add_knees(chart, found, columns, figure)
    grid = {"visible": True, "line": {"color": "#E6E6E6"}}
    chart.set_x_axis({"name": heading, "min": 0, "num_format": "#,##0", "major_gridlines": grid})
    chart.set_y_axis({"name": _axis_name(found), "min": 0, "num_format": "#,##0", "major_gridlines": grid})
    chart.set_title({"name": f"Latency over {heading}; numbers are sessions", "name_font": {"size": 13}})
    chart.set_legend({"position": "bottom"})
    chart.set_size(_SIZE)
    return chart


def _series(line: Line, first: int, columns: Sequence[str], figure: str, latency: str, number: int) -> dict[str, Any]:
    rows = range(first, first + len(line.points))
    colour = _COLOURS[number % len(_COLOURS)]
    dash = _DASHES[number // len(_COLOURS) % len(_DASHES)]
    labels = [{"value": str(point.sessions)} for point in line.points]
    series = {
        "name": line.label,
        "categories": _range(rows, columns, figure),
        "values": _range(rows, columns, latency),
        "line": {"color": colour, "width": 1.75, "dash_type": dash},
        "marker": {"type": "circle", "size": 5, "fill": {"color": colour}, "border": {"color": colour}},
        "data_labels": {"custom": labels, "value": True, "position": "above", "font": {"size": 8, "color": colour}},
    }
    bars = {"x_error_bars": figure, "y_error_bars": latency}
    known = {key: name for key, name in bars.items() if any(point.figure(name).half_width for point in line.points)}
    return series | {key: _error_bars(rows, columns, name, colour) for key, name in known.items()}


def _error_bars(rows: range, columns: Sequence[str], figure: str, colour: str) -> dict[str, Any]:
    cells = _formula(rows, columns, f"{figure}{INTERVAL}")
    line = {"color": colour, "width": 0.75}
    return {"type": "custom", "plus_values": cells, "minus_values": cells, "line": line}


def _add_knees(chart: Any, found: PointSet, columns: Sequence[str], figure: str) -> None:  # noqa: ANN401
    """A ring around each knee; only the first is in the legend."""
    first, named = 1, False
    deleted: list[int] = []
    for line in found.lines:
        if line.knee is not None:
            row = first + line.points.index(line.knee)
            marker = {
                "type": "diamond",
                "size": 12,
                "fill": {"none": True},
                "border": {"color": "#000000", "width": 1.5},
            }
            latency = _latency(found, line)
            cells = range(row, row + 1)
            chart.add_series({
                "name": "knee", "marker": marker, "line": {"none": True},
                "categories": _range(cells, columns, figure), "values": _range(cells, columns, latency),
            })  # fmt: skip
            if named:
                deleted.append(len(found.lines) + len(deleted) + 1)
            named = True
        first += len(line.points)
    chart.set_legend({"position": "bottom", "delete_series": deleted})


def _latency(found: PointSet, line: Line) -> str:
    """The column of the latency axis: that of the most frequent kind where the axis is of operations."""
    kind, _, rest = found.axes.latency.partition("_")
    return f"{line.points[0].main_kind}_{rest}" if kind == "op" else found.axes.latency


def _axis_name(found: PointSet) -> str:
    return "Engine read latency (µs)" if found.axes == PHYSICAL else "Operation latency, mean (µs)"


def _range(rows: range, columns: Sequence[str], name: str) -> Range:
    column = list(columns).index(name)
    return [_POINTS, rows.start, column, rows.stop - 1, column]


def _formula(rows: range, columns: Sequence[str], name: str) -> str:
    column = xlsxwriter.utility.xl_col_to_name(list(columns).index(name), True)
    return f"={_POINTS}!{column}${rows.start + 1}:{column}${rows.stop}"


def _sheet(book: Any, name: str, rows: Sequence[Row], head: Any) -> None:  # noqa: ANN401
    sheet = book.add_worksheet(name)
    sheet.freeze_panes(1, 0)
    for column, title in enumerate(rows[0] if rows else ()):
        values = [row[title] for row in rows]
        sheet.write_string(0, column, title, head)
        for at, value in enumerate(values, 1):
            _write(sheet, at, column, value)
        sheet.set_column(column, column, min(max(len(title), *(len(str(v)) for v in values)), _WIDEST_COLUMN))
    if rows:
        sheet.autofilter(0, 0, len(rows), len(rows[0]) - 1)


def _write(sheet: Any, row: int, column: int, value: object) -> None:  # noqa: ANN401
    """Text stays text: what looks like a formula is none. What is not known stays an empty cell."""
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value)
    elif isinstance(value, (int, float)) and math.isfinite(value):
        sheet.write_number(row, column, value)
    elif value is not None:
        sheet.write_string(row, column, str(value))


def _definitions() -> list[Row]:
    return [
        {"figure": each.name, "heading": each.label, "unit": each.unit, "definition": each.definition}
        for each in METRICS.values()
    ]
