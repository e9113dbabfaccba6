"""What an EBS volume tells of itself: for how long more was asked of it than it, or its instance, may do.

The volume is an NVMe device with a log page of its vendor (0xD0). Amazon's documentation on the detailed performance
statistics of EBS has its contents: after a magic number come counters since the volume was attached, times in µs. To
read a log page needs CAP_SYS_ADMIN. It may be read once a second.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
from pathlib import Path

from openslob.host.device import whole_disk
from openslob.host.model import FigureUnknownError, Sample, text_of

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
        return missing(f"NVMe device {name} tells nothing in the form that is known of EBS")
    seconds = [us / 1e6 for us in counters[6:]]
    return {
        source: Sample(dict(zip(EXCEEDED_NAMES, part, strict=True)), f"EBS volume {name}")
        for source, part in ((VOLUME, seconds[:2]), (INSTANCE, seconds[2:]))
    }


def missing(why: str) -> dict[str, Sample]:
    """Return both samples without values."""
    return {source: Sample.missing(EXCEEDED_NAMES, why) for source in (VOLUME, INSTANCE)}


class EbsVolume:
    """Reads the log page of the disk with this folder in /sys. Raises FigureUnknownError unless it is an EBS volume."""

    def __init__(self, folder: Path, dev: Path = Path("/dev")) -> None:
        disk = whole_disk(folder)
        self._name = disk.name
        if (text_of(disk / "device/model") or "").strip() != _EBS_MODEL:
            raise FigureUnknownError(f"block device {disk.name} is no EBS volume of AWS, which alone tells this")
        try:
            self._handle = os.open(dev / disk.name, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise FigureUnknownError(f"EBS volume {disk.name} can't be asked: {error.strerror}") from error

    def read(self) -> dict[str, Sample]:
        """Return the seconds for which more was asked of volume and instance than they may do."""
        page = ctypes.create_string_buffer(_PAGE_BYTES)
        try:
            request = bytearray(command(ctypes.addressof(page), _PAGE_BYTES))
            status = fcntl.ioctl(self._handle, _IOCTL_ADMIN, request)
        except OSError as error:
            return missing(f"EBS volume {self._name} can't be asked: {error.strerror}")
        return missing(f"EBS volume {self._name} refused with {status}") if status else parse_page(page.raw, self._name)

    def close(self) -> None:
        """Close the device; a second call does nothing."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
