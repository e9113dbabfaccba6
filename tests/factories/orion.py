"""Made-up results of Orion's tests."""

from __future__ import annotations

from openslob.histogram import Histogram, bucket_of
from openslob.storage.orion.options import LoadPoint, Options, OrionRun, load_matrix
from openslob.storage.orion.points import DeviceBytes, OrionResult, PointResult, split
from openslob.storage.results import JobResult, Transfers
from openslob.units import MIB

# Rates of Orion 11.1's own published files of `-run simple -num_disks 1`.
IOPS = (2302, 4398, 5450, 6006, 6210)
MBPS = (271.58, 374.26)


def transfers(ios: int, block: int, micros: tuple[int, ...] = (100,), seconds: float = 1.0) -> Transfers:
    latency = Histogram()
    for us in micros:
        latency.add([(bucket_of(us), ios // len(micros))], us * (ios // len(micros)), us)
    return Transfers(ios, ios * block, seconds, latency)


def result(name: str, read: Transfers | None, write: Transfers | None = None) -> JobResult:
    return JobResult(name, read, write, cpu_user_s=0.1, cpu_system_s=0.2, context_switches=7)


def small(ios: int, *micros: int) -> JobResult:
    return result("small", transfers(ios, 8192, micros or (100,)))


def large(mb_per_s: float) -> JobResult:
    return result("large", Transfers(100, round(mb_per_s * MIB), 1.0, transfers(100, MIB).latency))


def measured(point: LoadPoint, *jobs: JobResult, share: float = 1.0) -> PointResult:
    one = PointResult(point, "2026-01-02T03:04:05Z", *split(jobs), DeviceBytes(0, 0))
    return PointResult(
        point, one.started_at, one.small, one.large, DeviceBytes(one.read_bytes * share, one.written_bytes * share)
    )


def simple() -> OrionResult:
    points = [measured(LoadPoint(0, load), small(iops, 90 + 10 * load)) for load, iops in enumerate(IOPS, start=1)]
    points += [measured(LoadPoint(load, 0), large(rate)) for load, rate in enumerate(MBPS, start=1)]
    return OrionResult(load_matrix(Options(OrionRun.SIMPLE), 1), tuple(points))
