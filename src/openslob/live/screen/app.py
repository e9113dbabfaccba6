"""The screen as a program: keys, the clock, and the terminal. It reads a record and does nothing else."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Footer

from openslob.core.errors import SlobError
from openslob.kinds.view import Follower, RecordState, has_begun
from openslob.live.screen.canvas import Canvas, Role, Signs
from openslob.live.screen.panes import PaneContent, Screenful, draw, draw_help, draw_top, tabs_of
from openslob.live.screen.playhead import Playhead
from openslob.report.format import without_controls

if TYPE_CHECKING:
    from openslob.live.attached_screen import Feed

# How much the screen gives way to all other processes of the host.
NICENESS = 10
# How often the record is read and the screen drawn, in seconds.
EVERY_S = 1.0
# How often more of a record is read that could not be read at once.
READ_EVERY_S = 0.2
# The plots are drawn at every such time of drawing, the figures at each: plots are most of the work.
WHOLE_EVERY = 2

# The terminal's own colours, which its user can read, on the terminal's own ground.
_COLOURS = {
    Role.PLAIN: Style(),
    Role.SOFT: Style(dim=True),
    Role.STRONG: Style(bold=True),
    Role.GOOD: Style(color="green"),
    Role.BAD: Style(color="red", bold=True),
    Role.UNSURE: Style(color="yellow"),
    Role.SELECTED: Style(reverse=True),
}
_SERIES = ("cyan", "yellow", "magenta", "green", "bright_blue", "red", "bright_cyan", "bright_magenta")
_MAP = ("bright_black", "blue", "cyan", "green", "yellow", "red")
_STYLES = {
    **{int(role): style for role, style in _COLOURS.items()},
    **{Role.SERIES + at: Style(color=colour) for at, colour in enumerate(_SERIES)},
    **{Role.MAP + at: Style(color=colour) for at, colour in enumerate(_MAP)},
}
# Without colour: bold, dim and reverse are left.
_PLAIN = {role: Style(bold=style.bold, dim=style.dim, reverse=style.reverse) for role, style in _STYLES.items()}


class CanvasWidget(Widget):
    """Shows a canvas; of a new one, only the cells that changed are sent to the terminal."""

    DEFAULT_CSS = "CanvasWidget { width: 1fr; height: 1fr; }"

    def __init__(self, signs: Signs, drawn: Callable[[Canvas, bool], None]) -> None:
        super().__init__()
        self._styles = _STYLES if signs.coloured else _PLAIN
        self._draw = drawn
        self.canvas = Canvas.blank(1, 1)

    @property
    def text(self) -> str:
        """What can be read on it."""
        return "\n".join(self.canvas.lines())

    def render_line(self, y: int) -> Strip:
        """Return one line of the canvas."""
        if y >= self.canvas.height:
            return Strip.blank(self.size.width)
        segments = [Segment(text, self._styles[role]) for text, role in self.canvas.runs(y)]
        return Strip(segments, self.canvas.width)

    def on_resize(self) -> None:
        """Draw it for the new size."""
        self.redraw()

    def redraw(self, whole: bool = True) -> None:
        """Draw it again, the ``whole`` or only what changes each second, and refresh what changed."""
        before, size = self.canvas, self.size
        if not size:
            return
        whole = whole or (before.width, before.height) != size
        self.canvas = Canvas.blank(size.width, size.height) if whole else before.copy()
        self._draw(self.canvas, whole)
        if before.codes.shape != self.canvas.codes.shape:
            self.refresh()
            return
        changed = (before.codes != self.canvas.codes) | (before.roles != self.canvas.roles)
        regions = [_region(int(y), np.flatnonzero(changed[y])) for y in np.flatnonzero(changed.any(axis=1))]
        if regions:
            self.refresh(*regions)


def _region(y: int, columns: NDArray[np.intp]) -> Region:
    return Region(int(columns[0]), int(y), int(columns[-1] - columns[0]) + 1, 1)


class LiveScreen(App[None], inherit_bindings=False):
    """The screen of one record, or of those that a driver writes one after the other."""

    ENABLE_COMMAND_PALETTE = False
    CSS = "Screen { background: ansi_default; } Footer { background: ansi_default; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+q", "leave", "Quit", key_display="q"),
        Binding("ctrl+c", "stop", show=False, priority=True),
        *(Binding(str(at), f"tab({at - 1})", show=False) for at in range(1, 8)),
        Binding("tab", "next_tab(1)", "View", key_display="1-7", priority=True),
        Binding("shift+tab", "next_tab(-1)", show=False, priority=True),
        Binding("space", "hold", "Hold/play"),
        Binding("left", "step(-1)", "Back", key_display="<-"),
        Binding("right", "step(1)", "On", key_display="->"),
        Binding("plus,equals_sign", "speed(1)", "Speed", key_display="+-"),
        Binding("minus", "speed(-1)", show=False),
        Binding("z", "zoom", "Zoom"),
        Binding("m", "map", "Map"),
        Binding("home", "seek(0)", show=False),
        Binding("end", "seek(1)", show=False),
        Binding("up", "scroll(-1)", show=False),
        Binding("down", "scroll(1)", show=False),
        Binding("pageup", "scroll(-10)", show=False),
        Binding("pagedown", "scroll(10)", show=False),
        Binding("question_mark,h", "help", "Help", key_display="?"),
    ]

    def __init__(
        self,
        source: Follower | None,
        signs: Signs,
        command: Feed | None = None,
        speed: int | None = None,
        shown: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(ansi_color=True)
        # Of the terminal's own colours alone; which of the two grounds it has does not matter without any of ours.
        self.theme = "ansi-dark"
        self.animation_level = "none"
        self.problem: SlobError | None = None
        self._source = source
        # What was shown before, as long as there is nothing to show of the record that is written now.
        self._before: Follower | None = None
        self._signs = signs
        self._command = command
        self._tell_shown = shown
        self._playhead = Playhead(0.0, True, speed) if speed else Playhead()
        self._tab, self._scroll, self._intensity, self._help = 0, 0, False, False
        self._moved_at = time.monotonic()
        self._ticks = 0
        self._reading: Timer | None = None
        self._drawn_of: Follower | None = None
        self._board = CanvasWidget(signs, self._draw)

    @property
    def board(self) -> CanvasWidget:
        """The drawing."""
        return self._board

    def compose(self) -> ComposeResult:
        """Return the widgets: the drawing, and below it the keys."""
        yield self._board
        yield Footer(compact=True)

    def on_mount(self) -> None:
        """Begin to read."""
        self.set_interval(EVERY_S, self.tick)
        # The terminal must not be left as it is now.
        asyncio.get_running_loop().add_signal_handler(
            signal.SIGTERM, lambda: self.exit(return_code=128 + signal.SIGTERM)
        )
        if self._command:
            asyncio.get_running_loop().add_reader(self._command.descriptor, self._listen)
        self.tick()

    def on_ready(self) -> None:
        """Tell that the screen is there."""
        if self._tell_shown:
            self._tell_shown()

    def _listen(self) -> None:
        if self._command and self._command.listen():
            asyncio.get_running_loop().remove_reader(self._command.descriptor)
            self.exit()

    def tick(self) -> None:
        """Read what is new, move on, and draw."""
        try:
            self._take(self._command.source() if self._command else self._source)
            if self._source:
                self._source.poll()
                if self._before:
                    # The result of the last run may have come after the next one began.
                    self._before.poll()
                    self._before = None if has_begun(self._source.view()) else self._before
                if self._playhead.playing:
                    now = time.monotonic()
                    self._playhead = self._playhead.move(now - self._moved_at, self._end_s())
                    self._moved_at = now
                if self._source.read_share < 1 and not self._reading:
                    self._reading = self.set_interval(READ_EVERY_S, self._read_on)
            self._ticks += 1
            self._board.redraw(whole=self._ticks % WHOLE_EVERY == 1 or self._playhead.playing)
        except SlobError as error:
            self._fail(error)

    def _fail(self, error: SlobError) -> None:
        self.problem = error
        self.exit(return_code=error.exit_code)

    def _read_on(self) -> None:
        """Read more of a long record; the keys work meanwhile."""
        if self._reading and (self._source is None or self._source.read_share >= 1):
            self._reading.stop()
            self._reading = None
        elif self._source:
            try:
                self._source.poll()
            except SlobError as error:
                self._fail(error)

    def _take(self, source: Follower | None) -> None:
        """Show another record from now on, and the one before it until there is something to show."""
        if source is not self._source:
            self._before = self._before or self._source
            self._source, self._playhead = source, Playhead()

    def _draw(self, canvas: Canvas, whole: bool) -> None:
        said = self._describe()
        whole = whole or self._help or self._drawn_of is not self._source
        self._drawn_of = self._source
        if whole:
            canvas.clear()
        if self._help:
            draw_help(canvas, self._signs, self._command is not None)
        elif self._source is None:
            canvas.text(0, 0, said or "no record yet", Role.PLAIN, self._signs)
        else:
            screenful = Screenful(self._compose_pane(self._source), self._tab, self._playhead, said)
            (draw if whole else draw_top)(canvas, screenful)

    def _describe(self) -> str:
        """Return what the command does, or how much of the record there is to be seen yet."""
        if self._source and self._source.read_share < 1:
            return f"{self._source.read_share * 100:.0f} % of the record is read"
        return self._command.said if self._command else ""

    def _compose_pane(self, source: Follower) -> PaneContent:
        record = source.view(self._playhead.at_s)
        before = self._before.view() if self._before else record
        view = before.current or before
        head = view.head
        span = self._playhead.span(head.elapsed_s, head.planned_s)
        return PaneContent(view, record, span, self._signs, self._intensity, self._scroll)

    def _end_s(self) -> float:
        return self._source.view().head.elapsed_s if self._source else 0.0

    def _play(self, playhead: Playhead) -> None:
        self._playhead, self._moved_at = playhead, time.monotonic()
        self._board.redraw()

    def action_leave(self) -> None:
        """End the screen, and nothing else."""
        self.exit()

    def action_stop(self) -> None:
        """Ctrl-C: end the command that this screen belongs to, or the screen if it has a terminal of its own."""
        if self._command:
            self._command.stop()
        else:
            self.exit()

    def action_tab(self, number: int) -> None:
        """Show a tab."""
        if self._source and number < len(tabs_of(self._source.view().head.kind)):
            self._tab, self._scroll, self._help = number, 0, False
            self._board.redraw()

    def action_next_tab(self, direction: int) -> None:
        """Show the next tab, or the one before."""
        if self._source:
            self.action_tab((self._tab + direction) % len(tabs_of(self._source.view().head.kind)))

    def action_hold(self) -> None:
        """Hold what is shown, or play on."""
        live = self._source is not None and self._source.view().head.progress is RecordState.RUNNING
        self._play(self._playhead.toggle(self._end_s(), live))

    def action_step(self, direction: int) -> None:
        """Show an earlier or a later moment."""
        self._play(self._playhead.step(direction, self._end_s()))

    def action_seek(self, end: int) -> None:
        """Show the begin or the end."""
        self._play(replace(self._playhead, at_s=None if end else 0.0, playing=False))

    def action_speed(self, direction: int) -> None:
        """Play faster or slower."""
        self._play(self._playhead.faster(direction))

    def action_zoom(self) -> None:
        """Show the last while only, a shorter one each time, or all again."""
        self._play(self._playhead.zoom_in(self._end_s()))

    def action_map(self) -> None:
        """Let maps show shares of the time in place of shares of the operations, or back."""
        self._intensity = not self._intensity
        self._board.redraw()

    def action_scroll(self, lines: int) -> None:
        """Scroll lists."""
        self._scroll += lines
        self._board.redraw()

    def action_help(self) -> None:
        """Show what the keys do, or go back."""
        self._help = not self._help
        self._board.redraw()


def give_way() -> None:
    """Let all other processes of the host go before this one."""
    os.nice(NICENESS)


def run(screen: LiveScreen) -> int:
    """Show a screen until it ends; return the exit code. The reason of an error is printed below it."""
    for name in ("COLUMNS", "LINES"):  # the terminal knows its size, also when it changes
        os.environ.pop(name, None)
    screen.run(mouse=False)
    if screen.problem:
        sys.stderr.write(f"slob: {without_controls(str(screen.problem))}\n")
    return screen.return_code or 0
