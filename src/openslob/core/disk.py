"""File systems: free space, atomic replacement of files, direct I/O, and the page cache."""

from __future__ import annotations

import errno
import fcntl
import json
import math
import mmap
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from openslob.core.errors import SlobError
from openslob.core.units import format_bytes

# A full disk stops a running database and can damage its data, so this much is always left free.
RESERVE_BYTES = 1024**3
RESERVE_SHARE = 0.05
# The largest logical sector in use: a transfer of this size and alignment is valid for O_DIRECT everywhere.
_DIRECT_UNIT = 4096
# Far more than any of our documents has; a file of another kind, or a sparse one, may not even fit the memory.
_MOST_DOCUMENT_BYTES = 256 * 1024**2
# One half of a sign that JSON writes as two numbers, with or without the other; an integer that is no float any more.
_HALF_SIGN = re.compile(r"\\u[dD][89a-fA-F]")
_HUGE = re.compile(r"\d{300}")
# Every number so long fills one of the parts of a text that are half as long. To look at these takes no time.
_HALF_HUGE = 150


def existing_parent(path: Path) -> Path:
    """Return ``path``, or the nearest directory above it that exists."""
    return path if path.exists() else existing_parent(path.parent)


def is_there(text: str) -> bool:
    """Return whether ``text`` is the path of something. What no path can be, such as a text of 300 signs, is not."""
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False


def require_space(path: Path, needed_bytes: int, purpose: str, reserve_times: int | None = None) -> None:
    """Raise SlobError unless ``needed_bytes`` fit on the file system of ``path`` and a reserve stays free.

    The reserve is at most ``reserve_times`` as large as what is needed, if that is given. ``path`` need not exist yet.
    """
    usage = shutil.disk_usage(existing_parent(path))
    reserve = max(RESERVE_BYTES, int(usage.total * RESERVE_SHARE))
    if reserve_times is not None:
        reserve = min(reserve, reserve_times * needed_bytes)
    if usage.free >= needed_bytes + reserve:
        return
    raise SlobError(
        f"{purpose} needs {format_bytes(needed_bytes)} at {path} and {format_bytes(reserve)} kept in reserve, "
        f"but {format_bytes(usage.free)} are free",
        "ask for less or use another disk",
    )


def write_atomically(path: Path, content: str | bytes, mode: int | None = None) -> None:
    """Replace a file, so that readers and crashes see either the old file or the whole new one.

    ``mode`` is set regardless of the umask. Without it a file that exists keeps its mode and, as far as this user may
    set it, its owner. A link is followed: its target is replaced. A device that is no disk, a pipe, or an open file
    below /dev or /proc is written to. SlobError for a link or pipe that another user put where everybody may write.
    """
    refuse_planted(path)
    raw = content.encode("utf-8") if isinstance(content, str) else content
    before = _status(path)
    if before is None or (stat.S_ISREG(before.st_mode) and not _is_open_file(path)):
        _replace(path.resolve(), raw, mode, before)
    else:
        _write_into(path, raw, before)


def refuse_planted(path: Path) -> None:
    """Raise SlobError if another user put a link or a pipe on the way to ``path``, where everybody may write."""
    for each in _of_others(path):
        if not (each.is_file() or each.is_dir()) or each.is_symlink():
            raise SlobError(f"{each} is a link or a pipe of another user", "name another place")


def refuse_foreign(directory: Path) -> None:
    """Raise SlobError if another user owns ``directory`` or one above it, in a place where everybody may write."""
    for each in _of_others(directory):
        raise SlobError(
            f"{each} belongs to another user, in a directory that everybody may write to", "name another directory"
        )


def _of_others(path: Path) -> Iterator[Path]:
    """Yield what others own on the way to ``path`` in directories that everybody may write, and do not own."""
    for each in (path.absolute(), *path.absolute().parents):
        own, above = _status(each, follow=False), _status(each.parent)
        if own and above and above.st_mode & stat.S_IWOTH and own.st_uid not in (os.geteuid(), above.st_uid):
            yield each


def _status(path: Path, follow: bool = True) -> os.stat_result | None:
    try:
        return path.stat(follow_symlinks=follow)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _is_open_file(path: Path) -> bool:
    """Return whether it is a link to a descriptor of a process, such as /dev/stdout, which leads to one below /proc."""
    while path.is_symlink():
        path = path.parent.resolve() / path.name
        if path.parts[1] == "proc":
            return True
        path = path.parent / path.readlink()
    return False


def _replace(path: Path, raw: bytes, mode: int | None, before: os.stat_result | None) -> None:
    temporary = path.with_name(f".slob-{os.urandom(8).hex()}.tmp")
    # A new file has the mode that the umask leaves.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(descriptor, mode)
            elif before and (before.st_uid == os.geteuid() or not path.parent.stat().st_mode & stat.S_IWOTH):
                _keep_owner_and_mode(descriptor, before)
            file.write(raw)
            file.flush()
            os.fsync(descriptor)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):  # on a file system that became read-only
            temporary.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def _keep_owner_and_mode(descriptor: int, before: os.stat_result) -> None:
    with suppress(PermissionError):  # only root may give files away
        os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))


def _write_into(path: Path, raw: bytes, before: os.stat_result) -> None:
    if stat.S_ISBLK(before.st_mode):
        raise OSError(errno.EINVAL, "it is a block device, whose data would be lost")
    # O_APPEND: standard output may be a file that others wrote to.
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY | os.O_CLOEXEC), "wb") as file:
        if not os.path.samestat(os.fstat(file.fileno()), before):
            raise OSError(errno.ESTALE, "it was replaced at this moment")
        file.write(raw)


def file_identity(path: Path) -> tuple[int, ...]:
    """Return a file's inode, size and time of change, which differ once it is changed or replaced; empty if unknown."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns


def remove_tree(path: Path) -> None:
    """Remove a directory with all its files; of a link only the link."""
    if path.is_symlink():
        path.unlink()
    else:
        shutil.rmtree(path)


@contextmanager
def scratch_folder(purpose: str) -> Iterator[Path]:
    """Provide an empty folder for the block, and remove it at the end, with those that killed processes left behind.

    The kernel releases the lock on a folder when its process dies, however it dies.
    """
    from tempfile import gettempdir  # noqa: PLC0415 - few commands need one

    place, prefix = Path(gettempdir()), f"slob-{purpose}-"
    for left in place.glob(f"{prefix}*"):
        _remove_abandoned(left)
    path, descriptor = _new_scratch_folder(place, prefix)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(descriptor)


def _new_scratch_folder(place: Path, prefix: str) -> tuple[Path, int]:
    """Return a new folder and the descriptor that holds its lock."""
    from tempfile import mkdtemp  # noqa: PLC0415 - as above

    while True:
        path = Path(mkdtemp(prefix=prefix, dir=place))
        # Until it is locked it looks abandoned, and another process may remove it.
        with suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if path.exists():
                return path, descriptor
            os.close(descriptor)


def _remove_abandoned(path: Path) -> None:
    """Remove a scratch folder of this user that no process has locked."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # removed meanwhile, or somebody else's
        return
    try:
        if os.fstat(descriptor).st_uid == os.geteuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    except BlockingIOError:  # in use
        return
    finally:
        os.close(descriptor)


def _sync_directory(directory: Path) -> None:
    """Sync a directory, because a power failure could otherwise undo a rename in it."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading. OSError for any other: a pipe that nobody writes to would be waited for."""
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")  # noqa: PTH123, SIM115
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "it is not a file")


def read_json(path: Path, remedy: str) -> object:
    """Return the JSON document in a regular file.

    Raises:
        SlobError: It can't be read, or is not JSON; the text has the path and ``remedy``.

    """
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > _MOST_DOCUMENT_BYTES:
                raise SlobError(f"{path} is damaged: it has {format_bytes(size)}", remedy)
            return _parse(file.read().decode("utf-8"))
    except OSError as error:
        raise SlobError(f"{path} can't be read: {error.strerror}", remedy) from error
    except RecursionError as error:
        raise SlobError(f"{path} is damaged: it is nested too deeply", remedy) from error
    except ValueError as error:
        raise SlobError(f"{path} is damaged: {_shorten(error)}", remedy) from error


def _parse(text: str) -> object:
    """Return a JSON document. ValueError also for texts and numbers that can't be printed or computed with."""
    if _HALF_SIGN.search(text):
        json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8")
    if any(text[at : at + _HALF_HUGE].isdigit() for at in range(0, len(text), _HALF_HUGE)) and _HUGE.search(text):
        raise ValueError("it has a number of more than 300 digits")
    return json.loads(text, parse_float=_finite, parse_constant=_finite)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is not a JSON number")
    return value


def _shorten(error: ValueError) -> str:
    return "it is not UTF-8" if isinstance(error, UnicodeError) else str(error) or type(error).__name__


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
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only loads need it

    files = [f"{folder}/{name}" for folder, _, names in os.walk(directory) for name in names]
    workers = os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(_forget_files, [files[first::workers] for first in range(workers)]))


def _forget_files(files: Sequence[str]) -> None:
    if sys.platform != "linux":
        return
    for file in files:
        try:
            handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:  # removed meanwhile, or a link to a file elsewhere
            continue
        try:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(handle)
