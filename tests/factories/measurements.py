"""A plausible measurement for tests: 8 sessions of physical reads over 60 s on 4 CPUs, with 10 % updates.

Figures are chosen so that every verdict holds but the mode's, which is not stated; tests override what they ask about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any

from openslob.analyze.build_record import build_record
from openslob.core.counts import COUNTERS, SliceCounts
from openslob.core.histogram import Histogram, bucket_of
from openslob.core.measurement import (
    DeviceIo,
    EngineDelta,
    HostDelta,
    Measurement,
    ObjectIo,
    Observed,
    Schedule,
    SessionTotals,
    TimedWait,
    TimelinePoint,
    WaitClass,
    Window,
)
from openslob.core.method import OpKind
from openslob.core.units import MIB
from openslob.core.workload import Workload
from openslob.record.model import RunRecord, Status

BLOCK = 8192
SECONDS = 60.0
SESSIONS = 8
OPS_PER_SESSION = 15_000
UPDATES_PER_SESSION = 1500
WORK_UNIT = 8
SELECT_US = 3000.0
UPDATE_US = 9000.0
READ_US = 325.0


def histogram(count: int, us: float) -> Histogram:
    """``count`` operations of ``us`` microseconds each."""
    return Histogram({bucket_of(us): count} if count else {}, sum_us=count * us, max_us=us if count else 0.0)


def slow(count: int, seconds: float) -> Histogram:
    """The SELECTs of the made-up run, and so many more that took ``seconds`` each."""
    found = histogram(SESSIONS * (OPS_PER_SESSION - UPDATES_PER_SESSION), SELECT_US)
    found.merge(histogram(count, seconds * 1e6))
    return found


def session(number: int = 0, **overrides: Any) -> SessionTotals:
    """One session's totals; an override may also name one of its counters."""
    selects = OPS_PER_SESSION - UPDATES_PER_SESSION
    plain = SessionTotals(
        number=number,
        schema=1 + number % 4,
        counts=SliceCounts(
            ops=OPS_PER_SESSION,
            selects=selects,
            updates=UPDATES_PER_SESSION,
            rows_read=selects * WORK_UNIT,
            rows_updated=UPDATES_PER_SESSION * WORK_UNIT,
        ),
        busy_us=selects * SELECT_US + UPDATES_PER_SESSION * UPDATE_US,
        idle_us=100_000.0,
        slices=60,
    )
    counted = {name: overrides.pop(name) for name in COUNTERS if name in overrides}
    return replace(plain, counts=replace(plain.counts, **counted), **overrides)


ROWS_READ = SESSIONS * (OPS_PER_SESSION - UPDATES_PER_SESSION) * WORK_UNIT
ROWS_UPDATED = SESSIONS * UPDATES_PER_SESSION * WORK_UNIT
READ_REQUESTS = float(ROWS_READ + ROWS_UPDATED)


def engine(**overrides: Any) -> EngineDelta:
    """What the engine's counters say of the made-up run."""
    plain = EngineDelta(
        logical_reads=READ_REQUESTS * 3,
        read_requests=READ_REQUESTS,
        read_bytes=READ_REQUESTS * BLOCK,
        read_time_us=READ_REQUESTS * READ_US,
        write_requests=30_000.0,
        write_bytes=30_000.0 * BLOCK,
        log_bytes=120.0 * MIB,
        log_syncs=3000.0,
        log_sync_time_us=3000.0 * 800,
        log_write_requests=3100.0,
        block_changes=24_000.0,
        full_page_images=600.0,
        full_page_image_bytes=30.0 * MIB,
        commits=float(SESSIONS * UPDATES_PER_SESSION),
        transactions=SECONDS * 210.0,
        rows_read=float(ROWS_READ + ROWS_UPDATED),
        rows_updated=float(ROWS_UPDATED),
        rows_updated_in_place=float(ROWS_UPDATED),
        checkpoints=0.0,
        maintenance=0.0,
        row_bytes_read=READ_REQUESTS * 2048,
        row_bytes_written=74_317_824.0,
        by_object={
            "table": ObjectIo(READ_REQUESTS, READ_REQUESTS, READ_REQUESTS * BLOCK, 0.0, READ_REQUESTS * READ_US)
        },
        timed_waits=(TimedWait("IO:DataFileRead", WaitClass.DATA_IO, READ_REQUESTS, READ_REQUESTS * READ_US),),
    )
    return replace(plain, **overrides)


def device(**overrides: Any) -> DeviceIo:
    """What the device did."""
    plain = DeviceIo(
        name="vda",
        reads=READ_REQUESTS,
        read_bytes=READ_REQUESTS * BLOCK,
        read_ms=READ_REQUESTS * 0.3,
        writes=33_000.0,
        write_bytes=360.0 * MIB,
        write_ms=20_000.0,
        busy_ms=59_000.0,
    )
    return replace(plain, **overrides)


def host(**overrides: Any) -> HostDelta:
    """What the operating system says: 4 CPUs, 60 % idle or waiting."""
    plain = HostDelta(
        seconds=SECONDS,
        cores=4,
        cpu={"user": 60.0, "system": 34.0, "irq": 1.0, "steal": 1.0, "idle": 104.0, "iowait": 40.0},
        server_cpu_s=80.0,
        foreground_cpu_s=64.0,
        background_cpu_s=16.0,
        sampler_cpu_s=0.4,
        server_cores=4,
        server_read_bytes=READ_REQUESTS * BLOCK,
        server_write_bytes=360.0 * MIB,
        package_energy_j=6000.0,
        driver_cpu_s=0.8,
        driver_peak_rss_bytes=60.0 * MIB,
        device=device(),
    )
    return replace(plain, **overrides)


def window(seconds: float = SECONDS, **overrides: Any) -> Window:
    """A window of ``seconds`` of load with counters over the same time."""
    start = 1_700_000_000_000_000_000
    plain = Window(start, start + round(seconds * 1e9), seconds, start_skew_ms=2.0, planned_s=seconds, warmup_s=2.0)
    return replace(plain, **overrides)


def timeline(ops: Sequence[float] = (2000.0,) * 60, seconds: float = 1.0) -> tuple[TimelinePoint, ...]:
    """One point for each count of operations."""
    return tuple(TimelinePoint((i + 1) * seconds, seconds, count) for i, count in enumerate(ops))


def workload(**overrides: Any) -> Workload:
    """The made-up run's specification."""
    plain: Mapping[str, Any] = {
        "schemas": 4,
        "threads_per_schema": 2,
        "work_unit": WORK_UNIT,
        "update_pct": 10,
        "run_time": SECONDS,
    }
    return Workload(**{**plain, **overrides})


def measurement(**overrides: Any) -> Measurement:
    """The made-up run, with any field replaced."""
    selects = SESSIONS * (OPS_PER_SESSION - UPDATES_PER_SESSION)
    updates = SESSIONS * UPDATES_PER_SESSION
    plain = Measurement(
        workload=workload(),
        block_size=BLOCK,
        cache_bytes=64 * MIB,
        data_bytes=1024 * MIB,
        window=window(),
        sessions=tuple(session(number) for number in range(SESSIONS)),
        latency={OpKind.SELECT: histogram(selects, SELECT_US), OpKind.UPDATE: histogram(updates, UPDATE_US)},
        engine=engine(),
        host=host(),
        waits={"IO:DataFileRead": 600, "CPU": 300, "IO:WalSync": 80, "LWLock:BufferContent": 20},
        wait_samples=200,
        timeline=timeline(),
        direct_io=True,
        local=True,
        blocks_before=131_072,
        blocks_after=131_072,
        blocks_loaded=131_072,
    )
    return replace(plain, **overrides)


def observed(**overrides: Any) -> Observed:
    """The made-up run as a load that is not ours: what remains without our sessions and their operations."""
    run = measurement(host=host(client_cpu_s=6.0))
    kept = {each.name: getattr(run, each.name) for each in fields(Observed)}
    return replace(Observed(**kept), **{"window": window(start_skew_ms=None), **overrides})


def schedule(**overrides: Any) -> Schedule:
    """The rate of the made-up run as one that was asked for and reached: nothing was left, no wake-up was on time."""
    plain = Schedule(wanted_per_s=2000.0, not_begun=0.0, oldest_s=0.0, wake_ups=histogram(100_000, 600.0))
    return replace(plain, **overrides)


def idle(**overrides: Any) -> Measurement:
    """A run in which no operation ended."""
    nothing = session(ops=0, selects=0, updates=0, rows_read=0, rows_updated=0, busy_us=0.0)
    plain: Mapping[str, Any] = {
        "window": window(0.0),
        "sessions": (nothing,) * SESSIONS,
        "latency": {kind: Histogram() for kind in OpKind},
        "waits": {},
        "timeline": (),
        "engine": EngineDelta(),
        "host": HostDelta(seconds=0.0, cores=4),
        "blocks_before": None,
    }
    return measurement(**{**plain, **overrides})


def record(measurement: Measurement, environment: Mapping[str, Any] = MappingProxyType({})) -> RunRecord:
    """The record of a run that was measured so, on a host with these facts."""
    return build_record(
        measurement,
        id="20260101-000000-made-up",
        name="made-up",
        status=Status.COMPLETE,
        started_at="2026-01-01T00:00:00Z",
        openslob_version="0",
        spec=measurement.workload.to_record(),
        environment=environment,
        engine={},
    )
