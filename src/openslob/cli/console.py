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
    """Let Ctrl-C end the process at once in this block: libraries would report it as a failure of their import."""
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
        again = interrupt.requested
        interrupt.request()
        # Not by print: the signal may have come during one, and its buffer can't be entered twice.
        with suppress(OSError):
            os.write(_STDERR, b"\nstopping at once\n" if again else b"\nstopping; again to leave at once\n")

    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupt
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
