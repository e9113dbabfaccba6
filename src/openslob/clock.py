"""Clocks: monotonic nanoseconds for intervals, and one reading of the wall clock that anchors them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True)
class Anchor:
    """A reading of this process's monotonic clock and of the wall clock at the same moment."""

    monotonic_ns: int
    wall_ns: int

    @classmethod
    def now(cls) -> Anchor:
        """Read both clocks together."""
        return cls(time.monotonic_ns(), time.time_ns())

    def wall_of(self, monotonic_ns: int) -> int:
        """Convert a monotonic reading to wall-clock nanoseconds since the epoch."""
        return self.wall_ns + monotonic_ns - self.monotonic_ns


def iso(wall_ns: int) -> str:
    """Format nanoseconds since the epoch as UTC time in ISO 8601, to the second."""
    return datetime.fromtimestamp(wall_ns / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
