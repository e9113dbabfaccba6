"""The counters of a slice: one definition for the work loops, the sessions' totals, `slices.csv` and the record.

docs/adding-a-slice-counter.md describes how to add one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from operator import add, attrgetter
from typing import Any

from openslob.core.histogram import Histogram
from openslob.core.method import OpKind


@dataclass(frozen=True)
class SliceCounts:
    """What a slice counted. Counts of several slices, or sessions, add up with ``+``.

    ``ops`` operations are ``selects``, ``updates`` and ``scans``. ``rows_read`` (by SELECTs through the index),
    ``rows_updated`` and ``rows_scanned`` (by short scans) are the rows that the engine returned. ``conflicts`` counts
    how often an operation was refused because of another transaction's change and was run again. With MODE=churn an
    update deletes and inserts rows instead; ``bytes_inserted`` are those of the inserted keys and texts.

    A new field goes to the end: each field is a column of `slices.csv`, which older records have without it.
    """

    ops: int = 0
    selects: int = 0
    updates: int = 0
    scans: int = 0
    rows_read: int = 0
    rows_updated: int = 0
    rows_scanned: int = 0
    conflicts: int = 0
    rows_inserted: int = 0
    rows_deleted: int = 0
    bytes_inserted: int = 0

    def __add__(self, other: SliceCounts) -> SliceCounts:
        """Return the sums, field by field."""
        return SliceCounts(*map(add, self.values(), other.values()))

    @classmethod
    def of_slice(cls, row: Mapping[str, Any], latency: Mapping[OpKind, Histogram]) -> SliceCounts:
        """Return the counts of one slice.

        Args:
            row: the work loop's result. A counter that this engine's loop does not have is 0.
            latency: the histogram of each kind of operation. Its counts are the numbers of operations by kind.

        """
        kinds = {_FIELD_OF_KIND[kind]: histogram.count for kind, histogram in latency.items()}
        return cls(**{name: int(row[name]) for name in COUNTERS if name in row}, **kinds)

    @property
    def rows_visited(self) -> int:
        """All rows, each in a block of its own, that were read, changed, inserted or deleted."""
        return sum(_visited(self))

    def values(self) -> tuple[int, ...]:
        """Return the counts in the order of `COUNTERS`."""
        return _values(self)


# The rows that a slice visited, by what was done with them.
VISITED = ("rows_read", "rows_updated", "rows_scanned", "rows_inserted", "rows_deleted")
COUNTERS = tuple(each.name for each in fields(SliceCounts))
_FIELD_OF_KIND = {kind: f"{kind}s" for kind in OpKind}
# `dataclasses.astuple` copies each value, which would cost the driver as much as all else it does to write a slice.
_visited: Callable[[SliceCounts], tuple[int, ...]] = attrgetter(*VISITED)
_values: Callable[[SliceCounts], tuple[int, ...]] = attrgetter(*COUNTERS)
