"""All sessions of a run: connected together, sent through phases together, and ended together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event

from openslob.core.errors import SlobError
from openslob.core.units import MIB
from openslob.engines.base import Engine, Hold, SessionPlan
from openslob.engines.patience import NoAnswerError, Patience, StoppedError
from openslob.kinds.run.crew import Hire, Member
from openslob.kinds.run.ending import (
    CUT_AFTER_S,
    LATE_PATIENCE_S,
    LEAVE_AFTER_S,
    PATIENCE_S,
    Deadline,
    SessionEnding,
    cancel,
    cut,
)
from openslob.kinds.run.plan import Phase
from openslob.kinds.run.progress import Connecting
from openslob.kinds.run.samplers import SystemReading
from openslob.kinds.run.worker import Loading, Lost, PhaseDone, Ready, Report, SliceDone

# How often the runner's thread takes messages and samples the waits.
PULSE_S = 0.1
# Within this time before a phase's end messages are taken as soon as they come.
END_NEAR_NS = 300_000_000
CONNECT_PATIENCE_S = 60.0
# Some steps of a session's own load report no progress (index, statistics, checks) and read all of its blocks, with all
# sessions on one disk. Storage that is slower than this is not tested.
SLOWEST_LOAD_BYTES_PER_S = 10 * MIB

Message = Report | SystemReading


def ignore(*_anything: object) -> None:
    """Do nothing, as with a message of a phase that is not measured."""


class SessionPool:
    """The sessions and the one queue through which everything is reported to the runner's thread.

    ``hire`` makes the crew that has the sessions; ``folder`` is the record's. Set ``clock_offset_ns``, the server's
    clock minus this host's, before a phase is run.
    """

    def __init__(
        self, engine: Engine, plans: Sequence[SessionPlan], patience: Patience, hire: Hire, folder: Path
    ) -> None:
        self._queue: SimpleQueue[Message] = SimpleQueue()
        self._engine = engine
        self._patience = patience
        self._interrupt = patience.interrupt
        self._ending = Event()
        self._end = SessionEnding(self._tell_to_stop)
        # Whether the sessions did not end in time, and how late the end of the phase was when it was given up.
        self.overdue = False
        self._late_s = 0.0
        self.crew = hire(engine, plans, self._queue.put, self._stopping, folder)
        self._members = self.crew.members
        self._present: set[int] = set()
        self.errors: list[str] = []
        self.lost: set[int] = set()
        # The instance that each session landed on, for sessions that report it.
        self.instances: dict[int, str] = {}
        # The settings that the run is made with, as the server shows them to a session.
        self.settings: dict[str, str] = {}
        # Sessions whose last slice was cancelled at a stop: not an error, but what they did in it is not counted. How
        # long its last operation had then run at least, in s.
        self.unfinished_s: dict[int, float] = {}
        self.clock_offset_ns = 0
        # When the last session of a phase had ended, by the monotonic clock; None if that is not known.
        self.ended_ns: int | None = None
        # Whether the server was found not to answer.
        self.silent = False
        # The last thing that can fail: nobody else would close it.
        self._signal = engine.open_stop()

    def fail(self, why: str) -> None:
        """End the run, which failed for this reason."""
        if why not in self.errors:
            self.errors.append(why)
        self._ending.set()

    def watch(self, held: Hold) -> None:
        """End the run when its lock is lost: another one could begin beside it."""
        try:
            held.require()
        except SlobError as error:
            self.fail(str(error))

    def _stopping(self) -> bool:
        return self._ending.is_set() or self._interrupt.stop.is_set()

    def post(self, message: Message) -> None:
        """Put a message of a sampler into the runner's queue."""
        self._queue.put(message)

    def connect_all(self, shown: Connecting, private_bytes: int = 0) -> Mapping[str, str]:
        """Connect and prepare every session; return the plans. SlobError when one fails.

        Sessions with data of their own load ``private_bytes`` together.
        """
        self.crew.start()
        plans: dict[str, str] = {}
        patience_s = CONNECT_PATIENCE_S + len(self._members) / 10 + private_bytes / SLOWEST_LOAD_BYTES_PER_S
        heard_at = time.monotonic()
        while len(self._present) + len(self.errors) < len(self._members):
            for message in self._collect(PULSE_S, dawdle=False):
                heard_at = time.monotonic()
                if isinstance(message, Ready):
                    self._present.add(message.session)
                    plans.update(message.plans)
                    self.settings.update(message.settings)
                    if message.instance is not None:
                        self.instances[message.session] = message.instance
                elif isinstance(message, Loading):
                    shown.show_loaded(message.blocks)
                elif isinstance(message, Lost):
                    self.errors.append(message.why)
            shown.ready(len(self._present))
            if self._interrupt.requested or self.errors or time.monotonic() > heard_at + patience_s:
                break
        self._require_all()
        return plans

    def _require_all(self) -> None:
        missing = len(self._members) - len(self._present)
        if not missing:
            return
        if self._interrupt.requested:
            why = "stopped before the start"
        else:
            why = self.errors[0] if self.errors else self._obstacle() or "they were not ready in time"
        raise SlobError(f"{missing} of {len(self._members)} sessions could not be connected: {why}")

    def run_phase(
        self,
        phase: Phase,
        handle: Callable[[Message], None] = ignore,
        before: Callable[[], None] = ignore,
        pulse: Callable[[], None] = ignore,
    ) -> None:
        """Send all sessions through ``phase``, handing every message to ``handle``.

        ``before`` is called once all sessions wait for its begin, ``pulse`` every `PULSE_S` until its end.
        """
        running, ended = set(self._present), list[int | None]()
        deadline = Deadline(phase, self.clock_offset_ns, len(self._members))
        self._patience.allow(deadline.left_s())
        self.crew.give(phase, deadline.begins_in_s())
        before()
        next_pulse = time.monotonic()
        while running and not self._end.left:
            if time.monotonic() >= next_pulse:
                pulse()
                next_pulse = max(next_pulse + PULSE_S, time.monotonic())
            for message in self._collect(next_pulse - time.monotonic(), self._may_dawdle(phase)):
                if isinstance(message, PhaseDone | Lost):
                    running.discard(message.session)
                    ended.append(message.ended_ns if isinstance(message, PhaseDone) else None)
                if isinstance(message, Lost):
                    self._lose(message)
                else:
                    handle(message)
                if isinstance(message, SliceDone):
                    deadline.heard()
            self._patience.allow(deadline.left_s())
            if deadline.begins_now() and (late := self.crew.late()):
                self.fail(late)
            if running and deadline.left_s() < 0 and not self.overdue:
                self._late_s = deadline.late_s()
                self._give_up(deadline.complaint(len(running), len(self._members)), running)
            if self._stopping():
                self._end.go_on(self._those(running), self._patience_s(), lambda: self.silent)
        self._leave(running)
        known = [each_ns for each_ns in ended if each_ns is not None]
        self.ended_ns = max(known) if known and len(known) == len(ended) and not running else None

    def _may_dawdle(self, phase: Phase) -> bool:
        """Return whether messages may wait for the next pulse: not near a phase's end, which matters at once."""
        server_ns = time.time_ns() + self.clock_offset_ns
        return not (phase.max_ops or self._stopping()) and server_ns < phase.end_ns - END_NEAR_NS

    def _collect(self, timeout_s: float, dawdle: bool) -> Iterator[Message]:
        """Yield the messages in the queue: as soon as there is one, or with ``dawdle`` only after ``timeout_s``.

        Waking up for each message would be a large part of the driver's CPU.
        """
        if dawdle:
            time.sleep(max(0.0, timeout_s))
        try:
            yield self._queue.get(timeout=max(0.0, timeout_s) if not dawdle else 0)
            while True:
                yield self._queue.get_nowait()
        except Empty:
            return

    def _lose(self, lost: Lost) -> None:
        # Fewer sessions than asked for would measure something else: the run ends with the first one lost.
        self._present.discard(lost.session)
        if self._end.cancelled or self.silent:
            self.unfinished_s[lost.session] = self._ran_on_s
        else:
            self.errors.append(lost.why)
            self.lost.add(lost.session)
        self._ending.set()

    @property
    def _ran_on_s(self) -> float:
        """How long an operation has run at least that did not end.

        A session begins no operation after a stop but one that it was about to begin, and none after the planned end.
        """
        return self._end.asked_for_s + self._late_s

    def _leave(self, running: set[int]) -> None:
        """Go on without sessions that did not end even when their connections were cut."""
        self.unfinished_s.update(dict.fromkeys(running, self._ran_on_s))
        self._present -= running

    def _those(self, numbers: set[int]) -> list[Member]:
        return [member for member in self._members if member.number in numbers]

    def _patience_s(self) -> float:
        """Return how long sessions may take to end after they were asked to."""
        if self._interrupt.now.is_set():
            return 0.0
        return LATE_PATIENCE_S if self.overdue else PATIENCE_S

    def _tell_to_stop(self) -> None:
        self._patience.allow(self._patience_s() or LEAVE_AFTER_S)
        self.crew.stop()
        try:
            self._signal.request()
        except StoppedError:
            self.silent = True
        except SlobError as error:
            # The server hangs, is shutting down or gone: the sessions will report it themselves.
            self.silent = isinstance(error, NoAnswerError)
            self.errors.append(str(error))

    def _give_up(self, complaint: str, running: set[int]) -> None:
        """End an overdue phase, and say who keeps the sessions that still run from ending."""
        self.overdue = True
        why = self._obstacle()
        if self.silent:
            cut(self._those(running))
        nobody = "the server answers and they wait for no lock; was its clock set back? See its log"
        # The first error is the run's: what samplers report of the same server follows.
        self.errors.insert(0, f"{complaint}: {why or nobody}")
        self._ending.set()

    def _obstacle(self) -> str:
        """Return who keeps our connections waiting, or that the server does not answer; empty when nobody does."""
        try:
            return self._engine.obstacle()
        except SlobError as error:
            self.silent = True
            return str(error)

    def drain(self, handle: Callable[[Message], None]) -> None:
        """Handle what the samplers still posted after the sessions were done."""
        while not self._queue.empty():
            handle(self._queue.get())

    def shutdown(self) -> None:
        """End all sessions; wait for their threads, but not for one whose server no longer answers."""
        self._ending.set()
        self._signal.close()
        self.crew.give(None)
        steps = ((None, CUT_AFTER_S), (cancel, CUT_AFTER_S), (cut, LEAVE_AFTER_S))
        for step, seconds in steps[2:] if self.silent or self._end.left else steps:
            alive = [member for member in self._members if member.is_alive()]
            if step:
                step(alive)
            _join(alive, min(seconds, LEAVE_AFTER_S) if self._interrupt.now.is_set() else seconds)
        self.crew.close()


def _join(members: Sequence[Member], seconds: float) -> None:
    """Wait for threads to end, so many seconds at the most for all."""
    deadline = time.monotonic() + seconds
    for member in members:
        member.join(max(0.0, deadline - time.monotonic()))
