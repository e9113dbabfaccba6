"""A cap that held a load back for a part of its time, or for all of it, as the course of the load shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class MeanRate:
    """A mean throughput between two times of the load: operations per second, with the 95 % interval if it is known."""

    ops_per_s: float
    low: float | None
    high: float | None
    begin_s: float
    end_s: float


@dataclass(frozen=True)
class Cap:
    """A cap that was in force in ``held``, periods in s of the load, and in the rest of the load was not.

    ``kind`` is ``iops``, ``bytes`` or ``cpu``, and ``direction`` ``read``, ``write`` or ``both`` (empty for CPU).
    ``cap`` is in ``unit``: IOPS, MB/s or CPUs; it is also what refills a bucket in a second. ``dry_at_s`` is when it
    came into force; None if it was from the beginning. ``bucket`` is what was used beyond the refill until then, in
    requests, MB or s of CPU: all of a bucket that was full at the beginning. ``lifted_at_s`` is when it went out of
    force; None if it held until the end. ``burst`` is the level without the cap and ``sustained`` the one under it.
    ``evidence`` says what speaks for it. ``request_bytes`` is the mean size of the requests, if that is known.
    """

    kind: str
    direction: str
    cap: float
    unit: str
    held: Sequence[tuple[float, float]]
    dry_at_s: float | None
    lifted_at_s: float | None
    bucket: float | None
    burst: MeanRate | None
    sustained: MeanRate | None
    evidence: Sequence[str]
    request_bytes: float | None = None

    @property
    def always(self) -> bool:
        """Whether the cap was in force from the beginning to the end."""
        return self.dry_at_s is None and self.lifted_at_s is None


@dataclass(frozen=True)
class CapSearch:
    """What the course of a load of so many ``seconds`` tells of whether its level lasts.

    ``cap`` is what held it back; None if nothing did, or if ``why_unknown`` says why the course does not show it.
    """

    seconds: float
    cap: Cap | None = None
    why_unknown: str = ""
