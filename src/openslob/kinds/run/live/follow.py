"""A record's folder, followed while it grows, or once it is finished: what any follower does, and that of runs.

Its snapshot is what a viewer would see at this moment, as plain values: for programs that can't draw.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from openslob.core.errors import SlobError
from openslob.kinds.run.live.run_view import Memo, RunView
from openslob.kinds.run.live.state import RunState
from openslob.kinds.view import Follower, RecordState, View, has_begun
from openslob.record import store
from openslob.record.model import RunRecord
from openslob.record.store import RECORD_FILE, UNFINISHED, running_pid

# How long a look may take to read what is behind: enough for a second of any run, and short for a screen.
BUDGET_S = 0.15
# A record without a lock here, as on another machine's file system, is written if its files grew within this time.
GROWS_S = 15.0
_FILES = ("engine.csv", "os.csv", "slices.csv", "waits.csv", "events.csv", RECORD_FILE)


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
        identity = identity_of(self.folder / RECORD_FILE)
        if identity == self._identity:
            return False
        self.record, self._identity = store.load(self.folder), identity
        return True

    @property
    def progress(self) -> RecordState:
        """Whether the record is still written."""
        if self.record is None or UNFINISHED not in self.record.errors:
            return RecordState(self.record.status.value) if self.record else RecordState.RUNNING
        return RecordState.RUNNING if self._locked or self._grows else RecordState.ABANDONED

    @property
    def _age_s(self) -> float:
        """The time since a file of the folder was written."""
        ages = [time.time() - at for at in _read_times(self.folder, _FILES)]
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


class FollowedRuns:
    """The run in a folder that began last; as long as there is nothing to show of it, the one before, too."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run: FollowedRun | None = None
        self._before: FollowedRun | None = None

    @property
    def read_share(self) -> float:
        """The share that was read of a run's raw files."""
        return min((run.read_share for run in (self.run, self._before) if run), default=1.0)

    def poll(self, budget_s: float = BUDGET_S) -> bool:
        """Read what is new; return whether something changed."""
        changed = self._take_latest()
        if self.run is None:
            return changed
        changed = self.run.poll(budget_s) or changed
        if self._before and has_begun(self.run.view()):
            self._before, changed = None, True
        # Its result may have come after the next one began.
        return (self._before.poll(budget_s / 2) if self._before else False) or changed

    def _take_latest(self) -> bool:
        """Follow the run that began last, and keep the one before; return whether it is another one."""
        folders = sorted(path.parent for path in self.folder.glob(f"*/{RECORD_FILE}"))[-2:]
        if not folders or (self.run and folders[-1] == self.run.folder):
            return False
        earlier = self.run or (FollowedRun(folders[0]) if len(folders) > 1 else None)
        # One that never had anything to show does not take the place of one that had.
        if self.run is None or has_begun(self.run.view()):
            self._before = earlier
        self.run = FollowedRun(folders[-1])
        return True

    def latest(self, at_s: float | None = None) -> RunView | None:
        """Return the run that began last; ``at_s`` is a moment of it if it is the one that is shown."""
        return self.run.view(None if self._before else at_s) if self.run else None

    def view(self, at_s: float | None = None) -> RunView:
        """Return the run that is shown. SlobError if there is none."""
        shown = self._before or self.run
        if shown is None:
            raise SlobError(f"{self.folder} has no run that can be shown", "`slob show` prints the report")
        return shown.view(at_s)


def identity_of(path: Path) -> tuple[int, ...]:
    """Return what changes when a document is replaced. SlobError if it is gone."""
    try:
        status = path.stat()
    except OSError as error:
        raise SlobError(f"{path} can't be read: {error.strerror}", "its folder was moved or removed") from error
    return status.st_ino, status.st_size, status.st_mtime_ns


def _read_times(folder: Path, names: Sequence[str]) -> Iterator[float]:
    for name in names:
        try:
            yield (folder / name).stat().st_mtime
        except OSError:
            continue


def read_all(follower: Follower) -> View:
    """Read all that is in the record's files now, and return what is to be shown of it."""
    while follower.poll() and follower.read_share < 1:
        pass
    return follower.view()


def document(view: View) -> dict[str, Any]:
    """Return a view as plain values: of a sweep with its points, and with its run in progress or its last one."""
    return {
        **asdict(view.head),
        "figures": {name: figure.model_dump() for name, figure in view.now.items()},
        "verdicts": [verdict.model_dump(mode="json") for verdict in view.verdicts],
        "notes": [asdict(note) for note in view.notes],
        "points": [
            {**vars(point), "figures": {name: each.model_dump() for name, each in point.figures.items()}}
            for point in view.points
        ],
        "current": document(view.current) if view.current else None,
    }
