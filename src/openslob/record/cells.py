"""The cells of many lines of CSV at once, as arrays: numbers and names are read eight bytes at a time.

To read line by line takes ten times as long, and the record of a day has fifteen million lines.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Places = NDArray[np.int64]
_PAD = b"0" * 24
_ZEROS, _SIXES, _HIGH = (np.uint64(int(byte * 8, 16)) for byte in ("30", "06", "f0"))
# Factors of a hash over the words of a name: with 64 bits, two names of a file never share one by chance.
_MIX = np.uint64(0x9E3779B97F4A7C15)
_DIGITS = 8
_COMMA = "\x1f"


class Cells:
    """Whole lines of a file with ``columns`` columns. ValueError if a line has more or fewer."""

    def __init__(self, lines: bytes, columns: int) -> None:
        if b'"' in lines or b"\r" in lines:
            lines = _plain(lines, columns)
        self._bytes = _PAD + lines + b"0" * 8
        codes = np.frombuffer(self._bytes, np.uint8)[len(_PAD) : len(_PAD) + len(lines)]
        ends = np.flatnonzero((codes == 44) | (codes == 10)) + len(_PAD)
        count = lines.count(b"\n")
        if len(ends) != count * columns or not np.all(codes[ends[columns - 1 :: columns] - len(_PAD)] == 10):
            raise ValueError(f"a line has more or fewer than {columns} columns")
        self._columns = columns
        self._ends = ends
        self._starts = np.append(len(_PAD), ends[:-1] + 1)
        # The eight bytes from each place on, as one number.
        self._words: Words = np.ndarray((len(self._bytes) - 7,), "<u8", self._bytes, strides=(1,))

    def __len__(self) -> int:
        return len(self._ends) // self._columns

    def _place(self, column: int, rows: Places | None) -> tuple[Places, Places]:
        if column >= self._columns:
            raise ValueError(f"it has {self._columns} columns")
        starts, ends = self._starts[column :: self._columns], self._ends[column :: self._columns]
        return (starts, ends) if rows is None else (starts[rows], ends[rows])

    def integers(self, column: int, rows: Places | None = None) -> Places:
        """Return whole numbers. ValueError if one is none."""
        starts, ends = self._place(column, rows)
        values, good = self._whole(starts, ends)
        return values if good.all() else self._slowly(starts, ends, int, values, good)

    def find_filled(self, column: int) -> NDArray[np.bool]:
        """Return in which lines the cell is not empty."""
        starts, ends = self._place(column, None)
        return ends > starts

    def numbers(self, column: int) -> NDArray[np.float64]:
        """Return numbers; NaN for empty cells. ValueError if one is no number."""
        return self._all_numbers(*self._place(column, None))

    def table(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """Return the numbers of several columns, by column: of few lines, all at once take no longer than one."""
        starts, ends = (each.reshape(-1, self._columns)[:, columns].T for each in (self._starts, self._ends))
        return self._all_numbers(starts.ravel(), ends.ravel()).reshape(starts.shape)

    def _all_numbers(self, starts: Places, ends: Places) -> NDArray[np.float64]:
        whole, good = self._whole(starts, ends)
        values = whole.astype(np.float64)
        if not good.all():
            left = np.flatnonzero(~good)
            values[left] = self._decimals(starts[left], ends[left])
        return values

    def _decimals(self, starts: Places, ends: Places) -> NDArray[np.float64]:
        """Return numbers of which most are two whole ones around a point."""
        points = np.flatnonzero(np.frombuffer(self._bytes, np.uint8) == 46)
        points = np.append(points, len(self._bytes))
        at = points[np.searchsorted(points, starts)]
        within = at < ends
        at = np.where(within, at, starts)
        (above, first), (below, second) = self._whole(starts, at), self._whole(np.minimum(at + 1, ends), ends)
        values = above + below / 10.0 ** (ends - at - 1)
        good = within & first & second & (ends - starts < 16)
        return self._slowly(starts, ends, _number, values, good)

    def _whole(self, starts: Places, ends: Places) -> tuple[Places, NDArray[np.bool]]:
        """Return digits as numbers, and which cells are nothing but 1 to 18 digits, or 19 that fit."""
        if len(starts) <= FEW:
            return self._few_whole(starts, ends)
        widths = ends - starts
        values = np.zeros(len(starts), np.int64)
        good = (widths > 0) & (widths <= 19)
        widest = int(widths.max(initial=0))
        for part in range(0, min(widest, 19), _DIGITS):
            left = np.clip(widths - part, 0, _DIGITS).astype(np.uint64)
            word = self._words[np.maximum(ends - _DIGITS - part, 0)] ^ _ZEROS
            # The last digit is in the highest byte: what is before the cell is shifted out, and zeros come in.
            shift = (np.uint64(_DIGITS) - left) * np.uint64(8)
            word = np.where(left > 0, (word >> np.minimum(shift, np.uint64(63))) << np.minimum(shift, np.uint64(63)), 0)
            word = word.astype(np.uint64)
            good &= ((word | (word + _SIXES)) & _HIGH) == 0
            values += _join_digits(word).astype(np.int64) * 10**part
        return values, good & (values >= 0)

    def _few_whole(self, starts: Places, ends: Places) -> tuple[Places, NDArray[np.bool]]:
        cells = [self._bytes[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        known = [int(cell) if cell.isdigit() and len(cell) <= _MOST_DIGITS else -1 for cell in cells]
        values = np.array([value if value <= _MOST else -1 for value in known], np.int64)
        good: NDArray[np.bool] = values >= 0
        return np.maximum(values, 0), good

    def _slowly(
        self, starts: Places, ends: Places, read: Callable[[bytes], float], values: NDArray[Any], good: NDArray[np.bool]
    ) -> NDArray[Any]:
        """Return the values with those that are not good read one by one."""
        for row in np.flatnonzero(~good).tolist():
            values[row] = read(self._bytes[starts[row] : ends[row]])
        return values

    def moments(self, column: int) -> tuple[Places, Places]:
        """Return the first row of each run of rows with the same time in a column, and the run of each row."""
        ends = self._place(column, None)[1]
        changed = np.zeros(len(ends), bool)
        for part in range(_DIGITS, len(_PAD) + 1, _DIGITS):
            word = self._words[ends - part]
            changed[1:] |= word[1:] != word[:-1]
        # In short cells, the words hold something of the cell before as well.
        rows = np.append(0, np.flatnonzero(changed))
        times = self.integers(column, rows)
        rows = rows[np.append(True, times[1:] != times[:-1])]
        run = np.zeros(len(ends), np.int64)
        run[rows[1:]] = 1
        return rows, np.cumsum(run)

    def names(self, column: int) -> tuple[list[str], Places]:
        """Return the different texts of a column, and the number of the text of each row."""
        starts, ends = self._place(column, None)
        hashes = self._hashes(starts, ends)
        known: Words = np.empty(0, np.uint64)
        new = hashes[:_SOME]
        while len(new):
            known = np.union1d(known, new)
            places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
            new = hashes[known[places] != hashes][: 100 * _SOME]
        first = np.full(len(known), len(hashes))
        np.minimum.at(first, places, np.arange(len(hashes)))
        order = np.argsort(first)
        rank = np.empty(len(known), np.int64)
        rank[order] = np.arange(len(known))
        texts = [
            self._bytes[starts[row] : ends[row]].decode("utf-8").replace(_COMMA, ",") for row in first[order].tolist()
        ]
        return texts, rank[places]

    def _hashes(self, starts: Places, ends: Places) -> Words:
        widths = (ends - starts).astype(np.uint64)
        hashes = widths * _MIX
        for part in range(0, int(widths.max(initial=np.uint64(0))), _DIGITS):
            left = np.where(widths > part, np.minimum(widths - np.uint64(part), 8), 0).astype(np.uint64)
            word = self._words[np.minimum(starts + part, len(self._words) - 1)]
            shift = (np.uint64(8) - left) * np.uint64(8)
            word = np.where(left > 0, word << np.minimum(shift, np.uint64(63)), 0).astype(np.uint64)
            hashes = (hashes ^ word) * _MIX
            hashes ^= hashes >> np.uint64(29)
        return hashes


_SOME = 200
# So few numbers are read one by one: what it takes to read many at once takes longer.
FEW = 200
_MOST_DIGITS, _MOST = 19, np.iinfo(np.int64).max


def _number(cell: bytes) -> float:
    """Return the number in a cell; NaN if it is empty. ValueError for what is none, or infinite."""
    value = float(cell) if cell else np.nan
    if np.isinf(value):
        raise ValueError(f"{cell.decode()} is no number")
    return value


def _join_digits(word: Words) -> Words:
    """Return the number of the eight digits in a word, the first of which is in the lowest byte."""
    for bits, factor, mask in ((8, 10, 0x00FF00FF00FF00FF), (16, 100, 0x0000FFFF0000FFFF), (32, 10_000, 0xFFFFFFFF)):
        word = (word * np.uint64(factor) + (word >> np.uint64(bits))) & np.uint64(mask)
    return word


def _plain(lines: bytes, columns: int) -> bytes:
    """Return lines in which no cell is in quotes; a comma within a cell is `_COMMA` for the time being."""
    rows: Sequence[list[str]] = list(csv.reader(lines.decode("utf-8").splitlines()))
    if any(len(row) != columns for row in rows):
        raise ValueError(f"a line has more or fewer than {columns} columns")
    return "".join(",".join(cell.replace(",", _COMMA) for cell in row) + "\n" for row in rows).encode()
