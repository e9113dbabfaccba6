"""Bytes of columns and rows, so that every page holds exactly one row that the work loop visits.

InnoDB keeps rows in a tree by primary key and requires that at least two rows fit into a page, so no row can be large
enough to be alone. Each visited row is therefore followed, in the order of the surrogate primary key, by filler rows
without a key, which are in no range of keys and are never visited. Two visited rows and the fillers between them are
larger than a page, so they can't share one, however pages are split or merged. All columns that updates write have a
fixed length: a row never grows, and never leaves its page.
"""

from __future__ import annotations

from dataclasses import dataclass

from openslob.core.errors import SlobError

# SLOB's 128 bytes in each of 19 columns; fewer in pages of 4 KB, since a row must be shorter than half a page.
_VALUE_BYTES, _VALUE_BYTES_SMALL = 128, 96
_SMALL_PAGE = 4096
_COLUMNS = 19
# InnoDB's pages and rows (page0page.h, rem0rec.h): header, trailer, both end markers and the smallest directory of a
# page; header of a row, its null bits, the three columns every row has, custid, and the length of `pad`.
_PAGE_OVERHEAD = 132
_ROW_OVERHEAD = 5 + 3 + 8 + 6 + 7
_CUSTID, _PAD_LENGTH = 8, 2
_LARGEST_ROW = 16_383
# When rows come in order, the server leaves this share of a page free for updates once it holds two rows.
_RESERVED_SHARE = 16
# An entry of the page's directory, and rounding.
_SLACK = 64
_MOST_FILLERS = 8


@dataclass(frozen=True)
class PageLayout:
    """Bytes of the columns: ``value_bytes`` in c2 to c20, ``pad_bytes`` beside them; ``fillers`` rows to a page."""

    value_bytes: int
    pad_bytes: int
    fillers: int
    filler_pad_bytes: int

    @property
    def rows_per_page(self) -> int:
        return 1 + self.fillers

    @property
    def row_bytes(self) -> int:
        """Bytes of the columns of a visited row: both keys, c2 to c20, and what is beside them."""
        return 2 * _CUSTID + _COLUMNS * self.value_bytes + self.pad_bytes


def layout_of(page_size: int) -> PageLayout:
    """Return the layout for pages of ``page_size`` bytes."""
    usable = page_size - _PAGE_OVERHEAD
    largest = min(usable // 2, _LARGEST_ROW) - 1
    reserved = page_size // _RESERVED_SHARE
    values = _VALUE_BYTES_SMALL if page_size <= _SMALL_PAGE else _VALUE_BYTES
    bare = _ROW_OVERHEAD + _CUSTID + _COLUMNS * values
    # The free space in a page must be smaller than a visited row.
    visited = max(bare, reserved + 2 * _SLACK + _PAD_LENGTH)
    for fillers in range(1, _MOST_FILLERS + 1):
        # The server keeps the reserve from the third row on.
        filler = (usable - visited - _SLACK - (reserved if fillers > 1 else 0)) // fillers
        if 0 < filler <= largest:
            pad = max(0, visited - bare - _PAD_LENGTH)
            return PageLayout(values, pad, fillers, filler - _ROW_OVERHEAD - _PAD_LENGTH)
    raise SlobError(f"rows can't be laid out in pages of {page_size} bytes", "use pages of 4 to 64 KB")
