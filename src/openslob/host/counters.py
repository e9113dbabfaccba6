"""CPU time of the whole host by kind, and its memory.

On Linux from ``/proc/stat``, whose unit is the clock tick (SC_CLK_TCK, 10 ms), elsewhere from psutil.
"""

from __future__ import annotations

import os
from pathlib import Path

import psutil

from openslob.host.model import KeptFile, Sample
from openslob.metrics.cpu import is_busy

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# In the order of /proc/stat. The guest times that follow are left out: the kernel includes them in user and nice.
CPU_KINDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
CPU_NAMES = tuple(f"cpu_{kind}_s" for kind in CPU_KINDS)
_MEMINFO = {"Cached": "page_cache_bytes", "MemAvailable": "memory_available_bytes"}


def parse_cpu(text: str) -> Sample:
    """Return ``/proc/stat`` as seconds by kind of all online CPUs, their number ``cores``, and busy seconds of each.

    Kinds that the kernel lacks have no value. Busy time is defined in `openslob.metrics.cpu`. The number of CPUs is the
    epoch, because the sums change when a CPU goes on- or offline.
    """
    lines = [line.split() for line in text.splitlines() if line.startswith("cpu")]
    cores = sum(line[0] != "cpu" for line in lines)
    total = next((line[1:] for line in lines if line[0] == "cpu"), [])
    if not total or not cores:
        return Sample.missing((*CPU_NAMES, "cores"), "/proc/stat has no CPU times")
    times = {name: int(ticks) / TICKS_PER_S for name, ticks in zip(CPU_NAMES, total, strict=False)}
    busy = {busy_name(line[0][3:]): _busy_s(line[1:]) for line in lines if line[0] != "cpu"}
    return Sample(values={**times, "cores": cores, **busy}, epoch=f"{cores} CPUs")


def busy_name(cpu: int | str) -> str:
    """Return the name of the busy seconds of one CPU."""
    return f"cpu{cpu}_busy_s"


def _busy_s(ticks: list[str]) -> float:
    return sum(int(each) for kind, each in zip(CPU_KINDS, ticks, strict=False) if is_busy(kind)) / TICKS_PER_S


def parse_memory(text: str) -> Sample:
    """Return page cache and available memory from ``/proc/meminfo``, in bytes.

    The page cache is ``Cached``, which includes shared memory. ``MemAvailable`` exists since Linux 3.14.
    """
    found = {name: f"\n{text}".partition(f"\n{key}:")[2] for key, name in _MEMINFO.items()}
    values = {name: float(rest.split(None, 1)[0]) * 1024 for name, rest in found.items() if rest}
    unknown = {name: f"/proc/meminfo has no {key}" for key, name in _MEMINFO.items() if name not in values}
    return Sample(values=values, unknown=unknown)


class LinuxHost:
    """Host CPU and memory from /proc, with files that stay open."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._stat = KeptFile(proc / "stat")
        self._memory = KeptFile(proc / "meminfo")

    def cpu(self) -> Sample:
        """Return host CPU seconds by kind since boot, ``cores``, and the busy seconds of each CPU."""
        return parse_cpu(self._stat.read())

    def memory(self) -> Sample:
        """Return page cache and available memory in bytes."""
        return parse_memory(self._memory.read())

    def close(self) -> None:
        """Close the files."""
        self._stat.close()
        self._memory.close()


class PortableHost:
    """Host CPU and memory from psutil, for systems without /proc."""

    def cpu(self) -> Sample:
        """Return host CPU seconds since boot by the kinds that this system has, and ``cores``."""
        times = psutil.cpu_times()._asdict()
        cores = psutil.cpu_count() or 0
        values = {f"cpu_{kind}_s": float(times[kind]) for kind in CPU_KINDS if kind in times}
        return Sample(values={**values, "cores": cores}, epoch=f"{cores} CPUs")

    def memory(self) -> Sample:
        """Return available memory in bytes."""
        available = float(psutil.virtual_memory().available)
        return Sample(
            values={"memory_available_bytes": available},
            unknown={"page_cache_bytes": "this system does not report the size of its page cache"},
        )

    def close(self) -> None:
        """Do nothing: no file is open."""


def open_host(proc: Path = Path("/proc")) -> LinuxHost | PortableHost:
    """Return the reader for this system."""
    return LinuxHost(proc) if (proc / "stat").exists() and (proc / "meminfo").exists() else PortableHost()
