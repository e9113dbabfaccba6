"""Shares of trials: their intervals hold the truth as often as they claim, and runs find as often as they claim."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from openslob.analyze.shares import ruled_out_pct, share_of

counted = st.integers(1, 400).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials)))


@given(counted)
def test_the_interval_is_that_of_clopper_and_pearson(counts):
    share = share_of(*counts)
    exact = binomtest(*counts).proportion_ci(0.95, "exact")
    assert (share.low, share.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


@pytest.mark.parametrize("truth", [0.01, 0.2, 0.5, 0.8, 0.99])
@pytest.mark.parametrize("trials", [1, 4, 10, 100])
def test_it_holds_the_truth_in_at_least_95_of_100_cases(trials, truth):
    found = range(trials + 1)
    inside = [each for each in found if share_of(each, trials).low <= truth <= share_of(each, trials).high]
    assert sum(binom.pmf(each, trials, truth) for each in inside) >= 0.95


def test_without_a_trial_nothing_is_known():
    share = share_of(0, 0)
    assert (share.low, share.high, share.power) == (0.0, 1.0, 0.0)


@given(counted)
def test_a_run_finds_at_least_what_its_lowest_share_says(counts):
    share = share_of(*counts)
    assert share.power == pytest.approx(1 - binom.pmf(0, share.trials, share.low), abs=1e-9)


def test_four_trials_of_four_or_five_of_many_are_what_a_run_needs():
    assert share_of(3, 3).power < 0.8 <= share_of(4, 4).power
    assert share_of(4, 100).power < 0.8 <= share_of(5, 100).power


@given(st.integers(1, 10_000))
def test_what_is_ruled_out_would_have_shown_with_95_percent(trials):
    assert binom.pmf(0, trials, ruled_out_pct(trials) / 100) == pytest.approx(0.05, abs=1e-9)
