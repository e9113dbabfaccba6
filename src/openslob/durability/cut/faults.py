"""Faults of storage while its user runs: requests that fail, wait, or are carried out in part.

A sync that fails loses what it should have kept, and the next one succeeds, as on Linux: pages whose writing failed are
marked clean, whatever the file system. Their new content may be read as long as the page cache has it. Source: Rebello
et al., "Can Applications Recover from fsync Failures?", USENIX ATC 2020,
https://www.usenix.org/conference/atc20/presentation/rebello.
"""

from __future__ import annotations

import errno
import math
import time
from collections.abc import Mapping, Set
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from openslob.durability.cut.contents import SECTOR_BYTES


class Request(StrEnum):
    """A request for data. ``GROW`` is truncate() and fallocate() to a larger size."""

    READ = "read"
    WRITE = "write"
    GROW = "growth"
    SYNC = "sync"


class Fault(StrEnum):
    """The faults, by their names for users."""

    EIO_READ = "eio-read"
    EIO_WRITE = "eio-write"
    FSYNC_ONCE = "fsync-once"
    ENOSPC = "enospc"
    STALL = "stall"
    TORN_WRITE = "torn-write"
    UNPLUGGED = "unplugged"


class Files(StrEnum):
    """Which files a fault is on: those with pages of tables and indexes, the log and all others, or all."""

    TABLES = "tables"
    REST = "rest"
    ALL = "all"


@dataclass(frozen=True)
class FaultKind:
    """What a fault does: ``error`` is the number of the error that the requests fail with, 0 for none.

    ``files`` take turns where nobody says on which it is to be. ``once``: it is over with the first request that meets
    it; ``tears``: it lasts until the storage is mounted again; another one lasts as long as is asked for. ``says`` is
    what it does, in words.
    """

    requests: Set[Request]
    says: str
    error: int = 0
    files: tuple[Files, ...] = (Files.TABLES, Files.REST)
    once: bool = False
    tears: bool = False

    @property
    def is_timed(self) -> bool:
        """Whether it lasts for a time."""
        return not (self.once or self.tears)

    @property
    def fails_reads(self) -> bool:
        """Whether reads fail."""
        return bool(self.error) and Request.READ in self.requests


FAULTS: Mapping[Fault, FaultKind] = {
    Fault.EIO_READ: FaultKind({Request.READ}, "reads fail (EIO)", errno.EIO, (Files.TABLES,)),
    Fault.EIO_WRITE: FaultKind({Request.WRITE}, "writes fail (EIO)", errno.EIO),
    Fault.FSYNC_ONCE: FaultKind(
        {Request.SYNC}, "one sync fails (EIO) and loses what it should have kept; the next ones succeed", errno.EIO,
        once=True,
    ),
    Fault.ENOSPC: FaultKind(
        {Request.WRITE, Request.GROW}, "the disk is full (ENOSPC): every write and growth fails", errno.ENOSPC
    ),
    Fault.STALL: FaultKind(frozenset(Request), "requests wait, those of other files behind them, too", 0, (Files.ALL,)),
    Fault.TORN_WRITE: FaultKind(
        {Request.WRITE}, "of one block some sectors are written, the others not, and that is acknowledged", 0,
        (Files.TABLES,), tears=True,
    ),
    Fault.UNPLUGGED: FaultKind(
        frozenset(Request), "reads, writes and syncs fail (EIO): the cable is pulled", errno.EIO, (Files.ALL,)
    ),
}  # fmt: skip


class ActiveFault:
    """A fault of the layer from now on.

    It is on the files with these numbers, or on all others if ``listed`` is false. ``met`` counts the requests that met
    it, ``first`` is the first of them in words. ``sleep`` waits so many seconds.
    """

    def __init__(self, fault: Fault, seconds: float, numbers: Set[int], listed: bool, seed: str) -> None:
        self.kind = FAULTS[fault]
        self.met = 0
        self.first = ""
        self._until = time.monotonic() + seconds if self.kind.is_timed else math.inf
        self._numbers, self._listed = numbers, listed
        self._random = Random(seed)
        self._place: tuple[int, int] | None = None

    def concerns(self, number: int) -> bool:
        """Return whether it is on the file with this number."""
        return (number in self._numbers) is self._listed

    def meet(self, request: Request, number: int, path: object, share: float = 1.0) -> bool:
        """Return whether a request for a file meets it, and count it; only a ``share`` of them does, by chance.

        ``path`` is the file's name.
        """
        if request not in self.kind.requests or self.kind.tears or time.monotonic() >= self._until:
            return False
        if not self.concerns(number) or self._random.random() >= share:
            return False
        self._note(request, path)
        if self.kind.once:
            self._until = 0.0
        return True

    def _note(self, request: Request, path: object) -> None:
        self.met += 1
        self.first = self.first or f"{request.value} of {path or 'a file that is not kept yet'}"

    def wait(self) -> None:
        """Wait until it is over."""
        time.sleep(max(0.0, self._until - time.monotonic()))

    def tear(self, number: int, path: object, offset: int, old: bytes, data: bytes) -> bytes:
        """Return what is stored of ``data`` written in the place of ``old``, which is as long: some sectors of it.

        The first write that can be torn decides the place; whatever is written there again is torn as well. A write is
        torn if what is stored is neither the old nor the new content.
        """
        if not self.concerns(number) or self._place not in (None, (number, offset)):
            return data
        mixed = [data[:at] + old[at:] for at in range(SECTOR_BYTES, len(data), SECTOR_BYTES)]
        torn = [each for each in mixed if each not in (old, data)]
        if not torn:
            return data
        self._place = number, offset
        self._note(Request.WRITE, path)
        return self._random.choice(torn)
