"""What each session did, summed over its slices as they are read: memory for the sessions, and not for their slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from openslob.analyze.tables import Array, Moments
from openslob.core.counts import COUNTERS, SliceCounts
from openslob.record.cells import Cells

BUSY_US = "busy_us"
# What is summed, in the order of the rows of `amounts_of`.
AMOUNTS = (*COUNTERS, BUSY_US)
_UNKNOWN = np.iinfo(np.int64).min
_FIRST_BEGIN, _FIRST_END, _LAST_BEGIN, _LAST_END, _LATEST_END, _FIRST_OP = range(6)
# Above it a sum of counts is no longer exact. No load counts so much.
_MOST = 2.0**53


@dataclass(frozen=True)
class SessionTally:
    """What the slices of one session come to. Moments are in ns of the server's clock.

    ``first_op_ns`` is None if no slice had an operation, and ``end_ns`` is the latest end of a slice. ``idle_us`` is
    the time between slices.
    """

    counts: SliceCounts
    busy_us: float
    slices: int
    begin_ns: int
    first_op_ns: int | None
    end_ns: int
    idle_us: float


def amounts_of(columns: Sequence[str], cells: Cells) -> Array:
    """Return the `AMOUNTS` of lines of `slices.csv`: 0 in columns that an older file lacks."""
    there = [name for name in AMOUNTS if name in columns]
    found = np.zeros((len(AMOUNTS), len(cells)))
    found[[AMOUNTS.index(name) for name in there]] = np.nan_to_num(cells.table([columns.index(name) for name in there]))
    return found


def require_exact(sums: Array) -> None:
    """Raise ValueError for sums of counts that are not exact."""
    if np.abs(sums).max(initial=0.0) > _MOST:
        raise ValueError("its counts are too large")


class SessionSums:
    """The sums of all sessions, which grow by `take`."""

    def __init__(self) -> None:
        self._rows: dict[int, int] = {}
        self._amounts: Array = np.zeros((len(AMOUNTS), 0))
        self._slices: Moments = np.zeros(0, np.int64)
        self._inside_ns: Moments = np.zeros(0, np.int64)
        self._moments: Moments = np.zeros((6, 0), np.int64)
        # The longest operation of any kind; None if there was none.
        self.max_us: float | None = None

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def slices(self) -> int:
        """How many slices there are."""
        return int(self._slices.sum())

    @property
    def first_ends_ns(self) -> Moments:
        """When the first slice of each session ended."""
        return self._of_each(_FIRST_END)

    @property
    def last_begins_ns(self) -> Moments:
        """When the last slice of each session began."""
        return self._of_each(_LAST_BEGIN)

    @property
    def last_ends_ns(self) -> Moments:
        """When the last slice of each session ended."""
        return self._of_each(_LAST_END)

    def _of_each(self, moment: int) -> Moments:
        found: Moments = self._moments[moment]
        return found

    def by_number(self) -> Mapping[int, SessionTally]:
        """Return the sums of each session, in the order of their numbers."""
        return {number: self._sum(row) for number, row in sorted(self._rows.items())}

    def _sum(self, row: int) -> SessionTally:
        *counts, busy_us = self._amounts[:, row].tolist()
        begin_ns, end_ns, first_op_ns = self._moments[[_FIRST_BEGIN, _LATEST_END, _FIRST_OP], row].tolist()
        return SessionTally(
            SliceCounts(*map(int, counts)),
            busy_us,
            int(self._slices[row]),
            begin_ns,
            None if first_op_ns == _UNKNOWN else first_op_ns,
            end_ns,
            (end_ns - begin_ns - int(self._inside_ns[row])) / 1000,
        )

    def rows_of(self, numbers: Moments) -> Moments:
        """Return the place of each session in the arrays; new ones get one, without any slice yet."""
        for number in numbers.tolist():
            self._rows.setdefault(number, len(self._rows))
        new = len(self._rows) - len(self._slices)
        if new:
            self._amounts = np.pad(self._amounts, ((0, 0), (0, new)))
            self._slices, self._inside_ns = (np.pad(each, (0, new)) for each in (self._slices, self._inside_ns))
            self._moments = np.pad(self._moments, ((0, 0), (0, new)), constant_values=_UNKNOWN)
        return np.array([self._rows[number] for number in numbers.tolist()], np.int64)

    def amounts(self, rows: Moments) -> Array:
        """Return the `AMOUNTS` of the sessions at these places so far."""
        found: Array = self._amounts[:, rows]
        return found

    def take(self, columns: Sequence[str], cells: Cells, amounts: Array, older: bool = False) -> None:
        """Add lines of `slices.csv` with these amounts; ``older`` ones precede those that are known.

        ValueError for what can't be.
        """
        begins, ends = (cells.integers(columns.index(name)) for name in ("start_ns", "end_ns"))
        sessions = cells.integers(columns.index("session"))
        numbers, first, code = np.unique(sessions, return_index=True, return_inverse=True)
        last = len(sessions) - 1 - np.unique(sessions[::-1], return_index=True)[1]
        rows = self.rows_of(numbers)
        self._amounts[:, rows] += [np.bincount(code, each, len(rows)) for each in amounts]
        self._slices[rows] += np.bincount(code, minlength=len(rows))
        np.add.at(self._inside_ns, rows[code], ends - begins)
        require_exact(self._amounts)
        for moment, values in ((_FIRST_BEGIN, begins[first]), (_FIRST_END, ends[first])):
            self._put(moment, rows, values, older)
        for moment, values in ((_LAST_BEGIN, begins[last]), (_LAST_END, ends[last])):
            self._put(moment, rows, values, not older)
        latest = np.full(len(rows), _UNKNOWN)
        np.maximum.at(latest, code, ends)
        self._moments[_LATEST_END, rows] = np.maximum(self._moments[_LATEST_END, rows], latest)
        self._take_first_ops(columns, cells, rows[code], older)
        if "max_us" in columns:
            longest = cells.numbers(columns.index("max_us"))
            known = longest[~np.isnan(longest)]
            if len(known):
                self.max_us = max(float(known.max()), self.max_us or 0.0)

    def _take_first_ops(self, columns: Sequence[str], cells: Cells, row_of_line: Moments, older: bool) -> None:
        if "first_op_ns" not in columns:
            return
        column = columns.index("first_op_ns")
        there = np.flatnonzero(cells.find_filled(column))
        rows, first = np.unique(row_of_line[there], return_index=True)
        self._put(_FIRST_OP, rows, cells.integers(column, there[first]), older)

    def _put(self, moment: int, rows: Moments, values: Moments, replace: bool) -> None:
        known = self._moments[moment, rows]
        self._moments[moment, rows] = values if replace else np.where(known == _UNKNOWN, values, known)
