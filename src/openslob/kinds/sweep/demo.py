"""The demonstration: server, data and runs that show in three minutes what a platform can do, and its answer.

Sizes follow from the host. The data of the physical runs, a sweep, are twelve times the cache, so that at most one
block visit in twelve is a cache hit; the cached runs work on a part of the same data that fits into the cache.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from openslob.analyze.curves.points import Run
from openslob.analyze.curves.series import point_set
from openslob.analyze.verdict_registry import Severity
from openslob.config.grid import Grid
from openslob.core import rehearsal
from openslob.core.errors import SlobError
from openslob.core.units import MIB, Extent, format_bytes
from openslob.core.workload import Mode, Workload
from openslob.kinds.sweep.create import new_sweep
from openslob.kinds.sweep.record import SweepRecord
from openslob.kinds.sweep.screen import answer_of, judge_points
from openslob.record.model import RunRecord, Verdict
from openslob.report.document import Document, TextTable, VerdictsOfSeveral

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
UPDATES = (0, 20)
PHYSICAL_SESSIONS = (2, 8, 32)


@dataclass(frozen=True)
class Sizes:
    """Bytes of the server's cache, of all data, and of the part of the data that cached runs visit."""

    cache: int
    data: int
    cached: int


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


def cached_runs(size: Sizes, cores: int) -> dict[str, Workload]:
    """Return the cached runs by name: a session for each CPU, and no I/O to wait for, so that the CPU is the limit."""
    sessions = max(cores, SCHEMAS)
    return {
        f"cached-{sessions}-sessions-{pct}-updates": _workload(size.cached, Mode.LIO, sessions, pct) for pct in UPDATES
    }


def physical_sweep(size: Sizes) -> SweepRecord:
    """Return the sweep of the physical runs with all its points pending: sessions by share of updates."""
    grid = {"sessions": PHYSICAL_SESSIONS, "update_pct": UPDATES}
    workload = _workload(size.data, Mode.PIO, PHYSICAL_SESSIONS[0], UPDATES[0])
    return new_sweep(SERVER, SERVER, Grid(workload, grid, rehearsal.notices()), {})


def _workload(data: int, mode: Mode, sessions: int, update_pct: int) -> Workload:
    return Workload(
        schemas=SCHEMAS,
        scale=_per_schema(data),
        sessions=sessions,
        update_pct=update_pct,
        run_time=rehearsal.seconds(RUN_TIME_S),
        warmup=rehearsal.seconds(WARMUP_S, least=0.2),
        mode=mode,
    )


def _per_schema(total: int) -> Extent:
    return Extent(total // SCHEMAS, in_bytes=True)


def with_cached(
    document: Document, physical: Sequence[Run], cached: Sequence[Run], next_steps: Sequence[tuple[str, str]]
) -> Document:
    """Return the report of the sweep with what the cached runs gave in its answer, and with these next steps."""
    screen = document.screen
    assert screen is not None, "a sweep has one"
    judged: list[tuple[str, Sequence[Verdict]]] = []
    for runs in (physical, cached):
        judged += judge_points(point_set(runs), {run.record.id: run.record for run in runs}) if runs else ()
    reads = [run for run in cached if not run.record.spec["update_pct"] and run.record.value("lio_per_s")]
    of_cached = answer_of(point_set(reads), {run.record.id: run.record for run in reads})[:1] if reads else ()
    answer = (" ".join([screen.answer[0], *(f"From the cache: {text}" for text in of_cached)]), *screen.answer[1:])
    # Its remarks are on options that the demonstration has not.
    parts = tuple(part for part in screen.parts if isinstance(part, TextTable))
    judgement = VerdictsOfSeveral(tuple(judged), "run")
    # Notes are for those who know the terms: `slob show --checks` has them.
    noted = frozenset(each.name for each in judgement.checks if each.severity is Severity.NOTE)
    screen = replace(screen, answer=answer, parts=parts, next=tuple(next_steps), judged=judgement, said=noted)
    return replace(document, screen=screen)


def demo_json(records: Sequence[RunRecord]) -> str:
    """Return the records as a JSON array."""
    return json.dumps([record.model_dump(mode="json") for record in records], indent=1, ensure_ascii=False) + "\n"
