"""Another host, read from a node_exporter of Prometheus: what it publishes is written as the files of /proc and /sys.

The same code then reads these as on this host. Nothing that it publishes is of a process. The names of its metrics are
those since its version 0.16 (https://github.com/prometheus/node_exporter, collector/).
"""

from __future__ import annotations

import base64
import http.client
import platform
import re
import time
from collections.abc import Collection, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import SplitResult, unquote, urlencode, urlsplit

from openslob.core.errors import UsageError
from openslob.core.host import FigureUnknownError, ProcFiles
from openslob.core.secrets import redact_url
from openslob.core.units import NANOS
from openslob.host.copies import Copies
from openslob.host.counters import CPU_KINDS, TICKS_PER_S
from openslob.host.device import SECTOR_BYTES, mount_of, parse_mounts
from openslob.host.model import text_of

# For this long nothing may come. A page takes some milliseconds.
SILENCE_S = 5.0
NO_PROCESSES = "a node_exporter publishes nothing of processes"
# The collectors whose metrics change; the others are asked once.
_CHANGING = ("cpu", "diskstats", "meminfo", "pressure", "time")
_MOST_BYTES = 1 << 26
_MILLI = 1000
# The fields of a device's file in /sys in their order, and what makes each of a metric.
_DISK = (
    ("reads_completed_total", 1), ("reads_merged_total", 1), ("read_bytes_total", 1 / SECTOR_BYTES),
    ("read_time_seconds_total", _MILLI), ("writes_completed_total", 1), ("writes_merged_total", 1),
    ("written_bytes_total", 1 / SECTOR_BYTES), ("write_time_seconds_total", _MILLI), ("io_now", 1),
    ("io_time_seconds_total", _MILLI), ("io_time_weighted_seconds_total", _MILLI),
    ("discards_completed_total", 1), ("discards_merged_total", 1), ("discarded_sectors_total", 1),
    ("discard_time_seconds_total", _MILLI), ("flush_requests_total", 1), ("flush_requests_time_seconds_total", _MILLI),
)  # fmt: skip
# A partition, which a node_exporter leaves out by default, is called after its disk.
_PARTITION = re.compile(r"(?P<disk>(?:nvme\d+n\d+|mmcblk\d+|md\d+)(?=p\d)|(?:s|h|v|xv)d[a-z]+)p?\d+")
# Where each fact of an ``_info`` metric is read.
_FACTS = (
    ("node_uname_info", "nodename", "/proc/sys/kernel/hostname", "{}"),
    ("node_uname_info", "release", "/proc/sys/kernel/osrelease", "{}"),
    ("node_os_info", "pretty_name", "/etc/os-release", 'PRETTY_NAME="{}"'),
    ("node_dmi_info", "system_vendor", "/sys/class/dmi/id/sys_vendor", "{}"),
    ("node_dmi_info", "product_name", "/sys/class/dmi/id/product_name", "{}"),
    (
        "node_time_clocksource_current_info", "clocksource",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource", "{}",
    ),
)  # fmt: skip
_DEVICE_FACTS = (("model", "device/model"), ("rotational", "queue/rotational"))

Labels = Mapping[str, str]


def parse_address(address: str) -> SplitResult:
    """Return the parts of ``http[s]://[user:password@]host[:port][/path]``. UsageError on another form."""
    try:
        parts = urlsplit(address)
        usable = parts.port != 0 and parts.hostname and parts.scheme in ("http", "https") and not parts.fragment
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(f"{redact_url(address)} is not a node_exporter's address", "write http://host:9100/metrics")
    return parts


class Page:
    """The metrics of one page: of each name, the values with their labels."""

    def __init__(self, text: str) -> None:
        from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415 - takes a moment

        self._values: dict[str, list[tuple[Labels, float]]] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                self._values.setdefault(sample.name, []).append((sample.labels, float(sample.value)))

    def values(self, name: str) -> list[tuple[Labels, float]]:
        """Return all values of a metric with their labels."""
        return self._values.get(name, [])

    def value(self, name: str, /, **labels: str) -> float | None:
        """Return the value that has these labels; None if there is none."""
        return next((value for found, value in self.values(name) if labels.items() <= found.items()), None)

    def label(self, name: str, label: str, /, **labels: str) -> str:
        """Return a label of a metric that has the other labels; empty if there is none."""
        return next((found.get(label, "") for found, _ in self.values(name) if labels.items() <= found.items()), "")

    def stat(self) -> str:
        """Return the text of ``/proc/stat``."""
        cpus: dict[str, dict[str, float]] = {}
        for labels, seconds in self.values("node_cpu_seconds_total"):
            cpus.setdefault(labels.get("cpu", ""), {})[labels.get("mode", "")] = seconds
        # A kind that the kernel does not count is missing at the end of the line.
        kinds = list(takewhile(lambda kind: all(kind in times for times in cpus.values()), CPU_KINDS))
        ticks = {cpu: [round(times[kind] * TICKS_PER_S) for kind in kinds] for cpu, times in cpus.items()}
        lines = {"": list(map(sum, zip(*ticks.values(), strict=True))), **ticks} if ticks else {}
        return "".join(f"cpu{cpu} {' '.join(map(str, counts))}\n" for cpu, counts in lines.items())

    def memory(self) -> str:
        """Return the text of ``/proc/meminfo``."""
        lines = []
        for name, values in self._values.items():
            if (key := name.removeprefix("node_memory_")) != name:
                size, (_, number) = key.removesuffix("_bytes"), values[0]
                lines.append(f"{size}: {number:.0f}" if size == key else f"{size}: {number / 1024:.0f} kB")
        return "\n".join(lines)

    def pressure(self, kind: str) -> str:
        """Return the text of a file of ``/proc/pressure``."""
        found = {
            words: self.value(f"node_pressure_{kind}_{name}_seconds_total")
            for words, name in (("some", "waiting"), ("full", "stalled"))
        }
        return "".join(f"{words} total={1e6 * value:.0f}\n" for words, value in found.items() if value is not None)

    def mounts(self) -> str:
        """Return the text of ``/proc/self/mountinfo``, without the options of mounts but ``ro`` and ``rw``."""
        lines = []
        for labels, read_only in self.values("node_filesystem_readonly"):
            point, kind, source = (_escape(labels.get(name) or "none") for name in ("mountpoint", "fstype", "device"))
            mode = "ro" if read_only else "rw"
            lines.append(f"0 0 0:0 / {point} {mode} - {kind} {source} {mode}\n")
        return "".join(lines)

    def disks(self) -> list[str]:
        """Return the names of all block devices that are counted."""
        return [labels.get("device", "") for labels, _ in self.values(f"node_disk_{_DISK[0][0]}")]

    def disk(self, name: str) -> str:
        """Return the text of a block device's ``stat`` in ``/sys``."""
        found = ((self.value(f"node_disk_{metric}", device=name), factor) for metric, factor in _DISK)
        known = takewhile(lambda pair: pair[0] is not None, found)
        return " ".join(str(round((value or 0.0) * factor)) for value, factor in known)


def _escape(name: str) -> str:
    """Return a name as the kernel writes it into a line."""
    return re.sub(r"[\s\\]", lambda sign: f"\\{ord(sign[0]):03o}", name)


class ExporterHost:
    """A host behind a node_exporter. Implements `openslob.core.host.OtherHost`. FigureUnknownError if it can't be read.

    ``round_trip_s`` is that of the last reading. Its moment is by the exporter's clock, which is compared with this
    host's at the quickest reading so far, ``best_trip_s``: it is wrong by half of that at the most, and never outside
    of its own round trip. A page that comes late is one reading less; if nothing comes for `SILENCE_S`, nothing is
    asked any more until `reopen`.
    """

    def __init__(self, address: str) -> None:
        self._url, self.where = parse_address(address), redact_url(address)
        self.hides_processes = NO_PROCESSES
        self.round_trip_s, self.best_trip_s = 0.0, float("inf")
        self._offset_ns = 0
        self._spent_s = self._made_s = 0.0
        self._open()

    def _open(self) -> None:
        kind = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(self._url.hostname or "", self._url.port, timeout=SILENCE_S)
        self._copies = Copies()
        self._lost = self._query = ""
        self._devices: dict[str, str] = {}
        try:
            self._facts = self._read()
            self._require_node(self._facts)
            self._write_facts(self._facts)
            self._query = self._find_query(self._facts)
            self.refresh()
        except FigureUnknownError:
            self.close()
            raise

    def _require_node(self, page: Page) -> None:
        if not page.values("node_cpu_seconds_total"):
            raise FigureUnknownError(f"{self.where} publishes no CPU time of a host, which a node_exporter does")
        if (system := page.label("node_uname_info", "sysname") or "Linux") != "Linux":
            raise FigureUnknownError(f"{self.where} is of a host that runs {system}, not Linux")

    def _find_query(self, page: Page) -> str:
        """Return what asks for no more than what changes; nothing where the address has a query, or it is refused."""
        have = {labels.get("collector") for labels, _ in page.values("node_scrape_collector_success")}
        query = urlencode([("collect[]", name) for name in _CHANGING if name in have])
        if self._url.query or not query:
            return ""
        try:
            self._query = query
            return query if self._read().values("node_cpu_seconds_total") else ""
        except FigureUnknownError:
            return ""

    def reopen(self) -> None:
        """Ask again if nobody answered any more."""
        try:
            self.refresh()
        except FigureUnknownError:
            self._connection.close()
            self._copies.close()
            self._open()

    @property
    def root(self) -> Path:
        """The folder of the files that are made of the page."""
        return self._copies.root

    def refresh(self, again: bool = False) -> int:  # noqa: ARG002
        """Make the files of a new page. FigureUnknownError if none came."""
        page = self._read()
        self._write("/proc/stat", page.stat())
        self._write("/proc/meminfo", page.memory())
        for kind in ("cpu", "io", "memory"):
            if text := page.pressure(kind):
                self._write(f"/proc/pressure/{kind}", text)
            else:
                self._copies.remove(f"/proc/pressure/{kind}")
        for name, folder in self._devices.items():
            self._write(f"{folder}/stat", page.disk(name))
        return self._moment_ns

    def _read(self) -> Page:
        if self._lost:
            raise FigureUnknownError(self._lost)
        asked_ns = time.monotonic_ns()
        text = self._fetch()
        took_ns = time.monotonic_ns() - asked_ns
        try:
            page = Page(text)
        except (ValueError, KeyError, IndexError) as error:
            raise FigureUnknownError(f"{self.where} is not a page of metrics: {error}") from error
        self.round_trip_s = took_ns / NANOS
        spent_s = page.value("process_cpu_seconds_total")
        self._spent_s = self._spent_s + self.round_trip_s if spent_s is None else spent_s
        self._date(page.value("node_time_seconds"), asked_ns, took_ns)
        return page

    def _date(self, there_s: float | None, asked_ns: int, took_ns: int) -> None:
        """Note when a page was made, and how far the clock there is ahead of the monotonic one here."""
        self._moment_ns = asked_ns + took_ns // 2
        if there_s is None:
            return
        if there_s == self._made_s:
            raise FigureUnknownError(f"{self.where} gave the same page twice, as a cache in between would")
        self._made_s = there_s
        there_ns = round(there_s * NANOS)
        if took_ns / NANOS < self.best_trip_s:
            self.best_trip_s, self._offset_ns = took_ns / NANOS, there_ns - self._moment_ns
        self._moment_ns = min(max(asked_ns, there_ns - self._offset_ns), asked_ns + took_ns)

    def _fetch(self) -> str:
        query = "&".join(filter(None, [self._url.query, self._query]))
        path = (self._url.path if self._url.path.strip("/") else "/metrics") + (f"?{query}" if query else "")
        try:
            try:
                answer = self._ask(path)
            except (ConnectionError, http.client.HTTPException):
                # A connection that was kept open may have ended meanwhile.
                self._connection.close()
                answer = self._ask(path)
            text = answer.read(_MOST_BYTES)
        except TimeoutError as error:
            self._connection.close()
            self._lost = f"{self.where} was silent for {SILENCE_S:.0f} s"
            raise FigureUnknownError(self._lost) from error
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise FigureUnknownError(f"{self.where} can't be read: {error or type(error).__name__}") from error
        if answer.status != http.client.OK:
            self._connection.close()
            raise FigureUnknownError(f"{self.where} answers {answer.status} {answer.reason}")
        return text.decode(errors="replace")

    def _ask(self, path: str) -> http.client.HTTPResponse:
        headers = {"Accept": "text/plain;version=0.0.4"}
        if self._url.username:
            login = f"{unquote(self._url.username)}:{unquote(self._url.password or '')}"
            headers["Authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
        self._connection.request("GET", path, headers=headers)
        return self._connection.getresponse()

    def _write_facts(self, page: Page) -> None:
        for metric, label, path, form in _FACTS:
            if text := page.label(metric, label):
                self._write(path, form.format(text))
        self._write("/proc/self/mountinfo", page.mounts())

    def _write(self, path: str, text: str) -> None:
        self._copies.write(path, text.encode())

    def find_device(self, directory: Path) -> Path:
        """Return the device, or the disk of the partition, that is mounted where the directory is by its name."""
        mount = mount_of(directory, parse_mounts(text_of(self.root / "proc/self/mountinfo") or ""))
        if mount is None:
            raise FigureUnknownError(f"{self.where} has no mount where {directory} is")
        if mount.file_system == "btrfs":
            raise FigureUnknownError(f"{self.where} does not report how many devices {mount.point} (btrfs) is on")
        name, disks = self._name_device(mount.source), self._facts.disks()
        part = _PARTITION.fullmatch(name)
        disk = name if name in disks or part is None else part["disk"]
        if disk not in disks:
            raise FigureUnknownError(f"{self.where} counts no I/O of {mount.source}, where {directory} is")
        return self._show(disk)

    def _name_device(self, source: str) -> str:
        name = source.removeprefix("/dev/")
        return self._facts.label("node_disk_device_mapper_info", "device", name=name.removeprefix("mapper/")) or name

    def _show(self, disk: str) -> Path:
        """Return the folder of a disk, with the facts about it; its counters are written with each reading."""
        folder = f"/sys/block/{disk.replace('/', '!')}"
        info = next((labels for labels, _ in self._facts.values("node_disk_info") if labels.get("device") == disk), {})
        facts = {file: info[label] for label, file in _DEVICE_FACTS if info.get(label)}
        if "major" in info:
            facts["dev"] = f"{info['major']}:{info.get('minor')}"
        for file, text in facts.items():
            self._write(f"{folder}/{file}", text)
        if disk not in self._devices:
            self._devices[disk] = folder
            self._write(f"{folder}/stat", self._facts.disk(disk))
        return self._copies.find(folder)

    def resolve(self, directory: Path) -> Path:
        """Return the path itself: no link can be seen."""
        return directory

    def identify(self) -> dict[str, Any]:
        """Return what the exporter publishes."""
        page = self._facts
        return {
            "host": page.label("node_uname_info", "nodename") or None,
            "os": None,
            "kernel": page.label("node_uname_info", "release") or None,
            "machine": page.label("node_uname_info", "machine") or None,
            "processor": page.label("node_cpu_info", "model_name") or None,
            "online": len({labels.get("cpu") for labels, _ in page.values("node_cpu_seconds_total")}) or None,
            "cores": None,
            "usable": None,
            "total_bytes": _whole(page.value("node_memory_MemTotal_bytes")),
            "swap_bytes": _whole(page.value("node_memory_SwapTotal_bytes")),
        }

    def describe_reading(self) -> dict[str, Any]:
        """Return address, driver's host, round trip, and the clocks' offset with how far it may be wrong."""
        facts: dict[str, Any] = {
            "address": self.where,
            "program": f"node_exporter {self._facts.label('node_exporter_build_info', 'version')}".strip(),
            "driver_host": platform.node(),
            "round_trip_s": round(self.round_trip_s, 6),
        }
        if self.best_trip_s == float("inf"):
            return facts
        offset_s = (self._offset_ns - (time.time_ns() - time.monotonic_ns())) / NANOS
        return {**facts, "clock_offset_s": round(offset_s, 3), "clock_error_s": round(self.best_trip_s / 2, 6)}

    def cpu_s(self) -> float:
        """Return the CPU seconds of the exporter, whoever asked it; where it does not say, the time that pages took."""
        return self._spent_s

    def watch_group(self, pid: int) -> None:
        """Do nothing: there is no process whose group could be read."""

    def processes(self) -> ProcFiles:
        """Raise the error: there are none."""
        self._refuse()

    def read(self, path: str) -> bytes | None:  # noqa: ARG002
        """Raise the error: no file can be read."""
        self._refuse()

    def find_programs(self, names: Collection[str]) -> list[int]:  # noqa: ARG002
        """Raise the error: there are none."""
        self._refuse()

    def read_title(self, pid: int) -> str:  # noqa: ARG002
        """Raise the error: there is none."""
        self._refuse()

    def find_directory(self, pid: int) -> Path | None:  # noqa: ARG002
        """Raise the error: there is none."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise FigureUnknownError(f"{self.where}: {NO_PROCESSES}")

    def close(self) -> None:
        """End the connection and remove the files; a second call does nothing."""
        self._lost = self._lost or f"{self.where} is closed"
        self._connection.close()
        self._copies.close()


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
