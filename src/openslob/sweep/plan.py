"""From a grid to points in an order that costs the fewest restarts and loads, and that no drift can deceive.

A server is restarted, and data are loaded, before a whole block of points. Inside a block every repeat is a round
through all its points in an order of its own (a randomised block design): whatever changes slowly meanwhile, such as
a filling disk or a warming host, then falls on all points alike instead of on those that would come last.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from pydantic import ValidationError

from openslob.errors import UsageError
from openslob.record.sweep import SweepPoint, SweepRecord, Value, Values
from openslob.units import MIB
from openslob.workload import Workload

# Parameters that decide what is on disk (`Workload.data`).
DATA_PARAMETERS = ("schemas", "scale", "scan_table_sz", "obfuscate_columns")
# Fields of a server that a restart can't change: a server of its own is made for each value.
MADE_WITH = ("version", "bin_dir", "block_size")

# Time of a point beside warm-up and window: checks, checkpoint, connecting, record; measured at 1 to 32 sessions.
POINT_OVERHEAD_S = 1.5
# A restart of a managed server, its cache and files written back; a load restarts it twice as well.
RESTART_S = 3.0
MAKE_S = 8.0
# What a load of incompressible rows reached on a small virtual machine with one disk; most hosts are faster.
LOAD_BYTES_PER_S = 60 * MIB
# Blocks' size where none is known yet and a size is given in blocks.
ASSUMED_BLOCK_BYTES = 8192
# Raw files and record of a run: per second and session, and per second; measured.
RECORD_BYTES = (60_000, 25_000, 150)


def points(
    grid: Mapping[str, Sequence[Value]], server_grid: Mapping[str, Sequence[Value]], repeats: int, seed: int
) -> tuple[SweepPoint, ...]:
    """Every combination ``repeats`` times, once each, in the order to run them.

    Server settings change least often, those first that need a server of their own; then data; the data's order turns
    round with each setting, so that a restart finds loaded what it needs. The same seed gives the same order.
    """
    found: list[SweepPoint] = []
    for at, (server, data) in enumerate(_blocks(grid, server_grid)):
        others = _combinations({name: values for name, values in grid.items() if name not in DATA_PARAMETERS})
        for repeat in range(1, repeats + 1):
            random.Random(f"{seed}/{at}/{repeat}").shuffle(others)
            for other in others:
                values = {name: {**data, **other}[name] for name in grid}
                found.append(SweepPoint(number=len(found) + 1, values=values, server=server, repeat=repeat))
    return tuple(found)


def _blocks(
    grid: Mapping[str, Sequence[Value]], server_grid: Mapping[str, Sequence[Value]]
) -> Iterator[tuple[Values, Values]]:
    slowest_first = sorted(server_grid, key=lambda name: name not in MADE_WITH)
    data = _combinations({name: values for name, values in grid.items() if name in DATA_PARAMETERS})
    for server in _combinations({name: server_grid[name] for name in slowest_first}):
        for each in data:
            yield server, each
        data.reverse()


def _combinations(grid: Mapping[str, Sequence[Value]]) -> list[dict[str, Value]]:
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def sessions_at_most(record: SweepRecord) -> int:
    """The most sessions that any of its points may have."""
    if record.search:
        return record.search.most_sessions
    return max(workload_of(record, point).total_sessions for point in record.points)


def workload_of(record: SweepRecord, point: SweepPoint) -> Workload:
    """The point's workload. Repeats differ by their seed, so that they visit other blocks, unless the grid sets it.

    UsageError when the point's values do not go together.
    """
    seed: Mapping[str, Any] = {"seed": record.workload["seed"] + point.repeat - 1}
    try:
        return Workload.model_validate({**record.workload, **seed, **point.values})
    except ValidationError as error:
        why = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise UsageError(f"{point.label}: {why}", "leave this combination out of the grid") from None


def made_with(server: Values) -> dict[str, Value]:
    """Those of the server's values that a restart can't change."""
    return {name: value for name, value in server.items() if name in MADE_WITH}


def data_of(workload: Workload) -> tuple[object, ...]:
    """What tells one set of loaded data from another, whatever the block size."""
    return tuple(str(getattr(workload, name)) for name in DATA_PARAMETERS)


@dataclass(frozen=True)
class Step:
    """A point with what must happen before it: a server made, a server restarted or brought back, data loaded."""

    point: SweepPoint
    workload: Workload
    made: bool
    restarted: bool
    loaded: bool

    @property
    def preparation_s(self) -> float:
        """Time of it, in seconds."""
        load_s = 2 * RESTART_S + data_bytes(self.workload) / LOAD_BYTES_PER_S if self.loaded else 0.0
        return (MAKE_S if self.made else RESTART_S if self.restarted else 0.0) + load_s


def steps(record: SweepRecord) -> list[Step]:
    """The points that are pending in their order, with what each needs; what there is now is not looked at."""
    found: list[Step] = []
    for point in record.pending:
        before, workload = found[-1] if found else None, workload_of(record, point)
        other = before is None or made_with(point.server) != made_with(before.point.server)
        restarted = before is None or point.server != before.point.server
        loaded = other or before is None or data_of(workload) != data_of(before.workload)
        found.append(Step(point, workload, other and bool(made_with(point.server)), restarted, loaded))
    return found


def with_estimates(record: SweepRecord) -> SweepRecord:
    """The record with the time of every point, of them all and, for the worst moment, the disk space in bytes.

    UsageError when a point's values do not go together.
    """
    planned = steps(record)
    estimated = [
        step.point.model_copy(update={"estimated_s": run_seconds(record, step.workload) + step.preparation_s})
        for step in planned
    ]
    total, disk = sum(point.estimated_s for point in estimated), disk_bytes(record, [s.workload for s in planned])
    return record.with_points(estimated).model_copy(update={"estimated_s": total, "estimated_bytes": disk})


def run_seconds(record: SweepRecord, workload: Workload) -> float:
    """Time of a run: the sessions' own loads, the longest warm-up and window that are allowed, what goes with them."""
    warmup_s, load_s = max(workload.warmup, record.steady_limit_s or 0), private_bytes(workload) / LOAD_BYTES_PER_S
    return load_s + warmup_s + workload.run_time + POINT_OVERHEAD_S


def data_bytes(workload: Workload) -> int:
    """Bytes of a workload's tables."""
    spec = workload.data(ASSUMED_BLOCK_BYTES)
    return spec.schemas * (spec.scale_blocks + spec.scan_blocks) * ASSUMED_BLOCK_BYTES


def private_bytes(workload: Workload) -> int:
    """Bytes of the tables that sessions load for themselves for a run."""
    return workload.private_blocks(ASSUMED_BLOCK_BYTES) * ASSUMED_BLOCK_BYTES


def disk_bytes(record: SweepRecord, workloads: Sequence[Workload]) -> float:
    """The largest data at any moment, as much again for the log of loading them, and the records of all runs.

    Tables that sessions load for themselves for a run have no log.
    """
    each_run, per_second, per_session_second = RECORD_BYTES
    records = sum(
        each_run + run_seconds(record, each) * (per_second + per_session_second * each.total_sessions)
        for each in workloads
    )
    return max((2 * data_bytes(each) + private_bytes(each) for each in workloads), default=0) + records


def seconds_left(record: SweepRecord, done_s: float, spent_s: float) -> float:
    """Time for what is pending, by the estimates scaled as the points so far were slower or faster than theirs.

    ``spent_s`` is what points estimated at ``done_s`` together took; 0 for both when none is done yet.
    """
    estimated = sum(point.estimated_s for point in record.pending)
    return estimated * (spent_s / done_s if done_s else 1)


def notices(record: SweepRecord) -> list[str]:
    """What about the plan a user should know before it runs."""
    return [*_idle_schemas(record), *_unequal_data(record)]


def _idle_schemas(record: SweepRecord) -> list[str]:
    few = [w for w in (workload_of(record, point) for point in record.points) if w.total_sessions < w.schemas]
    if not few:
        return []
    least = min(few, key=lambda workload: workload.total_sessions)
    return [
        f"points with fewer sessions than schemas visit only part of the data (the least: {least.total_sessions} of "
        f"{least.schemas} schemas), so their share of cache hits is another; --schemas 1 keeps it equal"
    ]


def _unequal_data(record: SweepRecord) -> list[str]:
    sizes = record.server_grid.get("block_size", ())
    if len(sizes) < 2 or all(workload_of(record, point).scale.in_bytes for point in record.points):
        return []
    return ["SCALE is a number of blocks, so the data grow with the block size; a size such as 1G keeps them equal"]
