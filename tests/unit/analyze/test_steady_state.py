"""Steady state and spread on series with known shape."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories import measurements
from factories.tables import table
from openslob.analyze.steady_state import (
    MIN_OPS_PER_POINT,
    MIN_STEADY_POINTS,
    drift_pct,
    rate_points,
    spread,
    steady_since,
)


def series(values):
    return [(float(i), float(value)) for i, value in enumerate(values)]


def noisy(count, sigma_pct, seed, mean=1000.0):
    generator = random.Random(seed)
    return [mean * (1 + generator.gauss(0, sigma_pct / 100)) for _ in range(count)]


@given(st.floats(1e-3, 1e9), st.integers(MIN_STEADY_POINTS, 200))
def test_a_constant_is_steady_from_the_start_and_has_no_spread(value, count):
    points = series([value] * count)
    assert steady_since(points) == 0
    assert spread(points) == pytest.approx(0, abs=1e-5)
    assert drift_pct(points) == pytest.approx(0, abs=1e-5)


@given(st.integers(0, MIN_STEADY_POINTS - 1))
def test_too_few_points_tell_nothing(count):
    assert steady_since(series([1] * count)) is None
    assert drift_pct(series([1] * count)) is None


@table("count", [0, 1, 4])
def test_too_few_points_for_a_spread(count):
    assert spread(series([1] * count)) is None


@table("rise", [5, -5, 30])
def test_a_ramp_is_not_steady_but_does_not_spread(rise):
    points = series([1000 + rise * i for i in range(60)])
    assert steady_since(points) is None
    assert spread(points) == pytest.approx(0, abs=1e-6)


@given(st.integers(0, 2**32), st.integers(5, 40))
def test_a_slow_start_ends_where_the_steady_part_begins(seed, warmup):
    points = series([200.0] * warmup + noisy(60, 0.5, seed))
    assert warmup - 1 <= steady_since(points) <= warmup + 10


def test_a_late_collapse_is_not_steady():
    assert steady_since(series([1000] * 50 + [500] * 5)) is None


def test_drift_is_the_rise_over_the_series_in_percent_of_its_mean():
    assert drift_pct(series([90 + i * 2 for i in range(11)])) == pytest.approx(20)


def test_noise_without_drift_is_steady_and_strong_noise_is_not():
    steady = [steady_since(series(noisy(60, 2, seed))) == 0 for seed in range(200)]
    assert sum(steady) >= 180
    wild = [steady_since(series(noisy(60, 30, seed))) for seed in range(50)]
    assert wild.count(None) >= 45


def test_spread_is_the_standard_deviation_between_windows():
    spreads = [spread(series(noisy(100, 10, seed))) for seed in range(300)]
    # Windows of ten points each spread by 10 % / √10.
    assert sum(spreads) / len(spreads) == pytest.approx(10 / 10**0.5, rel=0.05)


@given(st.floats(0.001, 1000), st.lists(st.floats(1, 1000), min_size=10, max_size=40))
def test_spread_and_steadiness_do_not_depend_on_the_scale(factor, values):
    points, scaled = series(values), series([value * factor for value in values])
    assert spread(scaled) == pytest.approx(spread(points), rel=1e-6, abs=1e-5)
    assert drift_pct(scaled) == pytest.approx(drift_pct(points), rel=1e-6, abs=1e-5)


def test_series_of_0_are_unknown_without_a_warning():
    assert steady_since(series([0] * 20)) is None
    assert drift_pct(series([0] * 20)) is None
    assert spread(series([0] * 20)) is None


def test_windows_are_equal_and_the_first_points_that_do_not_fill_one_are_left_out():
    assert spread(series([5000] * 9 + [1000] * 100)) == pytest.approx(0, abs=1e-6)
    assert spread(series([1000] * 100 + [5000] * 9)) > 5


def test_points_are_rates_by_start_time_and_a_last_sliver_is_left_out():
    timeline = measurements.timeline((2000.0,) * 3, seconds=2.0)
    sliver = measurements.timeline((1.0,), seconds=0.1)
    assert rate_points((*timeline, *sliver)) == [(0, 1000), (2, 1000), (4, 1000)]


@given(st.integers(1, 2000), st.integers(1, 300))
def test_points_hold_operations_enough(ops, count):
    points = rate_points(measurements.timeline((float(ops),) * count))
    assert all(rate == pytest.approx(ops) for _, rate in points)
    merged = -(-MIN_OPS_PER_POINT // ops)
    assert len(points) == count // merged


def test_no_operations_no_points():
    assert rate_points(()) == []
    assert rate_points(measurements.timeline((0.0,) * 30)) == []


def test_five_points_are_enough_for_a_spread():
    assert spread(series([1, 2, 1, 2, 1])) == pytest.approx(100 * (6 / 5 / 3) ** 0.5 / 1.4)
