"""The picture of a sweep on the page: the points that are done, as in the report, and the one in progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from openslob.analyze.curves.series import CACHED, MIN_READ_SHARE, PHYSICAL, Axes
from openslob.live.view import PetalPoint
from openslob.report.charts.petals import RUNNING, petal_panel, verdict_sign
from openslob.report.charts.picture import Picture, page_specs
from openslob.report.format import number
from openslob.report.record_view import FigureNames

Row = dict[str, Any]
Patch = dict[str, Any]
DONE, RUNS = "done", "running"


class Petals:
    """The picture as it was drawn last."""

    def __init__(self) -> None:
        self._axes = PHYSICAL
        self._rows: list[Row] | None = None
        self._now: list[Row] = []
        self._fits = False
        self._patch: Patch = {}

    def whole(self) -> Patch:
        """Return the picture; empty if nothing can be drawn."""
        return self._patch

    def update(self, points: Sequence[PetalPoint], names: FigureNames) -> Patch:
        """Return what is new in it."""
        self._axes = _axes_for(points)
        rows, now = self._done(points), self._running(points)
        if rows == self._rows and now == self._now:
            return {}
        again = rows != self._rows or not self._patch or not _within(now, self._patch["limits"])
        self._rows, self._now = rows, now
        if not rows and not now:
            self._patch = {}
            return {}
        text = _in_words(rows, names.label(self._axes.throughput))
        sent: Patch = {"name": "petals", "title": "Latency over throughput", "text": text, "now": now}
        if not again:
            self._patch |= sent
            return sent
        panel = petal_panel(rows, self._axes, "sessions", names, now=now[0] if now else None)
        (spec,) = page_specs(Picture("petals", sent["title"], text, (panel,)))
        self._patch = sent | {"spec": spec, "limits": _limits([*rows, *now])}
        return self._patch

    def _done(self, points: Sequence[PetalPoint]) -> list[Row]:
        rows = []
        for petal in dict.fromkeys(point.petal for point in points):
            counts = sorted({point.sessions for point in points if point.petal == petal})
            stretch, before = 0, -1
            for order, sessions in enumerate(counts):
                same = [each for each in points if (each.petal, each.sessions) == (petal, sessions)]
                measured = [found for each in same if each.state == DONE and (found := self._place(each))]
                fails = dict.fromkeys(name for each in same if each.state == DONE for name in each.fails)
                if not measured:
                    continue
                stretch += order != before + 1
                before = order
                x, y = (fmean(each[axis] for each in measured) for axis in (0, 1))
                row = _row(petal, sessions, x, y, len(measured), tuple(fails))
                rows.append(row | {"order": order, "stretch": stretch, "end": order in (0, len(counts) - 1)})
        return rows

    def _running(self, points: Sequence[PetalPoint]) -> list[Row]:
        return [
            _row(point.petal, point.sessions, *place, 1, point.fails) | {"doubt": RUNNING.name, "sign": RUNNING.name}
            for point in points
            if point.state == RUNS and (place := self._place(point))
        ][:1]

    def _place(self, point: PetalPoint) -> tuple[float, float] | None:
        x, y = (point.figures.get(name) for name in (self._axes.throughput, self._axes.latency))
        if x is None or y is None or x.value is None or y.value is None:
            return None
        return x.value, y.value


def _axes_for(points: Sequence[PetalPoint]) -> Axes:
    """Return the axes of the report: those of physical reads, unless most blocks come from the cache."""
    reads, visits = (
        sum(figure.value or 0.0 for each in points if each.state == DONE and (figure := each.figures.get(name)))
        for name in (PHYSICAL.throughput, CACHED.throughput)
    )
    return CACHED if reads < MIN_READ_SHARE * visits else PHYSICAL


def _row(petal: str, sessions: int, x: float, y: float, runs: int, fails: Sequence[str]) -> Row:
    return {
        "line": petal, "colour": petal, "dash": petal, "sessions": sessions, "order": 0, "stretch": 0, "end": True,
        "x": x, "x_low": None, "x_high": None, "y": y, "y_low": None, "y_high": None, "runs": runs,
        "doubt": verdict_sign(dict.fromkeys(fails, "")), "knee": False,
        "fails": ", ".join(name.replace("_", " ") for name in fails) or "none",
    }  # fmt: skip


def _limits(rows: Sequence[Row]) -> Mapping[str, tuple[float, float]]:
    return {axis: (min(row[axis] for row in rows), max(row[axis] for row in rows)) for axis in ("x", "y")}


def _within(now: Sequence[Row], limits: Mapping[str, tuple[float, float]]) -> bool:
    return all(low <= row[axis] <= high for row in now for axis, (low, high) in limits.items())


def _in_words(rows: Sequence[Row], throughput: str) -> str:
    best: dict[str, Row] = {}
    for row in rows:
        if row["line"] not in best or row["x"] > best[row["line"]]["x"]:
            best[row["line"]] = row
    texts = [f"{line}: at most {number(row['x'])}/s with {row['sessions']}" for line, row in best.items()]
    return f"{throughput}, by sessions. {'; '.join(texts)}." if texts else "No point is done yet."
