"""The limits of the server's control groups, and for how long its CPU quota held the server back.

Both versions of the kernel's interface are read, also side by side, as the mounts in ``/proc/self/mountinfo`` say. A
limit of a group holds for all groups below it: the tightest one on the way up counts, as far as it can be seen from
here. Version 1 alone applies the limits on I/O of a group to that group only.

``cpu_throttled_s`` is the sum over CPUs of the time for which tasks were ready and held back. ``cpu_periods`` are the
periods in which the group had something to do, ``cpu_periods_throttled`` those in which its quota was used up. Counters
are sums over the groups on the way up, of which hardly ever more than one has a quota.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from openslob.host.model import KeptFile, Sample
from openslob.host.pressure import Pressure

CGROUP = "cgroup"
_IO_LIMITS = {"riops": "read_limit", "wiops": "write_limit", "rbps": "read_bytes_limit", "wbps": "write_bytes_limit"}
# Version 1 has a file for each limit on I/O.
_IO_FILES = {
    "blkio.throttle.read_iops_device": "read_limit",
    "blkio.throttle.write_iops_device": "write_limit",
    "blkio.throttle.read_bps_device": "read_bytes_limit",
    "blkio.throttle.write_bps_device": "write_bytes_limit",
}
CPU_QUOTA = "cpu_quota"
LIMITS = (CPU_QUOTA, *_IO_FILES.values(), "memory_limit_bytes")
COUNTERS = ("cpu_throttled_s", "cpu_periods", "cpu_periods_throttled", "oom_kills")
GROUP_NAMES = (*LIMITS, *COUNTERS, "memory_bytes")
# Version 1 says "no limit" by the largest number of pages.
_NO_MEMORY_LIMIT = 1 << 60
_FILES = (
    *("cpu.max", "cpu.stat", "io.max", "memory.max", "memory.current", "memory.events"),
    *("cpu.cfs_quota_us", "cpu.cfs_period_us", *_IO_FILES),
    *("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control"),
)


@dataclass(frozen=True)
class Hierarchy:
    """A mounted hierarchy of control groups; ``controllers`` are empty for version 2. ``root`` is what is mounted."""

    point: Path
    root: str
    controllers: frozenset[str]


def parse_hierarchies(mountinfo: str) -> list[Hierarchy]:
    """Return all hierarchies in the text of ``/proc/<pid>/mountinfo``."""
    found = []
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields, kinds = left.split(), right.split()
        if kinds and kinds[0] in ("cgroup", "cgroup2"):
            controllers = frozenset(kinds[-1].split(",")) if kinds[0] == "cgroup" else frozenset[str]()
            found.append(Hierarchy(Path(fields[4]), fields[3], controllers))
    return found


def group_folders(groups: str, hierarchies: Iterable[Hierarchy]) -> Mapping[str, Path]:
    """Return the folder of a process's group by controller, and under an empty name that of version 2.

    ``groups`` is the text of ``/proc/<pid>/cgroup``. A group outside of what is mounted here has no folder.
    """
    folders: dict[str, Path] = {}
    for line in groups.splitlines():
        _, names, path = line.split(":", 2)
        for hierarchy in hierarchies:
            below = _below(path, hierarchy.root)
            if below is None or not (set(names.split(",")) & hierarchy.controllers or names == ""):
                continue
            if bool(names) == bool(hierarchy.controllers):
                folders |= dict.fromkeys(names.split(","), hierarchy.point / below)
    return folders


def _below(path: str, root: str) -> str | None:
    if "/.." in path:
        return None
    if root == "/":
        return path.strip("/")
    return path.removeprefix(root).strip("/") if f"{path}/".startswith(f"{root}/") else None


def parse_limits(text: str, device: str) -> dict[str, float]:
    """Return the limits on a device's I/O in ``io.max``, by name; ``device`` is ``major:minor``."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        number, *limits = line.split()
        if number == device:
            pairs = (limit.partition("=")[::2] for limit in limits)
            found |= {_IO_LIMITS[key]: float(value) for key, value in pairs if key in _IO_LIMITS and value != "max"}
    return found


@dataclass(frozen=True)
class _Level:
    """One group on the way up: the texts of its files."""

    texts: Mapping[str, str]

    def number(self, file: str, key: str = "") -> float | None:
        """Return the number in a file, or behind a key in it; None if there is none, as for ``max``."""
        words = self.texts.get(file, "").split()
        if key:
            words = words[words.index(key) + 1 :] if key in words else []
        return float(words[0]) if words and words[0].lstrip("-").isdigit() else None

    def quota(self) -> float | None:
        """Return the CPUs that the group may use."""
        limit, period = self.number("cpu.max"), self.texts.get("cpu.max", "").partition(" ")[2]
        if limit is not None and period:
            return limit / float(period)
        limit, cfs_period = self.number("cpu.cfs_quota_us"), self.number("cpu.cfs_period_us")
        return limit / cfs_period if limit is not None and limit > 0 and cfs_period else None

    def cpu(self) -> tuple[float, float, float] | None:
        """Return seconds held back, periods, and periods in which the group was held back."""
        periods, throttled = self.number("cpu.stat", "nr_periods"), self.number("cpu.stat", "nr_throttled")
        if periods is None or throttled is None:
            return None
        us, ns = self.number("cpu.stat", "throttled_usec"), self.number("cpu.stat", "throttled_time")
        return (us * 1e-6 if us is not None else (ns or 0.0) * 1e-9), periods, throttled

    def memory(self) -> tuple[float, float | None]:
        """Return the limit of memory, infinite if there is none, and what is used."""
        for limit_file, used_file in (
            ("memory.max", "memory.current"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ):
            limit = self.number(limit_file)
            if limit is not None and limit < _NO_MEMORY_LIMIT:
                return limit, self.number(used_file)
        return float("inf"), self.number("memory.current") or self.number("memory.usage_in_bytes")

    def io_limits(self, device: str) -> dict[str, float]:
        """Return the limits on a device's I/O by name."""
        found = parse_limits(self.texts.get("io.max", ""), device)
        for file, name in _IO_FILES.items():
            if (limit := self.number(file, device)) is not None:
                found[name] = limit
        return found


def sample_of(levels: Sequence[_Level], device: str | None) -> dict[str, float]:
    """Return the figures of a group that is the first of ``levels``, below the others. Unknown ones are left out."""
    values: dict[str, float] = {}
    quotas = [quota for level in levels if (quota := level.quota()) is not None]
    if quotas:
        values[CPU_QUOTA] = min(quotas)
    cpu = [counted for level in levels if (counted := level.cpu()) is not None]
    if cpu:
        values.update(zip(COUNTERS, map(sum, zip(*cpu, strict=True)), strict=False))
    limit, used = min((level.memory() for level in levels), key=lambda memory: memory[0], default=(float("inf"), None))
    if limit < float("inf"):
        values["memory_limit_bytes"] = limit
    if used is not None:
        values["memory_bytes"] = used
    for file in ("memory.events", "memory.oom_control") if levels else ():
        if (kills := levels[0].number(file, "oom_kill")) is not None:
            values["oom_kills"] = kills
    for number, level in enumerate(levels):
        for name, limit in level.io_limits(device).items() if device else ():
            if number == 0 or "io.max" in level.texts:
                values[name] = min(limit, values.get(name, limit))
    return values


class ServerGroup:
    """Reads the control groups of a server's main process. Files stay open until the process changes its group.

    ``device`` is the ``major:minor`` of the disk of its data, None if it has none or several.
    """

    def __init__(
        self,
        pid: int,
        device: str | None,
        why_no_device: str = "",
        proc: Path = Path("/proc"),
    ) -> None:
        self._pid, self._device, self._why_no_device, self._proc = pid, device, why_no_device, proc
        self._levels: list[dict[str, KeptFile]] = []
        self._groups = self._why = self._name = ""
        self._own = KeptFile(proc / f"{pid}/cgroup")
        self._pressure = Pressure(None, proc)

    def read(self) -> dict[str, Sample]:
        """Return the samples of the group and of the pressure on it. Values that can't be read have a reason."""
        try:
            groups = self._own.read()
        except OSError as error:
            why = f"the server's process {self._pid} is gone: {error.strerror}"
            return {CGROUP: Sample.missing(GROUP_NAMES, why), **self._pressure.read()}
        if groups != self._groups:
            self._open(groups)
        if self._why:
            return {CGROUP: Sample.missing(GROUP_NAMES, self._why), **self._pressure.read()}
        values = sample_of([_Level(_texts(files)) for files in self._levels], self._device)
        unknown = {
            name: "there is no such limit" if name in LIMITS else "the kernel does not tell it"
            for name in GROUP_NAMES
            if name not in values
        }
        if self._device is None:
            unknown |= dict.fromkeys(_IO_FILES.values(), self._why_no_device)
        return {CGROUP: Sample(values, f"control group {self._name}", unknown), **self._pressure.read()}

    def close(self) -> None:
        """Close all files; a second call does nothing."""
        self._own.close()
        self._close_groups()

    def _close_groups(self) -> None:
        self._pressure.close()
        for files in self._levels:
            for file in files.values():
                file.close()
        self._levels = []

    def _open(self, groups: str) -> None:
        """Open the files of these groups, and of all above them, instead of those that are open."""
        self._close_groups()
        hierarchies = parse_hierarchies((self._proc / "self/mountinfo").read_text(errors="replace"))
        folders = group_folders(groups, hierarchies)
        tops = {hierarchy.point for hierarchy in hierarchies}
        unified = folders.get("")
        chains = dict.fromkeys(
            folder for name in ("cpu", "blkio", "memory", "") if (folder := folders.get(name)) is not None
        )
        self._levels = _merged([_opened(folder, tops) for folder in chains])
        self._why = "" if self._levels else "the server's control group can't be seen from here"
        self._groups, self._name = groups, _name_of(groups)
        # The files of the topmost group are about the whole host, as those in /proc are.
        self._pressure = Pressure(unified if unified not in tops else None, self._proc)


def _name_of(groups: str) -> str:
    paths = {line.split(":", 2)[2] for line in groups.splitlines()}
    return " and ".join(sorted(paths))


def _opened(folder: Path, tops: set[Path]) -> list[dict[str, KeptFile]]:
    """Return the open files of a group and of all groups above it, of its own hierarchy."""
    chain = [folder]
    while chain[-1] not in tops and chain[-1] != chain[-1].parent:
        chain.append(chain[-1].parent)
    return [{name: KeptFile(each / name) for name in _FILES if os.access(each / name, os.R_OK)} for each in chain]


def _merged(chains: Sequence[list[dict[str, KeptFile]]]) -> list[dict[str, KeptFile]]:
    """Return the levels of several hierarchies as one: those of a controller keep their order."""
    levels: list[dict[str, KeptFile]] = [{} for _ in range(max(map(len, chains), default=0))]
    for chain in chains:
        for level, files in zip(levels, chain, strict=False):
            for name, file in files.items():
                if level.setdefault(name, file) is not file:
                    file.close()
    return levels if any(levels) else []


def _texts(files: Mapping[str, KeptFile]) -> dict[str, str]:
    found = {}
    for name, file in files.items():
        try:
            found[name] = file.read()
        except OSError:  # the group was removed, or its kernel does not tell this: the figure has no value
            continue
    return found
