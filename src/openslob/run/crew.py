"""All sessions of a run: brought up together, sent through phases together, and seen off together."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from threading import Event

from openslob.engines.base import Engine, SessionPlan
from openslob.errors import SlobError
from openslob.run.interrupt import Interrupt
from openslob.run.plan import Phase, slice_seconds
from openslob.run.samplers import Reading, WaitSample
from openslob.run.worker import Lost, PhaseDone, Ready, Report, Worker

POLL_S = 0.2
# How long beyond a slice a session may take to end after a stop, before its statement is cancelled.
PATIENCE_S = 10.0
CONNECT_PATIENCE_S = 60.0

Message = Report | Reading | WaitSample


class Crew:
    """The session threads and the one queue through which everything is reported to the runner's thread."""

    def __init__(self, engine: Engine, plans: Sequence[SessionPlan], interrupt: Interrupt) -> None:
        self._queue: SimpleQueue[Message] = SimpleQueue()
        self._interrupt = interrupt
        self._ending = Event()
        self._workers = [Worker(engine, plan, self._queue.put, self._stopping) for plan in plans]
        self._present: set[int] = set()
        self._patience_s = PATIENCE_S + slice_seconds(len(plans))
        self.errors: list[str] = []

    def _stopping(self) -> bool:
        return self._ending.is_set() or self._interrupt.stop.is_set()

    def post(self, message: Message) -> None:
        """Put a message into the runner's queue; for samplers."""
        self._queue.put(message)

    def bring_up(self) -> Mapping[str, str]:
        """Connect and prepare every session; returns the plans. SlobError when one can't be had: then none stays."""
        for worker in self._workers:
            worker.start()
        plans: dict[str, str] = {}
        deadline = time.monotonic() + CONNECT_PATIENCE_S + len(self._workers) / 10
        while len(self._present) + len(self.errors) < len(self._workers):
            message = self._next()
            if isinstance(message, Ready):
                self._present.add(message.session)
                plans.update(message.plans)
            elif isinstance(message, Lost):
                self.errors.append(message.why)
            if self._interrupt.requested or time.monotonic() > deadline:
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
        raise SlobError(f"{missing} of {len(self._workers)} sessions could not be brought up: {why}")

    def run_phase(self, phase: Phase, handle: Callable[[Message], None], before: Callable[[], None]) -> None:
        """Send all sessions through ``phase``; ``before`` is called once they wait for its begin."""
        running = set(self._present)
        for worker in self._workers:
            worker.give(phase)
        before()
        stopped_at: float | None = None
        while running:
            message = self._next()
            if isinstance(message, PhaseDone):
                running.discard(message.session)
            elif isinstance(message, Lost):
                self._lose(message)
                running.discard(message.session)
            elif message is not None:
                handle(message)
            stopped_at = self._press(stopped_at)

    def _lose(self, lost: Lost) -> None:
        # Fewer sessions than asked for would measure something else: the run ends with the first one lost.
        self._present.discard(lost.session)
        self.errors.append(lost.why)
        self._ending.set()

    def _press(self, stopped_at: float | None) -> float | None:
        """Cancel what runs on after a stop: at once if so asked, else when patience is over."""
        if not self._stopping():
            return None
        if stopped_at is None:
            stopped_at = time.monotonic()
        if self._interrupt.now.is_set() or time.monotonic() - stopped_at > self._patience_s:
            self._cancel()
        return stopped_at

    def _cancel(self) -> None:
        for worker in self._workers:
            if worker.number in self._present:
                worker.cancel()
        self._interrupt.now.clear()

    def _next(self) -> Message | None:
        try:
            return self._queue.get(timeout=POLL_S)
        except Empty:
            return None

    def drain(self, handle: Callable[[Message], None]) -> None:
        """Handle what the samplers still posted after the sessions were done."""
        while not self._queue.empty():
            handle(self._queue.get())

    def dismiss(self) -> None:
        """End all sessions and wait for their threads."""
        self._ending.set()
        for worker in self._workers:
            worker.give(None)
        deadline = time.monotonic() + self._patience_s
        for worker in self._workers:
            if worker.ident is None:
                continue
            worker.join(max(0.0, deadline - time.monotonic()))
            if worker.is_alive():
                worker.cancel()
                worker.join(POLL_S)
