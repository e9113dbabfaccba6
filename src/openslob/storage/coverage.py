"""Whether random reads really went all over the file: distinct blocks visited against what evenly spread ones reach.

Re-reading one small set of blocks measures the cache of a storage array. Each copy of a job visits every block once
before any twice, in an order of its own: after ``n`` requests by each of ``c`` copies, a block is unvisited by all of
them with probability ``(1 - n/blocks)**c``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

# With several copies chance has a part; its standard deviation is below 0.5 / sqrt(blocks) of all blocks: 0.5 % of
# 10,000. A generator that comes back to the same blocks misses by far more.
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


def coverage(offsets: Iterable[int], block_size: int, size: int, copies: int = 1) -> Coverage:
    """Coverage of a file of ``size`` bytes by the requests of ``copies`` processes together at byte ``offsets``."""
    visited = [offset // block_size for offset in offsets]
    blocks, requests = size // block_size, len(visited)
    each = min(requests / copies / blocks, 1.0)
    return Coverage(requests, len(set(visited)), blocks, blocks * (1 - (1 - each) ** copies))
