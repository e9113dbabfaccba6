"""The plot in characters: points where their values put them, in so many columns, and in ASCII where needed."""

import pytest

from factories.sweeps import failing, points_of, sweep
from openslob.record.model import Figure
from openslob.report.format import printable
from openslob.report.text_plot import MARKS, TextLine, text_petals, text_plot

LINES = [
    TextLine("0 % updates", [(3_400, 588, "2"), (9_800, 810, "8"), (12_500, 2_560, "32")]),
    TextLine("20 % updates", [(2_000, 650, "2"), (7_000, 990, "8"), (8_100, 3_600, "32")]),
]


def at(drawn, mark):
    """Column and row, counted from the axes, of every mark of a line."""
    body = drawn[1 : next(number for number, line in enumerate(drawn) if "└" in line)]
    left = body[0].index("│" if "│" in body[0] else "┤")
    rows = ((len(body) - 1 - row, line[left + 1 :]) for row, line in enumerate(body))
    return sorted((column, row) for row, line in rows for column, sign in enumerate(line) if sign == mark)


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_marks_are_where_their_values_put_them(columns):
    drawn = text_plot(LINES, "reads/s", "a read", columns, 16)
    width = columns - len(drawn[1].split("│")[0].split("┤")[0]) - 1
    for line, mark in zip(LINES, MARKS, strict=False):
        expected = [(int(x / (12_500 * 1.04) * width), int(y / (3_600 * 1.04) * 16)) for x, y, _ in line.known]
        assert at(drawn, mark)[: len(expected)] == sorted(expected), "the legend's marks follow"
    assert max(map(len, drawn)) <= columns
    assert all(f"{label}" in "\n".join(drawn) for label in ("0 % updates", "20 % updates", "reads/s", "32"))


def test_no_value_is_drawn_where_none_is_known():
    gap = text_plot([TextLine("a", [(0, 1, "a"), None, (10, 1, "b")])], "x", "y")
    line = text_plot([TextLine("a", [(0, 1, "a"), (10, 1, "b")])], "x", "y")
    assert "..." in "".join(line)
    assert "..." not in "".join(gap), "no trace crosses a missing point"
    assert text_plot([], "x", "y") == text_plot([TextLine("a", [None])], "x", "y") == []


def test_several_decades_are_drawn_on_a_logarithmic_axis():
    drawn = text_plot([TextLine("a", [(1, 5, "1"), (100, 800, "8"), (10_000, 80_000, "64")])], "x", "y", 80, 20)
    columns, rows = zip(*at(drawn, "o"), strict=True)
    assert abs(columns[2] - 2 * columns[1] + columns[0]) <= 1, "equal factors are equal distances"
    assert "10 ms ┤" in "\n".join(drawn)
    assert [row for row in rows] == sorted(rows)


def test_petals_are_drawn_in_ascii_too():
    points = points_of(sweep(update_pcts=(0, 20), counts=(1, 8, 64), repeats=1))
    drawn = text_petals(points, lambda name: f"<{name}>", 80)
    text = "\n".join(drawn)
    assert {"<pio_read_per_s>", "<engine_read_latency_us>"} <= {line.strip() for line in drawn}
    assert drawn[-1] == "numbers: sessions"
    assert [text.count(f"{mark} {series.label}") for mark, series in zip(MARKS, points.series, strict=False)] == [1, 1]
    plain = printable(text, "ascii")
    assert plain.isascii()
    assert "?" not in plain
    assert len(plain) == len(text)


def test_figures_that_are_not_what_they_claim_to_be_are_marked():
    sound, untrue = sweep(update_pcts=(0,), counts=(1, 8), repeats=1)
    drawn = text_petals(points_of([sound, failing(untrue, "reads_reached_device")]), str)
    assert drawn[-1] == "numbers: sessions; !: not what it claims to be"
    assert sum("8!" in line for line in drawn) == 1
    assert not any("1!" in line for line in drawn)


def test_points_without_a_result_are_counted():
    runs = sweep(update_pcts=(0,), counts=(1, 8, 64), repeats=1)
    unknown = Figure(value=None, unit="1/s", why="the host was too busy")
    without = runs[1].model_copy(update={"summary": {**runs[1].summary, "pio_read_per_s": unknown}})
    drawn = text_petals(points_of([runs[0], without, runs[2]]), str)
    assert drawn[-1] == "numbers: sessions; 1 of 3 points have no result"
    assert "..." not in "".join(drawn), "no trace crosses a missing point"
