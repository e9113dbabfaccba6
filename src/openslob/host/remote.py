"""Another host, read over ssh: its files are copied below a folder here, where the same code reads them.

A reading copies what changes (CPU, memory, pressure, control group, devices) in one command; the files of processes
come through `openslob.host.remote_files`. The moment of a reading is the middle of that command by this host's clock,
wrong by half of its round trip at the most.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from openslob.core.errors import SlobError
from openslob.core.host import FigureUnknownError, ProcFiles
from openslob.core.secrets import redact_url
from openslob.core.units import NANOS
from openslob.host.copies import Copies
from openslob.host.counters import TICKS_PER_S
from openslob.host.device import device_folder, mount_of, parse_mounts
from openslob.host.exporter import ExporterHost
from openslob.host.limits import list_group_files
from openslob.host.model import text_of
from openslob.host.remote_files import AT_ONCE, RemoteProc, fetch, find_present, parse_allowed
from openslob.host.remote_shell import RemoteShell, ssh_command

# What describes the host and does not change.
_FACTS = (
    *("/etc/os-release", "/proc/cpuinfo", "/proc/1/cgroup", "/proc/self/mountinfo", "/proc/self/status"),
    *("/proc/sys/kernel/hostname", "/proc/sys/kernel/osrelease"),
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    *("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "/sys/devices/system/cpu/smt/control"),
    *("/sys/kernel/mm/transparent_hugepage/enabled", "/sys/hypervisor/type"),
    *("/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name"),
)
# Empty files that say where this is.
_MARKS = ("/run/.containerenv", "/.dockerenv")
# What every reading copies.
_PRESSURE = ("/proc/pressure/cpu", "/proc/pressure/io", "/proc/pressure/memory")
_CHANGING = ("/proc/stat", "/proc/meminfo", "/proc/uptime", *_PRESSURE)
# /proc/uptime has two decimals.
_UPTIME_S = 0.01
_OF_DEVICE = ("size", "partition", "dev", "stat", "device/model", "dm/name")
_OF_QUEUE = (
    *("iostats", "nr_requests", "rotational", "logical_block_size", "scheduler", "write_cache", "read_ahead_kb"),
)  # fmt: skip


class RemoteHost:
    """A host behind a shell. Implements `openslob.core.host.OtherHost`. Raises FigureUnknownError if it can't be read.

    ``round_trip_s`` is that of the last reading, so that its moment is wrong by half of it at the most. ``offset_s`` is
    the other host's clock since its boot minus this host's monotonic clock, to a hundredth of a second and that half.
    """

    def __init__(self, shell: RemoteShell) -> None:
        self.shell = shell
        self.hides_processes = ""
        self.round_trip_s = self.offset_s = 0.0
        self._open()

    def _open(self) -> None:
        self._copies = Copies()
        self._changing: dict[str, None] = dict.fromkeys(_CHANGING)
        self._groups: dict[int, str] = {}
        self._processes: list[RemoteProc] = []
        try:
            self._copy_facts()
        except FigureUnknownError:
            self.close()
            raise

    def _copy_facts(self) -> None:
        self._require_linux()
        self._copy(_FACTS)
        for path in find_present(self.shell, _MARKS):
            self._copies.write(path, b"")
        self.refresh()
        if not (self.root / "proc/stat").exists() or not (self.root / "proc/meminfo").exists():
            raise FigureUnknownError(f"{self.where} shows this user no /proc")

    def reopen(self) -> None:
        """Open another shell, and copy all again, if this one is lost."""
        try:
            self.refresh()
        except FigureUnknownError:
            self.shell = self.shell.again()
        else:
            return
        self._copies.close()
        self._open()

    @property
    def root(self) -> Path:
        """The folder of the copies."""
        return self._copies.root

    @property
    def where(self) -> str:
        """The address that the user gave."""
        return self.shell.where

    def _require_linux(self) -> None:
        said = self.shell.ask("uname -s; uname -m; getconf CLK_TCK").decode(errors="replace").split()
        if said[:1] != ["Linux"]:
            raise FigureUnknownError(f"{self.where} runs {said[0] if said else 'an unknown system'}, not Linux")
        self._machine = said[1] if len(said) > 1 else ""
        if said[2:] and said[2] != str(TICKS_PER_S):
            raise FigureUnknownError(f"{self.where} counts {said[2]} clock ticks a second, this host {TICKS_PER_S}")

    def refresh(self, again: bool = False) -> int:
        """Copy what changes, and fetch files of processes with it. FigureUnknownError once the host is silent."""
        self._processes = [files for files in self._processes if not files.closed]
        ahead = [path for files in self._processes for path in files.list_again()] if again else []
        asked_ns = time.monotonic_ns()
        texts = self._copy(self._changing, ahead[:AT_ONCE])
        # The files that are copied came first: those of hundreds of processes may take a part of a second.
        took_ns = self.shell.first_ns - asked_ns
        texts |= fetch(self.shell, ahead[AT_ONCE:])
        for files in self._processes:
            files.begin(texts if again else {})
        moment_ns = asked_ns + took_ns // 2
        self.round_trip_s = took_ns / NANOS
        uptime = text_of(self.root / "proc/uptime")
        if uptime:
            self.offset_s = float(uptime.split()[0]) - moment_ns / NANOS
        for pid, known in list(self._groups.items()):
            if text_of(self.root / f"proc/{pid}/cgroup") != known:
                self.watch_group(pid)
        return moment_ns

    def processes(self) -> ProcFiles:
        """Return the files of its processes."""
        self._processes.append(RemoteProc(self.shell))
        return self._processes[-1]

    def watch_group(self, pid: int) -> None:
        """Copy the files of the group with each reading from now on."""
        own = f"/proc/{pid}/cgroup"
        self._copy([own])
        self._changing[own] = None
        groups = text_of(self.root / own[1:]) or ""
        self._groups[pid] = groups
        files = list_group_files(groups, text_of(self.root / "proc/self/mountinfo") or "")
        self._changing |= dict.fromkeys(self._copy(map(str, files)))

    def find_device(self, directory: Path) -> Path:
        """Ask the other host's mounts."""
        mount = mount_of(self.resolve(directory), parse_mounts(text_of(self.root / "proc/self/mountinfo") or ""))
        if mount is None:
            raise FigureUnknownError(f"the mount of {directory} is not visible on {self.where}")
        major, _, minor = mount.number.partition(":")
        if major == "0" and mount.source.startswith("/dev/"):
            mount = replace(mount, source=f"/dev/{self.resolve(Path(mount.source)).name}")
            self._show_device(Path("/sys/class/block") / Path(mount.source).name)
        elif major != "0":
            self._show_device(Path("/sys/dev/block") / mount.number)
        return device_folder(os.makedev(int(major), int(minor)), mount, self.root / "sys")

    def _show_device(self, link: Path) -> None:
        """Copy what there is of a device, and of the disk that it is a part of, below the folder of its own."""
        folder = self.resolve(link)
        if folder == link:
            return
        names = [*_OF_DEVICE, *(f"queue/{name}" for name in _OF_QUEUE)]
        self._copy(str(each / name) for each in (folder, folder.parent) for name in names)
        self._changing[str(folder / "stat")] = None
        ours = self._copies.find(link)
        ours.parent.mkdir(parents=True, exist_ok=True)
        ours.unlink(missing_ok=True)
        ours.symlink_to(self._copies.find(folder))

    def resolve(self, directory: Path) -> Path:
        """Ask for the path without links; the path itself where this user may not enter it, or nobody answers."""
        try:
            said = self.shell.ask(f"readlink -f {shlex.quote(str(directory))}").decode(errors="replace").rstrip("\n")
        except FigureUnknownError:
            return directory
        return Path(said or directory)

    def identify(self) -> dict[str, Any]:
        """Return what files say."""
        status = (self.root / "proc/self/status").read_bytes() if (self.root / "proc/self/status").exists() else b""
        memory = text_of(self.root / "proc/meminfo") or ""
        kib = {name: int(number) for name, number in re.findall(r"^(\w+): +(\d+) kB", memory, re.MULTILINE)}
        info = text_of(self.root / "proc/cpuinfo") or ""
        places = re.findall(r"^physical id\s*: (\d+)$.*?^core id\s*: (\d+)$", info, re.MULTILINE | re.DOTALL)
        return {
            "host": text_of(self.root / "proc/sys/kernel/hostname"),
            "os": None,
            "kernel": text_of(self.root / "proc/sys/kernel/osrelease"),
            "machine": self._machine or None,
            "processor": None,
            "online": len(re.findall(r"^cpu\d", text_of(self.root / "proc/stat") or "", re.MULTILINE)) or None,
            "cores": len(set(places)) or None,
            "usable": len(parse_allowed(status) or ()) or None,
            "total_bytes": kib.get("MemTotal", 0) * 1024 or None,
            "swap_bytes": kib["SwapTotal"] * 1024 if "SwapTotal" in kib else None,
        }

    def read(self, path: str) -> bytes | None:
        """Fetch the file."""
        return fetch(self.shell, [path]).get(path)

    def find_programs(self, names: Collection[str]) -> list[int]:
        """Return the processes with one of these names in the kernel."""
        found = fetch(self.shell, [f"/proc/{pid}/comm" for pid in self.processes().pids()])
        programs = {name.encode() for name in names}
        return [int(path.split("/")[2]) for path, name in found.items() if name.strip() in programs]

    def read_title(self, pid: int) -> str:
        """Fetch the command line, whose words are separated by NUL."""
        return self.shell.ask(f"tr '\\000' ' ' < /proc/{pid}/cmdline").decode(errors="replace").strip()

    def find_directory(self, pid: int) -> Path | None:
        """Follow the link that its user and root may follow."""
        said = self.shell.ask(f"readlink /proc/{pid}/cwd").decode(errors="replace").rstrip("\n")
        return Path(said) if said.startswith("/") else None

    def describe_reading(self) -> dict[str, Any]:
        """Return address, driver's host, round trip, and the clocks' offset with how far it may be wrong."""
        return {
            "address": self.where,
            "driver_host": platform.node(),
            "round_trip_s": round(self.round_trip_s, 6),
            "clock_offset_s": round(self.offset_s, 3),
            "clock_error_s": round(_UPTIME_S + self.round_trip_s / 2, 6),
        }

    def cpu_s(self) -> float:
        """Return the CPU seconds that reading has cost there: of the shell, and of what it started."""
        said = self.shell.ask("times").decode()
        return sum(60 * float(minutes) + float(seconds) for minutes, seconds in re.findall(r"(\d+)m([\d.]+)s", said))

    def close(self) -> None:
        """End the shell and remove the copies; a second call does nothing."""
        self.shell.close()
        self._copies.close()

    def _copy(self, paths: Iterable[str], then: Sequence[str] = ()) -> dict[str, bytes]:
        """Copy files; return the texts of those that there are, and of those that are read then."""
        wanted = list(paths)
        texts = fetch(self.shell, wanted, then)
        for path in wanted:
            if path in texts:
                self._copies.write(path, texts[path])
            else:
                self._copies.remove(path)
        return texts


# One connection to a host is enough for a process.
_HOSTS: dict[str, RemoteHost | ExporterHost] = {}


def find_host(address: str | None) -> RemoteHost | ExporterHost | None:
    """Return the host at ``ssh://[user@]host[:port]`` or ``http://host:9100/metrics``; None without an address.

    It is read until this process ends. UsageError if that is no address, SlobError if nobody answers there.
    """
    if not address:
        return None
    is_exporter = address.startswith(("http://", "https://"))
    command = [] if is_exporter else ssh_command(address)
    try:
        if address in _HOSTS:
            _HOSTS[address].reopen()
        else:
            _HOSTS[address] = ExporterHost(address) if is_exporter else RemoteHost(RemoteShell(command, address))
    except FigureUnknownError as error:
        remedy = f"{redact_url(address)} must show the metrics of a node_exporter"
        if not is_exporter:
            remedy = f"this must work without a password: {shlex.join(command[:-1])} true; {_name_exporter(address)}"
        raise SlobError(f"{error}", remedy) from error
    return _HOSTS[address]


def _name_exporter(address: str) -> str:
    """Return whether a node_exporter of a host can be read instead, where the usual one would be."""
    name = urlsplit(address).hostname or ""
    instead = f"http://{f'[{name}]' if ':' in name else name}:9100/metrics"
    try:
        ExporterHost(instead).close()
    except FigureUnknownError as error:
        return f"nor is there a node_exporter ({error})"
    return f"--host {instead} gives CPU, device and pressure of the whole host"
