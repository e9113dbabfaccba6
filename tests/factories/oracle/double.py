"""A connection of the engine over an executor in this process: for tests that need no network and no protocol."""

from __future__ import annotations

from typing import Any

import oracledb

from factories.oracle.wire_executor import Executor, OracleError, Rows
from openslob.engines.oracle.connection import Connection

NO_CURSOR = 42


class Variable:
    """A bind variable that a block may set."""

    def __init__(self) -> None:
        self.value: Any = None

    def setvalue(self, _position: int, value: Any) -> None:
        self.value = value

    def getvalue(self) -> Any:
        return self.value


class Cursor:
    """As far as the engine uses the driver's."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.description: list[tuple[str]] | None = None
        self.rowcount = 0
        self._rows: list[tuple[Any, ...]] = []

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def var(self, _kind: object, **_more: object) -> Variable:
        return Variable()

    def execute(self, text: str, binds: dict[str, Any] | None = None) -> None:
        given = dict(binds or {})
        plain = {name: each.value if isinstance(each, Variable) else each for name, each in given.items()}
        try:
            found = self._executor.execute(text, plain)
        except OracleError as error:
            raise oracledb.DatabaseError(f"{error}\nHelp: https://docs.oracle.com/error-help/db/") from error
        self.description = None
        if isinstance(found, Rows):
            self.description = [(name.upper(),) for name in found.columns]
            self._rows = [tuple(row) for row in found.rows]
            self.rowcount = len(self._rows)
        elif isinstance(found, int):
            self.rowcount = found
        elif isinstance(found, dict):
            for name, value in found.items():
                if isinstance(given.get(name), Variable):
                    given[name].value = value

    def executemany(self, text: str, rows: list[dict[str, Any]]) -> None:
        try:
            self.rowcount = self._executor.execute_many(text, rows)
        except OracleError as error:
            raise oracledb.DatabaseError(str(error)) from error

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._rows

    def close(self) -> None:
        pass


class Raw:
    """As far as the engine uses the driver's connection."""

    thin = True
    module = action = ""
    autocommit = True

    def __init__(self, executor: Executor, version: str) -> None:
        self.executor, self.version = executor, version
        self.session_id, self.serial_num = NO_CURSOR, 1

    def cursor(self) -> Cursor:
        return Cursor(self.executor)

    def commit(self) -> None:
        self.executor.commit()

    def rollback(self) -> None:
        self.executor.rollback()

    def cancel(self) -> None:
        self.executor.cancel()

    def is_healthy(self) -> bool:
        return True

    def close(self) -> None:
        self.executor.close()


def connected(executor: Executor, version: str = "19.3.0.0.0") -> Connection:
    """A connection whose statements the executor answers."""
    return Connection(Raw(executor, version))  # type: ignore[arg-type]
