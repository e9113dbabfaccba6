"""Where files lie on the device under their file system, by FIEMAP (kernel: Documentation/filesystems/fiemap.rst).

The numbers of the request and of its flags are those of the kernel's linux/fs.h and linux/fiemap.h. File systems that
have a device to themselves give the places of extents on it; others (btrfs, zfs) give places in a space of their own.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path

from openslob.core.host import FigureUnknownError
from openslob.host.device import SECTOR_BYTES, device_folder, mount_of, parse_mounts
from openslob.host.model import text_of

_FIEMAP = 0xC020660B
_HEADER, _EXTENT = struct.Struct("=QQIIII"), struct.Struct("=QQQ16xI12x")
_AT_ONCE = 1024
_LAST = 0x1
# Of unknown place, not written yet, encoded, inline, in the tail of another block: the place is known of none of them.
_UNPLACED = 0x2 | 0x4 | 0x8 | 0x200 | 0x400
_WITH_PLACES = frozenset({"ext2", "ext3", "ext4", "xfs", "f2fs"})
_EVERYTHING = 2**64 - 1
# Opening and asking takes some µs for each.
_MOST_FILES = 20_000


@dataclass(frozen=True)
class Extent:
    """Consecutive bytes of a file on the device, from ``begin``."""

    begin: int
    bytes: int


@dataclass(frozen=True)
class Extents:
    """The extents of files on one device of ``device_bytes``, named as in /sys."""

    found: Sequence[Extent]
    device: str
    device_bytes: int

    @property
    def cover_pct(self) -> float:
        """The share of the device that they take."""
        return 100 * sum(each.bytes for each in self.found) / self.device_bytes

    @property
    def span_pct(self) -> tuple[float, float]:
        """Where on the device the first one begins, and where the last one ends."""
        begin, end = min(each.begin for each in self.found), max(each.begin + each.bytes for each in self.found)
        return 100 * begin / self.device_bytes, 100 * end / self.device_bytes


def find_extents(files: Sequence[Path]) -> Extents:
    """Return the extents of files of one file system. FigureUnknownError, with the reason, where they are unknown."""
    if not files:
        raise FigureUnknownError("the files of the tables are not known")
    if len(files) > _MOST_FILES:
        raise FigureUnknownError(f"the tables have {len(files):,} files; up to {_MOST_FILES:,} are examined")
    try:
        numbers = {path.stat().st_dev for path in files}
        if len(numbers) > 1:
            raise FigureUnknownError(f"the tables are on {len(numbers)} file systems")
        folder = _device_of(files[0], numbers.pop())
        size = int(text_of(folder / "size") or 0) * SECTOR_BYTES
        found = [extent for path in files for extent in list_extents(path)]
    except OSError as error:
        raise FigureUnknownError(f"the files of the tables can't be examined: {error.strerror}") from error
    if not (size and found):
        raise FigureUnknownError("the file system does not say where the tables are on its device")
    return Extents(found, folder.name, size)


def _device_of(path: Path, number: int) -> Path:
    mount = mount_of(path.resolve(), parse_mounts(text_of(Path("/proc/self/mountinfo")) or ""))
    kind = mount.file_system if mount else "unknown"
    if kind not in _WITH_PLACES:
        raise FigureUnknownError(f"a file system of this kind ({kind}) has no places on a device")
    return device_folder(number, mount)


def list_extents(path: Path) -> list[Extent]:
    """Return the extents of a file whose place on the device is known. OSError if it can't be asked."""
    found, start, flags = list[Extent](), 0, 0
    with path.open("rb") as file:
        while not flags & _LAST:
            answer = bytearray(_HEADER.size + _AT_ONCE * _EXTENT.size)
            _HEADER.pack_into(answer, 0, start, _EVERYTHING - start, 0, 0, _AT_ONCE, 0)
            ioctl(file.fileno(), _FIEMAP, answer)
            count = _HEADER.unpack_from(answer)[3]
            if not count:
                break
            for number in range(count):
                logical, physical, size, flags = _EXTENT.unpack_from(answer, _HEADER.size + number * _EXTENT.size)
                start = logical + size
                if not flags & _UNPLACED:
                    found.append(Extent(physical, size))
    return found
