"""Intervals contain the true mean as often as they claim, and agree with the numbers of independent programs."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.tables import table
from openslob.analyze.intervals import standard_errors
from openslob.analyze.statistics import Basis, effective_size, of_repeats, relative_half_width

pytestmark = pytest.mark.any_python

VALUES = st.lists(st.floats(1, 1e6), min_size=2, max_size=20)


@table(("degrees", "quantile"), [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (30, 2.042)])
def test_quantiles_are_those_of_printed_tables(degrees: int, quantile: float) -> None:
    assert standard_errors(degrees) == pytest.approx(quantile, abs=5e-4)


def test_interval_of_five_repeats_by_hand() -> None:
    estimate = of_repeats([98, 102, 100, 104, 96])
    assert (estimate.mean, estimate.n, estimate.basis) == (100, 5, Basis.REPEATS)
    assert estimate.half_width == pytest.approx(2.776 * math.sqrt(10) / math.sqrt(5), abs=1e-3)
    assert estimate.low == pytest.approx(100 - estimate.half_width)
    assert estimate.high == pytest.approx(100 + estimate.half_width)


def test_one_run_and_none_have_no_interval_but_a_reason() -> None:
    one, none = of_repeats([5.0]), of_repeats([])
    assert (one.mean, one.half_width, one.low) == (5.0, None, None)
    assert one.why
    assert none.mean is None
    assert none.why


@given(VALUES, st.floats(0.01, 100))
def test_another_unit_changes_nothing_but_the_unit(values: list[float], factor: float) -> None:
    plain, scaled = of_repeats(values), of_repeats([factor * value for value in values])
    assert scaled.mean == pytest.approx(factor * plain.mean)
    assert scaled.half_width == pytest.approx(factor * plain.half_width, abs=1e-6 * factor * plain.mean)


@given(VALUES)
def test_mean_and_spread_are_those_of_the_standard_library(values: list[float]) -> None:
    estimate = of_repeats(values)
    assert estimate.mean == pytest.approx(statistics.mean(values))
    assert estimate.sd == pytest.approx(statistics.stdev(values), abs=1e-6 * estimate.mean)


@given(VALUES)
def test_a_series_is_worth_no_more_than_its_length(values: list[float]) -> None:
    assert 0 < effective_size(values) <= len(values)


def test_dependent_values_are_worth_fewer() -> None:
    rng = np.random.default_rng(7)
    sizes = {rho: np.mean([effective_size(autoregressive(rng, 200, rho)) for _ in range(50)]) for rho in (0.0, 0.5)}
    assert 160 < sizes[0.0] <= 200
    # By the formula 200 · 0.5 / 1.5 = 67.
    assert sizes[0.5] == pytest.approx(67, rel=0.15)


@pytest.mark.parametrize(("length", "rho", "least"), [(60, 0.0, 0.93), (60, 0.5, 0.92), (20, 0.3, 0.91)])
def test_interval_within_a_run_holds_the_truth(length: int, rho: float, least: float) -> None:
    rng, told, hits = np.random.default_rng(11), 0, 0
    for _ in range(600):
        series = 100 + 5 * autoregressive(rng, length, rho)
        share = relative_half_width(series.tolist())
        if share is not None:
            told += 1
            hits += abs(series.mean() - 100) <= share * series.mean()
    assert told > 550
    assert hits / told >= least


def test_independence_wrongly_assumed_would_have_been_found() -> None:
    """The plain interval on the same series misses the truth far too often: the test above can fail."""
    rng, hits = np.random.default_rng(11), 0
    for _ in range(600):
        series = autoregressive(rng, 60, 0.5)
        hits += abs(series.mean()) <= standard_errors(59) * series.std(ddof=1) / math.sqrt(60)
    assert hits / 600 < 0.85


def test_too_short_or_drifting_series_have_no_interval() -> None:
    assert relative_half_width([100, 101, 99, 100]) is None
    assert relative_half_width([100, 110, 120, 130, 140, 150, 160, 170]) is None
    assert relative_half_width([0, 0, 0, 0, 0, 0]) is None


def autoregressive(rng: np.random.Generator, length: int, rho: float) -> np.ndarray:
    """A series of mean 0 and variance 1 with lag-1 autocorrelation ``rho``, started in its steady state."""
    noise = rng.normal(size=length) * math.sqrt(1 - rho**2)
    series = np.empty(length)
    series[0] = rng.normal()
    for at in range(1, length):
        series[at] = rho * series[at - 1] + noise[at]
    return series


def test_an_effective_size_does_not_depend_on_the_unit():
    values = [5.0, 6, 7, 6, 5, 4, 3, 4, 5, 6]
    size = effective_size(values)
    assert size < len(values)
    assert effective_size([each / 1e6 for each in values]) == pytest.approx(size)
