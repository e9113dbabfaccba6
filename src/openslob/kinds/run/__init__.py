"""A run of slob's own load, or the observation of another one: both have the same document."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from openslob.core.places import server_of
from openslob.core.workload import updates_asked
from openslob.kinds.contract import AS_IT_IS, Kind, Row, Wanted, list_failed
from openslob.record import store
from openslob.record.finding import Found
from openslob.record.kinds import Labels
from openslob.record.model import RunRecord, Status
from openslob.record.store import RECORD_FILE, SLICES, RecordEntry
from openslob.report.format import micros, number

if TYPE_CHECKING:
    from openslob.kinds.run.live.follow import FollowedRun, FollowedRuns
    from openslob.report.document import Document


class RunKind(Kind[RunRecord]):
    """Runs and observations. A run that lost its record still has its raw files."""

    labels = Labels("run", "run", "slob run", so_far="; its record is written at its end", rank=0)
    files: ClassVar = (RECORD_FILE, SLICES)
    says_nothing_before_the_end = True
    has_own_page = False

    def describe(self, record: RunRecord) -> str:
        """Return whether it is a run or an observation."""
        return record.kind

    def read(self, path: Path) -> RunRecord:
        return store.load(path)

    def find(
        self, results: Path, names: Collection[str] | None = None, parts: bool = True
    ) -> list[RecordEntry[RunRecord]]:
        """Return all runs in a folder, the oldest first, and the runs of other records with ``parts``."""
        return store.find(results, names, parts)

    def read_as(self, path: Path, wanted: Wanted) -> RunRecord:
        from openslob.metrics import add_costs
        from openslob.metrics.cost import price_in

        record = store.load(path)
        return add_costs(record, price_in(wanted.price)) if wanted.price else record

    def row(self, record: RunRecord) -> Row:
        p99_us = record.latency.get(record.most_frequent, {}).get("p99_us")
        return {
            "sessions": record.value("sessions") or record.spec.get("sessions"),
            "update_pct": updates_asked(record.spec),
            "mode": record.spec.get("mode"),
            "ops_per_s": record.value("ops_per_s"),
            "pio_read_per_s": record.value("pio_read_per_s"),
            "p99_us": None if p99_us is None else float(p99_us),
            "failed_verdicts": list_failed(record.verdicts),
        }

    def listed_as(self, record: RunRecord) -> str:
        """Return whether it is a run or an observation."""
        return record.kind.value

    def server(self, record: RunRecord) -> str:
        return server_of(str(record.engine.get("target", "")))

    def answer(self, record: RunRecord, _runs: Sequence[RunRecord] = ()) -> str:
        """Return the rate that the run is about; of reads that storage may have served, their latency."""
        from openslob.kinds.listing import MAIN_RATES, READS, main_rate

        if (name := main_rate(record)) is None:
            return ""
        latency = record.value("engine_read_latency_us") if name == READS else None
        return f"{number(record.value(name))} {MAIN_RATES[name]}" + ("" if latency is None else f"  {micros(latency)}")

    def documents(self, found: Found) -> list[tuple[str, Path]]:
        return [(run.id, found.folder / RECORD_FILE) for run in self.runs_of(found) if run.status is Status.COMPLETE]

    def runs_of(self, found: Found) -> list[RunRecord]:
        return [self.read(found.path)]

    def follow(self, folder: Path) -> FollowedRun | FollowedRuns:
        """Return what follows a run, or those in the folder of a record that has runs."""
        from openslob.kinds.run.live.follow import FollowedRun, FollowedRuns

        is_run = any(os.path.lexists(folder / name) for name in self.files)
        return FollowedRun(folder) if is_run else FollowedRuns(folder)

    def contents(self, record: RunRecord) -> str:
        """Return which product it was, if that is not the one whose protocol it speaks."""
        return record.relative

    def document(self, record: RunRecord, folder: Path | None = None, _wanted: Wanted = AS_IT_IS) -> Document:
        from openslob.report.text import run_document

        return run_document(record, folder)


KIND = RunKind()
