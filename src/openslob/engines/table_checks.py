"""What loaded tables are checked for, whatever the engine: figures, their ranges, and what is said of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from openslob.errors import SlobError

# Tables may be larger or smaller than asked for by this share of their blocks (METHOD 2).
BLOCK_TOLERANCE = 0.01
# Keys that are neighbours in neighbouring blocks: at most this share of all neighbours (METHOD 2) …
_ADJACENT_SHARE = 0.01
# … but a random placement of any size has two such pairs on average (Poisson), more than 10 once in 100,000 tables.
_ADJACENT_PAIRS = 10
# Placement is looked at in whole tables up to as many blocks, else in stretches spread evenly over the table.
_STRETCHES, _STRETCH_BLOCKS = 16, 256


@dataclass(frozen=True)
class Check:
    """One figure of one table and the range it has to be in."""

    name: str
    table: str
    figure: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """Whether the figure is in its range."""
        return self.low <= self.figure <= self.high


def require(checks: Iterable[Check]) -> None:
    """SlobError for the first check that does not hold, with its figure and what was expected."""
    for one in checks:
        if not one.holds:
            raise SlobError(
                f"verification failed: {one.name} of {one.table}: {one.figure:,.0f}, expected {_range(one)}"
            )


def summary(checks: Sequence[Check]) -> dict[str, str]:
    """The figures seen, by check: from the smallest to the largest of all tables that share an expectation."""
    alike: dict[tuple[str, float, float], list[float]] = defaultdict(list)
    for one in checks:
        alike[one.name, one.low, one.high].append(one.figure)
    texts: dict[str, list[str]] = defaultdict(list)
    for (name, _, _), figures in alike.items():
        low, high = (f"{figure:,.0f}" for figure in (min(figures), max(figures)))
        texts[name].append(f"{low if low == high else f'{low} to {high}'} in each of {len(figures)}")
    return {name: "; ".join(parts) for name, parts in texts.items()}


def _range(check: Check) -> str:
    low, high = f"{check.low:,.0f}", f"{check.high:,.0f}"
    return low if low == high else f"{low} to {high}"


def adjacent_limit(pairs: float) -> float:
    """The most of ``pairs`` of neighbouring blocks that may hold neighbouring keys."""
    return max(pairs * _ADJACENT_SHARE, _ADJACENT_PAIRS)


def stretches(blocks: int) -> Iterator[tuple[int, int]]:
    """First block and block beyond the last of each stretch to look at: everything, if that is not too much."""
    if blocks <= _STRETCHES * _STRETCH_BLOCKS:
        yield 0, blocks
        return
    for number in range(_STRETCHES):
        first = number * (blocks - _STRETCH_BLOCKS) // (_STRETCHES - 1)
        yield first, first + _STRETCH_BLOCKS
