"""A raw measurement from its first check to its record: the place checked, the file there, host and device watched."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openslob._version import __version__
from openslob.clock import iso
from openslob.errors import SlobError
from openslob.host.environment import environment
from openslob.metrics import storage_figure
from openslob.metrics.storage_metrics import latency_figures
from openslob.record.model import Figure, Status
from openslob.record.storage import Load, StorageFolder, StorageRecord, StorageStep
from openslob.record.store import record_id
from openslob.storage import preflight, testfile
from openslob.storage.fio import Fio
from openslob.storage.host_usage import HostUsage, HostUsageMonitor
from openslob.storage.job import IoEngine, Job, Pattern
from openslob.storage.preflight import StorageLocation
from openslob.storage.process import MeasurementStoppedError
from openslob.storage.results import JobResult
from openslob.storage.testfile import TestFile
from openslob.units import MIB, MICROS, format_bytes


@dataclass(frozen=True)
class StorageTarget:
    """What to measure: a directory, in which a file of ``size`` bytes is made for the time, or a file or device."""

    path: Path
    size: int
    engine: IoEngine
    direct: bool = True

    @property
    def directory(self) -> Path:
        """The directory itself, or the one of the file."""
        return self.path if self.path.is_dir() else self.path.absolute().parent


@dataclass(frozen=True)
class StorageRequest:
    """Which tool measures, what to call it, where the record goes, and the parameters that go into it."""

    tool: str
    name: str
    results: Path
    asked: Mapping[str, Any]


@contextmanager
def session(
    fio: Fio, request: StorageRequest, where: StorageTarget, notify: Notify
) -> Iterator[tuple[StepRunner, TestFile]]:
    """Everything a measurement needs; gone at the block's end, the file too.

    SlobError before anything is begun when the place does not allow it.
    """
    found, given = _checked(fio, where)
    with (
        recorded(request.results, request.tool, request.name, request.asked, where.directory) as folder,
        closing(HostUsageMonitor(where.path)) as watch,
    ):
        if given is None:
            notify(f"writing a test file of {format_bytes(where.size)} in {where.directory}")
        with nullcontext(given) if given else testfile.made(fio, where.path, where.size, direct=where.direct) as file:
            folder.update(place=_described(fio, where, found, file), notes=(*found.notes, *_holes(file)))
            yield StepRunner(fio, watch, folder, notify), file


def _checked(fio: Fio, where: StorageTarget) -> tuple[StorageLocation, TestFile | None]:
    if not where.path.exists():
        raise SlobError(f"{where.path} is not there", "give a directory, or a file or device that is only read")
    if where.path.is_dir():
        testfile.require_room(where.path, where.size)
        return preflight.check(fio, where.path, where.engine, direct=where.direct), None
    given = testfile.given(where.path, MIB)
    return preflight.check_file(fio, where.path, where.engine, direct=where.direct), given


def _described(fio: Fio, where: StorageTarget, found: StorageLocation, file: TestFile) -> dict[str, Any]:
    return {
        "label": file.label,
        "size_bytes": file.size,
        "ours": file.ours,
        "file_system": found.file_system,
        "direct": where.direct,
        "engine": where.engine.value,
        "fio": ".".join(map(str, fio.version)),
    }


def _holes(file: TestFile) -> list[str]:
    if not testfile.has_holes(file.path, file.size):
        return []
    return [f"fewer bytes are allocated to {file.label} than it is long: some reads may not reach the device"]


Notify = Callable[[str], None]
_SEQUENTIAL = (Pattern.SEQUENTIAL_READ, Pattern.SEQUENTIAL_WRITE, Pattern.SEQUENTIAL_MIXED)
_READ_PCT = {
    Pattern.RANDOM_READ: 100, Pattern.SEQUENTIAL_READ: 100, Pattern.RANDOM_WRITE: 0, Pattern.SEQUENTIAL_WRITE: 0,
}  # fmt: skip


@contextmanager
def recorded(results: Path, tool: str, name: str, asked: Mapping[str, Any], directory: Path) -> Iterator[StorageFolder]:
    """The folder of a measurement by ``tool`` of the storage under ``directory``.

    The block ends the record by `StorageFolder.finish`; when it is stopped or fails, the record says so instead.
    """
    started_at = iso(time.time_ns())
    record = StorageRecord(
        tool=tool,
        id=record_id(name, started_at),
        name=name,
        status=Status.FAILED,
        started_at=started_at,
        openslob_version=__version__,
        asked=asked,
        environment=environment(directory),
    )
    with StorageFolder.begin(results, record) as folder:
        try:
            yield folder
        except MeasurementStoppedError as error:
            folder.finish(Status.INTERRUPTED, (str(error),))
            raise
        except SlobError as error:
            folder.finish(Status.FAILED, (str(error),))
            raise


@dataclass(frozen=True)
class StepRunner:
    """Takes steps: runs a job while host and device are watched, and makes the record's step of it."""

    fio: Fio
    watch: HostUsageMonitor
    folder: StorageFolder
    notify: Notify

    def measure(self, job: Job, name: str, purpose: str) -> tuple[JobResult, StorageStep]:
        """Run a job, record it as the next step, and say so in one line."""
        self.watch.begin()
        result = self.fio.run([job], self.watch)[0]
        number = len(self.folder.record.steps) + 1
        step = step_of(number, name, purpose, job, result, self.watch.seen(result.seconds))
        self.folder.add(step)
        self.notify(line_of(step))
        return result, step


def step_of(number: int, name: str, purpose: str, job: Job, result: JobResult, seen: HostUsage) -> StorageStep:
    """The record's step of a job that was run."""
    latency = result.latency.summary()
    return StorageStep(
        number=number,
        name=name,
        purpose=purpose,
        load=load_of(job),
        figures={**_rates(result), **latency_figures(latency), **_costs(result, seen)},
        latency=latency,
    )


def load_of(job: Job) -> Load:
    """A job as the record has it."""
    return Load(
        block_bytes=job.block_size,
        in_flight=job.in_flight,
        processes=job.copies,
        read_pct=_READ_PCT.get(job.pattern, job.read_pct),
        pattern="sequential" if job.pattern in _SEQUENTIAL else "random",
        engine=job.engine.value,
        seconds=job.seconds,
        verified=job.verify,
    )


def line_of(step: StorageStep) -> str:
    """A step in one line."""
    shown = (("iops", "{:,.0f} IOPS"), ("mb_per_s", "{:,.1f} MB/s"), ("p99_us", "p99 {:,.0f} µs"))
    figures = [form.format(value) for name, form in shown if (value := step.value(name)) is not None]
    return f"{step.number}. {step.name}: {', '.join(figures) or 'no rate is known'} ({step.purpose})"


def _rates(result: JobResult) -> dict[str, Figure]:
    figures = {
        "ios": result.ios,
        "seconds": result.seconds,
        "iops": result.iops,
        "mb_per_s": result.bytes_per_s / MIB,
    }
    return {name: storage_figure(name, value) for name, value in figures.items()}


def _costs(result: JobResult, seen: HostUsage) -> dict[str, Figure]:
    host = None if seen.host_cpu_s is None else seen.host_cpu_s * MICROS / result.iops
    unclear = seen.why or "the step was too short or too unsteady"
    figures = {
        "cpu_us_per_io": result.cpu_us_per_io,
        "cpu_user_s": result.cpu_user_s,
        "cpu_system_s": result.cpu_system_s,
        "host_cpu_us_per_io": host,
        "host_cpus_busy": seen.host_cpu_s,
        "device_mb_per_s": None if seen.device_bytes is None else seen.device_bytes / MIB,
        "interval_pct": seen.half_width_pct,
    }
    return {name: storage_figure(name, value, unclear) for name, value in figures.items()}
