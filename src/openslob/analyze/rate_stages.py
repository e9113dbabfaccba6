"""The stages of a rate that changes: what was done in each, and how long the load took to recover from each change."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from openslob.analyze.latencies import Latencies, percentiles, percentiles_of
from openslob.analyze.run_tables import RunTables
from openslob.analyze.tables import Array
from openslob.core.histogram import BUCKETS
from openslob.core.rate_schedule import RateStage, Stage
from openslob.core.workload import Workload

# A response time is back when it stays within this many times the level for so many steps, whatever happens later.
WITHIN, HELD_STEPS = 2.0, 3
# Servers wake sessions up to so much late, which is part of a response time: lower ones are alike.
LEAST_US = 2000.0
# The level is the median of the last steps of a stage: of this share.
LEVEL_SHARE = 0.25
# In a queue that is steady, half of the operations seldom wait for so many times as long as they take: 95 % of the
# possible rate, of a Poisson process, is a mean of 9.5 (ρ / 2(1 - ρ), of operations that all take the same time).
BEHIND = 10.0


def stages_of(load: Workload, tables: RunTables, seconds: float) -> tuple[Stage, ...]:
    """Return the stages that began in a load of so many seconds; none unless its rate changes."""
    if load.rate_schedule is None:
        return ()
    asked = load.rate_schedule.stages
    return tuple(
        _stage(stage, asked[number - 1].last if number else None, end_s, tables, seconds)
        for number, (stage, end_s) in enumerate(
            zip(asked, [*(stage.begin_s for stage in asked[1:]), seconds], strict=True)
        )
        if stage.begin_s < seconds
    )


def _stage(asked: RateStage, before: float | None, next_s: float, tables: RunTables, seconds: float) -> Stage:
    """Return a stage; ``before`` is the rate at the end of the one before it, ``next_s`` when the next one begins."""
    begin_s, end_s, unit_s = asked.begin_s, min(next_s, seconds), tables.unit_s
    done = np.concatenate([[0.0], np.cumsum(tables.work.from_zero("ops"))])
    begun, ended = np.interp([begin_s, end_s], np.arange(len(done)) * float(unit_s), done)
    first, last = (math.ceil(at_s / unit_s) for at_s in (begin_s, end_s))
    counts = sum((_count(kind, first, last) for kind in tables.response.values()), np.zeros(BUCKETS))
    p50, p99 = (float(percentiles(counts[None, :], name)[0]) for name in ("p50_us", "p99_us"))
    recovery_s: float | None = None
    why = ""
    if before is not None and asked.first != before and not asked.is_ramp:
        response, service = (
            _medians(kinds, unit_s, int(seconds // unit_s))[first : int(end_s // unit_s)]
            for kinds in (tables.response, tables.latency)
        )
        recovery_s, why = find_recovery(response, service, unit_s)
    share = (end_s - begin_s) / (next_s - begin_s)
    return Stage(
        begin_s,
        end_s,
        asked.first,
        asked.first + share * (asked.last - asked.first),
        float(ended - begun) / (end_s - begin_s),
        None if math.isnan(p50) else p50,
        None if math.isnan(p99) else p99,
        recovery_s,
        why,
    )


def find_recovery(response_us: Array, service_us: Array, step_s: int) -> tuple[float | None, str]:
    """Return how long a load took to recover from a change at the begin of a stage, in s; or None, and why not.

    It has recovered when the median response time is back within the level of the stage: from then on it is at most
    `WITHIN` times the level, or `LEAST_US` above it, for `HELD_STEPS` steps in a row. The level is the median of the
    last quarter of the stage. Where that is far above the service time (`BEHIND`), the sessions were still behind, and
    the load did not recover. The median is of all sessions: a few that are behind for longer do not show.

    Args:
        response_us: the median response time of the operations that ended in each step of the stage; NaN without any.
        service_us: the median service time of them.
        step_s: the length of a step. An operation counts in the step in which its slice ends, so that a recovery is
            known to a step and the length of a slice, and is never too short by more than a step.

    """
    if len(response_us) < 2 * HELD_STEPS:
        return None, f"the stage has less than {2 * HELD_STEPS} steps of {step_s} s"
    last = max(HELD_STEPS, round(len(response_us) * LEVEL_SHARE))
    if np.isnan(response_us[-last:]).any():
        return None, "in some seconds at the end of the stage no operation ended"
    level, usual = float(np.median(response_us[-last:])), float(np.median(service_us[-last:]))
    if level > BEHIND * usual + LEAST_US:
        return None, f"it did not recover: at the end half of the operations were {(level - usual) / 1e6:.3g} s late"
    within = response_us <= max(WITHIN * level, level + LEAST_US)
    held = np.flatnonzero(np.convolve(within, np.ones(HELD_STEPS), "valid") == HELD_STEPS)
    if not len(held):
        return None, f"the response time was at no level for {HELD_STEPS * step_s} s"
    return float(held[0] * step_s), ""


def _medians(kinds: Mapping[str, Latencies], unit_s: int, count: int) -> Array:
    if not kinds or not count:
        return np.full(count, np.nan)
    return percentiles_of(list(kinds.values()), ("p50_us",), unit_s, unit_s, count)[0]


def _count(kind: Latencies, first: int, last: int) -> Array:
    _, buckets, counts = kind.between(first, last)
    return np.bincount(buckets, counts.astype(np.float64), BUCKETS).astype(np.float64)
