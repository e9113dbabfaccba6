"""Records of made-up sweeps: lines that run out, bend where a resource is exhausted, and come back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from random import Random

from factories.records import Made, physical
from openslob.analyze.curves.points import Run
from openslob.analyze.curves.series import PointSet, point_set
from openslob.core.units import MIB
from openslob.record.model import Figure, Holds, RunRecord, Verdict

COUNTS = (1, 2, 4, 8, 16, 32, 64)
SERVICE_US = 95.0
CAPACITY = 54_000.0
COHERENCE = 0.0012


def made(sessions: int, update_pct: int, block_size: int, noise: float) -> Made:
    """What a run of so many sessions on a platform with one knee gives; ``noise`` multiplies the throughput."""
    size = block_size / 8192
    capacity = CAPACITY / (1 + 0.02 * update_pct) / size**0.5
    service = SERVICE_US * (1 + 0.012 * update_pct) * size**0.4
    free = sessions / service * 1e6
    reads = free / (1 + (free / capacity) ** 4) ** 0.25 / (1 + COHERENCE * max(sessions - 8, 0)) * noise
    busy = min(97.0, 12 + 60 * reads / capacity)
    return Made(
        sessions=sessions, visits=reads / 0.937, read_us=sessions / reads * 1e6, update_pct=update_pct,
        cpu=0.1 + reads / 45_000, busy_pct=busy,
    )  # fmt: skip


def sweep(
    counts: Sequence[int] = COUNTS,
    update_pcts: Sequence[int] = (0, 10, 20, 30),
    block_sizes: Sequence[int] = (8192,),
    repeats: int = 3,
    seed: int = 1,
) -> list[RunRecord]:
    """The records of a sweep; the same ones for the same arguments."""
    return list(_sweep(tuple(counts), tuple(update_pcts), tuple(block_sizes), repeats, seed))


@cache
def _sweep(
    counts: Sequence[int], update_pcts: Sequence[int], block_sizes: Sequence[int], repeats: int, seed: int
) -> Sequence[RunRecord]:
    chance, records = Random(seed), []
    for block in block_sizes:
        for update_pct in update_pcts:
            for sessions in counts:
                for repeat in range(repeats):
                    what = made(sessions, update_pct, block, math.exp(chance.gauss(0, 0.012)))
                    records.append(_record(what, block, f"{block}-{update_pct}-{sessions}-{repeat}", repeat))
    return records


def failing(record: RunRecord, name: str) -> RunRecord:
    """The same record with one more verdict, which fails."""
    others = tuple(each for each in record.verdicts if each.name != name)
    return record.model_copy(update={"verdicts": (*others, Verdict(name=name, verdict=Holds.FAILS, why="Made to."))})


def points_of(records: Sequence[RunRecord]) -> PointSet:
    """The point set of records."""
    return point_set([Run.of(record) for record in records])


def _record(what: Made, block_size: int, name: str, repeat: int) -> RunRecord:
    base = physical(what)
    mb = Figure(value=what.visits * what.reads_per_visit * block_size / MIB, unit="MB/s")
    limit = Verdict(
        name="limit_found", verdict=Holds.HOLDS, why="Storage was the limit: of DB time: data I/O 88 %.",
        figures={"limit": "storage", "cpu_pct": what.busy_pct, "data_io_pct": 88.4, "device_busy_pct": 97.0},
    )  # fmt: skip
    return base.model_copy(
        update={
            "id": f"20260301-{name}",
            "name": name,
            "engine": {**base.engine, "block_size": block_size},
            "spec": {**base.spec, "seed": repeat + 1},
            "summary": {**base.summary, "pio_read_mb_per_s": mb},
            "verdicts": (*base.verdicts, limit),
        }
    )
