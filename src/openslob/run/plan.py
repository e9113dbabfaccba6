"""From a workload to sessions and slices: who works on which schema, from where to where, in which steps."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from openslob.engines.base import SessionPlan
from openslob.method import phases_of
from openslob.units import MIB, NANOS
from openslob.workload import Pacing, Workload

SLICE_S = 1.0
# The driver's work is per slice, about half a millisecond of CPU. So many slices a second keep it below 1 % of a CPU.
SLICES_PER_S = 8
# A remainder shorter than this is added to the slice before it.
SHORTEST_SLICE = 0.3


def session_plans(workload: Workload, block_size: int, run_tag: str) -> list[SessionPlan]:
    """One plan a session; sessions go round-robin over the schemas. ``run_tag`` is unique to the run."""
    scale = workload.scale.blocks(block_size)
    wanted = workload.ops_per_s_wanted(block_size)
    return [
        SessionPlan(
            number=number,
            schema=1 + number % workload.schemas,
            scale=scale,
            block_size=block_size,
            workload=workload,
            phases=phases_of(
                workload.seed,
                number,
                workload.hotspot_frequency if workload.do_hotspot else 0,
                workload.hot_schema_frequency,
                workload.think_tm_frequency,
            ),
            hotspot=_hotspot(workload, block_size),
            tag=f"{run_tag}.{number}",
            interval_us=None if wanted is None else workload.total_sessions / wanted * 1e6,
        )
        for number in range(workload.total_sessions)
    ]


def _hotspot(workload: Workload, block_size: int) -> tuple[int, int] | None:
    if not workload.do_hotspot:
        return None
    first_block = int(workload.hotspot_offset_mb * MIB) // block_size
    return first_block + 1, int(workload.hotspot_mb * MIB) // block_size


def first_due_ns(plan: SessionPlan, phase: Phase) -> int | None:
    """When a session's first operation of a phase is due; None when no rate is given.

    At even intervals sessions follow each other, so that due times are even over all of them. Otherwise each begins
    after an interval of chance, as at any moment of a Poisson process, so that all together are one as well.
    """
    if plan.interval_us is None:
        return None
    load = plan.workload
    if load.pacing is Pacing.POISSON:
        intervals = random.Random(f"{load.seed}/{plan.number}/{phase.name}/due").expovariate(1)
    else:
        intervals = plan.number / load.total_sessions
    return phase.begin_ns + round(intervals * plan.interval_us * 1000)


def slice_seconds(sessions: int) -> float:
    """Length of a slice: a second, longer when very many sessions would keep the driver busy."""
    return max(SLICE_S, sessions / SLICES_PER_S)


def between_slices_s(sessions: int) -> float:
    """How long before a full second readings lie in the middle between ends of slices, which are staggered.

    Beside one, a reading would hold what that slice did or not, by chance.
    """
    return slice_seconds(sessions) / sessions / 2


@dataclass
class Phase:
    """A stretch of load common to all sessions, on the server's clock. ``max_ops`` is per session, 0 for no limit.

    Its end can be moved forward while it runs: a session looks at it each time it begins a slice.
    """

    name: str
    begin_ns: int
    end_ns: int
    max_ops: int = 0

    def boundaries(self, session: int, sessions: int) -> Iterator[int]:
        """Ends of one session's slices. They are staggered, so that sessions do not pause all at the same moment."""
        length = int(slice_seconds(sessions) * NANOS)
        offset = length * (session + 1) // sessions
        at = self.begin_ns + offset
        while at < self.end_ns - SHORTEST_SLICE * length:
            if at > self.begin_ns + SHORTEST_SLICE * length:
                yield at
            at += length
        yield self.end_ns

    def end_soon(self, last_end_ns: int, sessions: int) -> None:
        """End as soon as all sessions can end together; ``last_end_ns`` is the latest end of a slice so far."""
        # A slice under way ends one length after the one before, or one and a shortest when it took in a remainder.
        longest = int((1 + SHORTEST_SLICE) * slice_seconds(sessions) * NANOS)
        self.end_ns = min(self.end_ns, last_end_ns + longest)
