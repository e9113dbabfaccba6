"""Change points of made-up series with a fixed seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from openslob.analyze.change_points import (
    FARTHEST,
    LEAST_PART,
    MOST_MORE,
    SIGNIFICANCE,
    autoregression,
    change_points,
    course_to_the_last,
    weigh,
)

pytestmark = pytest.mark.any_python


def noisy(*levels: tuple[float, int], spread: float = 3.0) -> list[float]:
    """Return a series with so many values around each level."""
    random = np.random.default_rng(3)
    return [float(value) for level, count in levels for value in random.normal(level, spread, count)]


def test_a_change_is_found_where_it_is_with_both_levels() -> None:
    (found,) = change_points(noisy((100, 30), (90, 30)))
    assert abs(found.at - 30) <= 1
    assert found.before == pytest.approx(100, abs=2)
    assert found.change_pct == pytest.approx(-10, abs=2)
    # The series as measured is one of those that look so changed.
    assert 0 < found.p <= SIGNIFICANCE


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
    # 93 of 100 are placed (bench/change_points.py): of 40, fewer than 33 come about once in 500.
    assert placed >= 33


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_the_correlation_of_neighbours_is_that_of_the_noise_and_not_of_a_change(share: float) -> None:
    found = [weigh(100 + kept(share, 60, np.random.default_rng(seed)) - np.repeat([0, 30], 30)) for seed in range(40)]
    assert np.mean([each.correlation for each in found]) == pytest.approx(share, abs=0.12)


NOISES: dict[str, Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]]] = {
    "normal": lambda random, shape: random.standard_normal(shape),
    "t(2)": lambda random, shape: random.standard_t(2, shape),
    "lognormal": lambda random, shape: random.lognormal(size=shape) - 1,
}


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("share", [0.0, 0.6, 0.9])
@pytest.mark.parametrize("spoiled", ["", "two out of the way", "spread"])
def test_no_noise_is_often_taken_for_a_change(noise: str, share: float, spoiled: str) -> None:
    made = 2 * autoregression(NOISES[noise](np.random.default_rng(29), (60, 90)), share)[:, 60:]
    if spoiled == "spread":
        made[:, 15:] *= 2
    elif spoiled:
        made[:, 11:13] -= 25
    # 5 of 100 are allowed: of 60, more than 8 come about once in 500.
    assert sum(bool(change_points(each.tolist())) for each in 100 + made) <= 8


def test_what_drifts_is_said_to() -> None:
    drifting = 100 + np.cumsum(np.random.default_rng(1).standard_normal(40))
    course = course_to_the_last(drifting.tolist())
    assert course.changes == []
    (drift,) = course.drifts
    assert (drift.begin, drift.end) == (0, 40)
    assert drift.correlation > 0.4


def test_a_step_among_the_last_values_takes_as_many_more_as_it_says() -> None:
    told = 0
    for seed in range(30):
        series = [float(each) for each in np.random.default_rng(seed).normal(100, 2, 30) - np.repeat([0, 5], [26, 4])]
        course = course_to_the_last(series)
        if course.early is None or course.early.more is None:
            continue
        told += 1
        assert course.changes == []
        assert 0 < course.early.more <= MOST_MORE
        tail = series[course.early.at :]
        grown = [*series, *np.resize(tail, course.early.more)]
        assert any(abs(each.at - course.early.at) <= LEAST_PART for each in change_points(grown))
        assert not change_points(grown[:-1])
    assert told >= 10


def test_a_step_that_is_sure_or_is_none_is_not_too_early() -> None:
    assert course_to_the_last(noisy((100, 30), (50, 30))).early is None
    assert course_to_the_last(noisy((100, 5), (90, 30))).early is None
    assert course_to_the_last([5.0] * 30).early is None


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


@pytest.mark.parametrize("count", [6, 15])
@pytest.mark.parametrize("changed", [False, True])
def test_the_ratio_is_that_of_the_likelihoods(count: int, changed: bool) -> None:
    """Hold the ratio against the density of a normal distribution with the covariances of an autoregression."""
    values = np.random.default_rng(count).uniform(99, 101, count) + np.repeat([0, 3 * changed], [3, count - 3])

    def misfit(level: NDArray[np.float64], share: float) -> float:
        apart = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
        precision = np.linalg.inv(share**apart / (1 - share**2))
        weighted = level.T @ precision
        rest = drawn - level @ np.linalg.solve(weighted @ level, weighted @ drawn)
        return count * np.log(rest @ precision @ rest) - float(np.linalg.slogdet(precision)[1])

    apart = values - np.median(values)
    drawn = np.clip(apart / (1.4826 * np.median(np.abs(apart))), -FARTHEST, FARTHEST)
    one, shares = np.ones((count, 1)), [number / 20 for number in range(20)]
    places = [(0, end) for end in range(3, count - 2)]
    places += [(begin, end) for begin in range(3, count - 2) for end in range(begin + 3, count - 2)]
    parts = [(np.isin(np.arange(count), np.arange(*place)), 2 * np.log(count) * (place[0] > 0)) for place in places]

    def squares(part: NDArray[np.bool_]) -> float:
        return float(((drawn - np.where(part, drawn[part].mean(), drawn[~part].mean())) ** 2).sum())

    best, cost = min(parts, key=lambda each: count * np.log(squares(each[0])) + each[1])
    with_change = min(misfit(np.column_stack([one, best]), share) for share in shares)
    after = np.subtract.outer(np.arange(count), np.arange(1, count))
    jumps = [np.where(late < 0, 0, share ** np.maximum(late, 0)) for share in shares[1::2] for late in after.T]
    jump = min(
        misfit(np.column_stack([one, fading]), share)
        for fading, share in zip(jumps, np.repeat(shares[1::2], count - 1), strict=True)
    )
    without = min(*(misfit(one, share) for share in shares), jump + 2 * np.log(count))
    ratio = without - with_change - cost
    # The level of the change is that of independent values: other levels fit correlated ones a little better.
    assert weigh(values).ratio <= ratio + 1e-9
    assert weigh(values).ratio == pytest.approx(ratio, abs=1.0)
