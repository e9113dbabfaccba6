"""Made-up measurements of storage without a database: a calibration, one of `dd`."""

from __future__ import annotations

from openslob.core.units import MIB
from openslob.kinds.storage.dd import LOOKED, NOWHERE
from openslob.kinds.storage.record import StorageLoad, StorageRecord, StorageStep
from openslob.metrics import storage_figure
from openslob.record.model import Status

BLOCK = 8192
# Requests in flight, IOPS, mean and p99 in µs.
SMALL = (
    (1, 15_000, 60, 120),
    (2, 27_000, 75, 130),
    (4, 60_000, 110, 160),
    (8, 61_000, 400, None),
    (4, 58_000, 120, 190),
)
LARGE = ((1, 900, 800, 950), (2, 1_100, 1_700, 2_500))


def step(name: str, load: StorageLoad, **figures: float | None) -> StorageStep:
    return StorageStep(
        number=1, name=name, purpose="", load=load,
        figures={each: storage_figure(each, value, "too few") for each, value in figures.items()},
    )  # fmt: skip


def reads(block: int, measured: tuple[int, float, float, float | None], verified: bool = False) -> StorageStep:
    in_flight, iops, mean, p99 = measured
    load = StorageLoad(block_bytes=block, in_flight=in_flight, engine="io_uring", verified=verified)
    return step("random", load, iops=iops, mb_per_s=iops * block / MIB, mean_us=mean, p99_us=p99)


def record(tool: str, *steps: StorageStep, limit: float = 200.0, **summary: float | None) -> StorageRecord:
    return StorageRecord(
        tool=tool, id="x", name="x", status=Status.COMPLETE, started_at="2026-03-01T12:00:00Z", openslob_version="0",
        asked={"block_bytes": BLOCK, "latency_limit_us": limit, "at": "p99"}, environment={}, steps=steps,
        summary={name: storage_figure(name, value, "over") for name, value in summary.items()},
    )  # fmt: skip


CALIBRATED = record(
    "calibrate",
    *(reads(BLOCK, each) for each in SMALL),
    *(reads(MIB, each) for each in LARGE),
    reads(BLOCK, (4, 50_000, 130, 180), verified=True),
    max_iops=59_000, max_iops_in_flight=4, max_mb_in_flight=2, max_mb_per_s=1_100,
    max_iops_mean_us=115, cpu_us_per_io=6, latency_mean_us=60, latency_p99_us=120,
)  # fmt: skip


def dd_step(name: str, mb_per_s: float, cpu: float | None) -> StorageStep:
    load = StorageLoad(block_bytes=MIB, in_flight=1, pattern="sequential", engine="dd")
    return step(name, load, mb_per_s=mb_per_s, cpu_us_per_io=cpu)


def random_step(verified: bool) -> StorageStep:
    load = StorageLoad(block_bytes=BLOCK, in_flight=8, engine="io_uring", verified=verified)
    return step(f"random, {verified}", load, mb_per_s=360, cpu_us_per_io=9.0)


WAYS = record(
    "dd", dd_step(NOWHERE, 1200, 80), dd_step(LOOKED, 600, 780), dd_step(NOWHERE, 1000, 90), random_step(False),
    random_step(True), nowhere_mb_per_s=1100, looked_mb_per_s=600, nowhere_cpu_us_per_mb=85, looked_cpu_us_per_mb=780,
    looked_share_pct=54.5,
)  # fmt: skip
