"""Clocks: monotonic nanoseconds for intervals, the wall clock once as an anchor, the server's clock for the load."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True)
class Anchor:
    """Ties this process's monotonic clock to the wall clock at one moment."""

    monotonic_ns: int
    wall_ns: int

    @classmethod
    def now(cls) -> Anchor:
        """Read both clocks together."""
        return cls(time.monotonic_ns(), time.time_ns())

    def wall_of(self, monotonic_ns: int) -> int:
        """Wall-clock nanoseconds since the epoch at a monotonic reading."""
        return self.wall_ns + monotonic_ns - self.monotonic_ns


def iso(wall_ns: int) -> str:
    """UTC time in ISO 8601, to the second."""
    return datetime.fromtimestamp(wall_ns / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
