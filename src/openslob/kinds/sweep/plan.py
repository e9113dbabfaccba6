"""The plan of a sweep: its points in the order to run them, with estimates of time and disk space.

The order needs few restarts and loads: a server is restarted, and data are loaded, before a whole block of points.
Inside a block every repeat is a round through all points in an order of its own (a randomised block design). Whatever
changes slowly meanwhile, such as a filling disk or a warming host, then affects all points and not only the last ones.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import ValidationError

from openslob.config.server_parameters import MADE_WITH
from openslob.core.errors import UsageError
from openslob.core.units import MIB
from openslob.core.workload import Workload
from openslob.engines.settings import Effect
from openslob.kinds.sweep.record import SweepPoint, SweepRecord
from openslob.kinds.sweep.time_left import PlannedPoint
from openslob.record.varied import Value, Values

Effects = Mapping[str, str]
_NONE: Effects = MappingProxyType({})
_T = TypeVar("_T")
# Of more, none would see the end, and the plan alone would fill the memory.
MOST_POINTS = 100_000
# Parameters that decide what is on disk (`Workload.data`).
DATA_PARAMETERS = ("schemas", "scale", "scan_table_sz", "obfuscate_columns", "compressible")

# Time of a point besides warm-up and window: checks, checkpoint, connecting, record; measured at 1 to 32 sessions.
POINT_OVERHEAD_S = 1.5
# A restart of a managed server, with its cache and files written back; a load restarts it twice.
RESTART_S = 3.0
MAKE_S = 8.0
# The rate of a load of incompressible rows on a small virtual machine with one disk; most hosts are faster.
LOAD_BYTES_PER_S = 60 * MIB
# The block size for sizes given in blocks as long as the engine's is not known.
ASSUMED_BLOCK_BYTES = 8192
# Raw files and record of a run: for each run, for each second, and for each second of a session; measured.
RECORD_BYTES = (60_000, 25_000, 150)


def points(
    grid: Mapping[str, Sequence[Value]],
    server_grid: Mapping[str, Sequence[Value]],
    repeats: int,
    seed: int,
    effects: Effects = _NONE,
    against: str | None = None,
) -> tuple[SweepPoint, ...]:
    """Return every combination ``repeats`` times, in the order to run them. The same seed gives the same order.

    Server settings change least often, those that need a server of their own least of all; then the data. The order of
    the data is reversed with each setting, so that the data of the last point before a restart are those of the first
    point after it. Settings that sessions set for themselves change like all other parameters, and so do those of
    `changes_in_rounds`, as slowly as possible within a round. ``effects`` and ``against`` are as in `SweepRecord`.
    UsageError for more than `MOST_POINTS`.
    """
    count = math.prod(len(values) for values in (*grid.values(), *server_grid.values())) * repeats
    if count > MOST_POINTS:
        raise UsageError(
            f"the sweep would have more than {MOST_POINTS:,} points", "give fewer values, or --repeats a lower number"
        )
    found: list[SweepPoint] = []
    free = {name: values for name, values in grid.items() if name not in DATA_PARAMETERS}
    free |= {name: values for name, values in server_grid.items() if effects.get(name) == Effect.SESSION}
    in_rounds = changes_in_rounds(server_grid, effects, repeats, against)
    for server, data, others, repeat in _rounds(grid, server_grid, free, repeats, seed, effects, in_rounds):
        for other in others:
            every = {**server, **data, **other}
            values, of_server = ({name: every[name] for name in names} for names in (grid, server_grid))
            found.append(SweepPoint(number=len(found) + 1, values=values, server=of_server, repeat=repeat))
    return tuple(found)


def changes_in_rounds(
    server_grid: Mapping[str, Sequence[Value]], effects: Effects, repeats: int, against: str | None
) -> bool:
    """Return whether what a server is restarted with changes within the rounds, and not after all of them.

    It does if a setting of the server's own varies, or values of its are compared: each round starts the server anyway,
    and a drift must not look like an effect.
    """
    varied = [name for name, values in keep_started_with(server_grid, effects).items() if len(values) > 1]
    return repeats > 1 and any(name in effects or name == against for name in varied)


def _rounds(
    grid: Mapping[str, Sequence[Value]],
    server_grid: Mapping[str, Sequence[Value]],
    free: Mapping[str, Sequence[Value]],
    repeats: int,
    seed: int,
    effects: Effects,
    in_rounds: bool,
) -> Iterator[tuple[Values, Values, Sequence[Values], int]]:
    """Yield the server, the data and the other values, in shuffled order, of all points of a round, and its number."""
    started = keep_started_with(server_grid, effects)
    made = keep_made_with(started, effects)
    rest = {name: values for name, values in started.items() if name not in made}
    servers = _combinations(made if in_rounds else {**made, **rest})
    restarts = _combinations(rest if in_rounds else {})
    data, at = _combinations({name: values for name, values in grid.items() if name in DATA_PARAMETERS}), 0
    for server in servers:
        for each in data:
            others = _combinations(free)
            for repeat in range(1, repeats + 1):
                order = random.Random(f"{seed}/{at}/{repeat}")
                if in_rounds:
                    order.shuffle(restarts)
                for restart in restarts:
                    order.shuffle(others)
                    yield {**server, **restart}, each, list(others), repeat
            at += 1
        data.reverse()


def _combinations(grid: Mapping[str, Sequence[Value]]) -> list[dict[str, Value]]:
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def sessions_at_most(record: SweepRecord) -> int:
    """Return the highest session count that any point of the sweep may have."""
    if record.search:
        return record.search.most_sessions
    return max(workload_of(record, point).total_sessions for point in record.points)


def workload_of(record: SweepRecord, point: SweepPoint) -> Workload:
    """Return the point's workload. UsageError when its values contradict each other.

    Each repeat has its own seed, so that it visits other blocks, unless the grid sets the seed.
    """
    seed: Mapping[str, Any] = {"seed": record.workload["seed"] + point.repeat - 1}
    try:
        return Workload.model_validate({**record.workload, **seed, **point.values})
    except ValidationError as error:
        why = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise UsageError(f"{point.label}: {why}", "leave this combination out of the grid") from None


def keep_made_with(server: Mapping[str, _T], effects: Effects = _NONE) -> dict[str, _T]:
    """Return the server values that a restart can't change."""
    fixed = {*MADE_WITH, *(name for name, effect in effects.items() if effect == Effect.NEW_SERVER)}
    return {name: value for name, value in server.items() if name in fixed}


def keep_started_with(server: Mapping[str, _T], effects: Effects) -> dict[str, _T]:
    """Return the server values that a server is started with: all but those that sessions set for themselves."""
    return {name: value for name, value in server.items() if effects.get(name) != Effect.SESSION}


def data_of(workload: Workload) -> tuple[object, ...]:
    """Return the parameters that identify a workload's data, whatever the block size."""
    return tuple(str(getattr(workload, name)) for name in DATA_PARAMETERS)


@dataclass(frozen=True)
class Step:
    """A point with its preparation: whether a server is created, restarted (or started again), and data are loaded."""

    point: SweepPoint
    workload: Workload
    made: bool
    restarted: bool
    loaded: bool

    @property
    def preparation_s(self) -> float:
        """The estimated time of the preparation, in seconds."""
        load_s = 2 * RESTART_S + data_bytes(self.workload) / LOAD_BYTES_PER_S if self.loaded else 0.0
        return (MAKE_S if self.made else RESTART_S if self.restarted else 0.0) + load_s


def has_data_of_first_point(record: SweepRecord, loaded: Mapping[str, str]) -> bool:
    """Return whether the first point finds its server and its data, if the target has the data of ``loaded``.

    ``loaded`` are the parameters of data by name; empty if nothing is loaded. A sweep of server settings starts its
    servers.
    """
    if keep_started_with(record.server_grid, record.effects) or not record.pending or not loaded:
        return False
    return data_of(Workload.model_validate(loaded)) == data_of(workload_of(record, record.pending[0]))


def steps(record: SweepRecord, *, is_ready: bool = False) -> list[Step]:
    """Return the pending points in their order, each with its preparation.

    A sweep that starts its servers starts them again for each repeat: runs of one start do not show how much starts
    differ, and so no difference between settings. The first point is assumed to need a server and data, unless both are
    ready for it.
    """
    planned: list[Step] = []
    for point in record.pending:
        before, workload = planned[-1] if planned else None, workload_of(record, point)
        made, started = keep_made_with(point.server, record.effects), keep_started_with(point.server, record.effects)
        other = before is None or made != keep_made_with(before.point.server, record.effects)
        restarted = (
            before is None
            or started != keep_started_with(before.point.server, record.effects)
            or (bool(started) and point.repeat != before.point.repeat)
        )
        loaded = other or before is None or data_of(workload) != data_of(before.workload)
        planned.append(Step(point, workload, other and bool(made), restarted, loaded))
    if is_ready and planned:
        planned[0] = replace(planned[0], made=False, restarted=False, loaded=False)
    return planned


def with_estimates(record: SweepRecord, *, is_ready: bool = False) -> SweepRecord:
    """Return the record with estimates: the time of every point and of the sweep, and its largest disk space in bytes.

    If the first point ``is_ready``, its server and its data are there, and take no time.

    UsageError when the values of a point contradict each other.
    """
    planned = steps(record, is_ready=is_ready)
    estimated = [
        step.point.model_copy(update={"estimated_s": run_seconds(record, step.workload) + step.preparation_s})
        for step in planned
    ]
    total, disk = sum(point.estimated_s for point in estimated), disk_bytes(record, [s.workload for s in planned])
    return record.with_points(estimated).model_copy(update={"estimated_s": total, "estimated_bytes": disk})


def run_seconds(record: SweepRecord, workload: Workload) -> float:
    """Return the estimated time of a run: private loads of the sessions, longest warm-up, window, and overhead."""
    warmup_s, load_s = max(workload.warmup, record.steady_limit_s or 0), private_bytes(workload) / LOAD_BYTES_PER_S
    return load_s + warmup_s + workload.run_time + POINT_OVERHEAD_S


def data_bytes(workload: Workload) -> int:
    """Return the bytes of a workload's tables."""
    spec = workload.data(ASSUMED_BLOCK_BYTES)
    return spec.schemas * (spec.scale_blocks + spec.scan_blocks) * ASSUMED_BLOCK_BYTES


def private_bytes(workload: Workload) -> int:
    """Return the bytes of the tables that sessions load for themselves before a run."""
    return workload.private_blocks(ASSUMED_BLOCK_BYTES) * ASSUMED_BLOCK_BYTES


def disk_bytes(record: SweepRecord, workloads: Sequence[Workload]) -> float:
    """Return the disk space in bytes: the largest data, as much again for the log of loading them, and all records.

    Tables that sessions load for themselves before a run are not logged.
    """
    each_run, per_second, per_session_second = RECORD_BYTES
    records = sum(
        each_run + run_seconds(record, each) * (per_second + per_session_second * each.total_sessions)
        for each in workloads
    )
    return max((2 * data_bytes(each) + private_bytes(each) for each in workloads), default=0) + records


def estimates(record: SweepRecord) -> dict[int, PlannedPoint]:
    """Return the estimates of the pending points by their numbers; none for a search, whose points are not known."""
    if record.search:
        return {}
    found = {}
    for step in steps(record):
        run_s = run_seconds(record, step.workload)
        load_s = max(step.workload.warmup, record.steady_limit_s or 0) + step.workload.run_time
        found[step.point.number] = PlannedPoint(step.preparation_s, run_s, load_s, step.loaded)
    return found


def notices(record: SweepRecord) -> list[str]:
    """Return the notices about the plan that a user should read before it runs."""
    return [*_idle_schemas(record), *_unequal_data(record)]


def _idle_schemas(record: SweepRecord) -> list[str]:
    few = [w for w in (workload_of(record, point) for point in record.points) if w.total_sessions < w.schemas]
    if not few:
        return []
    least = min(few, key=lambda workload: workload.total_sessions)
    return [
        f"points with fewer sessions than schemas visit only part of the data (the least: {least.total_sessions} of "
        f"{least.schemas} schemas), so their share of cache hits differs; --schemas 1 keeps it equal"
    ]


def _unequal_data(record: SweepRecord) -> list[str]:
    sizes = record.server_grid.get("block_size", ())
    if len(sizes) < 2 or all(workload_of(record, point).scale.in_bytes for point in record.points):
        return []
    return ["SCALE is a number of blocks, so the data grow with the block size; a size such as 1G keeps them equal"]
