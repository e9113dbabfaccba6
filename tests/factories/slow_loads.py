"""Courses of loads with one fault each, by a closed model of sessions: what takes longer lowers the throughput.

Eight sessions each do one operation after the other. An operation takes as long as its parts do: CPU, waits for a CPU,
for reads, for the log and for locks. All counters follow from that, so that a fault is seen by what it does to each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from openslob.analyze.trace import Mark, Trace

SESSIONS, CPUS, SECONDS = 8, 2.0, 60
READS, SYNCS = 9.0, 0.2  # an operation
PAGE = 8192.0


@dataclass(frozen=True)
class Second:
    """What a second is like: parts of an operation in ms, what others do, and what is read of limits.

    ``read_ms`` is one read by the server's clock and ``device_ms`` by the device's, ``sync_ms`` one sync of the log.
    ``queued_in_reads`` is the share of the waits for a CPU that come after reads and are seen in them.
    ``most_reads`` is a cap. ``others_cpu`` are CPUs, ``others_reads`` requests a second. ``working`` is the share
    of the second in which sessions are inside operations, ``answers`` that in which the server answers.
    """

    cpu_ms: float = 1.0
    queue_ms: float = 0.2
    queued_in_reads: float = 0.5
    read_ms: float = 0.6
    device_ms: float = 0.5
    sync_ms: float = 1.2
    device_write_ms: float = 1.0
    lock_ms: float = 0.0
    most_reads: float = np.inf
    others_cpu: float = 0.1
    others_reads: float = 0.0
    written_mb: float = 2.4
    working: float = 1.0
    answers: float = 1.0
    varies: float = 0.02
    recorded: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Fault:
    """A fault: what a second is like under it, by its strength from 0 to 1, the causes that are true, and marks."""

    name: str
    change: Callable[[Second, float], Second]
    right: frozenset[str]
    marks: tuple[str, ...] = ()
    early_s: int = 0
    early: Callable[[Second, float], Second] = lambda second, _: second


def second_of(now: Second, random: np.random.Generator) -> dict[str, float]:
    """Return the series of a second."""
    r = now.working * SESSIONS
    noise = 1 + now.varies * random.standard_normal()
    log_ms = 0.4 * now.sync_ms + 0.02
    each_ms = (now.cpu_ms + now.queue_ms + READS * now.read_ms + log_ms + now.lock_ms) * noise
    ops = min(1000 * r / each_ms, now.most_reads / READS * (1 + 0.001 * random.standard_normal()))
    held_ms = 1000 * r / max(ops, 1e-9) - each_ms if ops else 0.0
    read_ms = now.read_ms + held_ms / READS
    parts = {"data_io": READS * read_ms + now.queue_ms * now.queued_in_reads, "log": log_ms, "lock": now.lock_ms}
    parts["cpu"] = max(0.0, 1000 * r / max(ops, 1e-9) - sum(parts.values())) if ops else 0.0
    whole = sum(parts.values())
    samples = round(10 * now.answers)
    shares = [part / whole for part in parts.values()] if whole else [0.25] * len(parts)
    seen = random.multinomial(max(samples, 1) * max(round(r), 1), shares)
    reads = READS * ops + now.others_reads
    device_ms = now.device_ms + (held_ms / READS if now.recorded.get("cap_in_device") else 0.0)
    server_cpu = now.cpu_ms * ops / 1000
    found = {
        "ops": ops, "sessions.busy": r, "latency.p50_us": 1000 * whole, "latency.p99_us": 2500 * whole,
        "samples": float(samples), "host.cores": CPUS, "server.cores": CPUS, "host.steal": 0.0, "driver.cpu": 0.05,
        "server.cpu": server_cpu, "host.busy": min(CPUS, server_cpu + now.others_cpu + 0.05),
        "server.runqueue": now.queue_ms * ops / 1000, "engine.read_requests": READS * ops,
        "engine.read_bytes": READS * ops * PAGE, "engine.read_time_us": 1000 * ops * parts["data_io"],
        "engine.log_syncs": SYNCS * ops, "engine.log_sync_time_us": 1000 * SYNCS * ops * now.sync_ms,
        "engine.full_page_images": 20.0, "server.read_bytes": READS * ops * PAGE,
        "server.write_bytes": 1e6 * now.written_mb,
        "device.reads": reads, "device.read_bytes": reads * PAGE, "device.read_ms": reads * device_ms,
        "device.writes": 125 * now.written_mb, "device.write_bytes": 1e6 * now.written_mb,
        "device.write_ms": 125 * now.written_mb * now.device_write_ms, "device.busy_ms": min(1000.0, 0.08 * reads),
        "cgroup.cpu_throttled": 0.0, "pressure.memory": 0.0,
        **{f"waits.{kind}": count / max(samples, 1) for kind, count in zip(parts, seen.tolist(), strict=True)},
    }  # fmt: skip
    return found | {name: value for name, value in now.recorded.items() if name != "cap_in_device"}


def course(fault: Fault, strength: float, seconds: int, seed: int) -> Trace:
    """Return a minute of the load, with the fault in its last third for so many seconds."""
    random = np.random.default_rng(seed)
    usual, first = Second(varies=float(random.uniform(0.006, 0.023))), 30
    rows = []
    for at in range(SECONDS):
        now = usual
        if first - fault.early_s <= at < first:
            now = fault.early(usual, strength)
        if first <= at < first + seconds:
            now = fault.change(usual, strength)
        rows.append(second_of(now, random))
    names = {name for row in rows for name in row}
    series = {name: np.array([row.get(name, np.nan) for row in rows]) for name in names}
    return Trace(0, 1.0, series, tuple(Mark(first - 0.5, first + 0.5, kind) for kind in fault.marks))


def _with(**changes: float | Callable[[float], float]) -> Callable[[Second, float], Second]:
    def change(second: Second, strength: float) -> Second:
        return replace(second, **{name: each(strength) if callable(each) else each for name, each in changes.items()})

    return change


def _recorded(change: Callable[[Second, float], Second], **names: float) -> Callable[[Second, float], Second]:
    return lambda second, strength: replace(change(second, strength), recorded=names)


def _between(low: float, high: float) -> Callable[[float], float]:
    return lambda strength: low + strength * (high - low)


_SLOW, _CAP = frozenset({"slow reads"}), frozenset({"I/O cap"})
_slower_device = _with(read_ms=_between(1.6, 20.6), device_ms=_between(1.5, 20.5))
_hog = _with(queue_ms=_between(4.0, 20.0), others_cpu=1.7)
_capped = _with(most_reads=_between(4000.0, 600.0))
_niced = {"others_cpu": 1.6, "queue_ms": 0.3}
FAULTS = (
    Fault("reads +1 to +20 ms in the device", _slower_device, _SLOW),
    Fault("reads +1 to +20 ms before the device", _with(read_ms=_between(1.6, 20.6)), _SLOW),
    Fault("spread read latency", _with(read_ms=_between(1.6, 20.6), varies=0.08), _SLOW),
    Fault("read cap in the device", _recorded(_capped, cap_in_device=1.0), _CAP),
    Fault("read cap before the device", _capped, _CAP),
    Fault("read limit that was read", lambda second, strength: replace(
        _capped(second, strength), recorded={"cgroup.read_limit": 4000.0 - 3400.0 * strength}), _CAP),
    Fault("log syncs +5 to +60 ms", _with(sync_ms=_between(9.0, 60.0), device_write_ms=_between(8.0, 50.0)),
          frozenset({"log sync"})),
    Fault("lock", _with(lock_ms=_between(4.0, 80.0)), frozenset({"lock"})),
    Fault("hog, more than CPUs", _hog, frozenset({"CPU taken by others"})),
    Fault("hog that is waited for after reads", _with(queue_ms=_between(4.0, 20.0), others_cpu=1.7,
          queued_in_reads=0.95), frozenset({"CPU taken by others"})),
    Fault("hog, and slow reads", _with(read_ms=_between(3.0, 12.0), others_cpu=1.6, queue_ms=_between(2.0, 6.0)),
          _SLOW),
    Fault("niced hog, and slow reads", _with(read_ms=_between(2.0, 12.0), device_ms=_between(2.0, 12.0), **_niced),
          _SLOW),
    Fault("niced hog, and a lock", _with(lock_ms=_between(4.0, 60.0), **_niced), frozenset({"lock"})),
    Fault("CPU quota that was read", _recorded(_with(queue_ms=_between(5.0, 60.0)), **{
        "cgroup.cpu_throttled": 1.5, "cgroup.cpu_quota": 0.3}), frozenset({"CPU quota"})),
    Fault("hidden CPU quota", _with(queue_ms=_between(5.0, 60.0)), frozenset({"CPU quota"})),
    Fault("neighbour on the disk", _with(read_ms=_between(1.8, 9.0), device_ms=_between(1.7, 8.9),
          others_reads=_between(4000.0, 12000.0)), frozenset({"I/O of others"})),
    Fault("neighbour on the disk that slows nothing, and a lock", _with(lock_ms=_between(4.0, 60.0),
          others_reads=8000.0), frozenset({"lock"})),
    Fault("neighbour on the disk for long, then slow reads", _with(read_ms=_between(2.0, 9.0),
          device_ms=_between(1.9, 8.9), others_reads=8000.0), _SLOW, early_s=25,
          early=_with(others_reads=8000.0)),
    Fault("checkpoint", _with(read_ms=_between(1.8, 6.0), device_ms=_between(1.7, 5.9),
          written_mb=_between(40.0, 150.0)), frozenset({"checkpoint"}), marks=("checkpoint",)),
    Fault("device that nearly stops", _with(read_ms=_between(60.0, 400.0), device_ms=_between(60.0, 400.0),
          sync_ms=90.0, device_write_ms=90.0, varies=0.4), frozenset({"device stall", "slow reads"})),
    Fault("hypervisor", _recorded(_with(cpu_ms=_between(4.0, 20.0)), **{"host.steal": 1.2}),
          frozenset({"CPU taken by others"})),
    Fault("memory", _recorded(_with(cpu_ms=_between(4.0, 20.0)), **{"pressure.memory": 0.8}), frozenset({"memory"})),
    Fault("driver stopped", _with(working=0.05, answers=0.0), frozenset({"driver"})),
)  # fmt: skip


def answers(episode_cause: str) -> frozenset[str]:
    """Return the causes that an episode names: one, or two."""
    return frozenset(episode_cause.removeprefix("either ").split(" or "))
