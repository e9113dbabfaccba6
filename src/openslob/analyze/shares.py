"""Shares of trials, such as crashes that lost something, and what so few of them say of all that might be."""

from __future__ import annotations

from dataclasses import dataclass

from openslob.analyze.distributions import beta_quantile
from openslob.analyze.intervals import CONFIDENCE


@dataclass(frozen=True)
class Share:
    """A share ``found`` of ``trials``, with the ends ``low`` and ``high`` of its 95 % interval."""

    found: int
    trials: int
    low: float
    high: float

    @property
    def power(self) -> float:
        """The least chance that as many trials find one or more: each finds one with the chance ``low``, by itself."""
        return 1.0 - (1.0 - self.low) ** self.trials


def share_of(found: int, trials: int) -> Share:
    """Return a share with its interval after Clopper and Pearson (Biometrika 26, 1934), which is never too narrow.

    Its ends are quantiles of beta distributions. Without a trial nothing is known: 0 to 1.
    """
    tail = (1.0 - CONFIDENCE) / 2.0
    low = beta_quantile(tail, found, trials - found + 1) if found else 0.0
    high = beta_quantile(1.0 - tail, found + 1, trials - found) if found < trials else 1.0
    return Share(found, trials, low, high)


def ruled_out_pct(trials: int) -> float:
    """Return the share, in %, of which so many trials would have shown one with 95 % confidence, and showed none."""
    return float(100.0 * (1.0 - (1.0 - CONFIDENCE) ** (1.0 / trials)))
