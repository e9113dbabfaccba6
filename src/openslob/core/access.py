"""How operations choose their keys: all alike, by a Zipf law, or with a hot spot; and the law's own probabilities.

A Zipf law gives rank k of n keys the weight k^-e. To draw from it exactly takes a table of n sums, or a loop that
rejects some numbers (Hörmann and Derflinger: Rejection-inversion to generate variates from monotone discrete
distributions, ACM TOMACS 6(3), 1996). A work loop draws with their inverse, without the rejection, in one expression:
the weight of rank k is the integral of x^-e from k - 1/2 to k + 1/2, and a uniform number between the integral's ends,
put through its inverse and rounded, is the rank. Only the lower end is ours: not 1/2, but where rank 1 has a weight of
exactly 1.

By the midpoint rule the other weights are then e(e + 1)/(24 k^2) of themselves too large, 2 % at rank 2 with e = 0.99.
So the law drawn is not quite the Zipf law: over a million keys their total variation distance, which is the largest
difference in the probability of any set of keys, is at most 0.0011 up to e = 1, and below 0.01 up to e = 2. What is
drawn is known exactly: `KeyLaw.share_of_first` is its distribution function, which tests and predictions use.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Self

_ZIPF = re.compile(r"zipf:(\d(?:\.\d{1,3})?)", re.IGNORECASE)
# Beyond it, more than three operations of five would go to one row. Three decimals keep the inverse's exponent at 1,000
# at most, so that a rounding error is far below one key.
LARGEST_EXPONENT = 2
# Keys of neighbouring ranks lie about this share of all keys apart, modulo their number: that of the golden section, of
# which multiples are spread evenly however many they are. The product of rank and step stays below 2^63 for every table
# that a load can make.
_SHARE = (3 - math.sqrt(5)) / 2
# Multiples of a fraction are spread as evenly as its partial quotients are small (the three-distance theorem). Every
# number of keys is thought to have a step with none above this (Zaremba's conjecture).
_LARGEST_QUOTIENT = 5


class AccessKind(StrEnum):
    """What chooses the keys."""

    UNIFORM = "uniform"
    ZIPF = "zipf"
    HOTSPOT = "hotspot"


@dataclass(frozen=True)
class Access:
    """What chooses the keys; ``exponent`` is that of the Zipf law, and 0 where all keys are alike."""

    kind: AccessKind
    exponent: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``uniform``, ``hotspot`` or ``zipf:0.99``. ValueError for other texts."""
        word = text.strip().lower()
        if word in (AccessKind.UNIFORM, AccessKind.HOTSPOT):
            return cls(AccessKind(word))
        match = _ZIPF.fullmatch(word)
        exponent = float(match[1]) if match else 0.0
        if not 0 < exponent <= LARGEST_EXPONENT:
            raise ValueError(f"{text!r} is neither uniform nor hotspot nor zipf with an exponent, such as zipf:0.99")
        return cls(AccessKind.ZIPF, exponent)

    def __str__(self) -> str:
        """Return the text that `parse` reads back: records contain it."""
        return f"{self.kind}:{self.exponent:g}" if self.exponent else self.kind.value


@dataclass(frozen=True)
class KeyLaw:
    """The law by which the first key of an operation is drawn from ``keys`` keys: that of a rank, and the rank's key.

    With exponent 0 all keys are alike. Ranks are the same in all sessions, runs and servers: rank 1 is key 1.
    """

    exponent: float
    keys: int

    @property
    def power(self) -> float:
        """The exponent of the integral's inverse; 0 where the inverse is the exponential function (exponent 1)."""
        return 0.0 if self.exponent == 1 else 1 / (1 - self.exponent)

    @cached_property
    def low(self) -> float:
        """The integral at the point from which the weight of rank 1 is 1."""
        return self._integral(1.5) - (1.0 if self.exponent == 1 else 1 - self.exponent)

    @cached_property
    def width(self) -> float:
        """The integral up to the last rank, from `low`; negative above an exponent of 1."""
        return self._integral(self.keys + 0.5) - self.low

    @cached_property
    def step(self) -> int:
        """The distance between the keys of neighbouring ranks; it has no factor in common with the number of keys."""
        middle = round(self.keys * _SHARE)
        steps = (step for away in range(self.keys) for step in (middle + away, middle - away) if step > 0)
        return next((step for step in steps if _spreads(step, self.keys)), 1)

    def rank_at(self, share: float) -> int:
        """Return the rank that a uniform random number from 0 to below 1 stands for, as the work loops compute it."""
        at = self.low + share * self.width
        place = math.exp(at) if self.exponent == 1 else at**self.power
        return 1 + min(math.floor(place - 0.5), self.keys - 1)

    def key_of(self, rank: int) -> int:
        """Return the key of a rank."""
        return 1 + (rank - 1) * self.step % self.keys

    def rank_of(self, key: int) -> int:
        """Return the rank of a key."""
        return 1 + (key - 1) * pow(self.step, -1, self.keys) % self.keys

    def share_of_first(self, ranks: float) -> float:
        """Return the probability that one of the first so many ranks is drawn."""
        return (self._integral(ranks + 0.5) - self.low) / self.width if ranks > 0 else 0.0

    def _integral(self, place: float) -> float:
        """Return an antiderivative of x^-e, without a factor: the logarithm for an exponent of 1."""
        return math.log(place) if self.exponent == 1 else place ** (1 - self.exponent)


@dataclass(frozen=True)
class Ring:
    """The keys that one session replaces with MODE=churn, round and round: ``keys`` of them, from ``first`` on.

    The ring is full: an operation deletes the row at the tail, which is the oldest, and the row that it inserts at the
    head takes its key. So every key is there once after each commit, however many operations there were before.
    Neighbours in the ring are not neighbouring keys, so that rows that are inserted one after the other, which may come
    into neighbouring blocks, are not those of one range of keys.
    """

    first: int
    keys: int

    @classmethod
    def of_session(cls, scale: int, place: int, sessions: int) -> Self:
        """Return the ring of the session with this ``place``, from 0, among those on a table of so many keys."""
        first = scale * place // sessions
        return cls(1 + first, scale * (place + 1) // sessions - first)

    @property
    def step(self) -> int:
        """The distance between the keys of neighbours in the ring."""
        return KeyLaw(0.0, self.keys).step

    def key_of(self, number: int) -> int:
        """Return the key that a session's operation replaces which is the ``number``-th, from 0, that replaces one."""
        return self.first + number % self.keys * self.step % self.keys


def _spreads(step: int, keys: int) -> bool:
    """Return whether multiples of the step reach all keys, and how many there may be, no two lie close together."""
    while step:
        if keys // step > _LARGEST_QUOTIENT:
            return keys == 1
        keys, step = step, keys % step
    return keys == 1
