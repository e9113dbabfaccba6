"""A session as a thread: connects, prepares, then runs the phases it is given in slices and reports each slice."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from threading import Semaphore, Thread

from openslob.core.errors import SlobError, of_the_system
from openslob.core.workload import BlockPath
from openslob.engines.base import Engine, Session, SessionPlan, SliceRequest, SliceResult
from openslob.kinds.run.plan import Pacer, Phase, first_due_ns, pacer_of
from openslob.kinds.run.progress import WINDOW

# So many sessions of a crew connect at the same time. A server's queue of new connections may not take a thousand, and
# those that did not begin need not be ended when the run is stopped.
CONNECT_AT_ONCE = 32
# Open files: for each session its connection and what is read of its process, and for everything else.
FILES_A_SESSION = 4
MORE_FILES = 256
# A thread that got the interpreter keeps it for a millisecond or two, until it waits for the server again.
ASK_AFTER_S_A_SESSION = 1e-4


def allow_files(sessions: int) -> None:
    """Let this process open the files of so many sessions, up to the limit that it may give itself.

    Shells give 1,024 as a rule. Where that is the most, the system's error says what to do.
    """
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = MORE_FILES + FILES_A_SESSION * sessions
    if most != resource.RLIM_INFINITY:
        needed = min(needed, most)
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, most))


def wait_longer_for_python(sessions: int) -> float:
    """Let threads that wait for the interpreter ask for it less often, for so many; return the interval before, in s.

    The slices of a phase end together. When hundreds of threads then wait for each other, the driver would spend most
    of its CPU on asking: 1,000 threads at Python's 5 ms ask 200,000 times a second.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(max(before, ASK_AFTER_S_A_SESSION * sessions))
    return before


@dataclass(frozen=True)
class Loading:
    """The session has written more ``blocks`` of its own copy of the data."""

    session: int
    blocks: int


@dataclass(frozen=True)
class Ready:
    """The session is connected and prepared.

    ``settings`` are filled in by session 0 only, and ``plans`` by the first session, or the first of each class.
    ``instance`` is the one that it landed on, if it reports that.
    """

    session: int
    backend: int
    plans: dict[str, str]
    instance: str | None
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SliceDone:
    """One slice of a phase was run; ``first_op`` is the number of its first operation."""

    session: int
    number: int
    first_op: int
    result: SliceResult


@dataclass(frozen=True)
class PhaseDone:
    """The session has reached the end of a phase, or was stopped.

    ``ended_ns`` is when it had the server's last answer, by the monotonic clock; None if that is another host's.
    """

    session: int
    ended_ns: int | None


@dataclass(frozen=True)
class Lost:
    """The session is gone; it reports nothing more."""

    session: int
    why: str


Report = Loading | Ready | SliceDone | PhaseDone | Lost


class Worker(Thread):
    """Runs one session. It exchanges messages with the runner through two queues; ``stopping`` says when to end.

    ``gate`` is common to the sessions of a crew; those that connect or prepare pass through it.
    """

    def __init__(
        self,
        engine: Engine,
        plan: SessionPlan,
        report: Callable[[Report], None],
        stopping: Callable[[], bool],
        gate: Semaphore | None = None,
    ) -> None:
        super().__init__(name=f"session-{plan.number}", daemon=True)
        self._engine = engine
        self._plan = plan
        self._report = report
        self._stopping = stopping
        self._gate = gate or Semaphore()
        self._phases: SimpleQueue[Phase | None] = SimpleQueue()
        self._session: Session | None = None
        self._next_op = 0

    @property
    def number(self) -> int:
        """The session's number, from 0."""
        return self._plan.number

    def give(self, phase: Phase | None) -> None:
        """Queue the next phase to run; None ends the session."""
        self._phases.put(phase)

    def cancel(self) -> bool:
        """Cancel the slice that is running; return whether the server took the request."""
        return self._session is None or self._session.cancel()

    def cut(self) -> None:
        """Break the connection off: a slice that is running fails."""
        if self._session is not None:
            self._session.cut()

    def run(self) -> None:
        """Connect, run the phases that are given, and close."""
        try:
            with self._gate:
                if self._stopping():
                    return
                self._session = self._engine.open_session(self._plan)
            if not self._stopping():
                self._serve(self._session)
        except SlobError as error:
            self._report(Lost(self.number, str(error)))
        except (OSError, MemoryError) as error:
            self._report(Lost(self.number, f"session {self.number} was lost: {of_the_system(error)}"))
        except BaseException as error:
            # A defect: the run must not wait for a thread that has ended, and the traceback must be shown.
            self._report(Lost(self.number, f"session {self.number} was lost: {error!r}"))
            raise
        finally:
            if self._session is not None:
                self._session.close()

    def _serve(self, session: Session) -> None:
        if self._plan.workload.block_path is BlockPath.LOCAL:
            session.load_private_tables(self._wrote)
        with self._gate:
            if self._stopping():
                return
            session.prepare()
        plans = dict(session.plans()) if self.number == self._plan.first else {}
        settings = dict(session.settings()) if self._plan.settings else {}
        known = settings if self.number == 0 else {}
        self._report(Ready(self.number, session.backend_id(), plans, session.instance(), known))
        while (phase := self._phases.get()) is not None:
            self._run_phase(session, phase)
            self._report(PhaseDone(self.number, time.monotonic_ns()))

    def _wrote(self, blocks: int) -> None:
        if self._stopping():
            raise SlobError("stopped while it loaded its own tables")
        self._report(Loading(self.number, blocks))

    def _run_phase(self, session: Session, phase: Phase) -> None:
        last_op = self._next_op + phase.max_ops if phase.max_ops else 0
        due_ns = first_due_ns(self._plan, phase)
        pacer = pacer_of(self._plan.workload, phase.begin_ns) if phase.name == WINDOW else None
        if pacer and due_ns is not None:
            due_ns, _ = pacer.carry(phase.begin_ns, due_ns)
        number = 0
        for begin_ns, until_ns in phase.slices(self.number, self._plan.of_all):
            again = True
            while again:
                if self._stopping() or (last_op and self._next_op >= last_op):
                    return
                remaining = last_op - self._next_op if last_op else 0
                order = SliceRequest(self._next_op, begin_ns, until_ns, remaining, due_ns)
                result, again = _run_slice(session, order, pacer)
                self._report(SliceDone(self.number, number, self._next_op, result))
                self._next_op += result.counts.ops
                due_ns = result.due_ns
                number += 1


def _run_slice(session: Session, order: SliceRequest, pacer: Pacer | None) -> tuple[SliceResult, bool]:
    """Run a slice; return its result, and whether it ended early because the next operation is due at another rate."""
    if pacer is None or order.due_ns is None:
        return session.run_slice(order), False
    interval_us, for_us = pacer.limits(order.due_ns)
    result = session.run_slice(replace(order, interval_us=interval_us, due_for_us=for_us))
    due_ns, is_next = pacer.carry(order.due_ns, order.due_ns if result.due_ns is None else result.due_ns)
    return replace(result, due_ns=due_ns), is_next and result.end_ns < order.until_ns
