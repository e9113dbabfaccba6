"""Stretches in which a rate stays at one level, as under a cap: never above it, and more even than elsewhere.

What speaks for a cap at one: how even it is, how straight, how complete, and how far it fell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from openslob.analyze.steps import stretches
from openslob.analyze.tables import Array

# What is below this part of a load's level does not keep it; a level is kept from this share of the time on.
FAR_BELOW, LEAST_KEPT_PCT = 0.8, 90.0
# Shorter stretches of nearly equal values come by chance; this is also what a load must last without the cap.
LEAST_STEPS = 6
# Shorter ones count that come back so often at one level, as those of a bucket that is filled again and again.
SHORT_STEPS, RECURRING = 3, 3
# Counters are read a little early or late, which the next step makes up for: means over so many steps show the rate.
SMOOTHED = 3
# At its level is a mean that lies within so much of it.
BAND = 0.03
# The first step of a slow fall below a level is below it by no more such parts.
SINKING = 3
# A mean above the level speaks against a cap as much as so many at it speak for it; one below it may be a dip.
ABOVE = -4.0
BELOW = -0.7
# A stretch ends where so many more points speak against it than for it.
FALLEN = 12.0
# For so many steps a rate may be higher by so much after a dip: a token bucket keeps what was not used.
KEPT_STEPS = 4
KEPT = 0.15
# A late reading, and one in the step of a switch, have so much of the next step, as a share of the level.
LATE = 0.2
# So much of a plateau is at its level; and a smaller unevenness than this says no more.
LEAST_AT_LEVEL = 0.4
LEAST_UNEVEN = 0.003
# So many levels are tried for each rate.
MOST_LEVELS = 12
# A median absolute deviation as a standard deviation, and the share of values with which a deviation is as exact.
_MAD = 1.4826
_EFFICIENCY = 0.37
# Under real caps a rate varies by 0.0 to 0.2 %, and by 0.6 to 2.3 % where each request takes longer: less than this is
# flat, with the one-sided 95 % limit of what was seen. So many times less must it be than latency would leave.
MOST_FLAT = 0.003
FLATTER = 1.5
SURE = 1.645
# What is smaller is below what readings show; fewer steps are even by chance.
LEAST_SEEN = 0.0005
LEAST_FLAT_STEPS = 8
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


@dataclass(frozen=True)
class Plateau:
    """Stretches ``[begin, end)`` of steps in which a rate was at ``level``.

    ``free`` marks the other known steps, ``uneven`` and ``free_uneven`` say how much the rate varied in either,
    relative to its level. ``z`` is how many standard errors lie between the logarithms of the two.
    """

    level: float
    parts: Sequence[tuple[int, int]]
    free: np.typing.NDArray[np.bool_]
    uneven: float
    free_uneven: float
    z: float

    @property
    def steps(self) -> int:
        """The number of steps in all stretches."""
        return sum(end - begin for begin, end in self.parts)

    def within(self, values: Array) -> Array:
        """Return the known values of the stretches, without the steps at their ends, in which something switched."""
        return _inner(values, self.parts)

    def outside(self, values: Array) -> Array:
        """Return the known values of the other steps."""
        return _drop_unknown(values[self.free])


def find_plateaus(rate: Array) -> list[Plateau]:
    """Return the plateaus of a rate, each with every stretch at its level."""
    if np.isfinite(rate).sum() < 2 * LEAST_STEPS:
        return []
    means = smooth(rate)
    return [plateau for level in _levels(means) if (plateau := _at_level(rate, means, level)) is not None]


def smooth(rate: Array) -> Array:
    """Return the mean of each value and its neighbours; of the neighbours on one side where the other does not go on.

    At a switch the mean of both sides would be at neither level, so a step takes the mean that it is closest to.
    """
    padded = np.pad(rate, SMOOTHED - 1, constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(padded, SMOOTHED)
    known = np.isfinite(windows)
    with np.errstate(invalid="ignore"):
        means = np.where(known, windows, 0).sum(axis=1) / known.sum(axis=1)
        spread = np.where(known, np.abs(windows - means[:, None]), 0).sum(axis=1) / known.sum(axis=1)
    spread[known.sum(axis=1) < SMOOTHED - 1] = np.inf
    # The means over [i - 2, i], [i - 1, i + 1] and [i, i + 2], the most even of which is taken.
    of_step = np.stack([means[at : at + len(rate)] for at in range(SMOOTHED)])
    even = np.stack([spread[at : at + len(rate)] for at in range(SMOOTHED)])
    chosen = np.take_along_axis(of_step, np.argmin(even, axis=0)[None], axis=0)[0]
    return np.where(np.isfinite(rate), chosen, np.nan)


def unevenness(values: Array) -> float:
    """Return the spread between means over neighbouring triples of steps: a standard deviation relative to the level.

    What a late reading adds to one step is missing in the next, so it hardly counts; nor do trends and lasting changes.
    """
    if len(values) < LEAST_STEPS - 2:
        return math.inf
    middle, means = float(np.median(values)), _of_triples(values)
    apart = np.abs(means[SMOOTHED:] - means[:-SMOOTHED]) / math.sqrt(2)
    return _MAD * float(np.median(apart)) / middle if middle > 0 and len(apart) else math.inf


def _of_triples(values: Array) -> Array:
    return np.convolve(values, np.full(SMOOTHED, 1 / SMOOTHED), mode="valid")


def _levels(means: Array) -> list[float]:
    """Return the levels at which a rate stayed for some steps, the most frequent first."""
    known = _drop_unknown(means)
    # The lowest of many may be a dip.
    return [*_flat_levels(known, LEAST_STEPS, 1, 1), *_flat_levels(known, SHORT_STEPS, 0, RECURRING)]


def _flat_levels(known: Array, steps: int, dips: int, least: int) -> list[float]:
    """Return the levels at which so many values one after the other were, but for dips, at least so many times."""
    windows = np.sort(np.lib.stride_tricks.sliding_window_view(known, steps), axis=1)
    middle = windows[:, steps // 2]
    flat = middle[(windows[:, -1] - windows[:, dips] <= 2 * BAND * middle) & (middle > 0)]
    bins = np.floor(np.log(flat) / BAND)
    names, counts = np.unique(bins, return_counts=True)
    names, counts = names[counts >= least], counts[counts >= least]
    return [float(np.median(flat[bins == name])) for name in names[np.argsort(-counts)][:MOST_LEVELS]]


def _at_level(rate: Array, means: Array, level: float) -> Plateau | None:
    for _ in range(2):
        parts = _stretches(means, level)
        inner = _inner(rate, parts)
        level = float(np.median(inner)) if len(inner) else 0.0
        if not level > 0:
            return None
    plateau = plateau_of(rate, _extend(parts, rate, means, level), level)
    return plateau if plateau is not None and plateau.free.sum() >= LEAST_STEPS else None


def plateau_of(rate: Array, parts: Sequence[tuple[int, int]], level: float) -> Plateau | None:
    """Return the plateau of these stretches at a level, and what the rest is like; None if little is at the level.

    How even it is, is that of the triples of steps at the level: others are slow for reasons of their own.
    """
    free = np.isfinite(rate)
    for begin, end in parts:
        # A switch falls into a step, which belongs to neither side.
        free[max(0, begin - 1) : end + 1] = False
    inside = _inner(rate, parts)
    if len(inside) < LEAST_STEPS - 2:
        return None
    apart = np.abs(_of_triples(inside) / level - 1)
    apart = apart[apart <= BAND]
    if len(apart) < max(LEAST_STEPS - 4, LEAST_AT_LEVEL * (len(inside) - SMOOTHED + 1)):
        return None
    uneven, free_uneven = _MAD * float(np.median(apart)), unevenness(rate[free])
    error = math.sqrt(sum(SMOOTHED / (2 * _EFFICIENCY * count) for count in (len(apart) + 2, max(1, int(free.sum())))))
    z = math.log(min(max(free_uneven, 1e-6), 1.0) / max(uneven, LEAST_UNEVEN)) / error
    return Plateau(level, parts, free, uneven, free_uneven, z)


def runs(so: np.typing.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return stretches of `SMOOTHED` steps or more in which something is so; few steps in between do not part them."""
    return [(begin, end) for begin, end in stretches(so, SMOOTHED) if end - begin >= SMOOTHED]


def _inner(rate: Array, parts: Sequence[tuple[int, int]]) -> Array:
    """Return the known values of stretches without the steps at their ends, a part of which may be different."""
    return _drop_unknown(np.concatenate([rate[begin + 1 : end - 1] for begin, end in parts])) if parts else np.array([])


def _stretches(means: Array, level: float) -> list[tuple[int, int]]:
    """Return the stretches of steps in which most values are at a level, few below it, and hardly any above."""
    apart = means / level - 1
    score = np.select([~np.isfinite(means), apart > BAND, apart < -BAND], [0.0, ABOVE, BELOW], 1.0)
    found = list(_best_sums(score))
    long = [(begin, end) for begin, end, best in found if best > LEAST_STEPS - 0.5]
    short = [(begin, end) for begin, end, _ in found]
    return long or (short if len(short) >= RECURRING else [])


def _extend(parts: Sequence[tuple[int, int]], rate: Array, means: Array, level: float) -> list[tuple[int, int]]:
    """Return stretches with all that is beside them and not above the level: what is slow for other reasons.

    After such a time a token bucket lets through what it kept: the rate may be higher until that is spent, and for
    `KEPT_STEPS` a little higher.
    """
    above = np.flatnonzero(means > level * (1 + BAND))
    groups = np.split(above, np.flatnonzero(np.diff(above) > 1) + 1)
    beyond = _beyond_kept(rate, level)
    kept = [group for group in groups if _parts_stretches(group, means, level, beyond)]
    above = np.concatenate(kept) if kept else np.array([], int)
    found: dict[int, int] = {}
    for begin, end in parts:
        next_above = int(np.searchsorted(above, (begin + end) // 2))
        since = int(above[next_above - 1]) + 1 if next_above else 0
        found[since] = int(above[next_above]) if next_above < len(above) else len(means)
    return sorted(found.items())


def _parts_stretches(
    group: np.typing.NDArray[np.intp], means: Array, level: float, beyond: np.typing.NDArray[np.bool_]
) -> bool:
    """Return whether steps above a level are no part of a plateau: a long burst is none, even of saved tokens."""
    high = bool(np.any(means[group] > level * (1 + KEPT)))
    return (high and len(group) > KEPT_STEPS) or ((high or len(group) > KEPT_STEPS) and bool(np.any(beyond[group])))


def _beyond_kept(rate: Array, level: float) -> np.typing.NDArray[np.bool_]:
    """Return the steps whose rate is higher than the level by more than a token bucket kept in the steps before.

    It keeps what is not used below the level. At the level it is empty: what it had would have been used.
    """
    beyond, kept = np.zeros(len(rate), bool), 0.0
    for at, apart in enumerate((rate / level - 1).tolist()):
        kept = 0.0 if abs(apart) <= BAND else kept - (apart if math.isfinite(apart) else 0.0)
        if kept < -LATE:
            beyond[at], kept = True, -LATE
    return beyond


def _best_sums(score: Array) -> Iterator[tuple[int, int, float]]:
    """Yield begin and end of the stretches whose sums of scores are the highest, and these: `SHORT_STEPS` at least.

    One ends where the sum falls so far below its highest that what follows does not make up for it.
    """
    total, best, since, until = 0.0, 0.0, 0, 0
    for at, value in enumerate([*score.tolist(), -math.inf]):
        if total <= 0:
            total, best, since = 0.0, 0.0, at
        total += value
        if total > best:
            best, until = total, at + 1
        if total <= 0 or total < best - FALLEN:
            if best > SHORT_STEPS - 0.5:
                yield since, until, best
            total = 0.0


def _drop_unknown(values: Array) -> Array:
    return values[np.isfinite(values)]


def is_even(plateau: Plateau, step_s: float) -> bool:
    """Return whether the rate hardly varied, both by itself and compared with the rest.

    Any rate is more even in longer steps. A long load has so many that a small difference is sure, but tells nothing.
    """
    return plateau.uneven <= min(MOST_UNEVEN / math.sqrt(step_s), max(LEAST_UNEVEN, plateau.free_uneven / MORE_EVEN))


def sinks(plateau: Plateau, rate: Array) -> bool:
    """Return whether a rate sinks below its level little by little at the end of a stretch, as in a slow fall.

    What is slow for other reasons under a cap is so at once.
    """
    for begin, end in plateau.parts:
        apart = rate[begin:end] / plateau.level - 1
        at_level = np.flatnonzero(np.abs(apart) <= BAND)
        tail = _drop_unknown(apart[int(at_level[-1]) + 1 : -1]) if len(at_level) else apart[:0]
        if len(tail) >= SMOOTHED and tail[0] > -SINKING * BAND and tail[-1] < tail[0] - BAND:
            return True
    return False


def is_flat(plateau: Plateau, rate: Array, step_s: float, requests: float) -> bool:
    """Return whether the rate varied by less than any higher latency would leave of how it varied before.

    What makes a machine slower for a while still does so when something is added to each request: of the unevenness
    without the plateau, the share stays by which the rate is lower. Few steps can be even by chance, and of a few
    ``requests`` a second so little is not seen.
    """
    count = len(plateau.within(rate))
    near = _near(plateau, rate)
    if not near > 0:
        return False
    flat = MOST_FLAT / math.sqrt(step_s)
    if _comes_back(plateau, rate, flat):
        return flat * requests * SMOOTHED * step_s >= 1
    if count < LEAST_FLAT_STEPS:
        return False
    at_most = max(plateau.uneven, LEAST_SEEN) * math.exp(SURE * math.sqrt(SMOOTHED / (2 * _EFFICIENCY * count)))
    left = plateau.free_uneven * plateau.level / near
    allowed = min(flat, left / FLATTER)
    return at_most <= allowed and allowed * requests * SMOOTHED * step_s >= 1


def _comes_back(plateau: Plateau, rate: Array, flat: float) -> bool:
    """Return whether a rate left an even level again and again, and came back to it but for a share of ``flat``.

    Long stretches say nothing by that: their medians are alike whatever holds a load back.
    """
    if len(plateau.parts) < RECURRING or max(end - begin for begin, end in plateau.parts) > LEAST_STEPS:
        return False
    medians = [float(np.nanmedian(rate[begin:end])) for begin, end in plateau.parts]
    return max((max(medians) - min(medians)) / plateau.level, plateau.uneven) <= flat


def is_lower(plateau: Plateau, rate: Array, done: Array) -> bool:
    """Return whether without the plateau rate and throughput were higher, most of the time and right beside it."""
    higher = plateau.level * (1 + HIGHER)
    free = _drop_dips(plateau, plateau.outside(rate))
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


def _drop_dips(plateau: Plateau, values: Array) -> Array:
    """Return the values that are higher than the level; what is lower is slow for other reasons."""
    return values[values > plateau.level * (1 + BAND)]


def _near(plateau: Plateau, rate: Array) -> float:
    """Return the rate right beside the plateau, on the side where it is lower; 0 if it is known on neither."""
    steps, sides = np.arange(len(rate)), []
    for side in (steps < plateau.parts[0][0], steps >= plateau.parts[-1][1]):
        sides.append(_drop_dips(plateau, rate[plateau.free & side]))
    return min((float(np.median(side)) for side in (sides[0][-SHARP:], sides[1][:SHARP]) if len(side)), default=0.0)


def _straightness(plateau: Plateau, rate: Array) -> tuple[float, float]:
    """Return the logarithm of how many times straighter the count is at the plateau, and which share is on lines."""
    at_level = np.abs(smooth(rate) / plateau.level - 1) <= BAND
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
