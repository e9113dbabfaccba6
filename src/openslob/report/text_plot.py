"""A plot in characters, for terminals without graphics: lines with marks and labels between two axes.

Every line has a mark of its own, so that no colour is needed. What is not ASCII has a plain sign in `report.format`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from openslob.analyze.curves.points import Point
from openslob.analyze.curves.series import PointSet
from openslob.analyze.verdict_registry import Severity
from openslob.report.format import WIDTH, micros, number
from openslob.report.set_summary import axis_text

MARKS = "ox+*#@%&"
# Above this ratio of largest to smallest value, an axis is logarithmic.
LOG_RATIO = 100.0
# Room between the largest value and the edge, as a share of it.
_MARGIN = 0.04
# Columns and rows for each tick of an axis.
_COLUMNS_A_TICK, _ROWS_A_TICK = 14, 4
_NICE = (1.0, 2.0, 2.5, 5.0, 10.0)
_TRACE = "."
UNTRUE = "!"
BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class TextLine:
    """A line of the plot: its name, and x, y and label of its points in their order; None where one is not known."""

    name: str
    points: Sequence[tuple[float, float, str] | None]

    @property
    def known(self) -> list[tuple[float, float, str]]:
        """The points that are drawn."""
        return [point for point in self.points if point is not None]


class Scale:
    """Maps values to cells 0 to ``cells`` - 1: linear from 0, or logarithmic for values over several decades."""

    def __init__(self, values: Sequence[float], cells: int) -> None:
        positive = [value for value in values if value > 0]
        largest = max(positive, default=1.0)
        self._cells = cells
        self.log = bool(positive) and largest / min(positive) > LOG_RATIO
        self._low = math.log10(min(positive) * (1 - _MARGIN)) if self.log else 0.0
        self._high = math.log10(largest * (1 + _MARGIN)) if self.log else largest * (1 + _MARGIN)

    def cell(self, value: float) -> int:
        """Return the cell of a value; one that the scale does not reach is at the edge."""
        at = (math.log10(value) if value > 0 else self._low) if self.log else value
        share = (at - self._low) / (self._high - self._low)
        return min(max(math.floor(share * self._cells), 0), self._cells - 1)

    def ticks(self, most: int) -> list[float]:
        """Return at most about ``most`` round values, in ascending order."""
        if self.log:
            decades = range(math.ceil(self._low), math.floor(self._high) + 1)
            return [10.0**each for each in decades[:: math.ceil(len(decades) / max(most, 1)) or 1]]
        size = 10 ** math.floor(math.log10(self._high / max(most, 1)))
        step = next(each * size for each in _NICE if self._high / (each * size) <= most)
        return [at * step for at in range(math.floor(self._high / step) + 1)]


def text_plot(
    lines: Sequence[TextLine],
    x_title: str,
    y_title: str,
    columns: int = WIDTH,
    rows: int = 16,
    y_text: Callable[[float], str] = micros,
) -> list[str]:
    """Return the plot with its legend, ``columns`` wide, with ``rows`` between title and axis; none without points."""
    points = [point for line in lines for point in line.known]
    if not points:
        return []
    y = Scale([point[1] for point in points], rows)
    y_ticks = {y.cell(value): y_text(value) for value in y.ticks(max(rows // _ROWS_A_TICK, 2))}
    gutter = max(map(len, y_ticks.values())) + 1
    x = Scale([point[0] for point in points], columns - gutter - 1)
    field = _draw_rows(lines, x, y, columns - gutter - 1, rows)
    return [
        y_title,
        *(
            f"{y_ticks.get(at, ''):>{gutter - 1}} {'┤' if at in y_ticks else '│'}{field[at]}".rstrip()
            for at in reversed(range(rows))
        ),
        *_x_axis(x, gutter, columns),
        f"{x_title:>{columns}}",
        *_legend(lines, columns),
    ]


def _draw_rows(lines: Sequence[TextLine], x: Scale, y: Scale, columns: int, rows: int) -> list[str]:
    """Return the rows between the axes, the lowest first: traces below marks, and labels where there is room."""
    field = [[" "] * columns for _ in range(rows)]
    for line in lines:
        for a, b in pairwise(line.points):
            if a is not None and b is not None:
                _trace(field, (x.cell(a[0]), y.cell(a[1])), (x.cell(b[0]), y.cell(b[1])))
    marked = [(x.cell(x_at), y.cell(y_at), label) for line in lines for x_at, y_at, label in line.known]
    marks = [MARKS[at % len(MARKS)] for at, line in enumerate(lines) for _ in line.known]
    for mark, (column, row, _) in zip(marks, marked, strict=True):
        field[row][column] = mark
    for column, row, label in marked:
        _put(field, column, row, label)
    return ["".join(row) for row in field]


def _trace(field: list[list[str]], begin: tuple[int, int], end: tuple[int, int]) -> None:
    """Draw the way from one cell to another, given as column and row."""
    steps = max(abs(end[0] - begin[0]), abs(end[1] - begin[1]), 1)
    for step in range(steps + 1):
        column, row = (round(a + (b - a) * step / steps) for a, b in zip(begin, end, strict=True))
        field[row][column] = _TRACE


def _put(field: list[list[str]], column: int, row: int, label: str) -> None:
    """Write a label beside, above or below its mark, in the first place where nothing but a trace is in the way."""
    right, left = column + 1, column - len(label)
    for at, begin in ((row, right), (row + 1, right), (row, left), (row - 1, right), (row + 1, left), (row - 1, left)):
        inside = 0 <= at < len(field) and begin >= 0 and begin + len(label) <= len(field[at])
        if inside and set(field[at][begin : begin + len(label)]) <= {" ", _TRACE}:
            field[at][begin : begin + len(label)] = label
            return


def _x_axis(x: Scale, gutter: int, columns: int) -> list[str]:
    axis, labels = list("─" * (columns - gutter - 1)), [" "] * columns
    for value in x.ticks(max(columns // _COLUMNS_A_TICK, 2)):
        at, text = x.cell(value), _plain(number(value))
        begin = min(gutter + 1 + at - len(text) // 2, columns - len(text))
        if set(labels[max(begin - 1, 0) : begin + len(text) + 1]) == {" "}:
            axis[at] = "┬"
            labels[begin : begin + len(text)] = text
    return [f"{' ' * gutter}└{''.join(axis)}", "".join(labels).rstrip()]


def _plain(text: str) -> str:
    """Return a number without zeros at the end of its decimals: ticks are round."""
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def _legend(lines: Sequence[TextLine], columns: int) -> list[str]:
    """Return mark and name of each line, as many in a row as have room."""
    rows: list[str] = []
    for at, line in enumerate(lines):
        entry = f"{MARKS[at % len(MARKS)]} {line.name}"
        if rows and len(rows[-1]) + 3 + len(entry) <= columns:
            rows[-1] += f"   {entry}"
        else:
            rows.append(entry)
    return rows


def bar_line(values: Sequence[float | None]) -> str:
    """Return a bar for each value in one line, as high as its share of the largest; blank where it is not known."""
    most = max((value for value in values if value is not None), default=0.0)
    at = [
        None if value is None else min(int(len(BARS) * value / most), len(BARS) - 1) if most else 0 for value in values
    ]
    return "".join(" " if each is None else BARS[each] for each in at)


def text_petals(points: PointSet, label: Callable[[str], str], columns: int = WIDTH, rows: int = 16) -> list[str]:
    """Return latency over throughput, a line for each series; ``label`` has the names of figures.

    An exclamation mark is at a point whose figures are not what they claim to be.
    """
    x, y = points.axes.throughput, points.axes.latency
    lines = [TextLine(series.label, [_of_point(point, x, y) for point in series.points]) for series in points.series]
    drawn = text_plot([line for line in lines if line.known], label(x), label(y), columns, rows)
    if not drawn:
        return []
    known = [point for line in lines for point in line.known]
    left_out = len(points.points) - len(known)
    notes = (
        f"numbers: {axis_text(points)}",
        f"{UNTRUE}: not what it claims to be" if any(label.endswith(UNTRUE) for _, _, label in known) else "",
        f"{left_out} of {len(points.points)} points have no result" if left_out else "",
    )
    return [*drawn, "; ".join(filter(None, notes))]


def _of_point(point: Point, x: str, y: str) -> tuple[float, float, str] | None:
    rate, us = point.mean(x), point.mean(y)
    if rate is None or us is None:
        return None
    return rate, us, f"{point.step:,g}{UNTRUE if point.severity is Severity.INVALID else ''}"
