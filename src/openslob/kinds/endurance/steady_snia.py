"""Steady state by the criteria of the Storage Networking Industry Association (SNIA).

They are those of the Solid State Storage Performance Test Specification (PTS), version 2.0.1, whose definition of
steady state has two parts. Within a measurement window of five rounds, the excursion (highest minus lowest value) is at
most 20 % of the window's average, and the line that fits the values best rises or falls over the window by at most
10 % of the average. A test that is not steady after 25 rounds ends without steady state.

The specification is for storage devices, and tracks what a device does in rounds of a minute. So are the rounds here,
and the tracked value is the throughput of the load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]

WINDOW_ROUNDS = 5
MAX_EXCURSION_PCT = 20.0
MAX_SLOPE_PCT = 10.0
# A test that is not steady after so many rounds is ended by the specification.
ROUNDS = 25
ROUND_S = 60.0
# A round of which less is known has no value.
KNOWN_SHARE = 0.5


@dataclass(frozen=True)
class SniaWindow:
    """A measurement window: rounds from ``begin_s`` to ``end_s``; excursion and slope are in % of their average."""

    begin_s: float
    end_s: float
    average: float
    excursion_pct: float
    slope_pct: float

    @property
    def is_steady(self) -> bool:
        """Whether the window meets both criteria."""
        return self.excursion_pct <= MAX_EXCURSION_PCT and abs(self.slope_pct) <= MAX_SLOPE_PCT


@dataclass(frozen=True)
class SniaResult:
    """The windows of a run in their order, each of `WINDOW_ROUNDS` rounds.

    There are no windows across a gap, nor in a run with fewer known rounds; ``why`` says then what was missing. The
    rounds are counted from the begin of the run, gaps included.
    """

    windows: Sequence[SniaWindow]
    why: str = ""

    @property
    def first(self) -> SniaWindow | None:
        """The first window that meets the criteria: where steady state is reached."""
        return next((each for each in self.windows if each.is_steady), None)

    @property
    def in_time(self) -> bool:
        """Whether steady state was reached within the rounds after which the specification ends a test."""
        return self.first is not None and self.first.end_s <= ROUNDS * ROUND_S

    @property
    def last(self) -> SniaWindow | None:
        """The last window."""
        return self.windows[-1] if self.windows else None

    @property
    def kept_share(self) -> float | None:
        """The share of the windows from the first steady one on that meet the criteria; None if none does."""
        steady = [each.is_steady for each in self.windows]
        return sum(steady) / (len(steady) - steady.index(True)) if True in steady else None


def round_averages(values: _Array, step_s: float, round_s: float) -> _Array:
    """Return the average of each whole round of a series with steps of ``step_s``; NaN where too little is known."""
    each = max(round(round_s / step_s), 1)
    rounds = values[: len(values) // each * each].reshape(-1, each)
    known = ~np.isnan(rounds)
    counts = known.sum(axis=1)
    sums = np.where(known, rounds, 0.0).sum(axis=1)
    return np.where(counts >= max(KNOWN_SHARE * each, 1), sums / np.maximum(counts, 1), np.nan)


def snia_steady_state(values: _Array, step_s: float) -> SniaResult:
    """Judge a series of rates in equal steps, NaN where unknown."""
    if step_s > ROUND_S or ROUND_S % step_s:
        why = f"the run is known in steps of {step_s:g} s, which make no rounds of {ROUND_S:g} s"
        return SniaResult([], why)
    rounds = round_averages(values, step_s, ROUND_S)
    windows = [
        window
        for first in range(len(rounds) - WINDOW_ROUNDS + 1)
        if (window := _window(rounds[first : first + WINDOW_ROUNDS], first)) is not None
    ]
    known = "in which something was done" if np.isfinite(rounds).sum() >= WINDOW_ROUNDS else "that are known"
    why = "" if windows else f"there are no {WINDOW_ROUNDS} rounds of {ROUND_S:g} s one after the other {known}"
    return SniaResult(windows, why)


def _window(rounds: _Array, first: int) -> SniaWindow | None:
    average = float(rounds.mean())
    if not average > 0:  # NaN, too
        return None
    # Least squares around the middle round: exact for values on a line, which may lie just at the limit.
    x = np.arange(len(rounds)) - (len(rounds) - 1) / 2
    slope = float((x * rounds).sum() / (x * x).sum()) * (len(rounds) - 1)
    return SniaWindow(
        begin_s=first * ROUND_S,
        end_s=(first + len(rounds)) * ROUND_S,
        average=average,
        excursion_pct=100 * float(np.ptp(rounds)) / average,
        slope_pct=100 * slope / average,
    )
