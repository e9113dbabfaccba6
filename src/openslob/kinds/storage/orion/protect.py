"""Protection against overwriting data.

Only two things are ever written to: test files made by slob, and block devices that are unused and blank. The last
check is an exclusive open, which the kernel refuses for a device held by a file system, swap, LVM or md. The checks
before it give the reason, and find what the kernel can't know: an unused device may contain data.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from openslob.core.errors import SlobError, UsageError
from openslob.core.units import format_bytes
from openslob.host.model import text_of
from openslob.kinds.storage.target import TestFile

_ROOT = Path("/")
Signature = Callable[[Path], str]


def require_harmless(
    luns: Sequence[TestFile], allowed: bool, root: Path = _ROOT, signature: Signature | None = None
) -> str:
    """Return a description of what writing to ``luns`` overwrites. Raises UsageError if it is not allowed.

    ``allowed`` is true if the user permitted that data are destroyed. ``root`` is the directory that contains proc and
    sys. ``signature`` is a function that returns what a device contains, `device_contents` by default.

    """
    for lun in luns:
        if not lun.ours:
            _require_free_device(lun.path, root, signature or device_contents)
    overwritten = ", ".join(f"{lun.label} ({format_bytes(lun.size)})" for lun in luns)
    if not allowed:
        raise UsageError(f"--write would overwrite {overwritten}", "--allow-destructive allows it")
    return overwritten


def _require_free_device(path: Path, root: Path, signature: Signature) -> None:
    mode = path.stat()
    if not stat.S_ISBLK(mode.st_mode):
        raise UsageError(
            f"{path} is a file that slob did not make: slob never writes to such a file",
            "remove the .lun file to write to a test file",
        )
    number = f"{os.major(mode.st_rdev)}:{os.minor(mode.st_rdev)}"
    folder = (root / "sys/dev/block" / number).resolve()
    if reason := in_use(number, folder, root):
        raise UsageError(f"{path} can't be written to: {reason}", "give unused devices")
    if found := signature(path):
        raise UsageError(
            f"{path} can't be written to: it contains {found}",
            f"if the data are not needed, erase them with `wipefs --all {path}`",
        )


def in_use(number: str, folder: Path, root: Path = _ROOT) -> str:
    """Return what uses the block device with this ``major:minor`` and folder in /sys; empty if nothing does.

    Use of its partitions counts as use of the device, and so does use of the disk that it is a partition of.
    """
    family = _family(folder)
    if not family:
        return f"block device {number} is not visible in /sys, so its use is unknown"
    numbers = {text for each in family if (text := text_of(each / "dev"))}
    names = {each.name for each in family}
    for mounted_number, source, point in _mounts(root):
        if mounted_number in numbers or _name(source) in names:
            return f"{source} is mounted at {point}"
    for swap in (text_of(root / "proc/swaps") or "").splitlines()[1:]:
        if _name(swap.split()[0]) in names:
            return f"{swap.split()[0]} is swap space"
    for each in family:
        for holder in sorted((each / "holders").glob("*")):
            return f"{holder.name} (device mapper, LVM or md) is built on {each.name}"
    return ""


def device_contents(path: Path) -> str:
    """Return what blkid finds on a device: ``ext4``, ``LVM2_member``, a partition table; empty if it is blank."""
    program = shutil.which("blkid", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if program is None:
        raise SlobError(f"the contents of {path} can't be checked without blkid", "install util-linux")
    _require_readable(path)
    done = subprocess.run([program, "-p", "-o", "export", path], capture_output=True, text=True, check=False)
    found = dict(line.partition("=")[::2] for line in done.stdout.splitlines())
    if done.returncode == _AMBIVALENT:
        return "signatures of more than one kind"
    if done.returncode not in (0, _NOTHING):
        raise SlobError(f"the contents of {path} can't be checked: {done.stderr.strip() or done.returncode}")
    kind = found.get("TYPE") or (f"a {found['PTTYPE']} partition table" if "PTTYPE" in found else "")
    return kind or ("data that blkid recognises" if done.returncode == 0 and done.stdout.strip() else "")


# Exit codes of blkid: nothing found; contradictory signatures.
_NOTHING, _AMBIVALENT = 2, 8


def _require_readable(path: Path) -> None:
    # blkid reports a device that it can't read as blank.
    try:
        with path.open("rb") as file:
            file.read(1)
    except OSError as error:
        raise SlobError(f"the contents of {path} can't be checked: {error.strerror}", "run as root") from error


@contextmanager
def claim_devices(luns: Sequence[TestFile]) -> Iterator[None]:
    """Open every device of ``luns`` exclusively for the block, so that it can't be mounted or taken meanwhile.

    Raises UsageError if the kernel refuses because the device is in use.
    """
    with ExitStack() as held:
        for lun in luns:
            if not lun.ours:
                held.callback(os.close, _exclusive(lun.path))
        yield


def _exclusive(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
    except OSError as error:
        why = "it is in use (it can't be opened exclusively)" if error.errno == errno.EBUSY else error.strerror
        raise UsageError(f"{path} can't be written to: {why}", "give unused devices") from error


def _family(folder: Path) -> list[Path]:
    """Return the folders of a device, its partitions and its disk; empty if the device is not in /sys."""
    if not folder.is_dir():
        return []
    disk = [folder.parent] if (folder / "partition").exists() else []
    partitions = sorted(inside.parent for inside in folder.glob("*/partition"))
    return [folder, *partitions, *disk]


def _mounts(root: Path) -> list[tuple[str, str, str]]:
    """Return device number, source and mount point of every mount."""
    mounts = []
    for line in (text_of(root / "proc/self/mountinfo") or "").splitlines():
        left, _, right = line.partition(" - ")
        mounts.append((left.split()[2], right.split()[1], left.split()[4]))
    return mounts


def _name(source: str) -> str:
    """Return the kernel's name of a device path; links such as those of LVM are followed."""
    return Path(source).resolve().name if source.startswith("/") else ""
