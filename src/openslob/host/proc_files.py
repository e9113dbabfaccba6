"""The files of processes below ``/proc``: of this host here, of another one in `openslob.host.remote_files`."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path

from openslob.core.host import FigureUnknownError

# Files that stay open, which halves the cost of a reading. With more processes, the cost is small beside the server's
# CPU, and a process may have 1,024 files open by default, including connections.
MAX_OPEN_FILES = 128
# More than the size of a process's files; a list of children has at most 8 bytes per child.
_MAX_BYTES = 1 << 15


class LocalProc:
    """The files below a folder of this host. Implements `openslob.core.host.ProcFiles`.

    Raises FigureUnknownError on a host without /proc.
    """

    def __init__(self, proc: Path = Path("/proc")) -> None:
        if not (proc / "stat").exists():
            raise FigureUnknownError("the CPU of ended processes is known on Linux only")
        self._proc = os.open(proc, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._kept: Collection[str] = ()
        # Descriptors by the name of the file below /proc.
        self.open_files: dict[str, int] = {}

    def pids(self) -> Collection[str]:
        """List the folder."""
        return [name for name in os.listdir(self._proc) if name.isdigit()]  # noqa: PTH208 - of an open folder

    def threads(self, pid: str) -> Collection[str]:
        """List the folder of its threads."""
        try:
            folder = os.open(f"{pid}/task", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._proc)
        except OSError:
            return []
        try:
            return dict.fromkeys([pid, *os.listdir(folder)])  # noqa: PTH208 - of an open folder
        except OSError:
            return []
        finally:
            os.close(folder)

    def want(self, names: Iterable[str], threads_of: Iterable[str] = ()) -> None:
        """Do nothing: a file is read when it is asked for."""

    def keep(self, pids: Collection[str]) -> None:
        """Keep the files of these processes open."""
        self._kept = pids

    def forget(self) -> None:
        """Close the files that are open."""
        for handle in self.open_files.values():
            os.close(handle)
        self.open_files.clear()
        self._kept = ()

    def read(self, name: str) -> bytes | None:
        """Read the file, through its descriptor if it is open."""
        open_file = self.open_files.get(name)
        if open_file is not None:
            try:
                return os.pread(open_file, _MAX_BYTES, 0)
            except ProcessLookupError:  # another process may have its pid now
                os.close(self.open_files.pop(name))
        keep = len(self.open_files) < MAX_OPEN_FILES and name.partition("/")[0] in self._kept
        try:
            handle = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._proc)
        except FileNotFoundError:
            return None
        try:
            return os.pread(handle, _MAX_BYTES, 0)
        except ProcessLookupError:
            return None
        finally:
            if keep:
                self.open_files[name] = handle
            else:
                os.close(handle)

    def cpus(self, pid: int) -> frozenset[int] | None:
        """Ask the kernel."""
        try:
            return frozenset(os.sched_getaffinity(pid)) if hasattr(os, "sched_getaffinity") else None
        except OSError:
            return None

    def close(self) -> None:
        """Close the files and the folder."""
        self.forget()
        if self._proc >= 0:
            os.close(self._proc)
            self._proc = -1
