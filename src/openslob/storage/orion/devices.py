"""What the block devices under the LUNs completed in a point's time, by the kernel's own count.

fio can't tell whether a read reached a device or was answered from the page cache; the device's counter can.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from openslob.host.device import BlockDevice, device_folder, device_under
from openslob.host.model import FigureUnknownError
from openslob.storage.orion.measured import DeviceBytes
from openslob.storage.testfile import TestFile

_READ, _WRITTEN = "dev_read_bytes", "dev_write_bytes"


@dataclass(frozen=True)
class LunDevices:
    """The devices under all LUNs, each once; with ``why`` there are none to be read."""

    devices: tuple[BlockDevice, ...] = ()
    why: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The kernel's names."""
        return tuple(device.name for device in self.devices)

    def totals(self) -> DeviceBytes:
        """Bytes read and written since boot, everybody's."""
        if self.why:
            return DeviceBytes(None, None, self.why)
        samples = [device.read() for device in self.devices]
        missing = [why for sample in samples for why in sample.unknown.values()]
        if missing:
            return DeviceBytes(None, None, missing[0])
        read, written = (sum(sample.values[name] for sample in samples) for name in (_READ, _WRITTEN))
        return DeviceBytes(read, written)


def between(before: DeviceBytes, after: DeviceBytes) -> DeviceBytes:
    """What was added from one reading to the next; a counter that fell was reset, and tells nothing."""
    if before.read is None or before.written is None or after.read is None or after.written is None:
        return DeviceBytes(None, None, before.why or after.why)
    if after.read < before.read or after.written < before.written:
        return DeviceBytes(None, None, "the devices' counters were reset meanwhile")
    return DeviceBytes(after.read - before.read, after.written - before.written)


@contextmanager
def devices_under(luns: Sequence[TestFile], directory: Path) -> Iterator[LunDevices]:
    """The devices under ``luns``; files of our own lie in ``directory``."""
    with ExitStack() as opened:
        try:
            folders = {_folder(lun, directory) for lun in luns}
            found = [BlockDevice(folder) for folder in sorted(folders)]
        except FigureUnknownError as error:
            yield LunDevices(why=str(error))
            return
        for device in found:
            opened.callback(device.close)
        yield LunDevices(tuple(found))


def _folder(lun: TestFile, directory: Path) -> Path:
    if lun.ours:
        return device_under(directory)
    facts = lun.path.stat()
    return device_folder(facts.st_rdev, None) if stat.S_ISBLK(facts.st_mode) else device_under(lun.path.parent)
