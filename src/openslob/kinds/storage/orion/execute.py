"""Execution of a test, from its options to its record and files.

The LUNs are opened or a test file is made, the points are measured in order, and the files are written however the
test ends.
"""

from __future__ import annotations

import re
import time
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from openslob.core.errors import UsageError
from openslob.core.interrupt import Interrupt
from openslob.core.units import format_bytes, iso
from openslob.engines.managed.resources import check_cpus
from openslob.kinds.storage.fio import Fio, IoEngine, Job
from openslob.kinds.storage.orion.files import announcement, files_of, plan_text, summary_text
from openslob.kinds.storage.orion.jobs import (
    LUN_SUFFIX,
    OrionSetup,
    cache_fill_job,
    jobs_of,
    needs_cache_fill,
    paths_in,
    volume,
)
from openslob.kinds.storage.orion.options import LoadMatrix, LoadPoint, Options, load_matrix
from openslob.kinds.storage.orion.points import (
    CoverageCheck,
    LunDevices,
    OrionResult,
    PointResult,
    bytes_between,
    coverage_checks,
    open_devices,
    split,
    steps_of,
    summary_of,
    verdicts,
)
from openslob.kinds.storage.orion.protect import claim_devices, require_harmless
from openslob.kinds.storage.record import StorageFolder, StorageRecord
from openslob.kinds.storage.session import Notify, begin_record
from openslob.kinds.storage.target import (
    TestFile,
    check_directory,
    check_file,
    existing_file,
    has_holes,
    require_room,
    temporary_file,
)
from openslob.record.model import Status
from openslob.record.store import save_text

TOOL = "orion"


@dataclass(frozen=True)
class OrionRequest:
    """A requested test.

    ``directory`` holds the .lun file. If there is none, a test file of ``size`` bytes is made there. ``cpus`` are those
    that fio may use, such as ``0-1,4``.
    """

    options: Options
    directory: Path
    size: int
    results: Path
    engine: IoEngine = IoEngine.IO_URING
    direct: bool = True
    allow_destructive: bool = False
    seed: int = 1
    cpus: str | None = None

    @property
    def lun_file(self) -> Path:
        """Path of the file that lists the LUNs; it need not exist."""
        return self.directory / f"{self.options.testname}{LUN_SUFFIX}"


def execute(request: OrionRequest, interrupt: Interrupt, notify: Notify) -> tuple[StorageRecord, Path]:
    """Run the test. Return its record, and the folder that contains the record and Orion's files.

    Raises UsageError or SlobError before anything is written if the options, LUNs or file system do not allow it.
    Raises MeasurementStoppedError when stopped; record and files then have the points measured so far.
    """
    check_cpus(request.cpus)
    fio = Fio.find(interrupt.stop)
    luns, notes = _existing_luns(fio, request)
    notes = (*notes, f"fio was confined to CPUs {request.cpus}") if request.cpus else notes
    future = TestFile(request.directory, "the test file", request.size, ours=True)
    matrix = _check_matrix(request, luns or (future,))
    overwritten = require_harmless(luns, request.allow_destructive) if luns and request.options.write_pct else ""
    with ExitStack() as held:
        if overwritten:
            held.enter_context(claim_devices(luns))
            notify(f"{request.options.write_pct} % of the requests overwrite the contents of {overwritten}")
        folder = held.enter_context(_begin_record(request, luns))
        if not luns:
            notify(
                f"writing a test file of {format_bytes(request.size)} in {request.directory}; it is removed at the end"
            )
            file = temporary_file(fio, request.directory, request.size, direct=request.direct)
            luns = (held.enter_context(file),)
        devices = held.enter_context(open_devices(luns, request.directory))
        notify(announcement(request.options, matrix))
        return _Test(fio, _setup(request, luns), matrix, folder, devices, notes, notify).run(), folder.path


def _existing_luns(fio: Fio, request: OrionRequest) -> tuple[tuple[TestFile, ...], tuple[str, ...]]:
    """Return the LUNs in the .lun file, none if there is no such file, and notes about their file systems."""
    options, file = request.options, request.lun_file
    if not file.exists():
        if options.write_pct and not request.allow_destructive:
            why = f"--write would write to a test file, because {file} does not exist"
            raise UsageError(why, "--allow-destructive allows it")
        require_room(request.directory, request.size)
        return (), check_directory(fio, request.directory, request.engine, direct=request.direct).notes
    luns = tuple(existing_file(request.directory / path, options.size_large) for path in paths_in(file))
    locations = [check_file(fio, lun.path, request.engine, direct=request.direct) for lun in luns]
    holes = [
        f"{lun.label} has holes; reads of them do not reach a device" for lun in luns if has_holes(lun.path, lun.size)
    ]
    return luns, tuple(dict.fromkeys([*(note for location in locations for note in location.notes), *holes]))


def _check_matrix(request: OrionRequest, luns: tuple[TestFile, ...]) -> LoadMatrix:
    """Return the load matrix; UsageError now, rather than after an hour, if a point does not fit the LUNs."""
    setup = _setup(request, luns)
    matrix = load_matrix(request.options, request.options.num_disks or len(luns))
    for number, point in enumerate(matrix.points, start=1):
        jobs_of(setup, point, number)
    return matrix


def _setup(request: OrionRequest, luns: tuple[TestFile, ...]) -> OrionSetup:
    form = volume(luns, request.options)
    return OrionSetup(request.options, form, request.engine, request.direct, request.seed, request.cpus)


@dataclass(frozen=True)
class _Test:
    fio: Fio
    setup: OrionSetup
    matrix: LoadMatrix
    folder: StorageFolder
    devices: LunDevices
    notes: tuple[str, ...]
    notify: Notify

    def run(self) -> StorageRecord:
        """Measure all points and check coverage. Completed points are saved however the test ends."""
        points: list[PointResult] = []
        checks: list[CoverageCheck] = []
        ended = "Stopped"
        self.folder.update(place=self._location(), notes=self.notes)
        try:
            for number, point in enumerate(self.matrix.points, start=1):
                points.append(self._measure(number, point))
            checks += coverage_checks(self.fio, self.setup, self.matrix, points)
            ended = ""
        finally:
            self._write(OrionResult(self.matrix, tuple(points), tuple(checks)), ended)
        return self.folder.finish(Status.COMPLETE)

    def _measure(self, number: int, point: LoadPoint) -> PointResult:
        if needs_cache_fill(self.setup.options, point):
            self.fio.run([cache_fill_job(self.setup, number)])
        jobs = jobs_of(self.setup, point, number)
        started_at, before = iso(time.time_ns()), self.devices.totals()
        small, large = split(self.fio.run(jobs))
        measured = PointResult(point, started_at, small, large, bytes_between(before, self.devices.totals()))
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
        checked = verdicts(outcome, self.setup.direct)
        self.folder.update(summary=summary_of(outcome), verdicts=checked)
        plan = plan_text(self.setup.options, self.setup.volume, outcome.matrix)
        summary = summary_text(plan, outcome, checked, self.notes, ended)
        prefix = file_prefix(self.setup.options.testname, self.folder.record.started_at)
        for name, text in {"summary.txt": summary, **files_of(outcome)}.items():
            save_text(self.folder.path / f"{prefix}_{name}", text)

    def _location(self) -> dict[str, Any]:
        files = self.setup.volume.files
        return {
            "label": ", ".join(file.label for file in files),
            "size_bytes": self.setup.volume.total,
            "ours": all(file.ours for file in files),
            "direct": self.setup.direct,
            "engine": self.setup.engine.value,
            "fio": ".".join(map(str, self.fio.version)),
            "luns": [{"label": file.label, "size_bytes": file.size} for file in files],
            "used_of_each_bytes": self.setup.volume.size,
            "devices": list(self.devices.names),
        }


def file_prefix(testname: str, started_at: str) -> str:
    """Return Orion's prefix of file names, ``NAME_yyyymmdd_hhmm``, in UTC."""
    digits = re.sub(r"\D", "", started_at)
    return f"{testname}_{digits[:8]}_{digits[8:12]}"


def _begin_record(request: OrionRequest, luns: tuple[TestFile, ...]) -> AbstractContextManager[StorageFolder]:
    asked = {
        **asdict(request.options),
        "directory": str(request.directory),
        "size_bytes": request.size,
        "io_engine": request.engine.value,
        "direct": request.direct,
        "allow_destructive": request.allow_destructive,
        "seed": request.seed,
        "cpus": request.cpus,
    }
    data = luns[0].path.parent if luns else request.directory
    return begin_record(request.results, TOOL, request.options.testname, asked, data)
