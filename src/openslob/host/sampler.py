"""Readings of all operating-system counters at a fixed interval, and the differences between two readings."""

from __future__ import annotations

import os
import re
import resource
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import add
from pathlib import Path

from openslob.core.host import FigureUnknownError, Host
from openslob.core.measurement import DeviceIo, GroupUse, HostDelta
from openslob.core.process_selector import ProcessSelector, ProcessTree
from openslob.core.units import NANOS
from openslob.host.counters import (
    CPU_NAMES,
    ENERGY,
    ENERGY_NAMES,
    MEMORY_NAMES,
    NO_RAPL,
    EnergyReader,
    busy_name,
    open_host,
)
from openslob.host.device import DEVICE, DEVICE_NAMES, BlockDevice, sum_of_devices
from openslob.host.limits import (
    CGROUP,
    COUNTERS,
    CPU_QUOTA,
    EXCEEDED_NAMES,
    GROUP_NAMES,
    INSTANCE,
    PRESSURE,
    PRESSURE_NAMES,
    VOLUME,
    LimitsReader,
)
from openslob.host.model import OsReading, Sample, text_of
from openslob.host.processes import (
    SAMPLER_NAMES,
    SERVER_NAMES,
    ProcessClockSampler,
    ProcessSetSampler,
    ProcessTreeSampler,
    Tasks,
    combine_readings,
    process_sampler,
)
from openslob.host.this_host import HERE

CPUS_NAMES = ("server_cpus_busy_s",)
# Reading another host takes 1 % of one of its CPUs at most. A few readings show what one costs to about a fifth, since
# CPU time is counted in ticks: so less is planned.
_PLANNED_SHARE, _TRIALS = 0.008, 5
UNATTRIBUTED = "not told apart"
# Threads of one kind often have numbered names.
_NUMBER = re.compile(r"[-_/:]?\d+$")
# Clock ticks are 10 ms: further digits are binary rounding.
_DIGITS = 6
WHY_UNATTRIBUTED = "the kinds of the server's processes and threads are unknown"


def peak_rss_bytes(proc: Path = Path("/proc")) -> float:
    """Return the peak resident memory of this process in bytes.

    On Linux from ``VmHWM``, because ``ru_maxrss`` survives exec there and may be the parent's peak. ``ru_maxrss`` is in
    KiB on Linux and in bytes on macOS.
    """
    for line in (text_of(proc / "self/status") or "").splitlines():
        if line.startswith("VmHWM:"):
            return float(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)


def read_driver(peak: bool = True) -> Sample:
    """Return CPU seconds of this process, all threads but no children, and its peak resident memory.

    A server that slob started is a child and not a cost of the driver. The peak is optional, because reading it costs
    more than all the rest.
    """
    values, unknown = {"driver_cpu_s": time.process_time_ns() / 1e9}, {}
    if peak:
        values["driver_peak_rss_bytes"] = peak_rss_bytes()
    else:
        unknown["driver_peak_rss_bytes"] = "it is read at the end of the window only"
    return Sample(values, f"process {os.getpid()}", unknown)


class OsReader:
    """Reads the counters of host, server, samplers, devices and driver, energy and limits; quick with 300 sessions.

    ``servers`` select the processes of the server, or of each server of a cluster. ``data_directories`` contain the
    data; the I/O of all devices under them is summed. Both are empty if unknown, for the reason ``why_unknown``, or
    ``why_no_device`` for the directories, if that is another one.
    ``sampler_pids`` returns the pids of the server processes of slob's own sampling sessions. ``cpu_alone``: of the
    server's processes only the CPU is read, exactly and at little cost. ``host`` is the servers' one.
    """

    def __init__(
        self,
        servers: Sequence[ProcessSelector],
        data_directories: Sequence[Path],
        sampler_pids: Callable[[], list[int]],
        why_unknown: str = "the server is not known to be on this host",
        cpu_alone: bool = False,
        host: Host = HERE,
        why_no_device: str = "",
    ) -> None:
        self._where = host
        self._sampler_pids = sampler_pids
        self._why_no_server, self._why_no_device = why_unknown, why_no_device or why_unknown
        self._servers: list[ProcessTreeSampler | ProcessSetSampler] = []
        self._devices: list[BlockDevice] = []
        self._host = open_host(host.root / "proc")
        try:
            self._servers = [_open_sampler(selector, cpu_alone, host) for selector in servers]
        except FigureUnknownError as error:
            self._why_no_server = str(error)
        folders: list[Path] = []
        try:
            folders = list(dict.fromkeys(map(host.find_device, data_directories)))
            self._devices = [BlockDevice(folder) for folder in folders]
        except FigureUnknownError as error:
            self._why_no_device = str(error)
        self._limits = LimitsReader(servers, folders, self._why_no_device, host, self._why_no_server)
        why_no_energy = f"the energy of the processors of {host.where} is not read" if host.where else NO_RAPL
        self._energy = EnergyReader(host.root / "sys/class/powercap", why_no_energy)

    def read(self, full_scan: bool = True) -> OsReading:
        """Return a reading. Samples have the reasons of values that can't be read.

        A full scan looks for new processes (`ProcessTreeSampler.read`) and reads the driver's peak memory.
        """
        driver = {"driver": read_driver(full_scan)}
        asked_ns = time.monotonic_ns()
        try:
            time_ns = self._where.refresh(again=not full_scan)
        except FigureUnknownError as error:
            return OsReading(asked_ns, {**_missing(str(error)), **driver})
        host, memory, devices = self._host.cpu(), self._host.memory(), self._read_devices()
        server, energy = self._read_server(host, full_scan), {ENERGY: self._energy.read(time_ns)}
        limits = self._limits.read()
        return OsReading(time_ns, {"host": host, "memory": memory, **devices, **server, **driver, **energy, **limits})

    def tasks(self) -> Tasks:
        """Return all threads of the servers' processes of the last reading; none if they are not known."""
        try:
            return {task: stat for server in self._servers for task, stat in server.tasks().items()}
        except FigureUnknownError:
            return {}

    def price(self) -> tuple[float, float]:
        """Return the seconds that a reading of another host takes, and how far apart they must be; zeros for this one.

        So far apart, they take at most 1 % of a CPU there.
        """
        if not self._where.where:
            return 0.0, 0.0
        try:
            begun_s, before_s = time.monotonic(), self._where.cpu_s()
            for _ in range(_TRIALS):
                self.read(full_scan=False)
            took_s, cpu_s = time.monotonic() - begun_s, self._where.cpu_s() - before_s
        except FigureUnknownError:
            return 0.0, 0.0
        return took_s / _TRIALS, cpu_s / _TRIALS / _PLANNED_SHARE

    def close(self) -> None:
        """Close all files; a second call does nothing."""
        for part in (self._host, *self._servers, *self._devices, self._limits, self._energy):
            part.close()

    def _read_devices(self) -> dict[str, Sample]:
        """Return the sum of all devices as source ``device``; with several devices, also each as its own source."""
        if not self._devices:
            return {DEVICE: Sample.missing(DEVICE_NAMES, self._why_no_device)}
        samples = [device.read() for device in self._devices]
        own = {f"{DEVICE} {device.name}": sample for device, sample in zip(self._devices, samples, strict=True)}
        return {DEVICE: samples[0]} if len(samples) == 1 else {DEVICE: sum_of_devices(samples), **own}

    def _read_server(self, host: Sample, full_scan: bool) -> dict[str, Sample]:
        why = self._why_no_server
        if self._servers:
            try:
                reading = combine_readings([server.read(full_scan) for server in self._servers])
                samplers = reading.samplers(self._sampler_pids())
                return {"server": reading.server(), "sampler": samplers, "cpus": _cpus(host, reading.cpus)}
            except FigureUnknownError as error:
                why = str(error)
        names = {"server": SERVER_NAMES, "sampler": SAMPLER_NAMES, "cpus": CPUS_NAMES}
        return {source: Sample.missing(each, why) for source, each in names.items()}


def _missing(why: str) -> dict[str, Sample]:
    """Return the samples of a host that can't be read any more."""
    names = {
        "host": (*CPU_NAMES, "cores"), "memory": MEMORY_NAMES, DEVICE: DEVICE_NAMES, "server": SERVER_NAMES,
        "sampler": SAMPLER_NAMES, "cpus": CPUS_NAMES, ENERGY: ENERGY_NAMES, CGROUP: GROUP_NAMES,
        PRESSURE: PRESSURE_NAMES, VOLUME: EXCEEDED_NAMES, INSTANCE: EXCEEDED_NAMES,
    }  # fmt: skip
    return {source: Sample.missing(each, why) for source, each in names.items()}


def _open_sampler(selector: ProcessSelector, cpu_alone: bool, host: Host) -> ProcessTreeSampler | ProcessSetSampler:
    # Only this host's kernel can be asked for the clock of a process.
    if cpu_alone and isinstance(selector, ProcessTree) and not host.where:
        return ProcessClockSampler(selector.main_pid)
    return process_sampler(selector, host.processes(), cpu_alone and bool(host.where))


def _cpus(host: Sample, cpus: frozenset[int] | None) -> Sample:
    """Return the busy time of the CPUs that the server may use, which includes interrupts, unlike processes' times."""
    if cpus is None or any(busy_name(cpu) not in host.values for cpu in cpus):
        return Sample.missing(CPUS_NAMES, "the busy time of each CPU, or the CPUs that the server may use, are unknown")
    busy = sum(host.values[busy_name(cpu)] for cpu in cpus)
    return Sample({CPUS_NAMES[0]: busy}, f"the server on CPUs {', '.join(map(str, sorted(cpus)))}")


class _Difference:
    """The difference of two readings. ``unknown`` collects the reason of each figure without a difference."""

    def __init__(self, before: OsReading, after: OsReading) -> None:
        self._before, self._after = before, after
        self.unknown: dict[str, str] = {}

    def changes(self, source: str, names: Sequence[str], figure: str) -> list[float] | None:
        """Return the increases of ``names``; None, with a reason for ``figure``, if one is unknown."""
        first, last = (each.sources.get(source, Sample()) for each in (self._before, self._after))
        reason = _why_no_difference(first, last, names)
        if reason:
            self.unknown[figure] = reason
            return None
        return [last.values[name] - first.values[name] for name in names]

    def change(self, source: str, name: str) -> float | None:
        """Return the increase of ``name``."""
        changes = self.changes(source, (name,), name)
        return changes[0] if changes else None

    def level(self, reading: OsReading, source: str, name: str, figure: str) -> float | None:
        """Return a value of ``reading`` that is not a counter."""
        sample = reading.sources[source]
        if name not in sample.values:
            self.unknown[figure] = _why_missing(sample, name)
        return sample.values.get(name)


def _why_missing(sample: Sample, name: str) -> str:
    return sample.unknown.get(name, f"this system does not report {name}")


def _why_no_difference(first: Sample, last: Sample, names: Sequence[str]) -> str | None:
    for sample in (first, last):
        missing = next((name for name in names if name not in sample.values), None)
        if missing:
            return _why_missing(sample, missing)
    if first.epoch != last.epoch:
        return f"it changed in between: {first.epoch}, then {last.epoch}"
    fallen = next((name for name in names if last.values[name] < first.values[name]), None)
    return f"the counter {fallen} fell: it was reset or wrapped" if fallen else None


def difference(before: OsReading, after: OsReading) -> HostDelta:
    """Return the changes between two readings. Unknown figures are None, with the reason in ``unknown``.

    ``cpu`` has the kinds that this system reports. Available memory and the driver's peak are those of ``after``.
    """
    interval = _Difference(before, after)
    known = {*before.sources["host"].values, *after.sources["host"].values}
    kinds = [name for name in CPU_NAMES if name in known] or CPU_NAMES
    cpu = interval.changes("host", kinds, "cpu")
    cores = interval.level(after, "host", "cores", "cores")
    server_cores = interval.level(after, "server", "server_cores", "server_cores")
    return HostDelta(
        seconds=(after.time_ns - before.time_ns) / NANOS,
        cores=int(cores or 0),
        cpu=dict(zip((name[4:-2] for name in kinds), cpu, strict=True)) if cpu else None,
        server_cpu_s=interval.change("server", "server_cpu_s"),
        sampler_cpu_s=interval.change("sampler", "sampler_cpu_s"),
        server_cpus_busy_s=interval.change("cpus", "server_cpus_busy_s"),
        server_cores=None if server_cores is None else int(server_cores),
        server_read_bytes=interval.change("server", "server_read_bytes"),
        server_write_bytes=interval.change("server", "server_write_bytes"),
        package_energy_j=interval.change(ENERGY, ENERGY_NAMES[0]),
        driver_cpu_s=interval.change("driver", "driver_cpu_s"),
        driver_peak_rss_bytes=interval.level(after, "driver", "driver_peak_rss_bytes", "driver_peak_rss_bytes"),
        device=_device_io(interval, after),
        page_cache_bytes_before=interval.level(before, "memory", "page_cache_bytes", "page_cache_bytes_before"),
        page_cache_bytes_after=interval.level(after, "memory", "page_cache_bytes", "page_cache_bytes_after"),
        memory_available_bytes=interval.level(after, "memory", "memory_available_bytes", "memory_available_bytes"),
        group=_group_use(interval, after),
        server_runqueue_s=interval.change("server", "server_runqueue_s"),
        unknown=interval.unknown,
    )


def _group_use(interval: _Difference, after: OsReading) -> GroupUse | None:
    counted = interval.changes(CGROUP, COUNTERS[:3], "group") if CGROUP in after.sources else None
    if counted is None:
        return None
    return GroupUse(after.sources[CGROUP].values.get(CPU_QUOTA), *counted)


def _device_io(interval: _Difference, after: OsReading) -> DeviceIo | None:
    """Return the sum of the devices' I/O; None, with one reason for ``device``, if one is unknown."""
    several = [source for source in after.sources if source.startswith(f"{DEVICE} ")]
    parts = []
    for source in several or [DEVICE]:
        changes = interval.changes(source, DEVICE_NAMES, "device")
        if changes is None:
            return None
        reads, read_bytes, read_ms, writes, write_bytes, write_ms, busy_ms = changes
        name = after.sources[source].epoch.removeprefix("block device ")
        parts.append(DeviceIo(name, reads, read_bytes, read_ms, writes, write_bytes, write_ms, busy_ms))
    return reduce(add, parts)


def cpu_by_kind(before: Tasks, after: Tasks, kinds: Mapping[int, str], server_cpu_s: float) -> dict[str, float] | None:
    """Return the server's CPU seconds by kind of task between two readings; None if no task has a known kind.

    ``kinds`` has the engine's names for tasks by their ids. A task without one has the name of its thread, unless that
    is the program's name. `UNATTRIBUTED` is the rest of ``server_cpu_s``, the server's CPU between the readings: tasks
    without a kind, and tasks that ended. Clock ticks of tasks are rounded down, so that it is slightly too large.
    """
    program = next(iter(after.values())).name if after else ""  # the main process comes first
    by_kind: dict[str, float] = defaultdict(float)
    for task, now in after.items():
        kind = kinds.get(task[0]) or (_NUMBER.sub("", now.name) if now.name != program else None)
        if kind:
            by_kind[kind] += now.cpu_s - (before[task].cpu_s if task in before else 0.0)
    if not by_kind:
        return None
    by_kind[UNATTRIBUTED] = max(0.0, server_cpu_s - sum(by_kind.values()))
    return {kind: round(seconds, _DIGITS) for kind, seconds in by_kind.items()}


def next_tick(last: int, now_ns: int, t0_ns: int, interval_ns: int) -> tuple[int, int]:
    """Return the number of the next tick after ``last``, and how many ticks were missed, being due before ``now_ns``.

    Tick k is due at t0 + k × interval. A missed tick is not made up for: its reading would have a wrong time.
    """
    upcoming = -((t0_ns - now_ns) // interval_ns)
    number = max(last + 1, upcoming)
    return number, number - last - 1


class Ticker:
    """Calls ``action`` at t0, t0 + interval, … on a separate thread until `stop`.

    ``done`` counts the actions, ``missed`` the ticks that were skipped because an action took too long. An exception in
    the action ends the ticker; it is in ``error`` at once, and `stop` returns it.
    """

    def __init__(
        self,
        interval_s: float,
        action: Callable[[], None],
        name: str = "ticker",
        stopping: threading.Event | None = None,
    ) -> None:
        self.done = 0
        self.missed = 0
        self.error: Exception | None = None
        self._interval_ns = round(interval_s * NANOS)
        self._action = action
        self._name = name
        self._stop = stopping or threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, t0_ns: int | None = None) -> None:
        """Start the thread, once. The first action is at ``t0_ns`` (``time.monotonic_ns``), or now."""
        t0 = time.monotonic_ns() if t0_ns is None else t0_ns
        self._thread = threading.Thread(target=self.run, args=(t0,), name=self._name, daemon=True)
        self._thread.start()

    def stop(self, wait: bool = True) -> Exception | None:
        """Stop, after the current action if there is one. Return the exception that ended the ticker, if any.

        Without ``wait`` that action may still be under way.
        """
        self._stop.set()
        if self._thread and wait:
            self._thread.join()
        return self.error

    def run(self, t0_ns: int) -> None:
        """Act from ``t0_ns`` on in the calling thread, until ``stopping`` is set or an action fails."""
        tick = 0
        while not self._stop.wait(max(0, t0_ns + tick * self._interval_ns - time.monotonic_ns()) / NANOS):
            try:
                self._action()
            except Exception as error:  # the owner receives it from `stop`
                self.error = error
                return
            self.done += 1
            tick, missed = next_tick(tick, time.monotonic_ns(), t0_ns, self._interval_ns)
            self.missed += missed
