"""What tells a cap from an even stretch that comes by chance."""

import numpy as np
import pytest

from openslob.analyze.plateaus import LEAST_SCORE, find_plateaus, score_of

LATE = 0.02


def capped(steps, seed):
    """Rates of a cap, of which only the readings are late."""
    late = LATE * np.random.default_rng(seed).random(steps + 1)
    return 4000 * (1 + np.diff(late))


def free(steps, seed, level=6000):
    return level * (1 + 0.08 * np.random.default_rng(seed).standard_normal(steps))


def best(rate):
    """The plateau near 4000 with the highest score, and this."""
    near = [each for each in find_plateaus(rate) if abs(each.level / 4000 - 1) < 0.03]
    return max((score_of(each, rate) for each in near), default=0.0)


@pytest.mark.parametrize("seed", range(5))
def test_a_short_cap_has_enough_and_one_with_dips_has_less(seed):
    rate = np.concatenate([free(25, seed), capped(10, seed), free(25, seed + 99)])
    dips = rate.copy()
    dips[[27, 30, 31]] = 3300
    assert best(rate) > LEAST_SCORE
    assert best(rate) > best(dips)


def test_a_deeper_fall_counts_more():
    at = [np.concatenate([free(25, 3, level), capped(12, 3), free(25, 4, level)]) for level in (5000, 6000, 9000)]
    assert best(at[0]) < best(at[1]) < best(at[2])
