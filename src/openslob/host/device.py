"""The block device under a directory, and its I/O since boot.

The counters come from ``/sys/dev/block/<major>:<minor>/stat``. Partitions, device-mapper and md devices have counters
of their own. The fields, as the kernel documents them:
  0 reads completed     1 reads merged     2 sectors read (always of 512 bytes)                         3 ms of reads
  4 writes completed    5 writes merged    6 sectors written                                            7 ms of writes
  8 requests in flight  9 ms in which any were in flight  10 ms of all requests; discards follow
  15 flushes of the device's cache completed, since Linux 5.5: each is among the writes, too, without a sector.
Requests are counted at completion, after merging. The ms of requests are the sums of their times from queueing to
completion. The counters include all users of the device.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from openslob.core.host import FigureUnknownError
from openslob.host.model import KeptFile, Sample, text_of

SECTOR_BYTES = 512
# Name, field number, factor to the unit in the name.
_FIELDS = (
    ("dev_reads", 0, 1),
    ("dev_read_bytes", 2, SECTOR_BYTES),
    ("dev_read_ms", 3, 1),
    ("dev_writes", 4, 1),
    ("dev_write_bytes", 6, SECTOR_BYTES),
    ("dev_write_ms", 7, 1),
    ("dev_busy_ms", 9, 1),
)
FLUSHES, _FLUSHES_AT = "dev_flushes", 15
DEVICE_NAMES = tuple(name for name, _, _ in _FIELDS)
DEVICE = "device"  # name of the source in readings
BUSY = DEVICE_NAMES[-1]


@dataclass(frozen=True)
class MountInfo:
    """A mounted file system, from ``/proc/self/mountinfo``; ``number`` is its device's, as ``major:minor``."""

    point: Path
    file_system: str
    options: str
    source: str
    number: str = ""


def parse_mounts(text: str) -> list[MountInfo]:
    """Return all mounts in the order they were made. Blanks in names are ``\\040`` in the text."""

    def plain(name: str) -> str:
        return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), name)

    mounts = []
    for line in text.splitlines():
        left, _, right = line.partition(" - ")
        fields, (file_system, source, *super_options) = left.split(), right.split()
        options = ",".join(dict.fromkeys(",".join([fields[5], *super_options]).split(",")))
        mounts.append(MountInfo(Path(plain(fields[4])), file_system, options, plain(source), fields[2]))
    return mounts


def mount_of(real: Path, mounts: list[MountInfo]) -> MountInfo | None:
    """Return the mount that contains a path without links: the deepest, and of several the last: it hides others."""
    holding = [mount for mount in mounts if real.is_relative_to(mount.point)]
    return max(enumerate(holding), key=lambda item: (len(item[1].point.parts), item[0]))[1] if holding else None


def device_folder(device_number: int, mount: MountInfo | None, sys: Path = Path("/sys")) -> Path:
    """Return the folder in /sys of the block device with this ``st_dev``. Raises FigureUnknownError if there is none.

    If a file system has its own device numbers (major 0, such as btrfs), the device named by its mount is used.
    """
    major, minor = os.major(device_number), os.minor(device_number)
    if major:
        folder = sys / f"dev/block/{major}:{minor}"
        if not folder.exists():
            raise FigureUnknownError(f"block device {major}:{minor} is not visible in /sys")
        return folder.resolve()
    kind = mount.file_system if mount else "unknown"
    if mount is None or not mount.source.startswith("/dev/"):
        raise FigureUnknownError(f"the data are on a file system ({kind}) without a block device of its own")
    return _named_folder(mount, sys)


def _named_folder(mount: MountInfo, sys: Path) -> Path:
    name = Path(mount.source).resolve().name
    folder = sys / "class/block" / name
    if not folder.exists():
        raise FigureUnknownError(f"block device {mount.source} is not visible in /sys")
    for members in sys.glob("fs/btrfs/*/devices"):
        devices = [member.name for member in members.iterdir()]
        if name in devices and len(devices) > 1:
            raise FigureUnknownError(f"the data are spread over {len(devices)} block devices")
    return folder.resolve()


def device_under(directory: Path, proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> Path:
    """Return the folder in /sys of the block device under ``directory``. Raises FigureUnknownError if there is none."""
    try:
        number = directory.stat().st_dev
    except OSError as error:
        raise FigureUnknownError(f"the data directory can't be accessed: {error.strerror}") from error
    return device_folder(
        number, mount_of(directory.resolve(), parse_mounts(text_of(proc / "self/mountinfo") or "")), sys
    )


def sum_of_devices(samples: Sequence[Sample]) -> Sample:
    """Return the sum of several devices. Their busy times have no sum, because devices are busy at the same time."""
    epoch = " and ".join(sample.epoch for sample in samples)
    values: dict[str, float] = {}
    unknown = {BUSY: "it is known for each device only"}
    for name in DEVICE_NAMES[:-1]:
        missing = next((sample for sample in samples if name not in sample.values), None)
        if missing is None:
            values[name] = sum(sample.values[name] for sample in samples)
        else:
            unknown[name] = missing.unknown[name]
    if all(FLUSHES in sample.values for sample in samples):
        values[FLUSHES] = sum(sample.values[FLUSHES] for sample in samples)
    return Sample(values, epoch, unknown)


def parse_device(text: str, name: str) -> Sample:
    """Return the counters in a ``stat`` file of /sys.

    If all fields are 0, the kernel does not count (NVMe multipath before 6.5): the values are unknown, not 0.
    """
    fields = [int(field) for field in text.split()]
    if len(fields) <= _FIELDS[-1][1]:
        return Sample.missing(DEVICE_NAMES, f"the statistics of block device {name} have an unknown form")
    if not any(fields):
        return Sample.missing(DEVICE_NAMES, f"the kernel keeps no statistics of block device {name}")
    values: dict[str, float] = {key: fields[position] * factor for key, position, factor in _FIELDS}
    if len(fields) > _FLUSHES_AT:
        values[FLUSHES] = fields[_FLUSHES_AT]
    return Sample(values, f"block device {name}")


def whole_disk(folder: Path) -> Path:
    """Return the folder of the disk that contains a partition; the folder of a disk is returned itself."""
    return folder.parent if (folder / "partition").exists() else folder


class BlockDevice:
    """Statistics of one block device; the file stays open. Raises FigureUnknownError if the device has none."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        if text_of(whole_disk(folder) / "queue/iostats") == "0":
            raise FigureUnknownError(f"statistics are off for block device {self.name} (queue/iostats is 0)")
        try:
            self._stat = KeptFile(folder / "stat")
        except OSError as error:
            raise FigureUnknownError(f"block device {self.name} has no statistics: {error.strerror}") from error

    def read(self) -> Sample:
        """Return requests, bytes and ms since boot."""
        try:
            return parse_device(self._stat.read(), self.name)
        except OSError as error:
            return Sample.missing(DEVICE_NAMES, f"block device {self.name} is gone: {error.strerror}")

    def close(self) -> None:
        """Close the file."""
        self._stat.close()
