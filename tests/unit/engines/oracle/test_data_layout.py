"""Bytes of Oracle's rows and blocks, and the addresses of rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.oracle.rowid_text import text_of
from openslob.core.errors import SlobError
from openslob.engines.oracle.tables import INITRANS, Rowid, count_adjacent, parse_rowid
from openslob.engines.row_text import TEXT_COLUMNS, column_bytes, constant_text

BLOCK_SIZES = (2048, 4096, 8192, 16384, 32768)
ROWIDS = st.builds(Rowid, file=st.integers(0, 1023), block=st.integers(0, 2**22 - 1), row=st.integers(0, 4095))
# Parts of a block (V$TYPE_SIZE): header, place of one transaction with its header, each further place, header of the
# data, directories of tables and rows, what automatic segment space management adds, the tail.
_HEADER, _FIRST_ITL, _FURTHER_ITL, _DATA_HEADER, _DIRECTORIES, _ASSM, _TAIL = 20, 48, 24, 14, 4 + 2, 8, 4
# A row's header, a column's length, and the longest NUMBER(10): exponent and five pairs of digits.
_ROW_HEADER, _LENGTH, _CUSTID = 3, 1, 6


def row_bytes(block_size: int) -> int:
    """Return the most bytes that a row takes from a block."""
    return _ROW_HEADER + _LENGTH + _CUSTID + TEXT_COLUMNS * (_LENGTH + column_bytes(block_size))


def usable_bytes(block_size: int) -> int:
    """Return the bytes that a block has for its row."""
    transactions = _FIRST_ITL + (INITRANS - 1) * _FURTHER_ITL
    return block_size - _HEADER - transactions - _DATA_HEADER - _DIRECTORIES - _ASSM - _TAIL


@pytest.mark.parametrize("block_size", BLOCK_SIZES)
def test_one_row_fits_into_a_block_and_closes_it(block_size):
    assert row_bytes(block_size) < usable_bytes(block_size)
    # PCTFREE 99: no further row once more than 1 % of the block is in use.
    assert row_bytes(block_size) > 0.01 * block_size


@given(block_size=st.integers(2048, 32768))
def test_a_row_fits_into_a_block_of_any_size(block_size):
    assert 0 < column_bytes(block_size) <= 128
    assert row_bytes(block_size) < usable_bytes(block_size)


def test_a_row_of_usual_blocks_is_slobs():
    assert column_bytes(8192) == 128
    assert constant_text(4096) == "X" * 64
    assert row_bytes(8192) == 3 + 1 + 6 + TEXT_COLUMNS * 129


@given(place=ROWIDS)
def test_an_address_is_read_as_it_was_written(place):
    assert parse_rowid(text_of(place)) == place


def test_the_digits_of_an_address():
    assert parse_rowid("AAAShYAAEAAAAFzAAB") == Rowid(file=4, block=371, row=1)


@pytest.mark.parametrize("text", ["00000DD5.0000.0001", "*BAEAAAAFzAAB", ""])
def test_an_address_of_another_kind_is_refused(text):
    with pytest.raises(SlobError, match="in a form that slob does not know"):
        parse_rowid(text)


def test_neighbours_are_found_in_the_order_of_the_blocks():
    keys = {30: 7, 10: 5, 20: 6, 40: 1}
    rows = [{"place": text_of(Rowid(1, block, 0)), "custid": key} for block, key in keys.items()]
    assert count_adjacent(rows) == {"pairs": 3, "adjacent": 2}
    assert count_adjacent([]) == {"pairs": 0, "adjacent": 0}
