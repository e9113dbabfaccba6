"""Input and output of the work loop, with the same meaning for every engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from openslob.core.access import KeyLaw, Ring
from openslob.core.counts import SliceCounts
from openslob.core.errors import SlobError
from openslob.core.histogram import Histogram
from openslob.core.method import OpKind
from openslob.core.workload import LoadPart, Pacing, RedoStress, Workload
from openslob.engines.base import SessionPlan, SliceRequest, SliceResult

KINDS = (OpKind.SELECT, OpKind.UPDATE, OpKind.SCAN)  # by their numbers in slice.sql: 0, 1, 2
# Later than the end of any run, in ns, and more operations than any run has; a bigint holds it.
NO_LIMIT = 2**62
# One operation before all others. They are numbered from 0, so no other operation of the session writes its values.
ONE_BEFORE_ALL = SliceRequest(first_op=-1, not_before_ns=0, until_ns=NO_LIMIT, max_ops=1)
# On a host with two CPUs a session takes less than half of this to wake up and run its first operation. On a host that
# others load as well it takes longer; those who resume too early would keep the last ones waiting for a second.
STEP_ASIDE_PER_SESSION_S = 2e-4
# Servers sleep in whole milliseconds, or wake up late by about one.
SHORTEST_PAUSE_S = 2e-3
# A prime, so that sessions of runs with neighbouring seeds do not share seeds.
_SEED_STEP = 7919


def written_columns(workload: Workload) -> tuple[str, ...]:
    """Return the columns that an update sets, or an insert."""
    if workload.redo_stress is RedoStress.HEAVY or workload.churns:
        return tuple(f"c{number}" for number in range(2, 21))
    return ("c2", "c20")


def loop_parameters(plan: SessionPlan) -> dict[str, Any]:
    """Return the work loop's parameters that stay the same in all slices of a session, in the order of slice.sql."""
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
        **law_parameters(load.key_law(plan.scale)),
        **ring_parameters(plan),
        "hot_schema_every": load.hot_schema_frequency,
        "hot_schema_phase": plan.phases.hot_schema,
        "think_every": load.think_tm_frequency,
        "think_phase": plan.phases.think,
        "think_min": load.think_tm_min,
        "think_max": load.think_tm_max,
        "poisson": load.pacing is Pacing.POISSON,
        "tag": plan.tag,
        "random_pct": load.random_pct,
        "written_columns": len(written_columns(load)),
        "step_aside": step_aside_s(plan),
    }


def law_parameters(law: KeyLaw) -> dict[str, int | float]:
    """Return the constants of the law by which the work loop draws keys, by their names in slice.sql."""
    return {
        "zipf_keys": law.keys, "zipf_step": law.step,
        "zipf_low": law.low, "zipf_width": law.width, "zipf_power": law.power,
    }  # fmt: skip


def ring_parameters(plan: SessionPlan) -> dict[str, int]:
    """Return the ring of keys that a session replaces with MODE=churn, by the names in slice.sql.

    Sessions of all classes have one, whether or not they update. No two share a key: neither waits for the other.
    """
    schemas = plan.workload.schemas
    ring = Ring.of_session(plan.scale, plan.number // schemas, -(-plan.of_all // schemas))
    return {"ring_key": ring.first, "ring_keys": ring.keys, "ring_step": ring.step if ring.keys else 1}


def update_key_statement(workload: Workload) -> str:
    """Return the name of the part of slice.sql that chooses the first key of an update."""
    return "key_churn" if workload.churns else key_statement(workload)


def count_statement(workload: Workload) -> str:
    """Return the name of the part of slice.sql that counts the rows that an update changed."""
    return "count_churn" if workload.churns else "count_update"


def key_statement(workload: Workload) -> str:
    """Return the name of the part of slice.sql that draws an operation's first key."""
    exponent = workload.access.exponent
    return "key_uniform" if not exponent else "key_zipf_of_one" if exponent == 1 else "key_zipf"


def session_seed(plan: SessionPlan) -> int:
    """Return a number that is different for every session of a run; engines derive their random seed from it."""
    return plan.workload.seed * _SEED_STEP + plan.number


def shares_by_kind(workload: Workload) -> list[dict[str, int]]:
    """Return, for each kind of operation that the workload has, loop parameters that make an operation of this kind.

    There is no think time after it.
    """
    used = []
    if workload.update_pct < 100 and workload.scan_pct < 100:
        used.append({"update_pct": 0, "scan_pct": 0})
    if workload.update_pct < 100 and workload.scan_pct > 0:
        used.append({"update_pct": 0, "scan_pct": 100})
    if workload.update_pct > 0:
        used.append({"update_pct": 100, "scan_pct": 0})
    return [shares | {"think_every": 0} for shares in used]


def schemas_at_work(workload: Workload) -> range:
    """Return the numbers of the schemas that sessions of this workload use."""
    return range(1, min(workload.schemas, workload.total_sessions) + 1)


def procedures_of(workload: Workload) -> Iterator[tuple[int, LoadPart]]:
    """Yield the schema, and the part of the load, of each procedure that sessions of this workload call."""
    for part in workload.parts:
        for schema in sorted({1 + number % workload.schemas for number in part.numbers}):
            yield schema, part


def cache_warmed(blocks: int, schemas: range) -> str:
    """Return the note of a run whose active data, ``blocks`` of each schema, were read once before it."""
    return f"read {blocks:,} blocks of {len(schemas)} tables into the cache"


def explained_kinds(workload: Workload) -> Iterator[OpKind]:
    """Yield the kinds of operation whose plans are recorded."""
    if workload.update_pct < 100:
        yield OpKind.SELECT
    if workload.update_pct > 0:
        yield OpKind.UPDATE
    if workload.update_pct < 100 and workload.scan_pct > 0:
        yield OpKind.SCAN


def plan_refused(kind: OpKind, plan: str, remedy: str) -> SlobError:
    """Return the error for a statement of the loop that would not read single blocks through the index."""
    return SlobError(f"the {kind} of the work loop would not read block by block through the index: {plan}", remedy)


def no_result() -> SlobError:
    """Return the error for a call of the work loop that returned no row."""
    return SlobError("the work loop returned nothing", "run `slob run` again")


def slice_result(
    numbers: Mapping[str, int],
    latency: Mapping[OpKind, Histogram],
    response: Mapping[OpKind, Histogram],
    wake_ups: Histogram,
    due_ns: int | None,
) -> SliceResult:
    """Return what the CALL of a slice returned as a `SliceResult`.

    ``numbers`` are its counts (`SliceCounts`), ``began_us`` and ``ended_us``, by the names in slice.sql.
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


def begin_together(workload: Workload, crowd: int | None = None) -> bool:
    """Return whether so many sessions begin at the same moment that they must let each other.

    Sessions with due times do not begin together, and their next operation would be late. ``crowd`` is how many there
    are with those of other classes.
    """
    sessions = crowd or workload.total_sessions
    return not workload.is_paced and sessions * STEP_ASIDE_PER_SESSION_S >= SHORTEST_PAUSE_S


def step_aside_s(plan: SessionPlan) -> float:
    """Return how long a session pauses after its first operation, in s; 0 for no pause.

    The pause lets all sessions begin before one of them uses a whole time slice of a CPU.
    """
    return plan.of_all * STEP_ASIDE_PER_SESSION_S if begin_together(plan.workload, plan.crowd) else 0.0
