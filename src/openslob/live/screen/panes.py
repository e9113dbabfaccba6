"""The panes of the screen: each draws one side of a record into its part of a canvas.

Head, tabs, and the panes of a tab in as many columns and rows as there is room make the whole screen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from openslob.analyze.curves.series import Axes
from openslob.analyze.verdict_registry import Severity
from openslob.core.units import format_duration
from openslob.kinds.view import CLASS_RATE, Curve, Head, PetalPoint, RecordState, Stack, View, requests_in
from openslob.live.axes import axes_for
from openslob.live.screen.canvas import Canvas, Role, Signs, series_role
from openslob.live.screen.playhead import Playhead
from openslob.live.screen.plots import Axis, MapRange, Span, clock, draw_frame, draw_lines, draw_map, draw_stack
from openslob.metrics import METRICS
from openslob.record.model import Figure
from openslob.report.document import Verdicts
from openslob.report.format import MISSING, hanging, micros, number, per_second, percent, quantity, shorten
from openslob.report.text_plot import TextLine, text_plot

# Figures of the head and of plots, with names that are short enough for 80 columns. Whether reads were physical is a
# verdict, and known at the end.
FIGURES: Mapping[str, str] = {
    "pio_read_per_s": "reads",
    "engine_read_latency_us": "read latency",
    "pio_write_per_s": "writes",
    "lio_per_s": "logical reads",
    "block_visits_per_s": "block visits",
    "ops_per_s": "operations",
    "transactions_per_s": "transactions",
    "commits_per_s": "commits",
    "redo_mb_per_s": "redo",
    "log_sync_latency_us": "log sync",
    "db_cpu_per_s": "DB CPU",
    "host_cpu_busy_pct": "host CPU",
    "iops_per_db_cpu": "reads per CPU second",
}
_ENGINE_LATENCY = ("engine_read_latency_us", "log_sync_latency_us")
_DEVICE = {"device.reads_per_s": "reads", "device.writes_per_s": "writes"}
_SIZES = {"device.read_mb_per_s": "read", "device.write_mb_per_s": "written"}
_PERCENTILES = {"max": "longest", "p999": "p99.9", "p99": "p99", "p90": "p90", "p50": "p50"}
# Red is what must not be used.
_WORDS = {
    Severity.INVALID.value: Role.BAD,
    Severity.CAUTION.value: Role.UNSURE,
    Severity.NOTE.value: Role.PLAIN,
    "can't tell": Role.SOFT,
    "holds": Role.GOOD,
}
_STATES = {"running": Role.GOOD, "failed": Role.BAD, "skipped": Role.UNSURE, "pending": Role.SOFT}
_POINT = ("pio_read_per_s", "engine_read_latency_us", "block_visits_per_s")
# Below so many columns a plot has no room beside its labels.
_LEAST_PLOT = 20
# How old the last known value may be, in seconds or one step, before it is no longer that of this moment.
_RECENT_S = 3.0
# A driver writes latencies of operations after the last slice that may have some of their second.
_RECENT_LATENCY_S = 6.0
# A pane of at least so many rows has two for its legend.
_TWO_ROWS = 8
_NOTES = {"phase": Role.SOFT, "error": Role.BAD}
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
class PaneContent:
    """What panes show: the run or observation, and the record that is in progress, to which it may belong."""

    view: View
    record: View
    span: Span
    signs: Signs
    intensity: bool = False
    scroll: int = 0

    @property
    def is_last(self) -> bool:
        """Whether the run is over, and the record has others: those that come have nothing to show yet."""
        return self.view is not self.record and self.view.head.progress is not RecordState.RUNNING

    @cached_property
    def now(self) -> Mapping[str, Figure]:
        """The figures of this moment, which the view computes each time that it is asked."""
        return self.view.now

    @cached_property
    def names(self) -> frozenset[str]:
        """The series that there are."""
        return frozenset(self.view.names)

    @cached_property
    def kinds(self) -> list[str]:
        """The kinds of operations whose latency is known."""
        return sorted({name.split(".")[1] for name in self.names if name.startswith("latency.")})

    @cached_property
    def class_rates(self) -> Mapping[str, str]:
        """The series of classes of sessions, with the name of each class."""
        return {name: name.removesuffix(CLASS_RATE) for name in self.view.names if name.endswith(CLASS_RATE)}

    @cached_property
    def events(self) -> Sequence[str]:
        """The events that the engine counts by duration."""
        return self.view.waits_by_duration

    def series(self, name: str, canvas: Canvas) -> Curve:
        """Return a figure over the time that is shown, in steps that a canvas can show."""
        return self.view.series(name, self.span.begin_s, self.span.end_s, max(2 * canvas.width, 2))


Pane = Callable[[Canvas, PaneContent], None]


def requests(canvas: Canvas, shown: PaneContent) -> None:
    """Draw what the engine did per second."""
    _lines(canvas, shown, "Per second", {name: FIGURES[name] for name in requests_in(shown.view.names)}, number)


def class_rates(canvas: Canvas, shown: PaneContent) -> None:
    """Draw what each class of sessions did per second."""
    _lines(canvas, shown, "Operations per second", shown.class_rates, number)


def latency(canvas: Canvas, shown: PaneContent) -> None:
    """Draw the latency of operations: all percentiles of the only kind, or two of each of several."""
    kinds = shown.kinds
    if not kinds:
        names = {name: FIGURES[name] for name in _ENGINE_LATENCY if name in shown.names}
        _lines(canvas, shown, "Latency of the engine", names, micros, log=True)
    elif len(kinds) == 1:
        latency_of(canvas, shown, kinds[0])
    else:
        wanted = {f"latency.{kind}.{each}_us": f"{kind} {each}" for kind in kinds for each in ("p99", "p50")}
        timed = shown.view.head.timed
        title = f"Latency of {timed.many()}" if timed.is_batch else "Latency"
        _lines(canvas, shown, title, _there(shown, wanted), micros, log=True)


def latency_of(canvas: Canvas, shown: PaneContent, kind: str) -> None:
    """Draw the percentiles of one kind of operation."""
    wanted = {f"latency.{kind}.{each}_us": text for each, text in _PERCENTILES.items()}
    _lines(canvas, shown, f"Latency of {shown.view.head.timed.many(kind)}", _there(shown, wanted), micros, log=True)


def waits(canvas: Canvas, shown: PaneContent) -> None:
    """Draw what the sessions wait for."""
    stack = shown.view.waits(shown.span.begin_s, shown.span.end_s, max(canvas.width, 2))
    _stack(canvas, shown, "Waits, sessions", stack, number)


def cpu(canvas: Canvas, shown: PaneContent) -> None:
    """Draw the CPU time of the host by kind."""
    stack = shown.view.cpu(shown.span.begin_s, shown.span.end_s, max(canvas.width, 2))
    _stack(canvas, shown, "Host CPU", stack, percent, Axis(0.0, 100.0, text=percent))


def device(canvas: Canvas, shown: PaneContent) -> None:
    """Draw the requests of the block device."""
    _lines(canvas, shown, "Device, per second", _there(shown, _DEVICE), number)


def device_sizes(canvas: Canvas, shown: PaneContent) -> None:
    """Draw the bytes of the block device."""
    _lines(canvas, shown, "Device, MB/s", _there(shown, _SIZES), number)


def device_latency(canvas: Canvas, shown: PaneContent) -> None:
    """Draw how long the device took for a read."""
    _lines(canvas, shown, "Device", _there(shown, {"device.read_latency_us": "read latency"}), micros, log=True)


def heat(canvas: Canvas, shown: PaneContent) -> None:
    """Draw the map of the latency of operations; of a load without any, that of the engine's waits."""
    of = next(iter([*shown.kinds, *shown.events]), "")
    if of:
        heat_of(canvas, shown, of)
        return
    _title(canvas, shown, "Latency")
    _nothing(canvas, shown, "no operations of our own")


def heat_of(canvas: Canvas, shown: PaneContent, of: str) -> None:
    """Draw the map of one kind of operation, or of one event of the engine."""
    own = of in shown.kinds
    share = "share of the time" if shown.intensity else f"share of {'operations' if own else 'waits'}"
    name = f"Latency of {shown.view.head.timed.many(of)}" if own else f"Engine's waits, {of.partition(':')[2] or of}"
    _title(canvas, shown, f"{name}, {share}")
    found = shown.view.heat(of, shown.span.begin_s, shown.span.end_s, max(canvas.width - 8, 2))
    extent = MapRange.of(found)
    if extent is None:
        _nothing(canvas, shown)
        return
    axis = Axis(extent.low_us, extent.high_us, log=True, text=micros)
    draw_map(draw_frame(_below(canvas), shown.span, axis, shown.signs), axis, found, shown.intensity)


def figures(canvas: Canvas, shown: PaneContent) -> None:
    """Write the figures of this moment, as many as there is room for, each below its name."""
    if canvas.height < 2:
        return
    x = 0
    for name, text in current(shown.now):
        width = max(len(name), len(text)) + 2
        if x + width > canvas.width:
            break
        canvas.text(x, 0, f"{name:>{width - 2}}", Role.SOFT, shown.signs)
        canvas.text(x, 1, f"{text:>{width - 2}}", Role.STRONG, shown.signs)
        x += width


def current(now: Mapping[str, Figure]) -> list[tuple[str, str]]:
    """Return the figures of this moment with their units: those that are known, before the others."""
    found = [(label, now[name]) for name, label in FIGURES.items() if name in now]
    found += [
        (METRICS[name].label_of(physical=False), each)
        for name, each in now.items()
        if name not in FIGURES and is_of_a_moment(name)
    ]
    known = [(label, each) for label, each in found if each.value is not None]
    return [(label, figure_text(each)) for label, each in [*known, *(each for each in found if each not in known)]]


def is_of_a_moment(name: str) -> bool:
    """Return whether a figure says how something goes on, and not how much there was in all."""
    return name in METRICS and (METRICS[name].unit.endswith("/s") or METRICS[name].unit[:1] in ("%", "µ"))


def figure_text(figure: Figure) -> str:
    """Write a figure with its unit."""
    unit = "1/s" if figure.unit == "blocks/s" else figure.unit
    return per_second(figure.value, unit) if unit.endswith("/s") else quantity(figure.value, unit)


def verdicts(canvas: Canvas, shown: PaneContent) -> None:
    """Write the verdicts as they stand, the gravest first."""
    judged = sorted(Verdicts(tuple(shown.view.verdicts)).lines, key=lambda each: list(_WORDS).index(each.word))
    lines: list[tuple[str, int, int]] = []
    width = max((len(each.name) for each in judged), default=0)
    for each in judged:
        sign = f"{each.sign} {each.word}"
        head = f"{sign:<12} {each.name:<{width}}  "
        lines += [(line[2:], _WORDS[each.word], len(sign)) for line in hanging(head, each.why, canvas.width + 2)]
    _title(canvas, shown, f"Verdicts{' so far' if shown.view.head.phase else ''}")
    _texts(_below(canvas), shown, lines, "no verdict yet")


def notes(canvas: Canvas, shown: PaneContent) -> None:
    """Write what happened, the latest last."""
    lines: list[tuple[str, int, int]] = []
    for note in shown.record.notes:
        moment = "" if note.at_s is None else clock(note.at_s)
        kind = "" if note.kind == "note" else f"{note.kind}: "
        wrapped = hanging(f"{moment:>7}  ", f"{kind}{note.text}", canvas.width + 2)
        lines += [(line[2:], _NOTES.get(note.kind, Role.PLAIN), canvas.width) for line in wrapped]
    _title(canvas, shown, "Notes")
    _texts(_below(canvas), shown, lines, "nothing so far", at_end=True)


def petals(canvas: Canvas, shown: PaneContent) -> None:
    """Draw latency over throughput, a line for each petal of a sweep, and the point that is being measured."""
    axes = axes_for(shown.record.points)
    lines = _petal_lines(shown.record.points, axes)
    across = f"{FIGURES[axes.throughput]} per second"
    timed = shown.record.head.timed
    up = FIGURES.get(axes.latency, f"mean latency of {timed.a()}" if timed.is_batch else "mean latency")
    _title(canvas, shown, "Petals")
    drawn = canvas.width >= _LEAST_PLOT and text_plot(lines, across, up, canvas.width, max(canvas.height - 6, 3))
    if not drawn:
        _nothing(canvas, shown, "no point is done yet")
    for y, line in enumerate(drawn or ()):
        canvas.text(0, 1 + y, line, Role.PLAIN, shown.signs)


def points(canvas: Canvas, shown: PaneContent) -> None:
    """Write the points of a sweep with their states."""
    lines: list[tuple[str, int, int]] = []
    for point in shown.record.points:
        text = f"{point.number:>4}  {point.state:<8} {point.petal}  {point.sessions} sessions"
        found = [f"{FIGURES[name]} {figure_text(point.figures[name])}" for name in _POINT if name in point.figures]
        lines.append(("  ".join([text, *found]), _STATES.get(point.state, Role.PLAIN), 14))
    _title(canvas, shown, "Points")
    _texts(_below(canvas), shown, lines, "no points yet")


def wait_table(canvas: Canvas, shown: PaneContent) -> None:
    """Write what the sessions wait for at the moment that is shown, and over the time that is shown."""
    stack = shown.view.waits(shown.span.begin_s, shown.span.end_s, max(canvas.width, 2))
    sums = [sum(value for value in values if value is not None) for values in stack.values]
    total = sum(sums)
    width = max((len(name) for name in stack.names), default=0)
    lines = [(f"{'event':<{width}}  {'now':>8}  {'share':>7}", int(Role.SOFT), canvas.width)]
    for at, (name, values) in enumerate(zip(stack.names, stack.values, strict=True)):
        share = percent(sums[at] / total * 100) if total else MISSING
        now = number(values[-1]) if len(values) else MISSING
        lines.append((f"{name:<{width}}  {now:>8}  {share:>7}", series_role(at), len(name)))
    _title(canvas, shown, "Sessions by event, sampled")
    _texts(_below(canvas), shown, lines if stack.names else [], "nothing measured yet")


def _texts(
    canvas: Canvas, shown: PaneContent, lines: Sequence[tuple[str, int, int]], none: str, at_end: bool = False
) -> None:
    """Write lines, the first signs of each in its role; the scroll says how far from the usual begin."""
    if not lines:
        canvas.text(0, 0, none, Role.SOFT, shown.signs)
    hidden = max(0, len(lines) - canvas.height)
    first = min(max((hidden if at_end else 0) + shown.scroll, 0), hidden)
    for y, (line, role, signed) in enumerate(lines[first : first + canvas.height]):
        canvas.write(0, y, [(line[:signed], role), (line[signed:], Role.PLAIN)], shown.signs)


def _there(shown: PaneContent, wanted: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in wanted.items() if name in shown.names}


def _lines(
    canvas: Canvas,
    shown: PaneContent,
    title: str,
    names: Mapping[str, str],
    text: Callable[[float | None], str],
    log: bool = False,
) -> None:
    found = [shown.series(name, canvas) for name in names]
    values = [value for each in found for value in each.high if value is not None]
    axis = Axis.of(values, text, log)
    legend = [
        f"{label} {text(_last(series.at_s, series.mean, _recent_s(series.name)))}"
        for series, label in zip(found, names.values(), strict=True)
    ]
    field = _legend(canvas, shown.signs, f"{title}{', log' if axis.log else ''}", legend)
    if values:
        draw_lines(draw_frame(field, shown.span, axis, shown.signs), axis, found)
    else:
        _nothing(canvas, shown)


def _stack(
    canvas: Canvas,
    shown: PaneContent,
    title: str,
    stack: Stack,
    text: Callable[[float | None], str],
    axis: Axis | None = None,
) -> None:
    pairs = zip(stack.names, stack.values, strict=True)
    legend = [f"{name} {text(_last(stack.at_s, values))}" for name, values in pairs]
    field = _legend(canvas, shown.signs, title, legend)
    if not len(stack.at_s):
        _nothing(canvas, shown)
        return
    axis = axis or Axis.of([sum(value or 0.0 for value in column) for column in zip(*stack.values, strict=True)], text)
    draw_stack(draw_frame(field, shown.span, axis, shown.signs), axis, stack)


def _legend(canvas: Canvas, signs: Signs, title: str, texts: Sequence[str]) -> Canvas:
    """Write the title and, where there is room, what the parts are, in two rows if one is too short.

    Returns what is left of the canvas.
    """
    most = 2 if canvas.height >= _TWO_ROWS else 1
    x, y = canvas.text(0, 0, title, Role.STRONG, signs) + 2, 0
    for at, text in enumerate(texts):
        if x + len(text) + 2 > canvas.width and y + 1 < most:
            x, y = 0, y + 1
        if x + len(text) + 2 > canvas.width:
            break
        x = canvas.text(x, y, f"{'■' if signs.dotted else signs.mark(at)} ", series_role(at), signs)
        x = canvas.text(x, y, text, Role.PLAIN, signs) + 2
    return canvas.part(0, y + 1, canvas.width, canvas.height - y - 1)


def _title(canvas: Canvas, shown: PaneContent, text: str) -> None:
    canvas.text(0, 0, text, Role.STRONG, shown.signs)


def _below(canvas: Canvas) -> Canvas:
    return canvas.part(0, 1, canvas.width, canvas.height - 1)


def _nothing(canvas: Canvas, shown: PaneContent, why: str = "") -> None:
    """Write why there is nothing to draw."""
    over = shown.view.head.progress is not RecordState.RUNNING
    usual = "too short: seconds in which counters lag are left out" if over else "nothing measured yet"
    canvas.text(2, 1 + canvas.height // 3, why or usual, Role.SOFT, shown.signs)


def _recent_s(name: str) -> float:
    return _RECENT_LATENCY_S if name.startswith("latency.") or name.endswith(CLASS_RATE) else _RECENT_S


def _last(at_s: Sequence[float], values: Sequence[float | None], recent_s: float = _RECENT_S) -> float | None:
    """Return the last value that is known, unless it is from long before the end."""
    recent = [value for at, value in zip(at_s, values, strict=True) if at >= at_s[-1] - recent_s]
    return next((value for value in reversed([*values[-2:-1], *recent]) if value is not None), None)


def _petal_lines(points: Sequence[PetalPoint], axes: Axes) -> list[TextLine]:
    """Return the lines of the petals, and as the last one the point that is being measured."""
    petals: dict[str, list[tuple[float, float, str]]] = {}
    for point in points:
        name = "running" if point.state == "running" else point.petal
        both = (axes.throughput, axes.latency)
        rate, us = (point.figures[each].value if each in point.figures else None for each in both)
        if rate is not None and us is not None:
            petals.setdefault(name, []).append((rate, us, str(point.sessions)))
    lines = [TextLine(name, sorted(places, key=_sessions)) for name, places in petals.items()]
    return sorted(lines, key=lambda line: line.name == "running")


def _sessions(point: tuple[float, float, str] | None) -> int:
    return int(point[2]) if point else 0


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
    figures(top.part(0, rows + 1, top.width, top.height - rows - 1), screenful.shown)


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
    ended: list[Pane] = [] if shown.record.head.progress is RecordState.RUNNING else [points]
    sweep: list[Pane] = [petals, *ended] if shown.record.head.kind == "sweep" else []
    of_kinds: list[Pane] = [partial(latency_of, kind=kind) for kind in kinds]
    of_engine: list[Pane] = [partial(heat_of, of=event) for event in shown.events[:_MAPS]]
    of_classes: list[Pane] = [class_rates] if shown.class_rates else []
    overview = (*sweep, requests, *of_classes, latency, waits, cpu, heat)
    found: dict[str, list[Pane]] = {
        "Overview": [*overview, device, verdicts, notes],
        "Latency": [*(of_kinds or [latency]), *([heat] if kinds else []), *of_engine],
        "Waits": [waits, wait_table],
        "Host": [cpu, device, device_latency, device_sizes],
        "Verdicts": [verdicts],
        "Notes": [notes],
        "Petals": [petals, points],
    }
    return found[TABS[tab]]


def _arrange(canvas: Canvas, shown: PaneContent, found: Sequence[Pane]) -> None:
    """Draw the panes from left to right and down; those for which there is no room are left out."""
    columns = max(1, min(canvas.width // LEAST_WIDTH, len(found)))
    # Petals are a picture of all points: the row that they are in is twice as high as the others.
    more = int(found[0] is petals)
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
    x = canvas.write(0, 0, [(shorten(name, room), Role.STRONG), ("  ", Role.PLAIN)], signs)
    # The row below says of a run how it ended.
    ended = record.kind == "sweep" and record.progress is not RecordState.RUNNING
    state = record.progress.value if ended else _without(record, screenful.said)
    canvas.part(0, 0, room, 1).text(x, 0, state, _ENDS[record.progress], signs)
    canvas.text(canvas.width - len(right), 0, right, Role.SELECTED if right else Role.PLAIN, signs)
    _progress(canvas.part(0, 1, canvas.width, 1), shown, run if run.elapsed_s or run.phase else record)
    about = (run.product or record.product, run.load or record.load, run.target or record.target)
    x = canvas.text(0, 2, "the last run: " if shown.is_last else "", Role.STRONG, signs)
    canvas.text(x, 2, shorten(" · ".join(part for part in about if part), canvas.width - x), Role.SOFT, signs)
    for at, text in enumerate(_warnings(shown), _HEAD_ROWS):
        canvas.text(0, at, shorten(f"! {text}", canvas.width), Role.UNSURE, signs)
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
    head = shown.record.head if shown.is_last else head
    phase = head.phase or head.progress.value
    if shown.is_last:
        canvas.write(0, 0, [(before, Role.PLAIN), (phase, Role.STRONG)], shown.signs)
        return
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
