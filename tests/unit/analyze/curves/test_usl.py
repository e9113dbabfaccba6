"""The fit of the scalability law: against the library that solves the same problem in another way."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from openslob.analyze.curves.usl import Scaling, fit

SESSIONS = [1, 2, 4, 8, 16, 32, 64]


@pytest.mark.parametrize("kappa", [0.0, 1e-5, 1e-3])
@pytest.mark.parametrize("sigma", [0.0, 0.03, 0.3])
@pytest.mark.parametrize("noise", [0.01, 0.2])
def test_the_law_is_the_one_that_fits_best_with_no_factor_below_0(sigma: float, kappa: float, noise: float) -> None:
    n = np.array(SESSIONS, dtype=float)
    x = 1000 * n / (1 + sigma * (n - 1) + kappa * n * (n - 1))
    x *= np.exp(np.random.default_rng(1).normal(0, noise, len(n)))
    law = fit(SESSIONS, x.tolist())
    columns = np.stack([np.ones_like(n), n - 1, n * (n - 1)], axis=1) * (x / n)[:, None]
    inverse, serial, coherence = nnls(columns, np.ones_like(n))[0]
    assert isinstance(law, Scaling)
    found = (1 / law.lambda_per_s, law.sigma / law.lambda_per_s, law.kappa / law.lambda_per_s)
    assert found == pytest.approx((inverse, serial, coherence), rel=1e-6, abs=1e-12)
