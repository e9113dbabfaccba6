"""Bytes of columns, rows and index, so that every block holds exactly one row, in blocks of 2 KB to 32 KB.

PCTFREE 99 closes a block to further rows as soon as its first row fills more than 1 % of it. All columns that updates
write keep their length: a row never grows, and never leaves its block.
"""

from __future__ import annotations

TEXT_COLUMNS = 19
INITRANS = 4
_CONSTANT = "X"
# SLOB's 128 bytes in each of 19 columns; fewer in blocks under 8 KB.
_VALUE_BYTES = 128
_SHARE = 64
# Parts of a block (V$TYPE_SIZE): header, place of one transaction with its header, each further place, header of the
# data, directories of tables and rows, what automatic segment space management adds, the tail.
_HEADER, _FIRST_ITL, _FURTHER_ITL, _DATA_HEADER, _DIRECTORIES, _ASSM, _TAIL = 20, 48, 24, 14, 4 + 2, 8, 4
# A row's header, a column's length, and the longest NUMBER(10): exponent and five pairs of digits.
_ROW_HEADER, _LENGTH, _CUSTID = 3, 1, 6
# An index entry: header, key with its length, ROWID, its place in the directory; and the levels above.
_INDEX_ENTRY_BYTES = 20


def value_bytes_of(block_size: int) -> int:
    """Return the bytes in each text column."""
    return min(_VALUE_BYTES, block_size // _SHARE)


def constant_text(block_size: int) -> str:
    """Return the constant text of a text column, for tables that are not filled with random text."""
    return _CONSTANT * value_bytes_of(block_size)


def row_bytes(block_size: int) -> int:
    """Return the most bytes that a row takes from a block."""
    return _ROW_HEADER + _LENGTH + _CUSTID + TEXT_COLUMNS * (_LENGTH + value_bytes_of(block_size))


def usable_bytes(block_size: int) -> int:
    """Return the bytes that a block has for its row."""
    transactions = _FIRST_ITL + (INITRANS - 1) * _FURTHER_ITL
    return block_size - _HEADER - transactions - _DATA_HEADER - _DIRECTORIES - _ASSM - _TAIL


def index_bytes(rows: int) -> int:
    """Return the bytes of the index on the keys of ``rows`` rows."""
    return rows * _INDEX_ENTRY_BYTES
