"""Workbook: the answer, native charts of latency over IOPS and over MB/s, knees and peaks, and all the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import xlsxwriter

from openslob.analyze.curves.series import PHYSICAL, RESPONSE_LATENCY, PointSet, Series
from openslob.export.tidy import INTERVAL, Row, series_rows
from openslob.metrics import METRICS
from openslob.report.record_view import REACHED_DEVICE

_ANSWER, _CHARTS, _LINES, _POINTS, _RUNS, _FIGURES = "Answer", "Petals", "Lines", "Points", "Runs", "Figures"
# Columns of points and runs that are shown if they have values; the parameters that differ come before them.
_SHOWN = (
    "repeats", "ops_per_s", "pio_read_per_s", "pio_read_mb_per_s", "lio_per_s", "pio_write_per_s", "commits_per_s",
    "engine_read_latency_us", "select_p99_us", "update_p99_us", "db_cpu_per_s", "iops_per_db_cpu", "host_cpu_left_pct",
    "limit", "failed_verdicts",
)  # fmt: skip
_NAMING = ("id", "name", "started_at", "status", "sessions")
_MOST_SHOWN = 20
_FOLDED = "Points and Runs have further columns, folded: the + above them, or Unhide, shows all. Figures defines them."
# At a higher ratio of highest to lowest latency the axis is logarithmic, or the low points would coincide.
_WIDE = 10
# Okabe and Ito: colours that colour-blind people can distinguish; olive for yellow, which is faint on white.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999933")
_DASHES = ("solid", "dash")  # sixteen distinct lines with eight colours
_SIZE = {"width": 760, "height": 520}
_CHART_ROWS = 27  # height of a chart in rows
_WIDEST_COLUMN = 28
Range = list[str | int]


def workbook(data: PointSet, points: Sequence[Row], runs: Sequence[Row], answers: Sequence[str] = ()) -> bytes:
    """Return the file, which begins with ``answers`` in sentences.

    ``points`` are the tidy rows of ``data.points``, in the same order.
    """
    target = BytesIO()
    book = xlsxwriter.Workbook(target, {"in_memory": True, "nan_inf_to_errors": True})
    head = book.add_format({"bold": True, "bottom": 1})
    _answer_sheet(book, data, answers, head)
    charts = book.add_worksheet(_CHARTS)
    charts.fit_to_pages(1, 1)
    _sheet(book, _LINES, series_rows(data), head)
    _sheet(book, _POINTS, points, head, columns_shown(points))
    _sheet(book, _RUNS, runs, head, columns_shown(runs))
    _sheet(book, _FIGURES, _definitions(), head)
    columns = list(points[0]) if points else []
    for at, (figure, heading) in enumerate(_throughputs(data, columns)):
        chart = _petals(book, data, columns, figure, heading)
        charts.insert_chart(1 + at * _CHART_ROWS, 0, chart)
    book.close()
    return target.getvalue()


def _answer_sheet(book: Any, data: PointSet, answers: Sequence[str], head: Any) -> None:  # noqa: ANN401
    """Write the first sheet: the answer in sentences, a row of few figures for each point, and where the rest is."""
    sheet, heads = book.add_worksheet(_ANSWER), _answer_heads(data)
    text = book.add_format({"text_wrap": True, "valign": "top"})
    for at, sentence in enumerate(answers):
        sheet.merge_range(at, 0, at, len(heads) - 1, "", text)
        sheet.write_string(at, 0, sentence, text)
        sheet.set_row(at, _LINE_HEIGHT * math.ceil(len(sentence) / _SENTENCE_WIDTH))
    first = len(answers) + bool(answers)
    for column, title in enumerate(heads):
        sheet.write_string(first, column, title, head)
    rounded = book.add_format({"num_format": "#,##0"})
    for at, row in enumerate(_answer_rows(data), first + 1):
        for column, value in enumerate(row):
            _write(sheet, at, column, value, rounded)
    sheet.set_column(0, 0, 24)
    sheet.set_column(1, len(heads) - 2, 14)
    sheet.set_column(len(heads) - 1, len(heads) - 1, 40)
    sheet.write_string(first + 2 + len(data.points), 0, _FOLDED)
    sheet.set_landscape()
    sheet.fit_to_pages(1, 0)


# Letters in a line of the merged cells of a sentence, and the height of a line in points.
_SENTENCE_WIDTH, _LINE_HEIGHT = 130, 16


def _rate_title(data: PointSet) -> str:
    is_physical = all(REACHED_DEVICE in point.held for point in data.points)
    return f"{METRICS[data.axes.throughput].label_of(is_physical)} per second"


def _answer_heads(data: PointSet) -> tuple[str, ...]:
    p99 = f"{data.timed.one()} p99 (µs)"
    return ("line", "sessions", _rate_title(data), "latency (µs)", p99, "CPU left (%)", "limit", "verdicts that fail")


def _answer_rows(data: PointSet) -> list[tuple[Any, ...]]:
    return [
        (
            series.label, point.sessions, point.mean(data.axes.throughput), point.mean(_latency(series)),
            point.mean(f"{point.main_kind}_p99_us"), point.mean("host_cpu_left_pct"),
            point.limit.resource if point.limit else None, ", ".join(point.failed).replace("_", " ") or None,
        )
        for series in data.series
        for point in series.points
    ]  # fmt: skip


def columns_shown(rows: Sequence[Row]) -> set[str]:
    """Return the at most `_MOST_SHOWN` columns that are shown: what names a row, what differs, and main figures."""
    if not rows:
        return set()
    columns = list(rows[0])
    figures = columns.index("repeats") if "repeats" in columns else columns.index(next(iter(METRICS)))
    naming = [name for name in _NAMING if name in columns]
    differ = [name for name in columns[:figures] if len({str(row[name]) for row in rows}) > 1]
    known = [
        name for name in _SHOWN if name == "failed_verdicts" or any(row.get(name) not in (None, "") for row in rows)
    ]
    room = _MOST_SHOWN - len(naming) - len(known)
    return {*naming, *known, *[name for name in differ if name not in naming][:room]}


def _throughputs(data: PointSet, columns: Sequence[str]) -> list[tuple[str, str]]:
    """Return the figures of the x axes with their headings, one for each chart; none without points."""
    chosen = [(data.axes.throughput, _rate_title(data))]
    if data.axes == PHYSICAL:
        chosen = [("pio_read_per_s", "IOPS (read requests per second)"), ("pio_read_mb_per_s", "MB/s (2^20 bytes)")]
    return chosen if columns else []


def _petals(book: Any, data: PointSet, columns: Sequence[str], figure: str, heading: str) -> Any:  # noqa: ANN401
    chart = book.add_chart({"type": "scatter", "subtype": "straight_with_markers"})
    if any(series.knee for series in data.series):
        chart.add_series(_knees(data, figure))
    first = 1
    for number, series in enumerate(data.series):
        chart.add_series(_series(series, first, columns, figure, _latency(series), number))
        first += len(series.points)
    grid = {"visible": True, "line": {"color": "#E6E6E6"}}
    chart.set_x_axis({"name": heading, "min": 0, "num_format": "#,##0", "major_gridlines": grid})
    chart.set_y_axis({"name": _axis_name(data), "num_format": "#,##0", "major_gridlines": grid, **_scale(data)})
    chart.set_title({"name": f"Latency over {heading}; numbers are sessions", "name_font": {"size": 13}})
    chart.set_legend({"position": "bottom"})
    chart.set_size(_SIZE)
    # Its cells may be in folded columns.
    chart.show_hidden_data()
    return chart


def _scale(data: PointSet) -> dict[str, float]:
    known = [y for series in data.series for point in series.points if (y := point.mean(_latency(series)))]
    if not known or max(known) <= _WIDE * min(known):
        return {"min": 0}
    return {"log_base": 10, "min": 10 ** math.floor(math.log10(min(known)))}


def _knees(data: PointSet, figure: str) -> dict[str, Any]:
    """Return a series with a diamond behind each knee, from the sheet of lines."""
    columns, rows = list(series_rows(data)[0]), range(1, 1 + len(data.series))
    return {
        "name": "knee",
        "categories": _range(rows, columns, f"knee_{figure}", _LINES),
        "values": _range(rows, columns, "knee_latency_us", _LINES),
        "line": {"none": True},
        "marker": {"type": "diamond", "size": 13, "fill": {"color": "#BBBBBB"}, "border": {"color": "#000000"}},
    }


def _series(
    series: Series, first: int, columns: Sequence[str], figure: str, latency: str, number: int
) -> dict[str, Any]:
    rows = range(first, first + len(series.points))
    colour = _COLOURS[number % len(_COLOURS)]
    dash = _DASHES[number // len(_COLOURS) % len(_DASHES)]
    labels = [{"value": f"{point.step:g}"} for point in series.points]
    drawn: dict[str, Any] = {
        "name": _literal(series.label),
        "categories": _range(rows, columns, figure),
        "values": _range(rows, columns, latency),
        "line": {"color": colour, "width": 1.75, "dash_type": dash},
        "marker": {"type": "circle", "size": 5, "fill": {"color": colour}, "border": {"color": colour}},
        "data_labels": {"custom": labels, "value": True, "position": "above", "font": {"size": 8, "color": colour}},
    }
    bars = {"x_error_bars": figure, "y_error_bars": latency}
    known = {key: name for key, name in bars.items() if any(point.figure(name).half_width for point in series.points)}
    return drawn | {key: _error_bars(rows, columns, name, colour) for key, name in known.items()}


def _error_bars(rows: range, columns: Sequence[str], figure: str, colour: str) -> dict[str, Any]:
    cells = _formula(rows, columns, f"{figure}{INTERVAL}")
    line = {"color": colour, "width": 0.75}
    return {"type": "custom", "plus_values": cells, "minus_values": cells, "line": line}


def _literal(name: str) -> str:
    """Return the name of a line; a chart would take one with ``=`` at its beginning for a reference to cells."""
    return f"'{name}" if name.startswith("=") else name


def _latency(series: Series) -> str:
    """Return the latency column of a line; for operations that of the most frequent kind."""
    kind, _, rest = series.axes.latency.partition("_")
    return f"{series.points[0].main_kind}_{rest}" if kind == "op" else series.axes.latency


def _axis_name(data: PointSet) -> str:
    if data.axes == PHYSICAL:
        return "Engine read latency (µs)"
    what = "response time" if data.axes.latency == RESPONSE_LATENCY else "latency"
    name = f"{data.timed.one()} {what}"
    return f"{name[:1].upper()}{name[1:]}, mean (µs)"


def _range(rows: range, columns: Sequence[str], name: str, sheet: str = _POINTS) -> Range:
    column = list(columns).index(name)
    return [sheet, rows.start, column, rows.stop - 1, column]


def _formula(rows: range, columns: Sequence[str], name: str) -> str:
    column = xlsxwriter.utility.xl_col_to_name(list(columns).index(name), True)
    return f"={_POINTS}!{column}${rows.start + 1}:{column}${rows.stop}"


def _sheet(book: Any, name: str, rows: Sequence[Row], head: Any, shown: set[str] | None = None) -> None:  # noqa: ANN401
    """Write a table; columns other than those ``shown`` are folded. None: all are shown."""
    sheet = book.add_worksheet(name)
    sheet.freeze_panes(1, 0)
    for column, title in enumerate(rows[0] if rows else ()):
        values = [row[title] for row in rows]
        sheet.write_string(0, column, title, head)
        for at, value in enumerate(values, 1):
            _write(sheet, at, column, value)
        width = min(max(len(title), *(len(str(v)) for v in values)), _WIDEST_COLUMN)
        folded = {"level": 1, "hidden": True} if shown is not None and title not in shown else {}
        sheet.set_column(column, column, width, None, folded)
    if rows:
        sheet.autofilter(0, 0, len(rows), len(rows[0]) - 1)


def _write(sheet: Any, row: int, column: int, value: object, number_format: Any = None) -> None:  # noqa: ANN401
    """Write a cell. Text is never read as a formula; an unknown value is an empty cell."""
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value)
    elif isinstance(value, (int, float)) and math.isfinite(value):
        sheet.write_number(row, column, value, number_format)
    elif value is not None:
        sheet.write_string(row, column, str(value))


def _definitions() -> list[Row]:
    return [
        {"figure": each.name, "heading": each.label, "unit": each.unit, "definition": each.definition}
        for each in METRICS.values()
    ]
