"""A keyed pseudo-random permutation of 1…n that computes any range of positions without holding the others.

A Feistel network permutes the numbers of just enough bits for n; a result of n or above passes through it again until
it is below n (cycle walking), which keeps the permutation one-to-one. The domain is smaller than 2n, so that the mean
is at most two passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Four rounds make a Feistel network a pseudo-random permutation (Luby and Rackoff); two more are used because the
# halves have only a few bits when n is small.
_ROUNDS = 6
_MASK64 = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class Permutation:
    """The permutation of 1…``size`` for ``key``; equal arguments give equal permutations on every platform."""

    size: int
    key: int

    def chunk(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return the values at positions ``start`` to ``stop``, without ``stop`` itself; positions count from 0."""
        values = self._pass_through(np.arange(start, min(stop, self.size), dtype=np.uint64))
        while (outside := np.flatnonzero(values >= self.size)).size:
            values[outside] = self._pass_through(values[outside])
        return values.astype(np.int64) + 1

    def chunks(self, length: int) -> Iterator[NDArray[np.int64]]:
        """Return all values in order, in arrays of ``length``."""
        return (self.chunk(start, start + length) for start in range(0, self.size, length))

    def _pass_through(self, values: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the values after one pass through the network, over the whole domain of bits."""
        bits = max(2, (self.size - 1).bit_length())
        low_bits = np.uint64(bits // 2)
        low_mask = np.uint64((1 << (bits // 2)) - 1)
        high_mask = np.uint64((1 << (bits - bits // 2)) - 1)
        high, low = values >> low_bits, values & low_mask
        for number in range(0, _ROUNDS, 2):
            high = high ^ (_mix(low, self._round_key(number)) & high_mask)
            low = low ^ (_mix(high, self._round_key(number + 1)) & low_mask)
        return (high << low_bits) | low

    def _round_key(self, number: int) -> np.uint64:
        return np.uint64((self.key * _ROUNDS + number + 1) * _GOLDEN & _MASK64)


def _mix(values: NDArray[np.uint64], key: np.uint64) -> NDArray[np.uint64]:
    """Mix values and key so that every bit of the result depends on every bit of both (finaliser of splitmix64)."""
    mixed = values + key
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
