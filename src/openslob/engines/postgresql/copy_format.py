"""The test tables' rows as PostgreSQL's binary COPY takes them.

All rows are of one length, so numpy lays out a batch at a time: only keys and random text are written per row.
Binary rows also cost the server less than text ones, which it must split and unescape. Text that is the same in every
row is not sent at all: it is the columns' default for the time of the load, which spares the server taking 19 columns a
row apart and checking their encoding.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openslob.permutation import Permutation

BATCH_ROWS = 512
HEADER = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
TRAILER = b"\xff\xff"

_TEXT_COLUMNS = 19
_CONSTANT = "X"
# Random bytes become printable ASCII: about 6.55 bits of chance in each, so compression gains a fifth at most.
_PRINTABLE = bytes(32 + value % 95 for value in range(256))
# PostgreSQL's heap: header of a tuple, padded; of a long value; line pointer (bufpage.h, htup_details.h).
_TUPLE_HEADER, _VALUE_HEADER, _LINE_POINTER = 24, 4, 4


def column_bytes(block_size: int) -> int:
    """Bytes in each text column: SLOB's 128, fewer in blocks under 8 KB.

    A new version of the row must find room beside the old one, or updates would leave the block.
    """
    return min(128, block_size // 64)


def row_bytes(block_size: int) -> int:
    """Bytes that one row takes from a block, line pointer included."""
    values = 8 + _TEXT_COLUMNS * (_VALUE_HEADER + column_bytes(block_size))
    return -(-(_TUPLE_HEADER + values) // 8) * 8 + _LINE_POINTER


def constant_text(block_size: int) -> str:
    """What every text column holds that is not filled with random text."""
    return _CONSTANT * column_bytes(block_size)


def batches(keys: Permutation, block_size: int, obfuscate: bool) -> Iterator[tuple[bytes, int]]:
    """The rows of a table in batches, each with its number of rows, in the order of ``keys``.

    Rows are keys alone, or with ``obfuscate`` have random text too (seeded by the permutation's key), others each.
    """
    width = column_bytes(block_size)
    batch = _template(width, _TEXT_COLUMNS if obfuscate else 0)
    random = np.random.Generator(np.random.SFC64(keys.key))
    for chunk in keys.chunks(BATCH_ROWS):
        rows = batch[: len(chunk)]
        rows["custid"] = chunk
        if obfuscate:
            rows["columns"]["text"] = _random_text(random, len(chunk), width)
        yield rows.tobytes(), len(chunk)


def _template(width: int, columns: int) -> NDArray[np.void]:
    column = np.dtype([("length", ">i4"), ("text", f"S{width}")])
    row = np.dtype([("fields", ">i2"), ("key_length", ">i4"), ("custid", ">i8"), ("columns", column, (columns,))])
    batch = np.zeros(BATCH_ROWS, row)
    batch["fields"], batch["key_length"] = 1 + columns, 8
    batch["columns"]["length"] = width
    return batch


def _random_text(random: np.random.Generator, rows: int, width: int) -> NDArray[np.bytes_]:
    text = random.bytes(rows * _TEXT_COLUMNS * width).translate(_PRINTABLE)
    return np.frombuffer(text, f"S{width}").reshape(rows, _TEXT_COLUMNS)
