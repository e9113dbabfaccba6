"""Tables as CSV and JSON."""

from __future__ import annotations

import json

import pytest

from openslob.export import tidy


def test_a_missing_cell_is_empty_and_never_0():
    assert tidy.as_csv(["a", "b", "c"], [map(tidy.rounded, [None, 0, True])]) == "a,b,c\n,0,yes\n"


def test_csv_keeps_figures_and_quotes_words():
    assert tidy.as_csv(["a", "b"], [[1234567.25, 'x, "y"']]) == 'a,b\n1234567.25,"x, ""y"""\n'


def test_json_lets_no_nan_through():
    assert json.loads(tidy.as_json({"µ": None})) == {"µ": None}
    with pytest.raises(ValueError, match="not JSON compliant"):
        tidy.as_json({"x": float("nan")})
