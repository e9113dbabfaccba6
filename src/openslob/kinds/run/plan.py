"""From a workload to sessions and slices: each session's schema and key range, and the ends of its slices."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from openslob.core.method import phases_of
from openslob.core.rate_schedule import RateSteps
from openslob.core.units import MIB, NANOS
from openslob.core.workload import LoadPart, Pacing, Workload, slice_seconds
from openslob.engines.base import SessionPlan
from openslob.engines.facts import InstanceFacts, place_sessions
from openslob.engines.settings import SettingChange

# A remainder shorter than this is added to the slice before it.
SHORTEST_SLICE = 0.3
LEAD_S = 0.06
LEAD_PER_SESSION_S = 0.003


def lead_seconds(sessions: int) -> float:
    """Return the time from sending the first slices to the window: by then every session must wait in the server."""
    return LEAD_S + LEAD_PER_SESSION_S * sessions


def session_plans(
    workload: Workload,
    block_size: int,
    run_tag: str,
    settings: Sequence[SettingChange] = (),
    instances: Sequence[InstanceFacts] = (),
) -> list[SessionPlan]:
    """Return the plan of each session; sessions go round-robin over the schemas.

    ``run_tag`` is unique to the run. ``settings`` are those of the server that the run is made with. On a cluster,
    sessions go round-robin over its ``instances``, those of a class over the ones of its role.
    """
    crowd = workload.total_sessions if workload.classes else None
    plans = [
        plan for part in workload.parts for plan in _plans_of_part(part, crowd, block_size, run_tag, tuple(settings))
    ]
    if not instances:
        return plans
    placed = place_sessions(workload, instances)
    return [replace(plan, instance=number) for plan, number in zip(plans, placed, strict=True)]


def _plans_of_part(
    part: LoadPart, crowd: int | None, block_size: int, run_tag: str, settings: Sequence[SettingChange]
) -> Iterator[SessionPlan]:
    workload = part.workload
    # Where the rate changes, slices have intervals of their own; before the window it is the first one.
    schedule = workload.rate_schedule
    wanted = schedule.stages[0].first if schedule else workload.ops_per_s_wanted(block_size)
    for number in part.numbers:
        yield SessionPlan(
            number=number,
            schema=1 + number % workload.schemas,
            scale=workload.scale.blocks(block_size),
            block_size=block_size,
            workload=workload,
            phases=phases_of(
                workload.seed,
                number,
                workload.hotspot_frequency if workload.has_hotspot else 0,
                workload.hot_schema_frequency,
                workload.think_tm_frequency,
            ),
            hotspot=_hotspot(workload, block_size),
            tag=f"{run_tag}.{number}",
            interval_us=None if wanted is None else workload.total_sessions / wanted * 1e6,
            settings=settings,
            of_class=part.name,
            part=part.number,
            first=part.first,
            crowd=crowd,
        )


def _hotspot(workload: Workload, block_size: int) -> tuple[int, int] | None:
    if not workload.has_hotspot:
        return None
    first_block = int(workload.hotspot_offset_mb * MIB) // block_size
    return first_block + 1, int(workload.hotspot_mb * MIB) // block_size


def first_due_ns(plan: SessionPlan, phase: Phase) -> int | None:
    """Return when a session's first operation of a phase is due; None when no rate is given.

    With uniform pacing the first due times of all sessions of a class are spread evenly over one interval. With Poisson
    pacing each session begins after an exponentially distributed interval, so that all of them together are a Poisson
    process too.
    """
    if plan.interval_us is None:
        return None
    load = plan.workload
    if load.pacing is Pacing.POISSON:
        intervals = random.Random(f"{load.seed}/{plan.number}/{phase.name}/due").expovariate(1)
    else:
        intervals = (plan.number - plan.first) / load.total_sessions
    return phase.begin_ns + round(intervals * plan.interval_us * 1000)


@dataclass(frozen=True)
class Pacer:
    """Gives the slices of a session their rates where the rate changes: a slice has the rate of one step of it.

    ``begin_ns`` is that of the window, by the server's clock; ``sessions`` share the rate.
    """

    steps: RateSteps
    begin_ns: int
    sessions: int

    def limits(self, due_ns: int) -> tuple[float, float]:
        """Return the interval of a slice whose first operation is due then, and how long its rate is that; in µs."""
        rate, end_ns = self.steps.at(due_ns - self.begin_ns)
        return self.sessions / rate * 1e6, (self.begin_ns + end_ns - due_ns) / 1000

    def carry(self, due_ns: int, next_ns: int) -> tuple[int, bool]:
        """Return when the operation after a slice is due, and whether that is at another rate.

        The slice began with one due at ``due_ns``; at its rate the next one would be due at ``next_ns``. What of that
        lies beyond the slice's step is a number of operations at its rate, and takes its time at the next step's.
        """
        rate, end_ns = self.steps.at(due_ns - self.begin_ns)
        beyond_ns = next_ns - self.begin_ns - end_ns
        if beyond_ns < 0:
            return next_ns, False
        return self.begin_ns + self.steps.when(self.steps.due(end_ns) + beyond_ns / NANOS * rate), True

    def ops_between(self, begin_ns: int, end_ns: int) -> float:
        """Return how many operations of one session are due between two moments."""
        return (self.steps.due(end_ns - self.begin_ns) - self.steps.due(begin_ns - self.begin_ns)) / self.sessions


def pacer_of(load: Workload, begin_ns: int) -> Pacer | None:
    """Return what gives sessions their rates in the window that begins then; None for a rate that does not change."""
    steps = load.rate_steps
    return None if steps is None else Pacer(steps, begin_ns, load.total_sessions)


def between_slices_s(sessions: int) -> float:
    """Return how long before a full second a reading lies halfway between two ends of slices, which are staggered.

    At the end of a slice, chance would decide whether a reading includes that slice.
    """
    return slice_seconds(sessions) / sessions / 2


@dataclass
class Phase:
    """A stretch of load common to all sessions, on the server's clock. ``max_ops`` is per session, 0 for no limit.

    Its end can be moved to an earlier time while it runs: a session reads it each time it begins a slice.
    """

    name: str
    begin_ns: int
    end_ns: int
    max_ops: int = 0

    def boundaries(self, session: int, sessions: int) -> Iterator[int]:
        """Yield the ends of one session's slices, staggered so that not all sessions pause at the same moment."""
        length = int(slice_seconds(sessions) * NANOS)
        offset = length * (session + 1) // sessions
        at, last = self.begin_ns + offset, self.begin_ns
        while at < self.end_ns - SHORTEST_SLICE * length:
            if at > self.begin_ns + SHORTEST_SLICE * length:
                yield at
                last = at
            at += length
        if self.end_ns - last > (1 + SHORTEST_SLICE) * length:
            # Both ends of a short phase were too near to the only end of a slice within it.
            yield (last + self.end_ns) // 2
        yield self.end_ns

    def slices(self, session: int, sessions: int) -> Iterator[tuple[int, int]]:
        """Yield from when on and until when each slice of one session may run."""
        return ((self.begin_ns, until_ns) for until_ns in self.boundaries(session, sessions))

    def end_soon(self, last_end_ns: int, sessions: int) -> None:
        """End the phase as soon as all sessions can end together; ``last_end_ns`` is the latest end of a slice."""
        # A slice lasts one length, or up to SHORTEST_SLICE more when a remainder was added to it.
        longest = int((1 + SHORTEST_SLICE) * slice_seconds(sessions) * NANOS)
        self.end_ns = min(self.end_ns, last_end_ns + longest)
