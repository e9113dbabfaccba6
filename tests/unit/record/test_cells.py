"""The cells of few lines, and of many: both ways to read them come to the same."""

from __future__ import annotations

import numpy as np
import pytest

from openslob.record import cells
from openslob.record.cells import Cells

TEXTS = ["0", "7", "0012", "123456789012345678", "9223372036854775807", "-5", " 8", "1_000"]


@pytest.mark.parametrize("few", [0, 1000])
def test_whole_numbers_are_read_the_same_way_whether_few_or_many(monkeypatch, few):
    monkeypatch.setattr(cells, "FEW", few)
    lines = "".join(f"{text},x\n" for text in TEXTS).encode()
    assert Cells(lines, 2).integers(0).tolist() == [int(text) for text in TEXTS]


@pytest.mark.parametrize("few", [0, 1000])
def test_numbers_are_read_the_same_way_whether_few_or_many(monkeypatch, few):
    monkeypatch.setattr(cells, "FEW", few)
    found = Cells(b"1,0.5\n2,\n3,1e3\n4,17\n5,-2.25\n", 2).numbers(1)
    assert np.array_equal(found, [0.5, np.nan, 1000.0, 17.0, -2.25], equal_nan=True)


@pytest.mark.parametrize("few", [0, 1000])
@pytest.mark.parametrize("text", ["", "x", "9223372036854775808", "99999999999999999999"])
def test_what_is_no_whole_number_is_refused(monkeypatch, few, text):
    monkeypatch.setattr(cells, "FEW", few)
    with pytest.raises((ValueError, OverflowError)):
        Cells(f"{text},x\n".encode(), 2).integers(0)
