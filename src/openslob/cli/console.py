"""The terminal: results on standard output, messages on standard error, and the signals that stop a command."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from openslob.report.format import printable
from openslob.run.interrupt import Interrupt

_STDERR = 2


def write(text: str, end: str = "\n") -> None:
    """Print a result on standard output; signs that its encoding lacks become plain ones."""
    print(printable(text, sys.stdout.encoding), end=end)


def notify(text: str) -> None:
    """Print a message on standard error: progress, a warning, or the reason why a command failed."""
    print(f"slob: {text}", file=sys.stderr, flush=True)


@contextmanager
def default_interrupt() -> Iterator[None]:
    """End the process at once on Ctrl-C in this block: libraries report an interrupted import as a failed one."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def stoppable() -> Iterator[Interrupt]:
    """Let Ctrl-C and SIGTERM ask the run in this block to end: the first within a slice, the second at once."""
    interrupt = Interrupt()

    def handler(_number: int, _frame: FrameType | None) -> None:
        repeated = interrupt.requested
        interrupt.request()
        # Not print(): the signal may interrupt a print, and the buffer of a stream is not reentrant.
        with suppress(OSError):
            os.write(_STDERR, b"\nstopping at once\n" if repeated else b"\nstopping; again to leave at once\n")

    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupt
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
