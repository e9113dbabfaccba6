"""What the control group of a server held back in an interval, as plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GroupUse:
    """The CPU quota of the server's control group at the end of an interval, and what it held back.

    ``cpu_quota`` is in CPUs; None without a quota. ``throttled_s`` is the time for which tasks were ready and held
    back, summed over CPUs. ``periods`` are those of the quota in which the group had something to do; in
    ``periods_throttled`` of them it used up its quota.
    """

    cpu_quota: float | None
    throttled_s: float
    periods: float
    periods_throttled: float

    @property
    def throttled_pct(self) -> float:
        """The share of the periods in which the group used up its quota, in %."""
        return 100 * self.periods_throttled / self.periods if self.periods else 0.0
