"""Storage that can be cut off from its power: a folder that another process serves by FUSE."""

from __future__ import annotations

import errno
import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from ctypes.util import find_library
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from openslob.core.errors import SlobError
from openslob.core.extras import require_extra
from openslob.durability.cut.contents import PAGE_BYTES
from openslob.durability.cut.faults import Fault
from openslob.durability.cut.layer import CutStatistics, NamesModel, Survival
from openslob.host.device import parse_mounts

_FILE_SYSTEM = "fuse.slob-cut"
_MOUNT_S = 30
_ORDER_S = 300
UNMOUNT_S = 10


class CutStorage:
    """A folder ``mountpoint`` whose files are kept in ``backing`` once they were synced, and not before.

    ``cut()`` is a power failure: from then on every request fails with EIO, nothing more reaches ``backing``, and what
    was not synced is dropped. ``restore()`` switches it on again, with what had been synced; whoever has files of it
    open must have ended. At the end of the context everything is synced, except after a cut.

    ``lying``: a disk that acknowledges syncs and makes none. ``survive="random"``: a cut keeps a random part of what
    was not synced, torn pages included, as a disk that was writing does; the same ``seed`` and the same requests give
    the same part. ``names``: what a sync keeps of names, as `layer` says: "journal" is like ext4 and XFS, "strict"
    the least that fsync() promises.

    ``block_bytes``, a multiple of 4096, are what a user of the files takes for a whole. ``torn`` counts by path, below
    the mountpoint, those that the last cut left neither as they were kept nor as they were written.

    ``backing`` may have files before; it always has what would be there after a cut, and may be looked at.
    """

    def __init__(
        self,
        backing: Path,
        mountpoint: Path,
        *,
        lying: bool = False,
        survive: Survival = "nothing",
        seed: int = 0,
        names: NamesModel = "journal",
        block_bytes: int = PAGE_BYTES,
    ) -> None:
        self.backing = backing.absolute()
        self.mountpoint = mountpoint.absolute()
        self._lying = lying
        self._survive: Survival = survive
        self._seed = seed
        self._names = names
        self.block_bytes = block_bytes
        self.torn: dict[str, int] = {}
        self._cuts = 0
        self._before = CutStatistics()
        self._process: subprocess.Popen[str] | None = None
        self._complaints: IO[str] | None = None

    def __enter__(self) -> CutStorage:
        """Mount it. SlobError with what is missing here, or if the folders can't be used."""
        require_fuse()
        remove_stale()
        _require_folders(self.backing, self.mountpoint)
        self._mount()
        return self

    def __exit__(self, *_: object) -> None:
        """Sync everything, unless it was cut, and remove the mount."""
        with suppress(SlobError):  # what ends may be gone already; the mount is removed in any case
            self.sync()
        self._end()

    def sync(self) -> None:
        """Keep everything, like the program of this name; a lying disk lies to its users alone."""
        self._order("sync")

    def cut(self) -> None:
        """Cut it off: requests fail from now on, and what was not synced is lost. Nothing to do if it is cut off."""
        seed = f"{self._seed}:{self._cuts}"
        reply = self._ask("cut", survive=self._survive, seed=seed, block_bytes=self.block_bytes)
        self.torn = reply["torn"]
        self._cuts += 1

    def restore(self) -> None:
        """Mount it again, with what is kept. SlobError if a process still has files of it open."""
        statistics = self.statistics()
        _unmount(self.mountpoint)
        self._end()
        self._before = statistics
        self._mount()

    @property
    def pid(self) -> int | None:
        """The process that serves the files; None while it is not mounted."""
        return self._process.pid if self._process else None

    def set_lying(self, lying: bool) -> None:
        """Make it acknowledge syncs without making them from now on, or make them again."""
        self._order("lie" if lying else "be honest")
        self._lying = lying

    def begin_fault(
        self, fault: Fault, seconds: float, paths: Iterable[Path] = (), *, listed: bool = False, seed: str = ""
    ) -> None:
        """Let a fault begin, in place of another one: `FAULTS` has what it does. It ends with the mount at the latest.

        It is on the files with these ``paths``, below the mountpoint, or on all others if ``listed`` is false. Its
        ``seconds`` count from now on, if it lasts for a time.
        """
        names = [str(path) for path in paths]
        self._ask("fault", fault=fault.value, seconds=seconds, paths=names, listed=listed, seed=seed)

    def fault_met(self) -> tuple[int, str]:
        """Return how many requests met the fault, and the first of them in words; a stall is waited for."""
        reply = self._ask("met")
        return int(reply["met"]), str(reply["first"])

    def statistics(self) -> CutStatistics:
        """Return what went through since the storage was first mounted."""
        return self._order("count")

    def _mount(self) -> None:
        settings = json.dumps({"names": self._names, "lying": self._lying})
        self._complaints = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        # A session of its own: a Ctrl-C at this terminal is not for it. Its input ends when this process does.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "openslob.durability.cut.mount", self.backing, self.mountpoint, settings],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
            env={**os.environ, "FUSE_LIBRARY_NAME": "fuse3"},
            start_new_session=True,
        )
        try:
            self._reply(_MOUNT_S)
        except BaseException:
            self._end()
            raise

    def _order(self, do: str) -> CutStatistics:
        reply = self._ask(do)
        before = asdict(self._before)
        return CutStatistics(**{name: before[name] + int(value) for name, value in reply.items()})

    def _ask(self, do: str, **details: str | float | list[str]) -> dict[str, Any]:
        process = self._process
        if process is None or process.stdin is None:
            raise SlobError(f"the storage at {self.mountpoint} is not mounted")
        with suppress(BrokenPipeError):  # the reply will be missing, with the reason
            process.stdin.write(json.dumps({"do": do, **details}) + "\n")
            process.stdin.flush()
        return self._reply(_ORDER_S)

    def _reply(self, seconds: float) -> dict[str, Any]:
        process = self._process
        if process is None or process.stdout is None:
            raise SlobError(f"the storage at {self.mountpoint} is not mounted")
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            line = process.stdout.readline() if selector.select(seconds) else ""
        reply = json.loads(line) if line else {"error": self._complaint()}
        if "error" in reply:
            raise SlobError(f"the storage that can be cut off failed at {self.mountpoint}: {reply['error']}")
        return dict(reply)

    def _complaint(self) -> str:
        """Return the last line that its process wrote before it ended."""
        if self._process:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1)
        if self._complaints is None or self._complaints.seek(0) != 0:
            return "it gave no reason"
        said = self._complaints.read().strip().splitlines()
        return said[-1] if said else "it gave no answer"

    def _end(self) -> None:
        """End the process, which removes the mount; remove it if the process can't."""
        process, self._process = self._process, None
        if process:
            with suppress(BrokenPipeError):
                if process.stdin:
                    process.stdin.close()
            try:
                process.wait(UNMOUNT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout:
                process.stdout.close()
        if self._complaints:
            self._complaints.close()
        if self.mountpoint in _mounts():
            _fusermount("-u", "-z", str(self.mountpoint))


def require_fuse() -> None:
    """Raise SlobError with what is missing for storage that can be cut off."""
    if sys.platform != "linux":
        raise SlobError("storage that can be cut off needs FUSE of Linux", "use another host")
    require_extra("cut")
    if not shutil.which("fusermount3") or not find_library("fuse3"):
        raise SlobError("storage that can be cut off needs FUSE 3", "install the operating system's package fuse3")
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        raise SlobError(
            f"/dev/fuse can't be opened: {error.strerror}",
            "load the kernel's module fuse; a container needs the device and the right to mount",
        ) from error


def remove_stale() -> None:
    """Remove the mounts that were left when both of their processes were killed."""
    for mountpoint in _mounts():
        try:
            mountpoint.stat()
        except OSError as error:
            if error.errno == errno.ENOTCONN:
                _fusermount("-u", "-z", str(mountpoint))


def _mounts() -> list[Path]:
    """Return where there are mounts of this kind."""
    text = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    return [mount.point for mount in parse_mounts(text) if mount.file_system == _FILE_SYSTEM]


def _unmount(mountpoint: Path) -> None:
    """Remove a mount that nobody uses; SlobError if somebody goes on using it."""
    deadline = time.monotonic() + UNMOUNT_S
    while (said := _fusermount("-u", str(mountpoint))) and mountpoint in _mounts():
        if time.monotonic() > deadline:
            raise SlobError(f"the storage can't be switched on again: {said}", "end the processes that use it first")
        time.sleep(0.05)


def _fusermount(*arguments: str) -> str:
    """Run the program; return its complaint."""
    done = subprocess.run(["fusermount3", *arguments], capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else ""


def _require_folders(backing: Path, mountpoint: Path) -> None:
    if sys.platform != "linux":
        raise SlobError("storage that can be cut off needs Linux")
    for folder in (backing, mountpoint):
        try:
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        except OSError as error:
            raise SlobError(f"{folder} can't be made: {error.strerror}") from error
    if backing in (mountpoint, *mountpoint.parents) or mountpoint in backing.parents:
        raise SlobError(f"of {backing} and {mountpoint} one is inside the other", "name two folders beside each other")
    if any(mountpoint.iterdir()):
        raise SlobError(f"{mountpoint} is not empty", "name an empty folder: a mount would hide what is in it")
    try:
        os.close(os.open(backing, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise SlobError(
            f"{backing} can't have files without names: {error.strerror}", "use a folder on ext4, XFS, Btrfs or tmpfs"
        ) from error
