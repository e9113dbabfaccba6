"""How far a copy is behind its primary, by positions in the log; every engine's replication tells these."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

from openslob.core.measurement import Behind
from openslob.core.units import NANOS

# The name of an instance's place in the log among its counters.
PLACE = "log_place"


@dataclass(frozen=True)
class LogPosition:
    """A place in a server's log: ``offset`` bytes into the file of this number; 0 for a log that is one long file.

    ``sizes`` are the bytes of the files that a primary still has, by number.
    """

    offset: int
    file: int = 0
    sizes: Mapping[int, int] = field(default_factory=dict)


class LogScale:
    """One number for each place in a log: bytes since the begin of the oldest file that the primary had at first.

    It keeps the sizes of files that the primary has removed since. A place behind the end of a file whose last bytes
    were not seen yet is too low by these, until the next reading.
    """

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}

    def places(self, readings: Sequence[CopyReading]) -> list[int | None]:
        """Return the places of all instances, read at one moment; None where it is not known."""
        at = [reading.position for reading in readings]
        for position in filter(None, at):
            self._sizes |= position.sizes
        return [None if position is None else self._place(position) for position in at]

    def _place(self, position: LogPosition) -> int | None:
        if not position.file:
            return position.offset
        if not self._sizes or position.file < min(self._sizes):
            return None
        before = [self._sizes.get(number) for number in range(min(self._sizes), position.file)]
        known = [size for size in before if size is not None]
        return sum(known) + position.offset if len(known) == len(before) else None


@dataclass(frozen=True)
class CopyReading:
    """What a server tells of its log at one moment.

    ``position`` is the end of the durable log of a server that takes writes; on a copy, of what it has applied, and
    ``received`` of what it has got. None: the server does not tell. ``said_s`` is what a copy itself calls its lag:
    for comparison only, since it grows while the primary is idle, or stays small while the copy has not got the log.
    """

    position: LogPosition | None
    received: LogPosition | None = None
    said_s: float | None = None


class CopyReader(Protocol):
    """One connection that reads a server's position in the log, of a primary or a copy."""

    def read(self) -> CopyReading:
        """Return where the server is now. SlobError when it does not answer."""

    def close(self) -> None:
        """Close the connection; never raises."""


class Replicated(Protocol):
    """The replication position of a server, for databases whose instances each hold a copy of the data."""

    def log_position(self) -> int:
        """Return the server's position in the log, comparable among the instances of a cluster.

        Where the instance takes writes, this is its last durable change; on a copy, the last change that
        queries see. SlobError when the server does not report it.
        """

    def open_reader(self) -> CopyReader:
        """Connect a reader of the position in bytes of the log."""


def bytes_behind(primary: LogPosition | None, copy: LogPosition | None) -> int | None:
    """Return how many bytes of the primary's log the copy lacks; None if that is not known.

    0 for a copy that was read later than its primary and is ahead of that reading.
    """
    if primary is None or copy is None:
        return None
    files = [primary.sizes.get(number) for number in range(copy.file, primary.file)]
    between = [size for size in files if size is not None]
    if len(between) < len(files):
        return None
    return max(0, sum(between) + primary.offset - copy.offset)


class LogPlaces:
    """The places in the log of the instances of a cluster, by readings of its counters, and what follows from them."""

    def __init__(self) -> None:
        self._seen: list[tuple[int, list[float]]] = []

    def see(self, at_ns: int, values: Mapping[str, float]) -> None:
        """Note the places of a reading; it has none of a single server, and of instances without copies."""
        if places := list(_places(values)):
            self._seen.append((at_ns, places))

    def behind(self, primary: int, copy: int) -> Behind | None:
        """Return how far an instance was behind another one; None if that is not known.

        The two are read at the same moment, but not to the microsecond: one that is ahead by that is not behind. What a
        copy lacks came after the last reading in which the primary was not beyond the place of the copy. Of what it
        lacks in the first reading that is not known.
        """
        both = [(at_ns, found[primary], found[copy]) for at_ns, found in self._seen if max(primary, copy) < len(found)]
        if not both:
            return None
        places = [place for _, place, _ in both]
        late_ns = [
            at_ns - both[number - 1][0]
            for at_ns, place, applied in both
            if place > applied and (number := bisect_right(places, applied))
        ]
        lacking = [max(0.0, place - applied) for _, place, applied in both]
        return Behind(sum(lacking) / len(both), max(lacking), max(late_ns, default=0) / NANOS)


def _places(values: Mapping[str, float]) -> Iterator[float]:
    for number in count():
        place = values.get(f"{number}.{PLACE}")
        if place is None:
            return
        yield place
