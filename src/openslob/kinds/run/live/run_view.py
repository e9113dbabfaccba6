"""What is shown of a run or an observation at one moment of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from math import ceil, floor, inf, isnan
from typing import Any, TypeVar

import numpy as np

from openslob.analyze.heat import CELL_BUCKETS
from openslob.analyze.latencies import MAX, MIDDLES_US, Latencies, percentiles
from openslob.analyze.load_kinds import is_client_loop, load_kind, timed_of
from openslob.analyze.measure import Until
from openslob.analyze.run_tables import SAMPLES, Duration
from openslob.analyze.steps import Steps, spread, steps_of
from openslob.analyze.tables import Array
from openslob.analyze.timeline import MIN_PART_S
from openslob.core.histogram import BUCKETS, PERCENTILES, lower_edge_us
from openslob.core.method import OpKind
from openslob.core.session_classes import split_kind
from openslob.core.units import NANOS
from openslob.core.wait_classes import CPU_EVENT
from openslob.kinds.run.live.figures import DRAWN, ENGINE, HOST, OWN_CPU, SERVER_CPU, Drawable, Track, tracks
from openslob.kinds.run.live.last_interval import figures_of
from openslob.kinds.run.live.so_far import slow_so_far, slow_text, verdicts_so_far
from openslob.kinds.run.live.state import RunState
from openslob.kinds.view import CLASS_RATE, Curve, Head, HeatMap, Note, PetalPoint, RecordState, Stack, View
from openslob.metrics.waits import CPU_ROW
from openslob.record.model import Figure, RecordKind, RunRecord, Verdict
from openslob.record.raw_csv import Event
from openslob.record.store import UNFINISHED
from openslob.report.charts.over_time import CPU_KINDS, MOST_EVENTS, OTHERS

_LATENCY = ("latency", "response")
_OF_CPU, _DB_TIME = "host.busy_pct", "db_time_per_s"
# Verdicts so far are recomputed when so much was added.
VERDICTS_EVERY_S, VERDICTS_SHARE = 5.0, 0.005
# So many values are kept. What would be kept for less time is computed each time: a record grows once a second.
_MOST, LEAST_S = 500, 0.5
Value = TypeVar("Value")
_KNOWN = {Event.PHASE: "phase", Event.NOTE: "note", Event.ERROR: "error"}


class Memo:
    """Values by key, kept for the next view as long as little was added.

    To look at a day once a second must not cost the whole day each time.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[Hashable, float, Any]] = {}

    def get(
        self, key: Hashable, version: Hashable, end_s: float, fresh_s: float, compute: Callable[[], Value]
    ) -> Value:
        """Return a value of the same ``version`` from less than ``fresh_s`` before ``end_s``, or compute it."""
        if fresh_s < LEAST_S:
            return compute()
        found = self._kept.get(key)
        if found is not None and found[0] == version and 0 <= end_s - found[1] < fresh_s:
            kept: Value = found[2]
            return kept
        if len(self._kept) >= _MOST:
            self._kept.clear()
        value = compute()
        self._kept[key] = (version, end_s, value)
        return value


class RunView:
    """A run at the end of what was recorded, or ``at_s`` seconds after its load began."""

    def __init__(
        self,
        state: RunState,
        record: RunRecord,
        progress: RecordState,
        doubt: str = "",
        at_s: float | None = None,
        memo: Memo | None = None,
    ) -> None:
        self._state = state
        self._record = record
        self._progress = progress
        self._doubt = doubt
        # At the end of a finished record, what it says of itself is shown.
        self._ended = progress is not RecordState.RUNNING and (at_s is None or at_s >= state.tables.end_s)
        self._at_s = state.tables.end_s if at_s is None else min(at_s, state.tables.end_s)
        # A replay goes to and fro: what is kept is of the end alone.
        self._memo = memo if memo is not None and at_s is None else Memo()
        self._usual_s: dict[str, float] = {}

    def _keep(self, fresh_s: float, compute: Callable[[], Value], *key: Hashable) -> Value:
        """Return what was computed when the end was less than ``fresh_s`` ago, or compute it."""
        # A record that is no longer written stays as it is, or is being copied: then there is no hurry.
        reads = 0 if self._progress is RecordState.RUNNING else self._state.reads
        return self._memo.get(key, (self._state.version, self._progress, reads), self._at_s, fresh_s, compute)

    @cached_property
    def _tracks(self) -> Mapping[str, Track]:
        return tracks(self._state.tables, self._at_s, self._complete_s)

    @cached_property
    def _even_tracks(self) -> Mapping[str, Track]:
        """The tracks, without the intervals in which the engine's counters did not keep pace with the sessions' work.

        The end of that time is known when the load has ended: until then every session goes on.
        """
        even = self._state.tables.even_s
        if even is None:
            return self._tracks
        begin_s, end_s = even
        until_s = end_s if self._record.window is not None else self._at_s
        return {**self._tracks, ENGINE: self._tracks[ENGINE].within(begin_s, until_s)}

    @property
    def _complete_s(self) -> float:
        """Until when what the sessions did is known of each of them; whole seconds, or all of a load that ended."""
        ends = self._state.tables.ends_s
        window = self._record.window
        if window is not None and self._state.zero_ns is not None:
            end_s = (window.load_end_ns - self._state.zero_ns) / NANOS
            return end_s if end_s % 1 >= MIN_PART_S else float(int(end_s))
        all_report = len(ends) >= load_kind(self._record).sessions(self._record)
        unit_s = self._state.tables.unit_s
        return float(ends.min() // unit_s * unit_s) if all_report and len(ends) else 0.0

    @property
    def head(self) -> Head:
        record, running = self._record, not self._ended
        return Head(
            id=record.id,
            name=record.name,
            kind=record.kind,
            progress=RecordState.RUNNING if running else self._progress,
            phase=self._phase if running else "",
            product=str(record.engine.get("product") or ""),
            target=str(record.engine.get("target") or ""),
            load=load_kind(record).in_words(record),
            started_at=record.started_at,
            elapsed_s=self._at_s,
            planned_s=self._planned_s,
            reservations=record.reservations,
            batch=timed_of(record).size,
        )

    @property
    def _planned_s(self) -> float | None:
        spec = self._record.spec
        planned = self._state.fact(Event.PLANNED_S) or spec.get("run_time") or spec.get("seconds")
        try:
            seconds = float(planned or 0.0)
        except (TypeError, ValueError):
            return None
        return seconds if 0 < seconds < inf else None

    @property
    def _phase(self) -> str:
        phases = [each for each in self._notes_in_time if each.kind == Event.PHASE]
        return phases[-1].text if phases else ""

    @property
    def _notes_in_time(self) -> list[Note]:
        """The notes with a time, up to the moment shown; before the begin of the load is known, none has one."""
        zero_ns = self._state.zero_ns
        notes = []
        for each in self._state.events:
            at_s = None if zero_ns is None else (each.wall_ns + self._state.offset_ns - zero_ns) / NANOS
            if each.kind in _KNOWN and (self._ended or at_s is None or at_s <= self._at_s or self._is_last):
                notes.append(Note(at_s, each.kind, each.text))
        return notes

    @property
    def _over_s(self) -> float:
        """The end of the last second that is over; at the end of a run, its last second is a part of one."""
        return ceil(self._at_s) if self._is_last else floor(self._at_s)

    @property
    def _is_last(self) -> bool:
        return self._at_s >= self._state.tables.end_s

    @property
    def notes(self) -> Sequence[Note]:
        """What happened, in the order of time; last what a finished record says without a time."""
        slow = [Note(at_s, _KNOWN[Event.NOTE], text) for at_s, text in self._slow if at_s <= self._at_s]
        notes = sorted([*self._notes_in_time, *slow], key=lambda note: note.at_s or 0.0)
        said = {each.text for each in notes}
        if self._ended:
            of_record = ((Event.NOTE, self._record.notes), (Event.ERROR, self._record.errors))
            notes += [
                Note(None, kind.value, text)
                for kind, texts in of_record
                for text in texts
                if " ".join(text.split()) not in said and text != UNFINISHED
            ]
        return [*notes, *([Note(None, "note", self._doubt)] if self._doubt else [])]

    @property
    def _slow(self) -> Sequence[tuple[float, str]]:
        """When the load was slow, and why; that of the result once there is one."""
        if self._record.episodes is not None:
            return [(row.begin_s, slow_text(row.end_s, row.cause, row.evidence)) for row in self._record.episodes]
        end_s, state = min(self._complete_s, self._at_s), self._state
        if load_kind(self._record).publishes_late:
            end_s = self._at_s
        fresh_s = max(VERDICTS_EVERY_S, self._at_s * VERDICTS_SHARE)
        return self._keep(fresh_s, lambda: slow_so_far(state.tables, self._record, end_s, state.events), "slow")

    @property
    def now(self) -> Mapping[str, Figure]:
        if self._ended and self._record.summary:
            return self._record.summary
        return figures_of(self._even_tracks, self._at_s, self._record)

    @property
    def so_far(self) -> Mapping[str, Figure]:
        """The figures of all that was measured so far."""
        return figures_of(self._tracks, self._at_s, self._record, so_far=True)

    @property
    def verdicts(self) -> Sequence[Verdict]:
        if self._ended and (self._record.verdicts or self._record.summary):
            return self._record.verdicts
        return self._so_far

    @cached_property
    def _so_far(self) -> tuple[Verdict, ...]:
        if self._record.kind is not RecordKind.RUN:
            return ()
        errors = [each.text for each in self._notes_in_time if each.kind == Event.ERROR]
        return self._keep(
            max(VERDICTS_EVERY_S, self._at_s * VERDICTS_SHARE),
            lambda: verdicts_so_far(self._state.tables, self._record, Until(self._at_s, self._complete_s), errors),
            *("verdicts", len(errors)),
        )

    @property
    def points(self) -> Sequence[PetalPoint]:
        return ()

    @property
    def current(self) -> View | None:
        return None

    @cached_property
    def names(self) -> Sequence[str]:
        drawn = [name for name in DRAWN if self._is_counted(self._find_drawable(name))]
        if is_client_loop(self._record):
            drawn = [name for name in drawn if name != _DB_TIME]
        timed = [
            f"{what}.{kind}.{each}"
            for what in _LATENCY
            for kind in self._latencies(what)
            for each in (*PERCENTILES, MAX)
        ]
        classes = dict.fromkeys(split_kind(kind)[0] for kind in self._state.tables.class_latency)
        return [*drawn, *(f"{of_class}{CLASS_RATE}" for of_class in classes), *timed]

    def _find_drawable(self, name: str) -> Drawable:
        if name == "db_cpu_per_s" and self._state.tables.host.value(SERVER_CPU) is None:
            return OWN_CPU
        return DRAWN[name]

    def _is_counted(self, drawn: Drawable) -> bool:
        return bool(self._tracks[drawn.source].last().amounts(drawn.fields))

    def _latencies(self, what: str) -> Mapping[str, Latencies]:
        """Return the latencies by kind, of a load with classes of sessions by class and kind."""
        tables, is_service = self._state.tables, what == "latency"
        found = tables.latency if is_service else tables.response
        of_classes = tables.class_latency if is_service else tables.class_response
        return of_classes or {kind.value: found[kind.value] for kind in OpKind if kind.value in found}

    def _steps(self, begin_s: float | None, end_s: float | None, most: int, least_s: float = 1.0) -> Steps:
        end_s = self._at_s if end_s is None else min(end_s, self._at_s)
        return steps_of(max(begin_s or 0.0, 0.0), end_s, most, max(least_s, self._state.tables.unit_s))

    def _usual(self, source: str) -> float:
        """Return the usual length of an interval: a step of less would have none."""
        if source not in self._usual_s:
            track = self._tracks[source]
            lengths = track.end_s[-100:] - track.begin_s[-100:]
            self._usual_s[source] = float(np.median(lengths)) if len(lengths) else 1.0
        return self._usual_s[source]

    def series(self, name: str, begin_s: float | None = None, end_s: float | None = None, most: int = 200) -> Curve:
        if name.split(".", maxsplit=1)[0] in _LATENCY:
            return self._latency_series(name, begin_s, end_s, most)
        if name.endswith(CLASS_RATE):
            steps = self._steps(begin_s, end_s, most, self._state.tables.slice_s)
            return self._keep(steps.part_s, lambda: self._class_rate(name, steps), name, begin_s, end_s, most)
        drawn = self._find_drawable(name)
        steps = self._steps(begin_s, end_s, most, self._usual(drawn.source))
        return self._keep(steps.part_s, lambda: self._drawn_series(name, drawn, steps), name, begin_s, end_s, most)

    def _drawn_series(self, name: str, drawn: Drawable, steps: Steps) -> Curve:
        track = self._even_tracks[drawn.source].between(steps.begin_s, steps.end_s)
        amounts = track.amounts(drawn.fields)
        if not amounts or not len(track.end_s):
            return Curve(name, drawn.unit, [], [], [], [])
        found = spread(steps, track.begin_s, track.end_s, amounts, drawn.value_of)
        return _curve(name, drawn.unit, steps, found.low, found.whole, found.high)

    def _class_rate(self, name: str, steps: Steps) -> Curve:
        """Return the operations per second of a class, up to the last second whose latencies were written."""
        timed = self._state.tables.class_latency
        own = [each for kind, each in timed.items() if split_kind(kind)[0] == name.removesuffix(CLASS_RATE)]
        if not own:
            raise KeyError(name)
        begins = [float(at_s[-1]) for each in timed.values() if len(at_s := each.percentile(MAX)[0])]
        until_s = floor(min(max(begins, default=0.0) + self._state.tables.unit_s, self._complete_s, self._at_s))
        done = np.sum([each.counts(steps, until_s).sum(axis=1) for each in own], axis=0)
        lengths = np.diff(np.minimum(steps.edges_s, until_s))
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = np.where(lengths > 0, done / lengths, np.nan)
        return _curve(name, "1/s", steps, rates, rates, rates)

    def _latency_series(self, name: str, begin_s: float | None, end_s: float | None, most: int) -> Curve:
        what, kind, figure = name.split(".")
        of_kind = self._latencies(what)[kind]
        if figure not in (*PERCENTILES, MAX):
            raise KeyError(name)
        steps = self._steps(begin_s, end_s, most)
        return self._keep(
            steps.part_s, lambda: self._timed_series(name, of_kind, figure, steps), name, begin_s, end_s, most
        )

    def _timed_series(self, name: str, of_kind: Latencies, figure: str, steps: Steps) -> Curve:
        begins, values = of_kind.percentile(figure)
        over = int(np.searchsorted(begins, self._over_s))
        begins, values = begins[:over], values[:over]
        single = spread(
            steps, begins, begins + self._state.tables.unit_s, {figure: values}, lambda amounts, _: amounts[figure]
        )
        whole = percentiles(of_kind.counts(steps, self._over_s), figure)
        return _curve(name, "µs", steps, single.low, whole, single.high)

    def waits(self, begin_s: float | None = None, end_s: float | None = None, most: int = 200) -> Stack:
        """Return the mean number of sessions by wait event, from samples; None in a step without any."""
        steps = self._steps(begin_s, end_s, most)
        return self._keep(steps.part_s, lambda: self._waits(steps), "waits", begin_s, end_s, most)

    def _waits(self, steps: Steps) -> Stack:
        waits = self._state.tables.waits
        samples = waits.value(SAMPLES)
        if samples is None:
            return Stack("sessions", [], [], [])
        at = steps.of(waits.begin_s)
        inside = (at >= 0) & (at < steps.count) & (waits.begin_s < self._at_s)
        taken = np.bincount(at[inside], weights=samples[inside], minlength=steps.count)
        sums = {
            event: np.bincount(at[inside], weights=seen[inside], minlength=steps.count)
            for event in waits.names
            if event != SAMPLES and (seen := waits.value(event)) is not None
        }
        order = sorted(sums, key=lambda event: (-sums[event].sum(), event))
        order = [event for event in order if sums[event].any()]
        parts = {CPU_ROW if event == CPU_EVENT else event: sums[event] for event in order[:MOST_EVENTS]}
        if order[MOST_EVENTS:]:
            parts[OTHERS] = np.sum([sums[event] for event in order[MOST_EVENTS:]], axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = [_to_list(np.where(taken > 0, part / taken, np.nan)) for part in parts.values()]
        return Stack("sessions", steps.at_s, list(parts), means, steps.length_s)

    def cpu(self, begin_s: float | None = None, end_s: float | None = None, most: int = 200) -> Stack:
        steps = self._steps(begin_s, end_s, most, self._usual(HOST))
        return self._keep(steps.part_s, lambda: self._cpu(steps), "cpu", begin_s, end_s, most)

    def _cpu(self, steps: Steps) -> Stack:
        track, drawn = self._tracks[HOST].between(steps.begin_s, steps.end_s), DRAWN[_OF_CPU]
        busy, total = drawn.fields
        if track.amount(total) is None or not len(track.end_s):
            return Stack("%", [], [], [])
        values = []
        for counters in CPU_KINDS.values():
            parts = list(track.amounts(counters).values())
            amounts = {busy: np.sum(parts, axis=0) if parts else np.zeros(len(track.end_s))}
            whole = spread(steps, track.begin_s, track.end_s, amounts | track.amounts((total,)), drawn.value_of).whole
            values.append(_to_list(whole))
        return Stack("%", steps.at_s, list(CPU_KINDS), values, steps.length_s)

    def heat(self, of: str, begin_s: float | None = None, end_s: float | None = None, most: int = 120) -> HeatMap:
        steps = self._steps(begin_s, end_s, most)
        timed = self._latencies("latency")
        if of not in timed:
            return self._keep(steps.part_s, lambda: self._engine_heat(of, steps), "heat", of, begin_s, end_s, most)
        of_kind = timed[of]
        return self._keep(steps.part_s, lambda: self._heat(of, of_kind, steps), "heat", of, begin_s, end_s, most)

    @cached_property
    def waits_by_duration(self) -> Sequence[str]:
        return self._keep(VERDICTS_EVERY_S, self._order_by_time, "waits by duration")

    def _order_by_time(self) -> Sequence[str]:
        time_us: dict[str, float] = {}
        for each, counts in self._durations():
            time_us[each.event] = time_us.get(each.event, 0.0) + float(np.nansum(counts)) * each.middle_us
        return [event for event, _ in sorted(time_us.items(), key=lambda each: (-each[1], each[0]))]

    def _durations(self) -> Iterator[tuple[Duration, Array]]:
        """Yield what the engine counted in the intervals up to the moment shown."""
        table = self._state.tables.durations
        over = int(np.searchsorted(table.end_s, self._at_s, side="right"))
        for name in table.names:
            counts = table.value(name)
            if counts is not None:
                yield Duration.of(name), counts[:over]

    def _engine_heat(self, of: str, steps: Steps) -> HeatMap:
        found = [(each, counts) for each, counts in self._durations() if each.event == of]
        if not found:
            raise KeyError(of)
        edges = sorted({edge for each, _ in found for edge in (each.low_us, each.below_us)})
        table, over = self._state.tables.durations, len(found[0][1])
        step = steps.of((table.begin_s[:over] + table.end_s[:over]) / 2)
        inside = (step >= 0) & (step < steps.count)
        by_cell, time_us = (np.zeros((steps.count, len(edges) - 1)) for _ in range(2))
        for each, counts in found:
            done = np.bincount(step[inside], np.nan_to_num(counts[inside]), steps.count)
            cell = edges.index(each.low_us)
            by_cell[:, cell] += done
            time_us[:, cell] += done * each.middle_us
        ends = [float(edge) for edge in edges]
        return HeatMap(of, steps.at_s, ends, by_cell.tolist(), time_us.tolist(), steps.length_s, "waits")

    def _heat(self, of: str, of_kind: Latencies, steps: Steps) -> HeatMap:
        counts = of_kind.counts(steps, self._over_s)
        cells = np.arange(0, BUCKETS, CELL_BUCKETS)
        by_cell = np.add.reduceat(counts, cells, axis=1)
        time_us = np.add.reduceat(counts * MIDDLES_US, cells, axis=1)
        used = np.flatnonzero(by_cell.any(axis=0))
        kept = slice(int(used[0]), int(used[-1]) + 1) if len(used) else slice(0, 0)
        ends = [*cells[kept], cells[kept][-1] + CELL_BUCKETS] if len(used) else []
        edges = [float(lower_edge_us(int(bucket))) for bucket in ends]
        return HeatMap(of, steps.at_s, edges, by_cell[:, kept].tolist(), time_us[:, kept].tolist(), steps.length_s)


def _curve(name: str, unit: str, steps: Steps, low: Array, mean: Array, high: Array) -> Curve:
    return Curve(name, unit, steps.at_s, _to_list(low), _to_list(mean), _to_list(high), steps.length_s)


def _to_list(values: Array) -> list[float | None]:
    return [None if isnan(value) else value for value in values.tolist()]
