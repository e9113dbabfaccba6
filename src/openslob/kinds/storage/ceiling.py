"""The storage ceiling of a server: random reads by fio on the file system of its data, before any run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from openslob.core.errors import SlobError
from openslob.core.measurement import StorageAlone
from openslob.core.units import GIB
from openslob.engines.base import Engine
from openslob.kinds.storage.fio import Fio, IoEngine, Job
from openslob.kinds.storage.record import CEILING, StorageRecord, StorageStep, storage_alone
from openslob.kinds.storage.session import Notify, StorageRequest, StorageTarget, session
from openslob.metrics import storage_figure
from openslob.record.model import Figure, Status

SIZE_BYTES = GIB
STEP_S = 2.0
RAMP_S = 0.5


def measure_ceiling(
    engine: Engine, sessions: int, fio: Fio, results: Path, notify: Notify, size: int = SIZE_BYTES
) -> StorageRecord:
    """Measure synchronous single-block reads by 1, 2, 4 … ``sessions`` processes, as sessions make them.

    The test file lies on the file system of the server's data. Raises SlobError if that is not on this host.
    """
    block = engine.facts().block_size
    target = StorageTarget(_directory(engine), size, IoEngine.PSYNC)
    asked = {"block_bytes": block, "sessions": sessions, "seconds": STEP_S}
    with session(fio, StorageRequest(CEILING, CEILING, results, asked), target, notify) as (step_runner, file):
        for number in concurrencies(sessions):
            job = Job(
                files=(file.path,), size=file.size // block * block, block_size=block, engine=IoEngine.PSYNC,
                seconds=STEP_S, ramp_s=RAMP_S, copies=number, seed=number,
            )  # fmt: skip
            step_runner.run(job, f"random reads, {number} in flight", "one process for each session")
        return step_runner.folder.finish(Status.COMPLETE, summary=_best(step_runner.folder.record.steps))


class Ceilings:
    """The ceilings for several runs, each measured once per file system and block size.

    A ceiling is measured with up to ``sessions`` reads in flight, before the first run that needs it.
    """

    def __init__(self, sessions: int, fio: Fio, results: Path, notify: Notify) -> None:
        self._parameters = (sessions, fio, results, notify)
        self._measured: dict[tuple[int, int], StorageAlone] = {}

    def __call__(self, engine: Engine) -> StorageAlone:
        """Return the storage of this server alone, measured if necessary. Raises SlobError like `measure_ceiling`."""
        key = (_directory(engine).stat().st_dev, engine.facts().block_size)
        if key not in self._measured:
            self._measured[key] = storage_alone(measure_ceiling(engine, *self._parameters))
        return self._measured[key]


def _directory(engine: Engine) -> Path:
    location = engine.location()
    directory = None if location.host else location.data_directory
    if directory is None:
        raise SlobError("the server's storage is not known to be on this host", "measure there: slob raw calibrate DIR")
    return directory


def _best(steps: Sequence[StorageStep]) -> Mapping[str, Figure]:
    """Return the figures of the step with the highest rate."""
    best = max(steps, key=lambda step: step.value("iops") or 0.0)
    in_flight = best.load.in_flight if best.load else None
    return {
        "max_iops": best.figures["iops"],
        "max_iops_p99_us": best.figures["p99_us"],
        "max_iops_in_flight": storage_figure("max_iops_in_flight", in_flight),
    }


def concurrencies(sessions: int) -> list[int]:
    """Return 1, 2, 4 … and ``sessions`` itself."""
    doublings = [1 << power for power in range(sessions.bit_length()) if 1 << power < sessions]
    return [*doublings, sessions]
