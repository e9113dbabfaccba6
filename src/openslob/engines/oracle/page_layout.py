"""Bytes of columns, rows and index, so that every block holds exactly one row, in blocks of 2 KB to 32 KB.

PCTFREE 99 closes a block to further rows as soon as its first row fills more than 1 % of it. All columns that updates
write keep their length: a row never grows, and never leaves its block.
"""

from __future__ import annotations

INITRANS = 4
# An index entry: header, key with its length, ROWID, its place in the directory; and the levels above.
_INDEX_ENTRY_BYTES = 20


def index_bytes(rows: int) -> int:
    """Return the bytes of the index on the keys of ``rows`` rows."""
    return rows * _INDEX_ENTRY_BYTES
