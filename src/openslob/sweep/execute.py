"""Carries a sweep out, point by point; every point's end is on disk before the next begins.

A point that fails is recorded and the rest goes on. A point that was stopped, or whose process was killed, is pending
still and is run again as a whole when the sweep goes on; what it left behind stays in the folder, outside the sweep.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol

from openslob.engines.base import Engine
from openslob.engines.facts import ProgressSink as LoadSink
from openslob.engines.managed.base import ManagedServer
from openslob.errors import SlobError
from openslob.record.model import RunRecord, Status
from openslob.record.storage import StorageRecord
from openslob.record.sweep import PointState, SweepFolder, SweepPoint, Values
from openslob.run import loading, runner
from openslob.run.interrupt import Interrupt
from openslob.run.recorder import ProgressSink
from openslob.sweep.plan import data_of, seconds_left, workload_of
from openslob.sweep.search_runner import run_search
from openslob.sweep.servers import SweepServers
from openslob.units import format_duration


class SweepView(Protocol):
    """Where progress is shown."""

    def notify(self, text: str) -> None:
        """One line about what happens now."""

    def running(self, label: str) -> AbstractContextManager[ProgressSink]:
        """Shows a run for the time of the block."""

    def loading(self, block_size: int) -> AbstractContextManager[LoadSink]:
        """Shows a load for the time of the block."""


class _PreparationError(SlobError):
    """The server or the data of a point can't be had: those of its whole block can't."""


@dataclass(frozen=True)
class _PreparedServer:
    """A server that runs with these settings, and what its storage gives alone, if that was asked for."""

    engine: Engine
    server: ManagedServer | None
    values: Values
    ceiling: StorageRecord | None = None


def no_ceiling(_engine: Engine) -> None:
    """Nothing to hold runs against."""


class Execution:
    """One process' part in a sweep: from the first pending point to the last, or to a stop."""

    def __init__(
        self,
        folder: SweepFolder,
        target: str,
        interrupt: Interrupt,
        view: SweepView,
        render: Callable[[RunRecord], str],
        ceiling: Callable[[Engine], StorageRecord | None] = no_ceiling,
    ) -> None:
        self._folder = folder
        self._ceiling = ceiling
        self._interrupt = interrupt
        self._view = view
        self._render = render
        self._place = SweepServers(target, folder.record, view.notify)
        self._ready: _PreparedServer | None = None
        self._done_s = self._spent_s = 0.0

    def execute(self) -> None:
        """Run what is pending. SlobError only when the sweep's own record can't be written."""
        try:
            if self._folder.record.search:
                run_search(self._folder, self._run, self._stopped)
            else:
                self._run_pending()
        finally:
            self._place.close(finished=not self._unfinished)

    @property
    def _unfinished(self) -> bool:
        return self._folder.record.status is Status.INTERRUPTED

    def _run_pending(self) -> None:
        while (pending := self._folder.record.pending) and not self._stopped():
            self._run(pending[0])

    def _run(self, point: SweepPoint) -> None:
        """Run one point, and record how it ended unless it was stopped."""
        begun = time.monotonic()
        try:
            ready = self._prepared(point)
            self._save([self._measured(point, ready)])
        except _PreparationError as error:
            self._ready = None
            if not self._stopped():
                self._skip_block(point, str(error))
        self._done_s += point.estimated_s
        self._spent_s += time.monotonic() - begun

    def _save(self, changed: Sequence[SweepPoint]) -> None:
        self._folder.save(self._folder.record.with_points(changed))

    def _prepared(self, point: SweepPoint) -> _PreparedServer:
        ready = self._ready
        try:
            if ready is None or ready.values != point.server:
                ready = self._ready = _PreparedServer(*self._place.at(point.server), point.server)
            workload = workload_of(self._folder.record, point)
            # Nothing is done if the data are there; after updates they may have grown so far that they must be renewed.
            with self._view.loading(ready.engine.facts().block_size) as sink:
                loading.load(ready.engine, ready.server, workload, sink, self._stopped, self._view.notify)
            return replace(ready, ceiling=self._ceiling(ready.engine))
        except SlobError as error:
            raise _PreparationError(str(error)) from error

    def _stopped(self) -> bool:
        return self._interrupt.stop.is_set()

    def _measured(self, point: SweepPoint, ready: _PreparedServer) -> SweepPoint:
        """The point as its run left it: done, failed with the reason, or pending if it was stopped."""
        record, folder = self._folder.record, self._folder.path
        workload, before = workload_of(record, point), set(folder.iterdir())
        request = runner.Request(
            workload, point.run_name, folder, steady_limit_s=record.steady_limit_s, ceiling=ready.ceiling
        )
        try:
            with self._view.running(self._heading(point)) as show:
                finished = runner.run(ready.engine, request, self._interrupt, show, self._render)
        except SlobError as error:
            # A server that went down with the run is started again for the next one.
            self._ready = None
            if self._stopped():
                return point
            made = next((path.name for path in folder.iterdir() if path not in before and path.is_dir()), None)
            return point.model_copy(update={"state": PointState.FAILED, "error": error.what, "run": made})
        if finished.record.status is not Status.COMPLETE:
            return point
        return point.model_copy(update={"state": PointState.DONE, "error": None, "run": finished.folder.name})

    def _heading(self, point: SweepPoint) -> str:
        record = self._folder.record
        left = seconds_left(record, self._done_s, self._spent_s)
        of = "" if record.search else f" of {len(record.points)}, {format_duration(left)} left"
        return f"[{point.number}{of}] {point.label}"

    def _skip_block(self, point: SweepPoint, why: str) -> None:
        """A server or data that can't be had once won't be had for the other points that need them."""
        record = self._folder.record
        data = data_of(workload_of(record, point))
        same = [
            each.model_copy(update={"state": PointState.SKIPPED, "error": why})
            for each in record.pending
            if each.server == point.server and data_of(workload_of(record, each)) == data
        ]
        self._view.notify(f"{len(same)} points are skipped: {why}")
        self._save(same)
