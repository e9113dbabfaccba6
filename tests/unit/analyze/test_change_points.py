"""Change points of made-up series with a fixed seed."""

from __future__ import annotations

import numpy as np
import pytest

from openslob.analyze.change_points import change_points


def noisy(*levels: tuple[float, int], spread: float = 3.0) -> list[float]:
    """Return a series with so many values around each level."""
    random = np.random.default_rng(3)
    return [float(value) for level, count in levels for value in random.normal(level, spread, count)]


def test_a_change_is_found_where_it_is_with_both_levels() -> None:
    (found,) = change_points(noisy((100, 30), (90, 30)))
    assert abs(found.at - 30) <= 1
    assert found.before == pytest.approx(100, abs=2)
    assert found.change_pct == pytest.approx(-10, abs=2)
    assert found.p <= 0.01


def test_a_change_and_its_end_do_not_hide_each_other() -> None:
    found = change_points(noisy((100, 20), (90, 10), (100, 20)))
    assert [abs(each.at - at) <= 1 for each, at in zip(found, (20, 30), strict=True)] == [True, True]


def test_chance_is_rarely_taken_for_a_change() -> None:
    random = np.random.default_rng(11)
    alarms = sum(bool(change_points(random.normal(100, 5, 40).tolist())) for _ in range(100))
    assert alarms <= 3


def test_a_single_value_out_of_the_way_is_no_change() -> None:
    series = noisy((100, 40))
    series[20] = 30.0
    assert change_points(series) == []


def test_the_same_series_has_the_same_change_points() -> None:
    series = noisy((100, 15), (80, 15))
    assert change_points(series) == change_points(series)


def test_a_long_series_is_compared_in_groups() -> None:
    (found,) = change_points(noisy((100, 500), (95, 500)))
    assert abs(found.at - 500) <= 20


@pytest.mark.parametrize("series", [[], [1.0], [1.0, 2.0, 3.0, 4.0, 5.0], [5.0] * 30])
def test_too_short_and_constant_series_have_none(series: list[float]) -> None:
    assert change_points(series) == []
