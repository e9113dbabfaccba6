"""Bytes of columns, rows and index, so that every block holds exactly one row and has room for a new version."""

from __future__ import annotations

from openslob.engines.row_text import TEXT_COLUMNS, column_bytes

# PostgreSQL's heap: header of a tuple, padded; of a long value; line pointer (bufpage.h, htup_details.h).
_TUPLE_HEADER, _VALUE_HEADER, _LINE_POINTER = 24, 4, 4
# An index entry: 8 bytes of key, 8 of tuple, 4 of line pointer, in pages filled to 90 %; and the levels above.
_INDEX_ENTRY_BYTES = 23


def row_bytes(block_size: int) -> int:
    """Return the bytes that one row takes from a block, line pointer included.

    A new version of the row must find room beside the old one, or updates would leave the block.
    """
    values = 8 + TEXT_COLUMNS * (_VALUE_HEADER + column_bytes(block_size))
    return -(-(_TUPLE_HEADER + values) // 8) * 8 + _LINE_POINTER


def index_bytes(rows: int) -> int:
    """Return the bytes of the index on the keys of ``rows`` rows."""
    return rows * _INDEX_ENTRY_BYTES
