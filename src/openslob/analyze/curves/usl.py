"""Scaling: throughput over sessions fitted by the Universal Scalability Law, of which Amdahl's law is a part.

X(N) = λ N / (1 + σ (N − 1) + κ N (N − 1)) with λ the throughput of one session, σ the share of the work that is
serial (contention) and κ the cost of keeping N parties coherent (Gunther, "Guerrilla Capacity Planning", 2007).
κ = 0 is Amdahl's law.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Three parameters are fitted: with three session counts every line would fit.
MIN_COUNTS = 4
# Gunther's own advice is to mistrust a fit that leaves more than a twentieth of the variation unexplained.
GOOD_R2 = 0.95


# A coefficient below this puts the peak beyond ten thousand sessions: it is the fit's rounding, not a property.
NO_COHERENCE = 1e-9


@dataclass(frozen=True)
class Scaling:
    """The fit: λ per second, σ and κ as shares, R² of throughput.

    ``peak_sessions`` is where the law has its maximum, √((1 − σ) / κ), and None when it has none (κ = 0);
    ``ceiling`` is the throughput which it never exceeds, None when it has no bound.
    """

    lambda_per_s: float
    sigma: float
    kappa: float
    r2: float
    peak_sessions: float | None
    ceiling: float | None

    @property
    def good(self) -> bool:
        """The law describes the line."""
        return self.r2 >= GOOD_R2

    def throughput(self, sessions: float) -> float:
        """X(N) by the fit."""
        n = sessions
        return self.lambda_per_s * n / (1 + self.sigma * (n - 1) + self.kappa * n * (n - 1))


@dataclass(frozen=True)
class NoFit:
    """There is no fit, and why."""

    why: str


def fit(sessions: Sequence[int], throughput: Sequence[float]) -> Scaling | NoFit:
    """Least-squares fit of the law to points of throughput above 0; several points may have the same session count.

    N / X is linear in 1/λ, σ/λ and κ/λ, so that non-negative least squares finds the one best fit, without starting
    values. Each point is weighted by its X / N: what is made small are relative differences.
    """
    n, x = np.asarray(sessions, dtype=float), np.asarray(throughput, dtype=float)
    kept = x > 0
    n, x = n[kept], x[kept]
    counts = len(set(n.tolist()))
    if counts < MIN_COUNTS:
        return NoFit(f"not enough data: {counts} session counts, and the fit has 3 parameters of its own")
    # Here, since it would take a tenth of the time in which every command starts.
    from scipy.optimize import nnls  # noqa: PLC0415

    columns = np.stack([np.ones_like(n), n - 1, n * (n - 1)], axis=1)
    (inverse, serial, coherence), _ = nnls(columns * (x / n)[:, None], np.ones_like(n))
    if inverse <= 0:
        return NoFit("the line does not scale by this law: throughput does not depend on the session count")
    return _scaling(1 / inverse, serial / inverse, coherence / inverse, n, x)


def _scaling(lam: float, sigma: float, kappa: float, n: np.ndarray, x: np.ndarray) -> Scaling | NoFit:
    variation = float(np.sum((x - x.mean()) ** 2))
    if variation <= 0:
        return NoFit("the line does not scale: throughput is the same at every session count")
    peak = math.sqrt((1 - sigma) / kappa) if kappa > NO_COHERENCE and sigma < 1 else None
    bare = Scaling(float(lam), float(sigma), float(kappa), 0.0, peak, None)
    rest = float(sum((have - bare.throughput(at)) ** 2 for at, have in zip(n.tolist(), x.tolist(), strict=True)))
    ceiling = bare.throughput(peak) if peak else (float(lam / sigma) if sigma > 0 else None)
    return Scaling(bare.lambda_per_s, bare.sigma, bare.kappa, 1 - rest / variation, peak, ceiling)
