"""Checks before a measurement: whether fio, the kernel and the file system allow it. Errors contain a remedy."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from openslob.core.disk import supports_direct_io
from openslob.core.errors import SlobError, UsageError
from openslob.host.device import mount_of, parse_mounts
from openslob.host.model import text_of
from openslob.kinds.storage.fio import Fio
from openslob.kinds.storage.job import IoEngine

# The system call number of io_uring_setup on all architectures but alpha.
_IO_URING_SETUP = 425
_PARAMS_BYTES = 120  # sizeof(struct io_uring_params)
_IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})
_STACKED = frozenset({"overlay", "aufs", "fuse.fuse-overlayfs"})
_ELSEWHERE = "give a directory on a disk, or --buffered to measure the page cache"
_OTHER_ENGINES = "give --io-engine libaio or psync"


@dataclass(frozen=True)
class StorageLocation:
    """A directory that can be measured, or the parent directory of a file; ``notes`` are for the record."""

    directory: Path
    file_system: str
    notes: tuple[str, ...]


def check(fio: Fio, directory: Path, engine: IoEngine, *, direct: bool = True, write: bool = True) -> StorageLocation:
    """Check that files in ``directory`` can be measured with this I/O engine. Raises SlobError with a remedy if not.

    ``write`` is true if files will be made there. Without ``direct``, a note says that the page cache is measured.
    """
    if not directory.is_dir():
        raise UsageError(f"{directory} is not a directory", "give a directory on the storage to measure")
    if write and not os.access(directory, os.W_OK | os.X_OK):
        raise SlobError(f"{directory} is not writable", "give a writable directory")
    check_engine(fio, engine)
    kind = file_system_of(directory)
    if direct:
        check_direct(directory, kind, write)
    return StorageLocation(directory, kind, tuple(_notes(kind, direct)))


def check_file(fio: Fio, path: Path, engine: IoEngine, *, direct: bool = True) -> StorageLocation:
    """Check a file or block device of the user, which is only read, like `check`."""
    check_engine(fio, engine)
    kind = "block device" if path.is_block_device() else file_system_of(path)
    if direct:
        check_direct(path, kind, write=False)
        try:
            os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
        except OSError as error:
            raise SlobError(f"{path} can't be read by direct I/O ({error.strerror})", _ELSEWHERE) from error
    return StorageLocation(path.absolute().parent, kind, tuple(_notes(kind, direct)))


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
    mount = mount_of(directory, parse_mounts(text_of(root / "proc/self/mountinfo") or ""))
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
