"""The proof that random requests went everywhere: the busiest point's sequence made once more, each offset logged.

fio's sequence of offsets follows from its seed alone, not from how fast storage answers, so that the second pass goes
where the measured one went; the measured one itself isn't burdened with a log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from openslob.rawio.coverage import coverage
from openslob.rawio.fio import Fio
from openslob.rawio.job import Job
from openslob.rawio.orion.jobs import LARGE, SMALL, Load, jobs_of
from openslob.rawio.orion.matrix import Grid, Point
from openslob.rawio.orion.measured import Measured, Proof
from openslob.rawio.orion.words import LargeType

# A log line is about 50 bytes; more requests than this prove nothing more.
MOST_REQUESTS = 200_000
ZONES = 10


def proofs(fio: Fio, load: Load, grid: Grid, points: Sequence[Measured]) -> Iterator[Proof]:
    """A proof for each kind of random requests that was measured. StoppedError when stopped."""
    smalls = [(each.small.ios, each.point) for each in points if each.small]
    larges = [(each.large.ios, each.point) for each in points if each.large]
    if smalls:
        yield _proof(fio, load, grid, SMALL, *max(smalls))
    if larges and load.options.large_type is LargeType.RAND:
        yield _proof(fio, load, grid, LARGE, *max(larges))


def _proof(fio: Fio, load: Load, grid: Grid, kind: str, ios: int, point: Point) -> Proof:
    number = grid.points.index(point) + 1
    job = next(job for job in jobs_of(load, point, number) if job.name == kind)
    return proof_of(kind, point, job, fio.offsets(job, min(ios, MOST_REQUESTS)))


def proof_of(kind: str, point: Point, job: Job, offsets: Mapping[str, Sequence[int]]) -> Proof:
    """The proof in logged ``offsets`` by file: the files side by side are the volume."""
    of_volume = [at * job.size + offset for at, file in enumerate(job.files) for offset in offsets.get(str(file), ())]
    total = job.size * len(job.files)
    zones = [0] * ZONES
    for offset in of_volume:
        zones[offset * ZONES // total] += 1
    return Proof(kind, point, coverage(of_volume, job.block_size, total), tuple(zones))
