"""A sweep, followed while it grows, or once it is finished: its points with their figures, and its current run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from openslob.analyze.curves.points import SESSIONS
from openslob.analyze.curves.series import CACHED, label
from openslob.core.errors import SlobError
from openslob.core.workload import Workload
from openslob.kinds.contract import list_failed
from openslob.kinds.run.live.follow import BUDGET_S, FollowedRuns, identity_of
from openslob.kinds.run.live.run_view import RunView
from openslob.kinds.sweep.record import SWEEP_FILE, PointState, SweepPoint, SweepRecord, load_sweep
from openslob.kinds.view import Curve, Head, HeatMap, Note, PetalPoint, RecordState, Stack, View
from openslob.metrics import Timed
from openslob.metrics.run_metrics import figure_of
from openslob.record import store
from openslob.record.model import Figure, RunRecord, Verdict
from openslob.record.store import running_pid
from openslob.record.varied import Value

RUNNING = "running"


class SweepView:
    """A sweep with its current run; what is drawn over time is that of ``shown``, which may be the one before."""

    def __init__(
        self,
        record: SweepRecord,
        results: Mapping[str, RunRecord],
        progress: RecordState,
        run: RunView | None,
        shown: RunView | None,
    ) -> None:
        self._record = record
        self._results = results
        self._progress = progress
        self._run = run
        self._shown = shown

    @property
    def head(self) -> Head:
        """What is being shown; the phase is that of the current run, and the times are of the one that is shown."""
        record, run = self._record, self._run.head if self._run else None
        shown = self._shown.head if self._shown else None
        done = sum(point.state is not PointState.PENDING for point in record.points)
        asked = f"{len(record.points)} point{'s' if len(record.points) != 1 else ''}, {done} done"
        return Head(
            id=record.id,
            name=record.name,
            kind=record.kind,
            progress=self._progress,
            phase=run.phase if run else "",
            product=run.product if run else "",
            target=record.target,
            load=f"{asked}: {run.load}" if run and self._progress is RecordState.RUNNING else asked,
            started_at=record.started_at,
            elapsed_s=shown.elapsed_s if shown else 0.0,
            planned_s=shown.planned_s if shown else None,
            reservations=run.reservations if run else (),
            batch=Timed.together({**record.workload, **point.values} for point in record.points).size,
        )

    @property
    def points(self) -> Sequence[PetalPoint]:
        """The points of the sweep; the one in progress has its figures so far."""
        running = self._running
        return [self._point(point, point is running) for point in self._record.points]

    @property
    def _running(self) -> SweepPoint | None:
        """The point whose run is in progress."""
        if self._run is None or self._run.head.progress is not RecordState.RUNNING:
            return None
        name = self._run.head.name
        return next((point for point in self._record.pending if point.run_name == name), None)

    def _point(self, point: SweepPoint, running: bool) -> PetalPoint:
        figures: Mapping[str, Figure] = {}
        verdicts: Sequence[Verdict] = ()
        if running and self._run:
            figures, verdicts = self._run.so_far, self._run.verdicts
        elif point.run and point.run in self._results:
            record = self._results[point.run]
            mean = Figure.of(figure_of(record, CACHED.latency), "µs", "there was no operation")
            figures, verdicts = {**record.summary, CACHED.latency: mean}, record.verdicts
        run = self._run.head.id if running and self._run else point.run or ""
        values: dict[str, Value] = {**point.server, **point.values}
        petal = {name: value for name, value in values.items() if name != SESSIONS}
        state = RUNNING if running else point.state.value
        return PetalPoint(point.number, label(petal), self._sessions(point), state, run, figures, list_failed(verdicts))

    def _sessions(self, point: SweepPoint) -> int:
        values = {**self._record.workload, **point.values}
        try:
            return Workload.model_validate(values).total_sessions
        except ValueError:
            # A later version may have parameters that this one does not know.
            return int(values.get(SESSIONS) or 0)

    @property
    def notes(self) -> Sequence[Note]:
        """What is to be known of the sweep, then what happened in the current run."""
        errors = [Note(None, "error", f"{point.label}: {point.error}") for point in self._record.points if point.error]
        own = [Note(None, "note", text) for text in self._record.notes]
        return [*own, *errors, *(self._run.notes if self._run else ())]

    @property
    def current(self) -> View | None:
        """The run in progress, or the last one until that has something to show."""
        return self._shown

    @property
    def now(self) -> Mapping[str, Figure]:
        return self._shown.now if self._shown else {}

    @property
    def names(self) -> Sequence[str]:
        return self._shown.names if self._shown else ()

    @property
    def waits_by_duration(self) -> Sequence[str]:
        return self._shown.waits_by_duration if self._shown else ()

    @property
    def verdicts(self) -> Sequence[Verdict]:
        return self._shown.verdicts if self._shown else ()

    def series(self, name: str, begin_s: float | None = None, end_s: float | None = None, most: int = 200) -> Curve:
        if self._shown is None:
            raise KeyError(name)
        return self._shown.series(name, begin_s, end_s, most)

    def waits(self, begin_s: float | None = None, end_s: float | None = None, most: int = 200) -> Stack:
        return self._shown.waits(begin_s, end_s, most) if self._shown else Stack("sessions", [], [], [])

    def cpu(self, begin_s: float | None = None, end_s: float | None = None, most: int = 200) -> Stack:
        return self._shown.cpu(begin_s, end_s, most) if self._shown else Stack("%", [], [], [])

    def heat(self, of: str, begin_s: float | None = None, end_s: float | None = None, most: int = 120) -> HeatMap:
        if self._shown is None:
            raise KeyError(of)
        return self._shown.heat(of, begin_s, end_s, most)


class FollowedSweep:
    """A sweep, with its run in progress or the last one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.record: SweepRecord | None = None
        self._identity: tuple[int, ...] = ()
        self._results: dict[str, RunRecord] = {}
        self._missing: list[str] = []
        self._runs = FollowedRuns(folder)
        self._locked = False

    @property
    def read_share(self) -> float:
        """The share that was read of the results, or of a run's raw files if that is less."""
        missing = len(self._missing)
        results = len(self._results) / (len(self._results) + missing) if missing else 1.0
        return min(results, self._runs.read_share)

    def poll(self, budget_s: float = BUDGET_S) -> bool:
        """Read what is new; return whether something changed."""
        was, self._locked = self._locked, running_pid(self.folder) is not None
        until = time.monotonic() + budget_s
        changed = self._read_record() or was != self._locked
        changed = self._read_results(until) or changed
        return self._runs.poll(max(until - time.monotonic(), budget_s / 2)) or changed

    def _read_record(self) -> bool:
        identity = identity_of(self.folder / SWEEP_FILE)
        if identity == self._identity:
            return False
        self.record, self._identity = load_sweep(self.folder), identity
        ended = (point for point in self.record.points if point.state in (PointState.DONE, PointState.FAILED))
        self._missing = [point.run for point in ended if point.run and point.run not in self._results]
        return True

    def _read_results(self, until: float) -> bool:
        """Read results of points that have ended, as many as there is time for; return whether there was any."""
        some = bool(self._missing)
        while self._missing:
            name = self._missing.pop(0)
            try:
                self._results[name] = store.load(self.folder / name)
            except SlobError:
                # The point is shown without figures: a folder that was copied in part lacks them.
                continue
            if time.monotonic() > until:
                break
        return some

    @property
    def progress(self) -> RecordState:
        """Whether the sweep is still executed."""
        if self._locked or self.record is None:
            return RecordState.RUNNING
        if self._runs.run is not None and self._runs.run.progress is RecordState.RUNNING:
            return RecordState.RUNNING
        return RecordState(self.record.status.value)

    def view(self, at_s: float | None = None) -> View:
        """Return what is to be shown of the sweep; ``at_s`` is a moment of the run that is shown."""
        if self.record is None:
            raise SlobError(f"{self.folder} has not been read", "call poll")
        run = self._runs.latest(at_s)
        shown = self._runs.view(at_s) if run else None
        return SweepView(self.record, self._results, self.progress, run, shown)
