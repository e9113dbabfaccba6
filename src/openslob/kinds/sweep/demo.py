"""The demonstration: server, data and runs that show in two minutes what a platform can do, and the table of them.

Sizes follow from the host. The data of the physical runs are twelve times the cache, so that at most one block visit
in twelve is a cache hit; the cached runs work on a part of the same data that fits into the cache.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from openslob.core import rehearsal
from openslob.core.errors import SlobError
from openslob.core.units import MIB, Extent, format_bytes
from openslob.core.workload import Mode, Workload
from openslob.kinds.sweep.plan import POINT_OVERHEAD_S
from openslob.kinds.sweep.time_left import PlannedPoint
from openslob.record.model import Holds, RunRecord
from openslob.report.format import MISSING, fold_table, micros, number, percent, wrap

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
# Of the table.
HEAD = (
    *("load", "sessions", "upd %", "visits/s", "reads/s", "a read", "commits/s"),
    *("op p99", "CPUs", "per CPU s", "CPU left", "verdicts"),
)
# What the modes are called; and the figure of the column "per CPU s" by mode: requests of a physical run, and
# blocks, the default, of a cached one.
LOADS = {"pio": "physical", "lio": "cached"}
PER_CPU = {"pio": "iops_per_db_cpu"}
# Below this share of block visits, reads are not shown.
READS_MATTER = 0.001


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


def render_demo_table(records: Sequence[RunRecord], columns: int | None = None) -> str:
    """Return a row for each run, the verdicts that fail, and last the answer: the best rates.

    The table is at most ``columns`` wide, or as wide as it needs to be.
    """
    rows = [_demo_row(record) for record in records]
    lines = [
        *fold_table(HEAD, rows, columns, keys=3),
        "",
        *failed_verdicts(records),
        "",
        *best_rates(records),
    ]
    return "\n".join(lines) + "\n"


def demo_json(records: Sequence[RunRecord]) -> str:
    """Return the records as a JSON array."""
    return json.dumps([record.model_dump(mode="json") for record in records], indent=1, ensure_ascii=False) + "\n"


def best_rates(records: Sequence[RunRecord]) -> list[str]:
    """Return the best read rates that can be trusted, physical and logical, with latency and CPU cost."""
    sentences = []
    physical = _best([record for record in records if _holds(record, "reads_reached_device")], "pio_read_per_s")
    if physical is not None:
        sentences.append(
            f"Physical: {number(physical.value('pio_read_per_s'))} single-block reads/s at "
            f"{micros(physical.value('engine_read_latency_us'))} each, with {_setting(physical)}"
            f"{_cost(physical, 'iops_per_db_cpu')}."
        )
    logical = _best([record for record in records if record.spec.get("mode") == "lio"], "lio_per_s")
    if logical is not None:
        sentences.append(
            f"Cached: {number(logical.value('lio_per_s'))} blocks/s from the cache, with {_setting(logical)}"
            f"{_cost(logical, 'lio_per_db_cpu')}."
        )
    nothing = ["No run gave a rate that can be trusted: see the verdicts below."]
    return [line for text in sentences or nothing for line in wrap(text)]


def failed_verdicts(records: Sequence[RunRecord]) -> list[str]:
    """Return a line for each failed verdict: the number of runs and the reason in the first."""
    failing: dict[str, list[tuple[RunRecord, str]]] = {}
    for record in records:
        for verdict in record.verdicts:
            if verdict.verdict is Holds.FAILS:
                failing.setdefault(verdict.name, []).append((record, verdict.why))
    if not failing:
        return ["No verdict fails; `slob show RECORD` shows all of them, including the unknown ones."]
    return [
        line
        for name, cases in failing.items()
        for line in wrap(
            f"{name.replace('_', ' ')} fails in {len(cases)} of {len(records)} runs, "
            f"first in {_short(cases[0][0])}: {cases[0][1]}",
            "! ",
            "  ",
        )
    ]


def _best(records: Sequence[RunRecord], metric: str) -> RunRecord | None:
    known = [record for record in records if record.value(metric)]
    return max(known, key=lambda record: record.value(metric) or 0.0, default=None)


def _cost(record: RunRecord, per_cpu: str) -> str:
    """Return the work for each CPU and the CPU that was left, as far as they are known."""
    done, left = record.value(per_cpu), record.value("host_cpu_left_pct")
    parts = [
        *([f"{number(done)} per CPU second"] if done is not None else []),
        *([f"{percent(left)} of the host's CPU left"] if left is not None and record.spec.get("mode") == "pio" else []),
    ]
    return f": {', '.join(parts)}" if parts else ""


def _holds(record: RunRecord, name: str) -> bool:
    return any(verdict.name == name and verdict.verdict is Holds.HOLDS for verdict in record.verdicts)


def _setting(record: RunRecord) -> str:
    return f"{number(record.value('sessions'))} sessions and {record.spec.get('update_pct')} % updates"


def _short(record: RunRecord) -> str:
    return f"{record.spec.get('mode') or record.name} at {_setting(record)}"


def _demo_row(record: RunRecord) -> tuple[str, ...]:
    visits, reads = record.value("block_visits_per_s"), record.value("pio_read_per_s")
    reading = bool(visits and reads and reads / visits >= READS_MATTER)
    mode = str(record.spec.get("mode") or MISSING)
    slowest = max((latency.get("p99_us") or 0.0 for latency in record.latency.values()), default=None)
    fails = sum(verdict.verdict is Holds.FAILS for verdict in record.verdicts)
    return (
        LOADS.get(mode, mode),
        number(record.value("sessions")),
        str(record.spec.get("update_pct")),
        number(visits),
        number(reads) if reading else MISSING,
        micros(record.value("engine_read_latency_us")) if reading else MISSING,
        number(record.value("commits_per_s")),
        micros(slowest),
        number(record.value("db_cpu_per_s")),
        number(record.value(PER_CPU.get(mode, "lio_per_db_cpu"))),
        percent(record.value("host_cpu_left_pct")),
        f"{fails} fail" if fails else "none fails",
    )
