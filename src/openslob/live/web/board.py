"""What one kind of viewer sees, and what has changed in it since it was computed last.

Pictures show at most so many steps of equal length. While time goes on, only the last steps are read and sent; when
there are too many, they become longer, and everything is read again.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from openslob.analyze.steps import step_s
from openslob.analyze.verdict_registry import Severity
from openslob.kinds.view import Head, Note, PetalPoint, RecordState, View
from openslob.live.web.pictures import (
    LivePicture,
    Petals,
    Row,
    RowSource,
    Summary,
    TimeSteps,
    pictures_of,
    specification,
)
from openslob.metrics import METRICS, Timed
from openslob.record.model import Figure, Holds, Verdict
from openslob.report.document import VerdictLine, Verdicts
from openslob.report.format import quantity
from openslob.report.notebook import MAIN_FIGURES
from openslob.report.record_view import REACHED_DEVICE, FigureNames, figure_text

Patch = dict[str, Any]
# Files are written one after the other, and some are read from their end on: earlier steps may still change.
_LATE_STEPS = 3
_ALL_EVERY = 30
# Verdicts take longer to reach than figures, and do not change each second.
_JUDGED_EVERY = 5
# Pictures follow the figures at every second look of one a second.
_DRAWN_EVERY_S = 1.5
_SHORTEST_AXIS_S = 10.0
_AHEAD_S = (10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 43_200, 86_400)
_STATES = {
    RecordState.RUNNING: "in progress",
    RecordState.COMPLETE: "complete",
    RecordState.INTERRUPTED: "interrupted",
    RecordState.FAILED: "failed",
    RecordState.ABANDONED: "abandoned: what wrote it ended without a result",
}
_FIRST = tuple(dict.fromkeys(("ops_per_s", "transactions_per_s", *MAIN_FIGURES, "host_cpu_busy_pct")))
# As many notes as can be read; the record has all.
MOST_NOTES = 200
_POINT_FIGURES = ("pio_read_per_s", "lio_per_s", "ops_per_s", "engine_read_latency_us")


@dataclass
class _Shown:
    """A picture, its rows as they were read in the order of time, and these together."""

    picture: LivePicture
    rows: list[Row] = field(default_factory=list)
    summary: Summary = field(default_factory=Summary)


class Board:
    """The page of one span of time: the last ``span_s``, or all if that is 0."""

    def __init__(self, span_s: float) -> None:
        self._span_s = span_s
        self._sections: Patch = {}
        self._petals = Petals()
        self._shown: dict[str, _Shown] = {}
        self._run = ""
        self._steps: TimeSteps | None = None
        self._axis: Patch = {}
        self._updates = 0
        # The end of what the pictures show.
        self._drawn_s = 0.0
        self._progress = RecordState.RUNNING
        self._verdicts: Sequence[Verdict] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was computed yet."""
        return not self._sections

    def whole(self) -> Patch:
        """Return everything."""
        pictures = [self._whole(each) for each in self._shown.values() if each.summary.names]
        order = ["petals", *self._shown]
        return {
            "whole": True,
            **self._sections,
            "order": order,
            "axis": self._axis,
            "pictures": [*filter(None, [self._petals.whole()]), *pictures],
        }

    def update(self, view: View, read_share: float = 1.0, end_s: float | None = None) -> Patch:
        """Return what is new, of a record of which a share was read.

        ``end_s`` is the end of the record, if the view is of an earlier moment.
        """
        run = view.current or view
        if self._updates % _JUDGED_EVERY == 0 or run.head.progress is not self._progress or run.head.id != self._run:
            self._verdicts = run.verdicts
        names = names_of(self._verdicts, view.head.timed)
        now = sections(view, self._verdicts, read_share, view.head.elapsed_s if end_s is None else end_s)
        patch = _find_changed(self._sections, now)
        self._sections = now
        before = self._shown if run.head.id == self._run else {}
        self._shown = {
            each.name: before[each.name] if each.name in before and before[each.name].picture == each else _Shown(each)
            for each in pictures_of(run, names)
        }
        if run.head.id != self._run or list(before) != list(self._shown):
            self._run, self._steps, self._updates = run.head.id, None, 0
            patch["order"] = ["petals", *self._shown]
        pictures = [*filter(None, [self._petals.update(view.points, names)]), *self._update_pictures(run, read_share)]
        axis = self._axis_of(run)
        patch |= _find_changed({"axis": self._axis}, {"axis": axis})
        self._axis = axis
        return patch | ({"pictures": pictures} if pictures else {})

    def _update_pictures(self, run: View, read_share: float) -> list[Patch]:
        """Read the last steps, or all, and return the pictures that have changed."""
        before, steps = self._steps, self._steps_of(run.head.elapsed_s)
        if steps is None:
            self._steps = None
            return []
        again = not self._updates % _ALL_EVERY or read_share < 1 or run.head.progress is not self._progress
        self._progress = run.head.progress
        drawn_s = run.head.elapsed_s - self._drawn_s
        if not again and before and 0 <= drawn_s < max(steps.step_s / 2, _DRAWN_EVERY_S):
            # Of a long run, a second changes too little to be seen; pictures are most of the work.
            self._updates += 1
            return []
        self._steps, self._drawn_s = steps, run.head.elapsed_s
        # The first look after the last part of the record was read sees all of it.
        self._updates = 0 if read_share < 1 else self._updates + 1
        goes_on = before is not None and before.step_s == steps.step_s and before.end_s <= steps.end_s and not again
        # Pictures of the same rows read them once.
        read = cache(lambda source, steps: source.read(run, steps))
        changed = [self._changes(each, read, steps, goes_on) for each in self._shown.values()]
        return [each for each in changed if each]

    def _changes(
        self, shown: _Shown, read: Callable[[RowSource, TimeSteps], list[Row]], steps: TimeSteps, goes_on: bool
    ) -> Patch:
        """Read a picture again: if it goes on, from the last steps that were known."""
        begin_s, late_s = steps.begin_s, _LATE_STEPS * steps.step_s
        since_s = max(shown.rows[-1]["from_s"] - late_s, begin_s) if shown.rows and goes_on else begin_s
        new = read(shown.picture.source, TimeSteps(since_s, steps.end_s, steps.step_s))
        # The picture's own steps may be longer.
        since_s = min(since_s, new[0]["from_s"] if new else since_s)
        first, cut = (bisect_left(shown.rows, at_s, key=_begin_of) for at_s in (begin_s, since_s))
        different_s = _first_difference(shown.rows[cut:], new)
        shown.rows[cut:] = new
        del shown.rows[: min(first, cut)]
        before, shown.summary = shown.summary.names, shown.picture.sum_up(shown.rows)
        if not shown.summary.names:
            return {}
        if before != shown.summary.names:
            return self._whole(shown)
        if different_s is None:
            return {}
        return _make_patch(shown, shown.rows[bisect_left(shown.rows, different_s, key=_begin_of) :]) | {
            "since": different_s
        }

    def _whole(self, shown: _Shown) -> Patch:
        return _make_patch(shown, shown.rows) | {"spec": specification(shown.picture, shown.summary.names)}

    def _steps_of(self, elapsed_s: float) -> TimeSteps | None:
        """Return the steps of what is shown, on multiples of their length; None before there is anything."""
        if elapsed_s <= 0:
            return None
        step = float(step_s(min(self._span_s, elapsed_s) if self._span_s else elapsed_s))
        begin_s = max(elapsed_s - self._span_s, 0.0) if self._span_s else 0.0
        return TimeSteps(math.floor(begin_s / step) * step, math.ceil(elapsed_s / step) * step, step)

    def _axis_of(self, run: View) -> Patch:
        """Return the ends of the axis of time: somewhat ahead of a run in progress, so that it need not move."""
        head, steps = run.head, self._steps
        if steps is None:
            return {"begin_s": 0.0, "end_s": _SHORTEST_AXIS_S}
        if self._span_s and steps.begin_s:
            return {"begin_s": steps.begin_s, "end_s": steps.end_s}
        if head.progress is not RecordState.RUNNING:
            return {"begin_s": 0.0, "end_s": head.elapsed_s}
        ahead = next((each for each in _AHEAD_S if each >= steps.end_s), steps.end_s)
        return {"begin_s": 0.0, "end_s": max(min(ahead, head.planned_s or ahead), steps.end_s)}


def _begin_of(row: Row) -> float:
    begin_s: float = row["from_s"]
    return begin_s


def _make_patch(shown: _Shown, read: Sequence[Row]) -> Patch:
    rows = shown.picture.drawn(read, shown.summary.names)
    columns = list(rows[0]) if rows else []
    return {
        "name": shown.picture.name,
        "title": shown.picture.title,
        "text": shown.summary.text,
        "signals": shown.summary.signals,
        "columns": columns,
        "rows": [[_short(row[name]) for name in columns] for row in rows],
    }


def _short(value: Any) -> Any:  # noqa: ANN401
    """Return a number with as many digits as can be seen."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _first_difference(before: Sequence[Row], after: Sequence[Row]) -> float | None:
    """Return the time from which on rows differ; None if they are the same."""
    same = next(
        (at for at, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )
    times = [_begin_of(rows[same]) for rows in (before, after) if same < len(rows)]
    return min(times, default=None)


def _find_changed(before: Patch, after: Patch) -> Patch:
    return {name: each for name, each in after.items() if name not in before or before[name] != each}


def sections(view: View, verdicts: Sequence[Verdict], read_share: float, end_s: float) -> dict[str, Any]:
    """Return what is shown of a view; the record ends at ``end_s``, and a share of it was read."""
    run = view.current or view
    names, now = names_of(verdicts, view.head.timed), run.now
    return {
        "head": _head(view.head, end_s),
        "read_pct": math.floor(100 * read_share),
        "run": _head(run.head, run.head.elapsed_s) if view.current else None,
        "meanings": _meanings(now, names),
        "figures": _figures(now),
        "verdicts": _verdicts(verdicts, run.head.progress),
        "notes": [_note(each) for each in view.notes[-MOST_NOTES:]],
        "points": _points(view.points, names),
    }


def names_of(verdicts: Sequence[Verdict], timed: Timed) -> FigureNames:
    """Return the names of figures: reads are physical only if they are known to have reached a device."""
    physical = any(each.name == REACHED_DEVICE and each.verdict is Holds.HOLDS for each in verdicts)
    return FigureNames(physical, timed=timed)


def _head(head: Head, end_s: float) -> dict[str, Any]:
    return {
        "id": head.id,
        "name": head.name,
        "kind": head.kind,
        "state": head.progress.value,
        "says": _STATES[head.progress],
        "phase": head.phase,
        "about": [each for each in (head.product, head.target, head.load) if each],
        "started": head.started_at.replace("T", " ").removesuffix("Z"),
        "elapsed_s": round(head.elapsed_s, 3),
        "planned_s": head.planned_s,
        "end_s": round(end_s, 3),
        "reservations": list(head.reservations),
    }


def _meanings(now: Mapping[str, Figure], names: FigureNames) -> dict[str, list[str]]:
    return {
        name: [names.label(name), METRICS[name].definition] if name in METRICS else [name.replace("_", " "), ""]
        for name in now
    }


def _figures(now: Mapping[str, Figure]) -> list[list[Any]]:
    """Return name, text, why it is not known, and whether it is shown at once."""
    order = [*(name for name in _FIRST if name in now), *(name for name in now if name not in _FIRST)]
    return [
        [name, _text(name, now[name]), now[name].why or "", name in _FIRST and now[name].value is not None]
        for name in order
    ]


def _text(name: str, figure: Figure) -> str:
    return figure_text(name, figure.value, figure.unit) if name in METRICS else quantity(figure.value, figure.unit)


def _verdicts(verdicts: Sequence[Verdict], progress: RecordState) -> dict[str, Any]:
    lines = Verdicts(tuple(verdicts)).lines
    order = [*(each.value for each in Severity), _CANNOT_TELL, _HOLDS]
    rows = sorted(([_class_of(line), line.sign, line.word, line.name, line.why] for line in lines),
                  key=lambda row: order.index(row[2]))  # fmt: skip
    counts = Counter(row[2] for row in rows)
    so_far = " so far" if progress is RecordState.RUNNING else ""
    counted = [_counted(counts[word], word) for word in order if counts[word]]
    return {"title": f"Verdicts{so_far}: {', '.join(counted) or 'none'}", "rows": rows}


_CANNOT_TELL, _HOLDS = "can't tell", "holds"


def _class_of(line: VerdictLine) -> str:
    """Return the class of its row on the page: what follows if it fails, or else its outcome."""
    return line.severity.value if line.outcome is Holds.FAILS else line.outcome.value


def _counted(count: int, word: str) -> str:
    nouns = {_CANNOT_TELL: (_CANNOT_TELL, _CANNOT_TELL), _HOLDS: ("holds", "hold"), Severity.INVALID: ("invalid",) * 2}
    one, several = nouns.get(word, (word, f"{word}s"))
    return f"{count} {one if count == 1 else several}"


def _note(note: Note) -> list[Any]:
    return [None if note.at_s is None else round(note.at_s, 1), note.kind, note.text]


def _points(points: Sequence[PetalPoint], names: FigureNames) -> dict[str, Any] | None:
    if not points:
        return None
    shown = [name for name in _POINT_FIGURES if any(name in each.figures for each in points)]
    rows = [
        [str(each.number), each.petal, str(each.sessions), each.state, *(_of_point(each, name) for name in shown)]
        for each in points
    ]
    return {"head": ["point", "line", "sessions", "state", *(names.label(name) for name in shown)], "rows": rows}


def _of_point(point: PetalPoint, name: str) -> str:
    figure = point.figures.get(name)
    return "" if figure is None else _text(name, figure)
