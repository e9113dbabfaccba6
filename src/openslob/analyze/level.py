"""Level or burst: a cap that came into force, or was lifted, within a load, found in its time line.

A cap shows as a plateau: while it holds, the rate that it limits hardly varies and never exceeds it, and requests wait
longer; without it the rate is higher, and varies as that of a machine does. Saturation, a checkpoint, other load or a
slow trend lower the rate as well, but none of them holds it constant.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from openslob.analyze.plateaus import (
    BAND,
    LEAST_SCORE,
    LEAST_STEPS,
    Plateau,
    find_plateaus,
    is_even,
    is_lower,
    plateau_of,
    runs,
    score_of,
)
from openslob.analyze.statistics import relative_half_width
from openslob.analyze.tables import Array
from openslob.analyze.trace import Trace
from openslob.core.measurement import Cap, CapSearch, MeanRate
from openslob.core.units import MIB

# From this share of the CPUs that were there, they are taken for saturated.
SATURATED = 0.95
# Below this share of all requests, a direction does not matter.
_MATTERS = 0.05
# A rate this close to a limit that was read is at this limit.
AT_LIMIT = 0.05
# The share of time for which a group or a volume was held back, from which this is evidence of a cap.
HELD_BACK = 0.02
# Requests wait at least this much longer under a cap.
LEAST_LONGER = 1.05
# The series of sessions that wait for storage; fewer than this do not show a queue, and of a queue this share stays.
WAITS = ("waits.data_io", "waits.log")
LEAST_WAITING = 0.3
QUEUE_KEPT = 0.85
# CPU taken away from the server, as a share of one CPU or of all; and what it takes from the score if others took it.
TAKEN = 0.1
BY_OTHERS = 1.0
# From there on, requests are taken to have been held back in the device.
SLOWED = 1.2
# And so are those in the other direction, if they take this share of as much longer.
ALSO = 0.6
# What it takes from the score if other requests took longer than those that are limited: these follow each other.
OTHERS_SLOWED = 2.0
# The steps nearest to a switch from which the level before it is taken.
NEAR = 10


@dataclass(frozen=True)
class _Flow:
    """A rate that may be limited; ``limits`` and ``held`` name series that say so, if they were read."""

    kind: str
    direction: str
    rate: Array
    limits: str = ""
    held: Sequence[str] = ()
    request_bytes: float | None = None

    @property
    def unit(self) -> str:
        return {"iops": "IOPS", "bytes": "MB/s", "cpu": "CPUs"}[self.kind]


@dataclass(frozen=True)
class _Found:
    """A flow with its plateau, the level of its cap, and what speaks for it."""

    flow: _Flow
    plateau: Plateau
    cap: float
    evidence: Sequence[str]
    score: float = math.inf


def find_cap(trace: Trace) -> Cap | None:
    """Return the cap that held a load back, for all of its time or for a part; None if there is none to be seen.

    That of a limit that was read comes first, by what is known of the server alone; of others, the one for
    which most speaks.
    """
    flows = list(_flows(trace))
    if limited := next((each for flow in flows if (each := _by_limit(flow, trace)) is not None), None):
        return _cap(limited, trace)
    found = [each for flow in flows if (each := _by_course(flow, trace)) is not None]
    return _cap(max(found, key=lambda each: _rank(each, trace)), trace) if found else None


def _rank(found: _Found, trace: Trace) -> float:
    """Return how much speaks for this flow among others: also, that those requests took longer which it has."""
    slowed = _find_slowed(found.plateau, trace)
    ways = {"read", "write"} if found.flow.direction == "both" else {found.flow.direction}
    return found.score - (OTHERS_SLOWED if slowed and slowed != ways else 0.0)


def _find_slowed(plateau: Plateau, trace: Trace) -> set[str]:
    """Return which of the device's requests took longer under the cap; none where its cap is before the device.

    A volume's limit is behind what its host sees. What it does not limit hardly takes longer then.
    """
    times = {}
    for way in ("read", "write"):
        ms, counts = (_both(plateau, trace.get(f"device.{way}{what}")) for what in ("_ms", "s"))
        under, free = (_mean(*each) if len(each[0]) == len(each[1]) else None for each in zip(ms, counts, strict=True))
        times[way] = under / free if under is not None and free else 0.0
    return {
        way for way, longer in times.items() if max(times.values()) > SLOWED and longer > max(times.values()) * ALSO
    }


def search(trace: Trace) -> CapSearch:
    """Return whether the level of a load lasted, as far as its course shows that."""
    least_s = 2 * LEAST_STEPS * trace.step_s
    if not trace.steps:
        return CapSearch(0.0, why_unknown=f"no whole step of {trace.step_s:g} s of the load was recorded")
    if trace.seconds < least_s:
        known = f"the course of the load is known for {trace.seconds:.0f} s, in whole steps of {trace.step_s:g} s"
        why = f"{known}, and a cap that comes into force shows from {least_s:.0f} s on"
        return CapSearch(trace.seconds, why_unknown=why)
    if not any(np.isfinite(flow.rate).sum() >= 2 * LEAST_STEPS for flow in _flows(trace)):
        why = "neither the server's requests to storage nor its CPU are known by the second"
        return CapSearch(trace.seconds, why_unknown=why)
    return CapSearch(trace.seconds, find_cap(trace))


# --- what may be limited


def _flows(trace: Trace) -> Iterator[_Flow]:
    """Return what may be limited; what is known of the server alone comes first."""
    size = _request_bytes(trace)
    reads, writes = trace.get("device.reads"), trace.get("device.writes")
    share = _share(trace.get("server.read_bytes"), trace.get("server.write_bytes")) or _share(reads, writes)
    for way in _ways(share):
        limits, held = f"cgroup.{way}_limit", ("volume.iops_exceeded", "instance.iops_exceeded")
        own, device = trace.get(f"server.{way}_bytes"), trace.get(f"device.{way}s")
        if way == "read" and size is not None:
            yield _Flow("iops", way, own / size, limits, held, size)
        yield _Flow("iops", way, device, limits, held, _mean(trace.get(f"device.{way}_bytes"), device))
        if not np.isfinite(own).any():
            # An engine counts requests when a slice ends: later than they are made.
            yield _Flow("iops", way, trace.get(f"engine.{way}_requests"), limits, held)
        limits, held = f"cgroup.{way}_bytes_limit", ("volume.bytes_exceeded", "instance.bytes_exceeded")
        for amount in (own, trace.get(f"device.{way}_bytes")):
            yield _Flow("bytes", way, amount / MIB, limits, held)
    if share is not None and _MATTERS < share < 1 - _MATTERS:
        yield _Flow("iops", "both", reads + writes, "", ("volume.iops_exceeded", "instance.iops_exceeded"))
        for whose in ("server", "device"):
            both = trace.get(f"{whose}.read_bytes") + trace.get(f"{whose}.write_bytes")
            yield _Flow("bytes", "both", both / MIB, "", ("volume.bytes_exceeded", "instance.bytes_exceeded"))
    yield _Flow("cpu", "", trace.get("server.cpu"), "cgroup.cpu_quota", ("cgroup.cpu_throttled",))


def _request_bytes(trace: Trace) -> float | None:
    """Return the mean size of a read, if about all the load's reads have it; None if that is not known."""
    by_engine = _mean(trace.get("engine.read_bytes"), trace.get("engine.read_requests"))
    return by_engine or _mean(trace.get("device.read_bytes"), trace.get("device.reads"))


def _mean(amount: Array, count: Array) -> float | None:
    known = np.isfinite(amount) & np.isfinite(count)
    counted = float(count[known].sum())
    return float(amount[known].sum()) / counted if counted else None


def _share(part: Array, rest: Array) -> float | None:
    """Return a part's share of a whole; None if it is not known."""
    known = np.isfinite(part) & np.isfinite(rest)
    both = float(part[known].sum() + rest[known].sum())
    return float(part[known].sum()) / both if both else None


def _ways(share: float | None) -> Sequence[str]:
    """Return the directions of requests that matter, by the share of reads."""
    if share is None:
        return ("read", "write")
    return [way for way, of_all in (("read", share), ("write", 1 - share)) if of_all > _MATTERS]


# --- whether it was


def _by_limit(flow: _Flow, trace: Trace) -> _Found | None:
    """Return what a limit that was read did to a flow; None if there was none, or the flow did not reach it."""
    limits = trace.get(flow.limits) / (MIB if flow.kind == "bytes" else 1)
    for limit in sorted(set(limits[np.isfinite(limits)].tolist())):
        reached = (limits == limit) & (flow.rate > limit * (1 - 2 * AT_LIMIT))
        throttled = trace.get("cgroup.cpu_throttled") if flow.kind == "cpu" else np.full(trace.steps, math.inf)
        parts = runs(reached & (throttled >= HELD_BACK))
        # Others' requests are in the counters of a device, but not below the limit.
        plateau = plateau_of(flow.rate, parts, limit)
        if plateau is None or float(np.median(plateau.within(flow.rate))) > limit * (1 + 2 * AT_LIMIT):
            continue
        known = f"the server's cgroup had a limit of {amount(limit, flow.unit)}"
        if flow.kind == "cpu":
            known += f", which held its tasks back for {float(np.mean(plateau.within(throttled))):.2g} s a second"
        return _Found(flow, plateau, limit, (known,))
    return None


def _by_course(flow: _Flow, trace: Trace) -> _Found | None:
    """Return the cap that the course of a flow shows; None if it shows none, or if something else explains it."""
    if flow.kind == "cpu":
        # The CPU of a load that waits more is as even as that under a quota, which the kernel tells.
        return None
    likely = [(_speaks_for(flow, plateau, trace), plateau) for plateau in find_plateaus(flow.rate)]
    score, plateau = max(likely, key=lambda each: each[0], default=(-math.inf, None))
    if plateau is None or score < LEAST_SCORE:
        return None
    held = _find_held_back(flow, plateau, trace)
    even = f"the rate varied by {100 * plateau.uneven:.1f} % under it and by {100 * plateau.free_uneven:.1f} % without"
    return _Found(flow, plateau, plateau.level, (*held, even), score)


def _speaks_for(flow: _Flow, plateau: Plateau, trace: Trace) -> float:
    """Return how much speaks for a cap at a plateau: enough, if it is lower and a volume reported a cap."""
    if not is_even(plateau, trace.step_s) or not is_lower(plateau, flow.rate, trace.get("ops")):
        return -math.inf
    if _find_held_back(flow, plateau, trace):
        return LEAST_SCORE + max(0.0, score_of(plateau, flow.rate))
    return score_of(plateau, flow.rate) - _against(plateau, trace)


def _find_held_back(flow: _Flow, plateau: Plateau, trace: Trace) -> Sequence[str]:
    """Return what a volume, or a cloud's instance, reported of the time for which it held requests back."""
    said = []
    for name in flow.held:
        under, free = _both(plateau, trace.get(name))
        if len(under) and np.mean(under) >= HELD_BACK and (not len(free) or np.mean(under) > 2 * np.mean(free)):
            said.append(f"the {name.partition('.')[0]} held requests back for {np.mean(under):.2f} s a second")
    return said


def _against(plateau: Plateau, trace: Trace) -> float:
    """Return how much speaks for something else than a cap on I/O; infinite if that is certain."""
    for name in ("cgroup.cpu_throttled", "host.steal"):
        under, free = _both(plateau, trace.get(name))
        if len(under) and len(free) and np.mean(under) > np.mean(free) + TAKEN:
            return math.inf
    under, free = _both(plateau, sum((trace.get(name) for name in WAITS), np.zeros(trace.steps)))
    if len(under) and len(free):
        # By Little's law, as many sessions that wait while the rate is lower mean that each request takes longer.
        if np.mean(under) < LEAST_WAITING or np.mean(under) < np.mean(free) * QUEUE_KEPT:
            return math.inf
    else:
        under, free = _both(plateau, trace.get("latency.p50_us"))
        if len(under) and len(free) and np.median(under) < LEAST_LONGER * np.median(free):
            return math.inf
    return _taken_cpu(plateau, trace)


def _taken_cpu(plateau: Plateau, trace: Trace) -> float:
    """Return how much speaks for CPU that the server, or others, used up."""
    cores = trace.get("host.cores")
    busy, own = (plateau.within(trace.get(name) / cores) for name in ("host.busy", "server.cpu"))
    if not len(busy) or not len(own) or np.median(busy) < SATURATED:
        return 0.0
    if np.median(own) > SATURATED / 2:
        return math.inf
    under, free = _both(plateau, (trace.get("host.busy") - trace.get("server.cpu")) / cores)
    # Others also take what a server leaves that is held back: this says little.
    return BY_OTHERS if len(free) and np.median(under) > np.median(free) + TAKEN else 0.0


def _both(plateau: Plateau, values: Array) -> tuple[Array, Array]:
    return plateau.within(values), plateau.outside(values)


# --- what it was


def _cap(found: _Found, trace: Trace) -> Cap:
    flow, parts = found.flow, found.plateau.parts
    rate = flow.rate
    held = [_exact(begin, end, rate, found.cap, trace.step_s) for begin, end in parts]
    held = [_without_dips(each, found.plateau, rate, trace.step_s) for each in held]
    begins_so, ends_so = parts[0][0] <= 1, parts[-1][1] >= len(rate) - 1
    dry = None if begins_so else held[0][0]
    until = max(parts[0][0] + 2, round((dry or 0.0) / trace.step_s))
    spent = np.cumsum(np.where(np.isfinite(rate), rate - found.cap, 0.0)[:until])
    # What a slow device leaves in a bucket after it ran dry is spent again: its content is the most that was.
    bucket = None if begins_so else max(0.0, float(spent.max())) * trace.step_s
    done = trace.get("ops")
    free = [at for at in range(len(rate)) if found.plateau.free[at]]
    # Operations may be counted late, when a slice ends: the first third of a stretch has those begun before.
    settled = [at for begin, end in parts for at in range(begin + 1 + (end - begin) // 3, max(end - 1, begin + 2))]
    return Cap(
        kind=flow.kind,
        direction=flow.direction,
        cap=found.cap,
        unit=flow.unit,
        held=held,
        dry_at_s=dry,
        lifted_at_s=None if ends_so else held[-1][1],
        bucket=bucket,
        burst=_level(done, free, trace.step_s),
        sustained=_level(done, settled, trace.step_s),
        evidence=found.evidence,
        request_bytes=flow.request_bytes,
    )


def _exact(begin: int, end: int, rate: Array, cap: float, step_s: float) -> tuple[float, float]:
    """Return when a cap came into force and when it was lifted, within the steps that are part of both levels."""
    return (
        _switch(rate, begin, cap, before=True) * step_s if begin > 1 else 0.0,
        _switch(rate, end, cap, before=False) * step_s if end < len(rate) - 1 else len(rate) * step_s,
    )


def _without_dips(held: tuple[float, float], plateau: Plateau, rate: Array, step_s: float) -> tuple[float, float]:
    """Return when a cap was in force: while the rate is lower at its begin or end, it may have been or not."""
    begin, end = (round(at / step_s) for at in held)
    at_level = np.flatnonzero(np.abs(rate[begin:end] / plateau.level - 1) < 2 * BAND)
    if not len(at_level):
        return held
    before, after = int(at_level[0]), end - begin - 1 - int(at_level[-1])
    return (
        held[0] + before * step_s / 2 if before > 1 and begin > 0 else held[0],
        held[1] - after * step_s / 2 if after > 1 and end < len(rate) else held[1],
    )


def _switch(rate: Array, at: int, cap: float, *, before: bool) -> float:
    """Return the step, with its fraction, from which the amount of the steps around it has both levels."""
    low, high = max(0, at - 2), min(len(rate), at + 2)
    beside = rate[max(0, low - NEAR // 2) : low] if before else rate[high : high + NEAR // 2]
    beside, amount_ = beside[np.isfinite(beside)], rate[low:high]
    if not len(beside) or not np.isfinite(amount_).all() or (free := float(np.median(beside))) <= cap:
        return float(at)
    above = min(max((float(amount_.sum()) - cap * (high - low)) / (free - cap), 0.0), float(high - low))
    return low + above if before else high - above


def _level(done: Array, steps: Sequence[int], step_s: float) -> MeanRate | None:
    """Return the mean throughput of these steps; None if it is not known."""
    known = [at for at in steps if np.isfinite(done[at])]
    if not known:
        return None
    values = done[known]
    mean, share = float(values.mean()), relative_half_width(values.tolist())
    low, high = (None, None) if share is None else (max(0.0, mean * (1 - share)), mean * (1 + share))
    return MeanRate(mean, low, high, known[0] * step_s, (known[-1] + 1) * step_s)


def amount(value: float, unit: str) -> str:
    """Return a rate, or a content of a bucket, in words: 3,000 IOPS, 128 MB/s, 0.5 CPUs."""
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
