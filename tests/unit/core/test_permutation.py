"""The permutation is one-to-one for every size and key, the same in any chunks, and scatters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openslob.core.permutation import Permutation

SIZES = st.integers(1, 5000)
KEYS = st.integers(0, 2**40)
LENGTHS = st.integers(50, 6000)


@given(SIZES, KEYS, LENGTHS)
def test_every_value_comes_exactly_once(size, key, length):
    values = np.concatenate(list(Permutation(size, key).chunks(length)))
    assert np.array_equal(np.sort(values), np.arange(1, size + 1))


@given(SIZES, KEYS, LENGTHS)
def test_chunks_do_not_change_it(size, key, length):
    permutation = Permutation(size, key)
    assert np.array_equal(np.concatenate(list(permutation.chunks(length))), permutation.chunk(0, size))


@given(st.integers(200, 20_000), KEYS)
def test_neighbours_are_scattered(size, key):
    """A random permutation leaves two neighbours side by side on average (Poisson); 12 is once in 10^6."""
    steps = np.abs(np.diff(Permutation(size, key).chunk(0, size)))
    assert np.count_nonzero(steps == 1) < 13
    assert np.mean(steps) == pytest.approx(size / 3, rel=0.3)


def test_keys_give_different_permutations():
    first, second = (Permutation(1000, key).chunk(0, 1000) for key in (1, 2))
    assert np.count_nonzero(first == second) < 12


def test_it_is_the_same_for_ever():
    """Loaded data name their key: the same key must mean the same placement in later versions."""
    assert Permutation(10, 1).chunk(0, 10).tolist() == [6, 8, 1, 9, 10, 2, 5, 3, 7, 4]
    # A power of two fills its bits, and the number after it needs one more.
    assert Permutation(16, 1).chunk(0, 16).tolist() == [6, 16, 15, 9, 10, 2, 5, 14, 7, 4, 12, 1, 8, 3, 11, 13]
    assert Permutation(1024, 3).chunk(0, 6).tolist() == [1014, 728, 458, 110, 192, 328]
    assert Permutation(1025, 3).chunk(0, 6).tolist() == [453, 360, 488, 435, 560, 379]
    assert Permutation(10**6, 5).chunk(0, 4).tolist() == [378989, 153666, 361405, 519590]


def test_a_chunk_far_out_in_a_large_permutation():
    values = Permutation(10**12, 3).chunk(10**12 - 1000, 10**12)
    assert len(set(values.tolist())) == 1000
    assert values.min() >= 1
    assert values.max() <= 10**12
