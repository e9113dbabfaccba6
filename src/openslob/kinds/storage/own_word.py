"""What a server says of its storage by a calibration of its own, beside what slob measured and did not ask it for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from openslob.core.errors import SlobError
from openslob.core.interrupt import Interrupt
from openslob.core.workload import StatisticsType
from openslob.engines import registry
from openslob.engines.base import Calibrator
from openslob.engines.patience import Patience
from openslob.kinds.run.server_reports import ServerReports
from openslob.kinds.run.session_pool import ignore
from openslob.kinds.storage.record import OWN_WORD, StorageFolder, StorageRecord
from openslob.kinds.storage.session import Notify
from openslob.record.store import ATTACHMENTS, save_text

# The latency that a server's own calibration allows by default, in ms, and the least that it takes.
_DEFAULT_MS, _LEAST_MS = 20, 10


@dataclass(frozen=True)
class OwnRequest:
    """A server that is to calibrate its storage itself: its address, about how many disks it has, and what is allowed.

    ``kind`` are snapshots of the server's statistics around it, ``consented`` what the user allows by name.
    """

    address: str
    disks: int = 1
    kind: StatisticsType = StatisticsType.NONE
    consented: frozenset[str] = frozenset()


@dataclass(frozen=True)
class OwnWord:
    """A server that is ready to calibrate, and the reports around that."""

    calibrator: Calibrator
    reports: ServerReports
    disks: int
    most_ms: int
    interrupt: Interrupt

    def add_to(self, folder: StorageFolder, notify: Notify) -> StorageRecord:
        """Let the server calibrate, and add its answer, or why there is none, to a record that is complete."""
        notes: list[str] = []

        def attach(name: str, content: str | bytes) -> None:
            path = folder.path / ATTACHMENTS / name
            path.parent.mkdir(exist_ok=True)
            save_text(path, content if isinstance(content, str) else content.decode(errors="replace"))

        notify("the server calibrates its storage itself: that may take a quarter of an hour")
        try:
            with self.reports.around(attach, notes, ignore, Patience(self.interrupt)):
                said = self.calibrator.calibrate(self.disks, self.most_ms)
        except SlobError as error:
            notes.append(str(error))
            notify(str(error))
        else:
            row: dict[str, object] = {
                "said by the server, not measured by slob": said.by, "max_iops": said.max_iops,
                "max_mb_per_s": said.max_mb_per_s, "latency_ms": said.latency_ms, "disks": self.disks,
                "allowed_ms": self.most_ms,
            }  # fmt: skip
            folder.update(tables={**folder.record.tables, OWN_WORD: (row,)})
        folder.update(notes=(*folder.record.notes, *notes))
        return folder.record


@contextmanager
def open_own_word(request: OwnRequest, limit_us: float | None, interrupt: Interrupt) -> Iterator[OwnWord]:
    """Connect to a server that is to calibrate, before anything is measured. SlobError if it can't or may not."""
    registry.require_calibration(request.address)
    engine, _ = registry.resolve(request.address)
    engine.follow(Patience(interrupt))
    reports = ServerReports(engine, request.kind, request.consented, "flag")
    for finding in reports.findings():
        raise SlobError(finding.why, finding.advice)
    asked_ms = math.ceil(limit_us / 1e3) if limit_us else 0
    with closing(engine.open_calibrator(request.consented)) as calibrator:
        yield OwnWord(calibrator, reports, request.disks, asked_ms if asked_ms >= _LEAST_MS else _DEFAULT_MS, interrupt)
