"""The pictures of a run on the page: those of the report, with rows that come step by step.

A picture's specification depends on the names of what it draws, and on nothing that changes each second: rows and the
ends of axes are sent to it. So it is made once, and again when something new appears in it. The picture of a sweep has
the points that are done, as in the report, and the one in progress.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import accumulate
from statistics import fmean
from typing import Any

from openslob.analyze.curves.series import PHYSICAL
from openslob.analyze.heat import Cell
from openslob.analyze.verdict_registry import gravest, row_of
from openslob.core.session_classes import split_kind
from openslob.kinds.view import CLASS_RATE, Curve, HeatMap, PetalPoint, Stack, View
from openslob.live.axes import DONE, axes_for
from openslob.metrics import METRICS, Timed
from openslob.metrics.model import TimelinePanel
from openslob.metrics.timed import SINGLE
from openslob.report.charts import heat, over_time, time_panels
from openslob.report.charts.petals import Growing, petal_panel, verdict_sign
from openslob.report.charts.picture import Panel, Picture, Spec, page_specs
from openslob.report.charts.time_panels import SENT, SENT_ENDS, SENT_LATENCY
from openslob.report.format import micros, number
from openslob.report.record_view import FigureNames

Row = dict[str, Any]
Names = tuple[str, ...]
SIGNALS = {"begin_s": 0.0, "end_s": 60.0, "low_us": 1.0, "high_us": 1e6}
_WORK = ("ops_per_s", "transactions_per_s", "sql_per_s", "commits_per_s")
_LATENCIES = ("engine_read_latency_us", "log_sync_latency_us", "device.read_latency_us")
_DEVICE = {
    "device.reads_per_s": "Device reads",
    "device.writes_per_s": "Device writes",
    "device.read_mb_per_s": "Device reads",
    "device.write_mb_per_s": "Device writes",
    "device.read_latency_us": "Device read latency",
}
_MAPS = {heat.FREQUENCY: "share of the {}", heat.INTENSITY: "share of their time"}
_TIMES = {"latency": "Latency", "response": "Response time, from when it was due,"}
_BANDS = ("p50_us", "p90_us", "p99_us")
Patch = dict[str, Any]
RUNS = "running"
# Of an axis of petals, in parts of the lowest and the highest value on it.
_BEYOND = (0.85, 1.08)


@dataclass(frozen=True)
class TimeSteps:
    """Steps of equal length: all that a picture shows, or the last of them."""

    begin_s: float
    end_s: float
    step_s: float

    @property
    def most(self) -> int:
        """How many there are."""
        return max(round((self.end_s - self.begin_s) / self.step_s), 1)


@dataclass(frozen=True)
class Summary:
    """All rows of a picture together: the names that its specification depends on, them in words, and other signals.

    Without names, nothing is drawn.
    """

    names: Names = ()
    text: str = ""
    signals: Mapping[str, float] = field(default_factory=dict)


# A replay draws the same again and again.
@lru_cache(maxsize=200)
def specification(picture: LivePicture, names: Names) -> Spec:
    """Return a picture's Vega-Lite specification without data."""
    panel = picture.panel(names)
    (spec,) = page_specs(
        Picture(picture.name, picture.title, picture.title, (panel,), heights={0: time_panels.PANEL_HEIGHT})
    )
    return spec | {"params": [*spec["params"], *({"name": each, "value": value} for each, value in SIGNALS.items())]}


def pictures_of(view: View, names: FigureNames) -> list[LivePicture]:
    """Return the pictures of a run or an observation, in the order of the report."""
    there = view.names
    timed = [name.split(".") for name in there if name.split(".")[0] in _TIMES and name.endswith(".p50_us")]
    bands = [Bands(what, kind, view.head.timed) for what, kind, _ in timed]
    maps = [Heat(band.kind, weight, timed=band.timed) for band in bands if band.what == "latency" for weight in _MAPS]
    rates = [
        _rates(there, names, "requests", "Requests", "per second", _of(TimelinePanel.REQUESTS)),
        _rates(there, names, "sizes", "Throughput", "MB/s", _of(TimelinePanel.SIZES)),
    ]
    more = [
        _rates(there, names, "work", "Operations", "per second", _WORK),
        _rates(there, names, "classes", "Operations by class of sessions", "per second", _of_classes(there)),
        _rates(there, names, "latencies", "Latency of reads and log syncs, mean", "µs", _LATENCIES),
    ]
    maps += [Heat(event, weight, "waits") for event in view.waits_by_duration[: heat.MOST_EVENTS] for weight in _MAPS]
    return [each for each in (*rates, *bands, *maps, Waits(), Cpu(), *more) if each is not None]


def _of_classes(there: Sequence[str]) -> Names:
    return tuple(name for name in there if name.endswith(CLASS_RATE))


@cache
def _of(panel: TimelinePanel) -> Names:
    device = {TimelinePanel.REQUESTS: "s_per_s", TimelinePanel.SIZES: "mb_per_s"}[panel]
    figures = [name for name, metric in METRICS.items() if metric.panel is panel]
    return (*figures, *(name for name in _DEVICE if name.endswith(device)))


def _rates(
    there: Sequence[str], names: FigureNames, name: str, title: str, unit: str, wanted: Names
) -> RatePanel | None:
    labels = {each: _DEVICE.get(each) or split_kind(each)[0] or names.label(each) for each in wanted if each in there}
    # The device's rate has a name of its own only where the figures have none.
    first = {label: each for each, label in reversed(labels.items())}
    kept = tuple((each, label) for each, label in labels.items() if first[label] == each)
    return RatePanel(name, title, unit, kept) if kept else None


class RowSource(ABC):
    """What reads the rows of a picture: mostly the picture itself, which draws them as they are."""

    @abstractmethod
    def read(self, view: View, steps: TimeSteps) -> list[Row]:
        """Return the rows of some steps, in the order of time."""

    @property
    def source(self) -> RowSource:
        """What reads the rows; the same for pictures of the same rows."""
        return self

    def drawn(self, rows: Sequence[Row], names: Names) -> Sequence[Row]:  # noqa: ARG002 - all of them are
        """Return what is drawn of some rows."""
        return rows


@dataclass(frozen=True)
class RatePanel(RowSource):
    """Lines of figures; ``series`` has their names and labels."""

    name: str
    title: str
    unit: str
    series: tuple[tuple[str, str], ...]

    def read(self, view: View, steps: TimeSteps) -> list[Row]:
        """Return a row for each step and figure that is known."""
        rows = []
        for name, label in self.series:
            series = view.series(name, steps.begin_s, steps.end_s, steps.most)
            rows += [
                over_time.row_of(span, middle_s=sum(span) / 2, series=label, value=value)
                for span, value in zip(_spans(series), series.mean, strict=True)
                if value is not None
            ]
        return sorted(rows, key=lambda row: float(row["from_s"]))

    def sum_up(self, rows: Sequence[Row]) -> Summary:
        """Return the lines that have a point."""
        values: dict[str, list[float]] = {label: [] for _, label in self.series}
        for row in rows:
            values[row["series"]].append(row["value"])
        texts = [f"{name} {self._range(known)}" for name, known in values.items() if known]
        return Summary(tuple(name for name, known in values.items() if known), f"{'; '.join(texts)}." if texts else "")

    def _range(self, values: Sequence[float]) -> str:
        said = micros if self.unit == "µs" else number
        return f"{said(values[-1])} at last ({said(min(values))} to {said(max(values))})"

    def panel(self, names: Names) -> Panel:
        """Return the lines."""
        return time_panels.rates(f"picked_{self.name}", SENT, names, self.unit, SENT_ENDS)


@dataclass(frozen=True)
class Bands(RowSource):
    """Percentiles of the service time of one kind of operation, or of its response time."""

    what: str
    kind: str
    timed: Timed = SINGLE

    @property
    def name(self) -> str:
        """Its name on the page."""
        return f"{self.what}-{self.kind}"

    @property
    def title(self) -> str:
        """The heading over it."""
        return f"{_TIMES[self.what]} of {self.timed.many(self.kind)}"

    def read(self, view: View, steps: TimeSteps) -> list[Row]:
        """Return a row for each step."""
        at = (steps.begin_s, steps.end_s, steps.most)
        bands = [view.series(f"{self.what}.{self.kind}.{name}", *at) for name in _BANDS]
        steps_of = zip(_spans(bands[0]), *(each.mean for each in bands), strict=True)
        rows = [over_time.row_of(span, **dict(zip(_BANDS, values, strict=True))) for span, *values in steps_of]
        return [row for row in rows if any(row[name] is not None for name in _BANDS)]

    def sum_up(self, rows: Sequence[Row]) -> Summary:
        """Return the bands, and the ends of their axis."""
        values = [row[name] for row in rows for name in _BANDS if row[name] is not None]
        ends = {"low_us": 0.85 * min(values), "high_us": 1.15 * max(values)} if values else {}
        known = [row for row in rows if row[_BANDS[0]] is not None]
        text = ", ".join(f"{name.removesuffix('_us')} {micros(known[-1][name])}" for name in _BANDS) if known else ""
        return Summary(tuple(time_panels.bands_known(rows)), f"At last: {text}." if text else "", ends)

    def panel(self, names: Names) -> Panel:
        """Return the bands."""
        scale = time_panels.log_scale(*SENT_LATENCY)
        return time_panels.bands(self.timed.one(self.kind), SENT, names, scale, SENT_ENDS)


@dataclass(frozen=True)
class HeatCells(RowSource):
    """The cells of maps of latency over time, of one kind of operation."""

    kind: str

    def read(self, view: View, steps: TimeSteps) -> list[Row]:
        """Return a row for each cell in which something fell."""
        map_of = view.heat(self.kind, steps.begin_s, steps.end_s, steps.most)
        rows = []
        for span, counts, times in zip(_spans(map_of), map_of.counts, map_of.time_us, strict=True):
            cells = zip(map_of.edges_us, map_of.edges_us[1:], counts, times, strict=False)
            found = [Cell(low, below, round(count), time_us) for low, below, count, time_us in cells if count]
            rows += over_time.cell_rows(span, found) if found else []
        return rows


@dataclass(frozen=True)
class Heat(HeatCells):
    """A map of latency over time, of one kind of operation or event; ``weight`` is what its colours show."""

    weight: heat.Weight
    what: str = "operations"
    timed: Timed = SINGLE

    @property
    def name(self) -> str:
        """Its name on the page."""
        return "-".join(f"map-{self.kind}-{self.weight.field}".split())

    @property
    def title(self) -> str:
        """The heading over it."""
        is_own = self.what == "operations"
        of = f"Latency of {self.timed.many(self.kind)}" if is_own else f"Engine's waits, {self.kind},"
        return f"{of} over time: {_MAPS[self.weight].format(self.what)}"

    @property
    def source(self) -> RowSource:
        """The cells of both maps of a kind."""
        return HeatCells(self.kind)

    def sum_up(self, rows: Sequence[Row]) -> Summary:
        """Return the map, and the ends of its axis."""
        if not rows:
            return Summary()
        low_us, high_us = heat.latency_ends(rows)
        more = heat.ROUGH if self.what == "waits" else heat.MEAN if self.weight is heat.FREQUENCY else ""
        text = f"From {micros(low_us)} to {micros(high_us)}. {more}"
        return Summary(("cells",), text.rstrip(), {"low_us": low_us, "high_us": high_us})

    def panel(self, names: Names) -> Panel:  # noqa: ARG002 - a map draws the same of all
        """Return the map."""
        label, mean = self.kind.partition(":")[2] or self.timed.one(self.kind), self.what != "waits"
        return heat.heat_panel(label, self.what, self.weight, SENT, SENT_LATENCY, SENT_ENDS, mean)


@dataclass(frozen=True)
class Waits(RowSource):
    """Sessions by wait event."""

    name: str = "waits"
    title: str = "Sessions by wait event"

    def read(self, view: View, steps: TimeSteps) -> list[Row]:
        """Return a row for each step and event."""
        return _stack_rows(view.waits(steps.begin_s, steps.end_s, steps.most))

    def sum_up(self, rows: Sequence[Row]) -> Summary:
        """Return the most frequent events; the others are one."""
        total: Counter[str] = Counter()
        for row in rows:
            total[row["name"]] += row["value"]
        order = [name for name, _ in sorted(total.items(), key=lambda each: (-each[1], each[0]))]
        shown = [name for name in order if name != over_time.OTHERS][: over_time.MOST_EVENTS]
        names = (*shown, *([over_time.OTHERS] if len(order) > len(shown) else []))
        return Summary(names, _at_last(rows, "sessions on average"))

    def drawn(self, rows: Sequence[Row], names: Names) -> Sequence[Row]:
        """Return the events one on the other."""
        return _stack(rows, names, "event")

    def panel(self, names: Names) -> Panel:
        """Return the stack."""
        return time_panels.waits(SENT, names, SENT_ENDS)


@dataclass(frozen=True)
class Cpu(RowSource):
    """The host's CPU time by kind."""

    name: str = "cpu"
    title: str = "CPU of the host"

    def read(self, view: View, steps: TimeSteps) -> list[Row]:
        """Return a row for each step and kind."""
        return _stack_rows(view.cpu(steps.begin_s, steps.end_s, steps.most))

    def sum_up(self, rows: Sequence[Row]) -> Summary:
        """Return the kinds."""
        there = {row["name"] for row in rows}
        names = tuple(
            name for name in (*over_time.CPU_KINDS, *sorted(there - over_time.CPU_KINDS.keys())) if name in there
        )
        return Summary(names, _at_last(rows, "%"))

    def drawn(self, rows: Sequence[Row], names: Names) -> Sequence[Row]:
        """Return the kinds one on the other."""
        return _stack(rows, names, "kind")

    def panel(self, names: Names) -> Panel:
        """Return the stack."""
        return time_panels.cpu(SENT, "host", names, SENT_ENDS)


# One picture, which is equal to another with the same specification.
LivePicture = RatePanel | Bands | Heat | Waits | Cpu


def _spans(timed: Curve | Stack | HeatMap) -> list[tuple[float, float]]:
    """Return begin and end of each step."""
    step = timed.step_s
    return [(step * (math.ceil(round(at_s / step, 6)) - 1), at_s) for at_s in timed.at_s]


def _stack_rows(stack: Stack) -> list[Row]:
    return [
        over_time.row_of(span, name=name, value=values[at])
        for at, span in enumerate(_spans(stack))
        for name, values in zip(stack.names, stack.values, strict=True)
        if values[at]
    ]


def _stack(rows: Sequence[Row], names: Names, field_name: str) -> list[Row]:
    """Return the rows of each step one on the other in the order of ``names``; a name that is not there is the last."""
    steps: dict[tuple[float, float], Counter[str]] = {}
    for row in rows:
        step = steps.setdefault((row["from_s"], row["to_s"]), Counter())
        step[row["name"] if row["name"] in names else names[-1]] += row["value"]
    stacked = []
    for (from_s, to_s), values in steps.items():
        parts = [(name, values[name]) for name in names if values[name]]
        for (name, value), top in zip(parts, accumulate(value for _, value in parts), strict=True):
            row = {"from_s": from_s, "to_s": to_s, field_name: name, "value": value, "low": top - value, "high": top}
            stacked.append(row)
    return stacked


def _at_last(rows: Sequence[Row], unit: str) -> str:
    last = [row for row in rows if row["to_s"] == rows[-1]["to_s"]]
    parts = sorted(last, key=lambda row: -float(row["value"]))[:3]
    texts = [f"{row['name']} {number(row['value'])}" for row in parts]
    return f"At last: {', '.join(texts)} ({unit})." if texts else ""


class Petals:
    """The picture as it was drawn last."""

    def __init__(self) -> None:
        self._axes = PHYSICAL
        self._rows: list[Row] | None = None
        self._now: list[Row] = []
        self._lines: list[str] = []
        self._patch: Patch = {}

    def whole(self) -> Patch:
        """Return the picture; empty if nothing can be drawn."""
        return self._patch

    def update(self, points: Sequence[PetalPoint], names: FigureNames) -> Patch:
        """Return what is new in it."""
        self._axes = axes_for(points)
        rows, now = self._list_done(points), self._running(points)
        lines = list(dict.fromkeys(point.petal for point in points))
        if (rows, now, lines) == (self._rows, self._now, self._lines):
            return {}
        same = (rows, lines) == (self._rows, self._lines)
        again = not same or not self._patch or not _within(now, self._patch["limits"])
        self._rows, self._now, self._lines = rows, now, lines
        is_done = any(point.state == DONE for point in points)
        text = _in_words(rows, names.label(self._axes.throughput), is_done)
        sent: Patch = {"name": "petals", "title": "Latency over throughput", "text": text, "now": now}
        if not rows and not now:
            # Who saw a point in progress that came to nothing sees that it is gone.
            sent = sent if self._patch else {}
            self._patch = {}
            return sent
        if not again:
            self._patch |= sent
            return sent
        panel = petal_panel(rows, self._axes, "sessions", names, growing=Growing(now, lines))
        (spec,) = page_specs(Picture("petals", sent["title"], text, (panel,)))
        self._patch = sent | {"spec": spec, "limits": _limits([*rows, *now])}
        return self._patch

    def _list_done(self, points: Sequence[PetalPoint]) -> list[Row]:
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
                row = _petal_row(petal, sessions, x, y, len(measured), tuple(fails))
                rows.append(row | {"order": order, "stretch": stretch, "end": order in (0, len(counts) - 1)})
        return rows

    def _running(self, points: Sequence[PetalPoint]) -> list[Row]:
        return [
            _petal_row(point.petal, point.sessions, *place, 1, point.fails)
            for point in points
            if point.state == RUNS and (place := self._place(point))
        ][:1]

    def _place(self, point: PetalPoint) -> tuple[float, float] | None:
        x, y = (point.figures.get(name) for name in (self._axes.throughput, self._axes.latency))
        if x is None or y is None or x.value is None or y.value is None:
            return None
        return x.value, y.value


def _petal_row(petal: str, sessions: int, x: float, y: float, runs: int, fails: Sequence[str]) -> Row:
    return {
        "line": petal, "colour": petal, "dash": petal, "sessions": sessions, "order": 0, "stretch": 0, "end": True,
        "x": x, "x_low": None, "x_high": None, "y": y, "y_low": None, "y_high": None, "runs": runs,
        "doubt": verdict_sign(gravest(row_of(name).severity for name in fails) if fails else None), "knee": False,
        "fails": ", ".join(name.replace("_", " ") for name in fails) or "none",
    }  # fmt: skip


def _limits(rows: Sequence[Row]) -> Mapping[str, tuple[float, float]]:
    """Return what has room on the axes, which go somewhat beyond their points."""
    below, above = _BEYOND
    return {axis: (below * min(row[axis] for row in rows), above * max(row[axis] for row in rows)) for axis in "xy"}


def _within(now: Sequence[Row], limits: Mapping[str, tuple[float, float]]) -> bool:
    return all(low <= row[axis] <= high for row in now for axis, (low, high) in limits.items())


def _in_words(rows: Sequence[Row], throughput: str, is_done: bool) -> str:
    best: dict[str, Row] = {}
    for row in rows:
        if row["line"] not in best or row["x"] > best[row["line"]]["x"]:
            best[row["line"]] = row
    none = "No point that is done has both figures." if is_done else "No point is done yet."
    texts = [f"{line}: at most {number(row['x'])}/s with {row['sessions']}" for line, row in best.items()]
    return f"{throughput}, by sessions. {'; '.join(texts)}." if texts else none
