"""A storage measurement: its session, its steps, its record, and what host and device do meanwhile.

`session` checks the target, provides the file to read, watches host and device, and begins the record. A `StepRunner`
runs fio jobs as steps of the record. The record starts as failed, is saved after every step, and ends as the
measurement ended.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from openslob.analyze.statistics import relative_half_width
from openslob.core import rehearsal
from openslob.core.errors import SlobError
from openslob.core.host import FigureUnknownError
from openslob.core.units import MIB, MICROS, NANOS, format_bytes
from openslob.host.counters import CPU_KINDS, CPU_NAMES, open_host
from openslob.host.device import BlockDevice, device_folder, device_under
from openslob.host.environment import environment
from openslob.host.model import Sample
from openslob.kinds.storage.fio import Fio, IoEngine, Job, JobResult, Pattern
from openslob.kinds.storage.process import MeasurementStoppedError
from openslob.kinds.storage.record import SYNCED, StorageFolder, StorageLoad, StorageRecord, StorageStep
from openslob.kinds.storage.target import (
    StorageLocation,
    TestFile,
    check_directory,
    check_file,
    existing_file,
    has_holes,
    require_room,
    temporary_file,
)
from openslob.metrics import storage_figure
from openslob.metrics.cpu import is_busy
from openslob.metrics.storage_metrics import latency_figures
from openslob.record.model import Figure, Status
from openslob.record.store import new_head

# The kernel counts CPU in clock ticks of 10 ms: at shorter intervals, CPU rates would be off by more than 10 %.
_EVERY_S = 0.1
# Time that fio needs to end after its last request, with a margin for busy hosts.
_END_S = 0.2
# Share of the measured time that is left out at both ends, where the load is not steady.
_EDGE = 0.05
_BUSY = tuple(name for kind, name in zip(CPU_KINDS, CPU_NAMES, strict=True) if is_busy(kind))
_TOO_SHORT = "the step was too short to sample the host"


@dataclass(frozen=True)
class HostUsage:
    """CPU and device reads of a step, per second; None with the reason in ``why``.

    ``host_cpu_s`` is the busy CPU seconds of the whole host (`openslob.metrics.cpu`), ``device_bytes`` the bytes that
    the device read, both per second. ``half_width_pct`` is half the 95 % interval of the rate of reads, in % of it.
    """

    host_cpu_s: float | None
    device_bytes: float | None
    half_width_pct: float | None
    why: str = ""


@dataclass(frozen=True)
class UsageReading:
    """The host's CPU and the device at one moment of the monotonic clock."""

    time_ns: int
    cpu: Sample
    device: Sample


class HostUsageMonitor:
    """Samples the counters of the host and of the device under ``path`` while a step runs."""

    def __init__(self, path: Path, now: Callable[[], int] = time.monotonic_ns) -> None:
        self._host = open_host()
        self._now = now
        self._samples: list[UsageReading] = []
        self.why_no_device = ""
        self._device: BlockDevice | None = None
        try:
            self._device = BlockDevice(device_of(path))
        except FigureUnknownError as error:
            self.why_no_device = str(error)

    def reset(self) -> None:
        """Drop all samples before the next step."""
        self._samples.clear()

    def sample(self) -> None:
        """Read the counters, unless they were read less than 0.1 s ago."""
        now = self._now()
        if self._samples and now - self._samples[-1].time_ns < _EVERY_S * NANOS:
            return
        device = self._device.read() if self._device else Sample.missing(("dev_read_bytes",), self.why_no_device)
        self._samples.append(UsageReading(now, self._host.cpu(), device))

    def usage(self, seconds: float) -> HostUsage:
        """Return the usage over the last ``seconds``, the time that fio measured."""
        end = self._now() - _END_S * NANOS
        begin = end - seconds * (1 - _EDGE) * NANOS
        inner = [sample for sample in self._samples if begin <= sample.time_ns <= end - seconds * _EDGE * NANOS]
        return usage_of(inner, self.why_no_device)

    def close(self) -> None:
        """Close the counters' files."""
        self._host.close()
        if self._device:
            self._device.close()


def usage_of(samples: Sequence[UsageReading], why_no_device: str = "") -> HostUsage:
    """Return rates between the first and the last sample, and the interval from the rates between neighbours."""
    if len(samples) < 2:
        return HostUsage(None, None, None, why_no_device or _TOO_SHORT)
    cpu = [sum(sample.cpu.values.get(name, 0.0) for name in _BUSY) for sample in samples]
    span = (samples[-1].time_ns - samples[0].time_ns) / NANOS
    if any("dev_read_bytes" not in sample.device.values for sample in samples):
        return HostUsage((cpu[-1] - cpu[0]) / span, None, None, why_no_device or _TOO_SHORT)
    rates = [
        (after.device.values["dev_read_bytes"] - before.device.values["dev_read_bytes"])
        / (after.time_ns - before.time_ns)
        * NANOS
        for before, after in pairwise(samples)
    ]
    share = relative_half_width(rates)
    reads = (samples[-1].device.values["dev_read_bytes"] - samples[0].device.values["dev_read_bytes"]) / span
    return HostUsage((cpu[-1] - cpu[0]) / span, reads, None if share is None else 100 * share)


def device_of(path: Path) -> Path:
    """Return the folder in /sys of a block device, or of the one under a file or directory.

    FigureUnknownError without one.
    """
    facts = path.stat()
    if stat.S_ISBLK(facts.st_mode):
        return device_folder(facts.st_rdev, None)
    return device_under(path if path.is_dir() else Path(os.path.realpath(path)).parent)


Notify = Callable[[str], None]
_SEQUENTIAL = (Pattern.SEQUENTIAL_READ, Pattern.SEQUENTIAL_WRITE, Pattern.SEQUENTIAL_MIXED)
_READ_PCT = {
    Pattern.RANDOM_READ: 100, Pattern.SEQUENTIAL_READ: 100, Pattern.RANDOM_WRITE: 0, Pattern.SEQUENTIAL_WRITE: 0,
}  # fmt: skip


@dataclass(frozen=True)
class StorageTarget:
    """What is measured: a directory, in which a temporary file of ``size`` bytes is made, or a file or device."""

    path: Path
    size: int
    engine: IoEngine
    direct: bool = True

    @property
    def directory(self) -> Path:
        """The directory, or the parent directory of the file or device."""
        return self.path if self.path.is_dir() else self.path.absolute().parent


@dataclass(frozen=True)
class StorageRequest:
    """The tool that measures, the record's name and location, and the parameters that go into the record."""

    tool: str
    name: str
    results: Path
    asked: Mapping[str, Any]


@contextmanager
def session(
    fio: Fio, request: StorageRequest, target: StorageTarget, notify: Notify
) -> Iterator[tuple[StepRunner, TestFile]]:
    """Provide a step runner and the file to measure; a temporary file is removed when the block ends.

    Raises SlobError before anything is written if the target can't be measured.
    """
    location, given = _check_target(fio, target)
    with (
        begin_record(request.results, request.tool, request.name, request.asked, target.directory) as folder,
        closing(HostUsageMonitor(target.path)) as monitor,
        ExitStack() as stack,
    ):
        if given:
            file = given
        else:
            notify(f"writing a test file of {format_bytes(target.size)} in {target.directory}")
            file = stack.enter_context(temporary_file(fio, target.path, target.size, direct=target.direct))
        folder.update(
            place=_description(fio, target, location, file),
            notes=(*rehearsal.notices(), *location.notes, *_hole_notes(file)),
        )
        yield StepRunner(fio, monitor, folder, notify), file


def _check_target(fio: Fio, target: StorageTarget) -> tuple[StorageLocation, TestFile | None]:
    """Return the location, and the user's file or device if the target is one."""
    if not target.path.exists():
        raise SlobError(f"{target.path} does not exist", "give a directory, or a file or device to read")
    if target.path.is_dir():
        require_room(target.path, target.size)
        return check_directory(fio, target.path, target.engine, direct=target.direct), None
    given = existing_file(target.path, MIB)
    return check_file(fio, target.path, target.engine, direct=target.direct), given


def _description(fio: Fio, target: StorageTarget, location: StorageLocation, file: TestFile) -> dict[str, Any]:
    return {
        "label": file.label,
        "size_bytes": file.size,
        "ours": file.ours,
        "file_system": location.file_system,
        "direct": target.direct,
        "engine": target.engine.value,
        "fio": ".".join(map(str, fio.version)),
    }


def _hole_notes(file: TestFile) -> list[str]:
    if not has_holes(file.path, file.size):
        return []
    return [f"{file.label} has fewer bytes allocated than its length: some reads may not reach the device"]


@contextmanager
def begin_record(
    results: Path, tool: str, name: str, asked: Mapping[str, Any], directory: Path
) -> Iterator[StorageFolder]:
    """Provide the result folder of a measurement by ``tool`` of the storage under ``directory``.

    The block ends the record with `StorageFolder.finish`. If it is stopped or fails instead, the record is ended as
    interrupted or failed, and the exception is raised again.
    """
    record = StorageRecord(
        **new_head(name),
        tool=tool,
        status=Status.FAILED,
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
    """Runs fio jobs one at a time, each as the next step of the record."""

    fio: Fio
    monitor: HostUsageMonitor
    folder: StorageFolder
    notify: Notify

    def run(self, job: Job, name: str, purpose: str) -> tuple[JobResult, StorageStep]:
        """Run a job, add it to the record, and report it in one line."""
        self.monitor.reset()
        result = self.fio.run([job], self.monitor.sample)[0]
        number = len(self.folder.record.steps) + 1
        step = step_of(number, name, purpose, job, result, self.monitor.usage(result.seconds))
        self.folder.add(step)
        self.notify(line_of(step))
        return result, step


def repeat(
    methods: Mapping[str, Callable[[str], StorageStep]], times: int, purpose: str
) -> dict[str, list[StorageStep]]:
    """Measure by every method so often, in alternating order; the methods get the purpose with its number."""
    names, results = [*methods], {name: list[StorageStep]() for name in methods}
    for number in range(times):
        for name in names if number % 2 == 0 else names[::-1]:
            results[name].append(methods[name](f"{purpose} {number + 1} of {times}"))
    return results


def step_of(number: int, name: str, purpose: str, job: Job, result: JobResult, usage: HostUsage) -> StorageStep:
    """Return the record's step of a completed job."""
    latency = result.latency.summary()
    return StorageStep(
        number=number,
        name=name,
        purpose=purpose,
        load=load_of(job),
        figures={**_rates(result), **latency_figures(latency), **_costs(result, usage)},
        latency=latency,
    )


def load_of(job: Job) -> StorageLoad:
    """Return a job's load as the record describes it."""
    return StorageLoad(
        block_bytes=job.block_size,
        in_flight=job.in_flight,
        processes=job.copies,
        read_pct=_READ_PCT.get(job.pattern, job.read_pct),
        pattern="sequential" if job.pattern in _SEQUENTIAL else "random",
        engine=SYNCED if job.synced else job.engine.value,
        seconds=job.seconds,
        verified=job.verify,
    )


def line_of(step: StorageStep) -> str:
    """Return a line about a step, with its main figures."""
    shown = (("iops", "{:,.0f} IOPS"), ("mb_per_s", "{:,.1f} MB/s"), ("p99_us", "p99 {:,.0f} µs"))
    figures = [form.format(value) for name, form in shown if (value := step.value(name)) is not None]
    return f"{step.number}. {step.name}: {', '.join(figures) or 'no rate'} ({step.purpose})"


def _rates(result: JobResult) -> dict[str, Figure]:
    figures = {
        "ios": result.ios,
        "seconds": result.seconds,
        "iops": result.iops,
        "mb_per_s": result.bytes_per_s / MIB,
    }
    return {name: storage_figure(name, value) for name, value in figures.items()}


def _costs(result: JobResult, usage: HostUsage) -> dict[str, Figure]:
    host = None if usage.host_cpu_s is None else usage.host_cpu_s * MICROS / result.iops
    why = usage.why or "the step was too short or too unsteady"
    figures = {
        "cpu_us_per_io": result.cpu_us_per_io,
        "cpu_user_s": result.cpu_user_s,
        "cpu_system_s": result.cpu_system_s,
        "host_cpu_us_per_io": host,
        "host_cpus_busy": usage.host_cpu_s,
        "device_mb_per_s": None if usage.device_bytes is None else usage.device_bytes / MIB,
        "interval_pct": usage.half_width_pct,
    }
    return {name: storage_figure(name, value, why) for name, value in figures.items()}
