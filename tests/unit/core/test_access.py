"""The law of skewed keys: its own probabilities, its distance from the Zipf law, and where its ranks lie."""

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from factories.tables import table
from openslob.core.access import Access, AccessKind, KeyLaw, Ring
from openslob.core.workload import LARGEST_BLOCKS, Workload

EXPONENTS = st.integers(1, 2000).map(lambda thousandths: thousandths / 1000)
KEYS = st.integers(1, LARGEST_BLOCKS)


@table(
    ("text", "kind", "exponent", "again"),
    [
        ("uniform", AccessKind.UNIFORM, 0, "uniform"),
        (" HOTSPOT ", AccessKind.HOTSPOT, 0, "hotspot"),
        ("zipf:0.99", AccessKind.ZIPF, 0.99, "zipf:0.99"),
        ("Zipf:1.000", AccessKind.ZIPF, 1, "zipf:1"),
        ("zipf:2", AccessKind.ZIPF, 2, "zipf:2"),
        ("zipf:0.001", AccessKind.ZIPF, 0.001, "zipf:0.001"),
    ],
)
def test_what_chooses_the_keys_is_read_and_written(text, kind, exponent, again):
    access = Access.parse(text)
    assert (access.kind, access.exponent, str(access)) == (kind, exponent, again)
    assert Access.parse(again) == access


@table("text", ["zipf", "zipf:", "zipf:0", "zipf:2.001", "zipf:0.9999", "zipf:-1", "zipf:nan", "", "uniform:1", "law"])
def test_what_is_no_law_is_refused(text):
    with pytest.raises(ValueError, match="neither uniform nor hotspot nor zipf with an exponent"):
        Access.parse(text)


def probabilities(law):
    return np.diff([law.share_of_first(rank) for rank in range(law.keys + 1)])


@given(EXPONENTS, st.integers(1, 300))
def test_probabilities_are_those_of_all_ranks_and_fall(exponent, keys):
    law = KeyLaw(exponent, keys)
    found = probabilities(law)
    assert law.share_of_first(0) == 0
    assert law.share_of_first(keys) == pytest.approx(1, abs=1e-12)
    assert all(before > after > 0 for before, after in pairwise(found))


@table(
    ("exponent", "most"),
    [(0.001, 1.1e-3), (0.5, 1.1e-3), (0.8, 1.1e-3), (0.99, 1.1e-3), (1.0, 1.1e-3), (1.2, 1e-2), (2.0, 1e-2)],
)
def test_the_law_drawn_is_near_the_zipf_law(exponent, most):
    """The total variation distance that the docstring and the documentation state."""
    law, ranks = KeyLaw(exponent, 1_000_000), np.arange(1, 1_000_001)
    ends = np.log(ranks + 0.5) if exponent == 1 else (ranks + 0.5) ** (1 - exponent)
    drawn = np.diff((ends - law.low) / law.width, prepend=0.0)
    assert drawn[:100] == pytest.approx(np.diff([law.share_of_first(rank) for rank in range(101)]), rel=1e-6)
    true = ranks.astype(float) ** -exponent
    distance = np.abs(drawn - true / true.sum()).sum() / 2
    assert 0 < distance < most


def test_an_exponent_of_0_is_a_uniform_law():
    law = KeyLaw(0, 1000)
    assert probabilities(law) == pytest.approx(np.full(1000, 1e-3))
    assert law.power == 1


@given(EXPONENTS, KEYS, st.floats(0, 1, exclude_max=True))
def test_a_random_number_stands_for_the_rank_in_whose_share_it_lies(exponent, keys, share):
    law = KeyLaw(exponent, keys)
    rank = law.rank_at(share)
    assert 1 <= rank <= keys
    assert law.share_of_first(rank - 1) - 1e-9 <= share <= law.share_of_first(rank) + 1e-9


@given(EXPONENTS, KEYS)
def test_both_ends_are_ranks(exponent, keys):
    law = KeyLaw(exponent, keys)
    assert law.rank_at(0.0) == 1
    assert law.rank_at(1 - 2**-53) <= keys
    assert (keys - 1) * law.step < 2**63


@table("exponent", [0.5, 0.99, 1.0, 1.5])
def test_draws_have_the_law_s_probabilities(exponent):
    law, chance = KeyLaw(exponent, 2000), random.Random(1)
    drawn = np.bincount([law.rank_at(chance.random()) for _ in range(100_000)], minlength=2001)[1:]
    edges = np.array([0, 1, 2, 3, 4, 5, 8, 12, 20, 40, 80, 160, 320, 640, 1280])
    expected = np.add.reduceat(probabilities(law), edges) * 100_000
    assert stats.chisquare(np.add.reduceat(drawn, edges), expected).pvalue > 0.01


@given(st.integers(1, 2000))
def test_each_rank_has_a_key_of_its_own(keys):
    law = KeyLaw(0.99, keys)
    found = [law.key_of(rank) for rank in range(1, keys + 1)]
    assert sorted(found) == list(range(1, keys + 1))
    assert [law.rank_of(key) for key in found] == list(range(1, keys + 1))
    assert found[0] == 1


@table("keys", [1000, 65_536, 1_000_000, 83_200_001])
def test_hot_rows_are_spread_over_all_keys(keys):
    """Of the first ranks, however many, no two lie nearer than a seventh of their mean distance."""
    law = KeyLaw(0.99, keys)
    for ranks in (2, 3, 10, 48, 100, 144, 500):
        hot = sorted(law.key_of(rank) for rank in range(1, ranks + 1))
        assert min(after - before for before, after in pairwise([*hot, hot[0] + keys])) > keys / ranks / 7
    # No share of all keys is left without a hot row either.
    assert max(after - before for before, after in pairwise([*hot, hot[0] + keys])) < 4 * keys / ranks


def test_selects_and_updates_draw_from_the_same_keys():
    workload = Workload(access="zipf:0.99", work_unit=3, update_work_unit=8)
    assert workload.key_law(1000) == KeyLaw(0.99, 993)
    assert Workload(work_unit=64).key_law(1000) == KeyLaw(0, 937)


@given(st.integers(1, 40), st.integers(1, 2000))
def test_the_rings_of_all_sessions_have_each_key_once_and_each_session_goes_round_its_own(sessions, scale):
    if scale < sessions:
        return
    rings = [Ring.of_session(scale, place, sessions) for place in range(sessions)]
    rounds = [[ring.key_of(number) for number in range(ring.keys)] for ring in rings]
    assert sorted(key for each in rounds for key in each) == list(range(1, scale + 1))
    assert [ring.key_of(ring.keys) for ring in rings] == [each[0] for each in rounds]
    # The operation before all others, with which a session gets ready.
    assert [ring.key_of(-1) for ring in rings] == [each[-1] for each in rounds]


def test_rows_that_are_inserted_one_after_the_other_have_no_neighbouring_keys():
    ring = Ring.of_session(65_536, 1, 4)
    keys = [ring.key_of(number) for number in range(ring.keys)]
    assert min(abs(key - before) for before, key in pairwise(keys)) > 1000
