"""The run table of a target, in memory, with the locks of its rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from factories.oracle.double import rows
from factories.oracle.wire_executor import Executor, OracleError


class RunTable:
    """What the drivers of one target share. ``refusals`` and ``before`` are by the beginning of a statement."""

    def __init__(self, is_loaded: bool = False) -> None:
        self.exists, self.is_loaded = False, is_loaded
        self.rows: dict[str, dict[str, Any]] = {}
        self.locked_by: object = None
        self.refusals: dict[str, OracleError] = {}
        self.before: dict[str, Callable[[], object]] = {}

    def client(self) -> _Client:
        """Return one more client."""
        return _Client(self)

    def take_over(self, holder: str) -> None:
        """Let somebody else have the lock, as soon as it is free."""
        self.rows["lock"]["holder"], self.locked_by = holder, self


class _Client(Executor):
    def __init__(self, table: RunTable) -> None:
        self._table = table

    def execute(self, text: str, binds: dict[str, Any]) -> Any:
        table, code = self._table, " ".join(text.split())
        for begin, act in list(table.before.items()):
            if code.startswith(begin):
                del table.before[begin]
                act()
        for begin, refusal in table.refusals.items():
            if code.startswith(begin):
                raise refusal
        if "user_tables" in code:
            return rows({"table_name": binds["manifest"]}) if table.is_loaded else rows()
        if code.startswith("CREATE TABLE"):
            if table.exists:
                raise OracleError(955, "name is already used by an existing object")
            table.exists = True
            return 0
        if not table.exists:
            raise OracleError(942, "table or view does not exist")
        return self._on_table(code, binds)

    def _on_table(self, code: str, binds: dict[str, Any]) -> Any:
        table = self._table
        if code.startswith("DROP"):
            table.exists, table.rows, table.locked_by = False, {}, None
        elif code.startswith("INSERT"):
            if binds["id"] in table.rows:
                raise OracleError(1, "unique constraint violated")
            table.rows[binds["id"]] = {"id": binds["id"], "stop": 0, "holder": None, "since": None}
        elif "FOR UPDATE" in code:
            return self._lock()
        elif code.startswith("SELECT"):
            return rows(*({"holder": row["holder"], "since": row["since"]} for row in [table.rows["lock"]]))
        elif "SET stop" in code:
            table.rows["stop"]["stop"] = int("stop = 1" in code)
        else:
            assert table.locked_by is self, "the holder is noted by whoever holds the lock"
            table.rows["lock"] |= binds
        return 0

    def _lock(self) -> Any:
        table = self._table
        if not table.rows:
            return rows()
        if table.locked_by not in (None, self):
            raise OracleError(54, "resource busy and acquire with NOWAIT specified or timeout expired")
        table.locked_by = self
        return rows({"id": "lock"})

    def rollback(self) -> None:
        if self._table.locked_by is self:
            self._table.locked_by = None

    def commit(self) -> None:
        had = self._table.locked_by is self
        self.rollback()
        if had and (act := self._table.before.pop("commit", None)):
            act()
