"""The demonstration: the server, the data and the runs that show in two minutes what a platform can do.

Sizes follow from the host. The data of the physical runs are twelve times the cache, so that at most one block visit
in twelve is a cache hit; the cached runs work on a part of the same data that fits into the cache.
"""

from __future__ import annotations

from dataclasses import dataclass

from openslob.core import rehearsal
from openslob.core.errors import SlobError
from openslob.core.units import MIB, Extent, format_bytes
from openslob.core.workload import Mode, Workload
from openslob.kinds.sweep.plan import POINT_OVERHEAD_S
from openslob.kinds.sweep.time_left import PlannedPoint

SERVER = "demo"
# Every run has at least as many sessions, so that each schema is visited and all data are active.
SCHEMAS = 2
LARGEST_CACHE = 128 * MIB
SMALLEST_CACHE = 32 * MIB
DATA_PER_CACHE = 12
# The data of the cached runs are half as large as the cache, so that no block is evicted.
CACHED_SHARE = 0.5
# The demonstration's data are at most this share of free disk and of memory.
DISK_SHARE = 0.2
MEMORY_SHARE = 1 / 32
RUN_TIME_S = 8
WARMUP_S = 1.5
UPDATE_PCT = 20
PHYSICAL_SESSIONS = (2, 8, 32)


@dataclass(frozen=True)
class Sizes:
    """Bytes of the server's cache, of all data, and of the part of the data that cached runs visit."""

    cache: int
    data: int
    cached: int


@dataclass(frozen=True)
class DemoRun:
    """One run of the demonstration and its name."""

    name: str
    workload: Workload


def sizes(free_disk: int, memory: int) -> Sizes:
    """Return the sizes for a host with ``free_disk`` bytes of free disk space and ``memory`` bytes of memory.

    SlobError when the host is too small.
    """
    most = min(
        rehearsal.amount(LARGEST_CACHE, SMALLEST_CACHE),
        int(memory * MEMORY_SHARE),
        int(free_disk * DISK_SHARE / DATA_PER_CACHE),
    )
    cache = most // MIB * MIB
    if cache < SMALLEST_CACHE:
        needed = int(SMALLEST_CACHE * DATA_PER_CACHE / DISK_SHARE)
        raise SlobError(
            f"the demonstration does not fit: {format_bytes(free_disk)} of disk and {format_bytes(memory)} of memory",
            f"it needs {format_bytes(needed)} of free disk and {format_bytes(SMALLEST_CACHE / MEMORY_SHARE)} of memory",
        )
    return Sizes(cache, cache * DATA_PER_CACHE, int(cache * CACHED_SHARE))


def load_workload(size: Sizes) -> Workload:
    """Return the workload that says which data to load."""
    return Workload(schemas=SCHEMAS, scale=_per_schema(size.data))


def runs(size: Sizes, cores: int) -> list[DemoRun]:
    """Return the runs in their order: the cached ones, then the physical ones with an increasing session count."""
    cached = [_cached(size, cores, update_pct) for update_pct in (0, UPDATE_PCT)]
    physical = [
        _physical(size, sessions, update_pct) for update_pct in (0, UPDATE_PCT) for sessions in PHYSICAL_SESSIONS
    ]
    return [*cached, *physical]


def estimate(run: DemoRun) -> PlannedPoint:
    """Return how long a run takes."""
    load_s = run.workload.warmup + run.workload.run_time
    return PlannedPoint(0, load_s + POINT_OVERHEAD_S, load_s)


def _cached(size: Sizes, cores: int, update_pct: int) -> DemoRun:
    # One session for each CPU, and no I/O to wait for: the CPU is the limit.
    sessions = max(cores, SCHEMAS)
    return _run("cached", sessions, update_pct, size.cached, Mode.LIO)


def _physical(size: Sizes, sessions: int, update_pct: int) -> DemoRun:
    return _run("physical", sessions, update_pct, size.data, Mode.PIO)


def _run(name: str, sessions: int, update_pct: int, data: int, mode: Mode) -> DemoRun:
    workload = Workload(
        schemas=SCHEMAS,
        scale=_per_schema(data),
        sessions=sessions,
        update_pct=update_pct,
        run_time=rehearsal.seconds(RUN_TIME_S),
        warmup=rehearsal.seconds(WARMUP_S, least=0.2),
        mode=mode,
    )
    return DemoRun(f"{name}-{sessions}-sessions-{update_pct}-updates", workload)


def _per_schema(total: int) -> Extent:
    return Extent(total // SCHEMAS, in_bytes=True)
