"""How python-oracledb's thin mode writes and reads integers, texts, and values of SQL's types."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

VARCHAR, NUMBER, BINARY_INTEGER, DATE, RAW, CHAR = 1, 2, 3, 12, 23, 96
BINARY_DOUBLE, TIMESTAMP, TIMESTAMP_TZ = 101, 180, 181
_NONE, _LONG, _SHORT_MOST, _CHUNK = 255, 254, 252, 32767


class Reader:
    """Reads a message from its begin; ``more`` gives its next packet: only its content tells where it ends."""

    def __init__(self, data: bytes, more: Callable[[], bytes]) -> None:
        self._data, self._at, self._more = data, 0, more

    def raw(self, length: int) -> bytes:
        while self._at + length > len(self._data):
            self._data, self._at = self._data[self._at :] + self._more(), 0
        self._at += length
        return self._data[self._at - length : self._at]

    def byte(self) -> int:
        return self.raw(1)[0]

    def number(self) -> int:
        length = self.byte()
        value = int.from_bytes(self.raw(length & 0x7F))
        return -value if length & 0x80 else value

    def text(self) -> bytes | None:
        """Bytes behind their length, in chunks if there are many; None for none."""
        length = self.byte()
        if length in (0, _NONE):
            return None
        if length != _LONG:
            return self.raw(length)
        parts = []
        while size := self.number():
            parts.append(self.raw(size))
        return b"".join(parts)

    def counted_text(self) -> bytes | None:
        """The same behind one more length."""
        return self.text() if self.number() else None

    def skip(self, kinds: str) -> None:
        """b for a byte, n for a number."""
        for kind in kinds:
            self.byte() if kind == "b" else self.number()


def number(value: int) -> bytes:
    length = (value.bit_length() + 7) // 8
    return bytes([length]) + value.to_bytes(length)


def text(value: bytes) -> bytes:
    if len(value) <= _SHORT_MOST:
        return bytes([len(value)]) + value
    parts = [value[at : at + _CHUNK] for at in range(0, len(value), _CHUNK)]
    return bytes([_LONG]) + b"".join(number(len(part)) + part for part in parts) + number(0)


def counted_text(value: bytes) -> bytes:
    return number(len(value)) + (text(value) if value else b"")


# --- values


def decode_number(data: bytes) -> int | Decimal:
    """A NUMBER: an exponent of 100, then digits to that base; those of a negative number are complemented."""
    if data == b"\x80":
        return 0
    positive = data[0] >= 128
    exponent = (data[0] - 193) if positive else (62 - data[0])
    digits = [each - 1 for each in data[1:]] if positive else [101 - each for each in data[1:] if each != 102]
    value = Decimal(int("".join(f"{each:02}" for each in digits))).scaleb(2 * (exponent - len(digits) + 1))
    value = value if positive else -value
    return int(value) if value == value.to_integral_value() else value


def encode_number(given: float | Decimal) -> bytes:
    value = Decimal(repr(given) if isinstance(given, float) else given)
    if not value:
        return b"\x80"
    sign, digits, exponent = value.normalize().as_tuple()
    assert isinstance(exponent, int), f"{given} is no NUMBER"
    shown = "".join(map(str, digits)) + "0" * (exponent % 2)
    exponent -= exponent % 2
    shown = shown.rjust(len(shown) + len(shown) % 2, "0")
    pairs = [int(shown[at : at + 2]) for at in range(0, len(shown), 2)][:20]
    power = exponent // 2 + len(shown) // 2 - 1
    if sign:
        return bytes([62 - power, *(101 - each for each in pairs), 102])
    return bytes([193 + power, *(each + 1 for each in pairs)])


def _decode_moment(data: bytes) -> datetime:
    century, year, month, day, hour, minute, second = data[:7]
    micros = int.from_bytes(data[7:11]) // 1000 if len(data) > 7 else 0
    zone = UTC if len(data) > 11 else None
    years = (century - 100) * 100 + year - 100
    return datetime(years, month, day, hour - 1, minute - 1, second - 1, micros, zone)


def _encode_date(value: date) -> bytes:
    hour, minute, second = (value.hour, value.minute, value.second) if isinstance(value, datetime) else (0, 0, 0)
    return bytes(
        [value.year // 100 + 100, value.year % 100 + 100, value.month, value.day, hour + 1, minute + 1, second + 1]
    )


def _encode_moment(value: datetime) -> bytes:
    """A moment with its zone is told in UTC."""
    zone = b"" if value.tzinfo is None else bytes([20, 60])
    value = value.astimezone(UTC) if value.tzinfo else value
    return _encode_date(value) + struct.pack(">I", value.microsecond * 1000) + zone


def _encode_double(value: float) -> bytes:
    bits = int.from_bytes(struct.pack(">d", value))
    return ((~bits if bits >> 63 else bits | 1 << 63) & (1 << 64) - 1).to_bytes(8)


def _decode_double(data: bytes) -> float:
    bits = int.from_bytes(data)
    bits = bits & ~(1 << 63) if bits >> 63 else ~bits & (1 << 64) - 1
    return float(struct.unpack(">d", bits.to_bytes(8))[0])


_DECODERS: Mapping[int, Callable[[bytes], Any]] = {
    VARCHAR: bytes.decode,
    CHAR: bytes.decode,
    NUMBER: decode_number,
    BINARY_INTEGER: decode_number,
    RAW: bytes,
    DATE: _decode_moment,
    TIMESTAMP: _decode_moment,
    TIMESTAMP_TZ: _decode_moment,
    BINARY_DOUBLE: _decode_double,
}


def require_known(kind: int) -> None:
    if kind not in _DECODERS:
        raise NotImplementedError(f"bind of type {kind}")


def decode_value(kind: int, data: bytes | None) -> Any:
    return None if data is None else _DECODERS[kind](data)


def encode_value(value: Any, kind: int | None = None) -> bytes:
    """A value as the driver reads it. Only for a DATE and a BINARY_DOUBLE does its kind matter."""
    if value is None:
        return b"\0"
    if isinstance(value, str):
        return text(value.encode())
    if isinstance(value, bytes):
        return text(value)
    if isinstance(value, date):
        with_time = isinstance(value, datetime) and kind != DATE
        return text(_encode_moment(value) if with_time else _encode_date(value))  # type: ignore[arg-type]
    if kind == BINARY_DOUBLE:
        return text(_encode_double(float(value)))
    return text(encode_number(value))


@dataclass(frozen=True)
class Column:
    """How a column is described: its type, the bytes that it may have, and the form of its characters."""

    kind: int
    size: int
    form: int = 0

    @property
    def scale(self) -> int:
        """Any, as for a NUMBER without precision."""
        return 0x81 if self.kind == NUMBER else 6 if self.kind in (TIMESTAMP, TIMESTAMP_TZ) else 0


_COLUMNS = {
    str: Column(VARCHAR, 32767, 1),
    bytes: Column(RAW, 32767),
    datetime: Column(TIMESTAMP, 11),
    date: Column(DATE, 7),
}


def column_of(values: Sequence[Any]) -> Column:
    """The column that has these values; VARCHAR2 if all are NULL."""
    some = next((value for value in values if value is not None), "")
    if isinstance(some, datetime) and some.tzinfo:
        return Column(TIMESTAMP_TZ, 13)
    return _COLUMNS.get(type(some), Column(NUMBER, 22))


def placeholders(given: str) -> list[str]:
    """The binds of a statement in the driver's order: those of a block once each, of any other wherever they are."""
    plain = re.sub(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", "", given, flags=re.DOTALL)
    names = re.findall(r"(?<![:\w]):(\w+)", plain)
    block = re.match(r"\s*(BEGIN|DECLARE|CALL)\b", plain, re.IGNORECASE)
    return list(dict.fromkeys(names)) if block else names
