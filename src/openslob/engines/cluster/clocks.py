"""The instances' clocks: sessions begin and end together, each by the clock of its own server.

Instances on different hosts have different clocks. So everything in a run is by the first instance's clock, and moments
are put into another instance's clock on their way to it, and back on their way from it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from openslob.engines.base import CounterReading

# The quickest answer of so many has the smallest error: at most half of the time it took.
QUESTIONS = 5


class Clocks:
    """How far each instance's clock is ahead of the first one's, in ns; nothing until `compare` has asked them."""

    def __init__(self, instances: int) -> None:
        self.ahead_ns: Sequence[int] = (0,) * instances

    def compare(self, readers: Sequence[Callable[[], CounterReading]]) -> None:
        """Ask all instances for the time, one after the other, so that none waits for this process's other threads."""
        answers = [min(_ask(reader) for _ in range(QUESTIONS)) for reader in readers]
        self.ahead_ns = tuple(_ahead(answer, answers[0]) for answer in answers)

    def own(self, instance: int, common_ns: int) -> int:
        """A moment of the common clock by an instance's own."""
        return common_ns + self.ahead_ns[instance]

    def common(self, instance: int, own_ns: int) -> int:
        """A moment of an instance's own clock by the common one."""
        return own_ns - self.ahead_ns[instance]


def _ahead(answer: tuple[int, int], first: tuple[int, int]) -> int:
    """Difference of two offsets; none if it is within what the questions could be wrong: on one host clocks agree."""
    error_ns = (answer[0] + first[0]) // 2
    difference = answer[1] - first[1]
    return difference if abs(difference) > error_ns else 0


def _ask(read: Callable[[], CounterReading]) -> tuple[int, int]:
    """How long the answer took, and the server's clock less this host's."""
    before = time.time_ns()
    server_ns = read().server_ns
    after = time.time_ns()
    return after - before, server_ns - (before + after) // 2
