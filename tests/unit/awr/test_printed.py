"""Figures in the forms in which Oracle prints them: what is read is the exact figure, to the printed precision."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.awr.printing import (
    MIB,
    Figure,
    counted,
    duration,
    exponent,
    fixed,
    megabytes,
    six_decimals,
    squeezed,
    thousands,
    volume,
)
from factories.tables import table
from openslob.awr import Number
from openslob.awr.numbers import NumberFormat, why_unreadable

POINT = NumberFormat()
AMOUNTS = st.floats(0, 1e12) | st.floats(0, 2e4)


def agrees(figure: Figure, read: Number | None) -> bool:
    if figure.value is None:
        return read is None
    assert read is not None, figure
    assert read.step == pytest.approx(figure.step), figure
    return abs(read.value - figure.value) <= figure.step / 2 * (1 + 1e-9) + 1e-9 * figure.value


@given(AMOUNTS, st.integers(0, 3), st.sampled_from([0, 9, 13]), st.booleans(), st.booleans())
def test_figures_with_decimals(value, places, width, bare, comma):
    figure = fixed(value, places, width, bare, comma)
    assert agrees(figure, POINT.read(figure.text))
    assert figure.value == value or why_unreadable(figure.text).startswith("overflowed")


@given(st.integers(0, 10**12), st.sampled_from([1e6, 1e7]))
def test_counts_with_a_letter(value, largest):
    figure = counted(value, largest)
    assert agrees(figure, POINT.read(figure.text))


@given(AMOUNTS)
def test_seconds_with_a_letter_and_shares_with_an_exponent(value):
    for figure in (thousands(value), exponent(value, 1, 6), exponent(value, 1, 7)):
        assert agrees(figure, POINT.read(figure.text))


@given(st.floats(0, 1e15))
def test_amounts_of_data(size):
    whole, rate, small = volume(size), megabytes(size, 7), six_decimals(size)
    assert agrees(whole, POINT.read(whole.text, thousand=1024.0))
    assert agrees(rate.scaled(MIB), POINT.read(rate.text, thousand=1024.0))
    assert agrees(small, POINT.read(small.text))


@given(st.floats(0, 3.6e9))
def test_times_with_their_units(us):
    for width in (8, 9):
        figure = duration(us, width)
        assert agrees(figure, POINT.duration_us(figure.text, None))


@table(
    ("figure", "text"),
    [
        (fixed(1234.56, 1), "1,234.6"),
        (fixed(0.04, 1, bare=True), ".0"),
        (fixed(123456789, 0, 9), "#########"),
        (counted(9999), "9999"),
        (counted(86_341), "86.3K"),
        (counted(1_934_300, 1e7), "1934.3K"),
        (counted(1_934_300, 1e7, 5), "1934."),
        (counted(118_600, 1e7, 5), "118.6"),
        (thousands(13_956.45), "14K"),
        (thousands(0.6), ".6"),
        (squeezed(8771.8), "8771"),
        (squeezed(33_898), "33.9"),
        (exponent(1234.5, 1, 6), "1234.5"),
        (exponent(12_345.6, 1, 6), "1.E+04"),
        (megabytes(0.801 * MIB, 7), ".801M"),
        (six_decimals(0.260902 * MIB), ".260902"),
        (volume(45.8 * 1024 * MIB), "45.8G"),
        (duration(960), ".96ms"),
        (duration(0.25801), "258.01ns"),
        (duration(30e6), "30.00 s"),
    ],
)
def test_the_forms_are_those_of_reports(figure, text):
    assert figure.text == text
