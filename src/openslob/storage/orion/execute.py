"""A test from its options to its record: LUNs found or made, points run in order, files written, whatever the end."""

from __future__ import annotations

import re
import time
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from openslob.clock import iso
from openslob.errors import UsageError
from openslob.record.model import Status
from openslob.record.storage import StorageFolder, StorageRecord
from openslob.record.store import write_whole
from openslob.storage import preflight, testfile
from openslob.storage.fio import Fio
from openslob.storage.job import IoEngine, Job
from openslob.storage.orion.files import announcement, files_of, plan_text, summary_text
from openslob.storage.orion.jobs import LUN_SUFFIX, OrionSetup, is_warmed, jobs_of, paths_in, volume, warming
from openslob.storage.orion.matrix import LoadMatrix, LoadPoint, grid
from openslob.storage.orion.options import Options
from openslob.storage.orion.points import (
    CoverageCheck,
    LunDevices,
    OrionResult,
    PointResult,
    between,
    devices_under,
    proofs,
    split,
)
from openslob.storage.orion.protect import claimed, require_harmless
from openslob.storage.orion.record import steps_of, summary_of, verdicts
from openslob.storage.session import Notify, recorded
from openslob.storage.testfile import TestFile
from openslob.units import format_bytes

TOOL = "orion"


@dataclass(frozen=True)
class OrionRequest:
    """What `run` is asked to do. ``directory`` holds the .lun file, and without one the test file of ``size`` bytes."""

    options: Options
    directory: Path
    size: int
    results: Path
    engine: IoEngine = IoEngine.IO_URING
    direct: bool = True
    allow_destructive: bool = False
    seed: int = 1

    @property
    def lun_file(self) -> Path:
        """The file that names the LUNs, if it is there."""
        return self.directory / f"{self.options.testname}{LUN_SUFFIX}"


def run(fio: Fio, request: OrionRequest, notify: Notify) -> tuple[StorageRecord, Path]:
    """Run the test; its record, and the folder with the record and Orion's files.

    UsageError and SlobError before anything is begun when the options, the LUNs or the place do not allow it.
    StoppedError when stopped: record and files then have the points that were done.
    """
    luns, notes = _found(fio, request)
    cells = _planned(request, luns or (_to_be_made(request),))
    told = require_harmless(luns, request.allow_destructive) if luns and request.options.write_pct else ""
    with ExitStack() as held:
        if told:
            held.enter_context(claimed(luns))
            notify(f"writing: {request.options.write_pct} % of the requests overwrite what is on {told}")
        folder = held.enter_context(_recorded(request, luns))
        if not luns:
            notify(f"writing a test file of {format_bytes(request.size)} in {request.directory}, gone at the end")
            file = testfile.made(fio, request.directory, request.size, direct=request.direct)
            luns = (held.enter_context(file),)
        devices = held.enter_context(devices_under(luns, request.directory))
        notify(announcement(request.options, cells))
        return _Test(fio, _load(request, luns), cells, folder, devices, notes, notify).run(), folder.path


def _found(fio: Fio, request: OrionRequest) -> tuple[tuple[TestFile, ...], tuple[str, ...]]:
    """The LUNs in the .lun file, none if there is no such file, and what a reader should know of the place."""
    options, file = request.options, request.lun_file
    if not file.exists():
        if options.write_pct and not request.allow_destructive:
            why = f"--write would write to a test file, as there is no {file}"
            raise UsageError(why, "--allow-destructive allows it")
        testfile.require_room(request.directory, request.size)
        return (), preflight.check(fio, request.directory, request.engine, direct=request.direct).notes
    luns = tuple(testfile.given(request.directory / path, options.size_large) for path in paths_in(file))
    places = [preflight.check_file(fio, lun.path, request.engine, direct=request.direct) for lun in luns]
    holes = [
        f"{lun.label} has holes, which no device answers" for lun in luns if testfile.has_holes(lun.path, lun.size)
    ]
    return luns, tuple(dict.fromkeys([*(note for each in places for note in each.notes), *holes]))


def _to_be_made(request: OrionRequest) -> TestFile:
    return TestFile(request.directory, "the test file", request.size, ours=True)


def _planned(request: OrionRequest, luns: tuple[TestFile, ...]) -> LoadMatrix:
    """The points, each of which fits the LUNs: better told now than after an hour."""
    load = _load(request, luns)
    cells = grid(request.options, request.options.num_disks or len(luns))
    for number, point in enumerate(cells.points, start=1):
        jobs_of(load, point, number)
    return cells


def _load(request: OrionRequest, luns: tuple[TestFile, ...]) -> OrionSetup:
    return OrionSetup(request.options, volume(luns, request.options), request.engine, request.direct, request.seed)


@dataclass(frozen=True)
class _Test:
    fio: Fio
    load: OrionSetup
    grid: LoadMatrix
    folder: StorageFolder
    devices: LunDevices
    notes: tuple[str, ...]
    notify: Notify

    def run(self) -> StorageRecord:
        """Measure and prove; what was measured is written down however it ends."""
        points: list[PointResult] = []
        proven: list[CoverageCheck] = []
        ended = "Stopped"
        self.folder.update(place=self._place(), notes=self.notes)
        try:
            for number, point in enumerate(self.grid.points, start=1):
                points.append(self._measure(number, point))
            proven += proofs(self.fio, self.load, self.grid, points)
            ended = ""
        finally:
            self._write(OrionResult(self.grid, tuple(points), tuple(proven)), ended)
        return self.folder.finish(Status.COMPLETE)

    def _measure(self, number: int, point: LoadPoint) -> PointResult:
        if is_warmed(self.load.options, point):
            self.fio.run([warming(self.load, number)])
        jobs = jobs_of(self.load, point, number)
        started_at, before = iso(time.time_ns()), self.devices.totals()
        small, large = split(self.fio.run(jobs))
        measured = PointResult(point, started_at, small, large, between(before, self.devices.totals()))
        self._record(measured, jobs)
        return measured

    def _record(self, measured: PointResult, jobs: tuple[Job, ...]) -> None:
        steps = self.folder.record.steps
        added = tuple(steps_of(measured, jobs, len(steps) + 1))
        self.folder.update(steps=(*steps, *added))
        done = ", ".join(
            f"{step.name} {step.value('iops'):,.0f} IOPS {step.value('mb_per_s'):,.1f} MB/s" for step in added
        )
        self.notify(f"{measured.point}: {done}")

    def _write(self, outcome: OrionResult, ended: str) -> None:
        found = verdicts(outcome, self.load.direct)
        self.folder.update(summary=summary_of(outcome), verdicts=found)
        plan = plan_text(self.load.options, self.load.volume, outcome.grid)
        summary = summary_text(plan, outcome, found, self.notes, ended)
        prefix = file_prefix(self.load.options.testname, self.folder.record.started_at)
        for name, text in {"summary.txt": summary, **files_of(outcome)}.items():
            write_whole(self.folder.path / f"{prefix}_{name}", text)

    def _place(self) -> dict[str, Any]:
        files = self.load.volume.files
        return {
            "label": ", ".join(file.label for file in files),
            "size_bytes": self.load.volume.total,
            "ours": all(file.ours for file in files),
            "direct": self.load.direct,
            "engine": self.load.engine.value,
            "fio": ".".join(map(str, self.fio.version)),
            "luns": [{"label": file.label, "size_bytes": file.size} for file in files],
            "used_of_each_bytes": self.load.volume.size,
            "devices": list(self.devices.names),
        }


def file_prefix(testname: str, started_at: str) -> str:
    """``NAME_yyyymmdd_hhmm``, as Orion calls its files; the time is UTC."""
    digits = re.sub(r"\D", "", started_at)
    return f"{testname}_{digits[:8]}_{digits[8:12]}"


def _recorded(request: OrionRequest, luns: tuple[TestFile, ...]) -> AbstractContextManager[StorageFolder]:
    asked = {
        **asdict(request.options),
        "directory": str(request.directory),
        "size_bytes": request.size,
        "io_engine": request.engine.value,
        "direct": request.direct,
        "allow_destructive": request.allow_destructive,
        "seed": request.seed,
    }
    data = luns[0].path.parent if luns else request.directory
    return recorded(request.results, TOOL, request.options.testname, asked, data)
