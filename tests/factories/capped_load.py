"""A simulated load that a cap holds back for a part of its time: sessions that queue for CPU and storage.

Every request is simulated: a session computes, its request passes a token bucket, waits for a channel of the device and
is served for a time of its own. Service times follow the course of real runs on a busy machine (`COURSES`), with
checkpoints, dips, trends and other load on top. Counters are read once a second, a little early or late.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from openslob.analyze.trace import ProbeOutcome, Trace

# Reads per second of real runs in % of their medians: PostgreSQL 18, direct I/O, 1 to 32 sessions, 0 to 100 %
# updates, on a virtual machine with two cores that others used.
COURSES = (
    (101, 109, 115, 116, 110, 108, 111, 111, 107, 115, 119, 85, 60, 74, 72, 57, 56, 63, 66, 84,
     106, 106, 100, 90, 90, 102, 99, 101, 93, 87, 88, 82, 85, 109, 131, 111, 89, 93, 100, 111),
    (97, 100, 93, 105, 109, 92, 93, 85, 88, 96, 101, 90, 102, 101, 106, 96, 102, 96, 100, 103,
     102, 106, 119, 110, 105, 112, 112, 93, 91, 99, 96, 94, 91, 90, 87, 96, 115, 115, 109, 101),
    (122, 129, 122, 117, 103, 100, 109, 100, 99, 93, 97, 93, 102, 109, 111, 105, 105, 97, 106, 117,
     117, 111, 102, 89, 109, 89, 96, 89, 98, 100, 102, 100, 93, 86, 80, 88, 98, 86, 89, 84),
    (94, 104, 106, 105, 92, 96, 101, 93, 100, 100, 100, 104, 104, 109, 108, 105, 103, 103, 101, 111,
     110, 107, 103, 103, 99, 97, 92, 100, 99, 94, 94, 88, 90, 98, 101, 91, 92, 88, 84, 81),
    (101, 97, 99, 104, 100, 100, 100, 123, 129, 119, 104, 95, 88, 100, 112, 106, 97, 90, 92, 99,
     108, 107, 106, 104, 109, 103, 96, 97, 93, 92, 84, 86, 89, 98, 97, 100, 101, 106, 110, 105),
    (99, 92, 91, 94, 94, 94, 98, 94, 100, 99, 100, 103, 101, 105, 102, 106, 93, 91, 94, 99,
     96, 90, 92, 96, 105, 100, 105, 94, 95, 101, 106, 105, 103, 103, 107, 108, 104, 105, 111, 103),
    (112, 94, 94, 86, 93, 117, 116, 111, 100, 101, 96, 88, 97, 101, 93, 94, 96, 88, 94, 103,
     103, 104, 96, 99, 98, 94, 100, 104, 105, 101, 105, 96, 103, 111, 109, 114, 101, 98, 93, 104),
    (95, 106, 104, 103, 109, 108, 111, 108, 107, 100, 103, 100, 88, 87, 91, 94, 101, 95, 101, 87,
     92, 82, 81, 87, 85, 93, 100, 105, 112, 112, 115, 118, 108, 110, 109, 92, 95, 94, 98, 91),
)  # fmt: skip
BLOCK = 8192
CORES = 2
# How long tokens are kept that nobody used, as the kernel keeps them for a slice.
TICK_S = 0.1
LATE_S = 0.02
PROBE_PARTS, PART_S = 5, 3


@dataclass(frozen=True)
class Cap:
    """A limit of ``rate`` a second on ``what`` (read, write, both, cpu) from ``on_s`` to ``off_s``.

    ``bucket`` is what it lets through at once: full at the beginning.
    """

    what: str
    rate: float
    on_s: float = 0.0
    off_s: float = float("inf")
    bucket: float = 0.0


@dataclass(frozen=True)
class Slowed:
    """Requests (read, write) that take ``by_s`` longer from ``on_s`` to ``off_s``, which holds up no others.

    The times are spread with this standard deviation, as a share of them.
    """

    what: str
    by_s: float
    on_s: float
    off_s: float = float("inf")
    spread: float = 0.0


@dataclass
class Load:
    """A load to simulate. ``writes`` follow each of ``write_share`` of the operations.

    ``more`` are further caps. Readings are taken ``late_s`` late on average, and their times are off by that. After a
    load with a ``probe``, a quarter of the sessions rest by turns.
    """

    seconds: int
    sessions: int
    blocks: int = 8
    write_share: float = 0.0
    cpu_s: float = 0.0003
    service_s: float = 0.004
    channels: int = 8
    cap: Cap | None = None
    more: Sequence[Cap] = ()
    slowed: Slowed | None = None
    late_s: float = LATE_S
    probe: bool = False


@dataclass
class Simulated:
    """What a simulation did: its trace, when the cap came into force, and what had been used beyond it until then.

    A bucket that fills again while the device is slow runs dry several times: that is each of ``dry_at_s``.
    """

    trace: Trace
    dry_at_s: list[float]
    used: float


class _Gate:
    """A token bucket; a request that finds too few tokens waits for its turn."""

    def __init__(self, cap: Cap | None, kinds: tuple[str, ...]) -> None:
        self.cap = cap if cap and cap.what in kinds else None
        self.tokens = self.cap.bucket if self.cap else 0.0
        self.at = self.cap.on_s if self.cap else 0.0
        self.used = 0.0
        self.dry_at_s: list[float] = []
        self.is_dry = False

    def passes_at(self, now: float, amount: float) -> float:
        cap = self.cap
        if cap is None or now < cap.on_s or now >= cap.off_s:
            if cap and now < cap.on_s:
                self.used += amount
            return now
        if now > self.at:
            self.tokens = min(self.tokens + (now - self.at) * cap.rate, max(cap.bucket, cap.rate * TICK_S))
            self.at = now
        if not self.dry_at_s:
            self.used += amount
        self.tokens -= amount
        if self.tokens >= 0:
            self.is_dry = self.is_dry and self.tokens < cap.rate
            return max(now, self.at)
        # The next token comes after those that others wait for.
        self.at += -self.tokens / cap.rate
        self.tokens = 0.0
        if not self.is_dry:
            self.dry_at_s.append(now)
        self.is_dry = True
        return min(self.at, cap.off_s)


@dataclass
class _Events:
    """Times of what was counted."""

    reads: list[float] = field(default_factory=list)
    writes: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    ops: list[tuple[float, float]] = field(default_factory=list)
    read_s: list[float] = field(default_factory=list)
    write_s: list[float] = field(default_factory=list)
    waited: list[tuple[float, float]] = field(default_factory=list)
    throttled: list[tuple[float, float]] = field(default_factory=list)
    read_wait_s: list[float] = field(default_factory=list)
    write_wait_s: list[float] = field(default_factory=list)


def simulate(load: Load, rng: np.random.Generator, slowness: np.ndarray, hog: np.ndarray) -> Simulated:
    """Simulate a load, and its probe."""
    if not load.probe:
        return _simulate(load, rng, slowness, hog)
    tail = PROBE_PARTS * PART_S
    longer = replace(load, seconds=load.seconds + tail)
    slow, taken = (np.concatenate([each, np.resize(each[-100:], tail * 10)]) for each in (slowness, hog))
    found = _simulate(longer, rng, slow, taken, load.seconds)
    ops = found.trace.get("ops")[load.seconds :].reshape(PROBE_PARTS, PART_S)[:, 1:]
    resting = sum(number % 4 == 3 for number in range(load.sessions))
    probe = ProbeOutcome(load.seconds, 1 - resting / load.sessions, float(ops[2::2].mean()), float(ops[1::2].mean()))
    series = {name: values[: load.seconds] for name, values in found.trace.series.items()}
    dry = [each for each in found.dry_at_s if each < load.seconds]
    return Simulated(Trace(0, 1.0, series, probes=[probe] if resting else []), dry, found.used)


def _rests_until(now: float, begin: float | None, number: int) -> float:
    """Return until when a session rests in the probe that begins then; now if it does not."""
    if begin is None or now < begin or number % 4 != 3:
        return now
    part = int((now - begin) / PART_S)
    return begin + (part + 1) * PART_S if part % 2 else now


def _simulate(
    load: Load, rng: np.random.Generator, slowness: np.ndarray, hog: np.ndarray, probe_s: float | None = None
) -> Simulated:
    """Simulate a load. ``slowness`` of the device and CPUs that a ``hog`` takes are by tenth of a second."""
    caps = [load.cap, *load.more]
    storage, writes = ([_Gate(cap, kinds) for cap in caps] for kinds in (("read", "both"), ("write",)))
    cpu_gate = _Gate(load.cap, ("cpu",))
    both = load.cap is not None and load.cap.what == "both"
    channels, cpus = [0.0] * load.channels, [0.0] * CORES
    events, end = _Events(), float(load.seconds)
    # When a session goes on, its number, the requests it has left in its operation, of which the last may be writes.
    # ``sent`` is when its request left the CPU: it waits for a device that the cap lets it through to; negative before.
    queue = [(rng.uniform(0, 0.01), number, load.blocks, 0, 0.0, -1.0) for number in range(load.sessions)]
    heapq.heapify(queue)
    draws = iter(())
    while queue:
        now, number, left, writing, begun, sent = heapq.heappop(queue)
        if now >= end:
            continue
        try:
            factor, computing, dice = next(draws)
        except StopIteration:
            draws = iter(zip(rng.lognormal(-0.08, 0.4, 4096).tolist(), rng.gamma(4, 0.25, 4096).tolist(),
                             rng.random(4096).tolist(), strict=True))  # fmt: skip
            factor, computing, dice = next(draws)
        if left == load.blocks and not writing and sent < 0 and (rested := _rests_until(now, probe_s, number)) > now:
            heapq.heappush(queue, (rested, number, left, writing, rested, -1.0))
            continue
        tenth = int(now * 10)
        if sent < 0:
            need = load.cpu_s * computing
            allowed = cpu_gate.passes_at(now, need)
            if allowed > now:
                events.throttled.append((now, allowed))
            start = max(allowed, cpus[0])
            sent = start + need / max(0.25, 1 - hog[tenth] / CORES)
            heapq.heapreplace(cpus, sent)
            events.cpu.append(sent)
            passes = _pass(storage if both or not writing else writes, sent)
            heapq.heappush(queue, (passes, number, left, writing, begun, sent))
            continue
        done, served = sent, max(now, channels[0]) + load.service_s * factor * slowness[tenth]
        heapq.heapreplace(channels, served)
        served += _added_s(load.slowed, now, writing, factor)
        (events.write_wait_s if writing else events.read_wait_s).append(served - sent)
        events.waited.append((done, served))
        (events.writes if writing else events.reads).append(served)
        # A cloud holds requests back behind the device that its guest sees.
        (events.write_s if writing else events.read_s).append(served - done)
        left -= 1
        if left == 0 and not writing and dice < load.write_share:
            left, writing = load.blocks, 1
        if left == 0:
            events.ops.append((begun, served))
            left, writing, begun = load.blocks, 0, served
        heapq.heappush(queue, (served, number, left, writing, begun, -1.0))
    gate = next((gate for gate in (storage[0], writes[0], cpu_gate) if gate.cap), None)
    if gate is None or gate.cap is None or not gate.dry_at_s:
        return Simulated(_trace(load, events, rng, hog), [], 0.0)
    return Simulated(_trace(load, events, rng, hog), gate.dry_at_s, gate.used - gate.cap.rate * gate.dry_at_s[0])


def _pass(gates: Sequence[_Gate], at: float) -> float:
    for gate in gates:
        at = gate.passes_at(at, 1.0)
    return at


def _added_s(slowed: Slowed | None, now: float, writing: int, factor: float) -> float:
    """Return what is added to a request; ``factor`` is lognormal with a sigma of 0.4."""
    if slowed is None or not slowed.on_s <= now < slowed.off_s or (slowed.what == "write") != bool(writing):
        return 0.0
    return slowed.by_s * (1 + slowed.spread * (factor - 1) / 0.4)


def _trace(load: Load, events: _Events, rng: np.random.Generator, hog: np.ndarray) -> Trace:
    seconds = load.seconds
    stamps = np.arange(seconds + 1) + rng.uniform(-0.01, 0.01)
    read_at = stamps + rng.exponential(load.late_s, len(stamps)) * (rng.random(len(stamps)) < 0.7)
    edges = np.arange(seconds + 1, dtype=float)

    def counted(times: list[float], worth: float | list[float] = 1.0) -> np.ndarray:
        order = np.argsort(times)
        sums = np.concatenate([[0.0], np.cumsum(np.broadcast_to(worth, len(times))[order])])
        totals = sums[np.searchsorted(np.array(times)[order], read_at)]
        return np.diff(np.interp(edges, stamps, totals))

    def lasted(spans: list[tuple[float, float]]) -> np.ndarray:
        samples = np.arange(0, seconds, 0.1) + 0.05
        begins, ends = (np.sort(np.array([span[side] for span in spans])) for side in (0, 1))
        there = np.searchsorted(begins, samples) - np.searchsorted(ends, samples)
        return there.reshape(seconds, 10).mean(axis=1).astype(float)

    def spread_evenly(spans: list[tuple[float, float]]) -> np.ndarray:
        done = np.zeros(seconds)
        for begin, end in spans:
            for second in range(int(begin), min(int(end) + 1, seconds)):
                done[second] += (min(end, second + 1) - max(begin, second)) / max(end - begin, 1e-9)
        return done

    reads, writes = counted(events.reads), counted(events.writes)
    others = np.where(rng.random(seconds) < 0.2, rng.exponential(0.03, seconds), 0.002) * np.median(reads + writes)
    cpu = counted(events.cpu, load.cpu_s)
    taken = hog[: seconds * 10].reshape(seconds, 10).mean(axis=1)
    waiting = lasted(events.waited)
    series = {
        **quota(load),
        "ops": spread_evenly(events.ops),
        "server.read_bytes": reads * BLOCK,
        "server.write_bytes": writes * BLOCK,
        "engine.read_requests": reads,
        "engine.read_bytes": reads * BLOCK,
        "engine.read_time_us": 1e6 * counted(events.reads, events.read_wait_s),
        "engine.write_requests": np.zeros(seconds),
        "engine.log_write_requests": writes,
        "engine.log_syncs": writes,
        "engine.log_sync_time_us": 1e6 * counted(events.writes, events.write_wait_s),
        "device.reads": reads + others,
        "device.writes": writes + others / 2,
        "device.read_bytes": (reads + others) * BLOCK,
        "device.write_bytes": (writes + others / 2) * BLOCK,
        "device.read_ms": 1000 * counted(events.reads, events.read_s),
        "device.write_ms": 1000 * counted(events.writes, events.write_s),
        "server.cpu": cpu,
        "host.busy": np.minimum(CORES, cpu + taken + 0.1),
        "host.cores": np.full(seconds, float(CORES)),
        "host.steal": np.zeros(seconds),
        "waits.data_io": waiting,
        "waits.log": np.zeros(seconds),
        "cgroup.cpu_throttled": lasted(events.throttled) if events.throttled else np.zeros(seconds),
    }
    return Trace(0, 1.0, series)


def quota(load: Load) -> dict[str, np.ndarray]:
    """Return the quota as the kernel tells it; limits of a cloud's volume are told by nobody."""
    if load.cap is None or load.cap.what != "cpu":
        return {}
    seconds = np.arange(load.seconds)
    there = (seconds >= load.cap.on_s - 0.5) & (seconds < load.cap.off_s - 0.5)
    return {"cgroup.cpu_quota": np.where(there, load.cap.rate, np.nan)}


def course(seconds: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return how slow the device is, and how many CPUs others take, by tenth of a second, as on a real machine."""
    real = np.array(COURSES[rng.integers(len(COURSES))]) / 100
    real = real[::-1] if rng.random() < 0.5 else real
    real = np.resize(np.concatenate([real, real[::-1]]), 400)[rng.integers(40) :][: seconds + 2]
    real = np.resize(real, seconds + 2)
    tenths = np.arange((seconds + 1) * 10) / 10
    slow = 1 / np.interp(tenths, np.arange(seconds + 2), real)
    slow *= np.exp(rng.normal(0, 0.04, len(slow)))
    hog = np.abs(rng.normal(0, 0.05, len(slow)))

    def between(low: float, high: float) -> np.ndarray:
        begin = rng.uniform(0, seconds)
        return (tenths >= begin) & (tenths < begin + rng.uniform(low, high))

    if rng.random() < 0.4:  # a level that changes, as other load does
        slow[between(8, seconds)] *= rng.uniform(0.75, 1.6)
    if rng.random() < 0.3:  # a trend
        slow *= np.linspace(1, rng.uniform(0.75, 1.35), len(slow))
    if rng.random() < 0.4:  # checkpoints
        every, length, cost = rng.uniform(10, 30), rng.uniform(1, 6), rng.uniform(1.2, 3)
        slow[(tenths + rng.uniform(0, 30)) % every < length] *= cost
    if rng.random() < 0.3:  # dips, as autovacuum's
        for _ in range(rng.integers(1, 4)):
            slow[between(1, 4)] *= rng.uniform(1.5, 4)
    if rng.random() < 0.3:  # other programs
        hog[between(4, seconds)] += rng.uniform(0.5, 2)
    return slow, np.minimum(hog, CORES)
