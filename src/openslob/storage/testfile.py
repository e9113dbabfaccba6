"""The file that is measured: one of our own without a name, or one of the user's that is only read.

Our own file never has a name (O_TMPFILE, or unlinked at once where a file system can't do that), so that it can't be
taken for anybody's, and the kernel frees it when we and fio let go of it, however we end. fio opens it by the path of
our descriptor. It is written in whole by fio, with data that do not compress and a checksum at every 4 KiB: a hole or
an extent never written would be answered by the file system without asking the device.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from openslob.disk import require_space
from openslob.errors import SlobError, UsageError
from openslob.storage.fio import Fio
from openslob.storage.job import IoEngine, Job, Pattern
from openslob.units import MIB, format_bytes

# One write a megabyte; a file is a whole number of them.
UNIT = MIB


@dataclass(frozen=True)
class TestFile:
    """A file to be measured: how programs open it, what to call it, its bytes, and whether it is ours to write."""

    __test__ = False  # not a test, for pytest

    path: Path
    label: str
    size: int
    ours: bool


def require_room(directory: Path, size: int) -> None:
    """SlobError unless a test file of ``size`` bytes fits into ``directory`` and leaves a reserve."""
    require_space(directory, size, "the test file")


@contextmanager
def made(fio: Fio, directory: Path, size: int, *, direct: bool = True) -> Iterator[TestFile]:
    """A file of our own of ``size`` bytes, rounded up to whole MiB, written in full; gone at the block's end.

    SlobError when the space is lacking, StoppedError when stopped while it is being written.
    """
    size = -(-size // UNIT) * UNIT
    require_room(directory, size)
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            os.posix_fallocate(file.fileno(), 0, size)
            path = Path(f"/proc/{os.getpid()}/fd/{file.fileno()}")
            fio.measure(_filling(path, size, direct))
            yield TestFile(path, f"a file of its own in {directory}", size, ours=True)
    except OSError as error:
        raise SlobError(f"no test file can be made in {directory}: {error.strerror}", "choose another place") from error


def given(path: Path, block_size: int) -> TestFile:
    """A file or block device of the user's, only to be read. UsageError when it can't be or is shorter than a block."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            mode = os.fstat(file.fileno()).st_mode
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}") from error
    if not (stat.S_ISREG(mode) or stat.S_ISBLK(mode)):
        raise UsageError(f"{path} is neither a file nor a block device")
    usable = size // block_size * block_size
    if not usable:
        raise UsageError(f"{path} is shorter than one block of {format_bytes(block_size)}")
    return TestFile(path.absolute(), str(path), usable, ours=False)


def has_holes(path: Path, size: int) -> bool:
    """Whether fewer bytes are allocated to a regular file than it is long: reads of the rest never reach a device."""
    facts = path.stat()
    return stat.S_ISREG(facts.st_mode) and facts.st_blocks * 512 < size  # POSIX counts st_blocks in 512 bytes


def _filling(path: Path, size: int, direct: bool) -> Job:
    """A job that writes the whole file once; synchronously, since its speed is of no interest."""
    return Job(
        files=(path,),
        size=size,
        block_size=UNIT,
        engine=IoEngine.PSYNC,
        seconds=0,
        name="fill",
        pattern=Pattern.SEQUENTIAL_WRITE,
        direct=direct,
        verify=True,
        options={"time_based": "0", "runtime": "0", "do_verify": "0", "end_fsync": "1"},
    )
