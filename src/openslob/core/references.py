"""What a measurement is compared with: the rate of its storage alone, and the server's own report on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class CeilingPoint:
    """The storage's rate with ``in_flight`` requests: requests/s and mean latency in µs, medians over all steps."""

    in_flight: int
    iops: float
    mean_us: float | None


@dataclass(frozen=True)
class Ceiling:
    """Random reads of one block size by the raw measurement ``id``, by requests in flight in ascending order."""

    id: str
    block_bytes: int
    points: tuple[CeilingPoint, ...]


@dataclass(frozen=True)
class StorageAlone:
    """The random reads of the raw measurement ``id``, with which runs on the same storage are compared.

    ``points`` are by block size in bytes and, for each, by requests in flight in ascending order. ``buffered``: the
    reads went through the page cache. ``host`` and its block ``device`` are None where they are not known.
    """

    id: str
    points: Mapping[int, tuple[CeilingPoint, ...]] = field(default_factory=dict)
    buffered: bool = False
    host: str | None = None
    device: str | None = None

    def ceiling(self, block_bytes: int) -> Ceiling:
        """Return the ceiling for random reads of ``block_bytes``; it has no points if none of this size were made."""
        return Ceiling(self.id, block_bytes, self.points.get(block_bytes, ()))


@dataclass(frozen=True)
class ServerReport:
    """The server's own report on an interval that holds the window.

    ``totals`` are over ``seconds``, which are printed in units of ``step_s``, by field of `EngineDelta`.
    """

    name: str
    seconds: float
    step_s: float
    totals: Mapping[str, float]
