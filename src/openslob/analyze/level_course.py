"""How the throughput of a load went over time, whatever the cause: whether it kept its level, fell slowly, or swung."""

from __future__ import annotations

import numpy as np

from openslob.analyze.plateaus import FAR_BELOW
from openslob.analyze.steps import stretches
from openslob.analyze.tables import Array
from openslob.analyze.trace import Trace
from openslob.core.measurement import LevelCourse

# A dip that is shorter than half of so many seconds is none of the level's.
SMOOTHED_S = 5.0
# The level is what the load reaches for this percentile of the time or more.
USUAL = 75
# Shorter stretches below the level do not count.
LEAST_BELOW_S = 3.0
# A slow fall takes so long, in seconds and as a share of the load, and comes to so much of the rate before; of what the
# rates vary, it explains this share. A load is looked at in so many parts.
LEAST_FALL_S, LEAST_FALL_SHARE = 10.0, 0.1
LEAST_FALL, EXPLAINED = 0.2, 0.75
PARTS = 60
# Stairs are what falls by so much of it at once, and by so many times as much as on a straight line.
STAIR, STEEP = 0.25, 3.0
# A throughput swings if it is like itself a period later (correlation), in so many periods, by so much of its level.
ALIKE, PERIODS, LEAST_SWING = 0.5, 3, 0.25
NEARLY = 0.85
# Fewer steps have no course; so many are before a fall for good, and so much of a load is after it.
LEAST_STEPS, LEAST_STEPS_BEFORE, LEAST_AFTER = 12, 8, 0.25


def course_of(trace: Trace) -> LevelCourse | None:
    """Return how the throughput went; None if too little of it is known."""
    ops, step_s = trace.get("ops"), trace.step_s
    known = np.isfinite(ops)
    if known.sum() < LEAST_STEPS:
        return None
    smoothed, level = _smooth(ops, step_s)
    if not level > 0:
        return None
    low = _low_steps(smoothed, level, step_s)
    below = stretches(low, 0)
    longest = max(below, key=lambda part: part[1] - part[0], default=None)
    fall = _slow_fall(smoothed, step_s)
    return LevelCourse(
        level=level,
        kept_pct=100 - 100 * float((low & known).sum()) / float(known.sum()),
        lowest=longest and (longest[0] * step_s, longest[1] * step_s),
        lowest_rate=None if longest is None else float(np.nanmean(ops[slice(*longest)])),
        fall=fall and (fall[0], fall[1]),
        fall_pct=100 * fall[2] if fall else 0.0,
        period_s=_period_s(ops, level, step_s),
    )


def _smooth(ops: Array, step_s: float) -> tuple[Array, float]:
    """Return the throughput without short dips, and its level: what it was before it fell for good, if it did."""
    smoothed = _running_median(ops, max(1, round(SMOOTHED_S / step_s)))
    level = float(np.percentile(smoothed[np.isfinite(smoothed)], USUAL))
    return smoothed, max(level, _before_fall(ops[np.isfinite(ops)])[0])


def _before_fall(rates: Array) -> tuple[float, int]:
    """Return the level before a fall after which nearly all rates are far below nearly all before it, and where it is.

    Both are 0 without one.

    It falls where two levels fit the rates best (least squares).
    """
    inner = split_in_two(rates)[1][
        LEAST_STEPS_BEFORE - 1 : len(rates) - max(LEAST_STEPS, round(LEAST_AFTER * len(rates)))
    ]
    if not len(inner):
        return 0.0, 0
    at = int(np.argmax(inner)) + LEAST_STEPS_BEFORE
    highest, level = np.percentile(rates[at:], 90), float(np.median(rates[:at]))
    is_apart = highest < np.percentile(rates[:at], 10) and highest < FAR_BELOW * level
    return (level, at) if is_apart else (0.0, 0)


def split_in_two(rates: Array) -> tuple[Array, Array]:
    """Return by how much rates fall, and how well two levels fit them, for each place at which these may meet.

    How well is the sum of squares that the two levels explain. The first place is after the first rate.
    """
    before, counts = np.cumsum(rates)[:-1], np.arange(1, len(rates))
    fell = before / counts - (rates.sum() - before) / (len(rates) - counts)
    return fell, fell**2 * counts * (len(rates) - counts) / max(len(rates), 1)


def low_steps(trace: Trace) -> np.typing.NDArray[np.bool_]:
    """Return which steps of a load are far below its level, in stretches that are long enough to count.

    These are the ones that `LevelCourse.kept_pct` is about.
    """
    ops = trace.get("ops")
    if not np.isfinite(ops).any():
        return np.zeros(trace.steps, bool)
    return _low_steps(*_smooth(ops, trace.step_s), trace.step_s)


def _low_steps(smoothed: Array, level: float, step_s: float) -> np.typing.NDArray[np.bool_]:
    low = np.zeros(len(smoothed), bool)
    for begin, end in stretches(smoothed < FAR_BELOW * level, 1):
        low[begin:end] = (end - begin) * step_s >= LEAST_BELOW_S
    return low


def _running_median(values: Array, steps: int) -> Array:
    """Return the median of the known values around each step; NaN where the step itself is unknown."""
    half = steps // 2
    padded = np.pad(values, half, constant_values=np.nan)
    known = np.isfinite(values)
    medians = np.full(len(values), np.nan)
    medians[known] = np.nanmedian(np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1)[known], axis=1)
    return medians


def _slow_fall(values: Array, step_s: float) -> tuple[float, float, float] | None:
    """Return begin and end (s) of a slow fall to a lower level, and by which share of the level before; None without.

    The rates are fitted by one level, a straight line down to another, and that level until the end (least squares).
    A fall that is best fitted by a short line is no slow one.
    """
    parts = np.array_split(np.arange(len(values)), min(PARTS, len(values)))
    known = [part for part in parts if np.isfinite(values[part]).any()]
    at = np.array([part.mean() + 0.5 for part in known]) * step_s
    rates = np.array([np.nanmean(values[part]) for part in known])
    spread = float(((rates - rates.mean()) ** 2).sum())
    least_s = max(LEAST_FALL_S, LEAST_FALL_SHARE * len(values) * step_s)
    best = None
    for first, begin in enumerate(at[:-1]):
        ends = at[first + 1 :]
        # How far each part is on the way down, for each possible end: 0 before, 1 after.
        way = np.clip((at[None, :] - begin) / (ends - begin)[:, None], 0, 1)
        apart = way - way.mean(axis=1, keepdims=True)
        by = (apart @ rates) / np.maximum((apart**2).sum(axis=1), 1e-12)
        explained = by**2 * (apart**2).sum(axis=1)
        chosen = int(np.argmax(explained))
        if best is None or explained[chosen] > best[0]:
            top = float(rates.mean() - by[chosen] * way[chosen].mean())
            best = (float(explained[chosen]), float(begin), float(ends[chosen]), -float(by[chosen]), top)
    if best is None or best[0] < EXPLAINED * spread or best[4] <= 0:
        return None
    _, begin, end, fallen, top = best
    if end - begin < least_s or fallen < LEAST_FALL * top or _has_steps(values, fallen, end - begin, step_s):
        return None
    return begin, end, fallen / top


def _has_steps(values: Array, fallen: float, seconds: float, step_s: float) -> bool:
    """Return whether a large part of a fall came at once: stairs are no slow fall."""
    apart = max(1, round(SMOOTHED_S / step_s))
    at_once = np.nanmax(values[:-apart] - values[apart:]) / fallen
    return bool(at_once > max(STAIR, STEEP * apart * step_s / seconds))


def _period_s(values: Array, level: float, step_s: float) -> float | None:
    """Return the period of a throughput that goes up and down, by its correlation with itself; None if it does not.

    After it fell for good, only what follows may swing.
    """
    filled = np.interp(np.arange(len(values)), np.flatnonzero(np.isfinite(values)), values[np.isfinite(values)])
    filled = filled[_before_fall(filled)[1] :]
    low, high = np.percentile(filled, [10, 90])
    if high - low < LEAST_SWING * min(level, high):
        return None
    apart = filled - filled.mean()
    size = len(apart)
    power = np.abs(np.fft.rfft(apart, 2 * size)) ** 2
    alike = np.fft.irfft(power)[:size] / np.arange(size, 0, -1)
    alike = alike[: size // PERIODS + 1] / alike[0]
    negative = np.flatnonzero(alike < 0)
    if not len(negative):
        return None
    after = int(negative[0])
    # Two and three periods later it is as alike.
    highest = float(alike[after:].max())
    peaks = np.flatnonzero((alike[1:-1] >= alike[:-2]) & (alike[1:-1] >= alike[2:]) & (alike[1:-1] >= NEARLY * highest))
    peaks = peaks[peaks + 1 > after] + 1
    return float(peaks[0]) * step_s if highest >= ALIKE and len(peaks) else None
