"""What one point measured: small and large requests apart, and what the devices say of the same time."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from openslob.histogram import Histogram
from openslob.host.device import BlockDevice, device_folder, device_under
from openslob.host.model import FigureUnknownError
from openslob.storage.fio import Fio
from openslob.storage.job import Job
from openslob.storage.orion.jobs import LARGE, SMALL, OrionSetup, jobs_of
from openslob.storage.orion.matrix import LoadMatrix, LoadPoint
from openslob.storage.orion.options import LargeType
from openslob.storage.results import Coverage, JobResult, Transfers, coverage
from openslob.storage.testfile import TestFile


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


_READ, _WRITTEN = "dev_read_bytes", "dev_write_bytes"


@dataclass(frozen=True)
class LunDevices:
    """The devices under all LUNs, each once; with ``why`` there are none to be read."""

    devices: tuple[BlockDevice, ...] = ()
    why: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The kernel's names."""
        return tuple(device.name for device in self.devices)

    def totals(self) -> DeviceBytes:
        """Bytes read and written since boot, everybody's."""
        if self.why:
            return DeviceBytes(None, None, self.why)
        samples = [device.read() for device in self.devices]
        missing = [why for sample in samples for why in sample.unknown.values()]
        if missing:
            return DeviceBytes(None, None, missing[0])
        read, written = (sum(sample.values[name] for sample in samples) for name in (_READ, _WRITTEN))
        return DeviceBytes(read, written)


def between(before: DeviceBytes, after: DeviceBytes) -> DeviceBytes:
    """What was added from one reading to the next; a counter that fell was reset, and tells nothing."""
    if before.read is None or before.written is None or after.read is None or after.written is None:
        return DeviceBytes(None, None, before.why or after.why)
    if after.read < before.read or after.written < before.written:
        return DeviceBytes(None, None, "the devices' counters were reset meanwhile")
    return DeviceBytes(after.read - before.read, after.written - before.written)


@contextmanager
def devices_under(luns: Sequence[TestFile], directory: Path) -> Iterator[LunDevices]:
    """The devices under ``luns``; files of our own lie in ``directory``."""
    with ExitStack() as opened:
        try:
            folders = {_folder(lun, directory) for lun in luns}
            found = [BlockDevice(folder) for folder in sorted(folders)]
        except FigureUnknownError as error:
            yield LunDevices(why=str(error))
            return
        for device in found:
            opened.callback(device.close)
        yield LunDevices(tuple(found))


def _folder(lun: TestFile, directory: Path) -> Path:
    if lun.ours:
        return device_under(directory)
    facts = lun.path.stat()
    return device_folder(facts.st_rdev, None) if stat.S_ISBLK(facts.st_mode) else device_under(lun.path.parent)
