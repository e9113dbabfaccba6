"""Student's t distribution, the noncentral one, and the beta distribution: what intervals and plans need of them.

All of them follow from the regularised incomplete beta function. Libraries that have it are larger than all else that
is installed together.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import count
from statistics import NormalDist


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the probability of values up to ``x`` of the beta distribution: the incomplete beta function I_x(a, b).

    By its continued fraction, on the side of its mean where that converges fast (NIST Digital Library of Mathematical
    Functions, 8.17.22).
    """
    if not 0.0 < x < 1.0:
        return float(x >= 1.0)
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _first_term(1.0 - x, b, a) / _fraction(1.0 - x, b, a)
    return _first_term(x, a, b) / _fraction(x, a, b)


def _first_term(x: float, a: float, b: float) -> float:
    """Return x^a (1 - x)^b / (a B(a, b)), which is also by how much I_x(a, b) exceeds I_x(a + 1, b)."""
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta) / a


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction, by Lentz's algorithm as Thompson and Barnett changed it (DLMF 3.10.iii)."""
    value = ahead = 1.0
    behind, in_place_of_0 = 0.0, 1e-300
    for step in count(1):
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        behind = 1.0 / (1.0 + term * behind or in_place_of_0)
        ahead = 1.0 + term / ahead or in_place_of_0
        value *= ahead * behind
        if abs(ahead * behind - 1.0) < 1e-15:  # changes no digit
            break
    return value


@lru_cache(maxsize=4096)
def beta_quantile(share: float, a: float, b: float) -> float:
    """Return the quantile ``share`` of the beta distribution, by Newton's steps, and by halves where one leads away."""
    low, high, x = 0.0, 1.0, 0.5
    while low < x < high:
        excess, density = beta_cdf(x, a, b) - share, _first_term(x, a, b) * a / (x * (1.0 - x))
        low, high = (x, high) if excess < 0.0 else (low, x)
        before, x = x, x - excess / density if density else low
        if abs(x - before) <= 4e-16 * before:  # the last digit
            break
        if not low < x < high:
            x = (low + high) / 2.0
    return x


def t_quantile(degrees: float, share: float) -> float:
    """Return the quantile ``share``, from a half on, of Student's t distribution with these degrees of freedom.

    t² / (degrees + t²) has the beta distribution with 1/2 and degrees/2. With infinitely many it is the normal one; NaN
    if they are not known.
    """
    if not math.isfinite(degrees):
        return NormalDist().inv_cdf(share) if degrees > 0 else float("nan")
    squares = beta_quantile(2.0 * share - 1.0, 0.5, degrees / 2.0)
    return math.sqrt(degrees * squares / (1.0 - squares))


def noncentral_t_cdf(t: float, degrees: float, shift: float) -> float:
    """Return the probability of values up to ``t``, which is positive, of the noncentral t distribution.

    By the sum of Lenth ("Algorithm AS 243", Applied Statistics 38, 1989) over a Poisson distribution of shift²/2.
    """
    x, b, half = (t / math.hypot(t, math.sqrt(degrees))) ** 2, degrees / 2.0, shift**2 / 2.0
    if x >= 1.0:
        return 1.0
    even, odd = math.exp(-half), shift * math.exp(-half) / (math.sqrt(2.0) * math.gamma(1.5))
    total = _over_poisson(x, 0.5, b, half, even) + _over_poisson(x, 1.0, b, half, odd)
    return NormalDist().cdf(-shift) + total / 2.0


def _over_poisson(x: float, a: float, b: float, half: float, weight: float) -> float:
    """Return the sum of I_x(a + j, b) over j, whose first weight is given, and which the factors of others follow."""
    share, step, total = beta_cdf(x, a, b), _first_term(x, a, b), 0.0
    for j in count():
        total += weight * share
        if j > half and abs(weight) < 1e-16:
            break
        share -= step
        step *= x * (a + j + b) / (a + j + 1.0)
        weight *= half / (j + a + 0.5)
    return total
