"""The live line on stderr while something runs, and the signals that stop it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from openslob.report.format import shortened
from openslob.run.interrupt import Interrupt
from openslob.run.recorder import Progress

# Without a terminal a line is kept, so there are fewer of them.
QUIET_INTERVAL_S = 10.0
_STDERR = 2


class LiveLine:
    """Shows `Progress` on stderr: one line that is overwritten on a terminal, now and then a line elsewhere."""

    def __init__(self, label: str = "") -> None:
        self._label = f"{label}: " if label else ""
        self._terminal = sys.stderr.isatty()
        self._shown_at = 0.0
        self._phase = ""

    def __call__(self, progress: Progress) -> None:
        """Show one state of the run."""
        if self._terminal:
            # A line that wraps could not be overwritten: only its last part would be.
            line = shortened(f"{self._label}{describe(progress)}", shutil.get_terminal_size().columns - 1)
            print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
        elif progress.phase != self._phase or time.monotonic() - self._shown_at >= QUIET_INTERVAL_S:
            print(f"{self._label}{describe(progress)}", file=sys.stderr, flush=True)
            self._shown_at = time.monotonic()
        self._phase = progress.phase

    def clear(self) -> None:
        """Take the line away, so that what follows begins on an empty one."""
        if self._terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def describe(progress: Progress) -> str:
    """One line: phase, time, rates."""
    of = f" of {progress.total_s:.0f}" if progress.total_s else ""
    parts = [f"{progress.phase} {progress.elapsed_s:.0f}{of} s" if progress.phase == "window" else progress.phase]
    if progress.blocks_done is not None:
        parts.append(f"{progress.blocks_done:,} of {progress.blocks_total:,} blocks")
    if progress.ops_per_s is not None:
        asked = f" of {progress.wanted_per_s:,.0f}" if progress.wanted_per_s is not None else ""
        parts.append(f"{progress.ops_per_s:,.0f}{asked} ops/s")
    if progress.reads_per_s is not None:
        parts.append(f"{progress.reads_per_s:,.0f} reads/s")
    if progress.mean_us is not None:
        parts.append(f"{progress.mean_us:,.0f} µs/op")
    if progress.server_cpu is not None:
        parts.append(f"server CPU {progress.server_cpu:.2f}")
    return " · ".join(parts)


@contextmanager
def leavable() -> Iterator[None]:
    """Within the block Ctrl-C ends the process at once: libraries would tell of it as a fault of their import."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def stoppable() -> Iterator[Interrupt]:
    """Within the block Ctrl-C and SIGTERM ask the run to end: once within a slice, twice at once."""
    interrupt = Interrupt()

    def handler(_number: int, _frame: FrameType | None) -> None:
        again = interrupt.requested
        interrupt.request()
        # Not by print: the signal may have come in the middle of one, whose buffer does not let another in.
        with suppress(OSError):
            os.write(_STDERR, b"\nstopping at once\n" if again else b"\nstopping; again to leave at once\n")

    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupt
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
