"""What the work loop of every engine is given and gives, in terms of the method: one meaning for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openslob.counts import SliceCounts
from openslob.engines.base import SessionPlan, SliceRequest, SliceResult
from openslob.histogram import Histogram
from openslob.method import OpKind
from openslob.workload import RedoStress, Workload

# Later than any run ends, and more operations than any run has; a bigint holds it, also of nanoseconds.
NO_LIMIT = 2**62
# One operation before all others: they are numbered from 0, so what this one writes comes only once in a session.
ONE_BEFORE_ALL = SliceRequest(first_op=-1, not_before_ns=0, until_ns=NO_LIMIT, max_ops=1)
# Waking up and the first operation take a session less than this on a host with two CPUs.
STEP_ASIDE_PER_SESSION_S = 1e-4
# Servers sleep in whole milliseconds, or are late by about as much.
SHORTEST_SLEEP_S = 1e-3


def written_columns(workload: Workload) -> tuple[str, ...]:
    """Columns that an update sets."""
    if workload.redo_stress is RedoStress.HEAVY:
        return tuple(f"c{number}" for number in range(2, 21))
    return ("c2", "c20")


def choices(plan: SessionPlan) -> dict[str, Any]:
    """What decides each operation of a session: keys, shares, hot spot, hot schema and think time, in this order."""
    load = plan.workload
    hotspot_key, hotspot_keys = plan.hotspot or (1, plan.scale)
    return {
        "scale": plan.scale,
        "work_unit": load.work_unit,
        "update_work_unit": load.rows_per_update,
        "update_pct": load.update_pct,
        "update_phase": plan.phases.update,
        "scan_pct": load.scan_pct,
        "scan_phase": plan.phases.scan,
        "hotspot_every": load.hotspot_frequency if plan.hotspot else 0,
        "hotspot_phase": plan.phases.hotspot,
        "hotspot_key": hotspot_key,
        "hotspot_keys": hotspot_keys,
        "hot_schema_every": load.hot_schema_frequency,
        "hot_schema_phase": plan.phases.hot_schema,
        "think_every": load.think_tm_frequency,
        "think_phase": plan.phases.think,
        "think_min": load.think_tm_min,
        "think_max": load.think_tm_max,
    }


def each_kind(workload: Workload) -> list[dict[str, int]]:
    """Choices that make an operation of each kind that the workload has, without thinking afterwards."""
    used = []
    if workload.update_pct < 100 and workload.scan_pct < 100:
        used.append({"update_pct": 0, "scan_pct": 0})
    if workload.update_pct < 100 and workload.scan_pct > 0:
        used.append({"update_pct": 0, "scan_pct": 100})
    if workload.update_pct > 0:
        used.append({"update_pct": 100, "scan_pct": 0})
    return [shares | {"think_every": 0} for shares in used]


def slice_result(
    numbers: Mapping[str, int],
    latency: Mapping[OpKind, Histogram],
    response: Mapping[OpKind, Histogram],
    wake_ups: Histogram,
    due_ns: int | None,
) -> SliceResult:
    """What a slice's CALL gave: its ``numbers`` by the work loop's names, and what they are histograms of.

    ``conflicts`` is not among the numbers of a loop that runs no refused operation again.
    """
    begin_ns = numbers["began_us"] * 1000
    return SliceResult(
        start_ns=begin_ns,
        end_ns=numbers["ended_us"] * 1000,
        first_op_ns=begin_ns if numbers["ops"] else None,
        counts=SliceCounts.of_slice(numbers, latency),
        latency=latency,
        response=response,
        due_ns=due_ns,
        wake_ups=wake_ups,
    )


def step_aside_s(plan: SessionPlan) -> float:
    """How long a session pauses after its first operation, so that all have begun before any takes a time slice.

    Not at all with due times of its own: such sessions do not begin together, and the next operation would be late.
    """
    pause = plan.workload.total_sessions * STEP_ASIDE_PER_SESSION_S
    return pause if plan.interval_us is None and pause >= SHORTEST_SLEEP_S else 0.0
