"""Rates that change while a load runs, as one text: ``0s:1000,60s:1000-5000,120s:5000``.

A stage begins at a time after the begin of the window, and lasts until the next one. It has one rate, or two: from the
first to the second the rate climbs, or falls, evenly until the next stage begins. Rates are operations per second of
all sessions.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Self

from openslob.core.units import NANOS, parse_duration

LEAST_PER_S, MOST_PER_S, MOST_STAGES = 0.001, 1e9, 100
# Later than the end of any run, in ns.
_NEVER_NS = 2**62
_NUMBER = r"(\d+(?:\.\d+)?)"
_STAGE = re.compile(rf"([^:]+):{_NUMBER}(?:-{_NUMBER})?")
_SUCH_AS = "write BEGIN:RATE of each stage, such as 0s:1000,60s:5000; a ramp is 60s:1000-5000"


@dataclass(frozen=True)
class RateStage:
    """One stage: its begin in s, and the operations per second at its begin and at its end."""

    begin_s: float
    first: float
    last: float

    @property
    def is_ramp(self) -> bool:
        """Whether its rate changes all the time."""
        return self.first != self.last

    @property
    def in_words(self) -> str:
        """When it begins and what it asks, such as ``from 60 s: 1,000 to 5,000/s``."""
        rates = " to ".join(f"{rate:,g}" for rate in dict.fromkeys((self.first, self.last)))
        return f"from {self.begin_s:g} s: {rates}/s"

    def __str__(self) -> str:
        """Return the text that `RateSchedule.parse` reads back."""
        return f"{self.begin_s:.12g}s:{self.first:.12g}{f'-{self.last:.12g}' if self.is_ramp else ''}"


@dataclass(frozen=True)
class RateSchedule:
    """Stages in the order of time, of which the first begins with the window."""

    stages: tuple[RateStage, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a text such as ``0s:1000,60s:5000``. ValueError for other texts."""
        stages = tuple(map(_parse_stage, text.split(",")))
        if len(stages) > MOST_STAGES:
            raise ValueError(f"there are {len(stages)} stages; {MOST_STAGES} are possible")
        if stages[0].begin_s or any(after.begin_s <= before.begin_s for before, after in pairwise(stages)):
            raise ValueError(f"{text[:80]!r}: the first stage begins at 0s, and each later than the one before")
        if stages[-1].is_ramp:
            raise ValueError(f"{text[:80]!r}: a ramp ends where the next stage begins, and the last has no next one")
        return cls(stages)

    def __str__(self) -> str:
        """Return the text that `parse` reads back: records contain it."""
        return ",".join(map(str, self.stages))


def _parse_stage(text: str) -> RateStage:
    found = _STAGE.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{text[:40]!r} is not a stage: {_SUCH_AS}")
    first, last = float(found[2]), float(found[3] or found[2])
    if not (min(first, last) >= LEAST_PER_S and max(first, last) <= MOST_PER_S):
        raise ValueError(f"{text[:40]!r}: a rate is from {LEAST_PER_S:g} to {MOST_PER_S:,.0f} operations per second")
    return RateStage(parse_duration(found[1]), first, last)


class RateSteps:
    """A schedule as steps, each of one rate. Moments are in ns after the begin of the window.

    A ramp is steps of about ``step_s`` seconds, each with the ramp's rate in its middle: as many operations as on the
    line are due in each, and the rate is off the line by half of a step's difference at most.
    """

    def __init__(self, stages: Sequence[RateStage], step_s: float) -> None:
        self.begins_ns: list[int] = []
        self.rates: list[float] = []
        for stage, end_s in zip(stages, [*(stage.begin_s for stage in stages[1:]), 0.0], strict=True):
            count = max(1, math.ceil((end_s - stage.begin_s) / step_s)) if stage.is_ramp else 1
            length_s = (end_s - stage.begin_s) / count
            self.begins_ns += [round((stage.begin_s + number * length_s) * NANOS) for number in range(count)]
            slope = (stage.last - stage.first) / count
            self.rates += [stage.first + slope * (number + 0.5) for number in range(count)]
        lengths = (after - before for before, after in pairwise(self.begins_ns))
        self._due = [0.0, *accumulate(length / NANOS * rate for length, rate in zip(lengths, self.rates, strict=False))]

    def at(self, moment_ns: int) -> tuple[float, int]:
        """Return the rate at a moment, and the end of its step."""
        number = max(0, bisect_right(self.begins_ns, moment_ns) - 1)
        is_last = number == len(self.rates) - 1
        return self.rates[number], _NEVER_NS if is_last else self.begins_ns[number + 1]

    def due(self, moment_ns: int) -> float:
        """Return how many operations of all sessions are due from the begin of the window to a moment."""
        number = max(0, bisect_right(self.begins_ns, moment_ns) - 1)
        return self._due[number] + (moment_ns - self.begins_ns[number]) / NANOS * self.rates[number]

    def when(self, ops: float) -> int:
        """Return when so many operations have been due."""
        number = max(0, bisect_right(self._due, ops) - 1)
        return self.begins_ns[number] + round((ops - self._due[number]) / self.rates[number] * NANOS)


@dataclass(frozen=True)
class Stage:
    """A stage of a rate that changes, in seconds of the load; rates are operations per second of all sessions.

    ``first_per_s`` was asked at its begin and ``last_per_s`` at its end, ``ops_per_s`` were done, whenever they came
    due. ``response_p50_us`` and ``response_p99_us`` are of what ended in it; None where too few did. ``recovery_s`` is
    how long the load took to recover from the change at its begin. It is None where there was no change at once, as
    before a ramp; where the load did not recover in the stage, or that is not known, ``why`` says so.
    """

    begin_s: float
    end_s: float
    first_per_s: float
    last_per_s: float
    ops_per_s: float
    response_p50_us: float | None
    response_p99_us: float | None
    recovery_s: float | None
    why: str = ""


@lru_cache(maxsize=32)
def steps_of(schedule: RateSchedule, step_s: float) -> RateSteps:
    """Return a schedule as steps, of which those of ramps are about so many seconds long."""
    return RateSteps(schedule.stages, step_s)
