"""Stopping a run from outside: the first request ends it within a slice and keeps the record, the second at once.

So do Ctrl-C in Python and the interrupt of a notebook's kernel.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event
from types import FrameType

from openslob.core.errors import SlobError


class Interrupt:
    """Set by a signal handler, checked by everything that runs long. ``stop``: end soon; ``now``: end at once.

    ``stop_at`` and ``now_at`` are when each was first requested, by the monotonic clock in seconds. ``number`` is the
    signal that requested it last.
    """

    def __init__(self) -> None:
        self.stop = Event()
        self.now = Event()
        self.requested = False
        self.stop_at: float | None = None
        self.now_at: float | None = None
        self.number = signal.SIGINT

    def request(self) -> None:
        """Ask the run to end: the first time soon, the second time at once."""
        at = time.monotonic()
        if self.requested:
            self.now_at = self.now_at or at
            self.now.set()
        self.stop_at = self.stop_at or at
        self.requested = True
        self.stop.set()


@contextmanager
def stop_on(
    numbers: Sequence[signal.Signals],
    tell: Callable[[int, bool], None],
    once_stopped: Sequence[signal.Signals] = (),
    interrupt: Interrupt | None = None,
) -> Iterator[Interrupt]:
    """Let these signals request the interrupt, a new one by default, in this block, which must be in the main thread.

    ``tell`` gets each signal's number and whether it is a repeated one; it is called in the handler. The signals
    ``once_stopped`` are ignored from the block's end on if one of the signals has requested the interrupt.
    """
    interrupt = interrupt or Interrupt()

    def handler(number: int, _frame: FrameType | None) -> None:
        repeated = interrupt.requested
        interrupt.number = signal.Signals(number)
        interrupt.request()
        tell(number, repeated)

    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield interrupt
    finally:
        for number, previous in before.items():
            ignored = interrupt.requested and number in once_stopped
            signal.signal(number, signal.SIG_IGN if ignored else previous)


@contextmanager
def interruptible(interrupt: Interrupt | None = None) -> Iterator[Interrupt]:
    """Let SIGINT and SIGTERM ask what runs in this block to end: the first within a slice, the second at once.

    They request ``interrupt``, a new one by default.

    After the block the signal goes to the handler that was there before, usually as KeyboardInterrupt. Signals reach
    the main thread only; in others the block can't be interrupted.
    """
    if threading.current_thread() is not threading.main_thread():
        yield interrupt or Interrupt()
        return
    received: list[int] = []
    error: SlobError | None = None
    known = [number for number in (signal.SIGINT, signal.SIGTERM) if callable(signal.getsignal(number))]
    default = [signal.SIGTERM] if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL else []
    numbers = [*known, *default]
    with stop_on(numbers, lambda number, _repeated: received.append(number), interrupt=interrupt) as requested:
        try:
            yield requested
        except SlobError as ended:
            error = ended
    if received:
        signal.raise_signal(received[0])
    if error:
        raise error
