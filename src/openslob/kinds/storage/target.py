"""What is measured: its checks, and a temporary test file, or a file or device of the user that is only read.

The checks say whether fio, the kernel and the file system allow a measurement; their errors contain a remedy.

A test file has no name (O_TMPFILE, or unlinked at once where the file system lacks that). The kernel frees it when slob
and fio have closed it, however they end. fio opens it by the path of slob's descriptor. fio writes the whole file, with
incompressible data and a checksum at every 4 KiB: the file system would answer reads of holes and unwritten extents
without asking the device.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from openslob.core.disk import require_space, supports_direct_io
from openslob.core.errors import SlobError, UsageError
from openslob.core.units import MIB, format_bytes
from openslob.host.device import mount_of, parse_mounts
from openslob.host.model import text_of
from openslob.kinds.storage.fio import Fio, IoEngine, Job, Pattern

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
    if sys.platform != "linux":
        raise SlobError("slob measures storage on Linux only")
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
        raise UsageError(f"{path} is neither a file nor a block device", "give one, or a directory")
    if _UNSAFE.search(name := str(path.absolute())):
        raise UsageError(
            f"fio misreads the name {name!r} in its job file", "make a link with a plain name, and give it"
        )
    usable = size // block_size * block_size
    if not usable:
        raise UsageError(f"{path} is shorter than one block of {format_bytes(block_size)}", "give a larger one")
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


# The system call number of io_uring_setup on all architectures but alpha.
_IO_URING_SETUP = 425
_PARAMS_BYTES = 120  # sizeof(struct io_uring_params)
_IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})
_STACKED = frozenset({"overlay", "aufs", "fuse.fuse-overlayfs"})
_ELSEWHERE = "give a directory on a disk, or --buffered to measure the page cache"
_OTHER_ENGINES = "give --io-engine libaio or psync"


@dataclass(frozen=True)
class StorageLocation:
    """The file system of a directory or file that can be measured; ``notes`` are for the record."""

    file_system: str
    notes: tuple[str, ...]


def check_directory(fio: Fio, directory: Path, engine: IoEngine, *, direct: bool = True) -> StorageLocation:
    """Check that files made in ``directory`` can be measured with this I/O engine. SlobError with a remedy if not.

    Without ``direct``, a note says that the page cache is measured.
    """
    if not directory.is_dir():
        raise UsageError(f"{directory} is not a directory", "give a directory on the storage to measure")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise SlobError(f"{directory} is not writable", "give a writable directory")
    check_engine(fio, engine)
    kind = file_system_of(directory)
    if direct:
        check_direct(directory, kind, write=True)
    return StorageLocation(kind, tuple(_notes(kind, direct)))


def check_file(fio: Fio, path: Path, engine: IoEngine, *, direct: bool = True) -> StorageLocation:
    """Check a file or block device of the user, which is only read, like `check_directory`."""
    check_engine(fio, engine)
    if sys.platform != "linux":
        raise SlobError("slob measures storage on Linux only")
    kind = "block device" if path.is_block_device() else file_system_of(path)
    if direct:
        check_direct(path, kind, write=False)
        try:
            os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
        except OSError as error:
            raise SlobError(f"{path} can't be read by direct I/O ({error.strerror})", _ELSEWHERE) from error
    return StorageLocation(kind, tuple(_notes(kind, direct)))


def check_engine(fio: Fio, engine: IoEngine, io_uring: Callable[[], int] | None = None) -> None:
    """Raise SlobError unless fio and the kernel support this engine. No other engine is used in its place."""
    if engine.value not in fio.engines():
        raise SlobError(f"{fio.program} was built without {engine}", _OTHER_ENGINES)
    if engine is IoEngine.IO_URING and (number := (io_uring or try_io_uring)()):
        raise SlobError(f"io_uring can't be used here: {why_no_io_uring(number)}", f"or {_OTHER_ENGINES}")


def try_io_uring() -> int:
    """Set up and close a ring with one entry. Return 0 if the kernel allows it, else its error number."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(_IO_URING_SETUP, 1, ctypes.create_string_buffer(_PARAMS_BYTES))
    if descriptor < 0:
        return ctypes.get_errno()
    os.close(descriptor)
    return 0


def why_no_io_uring(number: int, root: Path = Path("/")) -> str:
    """Return the reason of an error of io_uring_setup, with its remedy."""
    if number == errno.ENOSYS:
        return "this kernel has no io_uring (it is older than 5.1 or was built without it); use a newer kernel"
    if number == errno.ENOMEM:
        return "the limit of locked memory is too low; raise `ulimit -l`"
    if number in (errno.EPERM, errno.EACCES):
        disabled = text_of(root / "proc/sys/kernel/io_uring_disabled")
        if disabled not in (None, "0"):
            return f"kernel.io_uring_disabled is {disabled}; run `sysctl kernel.io_uring_disabled=0`"
        return "it is forbidden, usually by a container's seccomp profile; allow it in the profile"
    return os.strerror(number)


def file_system_of(directory: Path, root: Path = Path("/")) -> str:
    """Return the type of the file system that contains ``directory``; ``unknown`` if the system does not report it."""
    mount = mount_of(directory.resolve(), parse_mounts(text_of(root / "proc/self/mountinfo") or ""))
    return mount.file_system if mount else "unknown"


def check_direct(directory: Path, kind: str, write: bool) -> None:
    """Raise SlobError unless direct I/O in ``directory`` reaches a device."""
    if kind in _IN_MEMORY:
        raise SlobError(f"{directory} lies in memory ({kind}): there is no storage to measure", _ELSEWHERE)
    if write and not supports_direct_io(directory):
        raise SlobError(f"direct I/O (O_DIRECT) is not possible in {directory} ({kind})", _ELSEWHERE)


def _notes(kind: str, direct: bool) -> list[str]:
    notes = []
    if not direct:
        notes.append("buffered: the page cache answers most reads, so the results are not those of the storage")
    if kind in _STACKED:
        notes.append(f"the file lies on a stacked file system ({kind}), whose cost is included in the figures")
    return notes
