"""Progress on stderr while a run or a load goes on: live on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as ProgressBar
from rich.text import Text

from openslob.cli.console import takes_message
from openslob.engines.facts import LoadProgress
from openslob.report.format import shortened
from openslob.run.recorder import Progress
from openslob.units import format_bytes

# Without a terminal lines are not overwritten, so they are printed less often.
RUN_INTERVAL_S = 10.0
LOAD_INTERVAL_S = 5.0


class LiveLine:
    """The progress of a run: one line that is redrawn on a terminal, a line now and then elsewhere."""

    def __init__(self, label: str = "") -> None:
        self._label = f"{label}: " if label else ""
        self._terminal = _is_terminal()
        # Other messages are printed only after `clear`, so neither stream needs to be redirected.
        self._live = Live(
            console=Console(stderr=True, force_terminal=self._terminal),
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._shown_at = 0.0
        self._phase = ""

    def __call__(self, progress: Progress) -> None:
        """Show one state of the run, unless the terminal is stopped or a pipe is full: the run does not wait for it."""
        if not takes_message():
            return
        line = f"{self._label}{describe(progress)}"
        if self._terminal:
            self._redraw(line)
        elif progress.phase != self._phase or time.monotonic() - self._shown_at >= RUN_INTERVAL_S:
            print(line, file=sys.stderr, flush=True)
            self._shown_at = time.monotonic()
        self._phase = progress.phase

    def clear(self) -> None:
        """Remove the line, so that later output begins on an empty one."""
        self._live.stop()

    def _redraw(self, line: str) -> None:
        console = self._live.console
        if not self._live.is_started:
            self._live.start()
            # A driver that is killed can't show the cursor again, so it stays visible.
            console.show_cursor(True)
        self._live.update(Text(shortened(line, console.width - 1), no_wrap=True), refresh=True)


class LoadView:
    """The progress of a load: a bar with rate and time left on a terminal, a line now and then elsewhere.

    A context manager; the bar goes away at its end.
    """

    def __init__(self, block_size: int) -> None:
        self._block_size = block_size
        self._terminal = sys.stderr.isatty()
        self._begun: float | None = None
        self._shown_at = 0.0
        self._phase = ""
        self._bar = ProgressBar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("blocks  {task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not self._terminal,
        )
        self._task = self._bar.add_task("loading", total=None, rate="")

    def __enter__(self) -> LoadView:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, progress: LoadProgress) -> None:
        """Show how far the load is."""
        rate = self._rate(progress)
        if self._terminal:
            done, total = progress.blocks_done, progress.blocks_total
            self._bar.update(self._task, completed=done, total=total, description=progress.phase, rate=rate)
        elif progress.phase != self._phase or time.monotonic() - self._shown_at >= LOAD_INTERVAL_S:
            self._shown_at = time.monotonic()
            print(self._line(progress, rate), file=sys.stderr, flush=True)
        self._phase = progress.phase

    def _elapsed(self) -> float:
        """Return the seconds since the first event, which comes when the first table begins."""
        self._begun = self._begun or time.monotonic()
        return time.monotonic() - self._begun

    def _rate(self, progress: LoadProgress) -> str:
        elapsed = self._elapsed()
        if not progress.blocks_done or not elapsed:
            return ""
        return f"{format_bytes(progress.blocks_done * self._block_size / elapsed)}/s"

    def _line(self, progress: LoadProgress, rate: str) -> str:
        done, total = progress.blocks_done, progress.blocks_total
        left = f", {self._elapsed() * (total - done) / done:.0f} s left" if 0 < done < total else ""
        return f"{progress.phase}: {done:,} of {total:,} blocks" + (f", {rate}{left}" if rate else "")


def describe(progress: Progress) -> str:
    """Return phase, time and rates of a run in one line."""
    total = f" of {progress.total_s:.0f}" if progress.total_s else ""
    parts = [f"{progress.phase} {progress.elapsed_s:.0f}{total} s" if progress.phase == "window" else progress.phase]
    if progress.blocks_done is not None:
        parts.append(f"{progress.blocks_done:,} of {progress.blocks_total:,} blocks")
    if progress.ops_per_s is not None:
        planned = f" of {progress.wanted_per_s:,.0f}" if progress.wanted_per_s is not None else ""
        parts.append(f"{progress.ops_per_s:,.0f}{planned} ops/s")
    if progress.reads_per_s is not None:
        parts.append(f"{progress.reads_per_s:,.0f} reads/s")
    if progress.mean_us is not None:
        parts.append(f"{progress.mean_us:,.0f} µs/op")
    if progress.server_cpu is not None:
        parts.append(f"server CPU {progress.server_cpu:.2f}")
    return " · ".join(parts)


def _is_terminal() -> bool:
    """Whether stderr is a terminal on which a line can be redrawn."""
    return sys.stderr.isatty() and not Console(stderr=True, force_terminal=True).is_dumb_terminal
