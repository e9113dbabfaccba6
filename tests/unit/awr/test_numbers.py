"""Numbers as reports print them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.tables import table
from openslob.awr.numbers import Number, NumberFormat, why_unreadable

POINT = NumberFormat()
COMMA = NumberFormat(",")


@table(
    ("text", "value", "step"),
    [
        ("0", 0, 1),
        (".1", 0.1, 0.1),
        ("8771.8", 8771.8, 0.1),
        ("1,234,567", 1234567, 1),
        ("35K", 35000, 1000),
        ("2198.8K", 2198800, 100),
        ("2M", 2e6, 1e6),
        ("4.8E+08", 4.8e8, 1e7),
        ("1.E+03", 1000, 1000),
        ("9.2233720368547758E+18", 9.2233720368547758e18, 100),
        ("-7.97", -7.97, 0.01),
        ("  12 ", 12, 1),
    ],
)
def test_a_printed_number_keeps_its_step(text, value, step):
    number = POINT.read(text)
    assert number is not None
    assert number.value == pytest.approx(value)
    assert number.step == pytest.approx(step)


@table("text", ["", "######", "N/A", "1934.", "12,34", "1,2345", "1,23,456", "1.2.3", "-", ".", "abc"])
def test_what_is_not_certainly_a_number_is_none(text):
    assert POINT.read(text) is None


@table(
    ("text", "unit", "us"),
    [
        ("109.72us", None, 109.72),
        (".96ms", None, 960),
        ("1283.77ms", None, 1283770),
        ("3.52 ms", None, 3520),
        ("258.01ns", None, 0.25801),
        ("60.00 s", None, 60e6),
        ("2", "ms", 2000),
        ("0.40", "ms", 400),
        ("3", "cs", 30000),
    ],
)
def test_a_duration_takes_its_own_unit_or_its_columns(text, unit, us):
    number = POINT.duration_us(text, unit)
    assert number is not None
    assert number.value == pytest.approx(us)


def test_a_duration_without_any_unit_is_none():
    assert POINT.duration_us("12", None) is None


def test_data_are_scaled_by_1024():
    number = POINT.read("4.2G", thousand=1024)
    assert number is not None
    assert number.value == pytest.approx(4.2 * 1024**3)


@given(st.integers(0, 10**15), st.integers(0, 3), st.sampled_from([(POINT, ",", "."), (COMMA, ".", ",")]))
def test_what_was_printed_is_read(digits, decimals, writing):
    numbers, thousands, decimal = writing
    value = digits / 10**decimals
    text = f"{value:,.{decimals}f}".replace(",", "\0").replace(".", decimal).replace("\0", thousands)
    assert numbers.read(text) == Number(pytest.approx(value), pytest.approx(10**-decimals))


@given(st.text(alphabet="0123456789.,EKM+- usmn#<>()", max_size=14))
def test_any_text_is_a_number_or_none(text):
    for numbers in (POINT, COMMA, NumberFormat(mixed=True)):
        number = numbers.read(text)
        assert number is None or number.step > 0
        numbers.duration_us(text, "ms")


@table(
    ("cells", "expected"),
    [
        ([], NumberFormat()),
        (["12", "1,234", "NO"], NumberFormat()),
        (["1,234.5", "0.1"], NumberFormat()),
        (["59,54", "1.234,5", "0,1"], NumberFormat(",")),
        (["59,54", "0,1", "12"], NumberFormat(",")),
        (["1,234,567", "59,54"], NumberFormat(mixed=True)),
    ],
)
def test_the_decimal_sign_is_told_by_the_cells(cells, expected):
    assert vars(NumberFormat.of(cells)) == vars(expected)


def test_a_mixed_report_reads_short_decimals_after_a_comma_and_keeps_thousands():
    mixed = NumberFormat(mixed=True)
    assert mixed.read("59,54") == Number(pytest.approx(59.54), pytest.approx(0.01))
    assert mixed.read("1,234") == Number(1234, 1)


@table(
    ("text", "words"),
    [("", "blank"), ("#####", "overflow"), ("N/A", "not available"), ("1934.", "cut by"), ("x", "not a number")],
)
def test_a_cell_that_is_no_figure_says_why(text, words):
    assert words in why_unreadable(text)


@table("text", ["1e999", "9" * 400, "1E+400", "-1e308", "1e-400", "1e31", "9" * 5000 + "K", "-" + "1" * 40])
def test_figures_beyond_any_database_are_not_read(text):
    assert NumberFormat().read(text) is None
    assert "beyond any figure" in why_unreadable(text) or len(text) > 30


@table("text", ["nan", "inf", "-inf", "1e", "e5", "--1", "1e9999", "²", "٣e٣٣٣"])
def test_words_that_python_takes_for_numbers_are_none(text):
    assert NumberFormat().read(text) is None
