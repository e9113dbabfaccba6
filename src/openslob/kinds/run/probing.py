"""A probe right after a window: some sessions rest by turns, which tells a cap from requests that take longer.

Under a cap on the rate, fewer sessions do as much as all of them, and each waits less. Where each request takes its
time, the rate is in proportion to the sessions. Sessions that commit share syncs of the log, so that their rate follows
their number under a cap, too. But a single commit after a pause is quick under a cap, and slow where each sync takes
its time: so one session alone does single operations at the end. Nothing of a probe is in any figure: the window is
over, and all of its counters were read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from openslob.core.units import NANOS
from openslob.core.workload import Workload
from openslob.kinds.run.plan import Phase
from openslob.kinds.run.session_pool import Message
from openslob.kinds.run.worker import SliceDone
from openslob.record.raw_csv import ProbePart

# In the first part all sessions work, so that what a bucket saved since the window is spent; then some rest in every
# other part. A part is so long, or as long as so many operations.
PARTS = 5
PART_S, MOST_PART_S = 3.0, 10.0
OPERATIONS = 6
# What is left out of each part, for the operations that were begun before it.
SETTLING = 1 / 3
# One of so many sessions rests: fewer could not reach a cap that is not far below what all of them do without one.
RESTS = 4
# So many single operations are made, each after a pause of so long, in s, in which a limit is not used.
SINGLES, PAUSE_S = 12, 0.25


def part_seconds(mean_op_s: float) -> float:
    """Return the length of a part, for operations that take so long."""
    return min(max(PART_S, OPERATIONS * mean_op_s), MOST_PART_S)


def can_probe(load: Workload) -> bool:
    """Return whether a load can be probed: its rate is what its sessions can do, and they are several, and alike."""
    return load.total_sessions > 1 and not (load.is_paced or load.thinks or load.work_loop or load.classes)


def rests(session: int, sessions: int) -> bool:
    """Return whether a session is one of those that rest: one of `RESTS`, at least one of all."""
    return session % RESTS == RESTS - 1 if sessions >= RESTS else session == sessions - 1


@dataclass
class ProbePhase(Phase):
    """A phase of parts, of ``part_ns`` each, in every second of which some sessions have no slice."""

    part_ns: int = 0

    @classmethod
    def beginning_at(cls, begin_ns: int, part_s: float) -> ProbePhase:
        """Return the phase of a probe whose parts take so long."""
        part_ns = int(part_s * NANOS)
        return cls("probe", begin_ns, begin_ns + PARTS * part_ns, part_ns=part_ns)

    def slices(self, session: int, sessions: int) -> Iterator[tuple[int, int]]:
        """Yield begin and end of the slices of one session, without those in which it rests."""
        for part in range(PARTS):
            if part % 2 and rests(session, sessions):
                continue
            begin_ns = self.begin_ns + part * self.part_ns
            for until_ns in Phase(self.name, begin_ns, begin_ns + self.part_ns).boundaries(session, sessions):
                yield begin_ns, until_ns


@dataclass
class SinglePhase(Phase):
    """A phase in which the first session does one operation, and all others rest."""

    @classmethod
    def after(cls, now_ns: int) -> SinglePhase:
        """Return the phase that begins a pause later; an operation may end after it."""
        begin_ns = now_ns + int(PAUSE_S * NANOS)
        return cls("probe", begin_ns, begin_ns + NANOS, max_ops=1)

    def slices(self, session: int, sessions: int) -> Iterator[tuple[int, int]]:
        """Yield begin and end of the only slice of the first session."""
        return super().slices(session, sessions) if session == 0 else iter(())


@dataclass
class SingleCounts:
    """Collects single operations."""

    sessions: int
    _took_ns: list[int] = field(default_factory=list)

    def handle(self, message: Message) -> None:
        """Take a message of a session."""
        if isinstance(message, SliceDone) and message.result.counts.ops == 1:
            self._took_ns.append(message.result.end_ns - message.result.start_ns)

    def parts(self) -> Sequence[ProbePart]:
        """Return what was done, each operation as long as the middle one took; nothing without any."""
        count = len(self._took_ns)
        took_s = max(median(self._took_ns), 1000) / NANOS if count else 0.0
        return [ProbePart(1, self.sessions, took_s * count, count, alone=True)] if count else []


@dataclass
class ProbeCounts:
    """Collects what sessions did in a probe."""

    phase: ProbePhase
    sessions: int
    _done: list[tuple[int, int, int]] = field(default_factory=list)

    def handle(self, message: Message) -> None:
        """Take a message of a session."""
        if isinstance(message, SliceDone):
            result = message.result
            self._done.append((result.start_ns, result.end_ns, result.counts.ops))

    def parts(self) -> Sequence[ProbePart]:
        """Return what was done in each part but the first, by its later two thirds."""
        active = sum(not rests(session, self.sessions) for session in range(self.sessions))
        found = []
        for part in range(1, PARTS):
            end_ns = self.phase.begin_ns + (part + 1) * self.phase.part_ns
            begin_ns = end_ns - int((1 - SETTLING) * self.phase.part_ns)
            ops = sum(
                ops * max(0, min(end, end_ns) - max(begin, begin_ns)) / (end - begin)
                for begin, end, ops in self._done
                if end > begin
            )
            at_work = active if part % 2 else self.sessions
            found.append(ProbePart(at_work, self.sessions, (end_ns - begin_ns) / NANOS, ops))
        return found
