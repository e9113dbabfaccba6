"""CPU time of the whole host by kind, its memory, and the energy of its processors.

CPU times are on Linux those of ``/proc/stat``, whose unit is the clock tick (SC_CLK_TCK, 10 ms), elsewhere psutil's.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from openslob.core.host import FigureUnknownError
from openslob.host.model import KeptFile, Sample, text_of
from openslob.metrics.cpu import is_busy

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# In the order of /proc/stat. The guest times that follow are left out: the kernel includes them in user and nice.
CPU_KINDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
CPU_NAMES = tuple(f"cpu_{kind}_s" for kind in CPU_KINDS)
_MEMINFO = {"Cached": "page_cache_bytes", "MemAvailable": "memory_available_bytes"}
MEMORY_NAMES = tuple(_MEMINFO.values())
ENERGY = "energy"  # name of the source in readings
ENERGY_NAMES = ("package_energy_j",)
NO_RAPL = "this host shows no energy counters of its processors (RAPL), like most virtual machines"
# No package takes more. A counter that is read more rarely than it can wrap around has no meaning.
MOST_WATTS = 2000.0
_POWERCAP = Path("/sys/class/powercap")


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


@dataclass
class _Package:
    """One package: its file, the size of its counter, and what was read last."""

    name: str
    file: KeptFile
    range_uj: int
    last_uj: int


class EnergyReader:
    """Adds up the energy of all processor packages since the first reading, wrap-arounds included, as RAPL counts it.

    Linux shows a counter for each package in ``/sys/class/powercap/intel-rapl:<n>``, of processors of AMD as well, in
    µJ. It wraps around at ``max_energy_range_uj``, after some minutes of full load. What is below a package (cores,
    memory) and beside it (``psys``, ``intel-rapl-mmio``) is part of it, or counted twice, and left out.

    If it is not read for so long that a counter may have wrapped around unseen, later samples have another epoch.
    ``why_none`` is the reason if there are no counters.
    """

    def __init__(self, powercap: Path = _POWERCAP, why_none: str = NO_RAPL) -> None:
        self._why = ""
        self._packages: Sequence[_Package] = ()
        self._used_uj = 0
        self._gaps = 0
        self._read_ns = 0
        try:
            self._packages = _packages(powercap, why_none)
        except FigureUnknownError as error:
            self._why = str(error)

    def read(self, now_ns: int | None = None) -> Sample:
        """Return the joules since the first reading; ``now_ns`` is the time by the monotonic clock."""
        if self._why:
            return Sample.missing(ENERGY_NAMES, self._why)
        now_ns = time.monotonic_ns() if now_ns is None else now_ns
        try:
            grown = [self._grown_uj(package) for package in self._packages]
        except (OSError, ValueError) as error:
            self.close()
            self._why = f"the energy counters can no longer be read: {getattr(error, 'strerror', error)}"
            return Sample.missing(ENERGY_NAMES, self._why)
        if self._read_ns and now_ns - self._read_ns > 1e3 * min(each.range_uj for each in self._packages) / MOST_WATTS:
            self._gaps += 1
        self._used_uj += sum(grown)
        self._read_ns = now_ns
        since = f", since they were not read for too long ({self._gaps} times)" if self._gaps else ""
        return Sample({ENERGY_NAMES[0]: self._used_uj / 1e6}, f"energy counters{since}")

    def _grown_uj(self, package: _Package) -> int:
        now_uj = int(package.file.read())
        # The counter goes up to its range and then on from 0.
        grown = (now_uj - package.last_uj) % (package.range_uj + 1)
        package.last_uj = now_uj
        return grown

    def close(self) -> None:
        """Close all files; a second call does nothing."""
        for package in self._packages:
            package.file.close()


def _packages(powercap: Path, why_none: str) -> list[_Package]:
    """Return the packages. FigureUnknownError, with what to do, if there are none or one can't be read."""
    found = [
        (name, zone)
        for zone in sorted(powercap.glob("intel-rapl:*"))
        if (name := text_of(zone / "name") or "").startswith("package")
    ]
    if not found:
        raise FigureUnknownError(why_none)
    packages: list[_Package] = []
    try:
        for name, zone in found:
            file = KeptFile(zone / "energy_uj")
            packages.append(_Package(name, file, 0, 0))
            packages[-1].last_uj = int(file.read())
            packages[-1].range_uj = int(text_of(zone / "max_energy_range_uj") or "")
    except PermissionError:
        why = f"this user may not read {zone}/energy_uj, which since Linux 5.10 only root may"
    except (OSError, ValueError):
        why = f"{zone} has no energy counter that can be read"
    else:
        return packages
    for package in packages:
        package.file.close()
    raise FigureUnknownError(why)


def page_cache_limit(pid: int | None, root: Path = Path("/")) -> int:
    """Return the host's memory in bytes, or the least limit of the process's control groups (version 2) if less.

    A control group is charged for the pages that its processes read first.
    """
    groups = text_of(root / f"proc/{pid}/cgroup") or ""
    path = next((line[3:] for line in groups.splitlines() if line.startswith("0::/")), "/")
    folder = root / "sys/fs/cgroup" / path.strip("/")
    texts = [text_of(each / "memory.max") for each in (folder, *folder.parents)]
    total = re.search(r"^MemTotal: +(\d+) kB", text_of(root / "proc/meminfo") or "", re.MULTILINE)
    host = int(total[1]) * 1024 if total else psutil.virtual_memory().total
    return min([int(text) for text in texts if text and text.isdecimal()] + [host])
