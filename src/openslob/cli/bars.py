"""The bars of progress on a terminal, drawn by rich, which takes a moment to import."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as ProgressBar
from rich.progress_bar import ProgressBar as Bar
from rich.table import Table
from rich.text import Text

from openslob.cli.output import OUTPUT
from openslob.cli.progress import texts_of
from openslob.core.units import format_duration
from openslob.kinds.run.progress import RunProgress
from openslob.report.format import shorten

T = TypeVar("T")


class RunBar:
    """Phase, time left and rates of a run, in lines that are redrawn."""

    def __init__(self) -> None:
        # Other messages are printed only after `stop`, so neither stream needs to be redirected.
        self._live = Live(
            console=_console(),
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def draw(self, heading: str, progress: RunProgress) -> None:
        """Show this state of the run in the place of the one before."""
        console = self._live.console
        if not self._live.is_started:
            self._live.start()
            # A driver that is killed can't show the cursor again, so it stays visible.
            console.show_cursor(True)
        self._live.update(screen(heading, progress, console.width - 1), refresh=True)

    def stop(self) -> None:
        """Remove the bar, so that later output begins on an empty line; `draw` shows it again."""
        self._live.stop()


def screen(heading: str, progress: RunProgress, width: int) -> RenderableType:
    """Return the live display, at most ``width`` columns wide: heading, bar with time left, and rates."""
    lines: list[RenderableType] = [Text(shorten(heading, width), no_wrap=True)] if heading else []
    lines.append(_bar(progress, width))
    if texts := texts_of(progress):
        lines.append(_rates(texts, progress.server_cpu, width))
    return Group(*lines)


def _bar(progress: RunProgress, width: int) -> RenderableType:
    done, total, text = progress.elapsed_s, progress.total_s, ""
    if progress.done is not None:
        done, total = progress.done, progress.total
        text = f"{done:,.0f} of {total:,} {progress.unit}"
    elif total:
        text = f"{done:.0f} of {total:.0f} s, {format_duration(max(0.0, total - done))} left"
    elif done:
        text = f"{done:.0f} s"
    room = width - len(progress.phase) - len(text) - 4
    if not total or room < 5:
        return Text(shorten(f"{progress.phase}  {text}".rstrip(), width), no_wrap=True)
    line = Table.grid(padding=(0, 2, 0, 0))
    line.add_row(progress.phase, Bar(total=total, completed=min(done, total), width=room), text)
    return line


def _rates(texts: Sequence[str], server_cpu: float | None, width: int) -> RenderableType:
    """Return the rates in as many lines as they need."""
    lines = [""]
    for text in [*texts, *([] if server_cpu is None else [f"server CPU {server_cpu:.2f}"])]:
        joined = f"{lines[-1]} · {text}" if lines[-1] else text
        lines = [*lines[:-1], joined] if len(joined) <= width else [*lines, text]
    return Text("\n".join(shorten(line, width) for line in lines), no_wrap=True)


class LoadBar:
    """The bar of a load."""

    def __init__(self) -> None:
        self._bar = ProgressBar(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[state]}"),
            console=_console(),
            transient=True,
            refresh_per_second=2,
        )
        self._task = self._bar.add_task("loading", total=None, state="")

    def start(self) -> None:
        """Show the bar."""
        self._bar.start()

    def draw(self, phase: str, done: int, total: int, state: str) -> None:
        """Show how far the load is, with ``state`` beside the bar."""
        description = shorten(phase, self._bar.console.width // 3)
        self._bar.update(self._task, completed=done, total=total, description=description, state=state)

    def stop(self) -> None:
        """Remove the bar."""
        self._bar.stop()


@contextmanager
def spinner(what: str, since_s: float = 0.0) -> Iterator[None]:
    """Show that something goes on, and for how long; it began ``since_s`` ago."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with ProgressBar(*columns, console=_console(), transient=True, refresh_per_second=4) as bar:
        task = bar.add_task(shorten(what, max(10, bar.console.width - 14)), total=None)
        bar.tasks[task].start_time = bar.get_time() - since_s
        yield


def count(items: Iterable[T], what: str, done: int, total: int) -> Iterator[T]:
    """Yield ``items``, and show how many of ``total`` there were, after ``done`` others, and the time left."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with ProgressBar(*columns, console=_console(), transient=True, refresh_per_second=4) as bar:
        task = bar.add_task(what, total=total, completed=done)
        for item in items:
            yield item
            done = min(done + 1, total)  # a file of two reports gives two items
            bar.update(task, completed=done)


def _console() -> Console:
    """Return the console on stderr: the width that COLUMNS says, and colours only as the user wants them."""
    return Console(stderr=True, force_terminal=True, no_color=not OUTPUT.is_coloured(sys.stderr))
