"""The file that is measured: a temporary test file, or a file or device of the user that is only read.

A test file has no name (O_TMPFILE, or unlinked at once where the file system lacks that). The kernel frees it when slob
and fio have closed it, however they end. fio opens it by the path of slob's descriptor. fio writes the whole file, with
incompressible data and a checksum at every 4 KiB: the file system would answer reads of holes and unwritten extents
without asking the device.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from openslob.core.disk import require_space
from openslob.core.errors import SlobError, UsageError
from openslob.core.units import MIB, format_bytes
from openslob.kinds.storage.fio import Fio
from openslob.kinds.storage.job import IoEngine, Job, Pattern

# Size of one write; a test file is a multiple of it.
UNIT = MIB
# In a job file they end the line, begin comments, quote, stand for variables, or start calculations in a shell.
_UNSAFE = re.compile(r"""[\x00-\x1f\x7f\ud800-\udfff;#$`"'\\]|\s$""")


@dataclass(frozen=True)
class TestFile:
    """A file to measure: the path to open, the name to show, its size in bytes, and whether slob made it."""

    __test__ = False  # not a test, for pytest

    path: Path
    label: str
    size: int
    ours: bool


def require_room(directory: Path, size: int) -> None:
    """Raise SlobError unless a test file of ``size`` bytes fits into ``directory`` and leaves a reserve."""
    require_space(directory, size, "the test file")


@contextmanager
def temporary_file(fio: Fio, directory: Path, size: int, *, direct: bool = True) -> Iterator[TestFile]:
    """Provide a written test file of ``size`` bytes, rounded up to whole MiB; it is removed at the end of the block.

    Raises SlobError if space is lacking, and MeasurementStoppedError if stopped while the file is written.
    """
    size = -(-size // UNIT) * UNIT
    require_room(directory, size)
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            os.posix_fallocate(file.fileno(), 0, size)
            path = Path(f"/proc/{os.getpid()}/fd/{file.fileno()}")
            fio.measure(_fill_job(path, size, direct))
            yield TestFile(path, f"a test file in {directory}", size, ours=True)
    except OSError as error:
        raise SlobError(
            f"can't create a test file in {directory}: {error.strerror}", "give another directory"
        ) from error


def existing_file(path: Path, block_size: int) -> TestFile:
    """Return a file or block device of the user, to be read only.

    Raises UsageError if it can't be read or is shorter than one block.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            mode = os.fstat(file.fileno()).st_mode
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}") from error
    if not (stat.S_ISREG(mode) or stat.S_ISBLK(mode)):
        raise UsageError(f"{path} is neither a file nor a block device")
    if _UNSAFE.search(name := str(path.absolute())):
        raise UsageError(
            f"fio misreads the name {name!r} in its job file", "make a link with a plain name, and give it"
        )
    usable = size // block_size * block_size
    if not usable:
        raise UsageError(f"{path} is shorter than one block of {format_bytes(block_size)}")
    return TestFile(path.absolute(), str(path), usable, ours=False)


def has_holes(path: Path, size: int) -> bool:
    """Return whether a regular file has fewer bytes allocated than its length; reads of holes do not reach a device."""
    facts = path.stat()
    return stat.S_ISREG(facts.st_mode) and facts.st_blocks * 512 < size  # POSIX counts st_blocks in 512 bytes


def _fill_job(path: Path, size: int, direct: bool) -> Job:
    """Return a job that writes the whole file once, synchronously because its speed does not matter."""
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
