"""Why a load was slow for a while: stretches that fall out of the rest, each with its cause and the evidence.

A cause is named only if the data show it; the order of `CAUSES` says which comes first where several do. What a cause
looks like is compared with what is usual in the steps around it that are not slow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

import numpy as np

from openslob.analyze import evidence
from openslob.analyze.evidence import TraceStretch
from openslob.analyze.slow_steps import BRIDGED, LEAST_STEPS, Steps, parts_of, slow_steps
from openslob.analyze.steps import stretches
from openslob.analyze.tables import Array
from openslob.analyze.trace import Trace
from openslob.metrics.measurement import Cap

# Steps before and after a stretch that show what is usual.
_BESIDE = 60
_WAITS = "waits."
# The kind of the marks of slow stretches.
SLOW = "slow stretch"


class Cause(StrEnum):
    """What made a load slow for a while."""

    STOPPED = "server stopped"
    DRIVER = "driver"
    QUOTA = "CPU quota"
    IO_CAP = "I/O cap"
    STALL = "device stall"
    LOCK = "lock"
    MEMORY = "memory"
    CHECKPOINT = "checkpoint"
    LOG_SYNC = "log sync"
    OTHERS_IO = "I/O of others"
    OTHERS_CPU = "CPU taken by others"
    MAINTENANCE = "maintenance"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Episode:
    """A stretch in which the load was slow, in seconds after it began, and why.

    ``lost_ops`` is how many operations less were done than usual. ``also`` are further causes that the data show.
    ``rate`` and ``usual_rate`` are operations per second in it, and usually.
    """

    begin_s: float
    end_s: float
    cause: Cause
    evidence: str
    lost_ops: float
    rate: float
    usual_rate: float
    also: tuple[Cause, ...] = ()

    @property
    def seconds(self) -> float:
        """How long it lasted."""
        return self.end_s - self.begin_s


CAUSES: tuple[tuple[Cause, Callable[[TraceStretch], str | None]], ...] = (
    (Cause.STOPPED, evidence.stopped),
    (Cause.DRIVER, evidence.driver_stopped),
    (Cause.QUOTA, evidence.quota),
    (Cause.IO_CAP, evidence.io_cap),
    (Cause.LOCK, evidence.lock),
    (Cause.STALL, evidence.stall),
    (Cause.CHECKPOINT, evidence.checkpoint),
    (Cause.MEMORY, evidence.memory),
    (Cause.OTHERS_IO, evidence.others_io),
    (Cause.LOG_SYNC, evidence.log_sync),
    (Cause.OTHERS_CPU, evidence.others),
    (Cause.DRIVER, evidence.driver),
    (Cause.MAINTENANCE, evidence.maintenance),
)


def episodes(trace: Trace, cap: Cap | None = None) -> list[Episode]:
    """Return the slow stretches of a load, in the order of time; ``cap`` is what held the load back for a while."""
    slow, usual = slow_steps(trace)
    if not slow.any():
        return []
    whole = Trace(trace.begin_ns, trace.step_s, _with_means(trace), trace.marks)

    def found(begin: int, end: int) -> Episode:
        return _episode(whole, slow, usual, begin, end, cap)

    return [each for begin, end in stretches(slow, BRIDGED) for each in _by_cause(parts_of(trace, begin, end), found)]


def _by_cause(parts: Sequence[tuple[int, int]], found: Callable[[int, int], Episode]) -> Iterator[Episode]:
    """Yield the episodes of the parts of a stretch: those with one cause one after the other are one."""
    for _, same in groupby(parts, lambda part: found(*part).cause):
        of_cause = list(same)
        yield found(of_cause[0][0], of_cause[-1][1])


def _episode(trace: Trace, slow: Steps, usual: Array, begin: int, end: int, cap: Cap | None) -> Episode:
    """Return the episode of the steps from ``begin`` to before ``end``, with its first cause that the data show."""
    ops, before = trace.get("ops")[begin:end], usual[begin:end]
    rate, usual_rate = float(np.nanmean(ops)), float(np.nanmean(before))
    first, last = max(0, begin - _BESIDE), end + _BESIDE
    if (~slow[first:last]).sum() < LEAST_STEPS:
        first, last = 0, len(slow)
    near = {name: values[first:last] for name, values in trace.series.items()}
    part = np.zeros(len(slow[first:last]), bool)
    part[begin - first : end - first] = True
    beside = Trace(trace.begin_ns, trace.step_s, near, trace.marks)
    missing = max(0.0, 1 - rate / usual_rate) if usual_rate > 0 else 0.0
    held = cap if cap and _is_under(cap, begin * trace.step_s, end * trace.step_s) else None
    look = TraceStretch(beside, part, ~slow[first:last], missing, first * trace.step_s, held)
    shown = [(cause, said) for cause, says in CAUSES if (said := says(look))]
    (cause, what), *others = shown or [(Cause.UNKNOWN, evidence.seen(look))]
    # What the server leaves of the CPU while it is held up, others take: that is no cause then.
    also = tuple(dict.fromkeys(other for other, _ in others if other not in (cause, Cause.OTHERS_CPU)))
    lost = max(0.0, float(np.nansum(before - ops)) * trace.step_s)
    return Episode(begin * trace.step_s, end * trace.step_s, cause, what, lost, rate, usual_rate, also)


def _is_under(cap: Cap, begin_s: float, end_s: float) -> bool:
    """Return whether a cap that was not always in force was so for most of a time."""
    under_s = sum(max(0.0, min(end_s, last) - max(begin_s, first)) for first, last in cap.held)
    return not cap.always and under_s > (end_s - begin_s) / 2


def _with_means(trace: Trace) -> dict[str, Array]:
    """Return the series, and what follows from several of them."""
    get = trace.get
    waits = {name.removeprefix(_WAITS): each for name, each in trace.series.items() if name.startswith(_WAITS)}
    kinds = {"data_io", "log", "lock", *waits}
    with np.errstate(divide="ignore", invalid="ignore"):
        every = np.sum(list(waits.values()), axis=0) if waits else get("waits.cpu")
        return {
            **trace.series,
            # A kind that was never seen is none of what was.
            **{f"share.{kind}": waits.get(kind, np.zeros(trace.steps)) / every for kind in kinds},
            "others.cpu": get("host.busy") - get("server.cpu") - np.nan_to_num(get("driver.cpu")),
            "others.read_bytes": get("device.read_bytes") - get("server.read_bytes"),
            "others.write_bytes": get("device.write_bytes") - get("server.write_bytes"),
            "device.requests": get("device.reads") + get("device.writes"),
            "device.bytes": get("device.read_bytes") + get("device.write_bytes"),
            "device.read_each_ms": get("device.read_ms") / get("device.reads"),
            "device.write_each_ms": get("device.write_ms") / get("device.writes"),
            "log.sync_each_ms": get("engine.log_sync_time_us") / get("engine.log_syncs") / 1e3,
            "engine.read_each_ms": get("engine.read_time_us") / get("engine.read_requests") / 1e3,
        }
