"""A stretch of a load's course beside what is usual around it, and what the time was spent on that it lost.

The time of sessions is what all causes have in common: an operation that takes longer waits longer for something. What
a stretch lost is the time that its operations took beyond the usual, and the time in which sessions were outside of
operations. A wait explains as much of it as sessions waited more for each operation than they usually do.

Counters are read once a second, so that a stretch shares its first and last step with its neighbours: the third of its
steps where a series is highest, or lowest, stands for it. Sums over a stretch need no such care.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from openslob.analyze.level import ProbeAnswer
from openslob.analyze.plateaus import unevenness
from openslob.analyze.slow_steps import Steps
from openslob.analyze.tables import Array
from openslob.analyze.trace import Mark, Trace
from openslob.core.measurement import Cap

_WAITS = "waits."
# Host and server are read at moments of their own: a mark may be so many steps off.
_MARK_STEPS = 1.5
# A stretch that lost less than this part of its sessions' time has higher latency alone: no time tells what it lost.
_LEAST_LOST = 0.05
# Steps between the first and the last one, which are shared with neighbours, from which a rate has a spread.
_LEAST_INNER = 4
# Requests a second of which chance alone varies the rate by less than a cap does.
_LEAST_RATE = 50.0


@dataclass(frozen=True)
class TraceStretch:
    """A stretch of a trace beside what is usual around it; the trace has the series of `with_means`.

    ``lost`` is the share of the throughput that it lacks; ``begin_s`` is when the trace begins, for its marks.
    ``cap`` was in force in the stretch, as the course of the whole load shows. ``answer`` is what a probe right after
    it showed, and ``probe`` its figures in words.
    """

    trace: Trace
    part: Steps
    rest: Steps
    lost: float
    begin_s: float
    cap: Cap | None = None
    answer: ProbeAnswer | None = None
    probe: str = ""

    def usual(self, name: str) -> float:
        """Return what is usual; NaN if it is not known."""
        known = self._known(name, self.rest)
        return float(np.median(known)) if len(known) else float("nan")

    def typical(self, name: str) -> float:
        """Return the mean of the shortest half of the stretch's values, the level that most are at; NaN if unknown.

        Neither its ends nor what a bucket of tokens lets through now and then is in there (the shorth of Andrews et
        al., Robust Estimates of Location, 1972).
        """
        known = np.sort(self._known(name, self.part))
        if not len(known):
            return float("nan")
        half = len(known) // 2 + 1
        at = int(np.argmin(known[half - 1 :] - known[: len(known) - half + 1]))
        return float(np.mean(known[at : at + half]))

    def high(self, name: str) -> float:
        """Return the mean of the highest third of the stretch; NaN if it is not known."""
        known = np.sort(self._known(name, self.part))
        return float(np.mean(known[-self._third(len(known)) :])) if len(known) else float("nan")

    def low(self, name: str) -> float:
        """Return the mean of the lowest third of the stretch; NaN if it is not known."""
        known = np.sort(self._known(name, self.part))
        return float(np.mean(known[: self._third(len(known))])) if len(known) else float("nan")

    def at_lowest(self, name: str, other: str) -> float:
        """Return the mean of a series in the third of the stretch in which another is lowest; NaN if not known."""
        values, of_other = (self.trace.get(each)[self.part] for each in (name, other))
        known = np.isfinite(values) & np.isfinite(of_other)
        if not known.any():
            return float("nan")
        lowest = np.argsort(of_other[known], kind="stable")[: self._third(int(known.sum()))]
        return float(np.mean(values[known][lowest]))

    def behind(self, name: str) -> float:
        """Return how far the sum of a series has fallen below its highest, just before the stretch."""
        before = np.nan_to_num(self.trace.get(name)[: int(np.argmax(self.part))])
        sums = np.concatenate([[0.0], np.cumsum(before)]) * self.trace.step_s
        return float(np.max(sums) - sums[-1])

    def rises(self, name: str, least: float, times: float = 1.0) -> bool:
        """Return whether a series is above what is usual by ``least``, by so many times, and by more than its noise."""
        usual, high = self.usual(name), self.high(name)
        others = self._known(name, self.rest)
        spread = float(np.median(np.abs(others - usual))) if len(others) else 0.0
        return bool(high - usual >= max(least, 4 * spread) and high >= times * usual)

    def falls(self, name: str, times: float) -> bool:
        """Return whether a series is below a part of what is usual."""
        return bool(self.low(name) < times * self.usual(name))

    def is_known(self, name: str) -> bool:
        """Return whether a series is known in the stretch and beside it."""
        return bool(len(self._known(name, self.part)) and len(self._known(name, self.rest)))

    def first_known(self, *names: str) -> str:
        """Return the first of these series that is known; the last if none is."""
        return next((name for name in names if self.is_known(name)), names[-1])

    def together(self, name: str, other: str) -> float:
        """Return the correlation of two series in and beside the stretch; NaN where they are not known, or constant."""
        both = [self.trace.get(each)[self.part | self.rest] for each in (name, other)]
        known = np.isfinite(both[0]) & np.isfinite(both[1])
        first, second = (values[known] for values in both)
        if len(first) < _LEAST_INNER or not np.ptp(first) or not np.ptp(second):
            return float("nan")
        return float(np.corrcoef(first, second)[0, 1])

    def unevenness(self, name: str) -> float | None:
        """Return by how much a rate varies within the stretch, relative to its mean; None in too few steps."""
        inner = self.trace.get(name)[np.flatnonzero(self.part)[1:-1]]
        inner = inner[np.isfinite(inner)]
        mean = float(np.mean(inner)) if len(inner) >= _LEAST_INNER else 0.0
        return float(np.std(inner)) / mean if mean > 0 else None

    @property
    def seconds(self) -> float:
        """How long the stretch is."""
        return float(self.part.sum()) * self.trace.step_s

    @property
    def cores(self) -> float:
        """The CPUs that the server may run on, or those of its host; 1 if neither is known."""
        known = [cores for name in ("server.cores", "host.cores") if np.isfinite(cores := self.usual(name))]
        return known[0] if known else 1.0

    @property
    def lost_s(self) -> float:
        """The time of sessions that the stretch lost: longer operations, and none at all; NaN if it is not known."""
        active = self.trace.get("sessions.active")[self.part]
        idle = float(np.nansum(self.usual("sessions.active") - active)) * self.trace.step_s
        return self.extra_s("active") + max(0.0, idle)

    def extra_s(self, kind: str) -> float:
        """Return for how long sessions were in a kind of time beyond what its operations usually take, in s.

        NaN if it is not known. Kinds are those of `with_means`: ``active`` (all), ``data_io``, ``log`` ….
        """
        ops, spent = self.trace.get("ops"), self.trace.get(f"sessions.{kind}")
        known = np.isfinite(ops) & np.isfinite(spent)
        here, beside = known & self.part, known & self.rest
        if not here.any() or not beside.any():
            return float("nan")
        done = float(np.sum(ops[beside]))
        each = float(np.sum(spent[beside])) / done if done > 0 else 0.0
        return float(np.sum(spent[here] - each * ops[here])) * self.trace.step_s

    def explains(self, lost_s: float) -> float:
        """Return the share of the lost time that ``lost_s`` is, from 0 to 1; NaN if it is not known."""
        return float(np.clip(lost_s / self.lost_s, 0.0, 1.0)) if self.lost_s > 0 else float("nan")

    def share_of(self, *kinds: str) -> float:
        """Return the share of the lost time that these kinds explain; of a stretch that lost none, of all its time."""
        spent_s = float(np.nansum(self.trace.get("sessions.active")[self.part])) * self.trace.step_s
        if self.lost_s > _LEAST_LOST * spent_s:
            return self.explains(sum(self._own_extra_s(kind) for kind in kinds))
        series = [self.trace.get(f"sessions.{kind}")[self.part] for kind in kinds]
        whole = float(np.sum([np.nansum(each) for each in series])) * self.trace.step_s
        known = all(np.isfinite(each).any() for each in series) and spent_s > 0
        return float(np.clip(whole / spent_s, 0.0, 1.0)) if known else float("nan")

    def _own_extra_s(self, kind: str) -> float:
        """Return the time beyond the usual, of a wait for data without what is a wait for a CPU after it."""
        extra_s, queued_s = self.extra_s(kind), self.extra_s("queue")
        if kind != "data_io" or not np.isfinite(queued_s):
            return extra_s
        # A session that waits for a CPU after its read is seen in the read still: what is queued and not seen running
        # is in there. Where nobody saw who ran, it is at least what would be more than the whole.
        running_s, whole_s = self.extra_s("cpu"), self.extra_s("active")
        if np.isfinite(running_s):
            return extra_s - max(0.0, queued_s - max(0.0, running_s))
        return min(extra_s, max(0.0, whole_s - queued_s))

    def marks(self, kind: str, before_s: float = 0.0) -> list[Mark]:
        """Return the marks of a kind at or beside the stretch, or so long before it."""
        at = np.flatnonzero(self.part)
        margin = _MARK_STEPS * self.trace.step_s
        begin_s = self.begin_s + at[0] * self.trace.step_s - margin - before_s
        end_s = self.begin_s + (at[-1] + 1) * self.trace.step_s + margin
        return [mark for mark in self.trace.marks if mark.kind == kind and mark.at_s < end_s and mark.until_s > begin_s]

    def _known(self, name: str, steps: Steps) -> Array:
        values = self.trace.get(name)[steps]
        return values[np.isfinite(values)]

    @staticmethod
    def _third(count: int) -> int:
        return max(1, (count + 2) // 3)


def with_means(trace: Trace) -> dict[str, Array]:
    """Return the series, and what follows from several of them.

    ``sessions.KIND`` are sessions in a kind of time: ``data_io``, ``log``, ``lock``, ``cpu`` (running, or waiting for a
    CPU), ``queue`` (threads that wait for one), and ``active``, all of them. ``server.reads`` are the server's own.
    ``unnamed``: what samples show as running is more than the server's threads ran and waited for a CPU. In the time in
    which somebody waited for the log, syncs of it began ``log.between_ms`` apart: none took longer, in the mean.
    ``cpus.busy`` of ``cpus.all`` are the CPUs that the server may run on: those of the host unless it is restricted.
    """
    get = trace.get
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            **trace.series,
            **_sessions(trace),
            **_cpus(trace),
            "server.reads": _own_reads(trace),
            "others.reads": get("device.reads") - _own_reads(trace),
            "others.read_bytes": get("device.read_bytes") - get("server.read_bytes"),
            "others.write_bytes": get("device.write_bytes") - get("server.write_bytes"),
            "device.requests": get("device.reads") + get("device.writes"),
            "device.bytes": get("device.read_bytes") + get("device.write_bytes"),
            "device.read_each_ms": get("device.read_ms") / get("device.reads"),
            "device.write_each_ms": get("device.write_ms") / get("device.writes"),
            "log.sync_each_ms": get("engine.log_sync_time_us") / get("engine.log_syncs") / 1e3,
            "log.between_ms": np.minimum(get("waits.log"), 1.0) / get("engine.log_syncs") * 1e3,
            "engine.read_each_ms": get("engine.read_time_us") / get("engine.read_requests") / 1e3,
        }


def unevenness_of(trace: Trace) -> float | None:
    """Return by how much the rate of requests varied from second to second: the server's reads, or syncs of its log.

    Of the two that of the more even one, since either may be at a limit; None if neither is known for long enough.
    """
    reads = _first([_own_reads(trace), trace.get("device.reads"), trace.get("engine.read_requests")])
    rates = [rate[np.isfinite(rate)][1:-1] for rate in (reads, trace.get("engine.log_syncs"))]
    found = [unevenness(rate) for rate in rates if len(rate) and np.mean(rate) >= _LEAST_RATE]
    return min((each for each in found if np.isfinite(each)), default=None)


def _cpus(trace: Trace) -> dict[str, Array]:
    get = trace.get
    busy, every, driver = get("host.busy"), get("host.cores"), np.nan_to_num(get("driver.cpu"))
    if np.nanmax(every - get("server.cores"), initial=-np.inf) > 0:
        # Where this program runs is not known then.
        busy, every, driver = get("server.cpus_busy"), get("server.cores"), np.zeros(trace.steps)
    return {"cpus.busy": busy, "cpus.all": every, "others.cpu": busy - get("server.cpu") - driver}


def _own_reads(trace: Trace) -> Array:
    """Return the server's own requests to storage: its processes' bytes in requests of the engine's mean size.

    The engine's own count comes when a slice ends, and has what the page cache served.
    """
    amount, count = trace.get("engine.read_bytes"), trace.get("engine.read_requests")
    known = np.isfinite(amount) & np.isfinite(count)
    size = float(amount[known].sum()) / float(count[known].sum()) if count[known].sum() > 0 else float("nan")
    return trace.get("server.read_bytes") / size


def _sessions(trace: Trace) -> dict[str, Array]:
    """Return the sessions in each kind of time: by samples, else by the engine's clock, else by the device's."""
    get = trace.get
    waits = {name.removeprefix(_WAITS): each for name, each in trace.series.items() if name.startswith(_WAITS)}
    sampled = np.sum(list(waits.values()), axis=0) if waits else np.full(trace.steps, np.nan)
    # A kind that was never seen is none of what was. Stages of statements show commits, and no other waits.
    unseen = np.where(np.isfinite(sampled), 0.0, np.nan)
    shown = () if "stage" in waits else ("data_io", "lock", "cpu")
    events = {kind: waits.get(kind, unseen) for kind in shown}
    unknown = np.full(trace.steps, np.nan)
    return {
        "sessions.active": _first([get("sessions.busy"), sampled]),
        "sessions.queue": get("server.runqueue"),
        "sessions.cpu": events.get("cpu", unknown),
        "sessions.unnamed": np.maximum(events.get("cpu", unknown) - get("server.cpu") - get("server.runqueue"), 0.0),
        "sessions.lock": events.get("lock", unknown),
        "sessions.data_io": _first(
            [events.get("data_io", unknown), get("engine.read_time_us") * 1e-6, get("device.read_ms") * 1e-3]
        ),
        "sessions.log": _first(
            [waits.get("log", unseen), get("engine.log_sync_time_us") * 1e-6, get("device.write_ms") * 1e-3]
        ),
    }


def _first(choices: list[Array]) -> Array:
    """Return the first series of which anything is known; the last if there is none."""
    return next((each for each in choices if np.isfinite(each).any()), choices[-1])
