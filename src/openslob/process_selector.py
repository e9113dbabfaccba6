"""Which processes of this host belong to a database server."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class ProcessTree:
    """A main process and all processes below it. What ended processes used is in their parents' figures."""

    main_pid: int

    def __str__(self) -> str:
        """Return the main process's id."""
        return str(self.main_pid)


@dataclass(frozen=True)
class ProcessSet:
    """Processes without a common parent, as of a server whose processes all belong to init.

    ``find`` returns their ids: by the server's own list, by command, or by cgroup. ``description`` says which they are.
    """

    description: str
    find: Callable[[], Collection[int]]

    def __str__(self) -> str:
        """Return the description."""
        return self.description


ProcessSelector = ProcessTree | ProcessSet
