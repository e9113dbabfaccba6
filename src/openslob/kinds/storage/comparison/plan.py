"""The plan of a comparison: contenders, their order, and the amount of data. Pure functions of the parameters."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from openslob.core.errors import UsageError
from openslob.core.units import GIB, MIB, Extent, format_bytes, format_duration
from openslob.core.workload import BlockPath, Mode, Workload
from openslob.engines.clients import ROWS_PER_SCALE, WorkloadRequest, scale_of, table_sets
from openslob.kinds.storage.comparison.realism import ContenderKind
from openslob.kinds.storage.fio import IoEngine

# One block visit in 32 is a cache hit; below 8, hits instead of reads would be measured.
DATA_PER_CACHE = 32
MIN_DATA_PER_CACHE = 8
# Servers need about a thousand blocks of cache to start, and about a hundred per session.
MIN_CACHE_BLOCKS = 1024
MIN_CACHE_BLOCKS_PER_SESSION = 128
# With a log much smaller than the data, checkpoints would write blocks all the time while rows are updated.
MIN_LOG, MAX_LOG = 256 * MIB, 4 * GIB
# Size of an empty server on disk, and size of a loaded database relative to its data.
EMPTY_SERVER_BYTES = 100 * MIB
OVERHEAD = 1.15
# Ramp time as a share of the measured time, as in calibration.
RAMP_SHARE = 0.25
ASYNC, SYNC, CALIBRATE = "asynchronous", "synchronous", "calibrate"
DISCARDED = "the data are not examined"
# How fast client programs must make the tables of their workloads, after a start of so many seconds.
LEAST_MAKING_BYTES_PER_S = 8 * MIB
MAKING_START_S = 60.0
# What the records call the selects of a client program on our own tables.
SELECTS = "one-row-select"


@dataclass(frozen=True)
class ComparisonPlan:
    """Parameters of a comparison; sizes are in bytes.

    ``depth`` is the number of concurrent reads: fio's requests, its processes, or sessions. ``scale`` is the size of
    the test file and of each server's data. ``cpus`` are the CPUs of fio and of the servers, ``processes`` is their
    number. ``engines`` are names in the registry, ``workloads`` the ready-made workloads that servers also run, on
    tables of their own, which are as large as the test file.
    """

    io_engine: IoEngine
    engines: tuple[str, ...]
    processes: int
    block_size: int = 8192
    depth: int = 8
    seconds: float = 10.0
    rounds: int = 3
    scale: int = 2 * GIB
    update_pct: int = 20
    work_unit: int = 64
    cpus: str | None = None
    workloads: tuple[str, ...] = ()

    @property
    def cache_bytes(self) -> int:
        """Cache size of each server."""
        minimum = max(MIN_CACHE_BLOCKS, MIN_CACHE_BLOCKS_PER_SESSION * self.depth)
        return max(self.scale // DATA_PER_CACHE, minimum * self.block_size)

    @property
    def log_bytes(self) -> int:
        """Size that the log of each server may grow to."""
        return min(max(self.scale, MIN_LOG), MAX_LOG)

    @property
    def keys(self) -> int:
        """Number of rows, and so of blocks, of each session's table."""
        return self.scale // self.depth // self.block_size

    @property
    def bytes_needed(self) -> int:
        """Highest space needed: the test file, and for each server its data, the sessions' copies, and the log.

        Workloads add their tables, which are as large as the data.
        """
        copies = 2 + table_sets(self.workloads)
        return self.scale + len(self.engines) * (
            int(copies * OVERHEAD * self.scale) + self.log_bytes + EMPTY_SERVER_BYTES
        )

    @property
    def making_s(self) -> float:
        """How long a client program may take to make its tables."""
        return MAKING_START_S + self.scale / LEAST_MAKING_BYTES_PER_S

    @property
    def announcement(self) -> str:
        """What is going to be done, in one line."""
        measurements = len(raw_contenders(self)) + len(self.engines) * (len(_SERVED) + 1 + len(self.workloads))
        seconds = self.rounds * measurements * self.seconds * (1 + RAMP_SHARE)
        once = "" if self.rounds == 1 else f", {self.rounds} times"
        each = f"up to {measurements} measurements of {self.seconds:g} s{once}"
        text = f"{each}: about {format_duration(seconds)}, after the loads"
        if not self.workloads:
            return text
        tables = f"tables of {format_bytes(self.scale)} for {', '.join(self.workloads)} on each server"
        return f"{text}; {tables}, in at most {format_duration(self.making_s)}"

    def client(self, name: str, version: str, bin_dir: Path | None, stopped: Callable[[], bool]) -> WorkloadRequest:
        """Return what a client program is to run: a ready-made workload, or `SELECTS` on our tables."""
        rows = max(1, self.keys * self.depth // ROWS_PER_SCALE)
        return WorkloadRequest(
            name=name,
            clients=self.depth,
            seconds=self.seconds,
            scale=rows if name == SELECTS else scale_of(name, self.scale),
            version=version,
            bin_dir=bin_dir,
            stopped=stopped,
            limit_s=self.making_s,
            timed=True,
        )

    def check(self) -> None:
        """Raise UsageError if the data are so small that caches would serve the reads."""
        minimum = max(MIN_DATA_PER_CACHE * self.cache_bytes, self.depth * self.work_unit * self.block_size)
        if self.scale < minimum:
            raise UsageError(
                f"--scale {format_bytes(self.scale)} is too small: the servers' caches would serve many of the reads",
                f"give at least {format_bytes(minimum)} for {self.depth} sessions",
            )

    def workload(self, kind: ContenderKind, number: int = 1) -> Workload:
        """Return the workload of a server's sessions in a round; it also defines the data to load."""
        return Workload(
            schemas=self.depth,
            sessions=self.depth,
            scale=Extent(self.keys * self.block_size, in_bytes=True),
            run_time=self.seconds,
            warmup=self.seconds * RAMP_SHARE,
            work_unit=self.work_unit,
            update_pct=self.update_pct if kind is ContenderKind.UPDATES else 0,
            block_path=BlockPath.LOCAL if kind is ContenderKind.LOCAL else BlockPath.SHARED,
            mode=None if kind is ContenderKind.UPDATES else Mode.PIO,
            seed=number,
        )


@dataclass(frozen=True)
class Contender:
    """One contender: its name in the table, what it does with the data, and which operation is timed.

    ``engine`` is the name of its engine in the registry, empty for storage alone. ``why`` is the reason if the
    contender is left out.
    """

    name: str
    kind: ContenderKind
    does: str
    timed: str
    engine: str = ""
    why: str = ""


def raw_contenders(plan: ComparisonPlan) -> dict[str, Contender]:
    """Return the contenders that read storage alone, by method."""
    depth, how = plan.depth, plan.io_engine.value
    cpus = "1 CPU" if plan.processes == 1 else f"{plan.processes} CPUs"
    spread = f"{depth} reads in flight, spread over {cpus} as slob raw calibrate does"
    return {
        ASYNC: _raw(f"fio {how}", f"one process with {depth} reads in flight; {DISCARDED}"),
        SYNC: _raw("fio psync", f"{depth} processes, each one read after the other; {DISCARDED}"),
        CALIBRATE: _raw("calibrate", f"{spread}; {DISCARDED}"),
    }


def _raw(name: str, does: str) -> Contender:
    return Contender(name, ContenderKind.RAW, does, "1 read")


_SERVED = (ContenderKind.LOCAL, ContenderKind.SHARED, ContenderKind.UPDATES)


def served_contenders(plan: ComparisonPlan, engine: str) -> list[Contender]:
    """Return the contenders that read with sessions of a server of this engine."""
    timed = f"SELECT of {plan.work_unit}"
    through = "every row examined, inside the server; blocks through"
    does = {
        ContenderKind.LOCAL: f"{through} memory private to each session",
        ContenderKind.SHARED: f"{through} the shared cache",
        ContenderKind.UPDATES: f"the same, and {plan.update_pct} % of operations change rows and commit durably",
    }
    names = {
        ContenderKind.LOCAL: "local path",
        ContenderKind.SHARED: "shared cache",
        ContenderKind.UPDATES: f"{plan.update_pct} % updates",
    }
    return [Contender(f"{engine}, {names[kind]}", kind, does[kind], timed, engine) for kind in _SERVED]


def client_contender(engine: str, program: str, why: str = "") -> Contender:
    """Return the contender that is the database product's own benchmark program."""
    does = "one-row SELECTs from outside the server, prepared: a round trip and a statement for each read"
    return Contender(f"{engine}, {program}", ContenderKind.CLIENT, does, "1-row query", engine, why)


def workload_contender(plan: ComparisonPlan, engine: str, name: str, why: str = "") -> Contender:
    """Return the contender that is a ready-made workload on tables of its own."""
    scale = scale_of(name, plan.scale)
    tables = f"scale {scale:,}, {format_bytes(plan.scale)} or more of its own tables"
    does = f"the ready-made workload: whatever its transactions read, {plan.depth} clients, {tables}"
    return Contender(f"{engine}, {name}", ContenderKind.CLIENT, does, "transaction", engine, why)


def order(contenders: Sequence[Contender], number: int) -> list[Contender]:
    """Return the contenders in the random order of a round; the round's number is the seed."""
    return random.Random(number).sample(list(contenders), len(contenders))
