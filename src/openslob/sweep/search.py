"""The session count with the highest throughput within a latency limit, found with few runs: pure strategy."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass

# Throughput that is lower by this share has passed its peak; repeats on a quiet machine differ by less.
FALL_SHARE = 0.05
# One session more or less beside eight moves throughput by less than that again.
FINEST_SHARE = 1 / 8


@dataclass(frozen=True)
class Probe:
    """The result of one session count: throughput per second and latency in µs.

    None where its runs failed or a figure is missing.
    """

    throughput: float | None
    latency_us: float | None


@dataclass(frozen=True)
class Answer:
    """The best session count, None when even the fewest sessions are too slow, and what ended the search."""

    sessions: int | None
    why: str


class _Tried:
    """The counts tried so far. A count beyond the limit, or one whose runs failed, is worth nothing."""

    def __init__(self, limit_us: float) -> None:
        self._limit_us = limit_us
        self._probes: dict[int, Probe] = {}

    def add(self, sessions: int, probe: Probe) -> None:
        self._probes[sessions] = probe

    def worth(self, sessions: int) -> float:
        probe = self._probes[sessions]
        if probe.throughput is None or probe.latency_us is None or probe.latency_us > self._limit_us:
            return -math.inf
        return probe.throughput

    @property
    def best(self) -> int:
        return max(self._probes, key=self.worth)

    def around(self, sessions: int) -> tuple[int, int]:
        """The nearest counts tried on both sides; itself where there is none."""
        below = max((each for each in self._probes if each < sessions), default=sessions)
        return below, min((each for each in self._probes if each > sessions), default=sessions)


def search(limit_us: float, most: int) -> Generator[int, Probe, Answer]:
    """Yields the next session count to try, is sent what it gave, and returns the answer.

    It doubles the sessions from one on until the latency exceeds the limit, the throughput falls or ``most`` is
    reached; then it halves the gaps beside the best count until they are no wider than `FINEST_SHARE` of it.
    """
    tried = _Tried(limit_us)
    sessions, why = 1, ""
    while not why:
        tried.add(sessions, (yield sessions))
        why = _end_of_rise(tried, sessions, most)
        sessions = min(2 * sessions, most)
    if tried.worth(tried.best) == -math.inf:
        return Answer(None, "with one session already the latency is above the limit, or the run gave no figure")
    while (following := _next(tried)) is not None:
        tried.add(following, (yield following))
    return Answer(tried.best, why)


def _end_of_rise(tried: _Tried, sessions: int, most: int) -> str:
    if tried.worth(sessions) == -math.inf:
        return "with more sessions the latency is above the limit, or the run gave no figure"
    if tried.worth(sessions) < (1 - FALL_SHARE) * tried.worth(tried.best):
        return "more sessions give less throughput"
    return "" if sessions < most else "the most sessions allowed are still within the limit"


def _next(tried: _Tried) -> int | None:
    """The middle of the wider gap beside the best count, which may hide a peak; None when both are narrow."""
    best = tried.best
    below, above = tried.around(best)
    widest, start = max((above - best, best), (best - below, below))
    return start + widest // 2 if widest > max(1, int(best * FINEST_SHARE)) else None
