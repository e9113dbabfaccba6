"""All operating-system samplers in one reading, and what happened between two of them."""

from __future__ import annotations

import os
import re
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import add
from pathlib import Path

from openslob.host.counters import CPU_NAMES, busy_name, open_host
from openslob.host.device import DEVICE, DEVICE_NAMES, BlockDevice, devices_under, sum_of_devices
from openslob.host.model import FigureUnknownError, OsReading, Sample, text_of
from openslob.host.processes import (
    SAMPLER_NAMES,
    SERVER_NAMES,
    ProcessSampler,
    ProcessSetSampler,
    Tasks,
    process_sampler,
    together,
)
from openslob.measurement import DeviceIo, HostDelta
from openslob.process_selector import ProcessSelector
from openslob.units import NANOS


def peak_rss_bytes(proc: Path = Path("/proc")) -> float:
    """The most memory this process ever had resident, in bytes.

    ``VmHWM`` where it exists, because ``ru_maxrss`` survives exec on Linux: there it may be the parent's peak. It is
    in KiB on Linux and in bytes on macOS.
    """
    for line in (text_of(proc / "self/status") or "").splitlines():
        if line.startswith("VmHWM:"):
            return float(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)


def read_driver(peak: bool = True) -> Sample:
    """CPU seconds of all threads of this process (children left out: a server it started is not its cost), peak RSS.

    The peak is left out on demand: it costs more to read than all the rest.
    """
    values, unknown = {"driver_cpu_s": time.process_time_ns() / 1e9}, {}
    if peak:
        values["driver_peak_rss_bytes"] = peak_rss_bytes()
    else:
        unknown["driver_peak_rss_bytes"] = "it is read at the end of the window only"
    return Sample(values, f"process {os.getpid()}", unknown)


CPUS_NAMES = ("server_cpus_busy_s",)


class OsReader:
    """Reads host, server, samplers, device and driver; one reading costs some milliseconds at 300 sessions.

    ``servers`` select the processes of the server, or of each server of a cluster, and ``data_directories`` are where
    the data are; none when not known, for the reason ``why_unknown``. I/O is summed over the devices under them.
    ``sampler_pids`` returns the server processes of the product's own sampling sessions.
    """

    def __init__(
        self,
        servers: Sequence[ProcessSelector],
        data_directories: Sequence[Path],
        sampler_pids: Callable[[], list[int]],
        why_unknown: str = "the server is not known to be on this host",
    ) -> None:
        self._sampler_pids = sampler_pids
        self._why_no_server = self._why_no_device = why_unknown
        self._servers: list[ProcessSampler | ProcessSetSampler] = []
        self._devices: list[BlockDevice] = []
        self._host = open_host()
        try:
            self._servers = [process_sampler(selector) for selector in servers]
        except FigureUnknownError as error:
            self._why_no_server = str(error)
        try:
            self._devices = [BlockDevice(folder) for folder in devices_under(data_directories)]
        except FigureUnknownError as error:
            self._why_no_device = str(error)

    def read(self, full_scan: bool = True) -> OsReading:
        """Everything now; what can't be read has its reason in its sample.

        ``full_scan``: see `ProcessSampler.read`; the driver's peak memory, which only ever rises, is read then only.
        """
        time_ns = time.monotonic_ns()
        host, memory, devices = self._host.cpu(), self._host.memory(), self._read_devices()
        server = self._read_server(host, full_scan)
        return OsReading(
            time_ns, {"host": host, "memory": memory, **devices, **server, "driver": read_driver(full_scan)}
        )

    def tasks(self) -> Tasks:
        """Every process and thread of the servers as they were last read; none when they are not on this host."""
        return {task: stat for server in self._servers for task, stat in server.tasks().items()}

    def close(self) -> None:
        """Release every handle; a second time does nothing."""
        for part in (self._host, *self._servers, *self._devices):
            part.close()

    def _read_devices(self) -> dict[str, Sample]:
        """Return what all devices did as source ``device``; of several devices each as a source of its own too."""
        if not self._devices:
            return {DEVICE: Sample.missing(DEVICE_NAMES, self._why_no_device)}
        samples = [device.read() for device in self._devices]
        own = {f"{DEVICE} {device.name}": sample for device, sample in zip(self._devices, samples, strict=True)}
        return {DEVICE: samples[0]} if len(samples) == 1 else {DEVICE: sum_of_devices(samples), **own}

    def _read_server(self, host: Sample, full_scan: bool) -> dict[str, Sample]:
        why = self._why_no_server
        if self._servers:
            try:
                reading = together([server.read(full_scan) for server in self._servers])
                samplers = reading.samplers(self._sampler_pids())
                return {"server": reading.server(), "sampler": samplers, "cpus": _cpus(host, reading.cpus)}
            except FigureUnknownError as error:
                why = str(error)
        names = {"server": SERVER_NAMES, "sampler": SAMPLER_NAMES, "cpus": CPUS_NAMES}
        return {source: Sample.missing(each, why) for source, each in names.items()}


def _cpus(host: Sample, cpus: frozenset[int] | None) -> Sample:
    """Busy time of the CPUs that the server may run on, whoever used them: interrupts are in no process's time."""
    if cpus is None or any(busy_name(cpu) not in host.values for cpu in cpus):
        return Sample.missing(CPUS_NAMES, "this system does not tell how busy each CPU is, or which the server may use")
    busy = sum(host.values[busy_name(cpu)] for cpu in cpus)
    return Sample({CPUS_NAMES[0]: busy}, f"the server on CPUs {', '.join(map(str, sorted(cpus)))}")


class _Interval:
    """Differences of two readings; collects the reason for each figure that has none."""

    def __init__(self, before: OsReading, after: OsReading) -> None:
        self._before, self._after = before, after
        self.unknown: dict[str, str] = {}

    def grown(self, source: str, names: Sequence[str], figure: str) -> list[float] | None:
        """By how much each of ``names`` grew; None, with one reason for ``figure``, unless all are known."""
        first, last = self._before.sources[source], self._after.sources[source]
        reason = _why_no_difference(first, last, names)
        if reason:
            self.unknown[figure] = reason
            return None
        return [last.values[name] - first.values[name] for name in names]

    def one(self, source: str, name: str) -> float | None:
        """By how much ``name`` grew."""
        grown = self.grown(source, (name,), name)
        return grown[0] if grown else None

    def level(self, reading: OsReading, source: str, name: str, figure: str) -> float | None:
        """A value that is not a counter, as it was in ``reading``."""
        sample = reading.sources[source]
        if name not in sample.values:
            self.unknown[figure] = _why_missing(sample, name)
        return sample.values.get(name)


def _why_missing(sample: Sample, name: str) -> str:
    return sample.unknown.get(name, f"{name} is not told by this system")


def _why_no_difference(first: Sample, last: Sample, names: Sequence[str]) -> str | None:
    for sample in (first, last):
        missing = next((name for name in names if name not in sample.values), None)
        if missing:
            return _why_missing(sample, missing)
    if first.epoch != last.epoch:
        return f"it changed meanwhile: {first.epoch}, then {last.epoch}"
    fallen = next((name for name in names if last.values[name] < first.values[name]), None)
    return f"the counter {fallen} fell: it was reset, or wrapped" if fallen else None


def difference(before: OsReading, after: OsReading) -> HostDelta:
    """What the operating system says of the interval; a figure that can't be told is None, its reason in ``unknown``.

    ``cpu`` has the kinds this system tells. Memory available and the driver's peak are those of ``after``.
    """
    interval = _Interval(before, after)
    told = {*before.sources["host"].values, *after.sources["host"].values}
    kinds = [name for name in CPU_NAMES if name in told] or CPU_NAMES
    cpu = interval.grown("host", kinds, "cpu")
    cores = interval.level(after, "host", "cores", "cores")
    server_cores = interval.level(after, "server", "server_cores", "server_cores")
    return HostDelta(
        seconds=(after.time_ns - before.time_ns) / NANOS,
        cores=int(cores or 0),
        cpu=dict(zip((name[4:-2] for name in kinds), cpu, strict=True)) if cpu else None,
        server_cpu_s=interval.one("server", "server_cpu_s"),
        sampler_cpu_s=interval.one("sampler", "sampler_cpu_s"),
        server_cpus_busy_s=interval.one("cpus", "server_cpus_busy_s"),
        server_cores=None if server_cores is None else int(server_cores),
        server_read_bytes=interval.one("server", "server_read_bytes"),
        server_write_bytes=interval.one("server", "server_write_bytes"),
        driver_cpu_s=interval.one("driver", "driver_cpu_s"),
        driver_peak_rss_bytes=interval.level(after, "driver", "driver_peak_rss_bytes", "driver_peak_rss_bytes"),
        device=_device_io(interval, after),
        page_cache_bytes_before=interval.level(before, "memory", "page_cache_bytes", "page_cache_bytes_before"),
        page_cache_bytes_after=interval.level(after, "memory", "page_cache_bytes", "page_cache_bytes_after"),
        memory_available_bytes=interval.level(after, "memory", "memory_available_bytes", "memory_available_bytes"),
        unknown=interval.unknown,
    )


def _device_io(interval: _Interval, after: OsReading) -> DeviceIo | None:
    """Return what the devices did; None unless all are known, with one reason for ``device``."""
    several = [source for source in after.sources if source.startswith(f"{DEVICE} ")]
    parts = []
    for source in several or [DEVICE]:
        grown = interval.grown(source, DEVICE_NAMES, "device")
        if grown is None:
            return None
        reads, read_bytes, read_ms, writes, write_bytes, write_ms, busy_ms = grown
        name = after.sources[source].epoch.removeprefix("block device ")
        parts.append(DeviceIo(name, reads, read_bytes, read_ms, writes, write_bytes, write_ms, busy_ms))
    return reduce(add, parts)


NOT_TOLD_APART = "not told apart"
# Threads of one kind are often numbered.
_NUMBER = re.compile(r"[-_/:]?\d+$")
# Clock ticks are 10 ms; more digits are what binary fractions add.
_DIGITS = 6
WHY_NONE = "the server's processes and threads could not be told apart"


def cpu_by_kind(before: Tasks, after: Tasks, kinds: Mapping[int, str], server_cpu_s: float) -> dict[str, float] | None:
    """CPU seconds by kind between two readings; None when no kind is known of any.

    ``kinds`` are the engine's words by the system's number. ``server_cpu_s`` is the server's CPU of the interval, from
    which what was not told apart is reckoned: the clock ticks of many tasks, rounded down, make it uncertain by some.
    """
    program = next(iter(after.values())).name if after else ""  # the main process comes first
    found: dict[str, float] = defaultdict(float)
    for task, now in after.items():
        kind = kinds.get(task[0]) or (_NUMBER.sub("", now.name) if now.name != program else None)
        if kind:
            found[kind] += now.cpu_s - (before[task].cpu_s if task in before else 0.0)
    if not found:
        return None
    told = {**found, NOT_TOLD_APART: max(0.0, server_cpu_s - sum(found.values()))}
    return {kind: round(seconds, _DIGITS) for kind, seconds in told.items()}
