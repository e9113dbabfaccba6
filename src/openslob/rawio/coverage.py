"""Whether random reads really went all over the file: distinct blocks visited against what chance would give.

Re-reading one small set of blocks measures the cache of a storage array. A sequence that visits every block once before
any twice has ``min(n, blocks)`` distinct ones after ``n`` requests; uniform choice with replacement has
``blocks * (1 - (1 - 1/blocks)**n)``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

# Several copies each visit every block once, but in orders of their own, so chance has a part: its standard deviation
# is below 0.7 / sqrt(blocks) of all blocks, 0.7 % for 10,000.
TOLERANCE = 0.02


@dataclass(frozen=True)
class Coverage:
    """``distinct`` of ``blocks`` were visited by ``requests``; ``expected`` is what evenly spread ones would reach."""

    requests: int
    distinct: int
    blocks: int
    expected: float

    @property
    def share(self) -> float:
        """Share of the file's blocks visited, 0 to 1."""
        return self.distinct / self.blocks

    @property
    def holds(self) -> bool:
        """Whether as many distinct blocks were visited as the expectation says, within the tolerance."""
        return self.distinct >= self.expected * (1 - TOLERANCE)


def coverage(offsets: Iterable[int], block_size: int, size: int, *, once_each: bool) -> Coverage:
    """Coverage of a file of ``size`` bytes by requests at byte ``offsets``.

    ``once_each``: one sequence that repeats no block before all were visited; else choice with replacement.
    """
    visited = [offset // block_size for offset in offsets]
    blocks, requests = size // block_size, len(visited)
    expected = float(min(requests, blocks)) if once_each else blocks * (1 - (1 - 1 / blocks) ** requests)
    return Coverage(requests, len(set(visited)), blocks, expected)
