"""The driver's direct path load: rows that come without an INSERT, each as the bytes of its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from factories.oracle.wire_encodings import Column, Reader, decode_value, number
from factories.oracle.wire_executor import Executor

PREPARE, LOAD_ROWS, END = 128, 129, 130
_PARAMETERS = 8
_OF_TABLE, _OF_SCHEMA, _OF_COLUMN = 1, 3, 4
_CURSOR_AT, _OUTPUTS = 3, 14
_FINISH = 2
# A row that is one piece and whose columns have short values.
_FAST_ROW = 0x20
_LONG, _NULL = 254, 255


@dataclass(frozen=True)
class _Load:
    text: str
    columns: list[Column]


class DirectPath:
    """The direct path loads of one session; ``described`` is how the session describes a column."""

    def __init__(self, executor: Executor, described: Callable[[str, Column], bytes]) -> None:
        self._executor, self._described = executor, described
        self._loads: dict[int, _Load] = {}

    def prepare(self, message: Reader) -> bytes:
        """Begin one: the columns of the table, and a number for what follows."""
        message.skip("nb")
        names = message.number()
        message.skip("b")
        inputs = message.number()
        message.skip("b" * 6)
        named = [self._name(message) for _ in range(names)]
        message.skip("n" * inputs)
        table = next(name for kind, name in named if kind == _OF_TABLE)
        columns = [name for kind, name in named if kind == _OF_COLUMN]
        kinds = self._executor.columns_of(table, columns)
        places = ", ".join(f":{at}" for at in range(1, len(columns) + 1))
        cursor = len(self._loads) + 1
        self._loads[cursor] = _Load(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})", kinds)
        said = bytes([_PARAMETERS]) + number(len(kinds))
        said += b"".join(self._described(*each) for each in zip(columns, kinds, strict=True))
        outputs = [cursor if at == _CURSOR_AT else 0 for at in range(_OUTPUTS)]
        return said + number(0) + number(_OUTPUTS) + b"".join(map(number, outputs))

    def _name(self, message: Reader) -> tuple[int, str]:
        message.skip("nn")
        name = (message.text() or b"").decode()
        return message.number(), name

    def load(self, message: Reader) -> bytes:
        """Store rows."""
        load = self._loads[message.number()]
        message.skip("b")
        size = message.number()
        message.skip("nbnbb")
        rows = [
            {str(at): value for at, value in enumerate(row, start=1)} for row in _rows(message.raw(size), load.columns)
        ]
        self._executor.execute_many(load.text, rows)
        return _nothing()

    def end(self, message: Reader) -> bytes:
        """Commit what came, or undo it."""
        is_whole = message.number() == _FINISH
        del self._loads[message.number()]
        if is_whole:
            self._executor.commit()
        else:
            self._executor.rollback()
        return _nothing()


def _nothing() -> bytes:
    return bytes([_PARAMETERS]) + number(0)


def _rows(data: bytes, columns: list[Column]) -> Iterator[list[Any]]:
    at = 0
    while at < len(data):
        if not data[at] & _FAST_ROW:
            raise NotImplementedError("a row of direct path load in several pieces")
        length = int.from_bytes(data[at + 1 : at + 3])
        values = list(_values(data[at + 4 : at + length]))
        yield [decode_value(column.kind, value) for column, value in zip(columns, values, strict=True)]
        at += length


def _values(row: bytes) -> Iterator[bytes | None]:
    at = 0
    while at < len(row):
        size, at = row[at], at + 1
        if size == _NULL:
            yield None
            continue
        if size == _LONG:
            size, at = int.from_bytes(row[at : at + 2]), at + 2
        yield row[at : at + size]
        at += size
