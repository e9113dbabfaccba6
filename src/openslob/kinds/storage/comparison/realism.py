"""The realism table: the reads of storage alone beside those of databases on it, per second and per CPU.

Reads whose data nobody examines cost less CPU than reads of a database, which manages a cache and touches the data. The
expected order of reads per CPU is therefore storage alone ≥ local path ≥ shared cache ≥ shared cache with updates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from statistics import median

from openslob.analyze.outcome import count, fails, holds, unknown
from openslob.core.units import MICROS
from openslob.kinds.storage.record import StorageRecord, StorageStep, median_of, values_of
from openslob.record.model import Verdict

TABLE = "contenders"


class ContenderKind(StrEnum):
    """What a contender does with the blocks that it reads; the first four are in the expected order per CPU."""

    RAW = "raw"
    LOCAL = "local"
    SHARED = "shared"
    UPDATES = "updates"
    CLIENT = "client"


ORDER = (ContenderKind.RAW, ContenderKind.LOCAL, ContenderKind.SHARED, ContenderKind.UPDATES)


@dataclass(frozen=True)
class RoundRange:
    """The median, lowest and highest value of a figure over the rounds; all None when no round has the figure."""

    median: float | None = None
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, values: Sequence[float]) -> RoundRange:
        """Return the range of the rounds' values."""
        return cls(median(values), min(values), max(values)) if values else cls()


@dataclass(frozen=True)
class ContenderRow:
    """One contender over all rounds.

    ``iops`` are reads per second, ``cpus`` the number of CPUs that the processes of fio or of the server used for them,
    ``iops_per_cpu`` the reads per second of that CPU time. Latencies are in µs, of what ``timed`` names.
    ``ceiling_pct`` is the share of the best raw median in %. ``why`` gives the reason for missing figures.
    """

    name: str
    kind: ContenderKind
    engine: str
    does: str
    timed: str
    rounds: int
    iops: RoundRange
    iops_per_cpu: RoundRange
    cpus: float | None
    host_pct: float | None
    mean_us: float | None
    p50_us: float | None
    p99_us: float | None
    ceiling_pct: float | None
    why: str

    @property
    def lacks_order(self) -> bool:
        """Whether the contender has a position in the order and was measured, but its reads per CPU are unknown."""
        return self.kind in ORDER and self.rounds > 0 and self.iops_per_cpu.median is None


def rows(record: StorageRecord) -> tuple[ContenderRow, ...]:
    """Return the rows of a comparison's table, in the order of the record."""
    listed = record.tables.get(TABLE, ())
    steps = {each["name"]: [step for step in record.steps if step.name == each["name"]] for each in listed}
    raw = [median_of(steps[each["name"]], "iops") for each in listed if each["kind"] == ContenderKind.RAW]
    ceiling = max((rate for rate in raw if rate), default=None)
    host_cpus = (record.environment.get("cpu") or {}).get("online")
    return tuple(
        _row(steps[each["name"]], ceiling, host_cpus, **{name: str(text) for name, text in each.items()})
        for each in listed
    )


def _row(
    steps: Sequence[StorageStep], ceiling: float | None, host_cpus: int | None, *, name: str, kind: str, engine: str,
    does: str, timed: str, why: str,
) -> ContenderRow:  # fmt: skip
    iops, busy = RoundRange.of(values_of(steps, "iops")), median_of(steps, "host_cpus_busy")
    return ContenderRow(
        name=name,
        kind=ContenderKind(kind),
        engine=engine,
        does=does,
        timed=timed,
        rounds=len(steps),
        iops=iops,
        iops_per_cpu=_range(steps, _iops_per_cpu),
        cpus=_range(steps, _cpus).median,
        host_pct=100 * busy / host_cpus if busy is not None and host_cpus else None,
        mean_us=median_of(steps, "mean_us"),
        p50_us=median_of(steps, "p50_us"),
        p99_us=median_of(steps, "p99_us"),
        ceiling_pct=100 * iops.median / ceiling if iops.median is not None and ceiling else None,
        why=why or _why_unknown(steps),
    )


def _why_unknown(steps: Sequence[StorageStep]) -> str:
    """Return why no round has the rate, or its CPU cost; empty if one has both."""
    for name in ("iops", "cpu_us_per_io"):
        if median_of(steps, name) is None:
            reasons = [step.figures[name].why for step in steps if name in step.figures]
            return next((why for why in reasons if why), "not measured")
    return ""


def _iops_per_cpu(step: StorageStep) -> float | None:
    cost = step.value("cpu_us_per_io")
    return MICROS / cost if cost else None


def _cpus(step: StorageStep) -> float | None:
    rate, cost = step.value("iops"), step.value("cpu_us_per_io")
    return None if rate is None or cost is None else rate * cost / MICROS


def _range(steps: Sequence[StorageStep], figure: Callable[[StorageStep], float | None]) -> RoundRange:
    return RoundRange.of([value for step in steps if (value := figure(step)) is not None])


def best_raw(table: Sequence[ContenderRow], figure: Callable[[ContenderRow], RoundRange]) -> ContenderRow | None:
    """Return the raw contender with the highest median of a figure; None when none has the figure."""
    known = [row for row in table if row.kind is ContenderKind.RAW and figure(row).median is not None]
    return max(known, key=lambda row: figure(row).median or 0.0, default=None)


def verdicts(table: Sequence[ContenderRow]) -> tuple[Verdict, ...]:
    """Return the verdict ``order_<engine>`` for each engine: whether the expected order per CPU holds."""
    engines = dict.fromkeys(row.engine for row in table if row.engine)
    return tuple(order_verdict(table, engine) for engine in engines)


def order_verdict(table: Sequence[ContenderRow], engine: str) -> Verdict:
    """Judge whether no contender makes more reads per CPU than a contender that does less with the data.

    A pair in the wrong order fails the verdict when the ranges of its rounds do not overlap; otherwise it makes the
    verdict unknown.
    """
    name = f"order_{engine}"
    chain = _chain(table, engine)
    if len(chain) < 2 or not any(row.kind is ContenderKind.RAW for row in chain):
        return unknown(name, "Can't be determined: too few contenders were measured to order them by reads per CPU.")
    lacking = [f"{row.name}: {row.why}" for row in table if row.engine == engine and row.lacks_order]
    if lacking:
        return unknown(name, f"Can't be determined: reads per CPU of some are unknown ({'; '.join(lacking)}).")
    figures = {row.kind.value: row.iops_per_cpu.median for row in chain}
    all_rates = ", ".join(f"{row.name} {_rate_text(row)}" for row in chain)
    wrong = [(more, less) for more, less in pairwise(chain) if _median(more) < _median(less)]
    broken = [pair for pair in wrong if _high(pair[0]) < _low(pair[1])]
    if broken:
        why = f"Reads per CPU second are not in the expected order: {_pairs(broken)}. All: {all_rates}."
        return fails(name, why, **figures)
    if wrong:
        why = f"Can't be determined: {_pairs(wrong)}, but the ranges of the rounds overlap. All: {all_rates}."
        return unknown(name, why, **figures)
    return holds(name, f"Reads per CPU second fall as more is done with the data: {all_rates}.", **figures)


def _chain(table: Sequence[ContenderRow], engine: str) -> list[ContenderRow]:
    """Return the contenders whose order is judged, in the expected order."""
    raw = best_raw(table, lambda row: row.iops_per_cpu)
    own = [row for kind in ORDER for row in table if row.engine == engine and row.kind is kind]
    known = [row for row in own if row.iops_per_cpu.median is not None]
    return [raw, *known] if raw else known


def _median(row: ContenderRow) -> float:
    return row.iops_per_cpu.median or 0.0


def _low(row: ContenderRow) -> float:
    return row.iops_per_cpu.low or 0.0


def _high(row: ContenderRow) -> float:
    return row.iops_per_cpu.high or 0.0


def _rate_text(row: ContenderRow) -> str:
    between = f" ({count(_low(row))} to {count(_high(row))})" if row.rounds > 1 else ""
    return count(_median(row)) + between


def _pairs(pairs: Sequence[tuple[ContenderRow, ContenderRow]]) -> str:
    return "; ".join(
        f"{less.name} ({count(_median(less))}) is ahead of {more.name} ({count(_median(more))})" for more, less in pairs
    )
