"""Comparison of reads that discard the data with reads that process every byte.

dd copies the file by direct I/O in pieces of 1 MB to /dev/null, with and without a conversion that looks up every byte
in a table. fio reads random blocks, with and without verifying the checksum of each. The device does the same work each
time. The difference is the cost of processing the data, which a database always has.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from openslob.core.errors import SlobError
from openslob.core.interrupt import Interrupt
from openslob.core.units import MIB, MICROS, format_bytes
from openslob.engines.managed.resources import usable_cpus
from openslob.kinds.storage import process
from openslob.kinds.storage.fio import Fio, IoEngine, Job
from openslob.kinds.storage.process import CompletedProgram
from openslob.kinds.storage.record import StorageLoad, StorageRecord, StorageStep, values_of
from openslob.kinds.storage.session import Notify, StepRunner, StorageRequest, StorageTarget, repeat, session
from openslob.kinds.storage.target import TestFile
from openslob.metrics import storage_figure
from openslob.record.model import Figure, Status

# dd's conversion to upper case: every byte is looked up in a table and written back to the buffer.
LOOK = "conv=ucase"
NOWHERE, LOOKED = "dd, to nowhere", "dd, each byte looked at"
PLAIN, VERIFIED = "random reads", "random reads, verified"


@dataclass(frozen=True)
class DdPlan:
    """Parameters: block size, requests in flight and seconds of the random reads, and repeats of every method."""

    engine: IoEngine
    block_size: int = 8192
    in_flight: int = 8
    seconds: float = 2.0
    repeats: int = 3
    direct: bool = True
    cpus: str | None = None


@dataclass(frozen=True)
class DdRequest:
    """Requested reads of a file, a device, or a directory, in which a test file of ``size`` bytes is made."""

    plan: DdPlan
    path: Path
    size: int
    name: str
    results: Path


def execute(request: DdRequest, interrupt: Interrupt, notify: Notify) -> tuple[StorageRecord, Path]:
    """Read with every method, and return the record with its folder.

    Raises SlobError before anything is written if a program, the CPUs or the file system do not allow it, and
    MeasurementStoppedError when stopped.
    """
    require_dd()
    plan = request.plan
    usable_cpus(plan.cpus)
    asked = {
        "block_bytes": plan.block_size, "in_flight": plan.in_flight, "repeats": plan.repeats, "seconds": plan.seconds,
        "engine": plan.engine.value, "direct": plan.direct, "cpus": plan.cpus,
    }  # fmt: skip
    measurement = StorageRequest("dd", request.name, request.results, asked)
    target = StorageTarget(request.path, request.size, plan.engine, plan.direct)
    with session(Fio.find(interrupt.stop), measurement, target, notify) as (step_runner, file):
        return demonstrate(step_runner, file, plan), step_runner.folder.path


def require_dd() -> str:
    """Return the path of dd. Raises SlobError if it is not installed."""
    found = shutil.which("dd")
    if found is None:
        raise SlobError("dd is not installed", "install GNU coreutils")
    return found


def demonstrate(step_runner: StepRunner, file: TestFile, plan: DdPlan) -> StorageRecord:
    """Read ``file`` with every method, in alternating order, and finish the record of ``step_runner``."""
    results = repeat(_methods(step_runner, file, plan), plan.repeats, "repeat")
    notes = step_runner.folder.record.notes
    if not file.ours:
        notes = (*notes, "checksums were not verified: only test files made by slob contain them; give a directory")
    rows = tuple(_row(name, steps) for name, steps in results.items())
    return step_runner.folder.finish(Status.COMPLETE, summary=summary(results), tables={"ways": rows}, notes=notes)


def _methods(step_runner: StepRunner, file: TestFile, plan: DdPlan) -> dict[str, Callable[[str], StorageStep]]:
    program = require_dd()
    methods: dict[str, Callable[[str], StorageStep]] = {
        NOWHERE: lambda purpose: _copy_step(step_runner, _command(program, file, plan), NOWHERE, purpose, file),
        LOOKED: lambda purpose: _copy_step(step_runner, [*_command(program, file, plan), LOOK], LOOKED, purpose, file),
        PLAIN: lambda purpose: step_runner.run(_random_job(step_runner, file, plan), PLAIN, purpose)[1],
    }
    if file.ours:
        methods[VERIFIED] = lambda purpose: step_runner.run(
            replace(_random_job(step_runner, file, plan), verify=True), VERIFIED, purpose
        )[1]
    return methods


def _command(program: str, file: TestFile, plan: DdPlan) -> list[str]:
    pinned = ["taskset", "--cpu-list", plan.cpus] if plan.cpus else []
    flags = ["iflag=direct"] if plan.direct else []
    return [*pinned, program, f"if={file.path}", "of=/dev/null", f"bs={MIB}", f"count={file.size // MIB}", *flags]


def _random_job(step_runner: StepRunner, file: TestFile, plan: DdPlan) -> Job:
    """Return a job of random reads with a new seed; a synchronous engine uses one process per request in flight."""
    synchronous = plan.engine is IoEngine.PSYNC
    return Job(
        files=(file.path,),
        size=file.size // plan.block_size * plan.block_size,
        block_size=plan.block_size,
        engine=plan.engine,
        seconds=plan.seconds,
        depth=1 if synchronous else plan.in_flight,
        copies=plan.in_flight if synchronous else 1,
        direct=plan.direct,
        cpus=plan.cpus,
        seed=len(step_runner.folder.record.steps) + 1,
    )


def _copy_step(step_runner: StepRunner, argv: list[str], name: str, purpose: str, file: TestFile) -> StorageStep:
    done = process.run(argv, step_runner.fio.stop)
    if done.code:
        messages = done.errors.strip().splitlines() or [done.how_it_ended]
        raise SlobError(f"dd failed: {messages[0]}", "check that this is GNU dd")
    step = dd_step(len(step_runner.folder.record.steps) + 1, name, purpose, file.size // MIB, done)
    step_runner.folder.add(step)
    step_runner.notify(f"{step.number}. {name}: {step.value('mb_per_s') or 0:,.1f} MB/s ({purpose})")
    return step


def dd_step(number: int, name: str, purpose: str, pieces: int, done: CompletedProgram) -> StorageStep:
    """Return the record's step of one run of dd over ``pieces`` MiB."""
    cpu = done.cpu_user_s + done.cpu_system_s
    figures = {
        "ios": pieces,
        "seconds": done.seconds,
        "iops": pieces / done.seconds,
        "mb_per_s": pieces / done.seconds,
        "cpu_us_per_io": cpu * MICROS / pieces,
        "cpu_user_s": done.cpu_user_s,
        "cpu_system_s": done.cpu_system_s,
    }
    return StorageStep(
        number=number,
        name=name,
        purpose=purpose,
        load=StorageLoad(block_bytes=MIB, in_flight=1, pattern="sequential", engine="dd"),
        figures={each: storage_figure(each, value) for each, value in figures.items()},
    )


def summary(results: Mapping[str, Sequence[StorageStep]]) -> dict[str, Figure]:
    """Return medians of rates and CPU, and the share of the rate that remains when the data are processed."""
    nowhere, looked = _median(results[NOWHERE], "mb_per_s"), _median(results[LOOKED], "mb_per_s")
    plain, cpu_nowhere = _median(results[PLAIN], "iops"), _median(results[NOWHERE], "cpu_us_per_io")
    cpu_looked, cpu_plain = _median(results[LOOKED], "cpu_us_per_io"), _median(results[PLAIN], "cpu_us_per_io")
    figures = {
        "nowhere_mb_per_s": nowhere,
        "looked_mb_per_s": looked,
        "looked_share_pct": 100 * looked / nowhere,
        "nowhere_cpu_us_per_mb": cpu_nowhere,
        "looked_cpu_us_per_mb": cpu_looked,
        "random_iops": plain,
        "random_cpu_us_per_io": cpu_plain,
    }
    if VERIFIED in results:
        verified = _median(results[VERIFIED], "iops")
        figures["verified_iops"] = verified
        figures["verified_share_pct"] = 100 * verified / plain
        figures["verified_cpu_us_per_io"] = _median(results[VERIFIED], "cpu_us_per_io")
    return {name: storage_figure(name, value) for name, value in figures.items()}


def _row(name: str, steps: Sequence[StorageStep]) -> dict[str, object]:
    rates = values_of(steps, "mb_per_s")
    return {
        "way": name,
        "piece": format_bytes(steps[0].load.block_bytes) if steps[0].load else None,
        "mb_per_s": median(rates),
        "spread_pct": 100 * (max(rates) - min(rates)) / median(rates),
        "iops": _median(steps, "iops"),
        "cpu_us_per_io": _median(steps, "cpu_us_per_io"),
        "cpu_busy_pct": 100 * _median(steps, "cpu_us_per_io") * _median(steps, "iops") / MICROS,
    }


def _median(steps: Sequence[StorageStep], figure: str) -> float:
    return median(values_of(steps, figure))
