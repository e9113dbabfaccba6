"""The figures that a record's raw files give over time: each by its definition in `openslob.metrics`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from openslob.analyze.run_tables import RunTables
from openslob.analyze.tables import Array, Intervals, Seconds
from openslob.core.counts import VISITED
from openslob.metrics import METRICS
from openslob.metrics.computation import (
    Amount,
    Computation,
    DbTime,
    DeviceCounter,
    EngineCounter,
    FirstKnown,
    Input,
    PerSecond,
    Ratio,
    ServerCpu,
    SessionSum,
)
from openslob.metrics.cpu import AT_REST
from openslob.report.charts.over_time import CPU_KINDS

ENGINE, HOST, WORK = "engine", "host", "work"
SERVER_CPU, DEVICE = "server.server_cpu_s", "device.dev_"
BUSY, ALL, VISITS = "busy_cpu_s", "all_cpu_s", "visits"
_SUMS = {
    BUSY: tuple(counter for counters in CPU_KINDS.values() for counter in counters),
    VISITS: VISITED,
}
_SUMS[ALL] = (*_SUMS[BUSY], *(f"host.cpu_{kind}_s" for kind in AT_REST))
# Views have a name of their own for what is drawn of a device.
_OF_DEVICE = {
    "dev_read_per_s": "device.reads_per_s",
    "dev_write_per_s": "device.writes_per_s",
    "dev_read_mb_per_s": "device.read_mb_per_s",
    "dev_write_mb_per_s": "device.write_mb_per_s",
}


# Returns what was counted under a name in a part of the intervals; None if it is not counted.
AmountSource = Callable[[str, slice], Array | None]


@dataclass(frozen=True)
class Track:
    """What one source counted in intervals, of which the first here is interval ``first`` of the source."""

    begin_s: Array
    end_s: Array
    source: AmountSource
    first: int = 0

    def amount(self, name: str) -> Array | None:
        """Return what was counted in each interval; None if it is not counted."""
        return self.source(name, slice(self.first, self.first + len(self.end_s)))

    def amounts(self, names: tuple[str, ...]) -> dict[str, Array]:
        """Return the amounts of these names, as far as they are counted."""
        found = {name: self.amount(name) for name in names}
        return {name: amount for name, amount in found.items() if amount is not None}

    def between(self, begin_s: float, end_s: float) -> Track:
        """Return the part with a moment in this time."""
        low, high = np.searchsorted(self.end_s, begin_s, side="right"), np.searchsorted(self.begin_s, end_s)
        return self._part(int(low), max(int(high), int(low)))

    def within(self, begin_s: float, end_s: float) -> Track:
        """Return the part that lies wholly in this time."""
        low, high = np.searchsorted(self.begin_s, begin_s), np.searchsorted(self.end_s, end_s, side="right")
        return self._part(int(low), max(int(high), int(low)))

    def until(self, at_s: float) -> Track:
        """Return the part that had ended at ``at_s``."""
        return self._part(0, int(np.searchsorted(self.end_s, at_s, side="right")))

    def last(self) -> Track:
        """Return the last interval alone; none if there is none."""
        return self._part(max(0, len(self.end_s) - 1), len(self.end_s))

    def _part(self, low: int, high: int) -> Track:
        return Track(self.begin_s[low:high], self.end_s[low:high], self.source, self.first + low)


@dataclass(frozen=True)
class Drawable:
    """A figure that can be drawn over time: its source there, the amounts that it needs, and its arithmetic."""

    unit: str
    source: str
    fields: tuple[str, ...]
    value_of: Callable[[Mapping[str, Array], Array], Array]


def tracks(tables: RunTables, at_s: float, complete_s: float) -> dict[str, Track]:
    """Return what engine, host and sessions did until ``at_s``; sessions are known until ``complete_s`` alone."""
    host = tables.host.end_s
    seconds = tables.work.begin_s
    seconds = seconds[: int(np.searchsorted(seconds, complete_s))]
    return {
        ENGINE: Track(tables.engine.begin_s, tables.engine.end_s, partial(_count, tables.engine)).until(at_s),
        HOST: Track(host[:-1], host[1:], partial(_grown, tables.host)).until(at_s),
        WORK: Track(seconds, np.minimum(seconds + tables.unit_s, complete_s), partial(_count, tables.work)).until(
            min(at_s, complete_s)
        ),
    }


def _count(table: Intervals | Seconds, name: str, part: slice) -> Array | None:
    if name in _SUMS:
        return _sum([_count(table, each, part) for each in _SUMS[name]])
    values = table.value(name)
    return None if values is None else values[part]


def _grown(host: Intervals, name: str, part: slice) -> Array | None:
    """Return by how much a counter of the host grew between its readings; NaN where it fell, which is a reset."""
    if name in _SUMS:
        return _sum([_grown(host, each, part) for each in _SUMS[name]])
    values = host.value(name)
    if values is None:
        return None
    grown = np.diff(values[part.start : part.stop + 1])
    return np.where(grown < 0, np.nan, grown)


def _sum(parts: list[Array | None]) -> Array | None:
    known = [part for part in parts if part is not None]
    return np.sum(known, axis=0) if known else None


def values_of(computation: Computation, amounts: Mapping[str, Array], seconds: Array) -> Array:
    """Return a figure of many parts of a run at once, as `Computation.of_amounts` does of one; NaN where unknown."""
    if isinstance(computation, FirstKnown):
        preferred = values_of(computation.preferred, amounts, seconds)
        return np.where(np.isnan(preferred), values_of(computation.usual, amounts, seconds), preferred)
    if isinstance(computation, Ratio):
        dividend = values_of(computation.dividend, amounts, seconds)
        divisor = values_of(computation.divisor, amounts, seconds)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(divisor == 0, np.nan, dividend / divisor)
    # Sums and rates are the same arithmetic for one number as for many.
    known: Mapping[str, float] = amounts  # type: ignore[assignment]
    value: object = computation.of_amounts(known, seconds)  # type: ignore[arg-type]
    return np.full(len(seconds), np.nan) if value is None else np.asarray(value, dtype=np.float64)


def inputs_of(computation: Computation) -> tuple[Input, ...]:
    """Return every raw number that a figure may be computed from, those that only some engines have as well."""
    if isinstance(computation, FirstKnown):
        return (*inputs_of(computation.preferred), *inputs_of(computation.usual))
    return computation.inputs


def _fields(computation: Computation) -> tuple[str, ...]:
    return tuple(each.field for each in inputs_of(computation))


def _of_share(amounts: Mapping[str, Array], seconds: Array) -> Array:
    if BUSY not in amounts or ALL not in amounts:
        return np.full(len(seconds), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(amounts[ALL] > 0, 100 * amounts[BUSY] / amounts[ALL], np.nan)


def _compute_renamed(computation: Computation, prefix: str, amounts: Mapping[str, Array], seconds: Array) -> Array:
    return values_of(computation, {name.removeprefix(prefix): each for name, each in amounts.items()}, seconds)


def _of_host(unit: str, computation: Computation, prefix: str) -> Drawable:
    fields = tuple(prefix + field for field in _fields(computation))
    return Drawable(unit, HOST, fields, partial(_compute_renamed, computation, prefix))


def _catalogue() -> dict[str, Drawable]:
    found: dict[str, Drawable] = {}
    for name, metric in METRICS.items():
        rule = metric.computation
        if isinstance(rule, Amount) and not isinstance(rule, PerSecond):
            continue
        drawn = partial(Drawable, metric.unit, fields=_fields(rule), value_of=partial(values_of, rule))
        if rule.only_from(EngineCounter):
            found[name] = drawn(source=ENGINE)
        elif rule.only_from(SessionSum) or rule.only_from(DbTime):
            found[name] = drawn(source=WORK)
        elif rule.only_from(DeviceCounter):
            found[_OF_DEVICE[name]] = _of_host(metric.unit, rule, DEVICE)
        elif rule.only_from(ServerCpu):
            found[name] = _of_host(metric.unit, rule, "server.")
    visits = METRICS["block_visits_per_s"].unit
    found["block_visits_per_s"] = Drawable(visits, WORK, (VISITS,), lambda amounts, seconds: amounts[VISITS] / seconds)
    found["host.busy_pct"] = Drawable("%", HOST, (BUSY, ALL), _of_share)
    for kind, noun in (("read", "reads"), ("write", "writes")):
        mean = Ratio(
            Amount(DeviceCounter(f"{kind}_ms"), 1000), Amount(DeviceCounter(noun)), f"the device had no {noun}"
        )
        found[f"device.{kind}_latency_us"] = _of_host("µs", mean, DEVICE)
    found["device.busy_pct"] = _of_host("%", PerSecond(DeviceCounter("busy_ms"), 0.1), DEVICE)
    return found


DRAWN = _catalogue()
# What a server's own count gives where its processes can't be seen.
OWN_CPU = Drawable("s/s", ENGINE, ("db_cpu_us",), lambda amounts, seconds: amounts["db_cpu_us"] * 1e-6 / seconds)
