"""All sessions of a run: connected together, sent through phases together, and ended together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from queue import Empty, SimpleQueue
from threading import Event

from openslob.engines.base import Engine, SessionPlan
from openslob.errors import SlobError
from openslob.run.interrupt import Interrupt
from openslob.run.plan import Phase
from openslob.run.samplers import SystemReading
from openslob.run.worker import Loading, Lost, PhaseDone, Ready, Report, Worker
from openslob.units import MIB

# How often the runner's thread takes messages and samples the waits.
PULSE_S = 0.1
# Within this time before a phase's end messages are taken as soon as they come.
END_NEAR_NS = 300_000_000
# How long a session may take to end after a stop (an operation may wait for a lock), before its statement is cancelled.
PATIENCE_S = 10.0
CONNECT_PATIENCE_S = 60.0
# Some steps of a session's own load report no progress (index, statistics, checks) and read all of its blocks, with all
# sessions on one disk. Storage that is slower than this is not tested.
SLOWEST_LOAD_BYTES_PER_S = 10 * MIB

Message = Report | SystemReading


def ignore(_message: Message) -> None:
    """Handle a message of a phase that is not measured."""


def _nothing() -> None:
    """Do nothing."""


class SessionPool:
    """The session threads and the one queue through which everything is reported to the runner's thread.

    Set ``clock_offset_ns``, the server's clock minus this host's, before a phase is run.
    """

    def __init__(self, engine: Engine, plans: Sequence[SessionPlan], interrupt: Interrupt) -> None:
        self._queue: SimpleQueue[Message] = SimpleQueue()
        self._interrupt = interrupt
        self._ending = Event()
        self._signal = engine.open_stop()
        self._workers = [Worker(engine, plan, self._queue.put, self._stopping) for plan in plans]
        self._present: set[int] = set()
        # When sessions were to end their slices, and when these were cancelled, by the monotonic clock.
        self._stopped_at: float | None = None
        self._cancelled_at: float | None = None
        self.errors: list[str] = []
        self.lost: set[int] = set()
        # The instance that each session landed on, for sessions that report it.
        self.instances: dict[int, str] = {}
        # Sessions whose last slice was cancelled at a stop: not an error, but what they did in it is not counted. How
        # long its last operation had then run at least, in s.
        self.unfinished_s: dict[int, float] = {}
        self.clock_offset_ns = 0

    def _stopping(self) -> bool:
        return self._ending.is_set() or self._interrupt.stop.is_set()

    def post(self, message: Message) -> None:
        """Put a message of a sampler into the runner's queue."""
        self._queue.put(message)

    def connect_all(self, loaded: Callable[[int], None], private_bytes: int = 0) -> Mapping[str, str]:
        """Connect and prepare every session; return the plans. SlobError when one fails.

        Sessions with data of their own load ``private_bytes`` together; ``loaded`` gets the blocks of every part.
        """
        for worker in self._workers:
            worker.start()
        plans: dict[str, str] = {}
        patience_s = CONNECT_PATIENCE_S + len(self._workers) / 10 + private_bytes / SLOWEST_LOAD_BYTES_PER_S
        heard_at = time.monotonic()
        while len(self._present) + len(self.errors) < len(self._workers):
            for message in self._collect(PULSE_S, dawdle=False):
                heard_at = time.monotonic()
                if isinstance(message, Ready):
                    self._present.add(message.session)
                    plans.update(message.plans)
                    if message.instance is not None:
                        self.instances[message.session] = message.instance
                elif isinstance(message, Loading):
                    loaded(message.blocks)
                elif isinstance(message, Lost):
                    self.errors.append(message.why)
            if self._interrupt.requested or self.errors or time.monotonic() > heard_at + patience_s:
                break
        self._require_all()
        return plans

    def _require_all(self) -> None:
        missing = len(self._workers) - len(self._present)
        if not missing:
            return
        why = self.errors[0] if self.errors else "they were not ready in time"
        if self._interrupt.requested:
            why = "stopped before the start"
        raise SlobError(f"{missing} of {len(self._workers)} sessions could not be connected: {why}")

    def run_phase(
        self,
        phase: Phase,
        handle: Callable[[Message], None] = ignore,
        before: Callable[[], None] = _nothing,
        pulse: Callable[[], None] = _nothing,
    ) -> None:
        """Send all sessions through ``phase``, handing every message to ``handle``.

        ``before`` is called once all sessions wait for its begin, ``pulse`` every `PULSE_S` until its end.
        """
        running = set(self._present)
        for worker in self._workers:
            worker.give(phase)
        before()
        next_pulse = time.monotonic()
        while running:
            if time.monotonic() >= next_pulse:
                pulse()
                next_pulse = max(next_pulse + PULSE_S, time.monotonic())
            for message in self._collect(next_pulse - time.monotonic(), self._may_dawdle(phase)):
                if isinstance(message, PhaseDone | Lost):
                    running.discard(message.session)
                if isinstance(message, Lost):
                    self._lose(message)
                else:
                    handle(message)
            self._enforce_stop()

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
        if self._cancelled_at is not None:
            # A session begins no operation after the stop but one that it was about to begin.
            self.unfinished_s[lost.session] = self._cancelled_at - (self._stopped_at or self._cancelled_at)
        else:
            self.errors.append(lost.why)
            self.lost.add(lost.session)
        self._ending.set()

    def _enforce_stop(self) -> None:
        """Cancel slices that go on after a stop: at once if asked to, else after `PATIENCE_S`."""
        if not self._stopping():
            return
        if self._stopped_at is None:
            self._stopped_at = time.monotonic()
            self._tell_to_stop()
        if self._interrupt.now.is_set() or time.monotonic() - self._stopped_at > PATIENCE_S:
            self._cancel()

    def _tell_to_stop(self) -> None:
        try:
            self._signal.request()
        except SlobError as error:
            # The server is shutting down or gone: the sessions will report it themselves.
            self.errors.append(str(error))

    def _cancel(self) -> None:
        self._cancelled_at = self._cancelled_at or time.monotonic()
        for worker in self._workers:
            if worker.number in self._present:
                worker.cancel()
        self._interrupt.now.clear()

    def drain(self, handle: Callable[[Message], None]) -> None:
        """Handle what the samplers still posted after the sessions were done."""
        while not self._queue.empty():
            handle(self._queue.get())

    def shutdown(self) -> None:
        """End all sessions and wait for their threads."""
        self._ending.set()
        self._signal.close()
        for worker in self._workers:
            worker.give(None)
        deadline = time.monotonic() + PATIENCE_S
        for worker in self._workers:
            if worker.ident is None:
                continue
            worker.join(max(0.0, deadline - time.monotonic()))
            if worker.is_alive():
                worker.cancel()
                worker.join(PULSE_S)
