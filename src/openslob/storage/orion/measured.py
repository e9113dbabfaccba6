"""What one point measured: small and large requests apart, and what the devices say of the same time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from openslob.histogram import Histogram
from openslob.storage.coverage import Coverage, coverage
from openslob.storage.fio import Fio
from openslob.storage.job import Job
from openslob.storage.orion.jobs import LARGE, SMALL, OrionSetup, jobs_of
from openslob.storage.orion.matrix import LoadMatrix, LoadPoint
from openslob.storage.orion.options import LargeType
from openslob.storage.results import JobResult, Transfers


@dataclass(frozen=True)
class DeviceBytes:
    """Bytes that the block devices under the LUNs completed in a point's time; None with the reason in ``why``."""

    read: float | None
    written: float | None
    why: str = ""


@dataclass(frozen=True)
class PointResult:
    """One point. ``small`` and ``large`` are None where the point has no such load; streams are taken together."""

    point: LoadPoint
    started_at: str
    small: JobResult | None
    large: JobResult | None
    device: DeviceBytes

    @property
    def parts(self) -> tuple[JobResult, ...]:
        """The loads that the point has."""
        return tuple(each for each in (self.small, self.large) if each)

    @property
    def read_bytes(self) -> int:
        """Bytes that fio read."""
        return sum(each.read.bytes for each in self.parts if each.read)

    @property
    def written_bytes(self) -> int:
        """Bytes that fio wrote."""
        return sum(each.write.bytes for each in self.parts if each.write)


@dataclass(frozen=True)
class CoverageCheck:
    """Where random requests of one kind really went: those of the busiest point, made once more and logged.

    ``zones`` has the requests to each tenth of the volume.
    """

    kind: str
    point: LoadPoint
    coverage: Coverage
    zones: tuple[int, ...]

    @property
    def thinnest(self) -> float:
        """Requests to the least visited tenth, relative to an even share."""
        return min(self.zones) * len(self.zones) / sum(self.zones)


@dataclass(frozen=True)
class OrionResult:
    """All that a test measured, complete or up to where it was stopped."""

    grid: LoadMatrix
    points: tuple[PointResult, ...]
    proofs: tuple[CoverageCheck, ...] = ()

    @property
    def smalls(self) -> tuple[PointResult, ...]:
        """The points that have a small load."""
        return tuple(each for each in self.points if each.small)

    @property
    def larges(self) -> tuple[PointResult, ...]:
        """The points that have a large load."""
        return tuple(each for each in self.points if each.large)


def split(results: Sequence[JobResult]) -> tuple[JobResult | None, JobResult | None]:
    """Small and large load in the results of a point's jobs."""
    small = [each for each in results if each.name == SMALL]
    large = [each for each in results if each.name != SMALL]
    return together(small), together(large)


def together(results: Sequence[JobResult]) -> JobResult | None:
    """Jobs that ran side by side as one; None of none."""
    if not results:
        return None
    return JobResult(
        name=results[0].name,
        read=_sum([each.read for each in results if each.read]),
        write=_sum([each.write for each in results if each.write]),
        cpu_user_s=sum(each.cpu_user_s for each in results),
        cpu_system_s=sum(each.cpu_system_s for each in results),
        context_switches=sum(each.context_switches for each in results),
    )


def _sum(transfers: Sequence[Transfers]) -> Transfers | None:
    if not transfers:
        return None
    latency = Histogram()
    for each in transfers:
        latency.merge(each.latency)
    return Transfers(
        ios=sum(each.ios for each in transfers),
        bytes=sum(each.bytes for each in transfers),
        seconds=max(each.seconds for each in transfers),
        latency=latency,
    )


# A log line is about 50 bytes; more requests than this prove nothing more.
MOST_REQUESTS = 200_000
ZONES = 10


def proofs(fio: Fio, load: OrionSetup, grid: LoadMatrix, points: Sequence[PointResult]) -> Iterator[CoverageCheck]:
    """A proof for each kind of random requests that was measured. StoppedError when stopped."""
    smalls = [(each.small.ios, each.point) for each in points if each.small]
    larges = [(each.large.ios, each.point) for each in points if each.large]
    if smalls:
        yield _proof(fio, load, grid, SMALL, *max(smalls))
    if larges and load.options.large_type is LargeType.RAND:
        yield _proof(fio, load, grid, LARGE, *max(larges))


def _proof(fio: Fio, load: OrionSetup, grid: LoadMatrix, kind: str, ios: int, point: LoadPoint) -> CoverageCheck:
    number = grid.points.index(point) + 1
    job = next(job for job in jobs_of(load, point, number) if job.name == kind)
    return proof_of(kind, point, job, fio.offsets(job, min(ios, MOST_REQUESTS)))


def proof_of(kind: str, point: LoadPoint, job: Job, offsets: Mapping[str, Sequence[int]]) -> CoverageCheck:
    """The proof in logged ``offsets`` by file: the files side by side are the volume."""
    of_volume = [at * job.size + offset for at, file in enumerate(job.files) for offset in offsets.get(str(file), ())]
    total = job.size * len(job.files)
    zones = [0] * ZONES
    for offset in of_volume:
        zones[offset * ZONES // total] += 1
    return CoverageCheck(kind, point, coverage(of_volume, job.block_size, total), tuple(zones))
