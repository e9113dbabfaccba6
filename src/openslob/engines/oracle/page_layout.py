"""Bytes of columns, rows and index, so that every block holds exactly one row, in blocks of 2 KB to 32 KB.

PCTFREE 99 closes a block to further rows as soon as its first row fills more than 1 % of it. All columns that updates
write keep their length: a row never grows, and never leaves its block.
"""

from __future__ import annotations

TEXT_COLUMNS = 19
INITRANS = 4
CONSTANT = "X"
# SLOB's 128 bytes in each of 19 columns; fewer in blocks under 8 KB.
_VALUE_BYTES = 128
_SHARE = 64
# An index entry: header, key with its length, ROWID, its place in the directory; and the levels above.
_INDEX_ENTRY_BYTES = 20


def value_bytes_of(block_size: int) -> int:
    """Return the bytes in each text column."""
    return min(_VALUE_BYTES, block_size // _SHARE)


def constant_text(block_size: int) -> str:
    """Return the constant text of a text column, for tables that are not filled with random text."""
    return CONSTANT * value_bytes_of(block_size)


def index_bytes(rows: int) -> int:
    """Return the bytes of the index on the keys of ``rows`` rows."""
    return rows * _INDEX_ENTRY_BYTES
