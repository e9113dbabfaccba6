"""The division of a time into steps, and what intervals and seconds come to in each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openslob.analyze.tables import Array, Moments

STEPS_S = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600)
# More steps would be narrower than a picture's pixels.
MOST_STEPS = 120


def step_s(seconds: float, most: int = MOST_STEPS) -> int:
    """Return the shortest step in seconds of which at most so many are needed for this time."""
    return next((step for step in STEPS_S if seconds / step <= most), math.ceil(seconds / most))


def stretches(so: NDArray[np.bool_], bridged: int = 0) -> list[tuple[int, int]]:
    """Return the first step of each stretch in which something is so, and the one after it.

    So many steps in between, in which it is not, do not part two stretches.
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], so, [False]]).astype(np.int8)))
    found: list[tuple[int, int]] = []
    for begin, end in edges.reshape(-1, 2).tolist():
        if found and begin - found[-1][1] <= bridged:
            found[-1] = (found[-1][0], end)
        else:
            found.append((begin, end))
    return found


@dataclass(frozen=True)
class Steps:
    """``count`` steps of ``length_s`` seconds, from step number ``first`` on: a step has the same edges in all views.

    The last one may not be over: it ends at ``last_s``.
    """

    first: int
    count: int
    length_s: int
    last_s: float

    @property
    def begin_s(self) -> float:
        """The begin of the first step."""
        return float(self.first * self.length_s)

    @property
    def end_s(self) -> float:
        """The end of the last step, as if it were over."""
        return float((self.first + self.count) * self.length_s)

    @property
    def part_s(self) -> float:
        """So little of a step that it would hardly be seen."""
        return self.length_s / 20

    @property
    def edges_s(self) -> Array:
        """The begin of each step, and the end of the last."""
        return np.arange(self.first, self.first + self.count + 1, dtype=np.float64) * self.length_s

    @property
    def at_s(self) -> list[float]:
        """The end of each step."""
        ends: list[float] = np.minimum(self.edges_s[1:], self.last_s).tolist()
        return ends

    def of(self, moments: Array) -> Moments:
        """Return the step of each moment, from 0 on."""
        return np.floor(moments / self.length_s).astype(np.int64) - self.first


def steps_of(begin_s: float, end_s: float, most: int, least_s: float = 1.0) -> Steps:
    """Divide a time into at most so many steps, none shorter than ``least_s``."""
    end_s, most = max(end_s, begin_s), max(most, 1)
    length = max(step_s(end_s - begin_s, most), math.ceil(least_s - 0.5))
    while True:
        first, last = math.floor(begin_s / length), math.ceil(end_s / length)
        if last - first <= max(most, 2):
            return Steps(first, last - first, length, end_s)
        # A time that begins within a step touches one more.
        length = next((longer for longer in STEPS_S if longer > length), 2 * length)


@dataclass(frozen=True)
class StepRange:
    """The lowest and the highest value of each step, and the value of the whole step; NaN where unknown."""

    low: Array
    whole: Array
    high: Array


def spread(
    steps: Steps,
    begin_s: Array,
    end_s: Array,
    amounts: Mapping[str, Array],
    value_of: Callable[[Mapping[str, Array], Array], Array],
) -> StepRange:
    """Return what a figure comes to in each step; an interval belongs to the step in which its middle lies.

    ``value_of`` computes the figure from ``amounts`` of some seconds. A step within a longer interval has its value.
    """
    middles = (begin_s + end_s) / 2
    bounds = np.searchsorted(middles, steps.edges_s)
    inside = slice(int(bounds[0]), int(bounds[-1]))
    seconds = end_s[inside] - begin_s[inside]
    parts = {name: amount[inside] for name, amount in amounts.items()}
    values = value_of(parts, seconds)
    known = ~np.isnan(values)
    bounds -= bounds[0]
    full = bounds[1:] > bounds[:-1]
    starts = bounds[:-1][full]
    low, whole, high = (np.full(steps.count, np.nan) for _ in range(3))
    if len(starts):
        summed = {name: np.add.reduceat(np.where(known, part, 0.0), starts) for name, part in parts.items()}
        length = np.add.reduceat(np.where(known, seconds, 0.0), starts)
        low[full], high[full] = np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)
        whole[full] = np.where(length > 0, value_of(summed, np.where(length > 0, length, 1.0)), np.nan)
    _fill(steps, full, begin_s, end_s, amounts, value_of, (low, whole, high))
    return StepRange(low, whole, high)


def _fill(
    steps: Steps,
    full: NDArray[np.bool],
    begin_s: Array,
    end_s: Array,
    amounts: Mapping[str, Array],
    value_of: Callable[[Mapping[str, Array], Array], Array],
    into: tuple[Array, ...],
) -> None:
    """Give steps in which no interval has its middle the value of the one that they lie in."""
    empty = np.flatnonzero(~full)
    if not len(empty) or not len(end_s):
        return
    middle = steps.edges_s[:-1][empty] + steps.length_s / 2
    at = np.minimum(np.searchsorted(end_s, middle), len(end_s) - 1)
    within = (begin_s[at] <= middle) & (middle <= end_s[at])
    empty, at = empty[within], at[within]
    if len(empty):
        values = value_of({name: amount[at] for name, amount in amounts.items()}, end_s[at] - begin_s[at])
        for each in into:
            each[empty] = values
