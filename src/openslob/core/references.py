"""What a measurement is compared with: the rate of its storage alone, and the server's own report on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


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
class ServerReport:
    """The server's own report on an interval that holds the window.

    ``totals`` are over ``seconds``, which are printed in units of ``step_s``, by field of `EngineDelta`.
    """

    name: str
    seconds: float
    step_s: float
    totals: Mapping[str, float]
