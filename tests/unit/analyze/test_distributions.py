"""The quantiles and probabilities are those of another library's own implementation, and of printed tables."""

from __future__ import annotations

import math
from itertools import product

import pytest

from factories.tables import table
from openslob.analyze.distributions import beta_cdf, beta_quantile, noncentral_t_cdf, t_quantile


@table(
    ("degrees", "share"),
    product([1, 1.37, 2, 3, 4.9, 17, 59, 240.5, 10_000, 100_000], [0.5, 0.75, 0.9, 0.975, 0.995]),
)
def test_quantiles_of_students_t(degrees: float, share: float) -> None:
    from scipy.special import stdtrit  # noqa: PLC0415 - takes a moment to import

    assert t_quantile(degrees, share) == pytest.approx(float(stdtrit(degrees, share)), rel=1e-9, abs=1e-9)


@table("trials", [1, 2, 5, 40, 1000])
def test_quantiles_of_the_beta_distributions_of_shares(trials: int) -> None:
    from scipy.special import betaincinv  # noqa: PLC0415 - as above

    for found in {0, 1, trials // 2, trials - 1} & set(range(trials)):
        for share in (0.025, 0.5, 0.975):
            expected = float(betaincinv(found + 1, trials - found, share))
            assert beta_quantile(share, found + 1, trials - found) == pytest.approx(expected, rel=1e-10)


def test_a_beta_distribution_begins_at_0_ends_at_1_and_mirrors_the_one_with_its_parameters_exchanged() -> None:
    assert (beta_cdf(-0.5, 2, 3), beta_cdf(0, 2, 3), beta_cdf(1, 2, 3), beta_cdf(2, 2, 3)) == (0, 0, 1, 1)
    assert beta_cdf(0.3, 1, 1) == pytest.approx(0.3, rel=1e-14)
    for x in (0.001, 0.2, 0.5, 0.9):
        assert beta_cdf(x, 2.5, 7) + beta_cdf(1 - x, 7, 2.5) == pytest.approx(1, rel=1e-13)


@table(("degrees", "shift", "power"), product([1, 2.5, 9, 100], [1.96, 2.3, 4.31], [0.05, 0.5, 0.9, 0.999]))
def test_probabilities_of_the_noncentral_t(degrees: float, shift: float, power: float) -> None:
    from scipy.special import nctdtrit  # noqa: PLC0415 - as above

    t = float(nctdtrit(degrees, shift, power))
    if t > 0:  # plans ask of positive ones alone
        assert noncentral_t_cdf(t, degrees, shift) == pytest.approx(power, abs=1e-7)


def test_without_a_shift_the_noncentral_t_is_students() -> None:
    for degrees in (1, 6, 31.5):
        assert noncentral_t_cdf(t_quantile(degrees, 0.9), degrees, 0.0) == pytest.approx(0.9, rel=1e-12)
    assert noncentral_t_cdf(1e300, 5, 2.0) == 1.0


def test_degrees_of_freedom_that_are_not_finite_have_an_answer() -> None:
    assert t_quantile(math.inf, 0.975) == pytest.approx(1.959964, abs=1e-6)
    assert math.isnan(t_quantile(math.nan, 0.975))
