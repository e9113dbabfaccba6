"""The execution of a sweep, point by point; the result of a point is on disk before the next one begins.

A point that fails is recorded, and the sweep continues. A point that was stopped, or whose process was killed, stays
pending and is run again from its start when the sweep is resumed; its unfinished run remains in the folder, but is
not part of the sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from openslob.analyze.outcome import count_noun
from openslob.core.errors import SlobError
from openslob.core.measurement import StorageAlone
from openslob.core.units import format_duration
from openslob.engines.base import Engine, Hold
from openslob.engines.managed.base import ManagedServer
from openslob.kinds.run.again import RETRIES, why_lost
from openslob.kinds.run.context import Ceiling, Context
from openslob.kinds.run.crew import Hire
from openslob.kinds.run.runner import FinishedRun, RunRequest
from openslob.kinds.sweep.plan import data_of, estimates, keep_started_with, workload_of
from openslob.kinds.sweep.record import PointState, SweepFolder, SweepPoint, SweepRecord
from openslob.kinds.sweep.request import SweepPlan, open_folder
from openslob.kinds.sweep.search import run_search
from openslob.kinds.sweep.servers import SweepServers, changes_of, require_target
from openslob.kinds.sweep.time_left import TimeLeft
from openslob.record.model import Status
from openslob.record.varied import Values


def execute(planned: SweepPlan, context: Context) -> SweepFolder:
    """Run the points that are to be run, and return the sweep's folder; its record says how it ended.

    Raises:
        SlobError: Another process uses the servers, or the record can't be written.
        UsageError: The target is not there, or it can't be loaded.

    """
    require_target(planned.record)
    if not planned.folder:
        _announce(planned.record, context.tell)
    with context.stopping():
        with open_folder(planned, context) as folder:
            context = context.at(folder.record.target, folder.path)
            with context.hire() as hire, context.display.viewing(context.results):
                SweepExecution(folder, context, planned.ceiling, hire, planned.retries).execute()
        return folder


def _announce(record: SweepRecord, tell: Callable[[str], None]) -> None:
    """Tell how long a new sweep will take, and what the user should know of it."""
    if record.points:
        tell(f"{count_noun(len(record.points), 'point')}, about {format_duration(record.estimated_s or 0)} in all")
    for note in record.notes:
        tell(note)


class _PreparationError(SlobError):
    """The server or the data of a point can't be provided, so that no point of its block can be run."""


@dataclass(frozen=True)
class _PreparedServer:
    """A server that runs with these settings for a repeat, its lock, and the raw measurement of its storage, if any.

    Of a managed server, which may be restarted, each run and load takes the lock; nobody else can use it meanwhile.
    """

    engine: Engine
    server: ManagedServer | None
    values: Values
    repeat: int
    held: Hold | None
    ceiling: StorageAlone | None = None


class SweepExecution:
    """The part of a sweep that one process executes: from the first pending point to the last, or until stopped."""

    def __init__(
        self, folder: SweepFolder, context: Context, ceiling: Ceiling, hire: Hire, retries: int = RETRIES
    ) -> None:
        self._folder = folder
        self._context = context
        self._ceiling, self._retries = ceiling, retries
        self._hire = hire
        self._servers = SweepServers(context.address, folder.record, context.tell, context.adopt)
        self._prepared: _PreparedServer | None = None
        self._planned = estimates(folder.record)
        self._time_left = TimeLeft()

    def execute(self) -> None:
        """Run the pending points. SlobError when another process uses the servers, or the record can't be written."""
        self._servers.claim()
        try:
            if self._folder.record.search:
                run_search(self._folder, self._run, self._is_stopped)
            else:
                self._run_pending()
        finally:
            self._servers.close(finished=not self._unfinished)

    @property
    def _unfinished(self) -> bool:
        return self._folder.record.status is Status.INTERRUPTED

    def _run_pending(self) -> None:
        while (pending := self._folder.record.pending) and not self._is_stopped():
            self._run(pending[0])

    def _run(self, point: SweepPoint) -> None:
        """Run one point, and record how it ended unless it was stopped."""
        self._time_left.begin()
        try:
            self._save([self._measure(point, self._prepare(point))])
        except _PreparationError as error:
            self._prepared = None
            if not self._is_stopped():
                self._skip_block(point, str(error))

    def _save(self, changed: Sequence[SweepPoint]) -> None:
        self._folder.save(self._folder.record.with_points(changed))

    def _prepare(self, point: SweepPoint) -> _PreparedServer:
        """Start the point's server, load its data, and return both. _PreparationError when that fails."""
        prepared = self._prepared
        try:
            wanted = self._choose_start(point)
            if prepared is None or prepared.values != wanted or (wanted and prepared.repeat != point.repeat):
                prepared = self._prepared = self._start(wanted, point.repeat, again=prepared is not None)
            self._context.follow(prepared.engine)
            workload = workload_of(self._folder.record, point)
            # Existing data are kept; but updates may have made them grow so much that they must be loaded again.
            data = self._context.load(prepared.engine, prepared.server, workload, prepared.held)
            if planned := self._planned.get(point.number):
                self._time_left.note_prepared(planned, data.reused)
            return replace(prepared, ceiling=self._ceiling(prepared.engine))
        except SlobError as error:
            raise _PreparationError(str(error)) from error

    def _start(self, values: Values, repeat: int, again: bool) -> _PreparedServer:
        engine, server = self._servers.start(values, again)
        self._context.follow(engine)
        return _PreparedServer(engine, server, values, repeat, None if server else self._servers.lock(engine))

    def _is_stopped(self) -> bool:
        return self._context.stopped

    def _measure(self, point: SweepPoint, prepared: _PreparedServer) -> SweepPoint:
        """Run the point and return it with its new state: done, failed with the reason, or pending if stopped."""
        record, folder = self._folder.record, self._folder.path
        workload, before = workload_of(record, point), set(folder.iterdir())
        request = RunRequest(
            workload,
            point.run_name,
            folder,
            steady_limit_s=record.steady_limit_s,
            ceiling=prepared.ceiling,
            consented=self._context.consented,
            held=prepared.held,
            settings=changes_of(point.server, record.effects),
            hire=self._hire,
            retries=self._retries,
        )
        try:
            finished = self._context.run(prepared.engine, request, self._heading(point), self._left_s(point))
        except SlobError as error:
            # The server may have gone down with the run: it is started again for the next point.
            self._prepared = None
            if self._is_stopped():
                return point
            created = next((path.name for path in folder.iterdir() if path not in before and path.is_dir()), None)
            return point.model_copy(update={"state": PointState.FAILED, "error": error.what, "run": created})
        self._note_discarded(point, finished)
        if finished.record.status is not Status.COMPLETE:
            return point
        if planned := self._planned.get(point.number):
            self._time_left.note_done(planned)
        return point.model_copy(update={"state": PointState.DONE, "error": None, "run": finished.folder.name})

    def _note_discarded(self, point: SweepPoint, finished: FinishedRun) -> None:
        if lost := [each.folder.name for each in finished.discarded]:
            which = f"the window of {', '.join(lost)} was lost"
            note = f"point {point.number} was made again: {which} ({why_lost(finished.discarded[0].record)})"
            self._folder.update(notes=(*self._folder.record.notes, note))

    def _heading(self, point: SweepPoint) -> str:
        record = self._folder.record
        of = "" if record.search else f" of {len(record.points)}"
        return f"[{point.number}{of}] {point.label}"

    def _left_s(self, point: SweepPoint) -> float | None:
        """Return how long the sweep takes from here, where the point is prepared; None for a search."""
        pending = [self._planned[each.number] for each in self._folder.record.pending if each.number in self._planned]
        if point.number not in self._planned:
            return None
        return self._time_left.of(pending) - self._time_left.of_preparation(self._planned[point.number])

    def _choose_start(self, point: SweepPoint) -> Values:
        return keep_started_with(point.server, self._folder.record.effects)

    def _skip_block(self, point: SweepPoint, why: str) -> None:
        """Mark every pending point as skipped that needs the same server settings and data as ``point``."""
        record = self._folder.record
        data = data_of(workload_of(record, point))
        same = [
            each.model_copy(update={"state": PointState.SKIPPED, "error": why})
            for each in record.pending
            if self._choose_start(each) == self._choose_start(point) and data_of(workload_of(record, each)) == data
        ]
        self._context.tell(f"{len(same)} point{' is' if len(same) == 1 else 's are'} skipped: {why}")
        self._save(same)
