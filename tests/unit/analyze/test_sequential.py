"""Looking until it is decided: equal servers are called different in 5 % of series, and differences are found."""

from __future__ import annotations

import math

import numpy as np
import pytest

from factories.tables import table
from openslob.analyze.intervals import Interval, blocked_ratio
from openslob.analyze.sequential import LEAST_PAIRS, Boundary, Decision, decide, pairs_needed, ratio_at
from openslob.metrics import Better

SERIES = 2000
# Of 2,000 series that err in 5 %, chance makes 0.5 points more or less err: three times that.
CHANCE = 0.015
Values = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def distances(pairs: int) -> dict[int, float]:
    """Return the distance of a look after each pair, of so many within the time."""
    boundary = Boundary()
    return {at: boundary.look(at, at / pairs) for at in range(1, pairs + 1)}


def excluded(logs: Values, at: dict[int, float]) -> float:
    """Return the share of series in which a look excludes that both sides are equal."""
    numbers = np.arange(1, logs.shape[1] + 1)
    means = np.cumsum(logs, axis=1) / numbers
    errors = np.sqrt(np.maximum(np.cumsum(logs**2, axis=1) / numbers - means**2, 1e-30) / np.maximum(numbers - 1, 1))
    return float((np.abs(means) > np.array(list(at.values())) * errors).any(axis=1).mean())


@table(("pairs", "tails"), [(6, None), (8, None), (16, None), (50, None), (16, 2), (50, 2), (50, 3)])
def test_looks_after_every_pair_exclude_the_truth_in_one_series_of_twenty(pairs: int, tails: int | None) -> None:
    random = np.random.default_rng(3)
    shape = (SERIES, pairs)
    logs = random.standard_normal(shape) if tails is None else random.standard_t(tails, shape)
    found = excluded(logs, distances(pairs))
    assert found <= 0.045 + CHANCE
    if tails is None:
        assert found >= 0.045 - CHANCE


def test_a_plain_interval_that_is_looked_at_as_often_errs_far_more() -> None:
    logs = np.random.default_rng(3).standard_normal((SERIES, 50))
    plain = {at: 2.0 if at >= LEAST_PAIRS else math.inf for at in range(1, 51)}
    assert excluded(logs, plain) > 0.2


def test_one_look_at_the_end_is_student_s_t() -> None:
    logs = np.random.default_rng(5).normal(-0.1, 0.1, 12)
    pairs = [(100.0, 100.0 * math.exp(each)) for each in logs]
    looked, plain = ratio_at(pairs, Boundary().look(12, 1.0)), blocked_ratio([([a], [b]) for a, b in pairs])
    assert looked.value == pytest.approx(plain.value)
    assert looked.low == pytest.approx(plain.low, rel=0.02)
    assert looked.high == pytest.approx(plain.high, rel=0.02)


def test_it_is_too_early_with_few_pairs_and_a_second_look_at_the_same_time_spends_nothing() -> None:
    boundary = Boundary()
    assert math.isinf(boundary.look(LEAST_PAIRS - 1, 0.5))
    assert boundary.look(LEAST_PAIRS, 0.5) < 10
    assert math.isinf(boundary.look(LEAST_PAIRS + 1, 0.5))


def test_what_is_made_again_is_the_same() -> None:
    assert distances(20) == distances(20)


def test_a_fall_of_a_fifth_is_found_long_before_the_time_is_over() -> None:
    random, at = np.random.default_rng(9), distances(50)
    logs = random.normal(math.log(0.8), 0.17, (200, 50))
    ends = []
    for series in logs:
        pairs = [(1.0, math.exp(each)) for each in series]
        found = (n for n in at if decide(ratio_at(pairs[:n], at[n]), 5, Better.MORE) is Decision.WORSE)
        ends.append(next(found, None))
    assert None not in ends
    assert float(np.median([each or 99 for each in ends])) < 25


@table(
    ("low", "value", "high", "decision"),
    [
        (0.7, 0.8, 0.9, Decision.WORSE),
        (1.1, 1.2, 1.3, Decision.BETTER),
        (0.96, 0.98, 1.0, Decision.SAME),
        (0.97, 0.98, 0.99, Decision.SAME),  # certainly slower, by less than what matters
        (0.9, 0.96, 0.99, Decision.UNDECIDED),  # certainly slower, perhaps by what matters
        (0.9, 1.0, 1.1, Decision.UNDECIDED),
        (0.8, 0.9, 1.01, Decision.UNDECIDED),
        (None, 0.5, None, Decision.UNDECIDED),
    ],
)
def test_decisions(low: float | None, value: float, high: float | None, decision: Decision) -> None:
    assert decide(Interval(value, low, high, 9, 9), 5, Better.MORE) is decision
    swapped = {Decision.WORSE: Decision.BETTER, Decision.BETTER: Decision.WORSE}
    assert decide(Interval(value, low, high, 9, 9), 5, Better.LESS) is swapped.get(decision, decision)


def test_how_many_pairs_an_interval_needs() -> None:
    pairs = [(100.0, 100.0 * (1.1 if at % 2 else 0.9)) for at in range(10)]
    distance = Boundary().look(10, 1.0)
    needed = pairs_needed(pairs, distance, 5)
    assert needed is not None
    assert 10 < needed < 100
    assert pairs_needed(pairs, distance, 1) > needed  # type: ignore[operator]
    assert pairs_needed(pairs[:3], distance, 5) is None


def test_values_that_come_in_steps_are_known_to_a_step_at_best() -> None:
    alike = [(100.0, 100.0)] * 8
    found = ratio_at(alike, 3.0, step=0.05)
    assert found.low is not None
    assert found.high is not None
    assert 0.9 < found.low < 0.97
    assert 1.03 < found.high < 1.1
    assert ratio_at(alike, 3.0).half_pct == 0
