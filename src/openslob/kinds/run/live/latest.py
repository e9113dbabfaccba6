"""The runs of a record that makes one after the other: which of them is shown while it grows."""

from __future__ import annotations

from pathlib import Path

from openslob.core.errors import SlobError
from openslob.kinds.run.live.follow import BUDGET_S, FollowedRun
from openslob.kinds.run.live.run_view import RunView
from openslob.kinds.view import has_begun
from openslob.record.store import RECORD_FILE


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
