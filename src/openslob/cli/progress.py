"""Progress on stderr while a run or a load goes on: bars on a terminal, a line now and then elsewhere.

Nothing here wakes up by itself while a window is measured: what is shown is drawn when the run reports, once a second.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from itertools import islice
from threading import Lock, Timer
from typing import TYPE_CHECKING, TypeVar

from openslob.cli.console import remark, takes_message
from openslob.cli.output import OUTPUT
from openslob.cli.screen import VIEWER
from openslob.core.units import format_bytes, format_duration
from openslob.engines.facts import LoadProgress
from openslob.kinds.run.progress import Amounts, Rates, RunProgress, rates_between
from openslob.report.format import MISSING, micros, number

if TYPE_CHECKING:
    from openslob.cli.bars import LoadBar, RunBar

T = TypeVar("T")

# The phase of a run in which it has no record yet that a live screen could show.
_BEFORE_THE_RECORD = "check"
# Without a terminal lines are not overwritten, so they are printed less often: the first of these times with which a
# phase has at most so many lines.
RUN_INTERVALS_S = (10.0, 60.0, 300.0, 600.0, 1800.0, 3600.0)
_MOST_LINES = 500
LOAD_INTERVAL_S = 5.0
# What takes no longer than that needs no word about it.
PATIENCE_S = 2.0
# A run reports about once a second: a line that is due within less than that is printed now.
_REPORT_TOLERANCE_S = 0.5
_NO_RATES = f"{MISSING} no rates while the first or the last slices go on"


class LiveLine:
    """The progress of a run: a bar with rates that is redrawn on a terminal, a line now and then elsewhere.

    Args:
        label: What is run.
        left_s: Seconds left for the whole that this run is a part of; None if it is not a part.
        every_s: Seconds between lines of rates, which replace the bar, also on a terminal.
        drawn: Whether there may be a bar: else lines, also on a terminal, since another program prints there.

    """

    def __init__(
        self, label: str = "", left_s: float | None = None, every_s: float | None = None, drawn: bool = True
    ) -> None:
        self._label = label
        self._left_s = left_s
        self._begun = time.monotonic()
        self._lines = None if every_s is None else RateLines(label, every_s)
        self._bar: RunBar | None = None
        if drawn and self._lines is None and _is_terminal() and not OUTPUT.quiet:
            from openslob.cli.bars import RunBar  # noqa: PLC0415 - rich takes a moment, and few runs have a bar

            self._bar = RunBar()
        self._shown_at = 0.0
        # Readings of the window come after its end as well: then it does not begin again.
        self._phases: set[str] = set()

    def __call__(self, progress: RunProgress) -> None:
        """Show one state of the run, unless the terminal is stopped or a pipe is full: the run does not wait for it."""
        if not takes_message():
            return
        if VIEWER.waits and progress.phase != _BEFORE_THE_RECORD:
            self.clear()
            VIEWER.begin()
        if VIEWER.say(self._heading().removesuffix(": ")):
            return
        if self._lines:
            self._lines(progress)
        elif self._bar:
            self._bar.draw(f"{self._label}{self._time_left()}" if self._label else "", progress)
        elif progress.phase not in self._phases or time.monotonic() - self._shown_at >= _interval_s(progress):
            _say(f"{self._heading()}{describe(progress)}")
            self._shown_at = time.monotonic()
        self._phases.add(progress.phase)

    def clear(self) -> None:
        """Remove the bar, so that later output begins on an empty line."""
        if self._bar:
            self._bar.stop()

    def _heading(self) -> str:
        return f"{self._label}{self._time_left()}: " if self._label else ""

    def _time_left(self) -> str:
        """Return how long the whole still takes; it counts down while this part runs."""
        if self._left_s is None:
            return ""
        return f", {format_duration(max(0.0, self._left_s - (time.monotonic() - self._begun)))} left"


class RateLines:
    """A line of rates every so many seconds, for logs: time, phase, reads, visits and commits per second, p99.

    Lines are due at the multiples of the interval, counted from the begin of the window. There are no rates while first
    slices run: what they count is not of the time that passed. The first rates are over what is left of the interval.
    """

    def __init__(self, label: str, every_s: float) -> None:
        self._label = f"{label}  " if label else ""
        self._every_s = every_s
        self._since = Amounts()
        self._due_s = every_s
        # Readings of the window come after its end as well: then it does not begin again.
        self._phase, self._phases = "", set[str]()

    def __call__(self, progress: RunProgress) -> None:
        """Print the line that is due, or that a phase begins."""
        if progress.phase == _BEFORE_THE_RECORD:
            self._phases.clear()
        if progress.phase not in self._phases:
            self._phase, self._since, self._due_s = progress.phase, Amounts(), self._every_s
            self._phases.add(progress.phase)
            if progress.phase != "window":
                self._print(progress.phase)
        after = progress.so_far
        if after is None or progress.phase != self._phase:
            return
        known = progress.rates is not None
        if progress.elapsed_s >= self._due_s - _REPORT_TOLERANCE_S:
            total = f" of {progress.total_s:.0f}" if progress.total_s else ""
            rates = rate_texts(rates_between(self._since, after), progress) if known else [_NO_RATES]
            self._print(f"{progress.elapsed_s:.0f}{total} s  {'  '.join(rates)}")
            while self._due_s <= progress.elapsed_s + _REPORT_TOLERANCE_S:
                self._due_s += self._every_s
        elif known:
            return
        self._since = after

    def _print(self, text: str) -> None:
        remark(f"{datetime.now().astimezone():%H:%M:%S}  {self._label}{text}")


def _interval_s(progress: RunProgress) -> float:
    """Return the seconds between lines of a phase where there is no terminal."""
    length_s = max(progress.total_s, progress.elapsed_s)
    return next((each for each in RUN_INTERVALS_S if length_s <= each * _MOST_LINES), RUN_INTERVALS_S[-1])


def rate_texts(rates: Rates, progress: RunProgress) -> list[str]:
    """Return reads, visits and commits per second, and the 99th percentile of the operations; a dash for unknown."""
    wanted = progress.wanted_per_s
    planned = [] if wanted is None else [f"{rates.ops:,.0f} of {wanted:,.0f} ops/s"]
    reads = MISSING if rates.reads is None else f"{rates.reads:,.0f}"
    per_s = [f"{reads} reads/s", f"{rates.visits:,.0f} visits/s", f"{number(round(rates.commits, 1))} commits/s"]
    return [*planned, *per_s, f"{progress.timed.at('p99')} {micros(rates.p99_us)}"]


def texts_of(progress: RunProgress) -> list[str]:
    """Return the rates of a run, or what is said in the place of these."""
    return rate_texts(progress.rates, progress) if progress.rates else list(progress.said)


class LoadView:
    """The progress of a load: a bar with rate and time left on a terminal, a line now and then elsewhere.

    A context manager; the bar goes away at its end.
    """

    def __init__(self, block_size: int) -> None:
        self._block_size = block_size
        self._terminal = _is_terminal() and not OUTPUT.quiet and not VIEWER.has_terminal
        self._begun: float | None = None
        self._shown_at = 0.0
        self._phase = ""
        self._bar: LoadBar | None = None
        if self._terminal:
            from openslob.cli.bars import LoadBar  # noqa: PLC0415 - as above

            self._bar = LoadBar()

    def __enter__(self) -> LoadView:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def __call__(self, progress: LoadProgress) -> None:
        """Show how far the load is."""
        rate = self._rate(progress)
        if self._bar:
            done, total = progress.blocks_done, progress.blocks_total
            size = f"{format_bytes(done * self._block_size)} of {format_bytes(total * self._block_size)}"
            state = "  ".join(filter(None, (size, rate, self._format_left(progress))))
            self._bar.draw(progress.phase, done, total, state)
        elif progress.phase != self._phase or time.monotonic() - self._shown_at >= LOAD_INTERVAL_S:
            self._shown_at = time.monotonic()
            _say(self._line(progress, rate))
        self._phase = progress.phase

    def _compute_elapsed(self) -> float:
        """Return the seconds since the first event, which comes when the first table begins."""
        self._begun = self._begun or time.monotonic()
        return time.monotonic() - self._begun

    def _rate(self, progress: LoadProgress) -> str:
        elapsed = self._compute_elapsed()
        if not progress.blocks_done or not elapsed:
            return ""
        return f"{format_bytes(progress.blocks_done * self._block_size / elapsed)}/s"

    def _line(self, progress: LoadProgress, rate: str) -> str:
        done, total = progress.blocks_done, progress.blocks_total
        parts = [f"{progress.phase}: {done:,} of {total:,} blocks", rate, self._format_left(progress) if rate else ""]
        return ", ".join(filter(None, parts))

    def _format_left(self, progress: LoadProgress) -> str:
        done, total = progress.blocks_done, progress.blocks_total
        return f"{format_duration(self._compute_elapsed() * (total - done) / done)} left" if 0 < done < total else ""


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that something goes on whose length is not known, once it has taken `PATIENCE_S`.

    What measures does not belong into such a block: the terminal is drawn a few times a second.
    """
    if not _is_terminal() or OUTPUT.quiet or VIEWER.say(what):
        yield
        return
    shown = _Spinner(what)
    try:
        yield
    finally:
        shown.stop()


def show_count(items: Iterator[T], what: str, total: int) -> Iterator[T]:
    """Yield ``items``, of which there are ``total``, and show on a terminal how many there were and the time left.

    The bar begins after the first item: it has a thread, and what makes the items may start processes before that.
    """
    yield from islice(items, 1)
    if total <= 1 or not _is_terminal() or OUTPUT.quiet:
        yield from items
        return
    from openslob.cli.bars import count  # noqa: PLC0415 - as above

    yield from count(items, what, 1, total)


class _Spinner:
    """What `working` draws, from `PATIENCE_S` on until it is stopped."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._drawn = ExitStack()
        self._lock = Lock()
        self._ended = False
        self._timer = Timer(PATIENCE_S, self._show)
        self._timer.daemon = True
        self._timer.start()

    def _show(self) -> None:
        from openslob.cli.bars import spinner  # noqa: PLC0415 - as above

        with self._lock:
            if not self._ended:
                self._drawn.enter_context(spinner(self._what, PATIENCE_S))

    def stop(self) -> None:
        """Remove it, or leave it out if it was not drawn yet."""
        self._timer.cancel()
        with self._lock:
            self._ended = True
        self._drawn.close()


def describe(progress: RunProgress) -> str:
    """Return phase, time and rates of a run in one line."""
    total = f" of {progress.total_s:.0f}" if progress.total_s else ""
    parts = [f"{progress.phase} {progress.elapsed_s:.0f}{total} s" if progress.elapsed_s else progress.phase]
    if progress.done is not None:
        parts.append(f"{progress.done:,} of {progress.total:,} {progress.unit}")
    parts += texts_of(progress)
    if progress.server_cpu is not None:
        parts.append(f"server CPU {progress.server_cpu:.2f}")
    return " · ".join(parts)


def _say(text: str) -> None:
    """Print a line of progress, unless the user wants none, or let the live screen show it."""
    if not VIEWER.say(text) and not OUTPUT.quiet:
        remark(text)


def _is_terminal() -> bool:
    """Whether stderr is a terminal on which a line can be redrawn."""
    return sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
