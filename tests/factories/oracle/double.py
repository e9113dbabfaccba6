"""Connections without a network: what python-oracledb's offer, over an executor in this process."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, cast

import oracledb

from factories.oracle.wire_executor import Executor, Invalid, OracleError, Rows
from openslob.engines.oracle.connection import Connection

Result = Rows | Mapping[str, Any] | int | Exception


class Variable:
    """A bind variable of a block."""

    def __init__(self) -> None:
        self._value: Any = None

    def setvalue(self, _position: int, value: object) -> None:
        self._value = value

    def getvalue(self) -> Any:
        return self._value


class Cursor:
    """A cursor of the driver."""

    def __init__(self, raw: Raw) -> None:
        self._raw = raw
        self._found: Rows | None = None
        self.rowcount = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def description(self) -> list[tuple[str]] | None:
        return [(name,) for name in self._found.columns] if self._found else None

    def var(self, *_: object) -> Variable:
        return Variable()

    def execute(self, text: str, binds: Mapping[str, Any] | None = None) -> None:
        given = {
            name: each.getvalue() if isinstance(each, Variable) else each for name, each in dict(binds or {}).items()
        }
        found = self._raw.executed(lambda: self._raw.executor.execute(text, given), text)
        self._found = found if isinstance(found, Rows) else None
        self.rowcount = found if isinstance(found, int) else len(found.rows) if isinstance(found, Rows) else 0
        for name, each in dict(binds or {}).items():
            if isinstance(each, Variable) and isinstance(found, Mapping):
                each.setvalue(0, found[name])

    def executemany(self, text: str, rows: Sequence[Any]) -> None:
        given = [
            dict(row) if isinstance(row, Mapping) else {str(at): value for at, value in enumerate(row, start=1)}
            for row in rows
        ]
        self.rowcount = cast("int", self._raw.executed(lambda: self._raw.executor.execute_many(text, given), text))
        self._found = None

    def fetchall(self) -> list[Any]:
        return list(self._found.rows) if self._found else []

    def close(self) -> None:
        self._found = None


class Raw:
    """A connection of the driver. ``statements`` are those that were executed, in their order."""

    def __init__(self, executor: Executor, version: str = "19.3.0.0.0", thin: bool = True) -> None:
        self.executor, self.thin, self.version = executor, thin, version
        self.session_id, self.serial_num, self.autocommit = 42, 1, False
        self.instance_name = "slob"
        self.module = self.action = ""
        self.is_open = True
        self.statements: list[str] = []
        if thin:
            self.direct_path_load = self._direct_path_load

    def executed(self, act: Callable[[], Any], text: str) -> Any:
        self.statements.append(text)
        try:
            found = act()
        except OracleError as error:
            raise oracledb.DatabaseError(f"{error}\nHelp: https://docs.oracle.com/error-help/db/") from error
        if self.autocommit and not isinstance(found, Rows | Invalid):
            self.executor.commit()
        return found

    def _direct_path_load(self, _owner: str, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        values = ", ".join(f":{number}" for number in range(1, len(columns) + 1))
        text = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values})"
        given = [{str(at): value for at, value in enumerate(row, start=1)} for row in rows]
        self.executed(lambda: self.executor.execute_many(text, given), f"direct path: {text}")
        self.executor.commit()

    def cursor(self) -> Cursor:
        return Cursor(self)

    def commit(self) -> None:
        self.executor.commit()

    def rollback(self) -> None:
        self.executor.rollback()

    def cancel(self) -> None:
        self.executor.cancel()

    def is_healthy(self) -> bool:
        return self.is_open

    def close(self) -> None:
        self.is_open = False
        self.executor.rollback()
        self.executor.close()


class Answers(Executor):
    """Gives what a test says, by regular expressions of the statements' beginnings; the last that fits counts.

    An answer is given as it is, raised, or asked with the binds. Statements without an answer change nothing; queries
    without one are an error of the test.
    """

    def __init__(self, **answers: Result) -> None:
        self._answers: list[tuple[re.Pattern[str], Any]] = []
        self.binds: list[Mapping[str, Any]] = []
        for begin, answer in answers.items():
            self.say(begin, answer)

    def say(self, pattern: str, answer: Any) -> Self:
        """Answer statements that fit the pattern, from now on."""
        self._answers.append((re.compile(pattern, re.IGNORECASE | re.DOTALL), answer))
        return self

    def execute(self, text: str, binds: dict[str, Any]) -> Any:
        """Return the answer."""
        self.binds.append(binds)
        for pattern, answer in reversed(self._answers):
            if pattern.search(text):
                found = answer(binds) if callable(answer) else answer
                if isinstance(found, Exception):
                    raise found
                return found
        if text.lstrip().upper().startswith(("SELECT", "WITH")):
            raise AssertionError(f"no answer to: {text}")
        return 0


def rows(*found: Mapping[str, Any]) -> Rows:
    """Return the result of a query; each row by lower-case column name."""
    columns = list(found[0]) if found else ["NOTHING"]
    return Rows([name.upper() for name in columns], [tuple(row.values()) for row in found])


def connected(executor: Executor, version: str = "19.3.0.0.0", thin: bool = True) -> Connection:
    """Return a connection of the engine over an executor, in autocommit mode."""
    raw = Raw(executor, version, thin)
    raw.autocommit = True
    return Connection(cast("oracledb.Connection", raw))


def raw_of(connection: Connection) -> Raw:
    """Return the double of the driver's connection below one of the engine."""
    return cast("Raw", connection.raw)


def statements_of(connection: Connection) -> list[str]:
    """Return what was executed over a connection, each as one line."""
    return [" ".join(text.split()) for text in raw_of(connection).statements]
