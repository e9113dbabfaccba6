"""A sweep, followed while it grows, or once it is finished."""

from __future__ import annotations

import time
from pathlib import Path

from openslob.core.errors import SlobError
from openslob.kinds.sweep.record import SWEEP_FILE, PointState, SweepRecord, load_sweep
from openslob.kinds.sweep.view import SweepView
from openslob.live.follow import BUDGET_S, FollowedRun, identity_of
from openslob.live.view import RecordState, View
from openslob.record import store
from openslob.record.model import RunRecord
from openslob.record.store import RECORD_FILE, running_pid


class FollowedSweep:
    """A sweep, with its run in progress or the last one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.record: SweepRecord | None = None
        self._identity: tuple[int, ...] = ()
        self._results: dict[str, RunRecord] = {}
        self._missing: list[str] = []
        self._run: FollowedRun | None = None
        self._locked = False

    @property
    def read_share(self) -> float:
        """The share that was read of the results, or of the current run's raw files if that is less."""
        missing = len(self._missing)
        results = len(self._results) / (len(self._results) + missing) if missing else 1.0
        return min(results, self._run.read_share if self._run else 1.0)

    def poll(self, budget_s: float = BUDGET_S) -> bool:
        """Read what is new; return whether something changed."""
        was, self._locked = self._locked, running_pid(self.folder) is not None
        until = time.monotonic() + budget_s
        changed = self._read_record() or was != self._locked
        changed = self._read_results(until) or changed
        latest = self._latest()
        if latest is not None and (self._run is None or latest != self._run.folder):
            self._run, changed = FollowedRun(latest), True
        return (self._run.poll(max(until - time.monotonic(), budget_s / 2)) if self._run else False) or changed

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

    def _latest(self) -> Path | None:
        """Return the folder of the run that began last."""
        runs = [path.parent for path in self.folder.glob(f"*/{RECORD_FILE}")]
        return max(runs, key=lambda path: path.name, default=None)

    @property
    def progress(self) -> RecordState:
        """Whether the sweep is still executed."""
        if self._locked or self.record is None:
            return RecordState.RUNNING
        if self._run is not None and self._run.progress is RecordState.RUNNING:
            return RecordState.RUNNING
        return RecordState(self.record.status.value)

    def view(self, at_s: float | None = None) -> View:
        """Return what is to be shown of the sweep; ``at_s`` is a moment of its current run."""
        if self.record is None:
            raise SlobError(f"{self.folder} has not been read", "call poll")
        current = self._run.view(at_s) if self._run else None
        return SweepView(self.record, self._results, self.progress, current)
