"""Plots over time in characters: lines, stacked parts and maps, each with its axes.

Time goes from left to right, from `Span.begin_s` to `Span.end_s`: the planned end, so that a run grows to the right and
little is drawn again each second.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openslob.kinds.view import Curve, HeatMap, Stack
from openslob.live.screen.canvas import MAP_STEPS, Canvas, Role, Signs, series_role
from openslob.report.format import number
from openslob.report.text_plot import LOG_RATIO

Floats = NDArray[np.float64]

_ROUND = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
_BRAILLE = 0x2800
# The dots of a Braille sign, by row and column in it.
_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]], np.uint32)
_EIGHTHS = " ▁▂▃▄▅▆▇"
# A map shows shares down to this part of the largest; whatever is there at all has the first step.
_FAINTEST = 1e-3
# Rows between two labels of an axis, and columns between two times.
_ROWS_A_LABEL, _COLUMNS_A_TIME = 4, 12
# Seconds between two times of an axis.
_TIMES = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400)


@dataclass(frozen=True)
class Span:
    """The time that a plot shows, in seconds since the begin of the load."""

    begin_s: float
    end_s: float

    def columns(self, at_s: Sequence[float], width: int) -> Floats:
        """Return where each moment is, in columns from the left edge."""
        length = max(self.end_s - self.begin_s, 1e-9)
        return (np.asarray(at_s, float) - self.begin_s) / length * width

    def steps(self, at_s: Sequence[float], width: int) -> NDArray[np.int64]:
        """Return for each column the number of the step that it is in; the number of steps where there is none."""
        middles = self.begin_s + (np.arange(width) + 0.5) * (self.end_s - self.begin_s) / max(width, 1)
        return np.searchsorted(np.asarray(at_s, float), middles)


@dataclass(frozen=True)
class Axis:
    """Values from bottom to top, linear or logarithmic; ``text`` is how they are written."""

    low: float
    high: float
    log: bool = False
    text: Callable[[float], str] = number

    @classmethod
    def of(cls, values: Sequence[float], text: Callable[[float], str] = number, log: bool = False) -> Axis:
        """Return the axis from 0 to a round number above all values; with ``log`` logarithmic if they differ much."""
        positive = [value for value in values if value > 0]
        if not positive:
            return cls(0.0, 1.0, text=text)
        if log and max(positive) / min(positive) > LOG_RATIO:
            return cls(1 / _round_up(1 / min(positive)), _round_up(max(positive)), True, text)
        return cls(0.0, _round_up(max(positive)), text=text)

    def share(self, values: Floats) -> Floats:
        """Return where values are between the ends, 0 to 1."""
        if not self.log:
            return (values - self.low) / (self.high - self.low)
        clipped = np.maximum(values, self.low)
        return np.log(clipped / self.low) / math.log(self.high / self.low)

    def labels(self, rows: int) -> dict[int, str]:
        """Return what is written beside which row, counted from the top: round values, in the row that has them."""
        values = self._decades() if self.log else []
        if len(values) < 2:
            parts = 4 if rows > 4 * _ROWS_A_LABEL else 2
            shares = [at / parts for at in range(parts + 1)]
            ends = self.high / self.low if self.log else 0.0
            values = [self.low * ends**at if self.log else self.low + at * (self.high - self.low) for at in shares]
        row_of = np.clip(np.floor((1 - self.share(np.array(values))) * rows), 0, max(rows - 1, 0)).astype(int)
        return {int(row): self.text(value) for row, value in zip(row_of, values, strict=True)}

    def _decades(self) -> list[float]:
        return [10.0**at for at in range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)]


def _round_up(value: float) -> float:
    size = float(10 ** math.floor(math.log10(value)))
    return next((step * size for step in _ROUND if value <= step * size * 1.0000001), 10 * size)


@dataclass(frozen=True)
class Frame:
    """The field of a plot within its axes."""

    field: Canvas
    span: Span
    signs: Signs


def draw_frame(canvas: Canvas, span: Span, axis: Axis, signs: Signs) -> Frame:
    """Draw the axes at the edges of the canvas, and return the field that they leave."""
    rows = canvas.height - 1 if canvas.height > 3 else canvas.height
    labels = axis.labels(rows)
    gutter = max(map(len, labels.values()), default=0) + 1
    for row, label in labels.items():
        canvas.text(0, row, f"{label:>{gutter - 1}}", Role.SOFT, signs)
    for row in range(rows):
        canvas.put(gutter, row, "|" if signs.ascii else "┤" if row in labels else "│", Role.SOFT)
    if rows < canvas.height:
        _time_axis(canvas.part(gutter + 1, rows, canvas.width - gutter - 1, 1), span, signs)
    return Frame(canvas.part(gutter + 1, 0, canvas.width - gutter - 1, rows), span, signs)


def _time_axis(canvas: Canvas, span: Span, signs: Signs) -> None:
    """Write times, as many as there is room for, each where it is and the last one within the canvas."""
    length = span.end_s - span.begin_s
    step = next((each for each in _TIMES if each * canvas.width >= length * _COLUMNS_A_TIME), _TIMES[-1])
    written = -1
    for at in range(math.ceil(span.begin_s / step), math.floor(span.end_s / step + 1e-9) + 1):
        label = clock(at * step)
        left = min(round((at * step - span.begin_s) / length * canvas.width), canvas.width - len(label))
        if left > written:
            written = canvas.text(left, 0, label, Role.SOFT, signs)


def clock(seconds: float) -> str:
    """Write a time since the begin as ``1:05`` or ``2:00:05``, and one before it as ``-0:05``."""
    whole, sign = abs(round(seconds)), "-" if round(seconds) < 0 else ""
    if whole < 3600:
        return f"{sign}{whole // 60}:{whole % 60:02}"
    return f"{sign}{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def draw_lines(frame: Frame, axis: Axis, lines: Sequence[Curve]) -> None:
    """Draw figures over time, the first above the others, each above the range from its lowest to its highest."""
    for at in reversed(range(len(lines))):
        _draw_line(frame, axis, lines[at], at)


def _draw_line(frame: Frame, axis: Axis, line: Curve, at: int) -> None:
    dotted, field = frame.signs.dotted, frame.field
    across, down = (2, 4) if dotted else (1, 1)
    width, height = field.width * across, field.height * down
    x = frame.span.columns(line.at_s, width)
    if not len(x) or width <= 0:
        return
    rows = [_rows(axis, values, height) for values in (line.low, line.mean, line.high)]
    # A step ends at its time, and the first column that it reaches is drawn for it.
    low, mean, high = (np.interp(np.arange(width) + 0.5, x, row, left=np.nan, right=np.nan) for row in rows)
    _nearest(mean, x, rows[1])
    grid = np.arange(height)[:, None]
    if np.nanmax(np.abs(rows[2] - rows[0]), initial=0) > 1:
        _stamp(field, (grid >= np.floor(high)) & (grid <= np.floor(low)), ":", Role.SOFT, dotted)
    before = np.concatenate([mean[:1], mean[:-1]])
    before = np.where(np.isnan(before), mean, before)
    top, bottom = np.floor(np.fmin(mean, before)), np.floor(np.fmax(mean, before))
    _stamp(field, (grid >= top) & (grid <= bottom), frame.signs.mark(at), series_role(at), dotted)


def _rows(axis: Axis, values: Sequence[float | None], height: int) -> Floats:
    known = np.array([math.nan if value is None else value for value in values], float)
    return np.clip((1 - axis.share(known)) * height, 0, height - 1)


def _nearest(row_of_column: Floats, x: Floats, rows: Floats) -> None:
    """Give each step a column of its own, so that a step between two gaps is drawn too."""
    columns = np.clip(np.ceil(x).astype(np.int64) - 1, 0, len(row_of_column) - 1)
    empty = np.isnan(row_of_column[columns]) & ~np.isnan(rows) & (x >= 0) & (x <= len(row_of_column) + 1)
    row_of_column[columns[empty]] = rows[empty]


def _stamp(field: Canvas, dots: NDArray[np.bool_], mark: str, role: int, dotted: bool) -> None:
    """Draw what is true: as dots, over the dots of others, or as marks."""
    if not dotted:
        field.codes[dots], field.roles[dots] = ord(mark), role
        return
    parts = dots.reshape(field.height, 4, field.width, 2)
    bits = np.einsum("yaxb,ab->yx", parts, _DOTS).astype(np.uint32)
    drawn = bits > 0
    there = np.where((field.codes & 0xFF00) == _BRAILLE, field.codes & 0xFF, 0).astype(np.uint32)
    field.codes[drawn] = (bits | there)[drawn] | _BRAILLE
    field.roles[drawn] = role


def draw_stack(frame: Frame, axis: Axis, stack: Stack) -> None:
    """Draw parts of a whole over time, the first at the bottom."""
    field = frame.field
    if not stack.names or not len(stack.at_s) or min(field.width, field.height) <= 0:
        return
    sums = np.cumsum(np.nan_to_num(np.array(stack.values, float)), axis=0) / axis.high * field.height
    steps = frame.span.steps(stack.at_s, field.width)
    known = steps < len(stack.at_s)
    sums = np.where(known, sums[:, np.minimum(steps, len(stack.at_s) - 1)], 0.0)
    middles = field.height - np.arange(field.height) - 0.5
    part = (sums[:, None, :] <= middles[None, :, None]).sum(axis=0)
    drawn = part < len(stack.names)
    marks = np.array([ord(frame.signs.mark(at)) for at in range(len(stack.names))], np.uint32)
    roles = np.array([series_role(at) for at in range(len(stack.names))], np.uint8)
    field.codes[drawn], field.roles[drawn] = marks[part[drawn]], roles[part[drawn]]
    if frame.signs.dotted:
        _round_tops(field, sums[-1], roles[-1])


def _round_tops(field: Canvas, heights: Floats, role: int) -> None:
    """Draw the eighths of a row that the whole reaches above its last full row."""
    for x, height in enumerate(heights):
        full, eighths = int(height + 0.5), int((height - math.floor(height)) * 8)
        if eighths and full == math.floor(height):
            field.put(x, field.height - 1 - full, _EIGHTHS[eighths], role)
        elif eighths and full <= field.height:
            field.put(x, field.height - full, _EIGHTHS[eighths], int(field.roles[field.height - full, x]))


@dataclass(frozen=True)
class MapRange:
    """The latencies that a map shows, in µs, by its rows: from the shortest to the longest that there are."""

    low_us: float
    high_us: float

    @classmethod
    def of(cls, heat: HeatMap) -> MapRange | None:
        """Return the range of the buckets that are not empty; None if all are."""
        counts = np.array(heat.counts, float)
        if counts.ndim != 2 or not counts.any():
            return None
        used = np.flatnonzero(counts.any(axis=0))
        low = max(heat.edges_us[int(used[0])], 1.0)
        return cls(low, max(heat.edges_us[int(used[-1]) + 1], low * 2))


def draw_map(frame: Frame, axis: Axis, heat: HeatMap, intensity: bool) -> None:
    """Draw how often each latency was met over time, or with ``intensity`` which share of the time each made up."""
    field = frame.field
    amounts = np.array(heat.time_us if intensity else heat.counts, float)
    if amounts.ndim != 2 or not amounts.any() or min(field.width, field.height) <= 0:
        return
    # A row has the buckets that begin in it, or the one that it lies in.
    shares = axis.share(np.maximum(np.array(heat.edges_us[:-1], float), axis.low))
    row_of = field.height - 1 - np.clip((shares * field.height).astype(int), 0, field.height - 1)
    by_row = np.zeros((field.height, len(amounts)))
    np.add.at(by_row, row_of, amounts.T)
    steps = frame.span.steps(heat.at_s, field.width)
    totals = by_row.sum(axis=0)
    share = np.divide(by_row, totals, out=np.zeros_like(by_row), where=totals > 0)
    share = np.hstack([share, np.zeros((field.height, 1))])[:, np.minimum(steps, len(amounts))]
    level = np.ceil((1 + np.log10(np.maximum(share, _FAINTEST)) / -math.log10(_FAINTEST)) * MAP_STEPS)
    level = np.clip(level, 1, MAP_STEPS).astype(int)
    drawn = share > 0
    signs = np.array([ord(sign) for sign in frame.signs.map_steps], np.uint32)
    field.codes[drawn] = signs[level[drawn] - 1]
    field.roles[drawn] = Role.MAP + level[drawn] - 1
