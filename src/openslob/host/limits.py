"""What holds a server back: limits of its control group, the pressure on it, and those of a cloud's volume."""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from openslob.core.host import FigureUnknownError, Host
from openslob.core.process_selector import ProcessSelector, ProcessTree
from openslob.host.device import whole_disk
from openslob.host.model import KeptFile, KeptOpen, Sample, text_of
from openslob.host.this_host import HERE

_SEVERAL = "the data are on several devices"
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
PRESSURE = "pressure"
_KINDS = ("cpu", "io", "memory")
PRESSURE_NAMES = (*(f"{kind}_s" for kind in _KINDS), "io_full_s", "memory_full_s")
VOLUME, INSTANCE = "volume", "instance"
EXCEEDED_NAMES = ("iops_exceeded_s", "bytes_exceeded_s")
_EBS_MODEL = "Amazon Elastic Block Store"
_MAGIC = 0x3C23B510
_PAGE_BYTES = 4096
# Magic number, requests, bytes and times of reads and writes, then volume and instance: IOPS and throughput exceeded.
_HEAD = struct.Struct("<I4x6Q4Q")
# An admin command of the kernel's interface (linux/nvme_ioctl.h): 72 bytes.
_COMMAND = struct.Struct("<BBHIIIQQII6III")
_IOCTL_ADMIN = 0xC0484E41
_GET_LOG_PAGE = 0x02
_LOG_PAGE = 0xD0
_TIMEOUT_MS = 1000


@dataclass(frozen=True)
class Hierarchy:
    """A mounted hierarchy of control groups; ``controllers`` are empty for version 2. ``root`` is what is mounted."""

    point: Path
    root: str
    controllers: frozenset[str]


def parse_hierarchies(mountinfo: str, root: Path = Path("/")) -> list[Hierarchy]:
    """Return all hierarchies in the text of ``/proc/<pid>/mountinfo``, whose host is visible below ``root``."""
    found = []
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields, kinds = left.split(), right.split()
        if kinds and kinds[0] in ("cgroup", "cgroup2"):
            controllers = frozenset(kinds[-1].split(",")) if kinds[0] == "cgroup" else frozenset[str]()
            found.append(Hierarchy(root / fields[4].lstrip("/"), fields[3], controllers))
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

    Both versions of the kernel's interface are read, also side by side, as the mounts in ``/proc/self/mountinfo`` say.
    A limit of a group holds for all groups below it: the tightest one on the way up counts, as far as it can be seen
    from here. Version 1 alone applies the limits on I/O of a group to that group only.

    ``cpu_throttled_s`` is the sum over CPUs of the time for which tasks were ready and held back. ``cpu_periods`` are
    the periods in which the group had something to do, ``cpu_periods_throttled`` those in which its quota was used up.
    Counters are sums over the groups on the way up, of which hardly ever more than one has a quota.

    ``device`` is the ``major:minor`` of the disk of its data, None if it has none or several.
    """

    def __init__(
        self,
        pid: int,
        device: str | None,
        why_no_device: str = "",
        proc: Path = Path("/proc"),
        root: Path = Path("/"),
    ) -> None:
        self._pid, self._device, self._why_no_device, self._proc, self._root = pid, device, why_no_device, proc, root
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
            name: "there is no such limit" if name in LIMITS else "the kernel does not report it"
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
        hierarchies = parse_hierarchies((self._proc / "self/mountinfo").read_text(errors="replace"), self._root)
        folders = group_folders(groups, hierarchies)
        tops = {hierarchy.point for hierarchy in hierarchies}
        unified = folders.get("")
        self._levels = _merge_levels([_open_chain(chain) for chain in _find_chains(folders, tops)])
        self._why = "" if self._levels else "the server's control group can't be seen from here"
        self._groups, self._name = groups, _name_of(groups)
        # The files of the topmost group are about the whole host, as those in /proc are.
        self._pressure = Pressure(unified if unified not in tops else None, self._proc)


def _name_of(groups: str) -> str:
    paths = {line.split(":", 2)[2] for line in groups.splitlines()}
    return " and ".join(sorted(paths))


def _find_chains(folders: Mapping[str, Path], tops: set[Path]) -> list[list[Path]]:
    """Return the folders of groups with limits, each with those above it in its own hierarchy."""
    chains = []
    for folder in dict.fromkeys(folders[name] for name in ("cpu", "blkio", "memory", "") if name in folders):
        chain = [folder]
        while chain[-1] not in tops and chain[-1] != chain[-1].parent:
            chain.append(chain[-1].parent)
        chains.append(chain)
    return chains


def _open_chain(chain: Sequence[Path]) -> list[dict[str, KeptFile]]:
    return [{name: KeptFile(each / name) for name in _FILES if os.access(each / name, os.R_OK)} for each in chain]


def list_group_files(groups: str, mountinfo: str) -> list[Path]:
    """Return what `ServerGroup` may read of a process's groups, by the texts of its ``cgroup`` and ``mountinfo``."""
    hierarchies = parse_hierarchies(mountinfo)
    chains = _find_chains(group_folders(groups, hierarchies), {hierarchy.point for hierarchy in hierarchies})
    names = (*_FILES, *(f"{kind}.pressure" for kind in _KINDS))
    return [folder / name for chain in chains for folder in chain for name in names]


def _merge_levels(chains: Sequence[list[dict[str, KeptFile]]]) -> list[dict[str, KeptFile]]:
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


def parse_pressure(text: str, kind: str) -> dict[str, float]:
    """Return the seconds in a file of pressure: by ``KIND_s`` those of some task, by ``KIND_full_s`` those of all."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        total = next((word.removeprefix("total=") for word in words if word.startswith("total=")), None)
        name = {"some": f"{kind}_s", "full": f"{kind}_full_s"}.get(words[0] if words else "")
        if total is not None and name in PRESSURE_NAMES:
            found[str(name)] = int(total) / 1e6
    return found


class Pressure:
    """Reads the pressure on a control group, or on the whole host if ``folder`` is None or has no such files.

    It is how long tasks had to wait for CPU, memory or I/O: the kernel's pressure stall information. Each file has the
    time since boot for which at least one task waited (``some``), and for which no task could go on (``full``). A
    control group of version 2 has files of its own, the host those in ``/proc/pressure``.
    """

    def __init__(self, folder: Path | None, proc: Path = Path("/proc")) -> None:
        self._files: dict[str, KeptFile] = {}
        self._why = "this kernel does not measure how long tasks wait (PSI)"
        self._of = "the host"
        own = {kind: folder / f"{kind}.pressure" for kind in _KINDS} if folder else {}
        for files, of in ((own, f"control group {folder}"), ({kind: proc / "pressure" / kind for kind in _KINDS}, "")):
            if files and not self._files:
                self._open(files)
                self._of = of or self._of if self._files else self._of

    def read(self) -> dict[str, Sample]:
        """Return the sample as source ``pressure``."""
        values: dict[str, float] = {}
        for kind, file in self._files.items():
            try:
                values |= parse_pressure(file.read(), kind)
            except OSError as error:  # EOPNOTSUPP: it is switched off
                self._why = f"this kernel does not report how long tasks wait (PSI): {error.strerror}"
        unknown = {name: self._why for name in PRESSURE_NAMES if name not in values}
        return {PRESSURE: Sample(values, f"pressure on {self._of}", unknown)}

    def close(self) -> None:
        """Close all files; a second call does nothing."""
        for file in self._files.values():
            file.close()
        self._files = {}

    def _open(self, files: dict[str, Path]) -> None:
        for kind, path in files.items():
            try:
                file = KeptFile(path)
            except OSError:
                continue
            try:
                file.read()
            except OSError as error:
                self._why = f"this kernel does not report how long tasks wait (PSI): {error.strerror}"
                file.close()
            else:
                self._files[kind] = file


def command(address: int, length: int) -> bytes:
    """Return the admin command that reads the log page into ``length`` bytes at ``address``."""
    dwords = length // 4 - 1  # counted from 0
    return _COMMAND.pack(
        _GET_LOG_PAGE, 0, 0, 1, 0, 0, 0, address, 0, length, _LOG_PAGE | dwords << 16, 0, 0, 0, 0, 0, _TIMEOUT_MS, 0
    )


def parse_page(page: bytes, name: str) -> dict[str, Sample]:
    """Return volume and instance of a log page as two samples."""
    magic, *counters = _HEAD.unpack_from(page)
    if magic != _MAGIC:
        return _volume_missing(f"NVMe device {name} tells nothing in the form that is known of EBS")
    seconds = [us / 1e6 for us in counters[6:]]
    return {
        source: Sample(dict(zip(EXCEEDED_NAMES, part, strict=True)), f"EBS volume {name}")
        for source, part in ((VOLUME, seconds[:2]), (INSTANCE, seconds[2:]))
    }


def _volume_missing(why: str) -> dict[str, Sample]:
    """Return both samples without values."""
    return {source: Sample.missing(EXCEEDED_NAMES, why) for source in (VOLUME, INSTANCE)}


class EbsVolume(KeptOpen):
    """Reads for how long more was asked of an EBS volume than it, or its instance, may do.

    The volume is an NVMe device with a log page of its vendor (0xD0). Amazon's documentation on the detailed
    performance statistics of EBS has its contents: after a magic number come counters since the volume was attached,
    times in µs. To read a log page needs CAP_SYS_ADMIN. It may be read once a second. ``folder`` is that of the disk in
    /sys; FigureUnknownError unless it is such a volume.
    """

    def __init__(self, folder: Path, dev: Path = Path("/dev")) -> None:
        disk = whole_disk(folder)
        self._name = disk.name
        if (text_of(disk / "device/model") or "").strip() != _EBS_MODEL:
            raise FigureUnknownError(f"block device {disk.name} is not an EBS volume of AWS: only those report this")
        try:
            super().__init__(dev / disk.name)
        except OSError as error:
            raise FigureUnknownError(f"EBS volume {disk.name} can't be asked: {error.strerror}") from error

    def read(self) -> dict[str, Sample]:
        """Return the seconds for which more was asked of volume and instance than they may do."""
        page = ctypes.create_string_buffer(_PAGE_BYTES)
        try:
            request = bytearray(command(ctypes.addressof(page), _PAGE_BYTES))
            status = fcntl.ioctl(self.handle, _IOCTL_ADMIN, request)
        except OSError as error:
            return _volume_missing(f"EBS volume {self._name} can't be asked: {error.strerror}")
        return (
            _volume_missing(f"EBS volume {self._name} refused with {status}")
            if status
            else parse_page(page.raw, self._name)
        )


class LimitsReader:
    """Reads all limits of the servers with these processes, whose data are on the devices with these folders in /sys.

    ``why_unknown`` is the reason if there is no device, and ``why_no_group``, if given, if there is no server. Several
    servers are read as one if they share a control group.
    """

    def __init__(
        self,
        servers: Sequence[ProcessSelector],
        devices: Sequence[Path],
        why_unknown: str,
        host: Host = HERE,
        why_no_group: str = "",
    ) -> None:
        self._why_no_group, self._why_no_volume = why_no_group or why_unknown, why_unknown
        self._group: ServerGroup | None = None
        self._volume: EbsVolume | None = None
        proc = host.root / "proc"
        self._pressure = Pressure(None, proc)
        disks = list(dict.fromkeys(whole_disk(folder) for folder in devices))
        number = text_of(disks[0] / "dev") if len(disks) == 1 else None
        try:
            pid = _process_of(servers, host) if servers else None
            why = _SEVERAL if disks else why_unknown
            self._group = ServerGroup(pid, number, why, proc, host.root) if pid is not None else None
        except (FigureUnknownError, OSError) as error:
            self._why_no_group = str(error)
        try:
            self._volume = _open_volume(disks[0], host) if len(disks) == 1 else None
        except FigureUnknownError as error:
            self._why_no_volume = str(error)
        if len(disks) > 1:
            self._why_no_volume = _SEVERAL

    def read(self) -> dict[str, Sample]:
        """Return the samples ``cgroup``, ``pressure``, ``volume`` and ``instance``."""
        volume = self._volume.read() if self._volume else _volume_missing(self._why_no_volume)
        if self._group:
            return {**self._group.read(), **volume}
        return {CGROUP: Sample.missing(GROUP_NAMES, self._why_no_group), **self._pressure.read(), **volume}

    def close(self) -> None:
        """Close all files; a second call does nothing."""
        for part in (self._group, self._volume, self._pressure):
            if part:
                part.close()


def _open_volume(disk: Path, host: Host) -> EbsVolume:
    if host.where:
        raise FigureUnknownError("a cloud's volume can be asked on its own host only")
    return EbsVolume(disk)


def _process_of(servers: Sequence[ProcessSelector], host: Host) -> int | None:
    """Return a process of the servers' control group. Raises FigureUnknownError if they have different ones."""
    pids = [server.main_pid if isinstance(server, ProcessTree) else min(server.find(), default=0) for server in servers]
    for pid in pids:
        host.watch_group(pid)
    if len({text_of(host.root / f"proc/{pid}/cgroup") for pid in pids}) > 1:
        raise FigureUnknownError("the servers are in different control groups")
    return pids[0] or None
