"""What a place allows to be measured, found before anything starts: a line for what is missing, and the remedy."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from openslob.disk import supports_direct_io
from openslob.errors import SlobError, UsageError
from openslob.host.device import mount_of, parse_mounts
from openslob.host.model import text_of
from openslob.storage.fio import Fio
from openslob.storage.job import IoEngine

# The number of io_uring_setup on every architecture that Linux shares numbers among (all but alpha).
_IO_URING_SETUP = 425
_PARAMS_BYTES = 120  # sizeof(struct io_uring_params)
_IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})
_STACKED = frozenset({"overlay", "aufs", "fuse.fuse-overlayfs"})
_ELSEWHERE = "give a place on a disk, or --buffered to measure the page cache"
_OTHER_ENGINES = "give --io-engine libaio or psync"


@dataclass(frozen=True)
class StorageLocation:
    """A directory (or the one of a file) found fit for measuring. ``notes`` say what a reader should know of it."""

    directory: Path
    file_system: str
    notes: tuple[str, ...]


def check(fio: Fio, directory: Path, engine: IoEngine, *, direct: bool = True, write: bool = True) -> StorageLocation:
    """Find out whether ``engine`` can measure files in ``directory``. SlobError says what is missing and what to do.

    ``write``: files shall be made there. Without ``direct`` the page cache is measured, which a note says.
    """
    if not directory.is_dir():
        raise UsageError(f"{directory} is not a directory", "give one on the storage to be measured")
    if write and not os.access(directory, os.W_OK | os.X_OK):
        raise SlobError(f"{directory} can't be written", "give a directory of yours")
    check_engine(fio, engine)
    kind = file_system_of(directory)
    if direct:
        check_direct(directory, kind, write)
    return StorageLocation(directory, kind, tuple(_notes(kind, direct)))


def check_file(fio: Fio, path: Path, engine: IoEngine, *, direct: bool = True) -> StorageLocation:
    """Like `check`, for a file or block device of the user's that is only read."""
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
    """SlobError unless fio has this engine and the kernel lets us use it; no other is taken in its place."""
    if engine.value not in fio.engines():
        raise SlobError(f"{fio.program} was built without {engine}", _OTHER_ENGINES)
    if engine is IoEngine.IO_URING and (number := (io_uring or try_io_uring)()):
        raise SlobError(f"io_uring can't be used here: {why_no_io_uring(number)}", f"or {_OTHER_ENGINES}")


def try_io_uring() -> int:
    """Set up and drop a ring of one entry: 0 when the kernel allows it, else its error number."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(_IO_URING_SETUP, 1, ctypes.create_string_buffer(_PARAMS_BYTES))
    if descriptor < 0:
        return ctypes.get_errno()
    os.close(descriptor)
    return 0


def why_no_io_uring(number: int, root: Path = Path("/")) -> str:
    """The reason behind an error of io_uring_setup, with its remedy."""
    if number == errno.ENOSYS:
        return "this kernel has none (it is older than 5.1 or built without); use a newer kernel"
    if number == errno.ENOMEM:
        return "too little memory may be locked; raise `ulimit -l`"
    if number in (errno.EPERM, errno.EACCES):
        disabled = text_of(root / "proc/sys/kernel/io_uring_disabled")
        if disabled not in (None, "0"):
            return f"kernel.io_uring_disabled is {disabled}; run `sysctl kernel.io_uring_disabled=0`"
        return "it is forbidden (a container's seccomp profile does that); allow it in the profile"
    return os.strerror(number)


def file_system_of(directory: Path, root: Path = Path("/")) -> str:
    """The type of the file system that holds ``directory``; ``unknown`` when the system does not tell."""
    mount = mount_of(directory, parse_mounts(text_of(root / "proc/self/mountinfo") or ""))
    return mount.file_system if mount else "unknown"


def check_direct(directory: Path, kind: str, write: bool) -> None:
    """SlobError unless direct I/O there reaches a device."""
    if kind in _IN_MEMORY:
        raise SlobError(f"{directory} lies in memory ({kind}): there is no storage to measure", _ELSEWHERE)
    if write and not supports_direct_io(directory):
        raise SlobError(f"direct I/O (O_DIRECT) is not possible in {directory} ({kind})", _ELSEWHERE)


def _notes(kind: str, direct: bool) -> list[str]:
    notes = []
    if not direct:
        notes.append("buffered: the page cache answers most reads, so this is not what the storage does")
    if kind in _STACKED:
        notes.append(f"the file lies on a stacked file system ({kind}): its cost is in the figures")
    return notes
