"""The cells of maps of latency over time: how many took so long, and the time that these took together.

A map of the counts shows what is frequent, one of the times what the time was spent on: a few slow operations are a
faint cell of the first, and may be most of the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from openslob.core.histogram import lower_edge_us, middle_us

# Buckets of the histogram in a cell: above 50 µs, a cell is 11.7 % wide.
CELL_BUCKETS = 8


@dataclass(frozen=True)
class Cell:
    """What took at least ``from_us`` and less than ``to_us``: how many, and together how long, within 1 %."""

    from_us: float
    to_us: float
    count: int
    time_us: float


def cells(counts: Mapping[int, int]) -> list[Cell]:
    """Return the cells of a histogram's ``counts`` by bucket, in ascending order."""
    found: dict[int, tuple[int, float]] = {}
    for bucket, count in counts.items():
        before, time_us = found.get(bucket // CELL_BUCKETS, (0, 0.0))
        found[bucket // CELL_BUCKETS] = (before + count, time_us + count * middle_us(bucket))
    return [
        Cell(lower_edge_us(cell * CELL_BUCKETS), lower_edge_us((cell + 1) * CELL_BUCKETS), *of_cell)
        for cell, of_cell in sorted(found.items())
    ]


def cells_of_durations(durations: Mapping[tuple[int, int], int]) -> list[Cell]:
    """Return the cells of what an engine counts by [shortest, longest) in µs; each counts as the middle of its bucket.

    Such buckets are wide, so the time is a rough one: of a bucket from 4 to 8 ms, it may be a third too small or too
    large.
    """
    return [
        Cell(low, below, count, count * (low + max(below - 1, low)) / 2)
        for (low, below), count in sorted(durations.items())
    ]
