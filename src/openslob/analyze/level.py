"""Level or burst: a cap that came into force, or was lifted, within a load, found in its time line.

A cap shows as a plateau: while it holds, the rate that it limits hardly varies and never exceeds it, and requests wait
longer; without it the rate is higher, and varies as that of a machine does. Saturation, a checkpoint, other load or a
slow trend lower the rate as well, but none of them holds it constant.

Requests that take longer hold it nearly constant, too: *n* sessions that wait do *n* / latency. So a plateau is only
called a cap with more evidence (`Known`): a limit that was read, a probe in which some sessions rested, or a rate that
is flatter than any latency leaves it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import pairwise

import numpy as np

from openslob.analyze.level_course import course_of
from openslob.analyze.outcome import amount
from openslob.analyze.plateaus import (
    BAND,
    LEAST_SCORE,
    LEAST_SEEN,
    LEAST_STEPS,
    LEAST_UNEVEN,
    Plateau,
    find_plateaus,
    is_even,
    is_flat,
    is_lower,
    plateau_of,
    runs,
    score_of,
    sinks,
    unevenness,
)
from openslob.analyze.statistics import relative_half_width
from openslob.analyze.tables import Array
from openslob.analyze.trace import ProbeOutcome, Trace
from openslob.core.measurement import Cap, CapSearch, Known, MeanRate
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
# Sessions that wait for storage, of which this share was ready to run, waited for a CPU.
QUEUED = 0.5
# CPU taken away from the server, as a share of one CPU or of all; and what it takes from the score if others took it.
TAKEN = 0.1
BY_OTHERS = 1.0
# From there on, requests are taken to have been held back in the device.
SLOWED = 1.2
# And so are those in the other direction, if they take this share of as much longer.
ALSO = 0.6
# What it takes from the score if other requests took longer than those that are limited: these follow each other.
OTHERS_SLOWED = 2.0
# What counts for a flow that the server counts itself: others are in the counters of a device.
OWN = 1.0
# And a rate that is more even by a factor of e than what says no more of a cap at all.
FLATTER_COUNTS = 3.0
# The steps nearest to a switch from which the level before it is taken.
NEAR = 10
# So many levels under caps are looked for; what is left of a time under a cap is none if it is shorter than this, in s.
MOST_CAPS = 4
# Where one was found, another one is likelier: it needs so much less.
LIKELIER = 2.5
LEAST_HELD_S = 2.0
# How the throughput follows the number of sessions: 0 if not at all, as under a cap, and 1 in proportion, as where each
# request takes its time. Between the two a probe does not tell: some sessions alone may not reach a cap.
AS_CAPPED, IN_PROPORTION = 0.25, 0.8
# From this share of the waits on, those for the log are so many that sessions share its syncs.
SHARED = 0.2
# So much of what all operations take longer does a single one, under a cap at most, and without at least.
AS_QUICK, AS_SLOW = 0.25, 0.55
# After a pause an operation takes longer by so much at the most: CPU and device sleep, and their caches are cold.
AFTER_PAUSE_S = 1e-3
# A probe at another level than that of the load's end says nothing about it.
SAME_LEVEL = 0.15
# What the engine times itself, by direction: total time and number.
TIMED = {
    "read": ("engine.read_time_us", "engine.read_requests"),
    "write": ("engine.log_sync_time_us", "engine.log_syncs"),
}
# A rate that is by no more times as uneven is as even.
AS_EVEN = 2.0
# Requests whose sizes differ by no more are of one size.
ONE_SIZE = 0.05
# Requests of unknown size are taken to be so large: then they are few.
LARGE_REQUEST = 65_536
# What may be a cap, or not, is one if the throughput is below this part of that without it.
UNSURE_BELOW = 0.8
# Of a burst, so much must have been saved before, or what gave it was no bucket.
SAVED = 0.7


@dataclass(frozen=True)
class _Flow:
    """A rate that may be limited; ``limits`` and ``held`` name series that say so, if they were read.

    ``flushes`` are those of the device's cache. The kernel counts them as writes without data, and so does a limit of
    the server's group; behind the device they are none.
    """

    kind: str
    direction: str
    rate: Array
    limits: str = ""
    held: Sequence[str] = ()
    request_bytes: float | None = None
    is_own: bool = False
    flushes: Array | None = None

    @property
    def unit(self) -> str:
        return {"iops": "IOPS", "bytes": "MB/s", "cpu": "CPUs"}[self.kind]


@dataclass(frozen=True)
class _Found:
    """A flow with its plateau, the level of its cap, and what speaks for it; ``direction`` if not the flow's.

    ``beside`` are those of `Cap`. ``kind_seen``: the rate of the other kind was not as even.
    """

    flow: _Flow
    plateau: Plateau
    cap: float
    evidence: Sequence[str]
    score: float = math.inf
    was_read: bool = False
    direction: str = ""
    beside: Sequence[tuple[str, float, float | None]] = ()
    kind_seen: bool = True


def _find(trace: Trace, least: float) -> _Found | None:
    """Return what held a load back, for all of its time or for a part; None if nothing is to be seen.

    A limit that was read comes first, by what is known of the server alone; of others, the one for which most speaks.
    """
    flows = list(_flows(trace))
    if limited := next((each for flow in flows if (each := _by_limit(flow, trace)) is not None), None):
        return limited
    found = [each for flow in flows if (each := _by_course(flow, trace, least)) is not None]
    if not found:
        return None
    best = max(found, key=lambda each: _rank(each, trace))
    if best.was_read:
        return best
    best = _of_one_way(best, flows, trace)
    return replace(_with_direction(best, found, trace), kind_seen=_is_kind_seen(best, flows))


def _find_all(trace: Trace) -> list[Cap]:
    """Return the caps of a load, or what may be some: each is looked for in the steps that those before leave."""
    left, caps = trace, list[Cap]()
    while len(caps) < MOST_CAPS and (found := _find(left, LEAST_SCORE - bool(caps) * LIKELIER)) is not None:
        known = np.isfinite(found.flow.rate)
        parts = [part for each in found.plateau.parts for part in _known_parts(*each, known)]
        caps.append(_cap(replace(found, plateau=replace(found.plateau, parts=parts)), left))
        taken = np.zeros(trace.steps, bool)
        for begin, end in _parts_at_level(found.flow.rate, found.plateau.level, parts):
            taken[max(0, begin - 1) : end + 1] = True
        if not taken.any():
            break
        series = {name: np.where(taken, np.nan, values) for name, values in left.series.items()}
        left = replace(left, series=series)
    return [_without_lower(cap, caps) for cap in caps]


def _known_parts(begin: int, end: int, known: np.typing.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the parts of a stretch in which something is known, or all of it if nothing is."""
    inner = [(begin + first, begin + last) for first, last in runs(known[begin:end])]
    return inner or [(begin, end)]


def _parts_at_level(rate: Array, level: float, parts: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the stretches at a level without long ones that are below it, and may be at a level of their own."""
    at_level = np.abs(rate / level - 1) <= 2 * BAND
    return [(begin + first, begin + last) for begin, end in parts for first, last in runs(at_level[begin:end])]


def _without_lower(cap: Cap, caps: Sequence[Cap]) -> Cap:
    """Return a cap without the times for which a lower one held the load back."""
    held = list(cap.held)
    for begin, end in (each for other in caps if _is_lower(other, cap) for each in other.held):
        cut = [part for first, last in held for part in ((first, min(last, begin)), (max(first, end), last))]
        held = [(first, last) for first, last in cut if last - first > LEAST_HELD_S or (first, last) in held]
    if held == list(cap.held) or not held:
        return cap
    lifted = cap.lifted_at_s if held[-1][1] == cap.held[-1][1] else held[-1][1]
    return replace(cap, held=held, lifted_at_s=lifted)


def _in_order(caps: Sequence[Cap], trace: Trace) -> list[Cap]:
    """Return caps in the order of time, first what comes or goes, each with the level of the steps without any."""
    free = np.ones(trace.steps, bool)
    for begin, end in (part for cap in caps if not cap.always for part in cap.held):
        free[max(0, math.floor(begin / trace.step_s)) : math.ceil(end / trace.step_s)] = False
    burst = _level(trace.get("ops"), np.flatnonzero(free).tolist(), trace.step_s)
    several = len(caps) > 1
    found = [replace(cap, burst=burst) if several and not cap.always else cap for cap in caps]
    return sorted(found, key=lambda cap: (cap.always, cap.held[0][0]))


def _is_lower(cap: Cap, other: Cap) -> bool:
    levels = [each.sustained.ops_per_s if each.sustained else math.nan for each in (cap, other)]
    return levels[0] < levels[1]


def _rank(found: _Found, trace: Trace) -> float:
    """Return how much speaks for this flow among others: also, that those requests took longer which it has.

    The rate that is capped varies by next to nothing; others only follow it.
    """
    slowed = _find_slowed(found.plateau, trace)
    ways = {"read", "write"} if found.flow.direction == "both" else {found.flow.direction}
    flatter = FLATTER_COUNTS * max(0.0, math.log(LEAST_UNEVEN / max(found.plateau.uneven, LEAST_SEEN)))
    return found.score + flatter - (OTHERS_SLOWED if slowed and slowed != ways else 0.0) + OWN * found.flow.is_own


def _find_slowed(plateau: Plateau, trace: Trace) -> set[str]:
    """Return which requests took longer under the cap, by the device, or else by the engine; none if that is not known.

    A volume's limit is behind what its host sees, a control group's before it. What either does not limit hardly takes
    longer then.
    """
    of_device = {way: (f"device.{way}_ms", f"device.{way}s") for way in ("read", "write")}
    return _slowed(plateau, trace, of_device) or _slowed(plateau, trace, TIMED)


def _slowed(plateau: Plateau, trace: Trace, timed: Mapping[str, tuple[str, str]]) -> set[str]:
    times = {}
    for way, names in timed.items():
        ms, counts = (_both(plateau, trace.get(name)) for name in names)
        under, free = (_mean(*each) if len(each[0]) == len(each[1]) else None for each in zip(ms, counts, strict=True))
        times[way] = under / free if under is not None and free else 0.0
    return {
        way for way, longer in times.items() if max(times.values()) > SLOWED and longer > max(times.values()) * ALSO
    }


def _of_one_way(found: _Found, flows: Sequence[_Flow], trace: Trace) -> _Found:
    """Return what was found of all requests as one of reads, or of writes, if only these took longer under it."""
    slowed = _find_slowed(found.plateau, trace)
    if found.flow.direction != "both" or len(slowed) != 1:
        return found
    for flow in (each for each in flows if each.kind == found.flow.kind and {each.direction} == slowed):
        under = found.plateau.within(flow.rate)
        plateau = plateau_of(flow.rate, found.plateau.parts, float(np.median(under))) if len(under) else None
        if plateau is not None:
            return replace(found, flow=flow, plateau=plateau, cap=plateau.level)
    return found


def _with_direction(found: _Found, others: Sequence[_Found], trace: Trace) -> _Found:
    """Return what was found with its direction as it was seen: ``request`` where those of another one were as even.

    Then the requests of either may be capped. Only if those of one alone took longer, it is these.
    """
    own = found.flow.direction
    as_even = max(AS_EVEN * found.plateau.uneven, LEAST_UNEVEN)
    as_even_ones = [each for each in others if each.plateau.uneven <= as_even]
    same = [each for each in as_even_ones if each.flow.kind == found.flow.kind]
    rivals = {each.flow.direction: each for each in same if each.flow.direction != own}
    if not rivals or _find_slowed(found.plateau, trace) == {own}:
        return found
    beside = [(way, each.cap, each.flow.request_bytes) for way, each in rivals.items()]
    return replace(found, direction="request", beside=beside)


def _is_kind_seen(found: _Found, flows: Sequence[_Flow]) -> bool:
    """Return whether no rate of the other kind, requests or bytes, was as even meanwhile: one of those was capped.

    Of too few steps that is not known of either kind.
    """
    as_even = max(AS_EVEN * found.plateau.uneven, LEAST_UNEVEN)
    others = (each for each in flows if each.direction == found.flow.direction and each.kind != found.flow.kind)
    return all(as_even < unevenness(found.plateau.within(each.rate)) < math.inf for each in others)


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
    caps = _in_order(_find_all(trace), trace)
    slower = next((each for each in caps if _is_latency(each, trace)), None)
    others = [each for each in caps if each is not slower and (each.is_sure or _is_far_below(each))]
    first = others[0] if others else None
    return CapSearch(trace.seconds, first, more=others[1:], slower=slower, course=course_of(trace))


def _is_far_below(cap: Cap) -> bool:
    """Return whether the level under what may be a cap is lower by more than what any machine loses for a while."""
    if cap.burst is None or cap.sustained is None:
        return True
    return cap.sustained.ops_per_s < UNSURE_BELOW * cap.burst.ops_per_s


# --- what may be limited


def _flows(trace: Trace) -> Iterator[_Flow]:
    """Return what may be limited; what is known of the server alone comes first."""
    size = _request_bytes(trace)
    reads, flushes = trace.get("device.reads"), np.nan_to_num(trace.get("device.flushes"))
    writes = trace.get("device.writes") - flushes
    own_reads = trace.get("server.read_bytes")
    share = _mean(own_reads, own_reads + trace.get("server.write_bytes")) or _mean(reads, reads + writes)
    for way in _ways(share):
        own, device = _own_bytes(trace, way), reads if way == "read" else writes
        limits, held = f"cgroup.{way}_limit", ("volume.iops_exceeded", "instance.iops_exceeded")
        of_device = _mean(trace.get(f"device.{way}_bytes"), device)
        if way == "read" and size is not None:
            yield _Flow("iops", way, own / size, limits, held, size, is_own=True)
        of_way = flushes if way == "write" else None
        if way == "write":
            yield _Flow("iops", way, _own_writes(trace), limits, held, of_device, is_own=True, flushes=of_way)
        yield _Flow("iops", way, device, limits, held, of_device, flushes=of_way)
        if not np.isfinite(own).any():
            # An engine counts requests when a slice ends: later than they are made.
            yield _Flow("iops", way, trace.get(f"engine.{way}_requests"), limits, held, size if way == "read" else None)
        limits, held = f"cgroup.{way}_bytes_limit", ("volume.bytes_exceeded", "instance.bytes_exceeded")
        each = size if way == "read" and size is not None else of_device
        moved = trace.get(f"device.{way}_bytes")
        yield _Flow("bytes", way, own / MIB, limits, held, each, is_own=True)
        yield _Flow("bytes", way, moved / MIB, limits, held, each)
        if way == "write" and not np.isfinite([own, moved]).any():
            # A log is written in whole pages, many of them several times: there is less in it than is written.
            yield _Flow("bytes", way, trace.get("engine.log_bytes") / MIB, "", held, is_own=True)
    if share is not None and _MATTERS < share < 1 - _MATTERS:
        requests = reads + writes
        each = _mean(trace.get("device.read_bytes") + trace.get("device.write_bytes"), requests)
        held = ("volume.iops_exceeded", "instance.iops_exceeded")
        yield _Flow("iops", "both", requests, "", held, each, flushes=flushes)
        for whose in ("server", "device"):
            both = trace.get(f"{whose}.read_bytes") + trace.get(f"{whose}.write_bytes")
            held = ("volume.bytes_exceeded", "instance.bytes_exceeded")
            yield _Flow("bytes", "both", both / MIB, "", held, each, is_own=whose == "server")
    yield _Flow("cpu", "", trace.get("server.cpu"), "cgroup.cpu_quota", ("cgroup.cpu_throttled",), is_own=True)


def _own_bytes(trace: Trace, way: str) -> Array:
    """Return the bytes that the server read or wrote.

    Linux counts as written what a process makes dirty in the page cache, inodes too: some of it is never written, or
    once for several times. If the device wrote less than that, what it wrote is the server's.
    """
    own, device = (trace.get(f"{whose}.{way}_bytes") for whose in ("server", "device"))
    written = _mean(device, own) if way == "write" else None
    return device if written is not None and written < 1 else own


def _own_writes(trace: Trace) -> Array:
    """Return the requests by which the server wrote data and log; unknown where it does not count those of the log."""
    log = trace.get("engine.log_write_requests")
    return np.nan_to_num(trace.get("engine.write_requests")) + log


def _request_bytes(trace: Trace) -> float | None:
    """Return the mean size of a read, if about all the load's reads have it; None if that is not known."""
    by_engine = _mean(trace.get("engine.read_bytes"), trace.get("engine.read_requests"))
    return by_engine or _mean(trace.get("device.read_bytes"), trace.get("device.reads"))


def _mean(amount: Array, count: Array) -> float | None:
    known = np.isfinite(amount) & np.isfinite(count)
    counted = float(count[known].sum())
    return float(amount[known].sum()) / counted if counted else None


def _ways(share: float | None) -> Sequence[str]:
    """Return the directions of requests that matter, by the share of reads."""
    if share is None:
        return ("read", "write")
    return [way for way, of_all in (("read", share), ("write", 1 - share)) if of_all > _MATTERS]


# --- whether it was


def _by_limit(flow: _Flow, trace: Trace) -> _Found | None:
    """Return what a limit that was read did to a flow; None if there was none, or the flow did not reach it."""
    limits = trace.get(flow.limits) / (MIB if flow.kind == "bytes" else 1)
    rate = flow.rate if flow.flushes is None else flow.rate + flow.flushes
    for limit in sorted(set(limits[np.isfinite(limits)].tolist())):
        reached = (limits == limit) & (rate > limit * (1 - 2 * AT_LIMIT))
        throttled = trace.get("cgroup.cpu_throttled") if flow.kind == "cpu" else np.full(trace.steps, math.inf)
        parts = runs(reached & (throttled >= HELD_BACK))
        # Others' requests are in the counters of a device, but not below the limit.
        plateau = plateau_of(rate, parts, limit)
        if plateau is None or float(np.median(plateau.within(rate))) > limit * (1 + 2 * AT_LIMIT):
            continue
        known = f"the server's cgroup had a limit of {amount(limit, flow.unit)}"
        if flow.kind == "cpu":
            known += f", which held its tasks back for {float(np.mean(plateau.within(throttled))):.2g} s a second"
        return _Found(flow, plateau, limit, (known,), was_read=True)
    return None


def _by_course(flow: _Flow, trace: Trace, least: float) -> _Found | None:
    """Return the cap that the course of a flow shows; None if it shows none, or if something else explains it."""
    if flow.kind == "cpu":
        # The CPU of a load that waits more is as even as that under a quota, which the kernel tells.
        return None
    likely = [(_speaks_for(flow, plateau, trace), plateau) for plateau in find_plateaus(flow.rate)]
    score, plateau = max(likely, key=lambda each: each[0], default=(-math.inf, None))
    if plateau is None or score < least:
        return None
    held = _find_held_back(flow, plateau, trace)
    even = f"the rate varied by {100 * plateau.uneven:.1f} % under it and by {100 * plateau.free_uneven:.1f} % without"
    return _Found(flow, plateau, plateau.level, (*held, even), score, was_read=bool(held))


def _speaks_for(flow: _Flow, plateau: Plateau, trace: Trace) -> float:
    """Return how much speaks for a cap at a plateau: enough, if it is lower and a volume reported a cap."""
    if not is_even(plateau, trace.step_s) or sinks(plateau, flow.rate):
        return -math.inf
    if not is_lower(plateau, flow.rate, trace.get("ops")):
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
    waiting = _waiting(trace)
    queued = plateau.within(trace.get("server.runqueue") / np.maximum(waiting, LEAST_WAITING))
    if len(queued) and np.mean(queued) > QUEUED:
        # Who waits for a CPU in the midst of a request is counted as waiting for storage.
        return math.inf
    under, free = _both(plateau, waiting)
    if len(under) and len(free):
        # By Little's law, as many sessions that wait while the rate is lower mean that each request takes longer.
        if np.mean(under) < LEAST_WAITING or np.mean(under) < np.mean(free) * QUEUE_KEPT:
            return math.inf
    else:
        under, free = _both(plateau, trace.get("latency.p50_us"))
        if len(under) and len(free) and np.median(under) < LEAST_LONGER * np.median(free):
            return math.inf
    return _taken_cpu(plateau, trace)


def _waiting(trace: Trace) -> Array:
    """Return how many sessions waited for storage; of a kind that was never seen among those that were, none did."""
    seen = [values for name, values in trace.series.items() if name.startswith("waits.")]
    if not seen:
        return trace.get("waits.data_io")
    return sum((trace.series.get(name, np.zeros(trace.steps)) for name in WAITS), 0.0 * seen[0])


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
    used = None if begins_so else max(0.0, float(spent.max())) * trace.step_s
    refills = _count_refills(rate, found.cap, parts)
    done = trace.get("ops")
    free = [at for at in range(len(rate)) if found.plateau.free[at]]
    # Operations may be counted late, when a slice ends: the first third of a stretch has those begun before.
    settled = [at for begin, end in parts for at in range(begin + 1 + (end - begin) // 3, max(end - 1, begin + 2))]
    kind_known = found.was_read or flow.kind == "cpu" or (found.kind_seen and not _has_one_size(flow, trace))
    cap = Cap(
        kind=flow.kind,
        direction=found.direction or flow.direction,
        cap=found.cap,
        unit=flow.unit,
        held=held,
        dry_at_s=dry,
        lifted_at_s=None if ends_so else held[-1][1],
        bucket=used if refills else None,
        burst=_level(done, free, trace.step_s),
        sustained=_level(done, settled, trace.step_s),
        evidence=found.evidence,
        request_bytes=_bytes_under(flow, found.plateau, trace),
        kind_known=kind_known,
        used=used,
        refills=refills,
        each_ms=_each_ms(flow, found.plateau, trace),
        flushes=_flushes_under(flow, found, trace, kind_known),
        beside=found.beside,
    )
    return _with_known(cap, found, trace)


def _flushes_under(flow: _Flow, found: _Found, trace: Trace, kind_known: bool) -> float:
    """Return the flushes a second under a cap of which it is not known whether it counts them; else 0."""
    if flow.direction != "write" or found.was_read or (flow.kind == "bytes" and kind_known):
        return 0.0
    under = found.plateau.within(trace.get("device.flushes"))
    return float(np.median(under)) if len(under) else 0.0


def _bytes_under(flow: _Flow, plateau: Plateau, trace: Trace) -> float | None:
    """Return the mean size of the requests under a cap; of reads, that of all."""
    if flow.direction != "write":
        return flow.request_bytes
    requests = trace.get("device.writes") - np.nan_to_num(trace.get("device.flushes"))
    known = np.where(np.isfinite(requests), 1.0, np.nan)
    sums = [float(np.sum(plateau.within(each * known))) for each in (trace.get("device.write_bytes"), requests)]
    return sums[0] / sums[1] if sums[0] > 0 and sums[1] > 0 else flow.request_bytes


def _with_known(cap: Cap, found: _Found, trace: Trace) -> Cap:
    """Return the cap with how it is known to be one."""
    if found.was_read:
        return replace(cap, known=Known.LIMIT)
    probe = _probe_of(cap, trace)
    if probe is not None:
        cap = replace(cap, evidence=(*cap.evidence, probe.in_words))
        if _ask(probe, cap, trace) is ProbeAnswer.CAP:
            return replace(cap, known=Known.PROBE)
    requests = cap.cap if cap.kind == "iops" else cap.cap * MIB / (cap.request_bytes or LARGE_REQUEST)
    if is_flat(found.plateau, found.flow.rate, trace.step_s, requests):
        return replace(cap, known=Known.FLAT)
    return cap


def _is_latency(cap: Cap, trace: Trace) -> bool:
    """Return whether a probe showed that requests took longer, and that nothing capped them."""
    probe = _probe_of(cap, trace)
    return cap.known is not Known.LIMIT and probe is not None and _ask(probe, cap, trace) is ProbeAnswer.LATENCY


def _ask(probe: ProbeOutcome, cap: Cap, trace: Trace) -> ProbeAnswer | None:
    return ask_probe(probe, trace, cap.burst.ops_per_s if cap.burst else math.nan)


class ProbeAnswer(Enum):
    """What a probe showed: that requests were capped, or that each took longer."""

    CAP = auto()
    LATENCY = auto()


def ask_probe(probe: ProbeOutcome, trace: Trace, usual: float) -> ProbeAnswer | None:
    """Return what a probe shows of a load that usually does so many operations a second; None if it does not tell.

    Under a cap fewer sessions do as much, and where each request takes longer, the throughput follows the sessions. Of
    sessions that wait for the log, more share a sync, and it follows them under a cap, too; but a single operation
    after a pause is as quick as usual under a cap, and as slow as all others where each sync takes longer.
    """
    late = trace.steps // 2
    waited = [float(np.nansum(trace.get(name)[late:])) for name in WAITS]
    follows = probe.elasticity
    if follows is not None and follows < AS_CAPPED:
        return ProbeAnswer.CAP
    if waited[1] < SHARED * sum(waited):
        return ProbeAnswer.LATENCY if follows is not None and follows > IN_PROPORTION else None
    longer = probe.longer_alone(probe.sessions / usual)
    if longer is None:
        return None
    if longer < AS_QUICK:
        return ProbeAnswer.CAP
    is_slow = longer > AS_SLOW and probe.alone_s > probe.sessions / usual + AFTER_PAUSE_S
    return ProbeAnswer.LATENCY if is_slow else None


def _probe_of(cap: Cap, trace: Trace) -> ProbeOutcome | None:
    """Return the probe that was made right after a cap, and at its level; None if there was none."""
    level = cap.sustained.ops_per_s if cap.sustained else 0.0
    return next((found for held in cap.held if (found := probe_after(trace, *held, level)) is not None), None)


def probe_after(trace: Trace, begin_s: float, end_s: float, rate: float) -> ProbeOutcome | None:
    """Return the probe that was made right after a time, if all sessions still did ``rate`` operations/s in it."""
    late_s = 2 * trace.step_s
    for probe in trace.probes:
        if begin_s < probe.at_s <= end_s + late_s and rate > 0 and abs(probe.with_all / rate - 1) <= SAME_LEVEL:
            return probe
    return None


def _count_refills(rate: Array, cap: float, parts: Sequence[tuple[int, int]]) -> int:
    """Return how often a bucket was seen to refill: what it let through beyond the cap had been saved just before."""
    count = 0
    for (_, end), (begin, _) in pairwise(parts):
        burst = float(np.nansum(np.maximum(rate[max(0, end - 1) : begin + 1] - cap, 0)))
        before = rate[: max(0, end - 1)]
        at_cap = np.flatnonzero(~(before < cap * (1 - BAND)))
        saved = float(np.nansum(cap - before[int(at_cap[-1]) + 1 if len(at_cap) else 0 :]))
        count += burst > 0 and saved >= SAVED * burst
    return count


def _has_one_size(flow: _Flow, trace: Trace) -> bool:
    """Return whether all requests have one size, so that a cap on their number is one on their bytes, or may have."""
    pairs = [(f"device.{way}_bytes", f"device.{way}s") for way in ("read", "write") if flow.direction in (way, "both")]
    own = {
        "read": ("engine.read_bytes", "engine.read_requests"),
        "write": ("engine.log_bytes", "engine.log_write_requests"),
    }
    pairs = [own[flow.direction], *pairs] if flow.direction in own else pairs
    for moved, requests in pairs:
        with np.errstate(divide="ignore", invalid="ignore"):
            sizes = trace.get(moved) / trace.get(requests)
        sizes = sizes[np.isfinite(sizes)]
        if len(sizes) >= LEAST_STEPS:
            low, middle, high = np.percentile(sizes, [5, 50, 95])
            return bool(high - low <= ONE_SIZE * middle)
    return True


def _each_ms(flow: _Flow, plateau: Plateau, trace: Trace) -> tuple[float, float] | None:
    """Return how long each request took without and under a cap, as the engine timed it or by Little's law."""
    rate = flow.rate if flow.kind == "iops" else flow.rate * MIB / (flow.request_bytes or math.nan)
    waited_us = _waiting(trace) * 1e6
    timed = [[trace.get(name) for name in TIMED[flow.direction]]] if flow.direction in TIMED else []
    for amounts, counts in (*timed, (waited_us, rate)):
        known = np.where(np.isfinite(amounts) & np.isfinite(counts), 1.0, np.nan)
        free, under = (_mean(side(amounts * known), side(counts * known)) for side in (plateau.outside, plateau.within))
        if flow.kind != "cpu" and free and under:
            return free / 1e3, under / 1e3
    return None


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
