"""Tables as CSV and JSON."""

from __future__ import annotations

import csv
import io
import json

import pytest
from openpyxl import load_workbook

from factories.tables import table
from openslob.export import tidy


def test_a_missing_cell_is_empty_and_never_0():
    assert tidy.as_csv(["a", "b", "c"], [map(tidy.round_cell, [None, 0, True])]) == "a,b,c\n,0,yes\n"


def test_csv_keeps_figures_and_quotes_words():
    assert tidy.as_csv(["a", "b"], [[1234567.25, 'x, "y"']]) == 'a,b\n1234567.25,"x, ""y"""\n'


@table("text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1"])
def test_csv_has_no_formulas(text: str):
    assert (
        list(csv.reader(io.StringIO(tidy.as_csv([text], [[text]]), newline="")))
        == [["'" + text.replace("\r", " ")]] * 2
    )


@table("cell", [-1.5, "-1.5", "-", "+1e-9", "-1,234.5", "-12 %", "a=b", "", None, True])
def test_figures_and_words_stay_as_they_are(cell: tidy.Cell):
    assert next(csv.reader([tidy.as_csv(["a"], [[cell]]).splitlines()[1]]), [""]) in ([str(cell)], [""])


def test_a_workbook_has_no_formulas():
    book = load_workbook(io.BytesIO(tidy.as_xlsx(["=1+1"], [["=1+1"], ["{=1+1}"], ["http://a"], [-1.5]], [["=2+2"]])))
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    assert [(cell.value, cell.data_type) for cell in cells] == [
        *((text, "s") for text in ("=1+1", "=1+1", "{=1+1}", "http://a")),
        (-1.5, "n"),
        ("=2+2", "s"),
    ]


def test_json_lets_no_nan_through():
    assert json.loads(tidy.as_json({"µ": None})) == {"µ": None}
    with pytest.raises(ValueError, match="not JSON compliant"):
        tidy.as_json({"x": float("nan")})
