"""Rows as COPY takes them: one to a block at every block size, room for updates, the fill that was asked for."""

import struct
import time
import zlib

from factories.tables import table
from openslob.core.permutation import Permutation
from openslob.engines.postgresql.page_layout import row_bytes
from openslob.engines.postgresql.tables import BATCH_ROWS, batches
from openslob.engines.row_text import column_bytes, constant_text

BLOCK_SIZES = [1024, 2048, 4096, 8192, 16384, 32768]
FILLFACTOR = 10
KEYS = Permutation(BATCH_ROWS + 5, key=7)

# Of a page of PostgreSQL's heap (bufpage.h).
PAGE_HEADER = 24


def parse(batch):
    """Rows of a binary COPY, read field by field as the format's documentation has it."""
    at = 0
    while at < len(batch):
        (fields,) = struct.unpack_from(">h", batch, at)
        at += 2
        row = []
        for _ in range(fields):
            (length,) = struct.unpack_from(">i", batch, at)
            row.append(batch[at + 4 : at + 4 + length])
            at += 4 + length
        yield row


def rows_of(random_pct, block_size=8192):
    return [row for batch, _ in batches(KEYS, block_size, random_pct) for row in parse(batch)]


@table("block_size", BLOCK_SIZES)
def test_one_row_fits_under_the_fill_limit_and_a_new_version_beside_it(block_size):
    usable, row = block_size - PAGE_HEADER, row_bytes(block_size)
    kept_free = block_size * (100 - FILLFACTOR) // 100
    assert usable - row < row + kept_free, "a second row would be put into the block"
    assert 2 * row <= usable, "an update would leave the block"


def test_at_8_kb_a_row_has_slobs_128_byte_columns():
    assert column_bytes(8192) == 128
    assert row_bytes(8192) == 24 + 8 + 19 * 132 + 4 + 4  # header, key, columns, padding to 8, line pointer


@table("random_pct", [0, 50, 100])
def test_the_keys_come_in_the_order_of_the_permutation(random_pct):
    rows = rows_of(random_pct)
    assert {len(row) for row in rows} == {20 if random_pct else 1}
    assert [int.from_bytes(row[0]) for row in rows] == KEYS.chunk(0, KEYS.size).tolist()


def test_every_batch_says_how_many_rows_it_has():
    assert [rows for _, rows in batches(KEYS, 8192, 0)] == [BATCH_ROWS, 5]


def test_constant_fill():
    assert constant_text(8192) == "X" * 128


def test_obfuscated_fill_does_not_compress_and_never_repeats():
    rows = rows_of(100)
    texts = [b"".join(row[1:]) for row in rows]
    assert len(set(texts)) == len(texts)
    assert all(len(column) == 128 and column.isascii() and column.decode().isprintable() for column in rows[0][1:])
    assert len(zlib.compress(b"".join(texts), 9)) > 0.8 * sum(map(len, texts))
    assert min(len(zlib.compress(text, 9)) for text in texts) > 0.8 * 19 * 128


def test_a_share_of_each_text_is_constant():
    whole, half = rows_of(100), rows_of(50)
    assert all(b[1:] == [text[:64] + b"X" * 64 for text in a[1:]] for a, b in zip(whole, half, strict=True))
    assert rows_of(34, 4096)[0][1][21:] == b"X" * 43


def test_obfuscated_rows_are_the_same_in_every_load_and_others_in_another_table():
    first = [batch for batch, _ in batches(KEYS, 8192, 100)]
    assert first == [batch for batch, _ in batches(KEYS, 8192, 100)]
    assert first != [batch for batch, _ in batches(Permutation(KEYS.size, key=8), 8192, 100)]


def test_the_driver_makes_rows_faster_than_a_server_takes_them():
    """200 MB of text a second of CPU: a COPY stream takes about 150 of them."""
    begun = time.process_time()
    size = sum(len(batch) for batch, _ in batches(Permutation(20_000, key=1), 8192, 100))
    assert size / (time.process_time() - begun) > 200e6
