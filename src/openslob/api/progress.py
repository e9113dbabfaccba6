"""Progress of loads and runs: a line that is redrawn in a terminal or in a notebook, or a function of the caller's.

Elsewhere, such as in a script whose output goes to a file, nothing is shown.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from openslob.core.units import format_duration
from openslob.engines.facts import LoadProgress
from openslob.kinds.run import progress as run_progress
from openslob.report.format import without_controls

# A notebook keeps every update for a moment: more than this many seconds apart they are read anyway.
NOTEBOOK_INTERVAL_S = 0.5
_BEGIN_LINE, _END_LINE = "\r", "\x1b[K"


@dataclass(frozen=True)
class Progress:
    """How far a load or a run is; its text is one line.

    ``label`` names the point of a sweep, or is empty. ``done`` of ``total`` is in ``unit``: s of the phase, sessions
    that are connected, or blocks.
    ``left_s`` is the time left of the whole sweep. Rates are those of the last moment, None where they are not known.
    """

    label: str
    phase: str
    done: float
    total: float
    unit: str
    ops_per_s: float | None = None
    visits_per_s: float | None = None
    reads_per_s: float | None = None
    commits_per_s: float | None = None
    p99_us: float | None = None
    left_s: float | None = None

    def __str__(self) -> str:
        """Return the line."""
        amount = f" {self.done:,.0f} of {self.total:,.0f} {self.unit}" if self.total else ""
        rates = ((self.visits_per_s, "visits/s"), (self.reads_per_s, "reads/s"), (self.commits_per_s, "commits/s"))
        figures = (*rates, (self.p99_us, "µs p99"))
        parts = [f"{self.phase}{amount}", *(f"{value:,.0f} {unit}" for value, unit in figures if value is not None)]
        left = [f"{format_duration(self.left_s)} left in all"] if self.left_s is not None else []
        return f"{f'{self.label}: ' if self.label else ''}{' · '.join([*parts, *left])}"


ProgressOption = Callable[[Progress], None] | bool | None


class ProgressDisplay(Protocol):
    """Where progress is shown."""

    def show(self, progress: Progress) -> None:
        """Show one state."""

    def clear(self) -> None:
        """Remove what is shown."""


class _Function:
    """Progress for a function of the caller's."""

    def __init__(self, function: Callable[[Progress], None]) -> None:
        self.show = function

    def clear(self) -> None:
        """Do nothing: there is nothing to remove."""


class _Terminal:
    """A line on standard error that is redrawn."""

    def show(self, progress: Progress) -> None:
        """Redraw the line."""
        self._write(without_controls(str(progress)))

    def clear(self) -> None:
        """Empty the line."""
        self._write("")

    def _write(self, text: str) -> None:
        sys.stderr.write(f"{_BEGIN_LINE}{text}{_END_LINE}")
        sys.stderr.flush()


class _Notebook:
    """An output of a notebook cell that is replaced, and empty at the end."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._shown_at = 0.0

    def show(self, progress: Progress) -> None:
        """Replace the output, unless it was replaced just now."""
        if time.monotonic() - self._shown_at >= NOTEBOOK_INTERVAL_S:
            self._shown_at = time.monotonic()
            self._update(str(progress))

    def clear(self) -> None:
        """Empty the output."""
        if self._handle is not None:
            self._update("")

    def _update(self, text: str) -> None:
        bundle = {"text/plain": text}
        if self._handle is None:
            display = import_module("IPython.display")  # what runs here is IPython
            self._handle = display.display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


def _ignore(_progress: Progress) -> None:
    """Show nothing."""


def display_for(option: ProgressOption) -> ProgressDisplay:
    """Return the display for a caller's choice; without one (None or True), what suits the place."""
    if callable(option):
        return _Function(option)
    if option is not False:
        if _in_notebook():
            return _Notebook()
        if sys.stderr is not None and sys.stderr.isatty():
            return _Terminal()
    return _Function(_ignore)


def _in_notebook() -> bool:
    """Return whether a kernel runs this code, which is never so unless IPython is imported already."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


class Shown:
    """The progress of a measurement on a display."""

    def __init__(self, display: ProgressDisplay) -> None:
        self._display = display

    @contextmanager
    def running(self, label: str, left_s: float | None) -> Iterator[run_progress.ProgressSink]:
        """Show the progress of a run in this block; ``left_s`` is the time left of the whole that it is a part of."""
        begun = time.monotonic()

        def show(state: run_progress.RunProgress) -> None:
            if state.done is not None:
                self._display.show(Progress(label, state.phase, state.done, state.total, state.unit))
                return
            left = None if left_s is None else max(0.0, left_s - (time.monotonic() - begun))
            shown = Progress(label, state.phase, state.elapsed_s, state.total_s, "s", left_s=left)
            if (now := state.rates) is not None:
                shown = replace(
                    shown,
                    ops_per_s=now.ops,
                    visits_per_s=now.visits,
                    reads_per_s=now.reads,
                    commits_per_s=now.commits,
                    p99_us=now.p99_us,
                )
            self._display.show(shown)

        try:
            yield show
        finally:
            self._display.clear()

    @contextmanager
    def loading(self, _block_size: int) -> Iterator[Callable[[LoadProgress], None]]:
        """Show the progress of a load in this block."""

        def show(state: LoadProgress) -> None:
            self._display.show(Progress("", state.phase, state.blocks_done, state.blocks_total, "blocks"))

        try:
            yield show
        finally:
            self._display.clear()

    def viewing(self, _folder: Path) -> AbstractContextManager[None]:
        """Show nothing: there is no live screen."""
        return nullcontext()
