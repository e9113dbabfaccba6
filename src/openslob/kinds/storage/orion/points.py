"""The points of a test: fio's figures, the devices' byte counts, coverage checks, and what the record has of them.

fio can't know whether a read reached a device or was answered from the page cache; the devices' counters can.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from openslob.analyze.outcome import count, holds_or_fails, unknown
from openslob.core.histogram import PERCENTILES, Histogram
from openslob.core.host import FigureUnknownError
from openslob.core.units import MIB
from openslob.host.device import BlockDevice
from openslob.kinds.storage.fio import Coverage, Fio, Job, JobResult, Transfers, coverage
from openslob.kinds.storage.orion.jobs import LARGE, SMALL, OrionSetup, jobs_of
from openslob.kinds.storage.orion.options import LargeType, LoadMatrix, LoadPoint
from openslob.kinds.storage.record import StorageLoad, StorageStep
from openslob.kinds.storage.session import device_of, load_of
from openslob.kinds.storage.target import TestFile
from openslob.metrics import storage_figure
from openslob.record.model import Figure, Verdict

# The latency figures, by their names in a histogram's summary.
FIGURES = ("mean_us", *PERCENTILES, "max_us")


@dataclass(frozen=True)
class DeviceBytes:
    """Bytes that the block devices under the LUNs completed while a point ran; None with the reason in ``why``."""

    read: float | None
    written: float | None
    why: str = ""


@dataclass(frozen=True)
class PointResult:
    """Result of one point.

    ``small`` and ``large`` are None if the point has no such load. ``large`` is the sum of all sequential streams.
    """

    point: LoadPoint
    started_at: str
    small: JobResult | None
    large: JobResult | None
    device: DeviceBytes

    @property
    def parts(self) -> Mapping[str, JobResult]:
        """The results of the loads that the point has, by kind, small first."""
        return {kind: each for kind, each in ((SMALL, self.small), (LARGE, self.large)) if each}

    @property
    def read_bytes(self) -> int:
        """Bytes that fio read, both loads together."""
        return sum(each.read.bytes for each in self.parts.values() if each.read)

    @property
    def written_bytes(self) -> int:
        """Bytes that fio wrote, both loads together."""
        return sum(each.write.bytes for each in self.parts.values() if each.write)


@dataclass(frozen=True)
class CoverageCheck:
    """Where the random requests of one kind went.

    fio repeats the requests of the point with the most of them, with the same seed, and logs each offset. ``zones``
    counts the requests to each tenth of the volume.
    """

    kind: str
    point: LoadPoint
    coverage: Coverage
    zones: tuple[int, ...]

    @property
    def least_visited(self) -> float:
        """Requests to the least visited tenth of the volume, relative to an even share."""
        return min(self.zones) * len(self.zones) / sum(self.zones)


@dataclass(frozen=True)
class OrionResult:
    """All results of a test, complete or up to where it was stopped."""

    matrix: LoadMatrix
    points: tuple[PointResult, ...]
    coverage_checks: tuple[CoverageCheck, ...] = ()

    @property
    def smalls(self) -> tuple[PointResult, ...]:
        """The points with a small load."""
        return tuple(each for each in self.points if each.small)

    @property
    def larges(self) -> tuple[PointResult, ...]:
        """The points with a large load."""
        return tuple(each for each in self.points if each.large)


def split(results: Sequence[JobResult]) -> tuple[JobResult | None, JobResult | None]:
    """Return the results of the small and of the large load from those of all jobs of a point."""
    small = [each for each in results if each.name == SMALL]
    large = [each for each in results if each.name != SMALL]
    return combine(small), combine(large)


def combine(results: Sequence[JobResult]) -> JobResult | None:
    """Return the results of jobs that ran at the same time as one result; None if there are none."""
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


# A log line has about 50 bytes; more requests than this would not change the verdict.
MOST_REQUESTS = 200_000
ZONES = 10


def coverage_checks(
    fio: Fio, setup: OrionSetup, matrix: LoadMatrix, points: Sequence[PointResult]
) -> Iterator[CoverageCheck]:
    """Yield a coverage check for each kind of random requests that was measured.

    Raises MeasurementStoppedError when stopped.
    """
    smalls = [(each.small.ios, each.point) for each in points if each.small]
    larges = [(each.large.ios, each.point) for each in points if each.large]
    if smalls:
        yield _coverage_check(fio, setup, matrix, SMALL, *max(smalls))
    if larges and setup.options.large_type is LargeType.RAND:
        yield _coverage_check(fio, setup, matrix, LARGE, *max(larges))


def _coverage_check(
    fio: Fio, setup: OrionSetup, matrix: LoadMatrix, kind: str, ios: int, point: LoadPoint
) -> CoverageCheck:
    number = matrix.points.index(point) + 1
    job = next(job for job in jobs_of(setup, point, number) if job.name == kind)
    return coverage_check(kind, point, job, fio.offsets(job, min(ios, MOST_REQUESTS)))


def coverage_check(kind: str, point: LoadPoint, job: Job, offsets: Mapping[str, Sequence[int]]) -> CoverageCheck:
    """Return the check of logged byte ``offsets`` by file name; the files in order form the volume."""
    in_volume = [at * job.size + offset for at, file in enumerate(job.files) for offset in offsets.get(str(file), ())]
    total = job.size * len(job.files)
    zones = [0] * ZONES
    for offset in in_volume:
        zones[offset * ZONES // total] += 1
    return CoverageCheck(kind, point, coverage(in_volume, job.block_size, total), tuple(zones))


_READ, _WRITTEN = "dev_read_bytes", "dev_write_bytes"


@dataclass(frozen=True)
class LunDevices:
    """The block devices under all LUNs, each once; none with the reason in ``why``."""

    devices: tuple[BlockDevice, ...] = ()
    why: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The kernel's names of the devices."""
        return tuple(device.name for device in self.devices)

    def totals(self) -> DeviceBytes:
        """Return the bytes that the devices read and wrote since boot, for all users of them."""
        if self.why:
            return DeviceBytes(None, None, self.why)
        samples = [device.read() for device in self.devices]
        missing = [why for sample in samples for why in sample.unknown.values()]
        if missing:
            return DeviceBytes(None, None, missing[0])
        read, written = (sum(sample.values[name] for sample in samples) for name in (_READ, _WRITTEN))
        return DeviceBytes(read, written)


def bytes_between(before: DeviceBytes, after: DeviceBytes) -> DeviceBytes:
    """Return the difference of two readings; unknown if a counter was reset in between."""
    if before.read is None or before.written is None or after.read is None or after.written is None:
        return DeviceBytes(None, None, before.why or after.why)
    if after.read < before.read or after.written < before.written:
        return DeviceBytes(None, None, "the devices' counters were reset while the point was measured")
    return DeviceBytes(after.read - before.read, after.written - before.written)


@contextmanager
def open_devices(luns: Sequence[TestFile], directory: Path) -> Iterator[LunDevices]:
    """Open the devices under ``luns`` for the block; test files made by slob lie in ``directory``."""
    with ExitStack() as opened:
        try:
            folders = {device_of(directory if lun.ours else lun.path) for lun in luns}
            devices = [BlockDevice(folder) for folder in sorted(folders)]
        except FigureUnknownError as error:
            yield LunDevices(why=str(error))
            return
        for device in devices:
            opened.callback(device.close)
        yield LunDevices(tuple(devices))


def latency_figure(histogram: Histogram, figure: str) -> float | None:
    """Return a figure of a histogram by name, such as ``mean_us``, ``p99_us`` or ``max_us``."""
    found = histogram.summary()[figure]
    return float(found) if isinstance(found, int | float) else None


def steps_of(measured: PointResult, jobs: Sequence[Job], first: int) -> Iterator[StorageStep]:
    """Yield a step for each load of a point, numbered from ``first``; ``jobs`` are the jobs that fio ran."""
    for number, (kind, result) in enumerate(measured.parts.items(), first):
        yield StorageStep(
            number=number,
            name=kind,
            purpose=f"{kind} requests at {measured.point}",
            load=_load([job for job in jobs if (job.name == SMALL) is (kind == SMALL)]),
            figures=_figures(measured, result),
            latency=result.latency.summary(),
        )


def _load(jobs: Sequence[Job]) -> StorageLoad:
    combined = {"in_flight": sum(job.in_flight for job in jobs), "processes": len(jobs)}
    return load_of(jobs[0]).model_copy(update=combined)


def _figures(measured: PointResult, result: JobResult) -> Mapping[str, Figure]:
    """Return the figures of one load. ``small`` and ``large`` locate the point in the matrix.

    The devices' bytes are those of the whole point.
    """
    device = measured.device
    figures: Mapping[str, float | None] = {
        "small": measured.point.small,
        "large": measured.point.large,
        "iops": result.iops,
        "mb_per_s": result.bytes_per_s / MIB,
        "read_ios": result.read.ios if result.read else 0,
        "write_ios": result.write.ios if result.write else 0,
        **{name: latency_figure(result.latency, name) for name in FIGURES},
        "cpu_us_per_io": result.cpu_us_per_io,
    }
    return {
        **{name: storage_figure(name, value) for name, value in figures.items()},
        "dev_read_bytes": storage_figure("dev_read_bytes", device.read, device.why or None),
        "dev_write_bytes": storage_figure("dev_write_bytes", device.written, device.why or None),
    }


def summary_of(outcome: OrionResult) -> Mapping[str, Figure]:
    """Return Orion's three answers (highest small IOPS, highest large MB/s, lowest small latency) and a p99."""
    smalls = [(each.small.iops, each.small) for each in outcome.smalls if each.small]
    larges = [each.large.bytes_per_s / MIB for each in outcome.larges if each.large]
    means = [mean for _, small in smalls if (mean := small.latency.mean_us()) is not None]
    best = max(smalls, key=lambda pair: pair[0], default=None)
    no_small = None if smalls else "no small requests were measured"
    no_large = None if larges else "no large requests were measured"
    p99 = latency_figure(best[1].latency, "p99_us") if best else None
    figures = {
        "max_iops": (best[0] if best else None, no_small),
        "max_iops_p99_us": (p99, no_small),
        "max_mb_per_s": (max(larges, default=None), no_large),
        "min_latency_us": (min(means, default=None), no_small),
    }
    return {name: storage_figure(name, value, why) for name, (value, why) in figures.items()}


# Requests in flight at either end of a point are counted by fio or by the device only. The counters are read just
# outside of fio's measured time, which can only add. A larger loss means that something else answered.
_MOST_SHARE_LOST = 0.05
# Requests to a tenth of the volume are Poisson distributed: five standard deviations below the mean are not chance.
_SIGMAS = 5


def verdicts(outcome: OrionResult, direct: bool) -> tuple[Verdict, ...]:
    """Return all verdicts on a test."""
    return (*(_judge_coverage(check) for check in outcome.coverage_checks), _judge_device(outcome.points, direct))


def _judge_coverage(check: CoverageCheck) -> Verdict:
    """Return whether random requests went to the whole volume, instead of to a small set of blocks."""
    found = check.coverage
    allowed = 1 - _SIGMAS / (found.requests / ZONES) ** 0.5
    why = (
        f"{count(found.requests)} {check.kind} requests at {check.point} went to {count(found.distinct)} different "
        f"blocks of {count(found.blocks)} ({100 * found.share:.1f} %); {count(found.expected)} were expected. The "
        f"least visited tenth of the volume received {100 * check.least_visited:.0f} % of an even share."
    )
    return holds_or_fails(
        f"{check.kind}_coverage", found.holds and check.least_visited >= allowed, why,
        requests=found.requests, distinct=found.distinct, blocks=found.blocks, expected=found.expected,
        thinnest_tenth=check.least_visited,
    )  # fmt: skip


def _judge_device(points: Sequence[PointResult], direct: bool) -> Verdict:
    """Return whether the devices completed as many bytes as fio moved, so that no page cache answered."""
    name = "reached_device"
    missing = [each.device.why for each in points if each.device.read is None]
    if missing or not points:
        return unknown(name, f"Can't be determined: {missing[0] if missing else 'no point was measured'}.")
    shares = [(share, each) for each in points if (share := _device_share(each)) is not None]
    worst, where = min(shares, key=lambda pair: pair[0])
    why = f"The devices moved at least {100 * worst:.1f} % of the bytes that fio moved, at each of {len(points)} points"
    how = "" if direct else "; the page cache was in use because of --buffered"
    return holds_or_fails(name, worst >= 1 - _MOST_SHARE_LOST, f"{why}{how}.", least_share=worst, at=str(where.point))


def _device_share(measured: PointResult) -> float | None:
    """Return the smaller of two ratios: the devices' bytes to fio's, for reads and for writes."""
    device = measured.device
    pairs = ((device.read, measured.read_bytes), (device.written, measured.written_bytes))
    return min((moved / asked for moved, asked in pairs if asked and moved is not None), default=None)
