"""The Universal Scalability Law fitted to throughput over sessions.

X(N) = λ N / (1 + σ (N − 1) + κ N (N − 1)), where λ is the throughput of one session, σ the serial share of the work
(contention) and κ the cost of keeping N parties coherent (Gunther, "Guerrilla Capacity Planning", 2007). With κ = 0 it
is Amdahl's law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

# The law has three parameters: with three session counts it would fit any series.
MIN_COUNTS = 4


@dataclass(frozen=True)
class Scaling:
    """The fitted law: λ per second, σ and κ as shares, R² of throughput."""

    lambda_per_s: float
    sigma: float
    kappa: float
    r2: float


@dataclass(frozen=True)
class NoFit:
    """The absence of a fit, with the reason."""

    why: str


def fit(sessions: Sequence[int], throughput: Sequence[float]) -> Scaling | NoFit:
    """Fit the law by least squares to points with throughput above 0; session counts may occur more than once.

    N / X is linear in 1/λ, σ/λ and κ/λ, so that non-negative least squares finds the one best fit without starting
    values. Each point is weighted by X / N, so that relative differences are minimised.
    """
    n, x = np.asarray(sessions, dtype=float), np.asarray(throughput, dtype=float)
    kept = x > 0
    n, x = n[kept], x[kept]
    counts = len(set(n.tolist()))
    if counts < MIN_COUNTS:
        return NoFit(f"not enough data: {counts} session counts, and the law has 3 parameters")
    columns = np.stack([np.ones_like(n), n - 1, n * (n - 1)], axis=1)
    inverse, serial, coherence = _not_negative(columns * (x / n)[:, None], np.ones_like(n))
    if inverse <= 0:
        return NoFit("the series does not follow this law: throughput does not depend on the session count")
    return _scaling(1 / inverse, serial / inverse, coherence / inverse, n, x)


def _not_negative(columns: np.ndarray, wanted: np.ndarray) -> list[float]:
    """Return the factors of a few columns, none below 0, with which their sum is nearest to what is wanted.

    Those that are not 0 are the plain least squares of their columns: there are few sets of them to try. The library
    that knows this has an import that takes longer than the fits of a thousand points.
    """
    count = columns.shape[1]
    best, least = [0.0] * count, float(wanted @ wanted)
    for size in range(1, count + 1):
        for kept in map(list, combinations(range(count), size)):
            factors = np.linalg.lstsq(columns[:, kept], wanted, rcond=None)[0]
            left = float(np.sum((columns[:, kept] @ factors - wanted) ** 2))
            if factors.min() > 0 and left < least:
                found = dict(zip(kept, factors.tolist(), strict=True))
                best, least = [found.get(column, 0.0) for column in range(count)], left
    return best


def _scaling(lam: float, sigma: float, kappa: float, n: np.ndarray, x: np.ndarray) -> Scaling | NoFit:
    variation = float(np.sum((x - x.mean()) ** 2))
    if variation <= 0:
        return NoFit("the series does not scale: throughput is the same at every session count")

    def law(count: float) -> float:
        return lam * count / (1 + sigma * (count - 1) + kappa * count * (count - 1))

    residual = sum((real - law(at)) ** 2 for at, real in zip(n.tolist(), x.tolist(), strict=True))
    return Scaling(lam, sigma, kappa, 1 - residual / variation)
