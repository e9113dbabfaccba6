"""The end of a phase: when it is overdue, and the steps in which sessions that go on are ended.

Sessions are asked, then cancelled, then cut off, and in the end left. A server that works ends them at the first step
or the second. One that hangs ends none of them, and must not keep the run from ending.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from openslob.core.units import NANOS
from openslob.core.workload import slice_seconds
from openslob.kinds.run.crew import Member
from openslob.kinds.run.plan import SHORTEST_SLICE, Phase

# How long a session may take to end after a stop (an operation may wait for a lock), before its statement is cancelled.
PATIENCE_S = 10.0
# The same in a run that is overdue: it has waited long enough.
LATE_PATIENCE_S = 2.0
# How long a cancelled statement may take to end, before the connection is cut; and how long a thread whose connection
# was cut may take to notice.
CUT_AFTER_S = 2.0
LEAVE_AFTER_S = 1.0
# How long it may take to ask the server to cancel, which takes a connection for each session.
ASK_S = 5.0
# How long after its planned end a phase is overdue. The last operation of a session begins before the end; storage that
# fails over answers within half a minute, and what takes longer waits for something else.
GRACE_S = 30.0


def cancel(members: Sequence[Member]) -> None:
    """Cancel what these sessions do; cut all of them off once the server takes no request, or is too slow with them."""
    deadline = time.monotonic() + ASK_S
    if not all(time.monotonic() < deadline and member.cancel() for member in members):
        cut(members)


def cut(members: Sequence[Member]) -> None:
    """Cut these sessions off."""
    for member in members:
        member.cut()


class Ending:
    """The ending of the sessions that still run; ``ask`` sets the stop signal.

    ``cancelled`` is true from the second step on: sessions are then lost by our own doing. ``left`` is true at the end.
    """

    def __init__(self, ask: Callable[[], None]) -> None:
        self._ask = ask
        self._asked_at: float | None = None
        self._cancelled_at: float | None = None
        self.left = False

    @property
    def cancelled(self) -> bool:
        """Whether the sessions were cancelled."""
        return self._cancelled_at is not None

    @property
    def asked_for_s(self) -> float:
        """How long before they were cancelled, or until now, the sessions were asked to end."""
        until = self._cancelled_at or time.monotonic()
        return 0.0 if self._asked_at is None else until - self._asked_at

    def go_on(self, running: Sequence[Member], patience_s: float, silent: Callable[[], bool]) -> None:
        """Take the next step, if it is time; sessions have ``patience_s`` between the first and the second.

        Once the server is ``silent``, they are cut off without asking.
        """
        if self._asked_at is None:
            self._asked_at = time.monotonic()
            self._ask()
        if self._cancelled_at is None:
            if silent() or time.monotonic() - self._asked_at >= patience_s:
                (cut if silent() else cancel)(running)
                self._cancelled_at = time.monotonic()
            return
        since_s = time.monotonic() - self._cancelled_at
        if since_s > CUT_AFTER_S:
            cut(running)
        self.left = since_s > CUT_AFTER_S + LEAVE_AFTER_S


class Deadline:
    """When a phase is overdue, by this host's monotonic clock: the clocks that slices end by may be set meanwhile.

    A phase that ends by its number of operations has no planned end: it is overdue when no session makes progress.
    """

    def __init__(self, phase: Phase, clock_offset_ns: int, sessions: int) -> None:
        self._phase = phase
        self._begun_at = self._heard_at = time.monotonic()
        self._begun_ns = time.time_ns() + clock_offset_ns
        self._has_begun = False
        self._longest_slice_s = (1 + SHORTEST_SLICE) * slice_seconds(sessions)

    def heard(self) -> None:
        """Note that a session made progress."""
        self._heard_at = time.monotonic()

    def left_s(self) -> float:
        """Return how many seconds are left; less than 0 when the phase is overdue."""
        end_at = self._begun_at + (self._phase.end_ns - self._begun_ns) / NANOS
        if self._phase.max_ops:
            end_at = min(end_at, max(self._heard_at, self._begins_at()) + self._longest_slice_s)
        return end_at + GRACE_S - time.monotonic()

    def late_s(self) -> float:
        """Return how long ago the phase should have ended."""
        return GRACE_S - self.left_s()

    def begins_now(self) -> bool:
        """Return once, the first time that it is asked after the phase has begun, whether it has."""
        is_new = not self._has_begun and self.begins_in_s() <= 0
        self._has_begun = self._has_begun or is_new
        return is_new

    def begins_in_s(self) -> float:
        """Return how long it is until the phase begins; less than 0 once it has begun."""
        return self._begins_at() - time.monotonic()

    def _begins_at(self) -> float:
        return self._begun_at + (self._phase.begin_ns - self._begun_ns) / NANOS

    def complaint(self, missing: int, sessions: int) -> str:
        """Return what is wrong when the phase is overdue."""
        if self._phase.max_ops:
            return f"{missing} of {sessions} sessions made no progress for {GRACE_S:.0f} s"
        return f"{missing} of {sessions} sessions did not end within {GRACE_S:.0f} s of the planned end"
