"""The text in the columns of a row that has a block to itself: how long it is, constant or random."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TEXT_COLUMNS = 19
CONSTANT = "X"
# Random bytes become printable ASCII: about 6.55 bits of chance in each, so compression gains a fifth at most.
_PRINTABLE = bytes(32 + value % 95 for value in range(256))


def column_bytes(block_size: int) -> int:
    """Return the bytes in each text column: SLOB's 128, fewer in blocks under 8 KB."""
    return min(128, block_size // 64)


def constant_text(block_size: int) -> str:
    """Return the constant text of a text column, for tables that are not filled with random text."""
    return CONSTANT * column_bytes(block_size)


def random_texts(random: np.random.Generator, rows: int, width: int, random_pct: int) -> NDArray[np.bytes_]:
    """Return the texts of some rows, each of ``width`` bytes, of which this share is random."""
    text = bytearray(random.bytes(rows * TEXT_COLUMNS * width).translate(_PRINTABLE))
    np.frombuffer(text, np.uint8).reshape(-1, width)[:, width * random_pct // 100 :] = ord(CONSTANT)
    return np.frombuffer(text, f"S{width}").reshape(rows, TEXT_COLUMNS)
