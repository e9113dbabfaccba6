"""Who is compared, in which order, and on how much data; pure functions of what was asked for."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from openslob.analyze.realism import ContenderKind
from openslob.errors import UsageError
from openslob.storage.job import IoEngine
from openslob.units import GIB, MIB, Extent, format_bytes
from openslob.workload import BlockPath, Mode, Workload

# One block visit in so many is a hit: enough for reads to be what is measured.
DATA_PER_CACHE = 32
LEAST_DATA_PER_CACHE = 8
# Servers start with a thousand blocks at the least, and leave no session fewer than a hundred of its own.
LEAST_CACHE_BLOCKS = 1024
LEAST_CACHE_BLOCKS_A_SESSION = 128
# A log much smaller than the data would have a server write blocks out all the time while rows are updated.
LEAST_LOG, MOST_LOG = 256 * MIB, 4 * GIB
# What a server has on disk before anything is loaded, and what a database of this much data takes beside them.
EMPTY_SERVER = 100 * MIB
OVERHEAD = 1.15
# Of the measured time, run before it and not counted: as long as calibration's ramps.
RAMP_SHARE = 0.25
ASYNC, SYNC, CALIBRATE = "asynchronous", "synchronous", "calibrate"
UNSEEN = "nobody looks at the data"


@dataclass(frozen=True)
class ComparisonPlan:
    """What is asked: ``depth`` reads at a time, be they fio's requests, its processes or sessions; sizes in bytes.

    ``scale`` is the size of the test file and of each server's data. ``cpus`` are those of fio and of the servers,
    ``processes`` how many they are. ``engines`` are the registry's names.
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

    @property
    def cache_bytes(self) -> int:
        """The cache of each server."""
        least = max(LEAST_CACHE_BLOCKS, LEAST_CACHE_BLOCKS_A_SESSION * self.depth)
        return max(self.scale // DATA_PER_CACHE, least * self.block_size)

    @property
    def log_bytes(self) -> int:
        """To which the log of each server may grow."""
        return min(max(self.scale, LEAST_LOG), MOST_LOG)

    @property
    def keys(self) -> int:
        """Rows, and so blocks, of each session's table."""
        return self.scale // self.depth // self.block_size

    @property
    def bytes_needed(self) -> int:
        """Space for everything at its largest: the test file, and of each server shared data, sessions' copies, log."""
        return self.scale + len(self.engines) * (int(2 * OVERHEAD * self.scale) + self.log_bytes + EMPTY_SERVER)

    def check(self) -> None:
        """UsageError when the data are too small to be read from storage."""
        least = max(LEAST_DATA_PER_CACHE * self.cache_bytes, self.depth * self.work_unit * self.block_size)
        if self.scale < least:
            raise UsageError(
                f"--scale {format_bytes(self.scale)} is too little: much of it would stay in the servers' caches",
                f"give at least {format_bytes(least)} for {self.depth} sessions",
            )

    def workload(self, kind: ContenderKind, number: int = 1) -> Workload:
        """What the sessions of a server do, in a round; the load's when it is about data only."""
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
    """One that is measured: its name in the table, what it does with the data, and what its latency is the time of.

    ``engine`` is the registry's name of its server, empty for storage alone; ``why`` it is left out, if it is.
    """

    name: str
    kind: ContenderKind
    does: str
    timed: str
    engine: str = ""
    why: str = ""


def raw_contenders(plan: ComparisonPlan) -> dict[str, Contender]:
    """Storage alone, by the way it is read."""
    depth, how = plan.depth, plan.io_engine.value
    cpus = "1 CPU" if plan.processes == 1 else f"{plan.processes} CPUs"
    spread = f"{depth} reads in flight, spread over {cpus} as slob raw calibrate does"
    return {
        ASYNC: _raw(f"fio {how}", f"one process with {depth} reads in flight; {UNSEEN}"),
        SYNC: _raw("fio psync", f"{depth} processes, each one read after the other; {UNSEEN}"),
        CALIBRATE: _raw("calibrate", f"{spread}; {UNSEEN}"),
    }


def _raw(name: str, does: str) -> Contender:
    return Contender(name, ContenderKind.RAW, does, "1 read")


def served_contenders(plan: ComparisonPlan, engine: str) -> list[Contender]:
    """The ways of reading through a server of this engine."""
    timed = f"SELECT of {plan.work_unit}"
    through = "every row looked at, inside the server; blocks through"
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
    return [Contender(f"{engine}, {names[kind]}", kind, does[kind], timed, engine) for kind in does]


def client_contender(engine: str, program: str, why: str = "") -> Contender:
    """A product's own benchmark program, for scale."""
    does = "one-row SELECTs from outside the server, prepared: a round trip and a statement for each read"
    return Contender(f"{engine}, {program}", ContenderKind.CLIENT, does, "1-row query", engine, why)


def order(contenders: Sequence[Contender], number: int) -> list[Contender]:
    """The order of a round, drawn anew for each, the same for equal rounds of equal contenders."""
    return random.Random(number).sample(list(contenders), len(contenders))
