"""Bytes of columns, rows and index, so that every block holds exactly one row and has room for a new version."""

from __future__ import annotations

TEXT_COLUMNS = 19
CONSTANT = "X"
# PostgreSQL's heap: header of a tuple, padded; of a long value; line pointer (bufpage.h, htup_details.h).
_TUPLE_HEADER, _VALUE_HEADER, _LINE_POINTER = 24, 4, 4
# An index entry: 8 bytes of key, 8 of tuple, 4 of line pointer, in pages filled to 90 %; and the levels above.
_INDEX_ENTRY_BYTES = 23


def column_bytes(block_size: int) -> int:
    """Return the bytes in each text column: SLOB's 128, fewer in blocks under 8 KB.

    A new version of the row must find room beside the old one, or updates would leave the block.
    """
    return min(128, block_size // 64)


def row_bytes(block_size: int) -> int:
    """Return the bytes that one row takes from a block, line pointer included."""
    values = 8 + TEXT_COLUMNS * (_VALUE_HEADER + column_bytes(block_size))
    return -(-(_TUPLE_HEADER + values) // 8) * 8 + _LINE_POINTER


def constant_text(block_size: int) -> str:
    """Return the constant text of a text column, for tables that are not filled with random text."""
    return CONSTANT * column_bytes(block_size)


def index_bytes(rows: int) -> int:
    """Return the bytes of the index on the keys of ``rows`` rows."""
    return rows * _INDEX_ENTRY_BYTES
