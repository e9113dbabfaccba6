"""How a throughput goes over time: a level that is kept, a slow fall, swings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openslob.analyze.level_course import LEAST_STEPS, course_of
from openslob.analyze.trace import Trace


def noise(steps, seed=1, spread=0.04):
    return 1 + spread * np.random.default_rng(seed).standard_normal(steps)


def course(*parts, step_s=1.0):
    rates = np.concatenate([np.asarray(part, float) for part in parts])
    return course_of(Trace(0, step_s, {"ops": rates * noise(len(rates))}))


def flat(rate, steps):
    return np.full(steps, float(rate))


def test_a_level_is_kept_all_the_time_and_short_dips_do_not_count():
    found = course(flat(1000, 30), flat(300, 2), flat(1000, 30))
    assert found.level == pytest.approx(1000, rel=0.03)
    assert (found.kept_pct, found.lowest, found.fall, found.period_s) == (100, None, None, None)


def test_a_time_below_the_level_has_its_share_its_place_and_its_rate():
    found = course(flat(1000, 40), flat(300, 30), flat(1000, 30))
    assert found.kept_pct == pytest.approx(70, abs=2)
    assert found.lowest == (pytest.approx(40, abs=1), pytest.approx(70, abs=1))
    assert found.lowest_rate == pytest.approx(300, rel=0.1)
    assert (found.fall, found.period_s) == (None, None)


@pytest.mark.parametrize("step_s", [1.0, 10.0])
def test_a_slow_fall_has_its_begin_its_end_and_its_slope(step_s):
    found = course(flat(1000, 20), np.linspace(1000, 250, 85), flat(250, 15), step_s=step_s)
    begin, end = found.fall
    assert begin == pytest.approx(20 * step_s, abs=4 * step_s)
    assert end == pytest.approx(105 * step_s, abs=4 * step_s)
    assert found.fall_pct == pytest.approx(75, abs=3)
    assert found.slope_pct_per_min == pytest.approx(-75 / 85 * 60 / step_s, rel=0.1)


@pytest.mark.parametrize(
    "parts",
    [
        (flat(1000, 50), flat(400, 50)),
        (flat(1000, 25), flat(750, 25), flat(500, 25), flat(250, 25)),
        (np.linspace(1000, 900, 100),),
        (np.linspace(500, 1000, 100),),
        (flat(1000, 100),),
    ],
    ids=["step", "stairs", "small", "rise", "level"],
)
def test_what_is_no_slow_fall(parts):
    assert course(*parts).fall is None


@pytest.mark.parametrize("period", [12, 20, 40])
def test_a_throughput_that_swings_has_its_period(period):
    at = np.arange(160)
    square = course(np.where(at % period < period / 2, 1000, 400))
    sine = course(1000 + 500 * np.sin(2 * np.pi * at / period))
    assert square.period_s == pytest.approx(period, abs=1)
    assert sine.period_s == pytest.approx(period, abs=1)
    assert square.kept_pct == pytest.approx(50, abs=6)


def test_the_level_of_a_load_that_fell_for_good_is_the_one_before():
    found = course(flat(1000, 15), flat(400, 85))
    assert found.level == pytest.approx(1000, rel=0.03)
    assert found.kept_pct == pytest.approx(15, abs=3)
    # What swings after the fall has its period.
    at = np.arange(85)
    assert course(flat(1000, 15), 400 + 200 * np.sin(2 * np.pi * at / 12)).period_s == pytest.approx(12, abs=1)
    # What comes back did not fall for good, and nor did what fell only a little.
    assert course(flat(1000, 15), flat(400, 70), flat(1000, 15)).level < 1000 * 1.1
    assert course(flat(1000, 15), flat(900, 85)).level == pytest.approx(900, rel=0.05)


def test_two_periods_and_small_ones_are_none():
    at = np.arange(120)
    assert course(np.where(at % 60 < 30, 1000, 400)).period_s is None
    assert course(np.where(at % 20 < 10, 1000, 900)).period_s is None


def test_what_is_not_known_is_not_counted():
    rates = np.concatenate([flat(1000, 40), np.full(20, np.nan), flat(1000, 40)])
    found = course_of(Trace(0, 1.0, {"ops": rates}))
    assert (found.kept_pct, found.level, found.fall) == (100, 1000, None)
    assert course_of(Trace(0, 1.0, {"ops": flat(1000, LEAST_STEPS - 1)})) is None
    assert course_of(Trace(0, 1.0, {"ops": flat(0, 60)})) is None


@given(st.lists(st.one_of(st.floats(0, 1e9), st.just(float("nan"))), min_size=1, max_size=80), st.floats(0.01, 1e3))
def test_shares_do_not_depend_on_the_unit(rates, factor):
    one, other = (course_of(Trace(0, 1.0, {"ops": np.array(rates) * times})) for times in (1.0, factor))
    if one is None or other is None:
        return
    assert 0 <= one.kept_pct <= 100
    assert 0 <= one.fall_pct <= 101
    if one.fall and other.fall:
        assert one.fall_pct == pytest.approx(other.fall_pct, abs=1)
