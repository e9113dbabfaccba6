"""A record's folder, followed while it grows: of a run, an observation or a sweep; finished ones as well."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from openslob.errors import SlobError
from openslob.live.memo import Memo
from openslob.live.run_view import RunView
from openslob.live.state import RunState
from openslob.live.sweep_view import SweepView
from openslob.live.view import Progress, View
from openslob.record import store
from openslob.record.endurance import ENDURANCE_FILE
from openslob.record.lab import LAB_FILE
from openslob.record.model import RunRecord
from openslob.record.repeated import REPEATED_FILE
from openslob.record.store import RECORD_FILE, UNFINISHED, running_pid
from openslob.record.sweep import SWEEP_FILE, PointState, SweepRecord, load_sweep

# How long a look may take to read what is behind: enough for a second of any run, and short for a screen.
BUDGET_S = 0.15
# A record without a lock here, as on another machine's file system, is written if its files grew within this time.
GROWS_S = 15.0
_FILES = ("engine.csv", "os.csv", "slices.csv", "waits.csv", "events.csv", RECORD_FILE)


class Follower(Protocol):
    """What follows a record."""

    @property
    def read_share(self) -> float:
        """The share of the record that was read: the end of a long one comes first, the rest with later looks."""

    def poll(self, budget_s: float = BUDGET_S) -> bool:
        """Read what is new; return whether something changed. SlobError for a record that is damaged."""

    def view(self, at_s: float | None = None) -> View:
        """Return what is to be shown: at the end of what is known, or at an earlier moment of a replay."""


def follow(folder: Path) -> Follower:
    """Return the follower of the record in a folder, after a first look. SlobError if there is no record."""
    folder = last_run(folder)
    if (folder / SWEEP_FILE).exists():
        found: Follower = FollowedSweep(folder)
    elif (folder / RECORD_FILE).exists():
        found = FollowedRun(folder)
    else:
        raise SlobError(f"{folder} has no record", "name the folder of a run or of a sweep; `slob list` shows them")
    found.poll()
    return found


def last_run(folder: Path) -> Path:
    """Return the last run of a record of several that has no view of its own (not of a sweep); else the folder."""
    if not any((folder / name).exists() for name in (ENDURANCE_FILE, REPEATED_FILE, LAB_FILE)):
        return folder
    return max((each.parent for each in folder.glob(f"*/{RECORD_FILE}")), default=folder)


class FollowedRun:
    """A run or an observation."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.record: RunRecord | None = None
        self._identity: tuple[int, ...] = ()
        self._state = RunState(folder)
        self._memo = Memo()
        self._locked = False
        # How often the files grew although no driver on this machine holds the lock, and when they last did.
        self._growths = 0
        self._grown_at = 0.0

    @property
    def read_share(self) -> float:
        """The share of the raw files that was read."""
        return self._state.read_share

    def poll(self, budget_s: float = BUDGET_S) -> bool:
        """Read what is new; return whether something changed."""
        # The lock first: a driver that ends replaces the record before it releases the lock.
        was, self._locked = self._locked, running_pid(self.folder) is not None
        changed = self._read_record() or was != self._locked
        known_s = self._state.tables.end_s
        changed = self._state.poll(self.record, budget_s) or changed
        if self._state.tables.end_s > known_s > 0 and not self._locked:
            self._growths, self._grown_at = self._growths + 1, time.monotonic()
        return changed

    def _read_record(self) -> bool:
        identity = _identity(self.folder / RECORD_FILE)
        if identity == self._identity:
            return False
        self.record, self._identity = store.load(self.folder), identity
        return True

    @property
    def progress(self) -> Progress:
        """Whether the record is still written."""
        if self.record is None or UNFINISHED not in self.record.errors:
            return Progress(self.record.status.value) if self.record else Progress.RUNNING
        return Progress.RUNNING if self._locked or self._grows else Progress.ABANDONED

    @property
    def _age_s(self) -> float:
        """The time since a file of the folder was written."""
        ages = [time.time() - at for at in _written(self.folder, _FILES)]
        return max(0.0, min(ages, default=0.0))

    @property
    def _grows(self) -> bool:
        # What a driver that was killed wrote last may come once.
        return self._growths > 1 and time.monotonic() - self._grown_at < GROWS_S

    @property
    def _doubt(self) -> str:
        if self.record is None or UNFINISHED not in self.record.errors or self._locked:
            return ""
        ago = f"its files were last written {self._age_s:.0f} s ago"
        return f"no driver on this machine writes this record: it was killed, or runs on another machine; {ago}"

    def view(self, at_s: float | None = None) -> RunView:
        """Return what is to be shown of the run."""
        if self.record is None:
            raise SlobError(f"{self.folder} has not been read", "call poll")
        return RunView(self._state, self.record, self.progress, self._doubt, at_s, self._memo)


def _identity(path: Path) -> tuple[int, ...]:
    """Return what changes when a document is replaced. SlobError if it is gone."""
    try:
        status = path.stat()
    except OSError as error:
        raise SlobError(f"{path} can't be read: {error.strerror}", "its folder was moved or removed") from error
    return status.st_ino, status.st_size, status.st_mtime_ns


def _written(folder: Path, names: Sequence[str]) -> Iterator[float]:
    for name in names:
        try:
            yield (folder / name).stat().st_mtime
        except OSError:
            continue


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
        identity = _identity(self.folder / SWEEP_FILE)
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
    def progress(self) -> Progress:
        """Whether the sweep is still executed."""
        if self._locked or self.record is None:
            return Progress.RUNNING
        if self._run is not None and self._run.progress is Progress.RUNNING:
            return Progress.RUNNING
        return Progress(self.record.status.value)

    def view(self, at_s: float | None = None) -> View:
        """Return what is to be shown of the sweep; ``at_s`` is a moment of its current run."""
        if self.record is None:
            raise SlobError(f"{self.folder} has not been read", "call poll")
        current = self._run.view(at_s) if self._run else None
        return SweepView(self.record, self._results, self.progress, current)
