"""Which steps of a load fall out of the rest, against the load's own course.

A step is slow if the throughput is far below, or the latency far above, what is usual around it. Usual is what the load
does while nothing disturbs it: the upper quartile of its throughput and the lower one of its latency, over `BLOCK`
steps, so that a load that drifts over hours is compared with itself. The noise is that of neighbouring steps, which a
change of the level does not enlarge. A stretch of more than half of a block becomes usual itself: that is a change of
the level, not an episode.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openslob.analyze.steps import stretches
from openslob.analyze.tables import Array
from openslob.analyze.trace import Trace

Steps = NDArray[np.bool_]
BLOCK = 600
# Fewer steps have no course of their own.
LEAST_STEPS = 8
# Nor have fewer than these a cause of their own beside the rest of a stretch.
LEAST_PART = 4
# A single step that is not slow parts no stretch.
BRIDGED = 1
# A step must be this far below what is usual, and by so many times the noise; so far is enough in any load.
LEAST_DROP = 0.2
SURE_DROP = 0.7
LEAST_RISE = 2.0
NOISES = 4.0
# The median absolute deviation of a normal distribution is this part of its standard deviation.
_MAD = 0.6745


def slow_steps(trace: Trace) -> tuple[Steps, Array]:
    """Return which steps are slow, and the usual throughput at each step; none are if the load is too short."""
    ops = trace.get("ops")
    known = np.isfinite(ops)
    if known.sum() < LEAST_STEPS:
        return np.zeros(trace.steps, bool), np.full(trace.steps, np.nan)
    usual = usual_course(ops, 75)
    least = np.maximum(LEAST_DROP * usual, np.minimum(SURE_DROP * usual, NOISES * noise(ops)))
    slow = known & (ops < usual - least)
    longer = _take_longer(trace, ops)
    for name in ("latency.p50_us", "latency.p99_us"):
        latency = np.log(np.where(trace.get(name) > 0, trace.get(name), np.nan))
        if np.isfinite(latency).sum() >= LEAST_STEPS:
            # The highest percentiles of a second rest on a few operations each.
            rise = np.log(LEAST_RISE if name.endswith("p50_us") else LEAST_RISE**2)
            with np.errstate(invalid="ignore"):
                far = latency > usual_course(latency, 25) + np.maximum(rise, NOISES * noise(latency))
            slow |= far & (ops < usual - noise(ops)) if name.endswith("p99_us") else far & longer
    return slow, usual


def _take_longer(trace: Trace, ops: Array) -> Steps:
    """Return in which steps an operation took longer than usual in the mean, or may have.

    Where a few wait for long and the rest find the CPU free, the median falls while the mean rises.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(ops > 0, trace.get("sessions.busy") / ops, np.nan)
        return ~(each <= usual_course(each, 25) + noise(each))


def usual_course(values: Array, percentile: float) -> Array:
    """Return the percentile of the values around each step; NaN where none is known."""
    count = len(values)
    centres, levels = [], []
    for begin in range(0, max(count - BLOCK // 2, 1), BLOCK // 2):
        block = values[begin : begin + BLOCK]
        block = block[np.isfinite(block)]
        if len(block):
            centres.append(begin + min(BLOCK, count - begin) / 2)
            levels.append(float(np.percentile(block, percentile)))
    return np.interp(np.arange(count), centres, levels) if centres else np.full(count, np.nan)


def noise(values: Array) -> float:
    """Return the standard deviation of the values around their course, from the differences of neighbours."""
    steps = np.diff(values[np.isfinite(values)])
    return float(np.median(np.abs(steps))) / _MAD / np.sqrt(2) if len(steps) else 0.0


def parts_of(trace: Trace, begin: int, end: int) -> list[tuple[int, int]]:
    """Return the parts of a slow stretch: those steps that are slow even beside the rest of it, and the rest.

    While something slows a load down for long, something else may nearly stop it for a while.
    """
    inner = Trace(trace.begin_ns, trace.step_s, {name: each[begin:end] for name, each in trace.series.items()})
    parts, since = [], begin
    for first, last in stretches(slow_steps(inner)[0], BRIDGED):
        # Fewer steps between two of them are no part: what comes and goes shares its first and last step.
        if begin + first - since >= LEAST_PART:
            parts.append((since, begin + first))
            since = begin + first
        parts.append((since, begin + last))
        since = begin + last
    if not parts or end - since >= LEAST_PART:
        return [*parts, (since, end)]
    return [*parts[:-1], (parts[-1][0], end)]
