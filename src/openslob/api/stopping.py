"""Ctrl-C, and the interrupt of a notebook's kernel, end what runs as they end a command: cleanly, with a record."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from openslob.core.errors import SlobError
from openslob.core.interrupt import Interrupt, stop_on


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
