"""Intervals over starts of a server hold the truth as often as they claim, and plans find what they are made for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.tables import table
from openslob.analyze.intervals import (
    LEAST_STARTS,
    MOST_RUNS,
    Spread,
    blocked_ratio,
    narrow_enough,
    nested_interval,
    nested_ratio,
    pool_spreads,
    spread,
    starts_needed,
)

pytestmark = pytest.mark.any_python

TIMES = 1000
# Of 1000 intervals at 95 %, chance alone makes up to 13 fewer hit than are due: two standard deviations.
CHANCE = 0.014
POSITIVE = st.lists(st.lists(st.floats(1, 1e6), min_size=1, max_size=3), min_size=2, max_size=5)


def made(
    rng: np.random.Generator, starts: int, runs: int, level: float = 100, skewed: bool = True
) -> list[list[float]]:
    """Make values that vary by 2 % from start to start and by 2 % within; skewed: a stall only ever costs."""
    between = 0.02 * (rng.gamma(4, 0.5, (starts, 1)) - 2) if skewed else rng.normal(0, 0.02, (starts, 1))
    within = 0.02 * (1 - rng.exponential(1, (starts, runs))) if skewed else rng.normal(0, 0.02, (starts, runs))
    return [list(start) for start in level * (1 + between + within)]


@table(("starts", "runs", "skewed"), [(3, 1, True), (3, 3, False), (5, 3, True), (10, 1, True)])
def test_ratio_holds_the_truth(starts: int, runs: int, skewed: bool) -> None:
    rng = np.random.default_rng(5)
    pairs = [(made(rng, starts, runs, skewed=skewed), made(rng, starts, runs, 130, skewed)) for _ in range(TIMES)]
    hits = sum(bool(nested_ratio(a, b).holds(1.3)) for a, b in pairs)
    assert hits / TIMES >= 0.94 - CHANCE / 2


@table(("starts", "noise"), [(2, 0.3), (2, 0.7), (2, 2.0), (3, 0.3), (3, 0.7), (6, 0.3)])
def test_percentiles_of_few_runs_that_are_alike_by_chance_are_no_difference(starts: int, noise: float) -> None:
    """Steps of 5 %, as at 20 µs; the noise is in steps."""
    rng, alarms = np.random.default_rng(13), 0
    for _ in range(TIMES):
        level = 20 + rng.random()
        a, b = ([[math.floor(each)] for each in rng.normal(level, noise, starts)] for _ in "ab")
        alarms += nested_ratio(a, b, step=1 / 20).holds(1) is False
    assert alarms / TIMES <= 0.05 + CHANCE


def test_rounded_means_of_many_runs_are_known_to_a_step() -> None:
    found = nested_ratio([[20.0]] * 30, [[21.0]] * 30, step=1 / 20)
    assert (found.low or 0) < 20.6 / 20.4
    assert nested_ratio([[20.0]] * 2, [[40.0]] * 2, step=1 / 20).holds(1) is False


def test_steps_make_no_interval_narrower() -> None:
    a, b = [[100.0], [101.0], [102.0]], [[110.0], [110.0], [110.0]]
    exact, stepped = nested_ratio(a, b), nested_ratio(a, b, step=0.014)
    assert (stepped.half_pct or 0) > (exact.half_pct or 0)


@table(("starts", "runs"), [(3, 3), (10, 1)])
def test_interval_of_one_side_holds_the_truth(starts: int, runs: int) -> None:
    rng = np.random.default_rng(6)
    hits = sum(bool(nested_interval(made(rng, starts, runs)).holds(100)) for _ in range(TIMES))
    assert hits / TIMES >= 0.94 - CHANCE


def test_runs_of_two_starts_taken_for_independent_would_have_been_found() -> None:
    rng = np.random.default_rng(7)
    alarms = 0
    for _ in range(200):
        a, b = ([[value] for start in made(rng, 2, 5) for value in start] for _ in "ab")
        alarms += nested_ratio(a, b).holds(1) is False
    assert alarms > 0.15 * 200


def test_single_runs_are_compared_with_the_spread_that_is_known() -> None:
    rng = np.random.default_rng(8)
    hits = [
        bool(nested_ratio(made(rng, 1, 1), made(rng, 1, 1, 110), known=spread(made(rng, 4, 2))).holds(1.1))
        for _ in range(TIMES)
    ]
    assert sum(hits) / TIMES >= 0.94


def test_blocks_take_away_what_they_have_in_common() -> None:
    rng, hits, widths = np.random.default_rng(9), 0, []
    for _ in range(TIMES):
        drift = rng.normal(1, 0.2, 4)
        blocks = [(each * rng.normal(100, 1, 2), each * rng.normal(110, 1, 2)) for each in drift]
        found = blocked_ratio([(list(a), list(b)) for a, b in blocks])
        hits += bool(found.holds(1.1))
        widths.append(found.half_pct or math.inf)
    assert hits / TIMES >= 0.94
    assert np.median(widths) < 2


def test_blocks_of_one_run_each_are_students_test_of_pairs() -> None:
    from scipy import stats  # noqa: PLC0415 - a second of CPU for each worker

    a, b = [100.0, 104, 99, 103], [103.0, 108, 100, 109]
    found = blocked_ratio([([x], [y]) for x, y in zip(a, b, strict=True)])
    reference = stats.ttest_1samp(np.log(b) - np.log(a), 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((math.exp(reference.low), math.exp(reference.high)))


def test_ratio_of_single_runs_is_welchs_interval_of_relative_variances() -> None:
    from scipy import stats  # noqa: PLC0415 - a second of CPU for each worker

    a, b = [100.0, 104, 99], [110.0, 111, 108, 115]
    found = nested_ratio([[x] for x in a], [[x] for x in b])
    relative = [np.array(side) / np.mean(side) for side in (a, b)]
    reference = stats.ttest_ind(relative[1], relative[0], equal_var=False).confidence_interval(0.95)
    assert math.log(found.high or 0) - math.log(found.value or 0) == pytest.approx(reference.high, rel=1e-6)


def test_measuring_until_it_is_narrow_keeps_its_confidence() -> None:
    rng, hits, times = np.random.default_rng(10), 0, 300
    for _ in range(times):
        blocks: list[tuple[list[float], list[float]]] = []
        while not narrow_enough(found := blocked_ratio(blocks), 3):
            blocks.append((made(rng, 1, 1)[0], made(rng, 1, 1)[0]))
        hits += bool(found.holds(1))
        assert len(blocks) >= LEAST_STARTS
    assert hits / times >= 0.92


@table(("pilot", "see"), [(4, 6), (6, 8)])
def test_advised_starts_find_the_change(pilot: int, see: float) -> None:
    rng, found, times = np.random.default_rng(11), 0, 300
    for _ in range(times):
        count = starts_needed(spread(made(rng, pilot, 1, skewed=False)), see)
        assert count is not None
        a, b = made(rng, count, 1, skewed=False), made(rng, count, 1, 100 - see, skewed=False)
        found += nested_ratio(a, b).holds(1) is False
    assert found / times >= 0.88


def test_needed_starts_grow_with_the_spread_and_with_what_is_not_known_of_it() -> None:
    well, badly = Spread(0.02**2, None, 1000), Spread(0.02**2, None, 2)
    # By the normal approximation: 2 ((1.96 + 1.28) · 2 % / 5 %)² = 3.4, and more by Student's t.
    assert starts_needed(well, 5) == 5
    assert (starts_needed(badly, 5) or 0) > 10
    assert starts_needed(well, 0.01) == MOST_RUNS
    assert starts_needed(Spread(0.0, None, 3), 5) == 2
    assert starts_needed(None, 5) is None
    assert (starts_needed(Spread(0.0, 0.04**2, 9), 5, 4) or 0) < (starts_needed(Spread(0.0, 0.04**2, 9), 5) or 0)


def test_spread_tells_starts_from_runs() -> None:
    rng = np.random.default_rng(12)
    found = spread(made(rng, 400, 4, skewed=False), made(rng, 400, 4, 500, skewed=False))
    assert found is not None
    assert found.within is not None
    assert math.sqrt(found.between) == pytest.approx(0.02, rel=0.1)
    assert math.sqrt(found.within) == pytest.approx(0.02, rel=0.1)
    assert found.pct == pytest.approx(2.83, rel=0.1)
    assert spread([[1.0, 2.0]], [[3.0]]) is None


def test_what_is_not_known_has_a_reason_and_no_interval() -> None:
    for found in (
        nested_interval([]),
        nested_interval([[1.0, 1.1]]),
        nested_ratio([[1.0, 1.1]], [[1.2]]),
        nested_ratio([[1.0]], []),
        nested_ratio([[0.0], [1.0]], [[1.0]]),
        blocked_ratio([([1.0], [1.1])]),
        blocked_ratio([]),
    ):
        assert found.why
        assert (found.low, found.high, found.half_pct) == (None, None, None)
        assert not narrow_enough(found, 100, 0)


@given(POSITIVE, POSITIVE, st.floats(0.01, 100))
def test_another_unit_changes_nothing_and_exchanged_sides_invert(
    a: list[list[float]], b: list[list[float]], factor: float
) -> None:
    plain, turned = nested_ratio(a, b), nested_ratio(b, a)
    scaled = nested_ratio([[factor * x for x in start] for start in a], [[factor * x for x in start] for start in b])
    assert scaled.value == pytest.approx(plain.value)
    assert plain.value is not None
    assert turned.value == pytest.approx(1 / plain.value)
    assert (turned.low is None) == (plain.high is None)
    if turned.low and plain.high and math.isfinite(plain.high):
        assert turned.low == pytest.approx(1 / plain.high, rel=1e-6)


@table(("side", "why"), [([[1.0]], "one run does"), ([[1.0, 2.0]], "runs of one start of the server do")])
def test_why_there_is_no_interval_says_what_was_made(side: list[list[float]], why: str) -> None:
    assert nested_interval(side).why == f"{why} not show how much the next start differs"


def test_values_rounded_alike_have_the_variance_of_rounding() -> None:
    from scipy import stats  # noqa: PLC0415 - a second of CPU for each worker

    step, runs = 0.05, 30
    found = nested_ratio([[20.0]] * runs, [[21.0]] * runs, step=step)
    half = stats.t.ppf(0.975, 2 * (runs - 1)) * math.sqrt(2 * step**2 / 12)
    assert (found.low, found.high) == (pytest.approx(1.05 * math.exp(-half)), pytest.approx(1.05 * math.exp(half)))


def test_spreads_count_by_what_is_known_of_each() -> None:
    found, known = Spread(0.01, None, 2), Spread(0.04, 0.02, 6)
    both = pool_spreads(found, known)
    assert both is not None
    assert (both.between, both.within, both.degrees) == (pytest.approx((0.01 * 2 + 0.04 * 6) / 8), 0.02, 8)
    assert (pool_spreads(None, known), pool_spreads(found, None)) == (known, found)
