"""How much speaks for a cap at a plateau of a rate: how even it is, how straight, how complete, and how far it fell."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from openslob.analyze.plateaus import BAND, LEAST_UNEVEN, Plateau, smoothed
from openslob.analyze.steps import stretches
from openslob.analyze.tables import Array

# Right beside a cap, the rate is higher by this share at the least, and so are most of the steps without it.
HIGHER = 0.08
# What a cap must come to (`score_of`).
LEAST_SCORE = 9.5
# The rate under a cap varies no more than this, whatever it does without one.
MOST_UNEVEN = 0.025
# And so many times less than without one.
MORE_EVEN = 1.6
# How many times as large as the usual spread a fall is that says all that a fall can.
LARGE_FALL = 12.0
# What a machine loses by chance, such as to other load; from there on, the depth of the fall speaks for a cap.
USUAL_FALL = 0.15
# What a fall by a factor of e counts, one that is large compared with the spread, and a plateau without dips: as many
# standard errors of its evenness as tell caps from chance as well, in simulated loads.
DEPTH = 5.0
LARGE = 5.0
WHOLE = 6.0
# A line this many times as straight as that of the rest says all that straightness can.
MOST_STRAIGHT = 12.0
# Readings that come early or late keep what was counted from a line by this much of a step.
LEAST_ASTRAY = 0.01
# What is off the line by more of a step than readings are late does not come from a cap.
MOST_ASTRAY = 0.06
# A step whose own value is further from the level is a dip, even if its neighbours make up for it.
ODD = 0.15
# A line is drawn through so many steps: through fewer any fits, and over more the level itself may change a little.
LINE_STEPS = (4, 20)
# What lies beside a cap is higher from the first steps on: a cap is switched, a machine takes its time.
SHARP = 3
# Of the steps without the cap that are no dips, the share whose rate is higher by that; and how many these must be.
MOST = 0.8
LEAST_HIGHER = 0.3


def is_even(plateau: Plateau, step_s: float) -> bool:
    """Return whether the rate hardly varied, both by itself and compared with the rest.

    Any rate is more even in longer steps. A long load has so many that a small difference is sure, but tells nothing.
    """
    return plateau.uneven <= min(MOST_UNEVEN / math.sqrt(step_s), max(LEAST_UNEVEN, plateau.free_uneven / MORE_EVEN))


def is_lower(plateau: Plateau, rate: Array, done: Array) -> bool:
    """Return whether without the plateau rate and throughput were higher, most of the time and right beside it."""
    higher = plateau.level * (1 + HIGHER)
    free = _undipped(plateau, plateau.outside(rate))
    if len(free) < LEAST_HIGHER * plateau.free.sum() or np.mean(free > higher) < MOST:
        return False
    if _near(plateau, rate) < higher:
        return False
    under, free = plateau.within(done), plateau.outside(done)
    return not len(under) or not len(free) or bool(np.median(under) < np.median(free))


def score_of(plateau: Plateau, rate: Array) -> float:
    """Return how much speaks for a cap at a plateau.

    A rate under a cap is more even than without, and what was counted lies on a line, since no chance adds up; hardly
    a step of it is off that line, while an even stretch that comes by chance is pieced together; and the rate fell to
    it at once. The fall counts by itself, and compared with how much the rate varied without the cap.
    """
    fall = max(0.0, math.log(max(_near(plateau, rate), plateau.level) / plateau.level))
    depth = max(0.0, fall - math.log1p(USUAL_FALL))
    large = min(1.0, fall / max(plateau.free_uneven, 0.01) / LARGE_FALL)
    straighter, whole = _straightness(plateau, rate)
    return plateau.z + straighter + DEPTH * depth + LARGE * large + WHOLE * whole


def _undipped(plateau: Plateau, values: Array) -> Array:
    """Return the values that are higher than the level; what is lower is slow for other reasons."""
    return values[values > plateau.level * (1 + BAND)]


def _near(plateau: Plateau, rate: Array) -> float:
    """Return the rate right beside the plateau, on the side where it is lower; 0 if it is known on neither."""
    steps, sides = np.arange(len(rate)), []
    for side in (steps < plateau.parts[0][0], steps >= plateau.parts[-1][1]):
        sides.append(_undipped(plateau, rate[plateau.free & side]))
    return min((float(np.median(side)) for side in (sides[0][-SHARP:], sides[1][:SHARP]) if len(side)), default=0.0)


def _straightness(plateau: Plateau, rate: Array) -> tuple[float, float]:
    """Return the logarithm of how many times straighter the count is at the plateau, and which share is on lines."""
    at_level = np.abs(smoothed(rate) / plateau.level - 1) <= BAND
    at_level &= np.abs(rate / plateau.level - 1) <= ODD
    inside = np.zeros(len(rate), bool)
    for begin, end in plateau.parts:
        inside[begin + 1 : end - 1] = True
    lines = list(_lines(rate, at_level & inside, LINE_STEPS[1]))
    if not lines:
        return 0.0, 0.0
    apart, freedom = [_astray(line) for line in lines], sum(len(line) - 1 for line in lines)
    astray = math.sqrt(sum(float(each.sum()) for each in apart) / freedom)
    longest = max(LINE_STEPS[0], round(sum(map(len, lines)) / len(lines)))
    others = [math.sqrt(float(_astray(line).sum()) / (len(line) - 1)) for line in _lines(rate, plateau.free, longest)]
    if astray > MOST_ASTRAY:
        return -math.inf, 0.0
    if not others:
        return 0.0, freedom / plateau.steps
    straighter = math.log(max(float(np.median(others)), LEAST_ASTRAY) / max(astray, LEAST_ASTRAY))
    return min(straighter, math.log(MOST_STRAIGHT)), freedom / plateau.steps


def _lines(rate: Array, so: np.typing.NDArray[np.bool_], longest: int) -> Iterator[Array]:
    """Yield the rates of stretches in which something is so, in pieces of about the same length."""
    for begin, end in stretches(so, 0):
        if end - begin >= LINE_STEPS[0]:
            yield from np.array_split(rate[begin:end], math.ceil((end - begin) / longest))


def _astray(rates: Array) -> Array:
    """Return by how much of a step what was counted was off the straight line through it, squared."""
    counted = np.concatenate([[0.0], np.cumsum(rates / rates.mean() - 1)]) if rates.mean() > 0 else np.zeros(1)
    at = np.arange(len(counted)) - (len(counted) - 1) / 2
    counted = counted - counted.mean()
    off: Array = counted - at * (at @ counted) / max(at @ at, 1.0)
    return np.square(off)
