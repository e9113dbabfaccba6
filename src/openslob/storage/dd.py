"""Mindless against meaningful reads: the same data read to nowhere, and read with each byte looked at.

dd copies the file by direct I/O in 1 MB pieces to /dev/null, once as it is and once with a conversion that passes every
byte through a table; fio reads random blocks, once as they are and once with the checksum of each verified. The device
does the same work each time: what differs is whether anybody touches the data, as a database has to.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from statistics import median

from openslob.errors import SlobError
from openslob.metrics import storage_figure
from openslob.record.model import Figure, Status
from openslob.record.storage import Load, StorageRecord, StorageStep
from openslob.storage import process
from openslob.storage.job import IoEngine, Job
from openslob.storage.process import CompletedProgram
from openslob.storage.session import StepRunner
from openslob.storage.testfile import TestFile
from openslob.units import MIB, MICROS, format_bytes

# dd's own table of letters: every byte is looked at, and written into the buffer again.
LOOK = "conv=ucase"
NOWHERE, LOOKED = "dd, to nowhere", "dd, each byte looked at"
PLAIN, VERIFIED = "random reads", "random reads, verified"


@dataclass(frozen=True)
class DdPlan:
    """What is asked: repeats of each way, and the random reads' block size, requests in flight and seconds."""

    engine: IoEngine
    block_size: int = 8192
    in_flight: int = 8
    seconds: float = 2.0
    repeats: int = 3
    direct: bool = True
    cpus: str | None = None


def require_dd() -> str:
    """Path of dd. SlobError when there is none."""
    found = shutil.which("dd")
    if found is None:
        raise SlobError("dd is not installed", "install GNU coreutils")
    return found


def demonstrate(step_runner: StepRunner, file: TestFile, plan: DdPlan) -> StorageRecord:
    """Read ``file`` in all ways, in alternating order, and end the record of ``gauge``."""
    ways = _ways(step_runner, file, plan)
    taken: dict[str, list[StorageStep]] = {name: [] for name in ways}
    for number in range(plan.repeats):
        for name in ways if number % 2 == 0 else reversed(ways):
            taken[name].append(ways[name](f"repeat {number + 1} of {plan.repeats}"))
    notes = step_runner.folder.record.notes
    if not file.ours:
        notes = (*notes, "checksums can be verified only in a file of our own: give a directory instead of a file")
    rows = tuple(_row(name, steps) for name, steps in taken.items())
    return step_runner.folder.finish(Status.COMPLETE, summary=summary(taken), tables={"ways": rows}, notes=notes)


def _ways(step_runner: StepRunner, file: TestFile, plan: DdPlan) -> dict[str, Callable[[str], StorageStep]]:
    program = require_dd()
    ways: dict[str, Callable[[str], StorageStep]] = {
        NOWHERE: lambda purpose: _copied(step_runner, _command(program, file, plan), NOWHERE, purpose, file),
        LOOKED: lambda purpose: _copied(step_runner, [*_command(program, file, plan), LOOK], LOOKED, purpose, file),
        PLAIN: lambda purpose: step_runner.measure(_job(step_runner, file, plan), PLAIN, purpose)[1],
    }
    if file.ours:
        ways[VERIFIED] = lambda purpose: step_runner.measure(_verified(step_runner, file, plan), VERIFIED, purpose)[1]
    return ways


def _command(program: str, file: TestFile, plan: DdPlan) -> list[str]:
    pinned = ["taskset", "--cpu-list", plan.cpus] if plan.cpus else []
    flags = ["iflag=direct"] if plan.direct else []
    return [*pinned, program, f"if={file.path}", "of=/dev/null", f"bs={MIB}", f"count={file.size // MIB}", *flags]


def _job(step_runner: StepRunner, file: TestFile, plan: DdPlan) -> Job:
    """Random reads in an order that no step before had; synchronous ones by as many processes as are in flight."""
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


def _verified(step_runner: StepRunner, file: TestFile, plan: DdPlan) -> Job:
    return replace(_job(step_runner, file, plan), verify=True)


def _copied(step_runner: StepRunner, argv: list[str], name: str, purpose: str, file: TestFile) -> StorageStep:
    done = process.run(argv, step_runner.fio.stop)
    if done.code:
        said = done.errors.strip().splitlines()
        raise SlobError(f"dd failed: {said[0] if said else f'exit code {done.code}'}", "is this GNU dd?")
    step = dd_step(len(step_runner.folder.record.steps) + 1, name, purpose, file.size // MIB, done)
    step_runner.folder.add(step)
    step_runner.notify(f"{step.number}. {name}: {step.value('mb_per_s') or 0:,.1f} MB/s ({purpose})")
    return step


def dd_step(number: int, name: str, purpose: str, pieces: int, done: CompletedProgram) -> StorageStep:
    """The record's step of one run of dd over ``pieces`` MiB."""
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
        load=Load(block_bytes=MIB, in_flight=1, pattern="sequential", engine="dd"),
        figures={each: storage_figure(each, value) for each, value in figures.items()},
    )


def summary(taken: Mapping[str, list[StorageStep]]) -> dict[str, Figure]:
    """Medians, and what looking at the data leaves of the rate and makes of the CPU."""
    nowhere, looked = _median(taken[NOWHERE], "mb_per_s"), _median(taken[LOOKED], "mb_per_s")
    plain, cpu_nowhere = _median(taken[PLAIN], "iops"), _median(taken[NOWHERE], "cpu_us_per_io")
    cpu_looked, cpu_plain = _median(taken[LOOKED], "cpu_us_per_io"), _median(taken[PLAIN], "cpu_us_per_io")
    figures = {
        "nowhere_mb_per_s": nowhere,
        "looked_mb_per_s": looked,
        "looked_share_pct": 100 * looked / nowhere,
        "nowhere_cpu_us_per_mb": cpu_nowhere,
        "looked_cpu_us_per_mb": cpu_looked,
        "random_iops": plain,
        "random_cpu_us_per_io": cpu_plain,
    }
    if VERIFIED in taken:
        verified = _median(taken[VERIFIED], "iops")
        figures["verified_iops"] = verified
        figures["verified_share_pct"] = 100 * verified / plain
        figures["verified_cpu_us_per_io"] = _median(taken[VERIFIED], "cpu_us_per_io")
    return {name: storage_figure(name, value) for name, value in figures.items()}


def _row(name: str, steps: list[StorageStep]) -> dict[str, object]:
    rates = [rate for step in steps if (rate := step.value("mb_per_s")) is not None]
    return {
        "way": name,
        "piece": format_bytes(steps[0].load.block_bytes) if steps[0].load else None,
        "mb_per_s": median(rates),
        "spread_pct": 100 * (max(rates) - min(rates)) / median(rates),
        "iops": _median(steps, "iops"),
        "cpu_us_per_io": _median(steps, "cpu_us_per_io"),
        "cpu_busy_pct": 100 * _median(steps, "cpu_us_per_io") * _median(steps, "iops") / MICROS,
    }


def _median(steps: list[StorageStep], figure: str) -> float:
    return median(value for step in steps if (value := step.value(figure)) is not None)
