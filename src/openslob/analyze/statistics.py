"""Estimates of figures with confidence intervals, from equal runs or from the course of a single one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from openslob.analyze.intervals import nested_interval, standard_errors

# With five values the 95 % interval contains the true mean in 97 % of simulated series of independent values and in
# 88 % of series with a correlation of 0.5 between neighbours (with twenty values: 96 % and 92 %).
MIN_SERIES = 5
# A run that drifts, oscillates slowly or is short has few independent values (five seconds are worth at most three).
# Below four, Student's t exceeds 3.2 and the spread itself is a guess: the interval would say nothing.
MIN_EFFECTIVE = 4.0


class Basis(StrEnum):
    """The data behind an interval. WITHIN_START leaves out how starts of the server differ, and WITHIN_RUN how runs do.

    Such intervals are too narrow for the next start, or for the next run.
    """

    REPEATS = "repeats"
    WITHIN_START = "within one start of the server"
    WITHIN_RUN = "within one run"
    NONE = "none"


@dataclass(frozen=True)
class Start:
    """The values of the runs of one start of the server, and its name; empty for a run of which it is not known."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval, in the figure's own unit.

    The interval is ``mean`` ± ``half_width``. ``n`` is the number of runs behind the mean, ``sd`` the standard
    deviation between them. ``by_start`` has the values of the runs by the start of the server that they were made in.
    Unknown values are None, and ``why`` gives the reason.
    """

    mean: float | None
    half_width: float | None = None
    n: int = 0
    sd: float | None = None
    basis: Basis = Basis.NONE
    why: str = ""
    by_start: tuple[Start, ...] = ()

    @property
    def runs(self) -> list[list[float]]:
        """The values of each start."""
        return [list(start.values) for start in self.by_start]

    @property
    def starts(self) -> frozenset[str]:
        """The names of the starts; none unless all of them are known."""
        names = [start.name for start in self.by_start]
        return frozenset(names if all(names) else ())

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return None if self.mean is None or self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return None if self.mean is None or self.half_width is None else self.mean + self.half_width


def of_repeats(values: Sequence[float], starts: Sequence[str] = ()) -> Estimate:
    """Return the mean of equal runs, with an interval for two or more; ``starts`` has each one's start of the server.

    Runs of unknown starts, with empty names, count as ones of different starts. The mean is that over the starts. Runs
    of one start have an interval that holds for this start alone.
    """
    if not values:
        return Estimate(None, why="no run has this figure")
    by_start = _by_start(values, starts or [""] * len(values))
    if len(values) == 1:
        return Estimate(float(values[0]), n=1, why="one run does not show how much runs differ", by_start=by_start)
    several = len(by_start) > 1
    found = nested_interval([start.values for start in by_start] if several else [[value] for value in values])
    if found.value is None or found.high is None:
        return Estimate(found.value, n=len(values), why=found.why, by_start=by_start)
    sd, basis = float(np.std(values, ddof=1)), Basis.REPEATS if several else Basis.WITHIN_START
    return Estimate(found.value, found.high - found.value, len(values), sd, basis, by_start=by_start)


def _by_start(values: Sequence[float], names: Sequence[str]) -> tuple[Start, ...]:
    known: dict[str, tuple[float, ...]] = {}
    for name, value in zip(names, values, strict=True):
        if name:
            known[name] = (*known.get(name, ()), float(value))
    unknown = [Start("", (float(value),)) for name, value in zip(names, values, strict=True) if not name]
    return (*(Start(name, each) for name, each in known.items()), *unknown)


def effective_size(values: Sequence[float]) -> float:
    """Return the effective sample size of a series of n values: n (1 − ρ) / (1 + ρ), at most n.

    That is the size for an autoregressive series of first order (Bayley and Hammersley, 1946). ρ is the lag-1
    autocorrelation with its bias in short series corrected, ρ + (1 + 4ρ) / n (Marriott and Pope, 1954). A negative ρ
    counts as 0, so that it never makes an interval narrower.
    """
    series = np.asarray(values, dtype=float) - float(np.mean(values))
    n, total = len(series), float(np.dot(series, series))
    if total <= 0:
        return float(n)
    rho = float(np.dot(series[:-1], series[1:])) / total
    rho = min(max(rho + (1 + 4 * rho) / n, 0.0), 0.99)
    return n * (1 - rho) / (1 + rho)


def relative_half_width(values: Sequence[float]) -> float | None:
    """Return half the width of the interval of a series' mean, as a share of the mean; None with too few data.

    The values are those of equal, consecutive parts of one run. Their autocorrelation is accounted for by
    `effective_size`, in the standard error and in the degrees of freedom.
    """
    if len(values) < MIN_SERIES:
        return None
    mean = float(np.mean(values))
    if mean <= 0:
        return None
    size = effective_size(values)
    if size < MIN_EFFECTIVE:
        return None
    return standard_errors(size - 1) * float(np.std(values, ddof=1)) / math.sqrt(size) / mean
