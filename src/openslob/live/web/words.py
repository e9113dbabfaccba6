"""What the page says in words and figures, besides its pictures: by section, ready to be shown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from openslob.live.view import Head, Note, PetalPoint, RecordState, View
from openslob.metrics import METRICS
from openslob.record.model import Figure, Holds, Verdict
from openslob.report.document import Verdicts
from openslob.report.format import quantity
from openslob.report.notebook import MAIN_FIGURES
from openslob.report.record_view import REACHED_DEVICE, FigureNames, figure_text

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


def sections(view: View, verdicts: Sequence[Verdict], read_share: float, end_s: float) -> dict[str, Any]:
    """Return what is shown of a view; the record ends at ``end_s``, and a share of it was read."""
    run = view.current or view
    names, now = names_of(verdicts), run.now
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


def names_of(verdicts: Sequence[Verdict]) -> FigureNames:
    """Return the names of figures: reads are physical only if they are known to have reached a device."""
    return FigureNames(any(each.name == REACHED_DEVICE and each.verdict is Holds.HOLDS for each in verdicts))


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
    rows = Verdicts(tuple(verdicts)).lines
    counts = {each: sum(row.outcome is each for row in rows) for each in Holds}
    so_far = " so far" if progress is RecordState.RUNNING else ""
    failing = f"{counts[Holds.FAILS]} fail{'s' if counts[Holds.FAILS] == 1 else ''}"
    counted = f"{failing}, {counts[Holds.UNKNOWN]} unknown, {counts[Holds.HOLDS]} hold" if rows else "none"
    return {
        "title": f"Verdicts{so_far}: {counted}",
        "rows": [[row.outcome.value, row.sign, row.outcome_text, row.name, row.why] for row in rows],
    }


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
