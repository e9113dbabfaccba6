"""Change points of made-up series with a fixed seed."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from openslob.analyze.change_points import LEAST_PART, change_points, correlation, largest_difference


def noisy(*levels: tuple[float, int], spread: float = 3.0) -> list[float]:
    """Return a series with so many values around each level."""
    random = np.random.default_rng(3)
    return [float(value) for level, count in levels for value in random.normal(level, spread, count)]


def test_a_change_is_found_where_it_is_with_both_levels() -> None:
    (found,) = change_points(noisy((100, 30), (90, 30)))
    assert abs(found.at - 30) <= 1
    assert found.before == pytest.approx(100, abs=2)
    assert found.change_pct == pytest.approx(-10, abs=2)
    # The order as measured is one of those that look so changed.
    assert 0 < found.p <= 0.01


def test_a_change_and_its_end_do_not_hide_each_other() -> None:
    found = change_points(noisy((100, 20), (90, 10), (100, 20)))
    assert [abs(each.at - at) <= 1 for each, at in zip(found, (20, 30), strict=True)] == [True, True]


def test_chance_is_rarely_taken_for_a_change() -> None:
    random = np.random.default_rng(11)
    alarms = sum(bool(change_points(random.normal(100, 5, 40).tolist())) for _ in range(100))
    assert alarms <= 3


def kept(share: float, count: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Return a noise of which each value keeps a share of the one before it."""
    values = random.standard_normal(count + 20)
    for at in range(1, len(values)):
        values[at] = share * values[at - 1] + (1 - share**2) ** 0.5 * values[at]
    return values[20:]


@pytest.mark.parametrize("count", [30, 80])
def test_what_a_run_keeps_of_the_one_before_is_rarely_taken_for_a_change(count: int) -> None:
    random = np.random.default_rng(17)
    alarms = sum(bool(change_points((100 + 2 * kept(0.5, count, random)).tolist())) for _ in range(40))
    assert alarms <= 6


def test_a_change_is_found_among_runs_that_keep_something_of_the_one_before() -> None:
    series = 100 + kept(0.4, 60, np.random.default_rng(2))
    series[35:] -= 6
    (found,) = change_points(series.tolist())
    assert abs(found.at - 35) <= 1


def test_a_small_step_is_placed() -> None:
    random, placed = np.random.default_rng(23), 0
    for _ in range(40):
        at, series = int(random.integers(8, 23)), random.normal(100, 1.5, 30)
        series[at:] *= 0.95
        placed += any(abs(each.at - at) <= 1 for each in change_points(series.tolist()))
    assert placed >= 37


def test_the_correlation_of_neighbours_is_that_of_the_noise_and_not_of_a_change() -> None:
    random = np.random.default_rng(4)
    series = np.array([100 + 2 * kept(0.5, 40, random) - np.repeat([0, 30, 0], [15, 10, 15]) for _ in range(50)])
    assert np.mean([correlation(each) for each in series]) == pytest.approx(0.4, abs=0.15)
    assert correlation(np.full(20, 5.0)) == 0.0
    assert correlation(np.tile([1.0, 2.0], 10)) == 0.0


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


@pytest.mark.parametrize("count", [6, 7, 20, 33])
def test_the_largest_difference_is_that_of_the_definition(count):
    values = np.random.default_rng(count).normal(100, 5, count)

    def mean(a, b):
        return float(np.abs(a[:, None] - b[None, :]).mean())

    def within(part):
        return mean(part, part) * len(part) / (len(part) - 1)

    def difference(a, b):
        return len(a) * len(b) / (len(a) + len(b)) * (2 * mean(a, b) - within(a) - within(b))

    sizes = {
        (difference(values[:at], values[at:end]), at)
        for at in range(LEAST_PART, count - LEAST_PART + 1)
        for end in range(at + LEAST_PART, count + 1)
    }
    size, at = largest_difference(np.abs(values[:, None] - values[None, :]), LEAST_PART)
    assert (pytest.approx(size), at) == max(sizes)
