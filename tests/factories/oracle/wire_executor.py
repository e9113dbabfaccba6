"""What executes the statements that the stand-in's clients send: each test has its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from factories.oracle.wire_encodings import Column, column_of


class OracleError(Exception):
    """An ORA- error, as the client shall see it."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(f"ORA-{number:05}: {text}")
        self.number = number


class DropError(Exception):
    """Raised by an executor: the connection breaks in the middle of the call."""


@dataclass(frozen=True)
class Rows:
    """What a query gives. Types of columns are those of their values, unless ``kinds`` says which."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    kinds: Sequence[Column] | None = None

    def described(self) -> list[Column]:
        return list(self.kinds or [column_of([row[at] for row in self.rows]) for at in range(len(self.columns))])


class Invalid:
    """What came of CREATE PROCEDURE with errors: the client gets a warning, and USER_ERRORS has them."""


class Executor:
    """Executes one client's statements: a base for those of tests, which override what they need."""

    in_transaction = False

    def execute(self, text: str, binds: dict[str, Any]) -> Rows | Mapping[str, Any] | Invalid | int:
        """Rows of a query, OUT and IN OUT binds of a block by name, or how many rows were changed.

        A bind that is returned and had a value at first goes in as well as out; ``_in_out`` among those that are
        returned names them where that is not so.
        """
        raise NotImplementedError(text)

    def execute_many(self, text: str, rows: Sequence[dict[str, Any]]) -> int:
        """How many rows were changed by the statement with all these binds."""
        found = [self.execute(text, row) for row in rows]
        return sum(each for each in found if isinstance(each, int))

    def columns_of(self, table: str, columns: Sequence[str]) -> list[Column]:
        """How columns of a table are described to a direct path load."""
        raise NotImplementedError(f"direct path load of {table} ({', '.join(columns)})")

    def commit(self) -> None:
        """The transaction ends, by the client's word or by the driver's autocommit."""

    def rollback(self) -> None:
        """The transaction is undone."""

    def cancel(self) -> None:
        """End what is executed, from another thread: it then raises OracleError(1013)."""

    def close(self) -> None:
        """The client is gone."""
