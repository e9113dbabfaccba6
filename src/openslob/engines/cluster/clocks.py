"""The instances' clocks: sessions begin and end together, each by the clock of its own server.

Instances on different hosts have different clocks. A run uses the first instance's clock as the common one. Times are
translated into an instance's own clock when they are sent to it, and back when they are received.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from openslob.engines.base import CounterReading

# The quickest of so many answers has the smallest error: at most half of the time that it took.
QUERIES = 5


class Clocks:
    """How far each instance's clock is ahead of the first one's, in ns; 0 before `compare`."""

    def __init__(self, instances: int) -> None:
        self.ahead_ns: Sequence[int] = (0,) * instances

    def compare(self, readers: Sequence[Callable[[], CounterReading]]) -> None:
        """Compare all clocks, one after the other, so that none waits for this process's other threads."""
        answers = [min(_ask(reader) for _ in range(QUERIES)) for reader in readers]
        self.ahead_ns = tuple(_ahead(answer, answers[0]) for answer in answers)

    def own(self, instance: int, common_ns: int) -> int:
        """Translate a time of the common clock into an instance's own."""
        return common_ns + self.ahead_ns[instance]

    def common(self, instance: int, own_ns: int) -> int:
        """Translate a time of an instance's own clock into the common one."""
        return own_ns - self.ahead_ns[instance]


def _ahead(answer: tuple[int, int], first: tuple[int, int]) -> int:
    """Return the difference of two offsets; 0 if it is within their error, since clocks of one host agree."""
    error_ns = (answer[0] + first[0]) // 2
    difference = answer[1] - first[1]
    return difference if abs(difference) > error_ns else 0


def _ask(read: Callable[[], CounterReading]) -> tuple[int, int]:
    """Return how long the answer took, and the server's clock minus this host's."""
    before = time.time_ns()
    server_ns = read().server_ns
    after = time.time_ns()
    return after - before, server_ns - (before + after) // 2
