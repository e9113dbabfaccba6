"""File systems: free space, atomic replacement of files, direct I/O, and the page cache."""

from __future__ import annotations

import mmap
import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from openslob.errors import SlobError
from openslob.units import format_bytes

# A full disk stops a running database and can damage its data, so this much is always left free.
RESERVE_BYTES = 1024**3
RESERVE_SHARE = 0.05
# The largest logical sector in use: a transfer of this size and alignment is valid for O_DIRECT everywhere.
_DIRECT_UNIT = 4096


def existing_parent(path: Path) -> Path:
    """Return ``path``, or the nearest directory above it that exists."""
    return path if path.exists() else existing_parent(path.parent)


def require_space(path: Path, needed_bytes: int, purpose: str) -> None:
    """Raise SlobError unless ``needed_bytes`` fit on the file system of ``path`` and a reserve stays free.

    ``path`` need not exist yet.
    """
    usage = shutil.disk_usage(existing_parent(path))
    reserve = max(RESERVE_BYTES, int(usage.total * RESERVE_SHARE))
    if usage.free >= needed_bytes + reserve:
        return
    raise SlobError(
        f"{purpose} needs {format_bytes(needed_bytes)} at {path} and {format_bytes(reserve)} kept in reserve, "
        f"but {format_bytes(usage.free)} are free",
        "ask for less or use another disk",
    )


def write_atomically(path: Path, text: str, mode: int | None = None) -> None:
    """Replace a file by one with ``text``, so that readers and crashes see either the old file or the whole new one.

    ``mode`` is set regardless of the umask. Without it the file has the mode that the umask gives to new files.
    """
    temporary = path.with_name(f".{path.name}-{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):  # on a full or read-only file system there may be no file
            temporary.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    """Sync a directory, because a power failure could otherwise undo a rename in it."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def supports_direct_io(directory: Path) -> bool:
    """Return whether files in ``directory`` can be written with O_DIRECT, by writing one."""
    flag = getattr(os, "O_DIRECT", 0)
    if not flag:
        return False
    path = directory / f".direct-io-{os.getpid()}"
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | flag, 0o600)
        try:
            # anonymous maps are page-aligned, as O_DIRECT requires
            with mmap.mmap(-1, _DIRECT_UNIT) as buffer:
                return os.write(handle, buffer) == _DIRECT_UNIT
        finally:
            os.close(handle)
    except OSError:
        return False
    finally:
        path.unlink(missing_ok=True)


def bytes_on_disk(directory: Path) -> int:
    """Return the bytes allocated to all files below ``directory``; files removed meanwhile are skipped."""
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.lstat(f"{folder}/{name}").st_blocks * 512  # POSIX counts st_blocks in 512 bytes
            except FileNotFoundError:
                continue
    return total


def forget_cached(directory: Path) -> None:
    """Ask the kernel to drop the clean pages of all files below ``directory`` from the page cache.

    Gigabytes take seconds of CPU time, so the files are divided among the CPUs.
    """
    if not hasattr(os, "posix_fadvise"):
        return
    files = [f"{folder}/{name}" for folder, _, names in os.walk(directory) for name in names]
    workers = os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(_forget_files, [files[first::workers] for first in range(workers)]))


def _forget_files(files: Sequence[str]) -> None:
    for file in files:
        try:
            handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:  # removed meanwhile, or a link to a file elsewhere
            continue
        try:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(handle)
