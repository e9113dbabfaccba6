"""Plots in characters: what they show follows from the rows, with and without colours and other signs than ASCII."""

import math

import pytest

from factories.views import EDGES_US, MadeView
from openslob.kinds.view import Curve, Stack
from openslob.live.screen.canvas import Canvas, Role, Signs
from openslob.live.screen.plots import Axis, MapRange, Span, clock, draw_frame, draw_lines, draw_map, draw_stack
from openslob.report.format import micros

ASCII = Signs(ascii=True)
WAYS = (Signs(), ASCII, Signs(coloured=False))


def series(at_s, mean, low=None, high=None):
    return Curve("figure", "1/s", at_s, low or mean, mean, high or mean)


def field(signs=ASCII, width=20, height=10, span=None):
    canvas = Canvas.blank(width, height)
    return draw_frame(canvas, span or Span(0, 10), Axis(0, 100), signs)


@pytest.mark.parametrize("signs", WAYS)
def test_a_line_is_as_high_as_its_values(signs):
    frame = field(signs)
    draw_lines(frame, Axis(0, 100), [series([float(at) for at in range(1, 11)], [10.0] * 5 + [90.0] * 5)])
    drawn = frame.field.lines()
    middle = frame.field.width // 2
    assert drawn[-1][: middle - 1].strip()
    assert drawn[0][middle:].strip()
    assert not drawn[0][: middle - 1].strip()
    assert not drawn[-1][middle + 2 :].strip()


@pytest.mark.parametrize("signs", WAYS)
def test_a_line_has_gaps_where_nothing_is_known(signs):
    frame = field(signs)
    known = [50.0, 50.0, 50.0, None, None, None, None, 50.0, None, 50.0]
    draw_lines(frame, Axis(0, 100), [series([float(at) for at in range(1, 11)], known)])
    text = "".join(" " if all(line[at : at + 1].strip() == "" for line in frame.field.lines()) else "x"
                   for at in range(frame.field.width))  # fmt: skip
    assert "   " in text.strip()
    assert text.split("   ", 1)[1].strip(), "steps between gaps are drawn, too"


def test_nothing_known_draws_nothing():
    for signs in WAYS:
        frame = field(signs)
        draw_lines(frame, Axis(0, 100), [series([], []), series([1.0, 2.0], [None, None])])
        draw_stack(frame, Axis(0, 100), Stack("sessions", [], [], []))
        assert not "".join(frame.field.lines()).strip()


def test_the_range_of_a_step_is_seen_behind_its_mean():
    frame = field()
    at_s = [float(at) for at in range(1, 11)]
    draw_lines(frame, Axis(0, 100), [series(at_s, [50.0] * 10, [5.0] * 10, [95.0] * 10)])
    column = [line[5] for line in frame.field.lines()]
    assert column.count("o") == 1
    assert column.count(":") == len(column) - 1


@pytest.mark.parametrize("signs", WAYS)
def test_the_parts_of_a_stack_are_as_high_as_their_shares(signs):
    frame = field(signs, height=21)
    stack = Stack("%", [5.0, 10.0], ["user", "system"], [[50.0, 20.0], [25.0, 0.0]])
    draw_stack(frame, Axis(0, 100), stack)
    first = [int(role) for role in frame.field.roles[:, 1]]
    rows = frame.field.height
    assert first.count(Role.SERIES) == rows // 2
    assert first.count(Role.SERIES + 1) == rows // 4
    last = [int(role) for role in frame.field.roles[:, -1]]
    assert (last.count(Role.SERIES), last.count(Role.SERIES + 1)) == (rows // 5, 0)


def test_a_stack_ends_where_its_time_ends():
    frame = field()
    draw_stack(frame, Axis(0, 100), Stack("%", [5.0], ["user"], [[100.0]]))
    assert {len(line) for line in frame.field.lines()} == {round(frame.field.width / 2)}


@pytest.mark.parametrize("intensity", [False, True])
def test_a_map_shows_a_second_mode_of_some_seconds(intensity):
    heat = MadeView().heat("select", most=23)
    extent = MapRange.of(heat)
    axis = Axis(extent.low_us, extent.high_us, log=True, text=micros)
    frame = draw_frame(Canvas.blank(69 + 8, 21), Span(0, 23), axis, ASCII)
    draw_map(frame, axis, heat, intensity)
    second_mode = math.log(EDGES_US[24] / extent.low_us) / math.log(extent.high_us / extent.low_us)
    top = frame.field.lines()[: round((1 - second_mode) * frame.field.height) + 1]
    drawn = [at for line in top for at, sign in enumerate(line) if sign != " "]
    seconds = {math.ceil((at + 0.5) / frame.field.width * 23) for at in drawn}
    assert seconds == set(range(8, 14))
    strongest = max("".join(top), key=ASCII.map_steps.find)
    assert strongest == ("@" if intensity else "+"), "rare, but most of the time"


def test_an_empty_map_has_no_range():
    assert MapRange.of(MadeView().heat("select", begin_s=23.0, most=23)) is None


def test_an_axis_ends_at_a_round_value():
    assert Axis.of([57_960.0]).high == 60_000
    assert Axis.of([0.0, 0.00031]).high == pytest.approx(0.0004)
    assert Axis.of([]).labels(8)[7] == "0"
    wide = Axis.of([131.0, 24_000.0], micros, log=True)
    assert wide.log
    assert set(wide.labels(12).values()) >= {"1 ms", "10 ms"}
    assert not Axis.of([131.0, 4_000.0], micros, log=True).log


def test_labels_are_beside_the_rows_of_their_values():
    assert Axis(0, 100).labels(10) == {0: "100", 5: "50", 9: "0"}


def test_times_are_those_of_a_clock():
    assert [clock(at) for at in (0, 65.4, 3600, 86_399)] == ["0:00", "1:05", "1:00:00", "23:59:59"]


def test_texts_can_not_control_the_terminal():
    canvas = Canvas.blank(40, 2)
    canvas.text(0, 0, "a\x1b[31mb\nc\td\u202ee")
    assert "\x1b" not in canvas.lines()[0]
    assert canvas.lines()[0].startswith("a\\u001b[31mb c d")
    assert "\u202e" not in canvas.lines()[0]


def test_wide_signs_take_two_columns():
    canvas = Canvas.blank(10, 1)
    assert canvas.text(0, 0, "日本x") == 5
    canvas.text(5, 0, "y")
    assert canvas.lines() == ["日本xy"]


def test_text_is_cut_at_the_edges():
    canvas = Canvas.blank(4, 1)
    canvas.text(2, 0, "abcdef")
    canvas.text(9, 0, "x")
    canvas.text(0, 3, "x")
    assert canvas.lines() == ["  ab"]
