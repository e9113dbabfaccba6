"""What may be written to: block devices that nobody uses and that carry nothing, and files of our own. Nothing else.

The kernel is asked last, by an exclusive open, which it refuses for whatever a file system, swap, LVM or md holds. The
checks before that are there to say why, and for what the kernel can't know: an unused device may carry data.
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

from openslob.errors import SlobError, UsageError
from openslob.host.model import text_of
from openslob.storage.testfile import TestFile
from openslob.units import format_bytes

_ROOT = Path("/")
Signature = Callable[[Path], str]


def require_harmless(
    luns: Sequence[TestFile], allowed: bool, root: Path = _ROOT, signature: Signature | None = None
) -> str:
    """What writing to ``luns`` overwrites, in words, if it may be done; else UsageError with the reason.

    ``allowed``: the user said that data may be destroyed. ``root`` holds proc and sys, ``signature`` tells what a
    device carries.
    """
    for lun in luns:
        if not lun.ours:
            _require_free_device(lun.path, root, signature or carried)
    told = ", ".join(f"{lun.label} ({format_bytes(lun.size)})" for lun in luns)
    if not allowed:
        raise UsageError(f"--write would overwrite {told}", "--allow-destructive allows it")
    return told


def _require_free_device(path: Path, root: Path, signature: Signature) -> None:
    mode = path.stat()
    if not stat.S_ISBLK(mode.st_mode):
        raise UsageError(
            f"{path} is a file that slob did not make, and is never written to",
            "leave the .lun file out to write to a test file",
        )
    number = f"{os.major(mode.st_rdev)}:{os.minor(mode.st_rdev)}"
    folder = (root / "sys/dev/block" / number).resolve()
    if reason := in_use(number, folder, root):
        raise UsageError(f"{path} is never written to: {reason}", "give devices that nobody uses")
    if found := signature(path):
        raise UsageError(
            f"{path} is never written to: it carries {found}",
            f"`wipefs --all {path}` makes it blank, if nobody needs it",
        )


def in_use(number: str, folder: Path, root: Path = _ROOT) -> str:
    """Who uses the block device with this ``major:minor`` and folder in /sys; empty when nobody does.

    Its partitions count as itself, and so does the disk that it is a partition of.
    """
    family = _family(folder)
    if not family:
        return f"block device {number} is not visible in /sys, so nothing is known of it"
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


def carried(path: Path) -> str:
    """What blkid finds on a device: ``ext4``, ``LVM2_member``, a partition table; empty when blank."""
    program = shutil.which("blkid", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if program is None:
        raise SlobError(f"what {path} carries can't be told without blkid", "install util-linux")
    _require_readable(path)
    asked = subprocess.run([program, "-p", "-o", "export", path], capture_output=True, text=True, check=False)
    found = dict(line.partition("=")[::2] for line in asked.stdout.splitlines())
    if asked.returncode == _AMBIVALENT:
        return "signatures of more than one kind"
    if asked.returncode not in (0, _NOTHING):
        raise SlobError(f"what {path} carries can't be told: {asked.stderr.strip() or asked.returncode}")
    kind = found.get("TYPE") or (f"a {found['PTTYPE']} partition table" if "PTTYPE" in found else "")
    return kind or ("data that blkid knows" if asked.returncode == 0 and asked.stdout.strip() else "")


# Exit codes of blkid: nothing was found; results contradict each other.
_NOTHING, _AMBIVALENT = 2, 8


def _require_readable(path: Path) -> None:
    # What blkid can't read it calls blank, without a word.
    try:
        with path.open("rb") as file:
            file.read(1)
    except OSError as error:
        raise SlobError(f"what {path} carries can't be told: {error.strerror}", "run as root") from error


@contextmanager
def claimed(luns: Sequence[TestFile]) -> Iterator[None]:
    """Hold every device of ``luns`` exclusively within the block: nobody can mount or take it meanwhile.

    UsageError when the kernel refuses, since somebody holds it.
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
        why = "somebody uses it (it can't be opened exclusively)" if error.errno == errno.EBUSY else error.strerror
        raise UsageError(f"{path} is never written to: {why}", "give devices that nobody uses") from error


def _family(folder: Path) -> list[Path]:
    """A device with its partitions, and the disk it is on; empty when it is not in /sys."""
    if not folder.is_dir():
        return []
    disk = [folder.parent] if (folder / "partition").exists() else []
    return [folder, *_partitions(folder), *disk]


def _partitions(folder: Path) -> list[Path]:
    return sorted(inside.parent for inside in folder.glob("*/partition"))


def _mounts(root: Path) -> list[tuple[str, str, str]]:
    """Device number, source and mount point of every mount."""
    found = []
    for line in (text_of(root / "proc/self/mountinfo") or "").splitlines():
        left, _, right = line.partition(" - ")
        found.append((left.split()[2], right.split()[1], left.split()[4]))
    return found


def _name(source: str) -> str:
    """The kernel's name of a device that a table names: links such as those of LVM are followed."""
    return Path(source).resolve().name if source.startswith("/") else ""
