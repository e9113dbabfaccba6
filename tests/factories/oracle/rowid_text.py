"""ROWIDs as a server shows them: the opposite of what the engine reads."""

from __future__ import annotations

from openslob.engines.oracle.tables import Rowid

_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def text_of(place: Rowid, data_object: int = 1) -> str:
    """Return a place as an extended ROWID."""
    return _text(data_object, 6) + _text(place.file, 3) + _text(place.block, 6) + _text(place.row, 3)


def _text(number: int, length: int) -> str:
    digits = ""
    for _ in range(length):
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits
