"""Which processes of this host belong to a database server."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class ProcessTree:
    """A main process and all processes below it. CPU and I/O of ended processes are in their parents' figures."""

    main_pid: int

    def __str__(self) -> str:
        """Return the main process's id."""
        return str(self.main_pid)


@dataclass(frozen=True)
class ProcessSet:
    """Processes without a common parent, such as those of a server whose processes are all children of init.

    ``find`` returns their ids: by the server's own list, by command, or by cgroup. ``description`` names the set.
    """

    description: str
    find: Callable[[], Collection[int]]

    def __str__(self) -> str:
        """Return the description."""
        return self.description


ProcessSelector = ProcessTree | ProcessSet
