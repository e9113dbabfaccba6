"""Made-up comparisons of storage alone with databases on it."""

from __future__ import annotations

from dataclasses import asdict

from openslob.core.units import MIB
from openslob.kinds.storage.comparison.execute import summary
from openslob.kinds.storage.comparison.plan import ComparisonPlan, client_contender, raw_contenders, served_contenders
from openslob.kinds.storage.comparison.realism import ContenderKind, rows, verdicts
from openslob.kinds.storage.fio import IoEngine
from openslob.kinds.storage.record import StorageRecord, StorageStep
from openslob.record.model import Figure, Status

ENGINE = "some"
PLAN = ComparisonPlan(IoEngine.IO_URING, (ENGINE,), processes=2, scale=256 * MIB)
SERVED = {contender.kind: contender for contender in served_contenders(PLAN, ENGINE)}
CONTENDERS = [*raw_contenders(PLAN).values(), *SERVED.values(), client_contender(ENGINE, "client", "not installed")]
# Reads per CPU second of each round, by contender; each reads 10,000 blocks a second.
FALLING = {
    "fio io_uring": (100_000, 120_000), "fio psync": (80_000, 90_000), "calibrate": (90_000, 95_000),
    SERVED[ContenderKind.LOCAL].name: (50_000, 52_000), SERVED[ContenderKind.SHARED].name: (40_000, 45_000),
    SERVED[ContenderKind.UPDATES].name: (20_000, 25_000),
}  # fmt: skip


def step(number, name, per_cpu, iops=10_000.0):
    cost = Figure(value=1e6 / per_cpu, unit="µs") if per_cpu else Figure(value=None, unit="µs", why="held up")
    figures = {"iops": (iops, "1/s"), "mean_us": (100.0, "µs"), "p50_us": (90.0, "µs"), "p99_us": (300.0, "µs")}
    known = {each: Figure(value=value, unit=unit) for each, (value, unit) in figures.items()}
    known |= {"cpu_us_per_io": cost, "host_cpus_busy": Figure(value=1.0, unit="1")}
    return StorageStep(number=number, name=name, purpose="round", figures=known)


def record(per_cpu=FALLING, **changes):
    steps = [(name, value) for name, values in {**per_cpu, **changes}.items() for value in values]
    made = StorageRecord(
        tool="compare", id="20260301-120000-compare", name="compare", status=Status.COMPLETE,
        started_at="2026-03-01T12:00:00Z", openslob_version="0", asked=asdict(PLAN),
        environment={"cpu": {"online": 4}},
        steps=tuple(step(at, name, value) for at, (name, value) in enumerate(steps, 1)),
        tables={"contenders": tuple({**asdict(each), "kind": each.kind.value} for each in CONTENDERS)},
    )  # fmt: skip
    found = rows(made)
    return made.model_copy(update={"summary": summary(found, PLAN), "verdicts": verdicts(found)})
