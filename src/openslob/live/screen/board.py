"""The whole screen as one drawing: head, tabs, and the panes of a tab in as many columns and rows as there is room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from openslob.core.units import format_duration
from openslob.live.screen import panes
from openslob.live.screen.canvas import Canvas, Role, Signs
from openslob.live.screen.panes import Pane, PaneContent
from openslob.live.screen.playhead import Playhead
from openslob.live.screen.plots import clock
from openslob.live.view import Head, RecordState
from openslob.report.format import hanging, shortened

# The smallest pane that is worth its room, in columns and rows.
LEAST_WIDTH, LEAST_HEIGHT = 56, 8
# The engine's waits that have a map: those for reads and for the log, as a rule.
_MAPS = 2
# Rows of the head without warnings.
_HEAD_ROWS = 3
_ENDS = {
    RecordState.RUNNING: Role.GOOD,
    RecordState.COMPLETE: Role.GOOD,
    RecordState.INTERRUPTED: Role.UNSURE,
    RecordState.FAILED: Role.BAD,
    RecordState.ABANDONED: Role.BAD,
}
TABS = ("Overview", "Latency", "Waits", "Host", "Verdicts", "Notes", "Petals")


@dataclass(frozen=True)
class Screenful:
    """What to draw: what is shown, the number of the tab, how the record is played, and what its driver says."""

    shown: PaneContent
    tab: int
    playhead: Playhead
    said: str = ""


def tabs_of(kind: str) -> Sequence[str]:
    """Return the names of the tabs of a kind of record: only a sweep has petals."""
    return TABS if kind == "sweep" else TABS[:-1]


_KEYS = (
    ("1 to 7, Tab", "show one of the views"),
    ("space", "hold what is shown, or play on; a finished record plays from its begin"),
    ("left, right", "go back or on by a twentieth of what is shown; beyond the end: follow the record again"),
    ("Home, End", "go to the begin or the end"),
    ("+ and -", "play faster or slower, up to 300 times"),
    ("z", "show the last hour, 15 minutes, 5 minutes, minute, or all again"),
    ("m", "maps of latency: share of the operations, or of the time that they took together"),
    ("up, down, Page", "scroll verdicts and notes"),
    ("?", "back to the record"),
)


def draw_help(canvas: Canvas, signs: Signs, attached: bool) -> None:
    """Write what the keys do. ``attached``: the screen has the terminal of the command that measures."""
    ends = [
        ("q", "leave the screen; the run goes on" if attached else "leave the screen; nothing else ends"),
        ("Ctrl-C", "stop the run; again to leave at once" if attached else "leave the screen"),
    ]
    canvas.text(0, 0, "Keys", Role.STRONG, signs)
    y = 2
    for key, what in (*_KEYS, *ends):
        for line in hanging(f"{key:<16}", what, canvas.width):
            canvas.text(0, y, line, Role.PLAIN, signs)
            y += 1


def draw(canvas: Canvas, screenful: Screenful) -> None:
    """Draw all of it."""
    draw_top(canvas, screenful)
    _arrange(_body(canvas, screenful), screenful.shown, panes_of(screenful.tab, screenful.shown))


def draw_top(canvas: Canvas, screenful: Screenful) -> None:
    """Draw what changes each second and costs little: the head, the tabs and the figures of this moment."""
    top = canvas.part(0, 0, canvas.width, canvas.height - _body(canvas, screenful).height)
    top.clear()
    rows = _head(top, screenful)
    _tabs(top.part(0, rows, top.width, 1), screenful)
    panes.figures(top.part(0, rows + 1, top.width, top.height - rows - 1), screenful.shown)


def _body(canvas: Canvas, screenful: Screenful) -> Canvas:
    """Return where the panes are: below head, tabs and, on the overview, two rows of figures."""
    top = _HEAD_ROWS + len(_warnings(screenful.shown)) + 1
    if screenful.tab == 0 and canvas.height - top > LEAST_HEIGHT:
        top += 2
    return canvas.part(0, top, canvas.width, canvas.height - top)


def _warnings(shown: PaneContent) -> Sequence[str]:
    return shown.record.head.reservations or shown.view.head.reservations


def panes_of(tab: int, shown: PaneContent) -> list[Pane]:
    """Return the panes of a tab, the most important first."""
    kinds = shown.kinds
    sweep: list[Pane] = [panes.petals] if shown.record.head.kind == "sweep" else []
    of_kinds: list[Pane] = [partial(panes.latency_of, kind=kind) for kind in kinds]
    of_engine: list[Pane] = [partial(panes.heat_of, of=event) for event in shown.events[:_MAPS]]
    overview = (*sweep, panes.requests, panes.latency, panes.waits, panes.cpu, panes.heat)
    found: dict[str, list[Pane]] = {
        "Overview": [*overview, panes.device, panes.verdicts, panes.notes],
        "Latency": [*(of_kinds or [panes.latency]), *([panes.heat] if kinds else []), *of_engine],
        "Waits": [panes.waits, panes.wait_table],
        "Host": [panes.cpu, panes.device, panes.device_latency, panes.device_sizes],
        "Verdicts": [panes.verdicts],
        "Notes": [panes.notes],
        "Petals": [panes.petals, panes.points],
    }
    return found[TABS[tab]]


def _arrange(canvas: Canvas, shown: PaneContent, found: Sequence[Pane]) -> None:
    """Draw the panes from left to right and down; those for which there is no room are left out."""
    columns = max(1, min(canvas.width // LEAST_WIDTH, len(found)))
    # Petals are a picture of all points: the row that they are in is twice as high as the others.
    more = int(found[0] is panes.petals)
    rows = max(
        1, min(canvas.height // LEAST_HEIGHT - more * (canvas.height >= 3 * LEAST_HEIGHT), -(-len(found) // columns))
    )
    columns = -(-min(len(found), columns * rows) // rows)
    shown_panes = found[: columns * rows]
    for row in range(rows):
        top, bottom = (canvas.height * (at + more * (at > 0)) // (rows + more) for at in (row, row + 1))
        across = shown_panes[row * columns : (row + 1) * columns]
        for at, pane in enumerate(across):
            left, right = canvas.width * at // len(across), canvas.width * (at + 1) // len(across)
            gap = 0 if at == len(across) - 1 else 2
            pane(canvas.part(left, top, right - left - gap, bottom - top), shown)


def _head(canvas: Canvas, screenful: Screenful) -> int:
    """Draw what is shown and how far it is; return the number of rows."""
    shown = screenful.shown
    signs, record, run = shown.signs, shown.record.head, shown.view.head
    right = _playing(screenful.playhead)
    room = canvas.width - len(right) - 2
    name = f"{record.kind} {record.id}"
    x = canvas.write(0, 0, [(shortened(name, room), Role.STRONG), ("  ", Role.PLAIN)], signs)
    # The row below says of a run how it ended.
    ended = record.kind == "sweep" and record.progress is not RecordState.RUNNING
    state = record.progress.value if ended else _without(record, screenful.said)
    canvas.part(0, 0, room, 1).text(x, 0, state, _ENDS[record.progress], signs)
    canvas.text(canvas.width - len(right), 0, right, Role.SELECTED if right else Role.PLAIN, signs)
    _progress(canvas.part(0, 1, canvas.width, 1), shown, run if run.elapsed_s or run.phase else record)
    about = " · ".join(
        part for part in (run.product or record.product, run.load or record.load, run.target or record.target) if part
    )
    canvas.text(0, 2, shortened(about, canvas.width), Role.SOFT, signs)
    for at, text in enumerate(_warnings(shown), _HEAD_ROWS):
        canvas.text(0, at, shortened(f"! {text}", canvas.width), Role.UNSURE, signs)
    return _HEAD_ROWS + len(_warnings(shown))


def _without(record: Head, said: str) -> str:
    """Return what the driver says without the record's name, with which the id ends."""
    return said.removesuffix(record.name).rstrip() if record.name else said


def _playing(playhead: Playhead) -> str:
    if playhead.at_s is None:
        return ""
    at = clock(playhead.at_s)
    return f" replay x{playhead.speed} at {at} " if playhead.playing else f" held at {at} "


def _progress(canvas: Canvas, shown: PaneContent, head: Head) -> None:
    """Draw phase, bar and time; of a sweep, also which point it is."""
    points = shown.record.points
    ended = sum(point.state not in ("pending", "running") for point in points)
    before = f"{ended} of {len(points)} points  " if points else ""
    phase = head.phase or head.progress.value
    if head.planned_s:
        text = f"{clock(head.elapsed_s)} of {clock(head.planned_s)}"
        if head.phase:
            text += f", {format_duration(max(0.0, head.planned_s - head.elapsed_s))} left"
    else:
        text = clock(head.elapsed_s)
    role = Role.STRONG if head.phase else _ENDS[head.progress]
    x = canvas.write(0, 0, [(before, Role.PLAIN), (f"{phase}  ", role)], shown.signs)
    room = canvas.width - x - len(text) - 2
    if head.planned_s and room >= 8:
        full, empty = shown.signs.bar
        done = round(room * min(1.0, head.elapsed_s / head.planned_s))
        x = canvas.write(x, 0, [(full * done, Role.GOOD), (empty * (room - done), Role.SOFT)], shown.signs)
        x += 2
    canvas.text(x, 0, text, Role.PLAIN, shown.signs)


def _tabs(canvas: Canvas, screenful: Screenful) -> None:
    x = 0
    for at, name in enumerate(tabs_of(screenful.shown.record.head.kind)):
        role = Role.SELECTED if at == screenful.tab else Role.SOFT
        x = canvas.text(x, 0, f" {at + 1} {name} ", role, screenful.shown.signs)
