"""A test from its options to its record: LUNs found or made, points run in order, files written, whatever the end."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from openslob.clock import iso
from openslob.errors import UsageError
from openslob.rawio import place, testfile
from openslob.rawio.fio import Fio
from openslob.rawio.job import IoEngine, Job
from openslob.rawio.orion.devices import Devices, between, devices_under
from openslob.rawio.orion.files import files_of
from openslob.rawio.orion.jobs import Load, is_warmed, jobs_of, warming
from openslob.rawio.orion.luns import LUN_SUFFIX, paths_in, volume
from openslob.rawio.orion.matrix import Grid, Point, grid
from openslob.rawio.orion.measured import Measured, Outcome, Proof, split
from openslob.rawio.orion.proof import proofs
from openslob.rawio.orion.protect import claimed, require_harmless
from openslob.rawio.orion.steps import steps_of, summary_of
from openslob.rawio.orion.summary import announcement, plan_text, summary_text
from openslob.rawio.orion.verdicts import verdicts
from openslob.rawio.orion.words import Options
from openslob.rawio.recording import recorded
from openslob.rawio.testfile import TestFile
from openslob.record.model import Status
from openslob.record.storage import StorageFolder, StorageRecord
from openslob.record.store import write_whole

Tell = Callable[[str], None]
TOOL = "orion"


@dataclass(frozen=True)
class Request:
    """What `run` is asked to do. ``directory`` holds the .lun file, and without one the test file of ``size`` bytes."""

    options: Options
    directory: Path
    size: int
    results: Path
    engine: IoEngine = IoEngine.IO_URING
    direct: bool = True
    allow_destructive: bool = False
    seed: int = 1


def run(fio: Fio, request: Request, tell: Tell) -> tuple[StorageRecord, Path]:
    """Run the test; its record, and the folder with the record and Orion's files.

    StoppedError when stopped: record and files then have the points that were done.
    """
    with _luns(fio, request, tell) as luns:
        made = volume(luns, request.options)
        disks = request.options.num_disks or len(luns)
        cells = grid(request.options, disks)
        load = Load(request.options, made, request.engine, request.direct, request.seed)
        for number, point in enumerate(cells.points, start=1):
            jobs_of(load, point, number)  # says now, not in the middle, if the volume is too small for one
        plan = plan_text(request.options, made, cells, disks)
        tell(announcement(request.options, cells))
        with _recorded(request, luns) as folder:
            test = _Test(fio, request, load, cells, plan, folder, tell)
            with devices_under(luns, request.directory) as devices:
                return test.run(devices), folder.path


@dataclass(frozen=True)
class _Test:
    fio: Fio
    request: Request
    load: Load
    grid: Grid
    plan: str
    folder: StorageFolder
    tell: Tell

    def run(self, devices: Devices) -> StorageRecord:
        """Measure and prove; what was measured is written down however it ends."""
        points: list[Measured] = []
        proven: list[Proof] = []
        ended = "Stopped"
        self.folder.update(place=self._place(devices))
        try:
            for number, point in enumerate(self.grid.points, start=1):
                points.append(self._measure(devices, number, point))
            proven += proofs(self.fio, self.load, self.grid, points)
            ended = ""
        finally:
            self._write(Outcome(self.grid, tuple(points), tuple(proven)), ended)
        return self.folder.finish(Status.COMPLETE)

    def _measure(self, devices: Devices, number: int, point: Point) -> Measured:
        if is_warmed(self.load.options, point):
            self.fio.run([warming(self.load, number)])
        jobs = jobs_of(self.load, point, number)
        started_at, before = iso(time.time_ns()), devices.totals()
        small, large = split(self.fio.run(jobs))
        measured = Measured(point, started_at, small, large, between(before, devices.totals()))
        self._record(measured, jobs)
        return measured

    def _record(self, measured: Measured, jobs: tuple[Job, ...]) -> None:
        steps = self.folder.record.steps
        added = tuple(steps_of(measured, jobs, len(steps) + 1))
        self.folder.update(steps=(*steps, *added))
        done = ", ".join(
            f"{step.name} {step.value('iops'):,.0f} IOPS {step.value('mb_per_s'):,.1f} MB/s" for step in added
        )
        self.tell(f"{measured.point}: {done}")

    def _write(self, outcome: Outcome, ended: str) -> None:
        found = verdicts(outcome, self.request.direct)
        self.folder.update(summary=summary_of(outcome), verdicts=found, notes=self._notes())
        summary = summary_text(self.plan, outcome, found, self._notes(), ended)
        prefix = file_prefix(self.load.options.testname, self.folder.record.started_at)
        for name, text in {"summary.txt": summary, **files_of(outcome)}.items():
            write_whole(self.folder.path / f"{prefix}_{name}", text)

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if not self.request.direct:
            notes.append("buffered: the page cache answers most reads, so this is not what the storage does")
        for file in self.load.volume.files:
            if not file.ours and testfile.has_holes(file.path, file.size):
                notes.append(f"{file.label} has holes, which are answered without any storage")
        return tuple(notes)

    def _place(self, devices: Devices) -> dict[str, Any]:
        files = self.load.volume.files
        return {
            "label": ", ".join(file.label for file in files),
            "size_bytes": self.load.volume.total,
            "file_system": place.file_system_of(self.request.directory),
            "fio": ".".join(map(str, self.fio.version)),
            "ours": all(file.ours for file in files),
            "luns": [{"label": file.label, "size_bytes": file.size} for file in files],
            "used_of_each_bytes": self.load.volume.size,
            "devices": list(devices.names),
        }


def file_prefix(testname: str, started_at: str) -> str:
    """``NAME_yyyymmdd_hhmm``, as Orion calls its files; the time is UTC."""
    digits = re.sub(r"\D", "", started_at)
    return f"{testname}_{digits[:8]}_{digits[8:12]}"


@contextmanager
def _luns(fio: Fio, request: Request, tell: Tell) -> Iterator[tuple[TestFile, ...]]:
    """The LUNs to be measured: those in the .lun file, or a file of our own. All that could forbid it is looked at."""
    options = request.options
    lun_file = request.directory / f"{options.testname}{LUN_SUFFIX}"
    with ExitStack() as held:
        if lun_file.exists():
            unit = max(options.size_small, options.size_large)
            luns = tuple(testfile.given(request.directory / path, unit) for path in paths_in(lun_file))
            _check_given(fio, request, luns)
        else:
            if options.write_pct and not request.allow_destructive:
                raise UsageError(
                    f"--write would write to a test file, as there is no {lun_file}", "--allow-destructive allows it"
                )
            place.check(fio, request.directory, request.engine, direct=request.direct)
            tell(f"there is no {lun_file}: a test file is made, and gone at the end")
            luns = (held.enter_context(testfile.made(fio, request.directory, request.size, direct=request.direct)),)
        if options.write_pct:
            told = require_harmless(luns, request.allow_destructive)
            held.enter_context(claimed(luns))
            tell(f"writing: {options.write_pct} % of the requests overwrite what is on {told}")
        yield luns


def _check_given(fio: Fio, request: Request, luns: tuple[TestFile, ...]) -> None:
    place.check_engine(fio, request.engine)
    for lun in luns:
        if request.direct and lun.path.is_file():
            place.check_direct(lun.path.parent, place.file_system_of(lun.path.parent), write=False)


def _recorded(request: Request, luns: tuple[TestFile, ...]) -> AbstractContextManager[StorageFolder]:
    asked = {
        **asdict(request.options),
        "directory": str(request.directory),
        "size_bytes": request.size,
        "io_engine": request.engine.value,
        "direct": request.direct,
        "allow_destructive": request.allow_destructive,
        "seed": request.seed,
    }
    data = request.directory if luns[0].ours else luns[0].path.parent
    return recorded(request.results, TOOL, request.options.testname, asked, data)
