"""Every run that a test makes, derived again from its raw files: what its record says is what they say.

Rows are measured by one function, in the memory of the driver and from the files; what the driver alone knows is put
on that, and written into the files as totals. `NOT_SAID` has what is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from unittest.mock import patch

from openslob.core.errors import SlobError
from openslob.kinds.run import KIND as RUN
from openslob.kinds.verification import verify
from openslob.metrics.run_metrics import PACED
from openslob.record import finding, store
from openslob.record.model import RunRecord
from openslob.record.store import RunFolder

# How deep below a folder of a test records lie: those of the parts of others too.
_DEPTHS = 4


# How late sessions woke up, and what was due at the end, is known to the runner alone.
NOT_SAID = PACED


class Derivations:
    """The records of runs that began at ``since`` or later, as records have it, each of which is looked at once."""

    def __init__(self, since: str) -> None:
        self._since = since
        self._found: list[str] = []
        self._seen: set[Path] = set()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look at every record that this process finishes within the block, as soon as it is finished.

        A test may have changed what holds for the figures of its runs, until it ends.
        """
        finish = RunFolder.finish

        @wraps(finish)
        def noted(folder: RunFolder, record: RunRecord, report: str = "") -> None:
            finish(folder, record, report)
            self._look(folder.path)

        with patch.object(RunFolder, "finish", noted):
            yield

    def faults(self, place: Path | None) -> list[str]:
        """Return what differs in the records since the last call, and in those of other processes below a folder."""
        for depth in range(_DEPTHS):
            for file in sorted(place.glob("*/" * depth + "run.json")) if place else ():
                self._look(file.parent)
        found, self._found = self._found, []
        return found

    def _look(self, folder: Path) -> None:
        if folder not in self._seen and not store.running_pid(folder):
            self._seen.add(folder)
            self._found += self._faults_of(folder)

    def _faults_of(self, folder: Path) -> Iterator[str]:
        found = finding.at(folder)
        if found is None or found.kind is not RUN:
            return
        try:
            record = store.load(folder)
        except SlobError:
            # Of a process that was killed while it wrote.
            return
        if record.started_at < self._since:
            return
        checked = verify(found)
        yield from (f"{folder}: {each}" for each in checked.faults)
        for _, each in checked.unknown:
            if each.name not in NOT_SAID:
                yield f"{folder}: {each.name} is not in the raw files: {each.why}"
