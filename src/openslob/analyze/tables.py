"""Tables of numbers that grow at both ends: newer moments after the last one, older ones before the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Moments = NDArray[np.int64]
_ROOM = 256
# More is damage: a load has some dozens of names, and the times of a day.
_MOST_NAMES, _MOST_CELLS = 4000, 100_000_000


class GrowingRows:
    """Rows by name over columns in time, with free room where it grows so that this costs little.

    What is put into it first takes no more than it needs: most records are read whole, and many are short.
    """

    def __init__(self, fill: float, kind: type = float) -> None:
        self._fill = fill
        self._cells: NDArray[Any] = np.full((1, 0), fill, kind)
        self._first = self._last = 0
        self.names: dict[str, int] = {}

    def __len__(self) -> int:
        return self._last - self._first

    @property
    def room(self) -> tuple[int, int]:
        """For how many names, and for how many columns, there is room now."""
        rows, columns = self._cells.shape
        return rows, columns

    def row(self, name: str) -> NDArray[Any] | None:
        """Return the values of a name over time; None if there is none of this name."""
        number = self.names.get(name)
        return None if number is None else self._cells[number, self._first : self._last]

    @property
    def cells(self) -> NDArray[Any]:
        """All values: by name, then by time."""
        return self._cells[: len(self.names), self._first : self._last]

    def codes(self, names: Sequence[str]) -> list[int]:
        """Return the number of the row of each name; new names get rows. ValueError if these are too many."""
        for name in names:
            self.names.setdefault(name, len(self.names))
        if len(self.names) > _MOST_NAMES or len(self.names) * self._cells.shape[1] > _MOST_CELLS:
            raise ValueError(f"it has {len(self.names):,} different names")
        if len(self.names) > len(self._cells):
            rows = (2 if len(self._cells) > 1 else 1) * len(self.names)
            more = np.full((rows - len(self._cells), self._cells.shape[1]), self._fill, self._cells.dtype)
            self._cells = np.concatenate([self._cells, more])
        return [self.names[name] for name in names]

    def grow(self, before: int, after: int) -> None:
        """Add columns, which are filled, at both ends; a negative ``after`` takes columns away."""
        if before > self._first or self._last + after > self._cells.shape[1]:
            # Room is where it grows: at one end only.
            width = len(self) + before + after
            room, other = (width // 4 + _ROOM, _ROOM) if len(self) else (0, 0)
            roomy = np.full((len(self._cells), width + room + other), self._fill, self._cells.dtype)
            first = room if before > self._first else 0
            roomy[:, first + before : first + before + len(self)] = self._cells[:, self._first : self._last]
            self._first, self._last, self._cells = first, first + width, roomy
            return
        self._first -= before
        if after < 0:
            self._cells[:, self._last + after : self._last] = self._fill
        self._last += after


class Intervals:
    """Values by name of intervals, or of moments, in the order of their ends; NaN where a value is not known."""

    def __init__(self) -> None:
        self._times = GrowingRows(0.0)
        self._times.codes(["begin", "end"])
        self._values = GrowingRows(np.nan)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def names(self) -> Mapping[str, int]:
        """The names of the values."""
        return self._values.names

    @property
    def begin_s(self) -> Array:
        """When each interval begins."""
        times: Array = self._times.cells[0]
        return times

    @property
    def end_s(self) -> Array:
        """When each interval ends."""
        times: Array = self._times.cells[1]
        return times

    def value(self, name: str) -> Array | None:
        """Return a value over time; None if it was never known."""
        return self._values.row(name)

    def put(self, begins: Array, ends: Array, names: Sequence[str], values: Array, older: bool) -> None:
        """Add intervals in the order of time; ``values`` is by name, then by interval.

        An interval that ends as its neighbour in the table does is the same one, of which these are the other values.
        A later interval replaces an earlier one that begins at the same moment.
        """
        kept = np.append(begins[1:] != begins[:-1], True)
        if older and len(self) and ends[-1] == self.end_s[0]:
            self._complete(0, names, values[:, -1], keep=True)
            kept[-1] = False
        elif older and len(self) and begins[-1] == self.begin_s[0]:
            kept[-1] = False
        elif not older and len(self) and ends[0] == self.end_s[-1]:
            self._complete(-1, names, values[:, 0], keep=False)
            kept[0] = False
        elif not older and len(self) and begins[0] == self.begin_s[-1]:
            self._times.grow(0, -1)
            self._values.grow(0, -1)
        count = int(kept.sum())
        if not count:
            return
        for grid in (self._times, self._values):
            grid.grow(count if older else 0, 0 if older else count)
        place = slice(0, count) if older else slice(len(self) - count, len(self))
        rows = self._values.codes(names)
        self._times.cells[0, place], self._times.cells[1, place] = begins[kept], ends[kept]
        self._values.cells[rows, place] = values[:, kept]
        self._order()

    def _complete(self, column: int, names: Sequence[str], values: Array, keep: bool) -> None:
        rows = self._values.codes(names)
        there = self._values.cells[rows, column]
        first, second = (there, values) if keep else (values, there)
        self._values.cells[rows, column] = np.where(np.isnan(first), second, first)

    def _order(self) -> None:
        """Sort by end: a clock that was set back must not hide what is found by bisection."""
        ends = self.end_s
        if np.all(ends[1:] >= ends[:-1]):
            return
        order = np.argsort(ends, kind="stable")
        for grid in (self._times, self._values):
            grid.cells[:] = grid.cells[:, order]


class Seconds:
    """Numbers by name for each second since a common begin, or for each unit of ``unit_s`` seconds."""

    # More seconds than any run lasts: a time so far off is damage, and a table over it would fill the memory.
    MOST = 100 * 86_400

    def __init__(self, fill: float = 0.0, rows: int = 0, unit_s: int = 1) -> None:
        self._grid = GrowingRows(fill)
        self._grid.codes([str(row) for row in range(rows)])
        self.first, self.unit_s = 0, unit_s

    def __len__(self) -> int:
        return len(self._grid)

    @property
    def names(self) -> Mapping[str, int]:
        """The names of the numbers."""
        return self._grid.names

    @property
    def begin_s(self) -> Array:
        """When each unit begins."""
        return np.arange(self.first, self.first + len(self), dtype=np.float64) * self.unit_s

    @property
    def cells(self) -> Array:
        """All numbers: by name, then by unit."""
        found: Array = self._grid.cells
        return found

    def value(self, name: str) -> Array | None:
        """Return a number by unit; None if there is none of this name."""
        return self._grid.row(name)

    def from_zero(self, name: str) -> Array:
        """Return a number by unit from the begin of unit 0 on; nothing if there is none of this name."""
        values = self.value(name)
        if values is None:
            return np.empty(0)
        found: Array = np.concatenate([np.full(max(self.first, 0), 0.0), values[max(-self.first, 0) :]])
        return found

    def cover(self, first: int, last: int) -> None:
        """Make room for these units. ValueError if they lie too far apart."""
        low, high = (min(first, self.first), max(last + 1, self.first + len(self))) if len(self) else (first, last + 1)
        if (high - low) * self.unit_s > self.MOST:
            raise ValueError(f"its times lie {(high - low) * self.unit_s // 86_400} days apart")
        if len(self):
            self._grid.grow(self.first - low, high - self.first - len(self))
        else:
            self._grid.grow(0, high - low)
        self.first = low

    def add(self, names: Sequence[str], code: Moments, units: Moments, amounts: Array) -> None:
        """Add amounts; ``code`` has the place in ``names`` of each, ``units`` the number of its unit."""
        if len(units):
            self.add_at(np.array(self._grid.codes(names))[code], units, amounts)

    def add_at(self, rows: Moments, units: Moments, amounts: Array) -> None:
        """Add amounts to these rows of the table and these units, of which there is one at least."""
        self.cover(int(units.min()), int(units.max()))
        np.add.at(self._grid.cells, (rows, units - self.first), amounts)

    def coarser(self, factor: int) -> Seconds:
        """Return the same numbers by units that are ``factor`` times as long."""
        coarse = Seconds(unit_s=self.unit_s * factor)
        row, column = np.indices(self.cells.shape)
        coarse.add(list(self.names), row.ravel(), (self.first + column.ravel()) // factor, self.cells.ravel())
        return coarse

    def set(self, names: Sequence[str], units: Moments, values: Array) -> None:
        """Set values by name, then by entry of ``units``."""
        self.cover(int(units.min()), int(units.max()))
        rows = self._grid.codes(names)
        self._grid.cells[np.array(rows)[:, None], units - self.first] = values
