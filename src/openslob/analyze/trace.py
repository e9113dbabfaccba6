"""The course of a load in equal steps, as arrays: what the search for levels and for causes reads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from openslob.analyze.latencies import MAX, percentiles_of
from openslob.analyze.run_tables import SAMPLES, RunTables, steps_of
from openslob.analyze.session_sums import BUSY_US
from openslob.analyze.steps import STEPS_S
from openslob.analyze.tables import Array, Intervals, Seconds
from openslob.analyze.timeline import OBSERVED_STEP_S
from openslob.core.units import NANOS
from openslob.core.wait_classes import classify_wait
from openslob.metrics.cpu import is_busy
from openslob.record.raw_csv import Event, Happening, ProbePart, parse_probe

# A step is known when so much of it was recorded: readings do not come at the edges of steps.
_WHOLE = 0.95
# Parts of a probe that differ by more say nothing: the load was not the same.
MOST_VARIED = 1.2
# Operations of all sessions that take less than so many times as long as usual hardly take longer.
LEAST_LONGER = 2.0
_CPU = "host.cpu_"
# The counters of the operating system by series; those of other sources have the names that they were recorded by.
_OF_HOST = {
    "host.nice": "host.cpu_nice_s",
    "host.steal": "host.cpu_steal_s",
    "host.iowait": "host.cpu_iowait_s",
    "server.cpu": "server.server_cpu_s",
    "server.runqueue": "server.server_runqueue_s",
    "server.cpus_busy": "cpus.server_cpus_busy_s",
    "server.read_bytes": "server.server_read_bytes",
    "server.write_bytes": "server.server_write_bytes",
    "driver.cpu": "driver.driver_cpu_s",
}
_LEVELS = {"host.cores": "host.cores", "server.cores": "server.server_cores"}
_OTHER_SOURCES = ("cgroup.", "pressure.", "volume.", "instance.")
# What is a level, and no counter, by the end of its name.
_LEVEL_ENDS = ("_limit", "_quota", "_bytes")
_MARKED = {"checkpoints": "checkpoint", "log_switches": "log switch", "maintenance": "maintenance"}
# What a server counts: a mark lasts from one reading of the counter to the next, and not as long as the thing itself.
COUNTED = frozenset(_MARKED.values())
_HAPPENED = {Event.NOTE: "note", Event.ERROR: "error"}


@dataclass(frozen=True)
class Mark:
    """Something that happened, from ``at_s`` to ``until_s`` after the load began.

    ``kind`` is ``checkpoint``, ``log switch``, ``maintenance`` (autovacuum, purge), ``gap`` (nothing was recorded),
    ``note`` or ``error``. What a server counts happened ``count`` times between two readings of the counter; how long
    each took is not known.
    """

    at_s: float
    until_s: float
    kind: str
    text: str = ""
    count: int = 1


@dataclass(frozen=True)
class ProbeOutcome:
    """The throughput right after a load that ended at ``at_s``, with all sessions and while only a share worked.

    ``active`` is that share. No figure includes these seconds. ``varied`` is how many times as much as in the slowest
    of its parts was done in the quickest one with as many sessions: something changed meanwhile if that is much.
    ``alone_s`` is what a single operation of one of the ``sessions`` took after a pause.
    """

    at_s: float
    active: float
    with_all: float
    with_some: float
    varied: float = 1.0
    alone_s: float = math.nan
    sessions: int = 0

    @property
    def all_s(self) -> float:
        """What an operation of each session took while all worked."""
        return self.sessions / self.with_all if self.with_all else math.nan

    def longer_alone(self, usual_s: float) -> float | None:
        """Return how much of what operations take longer is left of a single one, for one that usually takes so long.

        That is 0 where a single one takes no longer, as under a cap, and 1 where it takes as much longer as all; None
        where that is not known, or all hardly take longer. Lengths are compared by their logarithms.
        """
        if not (self.alone_s > 0 and usual_s > 0 and self.all_s > LEAST_LONGER * usual_s):
            return None
        return math.log(self.alone_s / usual_s) / math.log(self.all_s / usual_s)

    @property
    def elasticity(self) -> float | None:
        """How the throughput follows the sessions: 0 if it does not, 1 if it is in proportion; None if not known."""
        if self.varied > MOST_VARIED or not (self.with_all > 0 and self.with_some > 0 and 0 < self.active < 1):
            return None
        return math.log(self.with_some / self.with_all) / math.log(self.active)

    @property
    def in_words(self) -> str:
        """What it showed."""
        said = (
            f"after the load, {self.active:.0%} of the sessions did {self.with_some:,.0f} operations/s and all "
            f"{self.with_all:,.0f}"
        ).replace("%", " %")
        if math.isfinite(self.alone_s):
            alone, of_all = (f"{1e3 * seconds:.3g} ms" for seconds in (self.alone_s, self.all_s))
            said += f"; a single one took {alone}, and one while all worked {of_all}"
        return said


@dataclass(frozen=True)
class Trace:
    """What was measured in each step of ``step_s`` since ``begin_ns`` of the server's clock, when the load began.

    ``series`` has arrays of one value a step, all of one length; NaN where the value is unknown. A series that was not
    recorded at all is absent. Amounts are rates: per second of the step. The names are:

    ========================  ==========================================================================================
    ``ops``                   operations; of a load that is not ours, transactions
    ``commits``               what the work loop committed: one per update operation; ``engine.commits`` are all of
                              the server, with the transactions that only read
    ``sessions.busy``         sessions that were inside operations
    ``latency.p50_us``        service time of the operations of the step, all kinds; also ``p99_us``, ``max_us``
    ``engine.FIELD``          the fields of `EngineDelta.amounts`, per second
    ``host.busy``             CPUs that were busy with anything; also ``host.nice`` (by programs that give way to
                              others), ``host.steal``, ``host.iowait``; of ``host.cores``
    ``server.cpu``            CPUs that the server used; of ``server.cores``, which it may run on
    ``server.runqueue``       threads of the server that were ready to run and waited for a CPU
    ``server.cpus_busy``      of the CPUs that the server may run on, those that were busy with anything
    ``server.read_bytes``     what the server's processes read from storage, and ``server.write_bytes`` what they wrote:
                              exact by the second, and of nobody else, unlike the engine's and the device's counters
    ``driver.cpu``            CPUs that this program used
    ``device.FIELD``          the counters of `DeviceIo` per second: ``reads``, ``read_bytes``, ``busy_ms`` …
    ``waits.CLASS``           sessions that waited, by the name of the `WaitClass` in lower case: ``waits.data_io``,
                              ``waits.log``, ``waits.lock``; ``waits.cpu`` are those that did not wait
    ``samples``               samples of what sessions wait for: fewer where the server, or this program, hung; unknown
                              in the thinned part of a long run
    ``cgroup.cpu_throttled``  tasks' time, in s per s, for which the server's group was held back by its CPU quota
    ``cgroup.cpu_quota``      the CPUs that the quota allows; absent without a quota
    ``cgroup.read_limit``     the limits on I/O of the server's group for its device, requests per second; also
                              ``write_limit``, ``read_bytes_limit``, ``write_bytes_limit``; absent without a limit
    ``pressure.io``           the share of time (0 to 1) in which a task waited for I/O (PSI, ``some``), of the
                              server's group or of the host; also ``pressure.cpu``, ``pressure.memory``
    ``volume.FIELD``          what a cloud's volume tells of the time for which it held requests back: s per s in
                              ``volume.iops_exceeded``, ``volume.bytes_exceeded``, ``instance.iops_exceeded`` …
    ========================  ==========================================================================================
    """

    begin_ns: int
    step_s: float
    series: Mapping[str, Array]
    marks: Sequence[Mark] = ()
    probes: Sequence[ProbeOutcome] = ()

    def __post_init__(self) -> None:
        if len({len(values) for values in self.series.values()}) > 1:
            raise ValueError("the series of a trace have different lengths")

    @property
    def steps(self) -> int:
        """The number of steps."""
        return max((len(values) for values in self.series.values()), default=0)

    @property
    def seconds(self) -> float:
        """The time that the trace spans."""
        return self.steps * self.step_s

    def get(self, name: str) -> Array:
        """Return a series; all of it unknown if it was not recorded."""
        found = self.series.get(name)
        return np.full(self.steps, np.nan) if found is None else found


def trace_of(
    tables: RunTables, seconds: float, events: Sequence[Happening] = (), publishes_late: bool = False
) -> Trace:
    """Return the course of the first ``seconds`` of a load; without a step if nothing of it was recorded.

    A step is as long as the readings are apart, and longer for long loads: see `unit_for`. ``events`` are the rows of
    `events.csv`. ``publishes_late``: see `LoadKind`.
    """
    step = _step_s(tables, events, OBSERVED_STEP_S if publishes_late else 1.0)
    edges = np.arange(int(seconds / step + 1 - _WHOLE) + 1, dtype=np.float64) * step
    if len(edges) < 2:
        return Trace(tables.zero_ns, step, {})
    engine = {f"engine.{name}": each for name, each in _count(tables, edges, publishes_late)}
    work = dict(_work(tables.work, edges))
    if "ops" not in work and "engine.transactions" in engine:
        work["ops"] = engine["engine.transactions"]
    series = {
        **work,
        **_latencies(tables, edges),
        **engine,
        **dict(_host(tables.host, edges)),
        **_waits(tables.waits, edges, tables.thinned_from_s),
    }
    return Trace(tables.zero_ns, step, series, tuple(_marks(tables, seconds, events)), tuple(_probes(seconds, events)))


def _probes(seconds: float, events: Sequence[Happening]) -> Iterator[ProbeOutcome]:
    """Yield the probe of a load, if one was made. ValueError if an event of it can't be read."""
    parts = [parse_probe(each.text) for each in events if each.kind == Event.PROBE]
    alone = [part for part in parts if part.alone]
    everybody = [part for part in parts if part.active == part.sessions]
    some = [part for part in parts if part.active < part.sessions and not part.alone]
    if everybody and some:
        rates = [[part.ops / part.seconds for part in of] for of in (everybody, some)]
        varied = max(max(of) / min(of) if min(of) else math.inf for of in rates)
        with_all, with_some = _throughput(everybody), _throughput(some)
        alone_s = 1 / _throughput(alone) if alone else math.nan
        yield ProbeOutcome(
            seconds, some[0].active / some[0].sessions, with_all, with_some, varied, alone_s, everybody[0].sessions
        )


def _throughput(parts: Sequence[ProbePart]) -> float:
    """Return the throughput of parts of a probe together."""
    return sum(part.ops for part in parts) / sum(part.seconds for part in parts)


def _step_s(tables: RunTables, events: Sequence[Happening], least_s: float) -> float:
    """Return the shortest of the usual lengths in which all of the load was recorded."""
    # A server that hangs keeps some readings waiting: these say nothing about the distance of the others.
    usual_s = [float(np.median(table)) for table in _distances(tables) if len(table)]
    least_s = max([least_s, *(each - 0.5 for each in usual_s), *steps_of(events)])
    steps = (step for step in STEPS_S if step >= least_s and step % tables.unit_s == 0)
    return float(next(steps, STEPS_S[-1]))


def _distances(tables: RunTables) -> tuple[Array, Array]:
    return tables.engine.end_s - tables.engine.begin_s, np.diff(tables.host.end_s)


def _rate(begins: Array, ends: Array, amounts: Array, edges: Array) -> Array:
    """Return amounts of intervals in the order of time as rates in the steps between edges; NaN in unknown steps."""
    if not len(begins):
        return np.full(len(edges) - 1, np.nan)
    knots = np.maximum.accumulate(np.stack([begins, ends], axis=1).ravel())
    known = ~np.isnan(amounts)

    def between(of_interval: Array) -> Array:
        done = np.cumsum(np.stack([np.zeros(len(of_interval)), of_interval], axis=1).ravel())
        return np.diff(np.interp(edges, knots, done))

    lengths = (knots[1::2] - knots[::2]) * known
    covered = between(lengths)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate: Array = between(np.where(known, amounts, 0.0)) / covered
    rate[covered < _WHOLE * np.diff(edges)] = np.nan
    # Differences of sums may be a little below zero where nothing was counted.
    return rate if np.any(amounts < 0) else np.maximum(rate, 0.0)


def _count(tables: RunTables, edges: Array, publishes_late: bool) -> Iterator[tuple[str, Array]]:
    """Yield the engine's counters, known where they keep pace with the work."""
    table = tables.engine
    begins, ends = table.begin_s, table.end_s
    if publishes_late:
        within = np.ones(len(begins), bool)
    elif tables.even_s is not None:
        within = (begins >= tables.even_s[0]) & (ends <= tables.even_s[1])
    else:
        within = np.arange(len(begins)) % max(len(begins) - 1, 1) != 0
    for name in table.names:
        values = table.value(name)
        if values is not None:
            yield name, _rate(begins, ends, np.where(within, values, np.nan), edges)


def _work(work: Seconds, edges: Array) -> Iterator[tuple[str, Array]]:
    begins, ends = work.begin_s, work.begin_s + work.unit_s
    counters = {"ops": ("ops", 1.0), "commits": ("updates", 1.0), "sessions.busy": (BUSY_US, 1e-6)}
    for series, (name, factor) in counters.items():
        if (done := work.value(name)) is not None:
            yield series, _rate(begins, ends, done * factor, edges)


def _latencies(tables: RunTables, edges: Array) -> dict[str, Array]:
    kinds = list(tables.latency.values())
    if not kinds:
        return {}
    step_s, count = round(edges[1]), len(edges) - 1
    names = ("p50_us", "p99_us", MAX)
    found = percentiles_of(kinds, names, step_s, tables.unit_s, count)
    return {f"latency.{name}": values for name, values in zip(names, found, strict=True)}


def _host(host: Intervals, edges: Array) -> Iterator[tuple[str, Array]]:
    grown = {name: each for name in host.names if (each := _grown(host, name)) is not None}
    begins, ends = host.end_s[:-1], host.end_s[1:]
    busy = [grown[name] for name in grown if name.startswith(_CPU) and is_busy(name[len(_CPU) : -len("_s")])]
    if busy:
        yield "host.busy", _rate(begins, ends, np.sum(busy, axis=0), edges)
    for series, counter in _OF_HOST.items():
        if counter in grown:
            yield series, _rate(begins, ends, grown[counter], edges)
    for name, amounts in grown.items():
        if name.startswith("device.dev_"):
            yield f"device.{name.removeprefix('device.dev_')}", _rate(begins, ends, amounts, edges)
        elif name.startswith(_OTHER_SOURCES) and not name.endswith(_LEVEL_ENDS):
            yield name.removesuffix("_s"), _rate(begins, ends, amounts, edges)
    levels = {name: name for name in host.names if name.startswith(_OTHER_SOURCES) and name.endswith(_LEVEL_ENDS)}
    for series, name in (_LEVELS | levels).items():
        values = host.value(name)
        if values is not None:
            yield series, _level(host.end_s, values, edges)


def _grown(host: Intervals, name: str) -> Array | None:
    """Return by how much a counter grew between readings; NaN where it fell, which is a reset."""
    values = host.value(name)
    if values is None:
        return None
    grown: Array = np.diff(values)
    return np.where(grown < 0, np.nan, grown)


def _level(at_s: Array, values: Array, edges: Array) -> Array:
    """Return what was last read before the end of each step; NaN before the first reading."""
    last = np.searchsorted(at_s, edges[1:], side="right") - 1
    return np.where(last >= 0, values[np.maximum(last, 0)], np.nan)


def _waits(waits: Seconds, edges: Array, thinned_from_s: float) -> dict[str, Array]:
    samples = waits.value(SAMPLES)
    if samples is None:
        return {}
    count, step = len(edges) - 1, (waits.begin_s // edges[1]).astype(np.int64)
    inside = (step >= 0) & (step < count)

    def by_step(values: Array) -> Array:
        return np.bincount(step[inside], weights=values[inside], minlength=count).astype(np.float64)

    taken, found = by_step(samples), dict[str, Array]()
    for event in waits.names:
        seen = waits.value(event)
        if event != SAMPLES and seen is not None:
            name = f"waits.{classify_wait(event).name.lower()}"
            found[name] = found.get(name, np.zeros(count)) + by_step(seen)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = {name: np.where(taken > 0, seen / taken, np.nan) for name, seen in found.items()}
    # From there on a row is the mean of all samples of a step: how many they were is not known.
    return {**means, "samples": np.where(edges[1:] <= thinned_from_s, taken / edges[1], np.nan)}


def _marks(tables: RunTables, seconds: float, events: Sequence[Happening]) -> Iterator[Mark]:
    begins, ends = tables.engine.begin_s, tables.engine.end_s
    for name, kind in _MARKED.items():
        values = tables.engine.value(name)
        if values is None:
            continue
        for at in np.flatnonzero((values > 0) & np.isfinite(values) & (ends > 0) & (begins < seconds)).tolist():
            count = max(round(float(values[at])), 1)
            yield Mark(max(float(begins[at]), 0.0), float(ends[at]), kind, f"{count}" if count > 1 else "", count)
    for each in events:
        at_s = (each.wall_ns + tables.offset_ns - tables.zero_ns) / NANOS
        if each.kind in _HAPPENED and 0 <= at_s <= seconds:
            yield Mark(at_s, at_s, _HAPPENED[Event(each.kind)], each.text)
