"""A time divided into steps, and what a figure comes to in each."""

from __future__ import annotations

import numpy as np
import pytest

from factories.tables import table
from openslob.analyze.steps import Steps, spread, steps_of


@table(
    ("begin_s", "end_s", "most", "first", "count", "length_s"),
    [(0, 60, 60, 0, 60, 1), (1000, 1060, 60, 1000, 60, 1), (1000, 1061, 60, 500, 31, 2), (0.5, 60.5, 60, 0, 31, 2)],
)
def test_steps_are_as_short_as_their_number_allows_whenever_the_time_begins(
    begin_s, end_s, most, first, count, length_s
):
    found = steps_of(begin_s, end_s, most)
    assert (found.first, found.count, found.length_s) == (first, count, length_s)


def test_a_step_within_a_longer_interval_has_its_value_and_one_in_a_gap_has_none():
    begins, ends = np.array([0.0, 4, 5, 8]), np.array([4.0, 5, 6, 9])
    ops = {"ops": np.array([400.0, 50, 60, 80])}
    found = spread(Steps(0, 9, 1, 9.0), begins, ends, ops, lambda amounts, seconds: amounts["ops"] / seconds)
    expected = pytest.approx([100, 100, 100, 100, 50, 60, np.nan, np.nan, 80], nan_ok=True)
    assert (found.whole, found.low, found.high) == (expected, expected, expected)


def test_a_step_of_several_intervals_has_the_lowest_the_highest_and_that_of_all():
    begins, ends = np.array([0.0, 1, 4]), np.array([1.0, 4, 5])
    ops = {"ops": np.array([10.0, 90, 50])}
    found = spread(Steps(0, 1, 5, 5.0), begins, ends, ops, lambda amounts, seconds: amounts["ops"] / seconds)
    assert (found.low.tolist(), found.whole.tolist(), found.high.tolist()) == ([10], [30], [50])
