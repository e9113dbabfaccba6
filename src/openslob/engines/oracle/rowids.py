"""Where a row lies, by its ROWID: in text, the object, the file, the block and the row's number in the block."""

from __future__ import annotations

from typing import NamedTuple

from openslob.core.errors import SlobError

_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_VALUES = {digit: value for value, digit in enumerate(_DIGITS)}
_LENGTH = 18
_FILE, _BLOCK, _ROW = slice(6, 9), slice(9, 15), slice(15, 18)


class Place(NamedTuple):
    """The place of a row; places are in the order of the blocks."""

    file: int
    block: int
    row: int


def place_of(text: str) -> Place:
    """Return the place that an extended ROWID says: 18 digits to the base of 64."""
    if len(text) != _LENGTH or not set(text) <= set(_VALUES):
        raise SlobError(f"the server shows where a row is in a form that slob does not know: {text}")
    return Place(*(_number(text[part]) for part in (_FILE, _BLOCK, _ROW)))


def _number(digits: str) -> int:
    number = 0
    for digit in digits:
        number = number * len(_DIGITS) + _VALUES[digit]
    return number
