"""Where the counters of a server's host are read: on this host, or on another one."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Protocol


class FigureUnknownError(Exception):
    """A figure of a host can't be read. The text is the reason, which goes into the record."""


class ProcFiles(Protocol):
    """The files of processes of one host."""

    def pids(self) -> Collection[str]:
        """Return the ids of all processes of the host."""

    def threads(self, pid: str) -> Collection[str]:
        """Return the ids of the process's threads, its first thread first; none if it has ended."""

    def read(self, name: str) -> bytes | None:
        """Return the text of a file under /proc; None if it does not exist or its process has ended.

        PermissionError if this user may not read it.
        """

    def want(self, names: Iterable[str], threads_of: Iterable[str] = ()) -> None:
        """Say which files, and threads of which processes, are read next, in this order: so they can come at once."""

    def keep(self, pids: Collection[str]) -> None:
        """Say whose files are read again and again."""

    def forget(self) -> None:
        """Forget what was to be kept: another process may have the number by now."""

    def cpus(self, pid: int) -> frozenset[int] | None:
        """Return the CPUs that a process may run on; None if that is not known."""

    def close(self) -> None:
        """Close all files; a second call does nothing."""


class Host(Protocol):
    """A host whose files can be read below ``root``. FigureUnknownError where something can't be."""

    @property
    def where(self) -> str:
        """How to say whose figures these are, as ``ssh://db1``; empty for this host."""

    @property
    def root(self) -> Path:
        """The folder below which its files are."""

    def refresh(self, again: bool = False) -> int:
        """Bring the files below ``root`` up to date; return when that was, in ns of this host's monotonic clock.

        ``again``: the same files of processes will be read as the last time, so that they may come along.
        """

    def processes(self) -> ProcFiles:
        """Return the files of the host's processes."""

    def watch_group(self, pid: int) -> None:
        """Make the files of a process's control group visible below ``root``."""

    def find_device(self, directory: Path) -> Path:
        """Return the folder in ``/sys``, below ``root``, of the block device under a directory."""

    def resolve(self, directory: Path) -> Path:
        """Return the path without symbolic links; itself where this user may not see them."""

    def identify(self) -> dict[str, Any]:
        """Return host, kernel, machine, CPUs and memory: what no file says on every system."""

    def describe_reading(self) -> dict[str, Any]:
        """Return for the record how it is read: nothing for this host."""

    def cpu_s(self) -> float:
        """Return the CPU seconds that reading has cost there, beside those of this process."""


class OtherHost(Host, Protocol):
    """A server's host that is not this one. There, a process is found by what it says of itself."""

    @property
    def hides_processes(self) -> str:
        """Why nothing is known of its processes; empty where they can be found."""

    def reopen(self) -> None:
        """Connect again if nobody answers any more."""

    def read(self, path: str) -> bytes | None:
        """Return the text of a file of the host now; None if there is none that this user may read."""

    def find_programs(self, names: Collection[str]) -> list[int]:
        """Return the processes that are such a program."""

    def read_title(self, pid: int) -> str:
        """Return a process's command line; empty if there is none."""

    def find_directory(self, pid: int) -> Path | None:
        """Return the working directory of a process; None if this user may not see it."""
