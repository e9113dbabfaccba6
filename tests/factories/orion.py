"""Made-up results of Orion's tests."""

from __future__ import annotations

from openslob.core.histogram import Histogram, bucket_of
from openslob.core.units import MIB
from openslob.kinds.storage.fio import IoEngine, Job, JobResult, Transfers
from openslob.kinds.storage.orion.options import LoadPoint, Options, OrionRun, load_matrix
from openslob.kinds.storage.orion.points import (
    DeviceBytes,
    OrionResult,
    PointResult,
    split,
    steps_of,
    summary_of,
    verdicts,
)
from openslob.kinds.storage.record import StorageRecord, StorageStep
from openslob.record.model import Status

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


JOBS = (
    Job(files=(), size=MIB, block_size=8192, engine=IoEngine.LIBAIO, seconds=1, name="small", depth=3),
    Job(files=(), size=MIB, block_size=MIB, engine=IoEngine.LIBAIO, seconds=1, name="large-1", depth=4),
    Job(files=(), size=MIB, block_size=MIB, engine=IoEngine.LIBAIO, seconds=1, name="large-2", depth=4),
)


def record_of(outcome: OrionResult) -> StorageRecord:
    steps: list[StorageStep] = []
    for each in outcome.points:
        steps += steps_of(each, JOBS, len(steps) + 1)
    return StorageRecord(
        tool="orion", id="20260102-030405-mytest", name="mytest", status=Status.COMPLETE,
        started_at="2026-01-02T03:04:05Z", openslob_version="0", asked={}, environment={}, steps=tuple(steps),
        summary=summary_of(outcome), verdicts=verdicts(outcome, direct=True),
    )  # fmt: skip


def whole(disks: int) -> OrionResult:
    cells = load_matrix(Options(OrionRun.NORMAL), disks)
    points = [
        measured(
            point,
            *([small(1000 * point.small, 100, 100 + point.small)] if point.small else []),
            *([large(100.0 * point.large)] if point.large else []),
        )
        for point in cells.points
    ]
    return OrionResult(cells, tuple(points))
