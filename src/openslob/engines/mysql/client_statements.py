"""The statements of a session of the client loop, as texts: the driver's library has no prepared ones.

They are those of the work loop's procedure, with numbers and values in place of its variables.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence

import pymysql
from pymysql.constants import ER
from pymysql.cursors import Cursor

from openslob.core.method import OpKind
from openslob.core.workload import Workload
from openslob.engines.base import SessionPlan
from openslob.engines.client_loop import Look, Operation
from openslob.engines.mysql.connection import PACKAGE, Connection, query
from openslob.engines.mysql.errors import code_of
from openslob.engines.mysql.names import MysqlNames
from openslob.engines.mysql.page_layout import layout_of
from openslob.engines.mysql.slice_procedure import STOP, compose_statement
from openslob.engines.slice_io import KINDS, written_columns
from openslob.engines.sql import read_statements


def compose_templates(names: MysqlNames, schema: int, workload: Workload) -> dict[OpKind, str]:
    """Return the text of each kind of operation, to be filled in with ``%``: values to write, first and last key."""
    assignments = ", ".join(f"{column} = %s" for column in written_columns(workload))
    parts = {"into": "", "first_key": "%d", "last_key": "%d", "rows": str(workload.rows_per_update)}
    return {kind: compose_statement(kind, names, schema, assignments=assignments, **parts) for kind in KINDS}


class MysqlStatements:
    """Implements `openslob.engines.client_loop.Statements`. The connection is in autocommit mode."""

    def __init__(self, connection: Connection, names: MysqlNames, plan: SessionPlan) -> None:
        self.conflicts = 0
        self._connection = connection
        self._cursor = connection.cursor(Cursor)
        self._plan = plan
        load = plan.workload
        self._select_rows, self._update_rows = load.work_unit, load.rows_per_update
        self._columns, self._value_bytes = len(written_columns(load)), layout_of(plan.block_size).value_bytes
        # Of the session's own tables, and of those of schema 1.
        self._templates = [compose_templates(names, schema, load) for schema in (plan.schema, 1)]
        self._look = {"lock": names.lock(STOP)}

    def use(self, connection: Connection) -> None:
        """Send them on another connection."""
        self._connection, self._cursor = connection, connection.cursor(Cursor)

    def select(self, hot: bool, key: int) -> int:
        return self._count(self._text(Operation(0, OpKind.SELECT, hot, key)))

    def scan(self, hot: bool) -> int:
        return self._count(self._templates[hot][OpKind.SCAN])

    def _count(self, text: str) -> int:
        self._cursor.execute(text)
        return self._counted()

    def _counted(self) -> int:
        row = self._cursor.fetchone()
        return int(row[0]) if row else 0

    def update(self, hot: bool, key: int, number: int) -> int:
        """Send the update until it is not refused: error 1213 rolls it back because of another transaction's change."""
        text = self._text(Operation(number, OpKind.UPDATE, hot, key))
        while True:
            try:
                return self._cursor.execute(text)
            except pymysql.Error as error:
                self._count_conflict(error)

    def _count_conflict(self, error: pymysql.Error) -> None:
        if code_of(error) != ER.LOCK_DEADLOCK:
            raise error
        self.conflicts += 1

    def _text(self, operation: Operation) -> str:
        template, key = self._templates[operation.hot][operation.kind], operation.key
        if operation.kind is OpKind.UPDATE:
            return template % (*self._values(operation.number), key, key + self._update_rows - 1)
        return template % (key, key + self._select_rows - 1) if operation.kind is OpKind.SELECT else template

    def send(self, batch: Sequence[Operation]) -> list[int]:
        """Send them as one text of several statements, each a transaction; from a refused one on they are sent again.

        Protocol and library know no pipeline. The connection must allow several statements.
        """
        texts, rows = [self._text(operation) for operation in batch], list[int]()
        while len(rows) < len(batch):
            try:
                self._cursor.execute("; ".join(texts[len(rows) :]))
                while len(rows) < len(batch):
                    is_update = batch[len(rows)].kind is OpKind.UPDATE
                    rows.append(self._cursor.rowcount if is_update else self._counted())
                    self._cursor.nextset()
            except pymysql.Error as error:
                self._count_conflict(error)
        return rows

    def _values(self, number: int) -> Iterator[str]:
        """Yield what an update writes into each column, quoted, as slice.sql makes it of tag and operation number."""
        tag, length = self._plan.tag, self._value_bytes
        if not self._plan.workload.obfuscate_columns:
            yield from [self._quote(f"{number}{tag}"[:length].ljust(length, "x"))] * self._columns
            return
        fresh = ""
        while len(fresh) < self._columns * length:
            fresh += base64.b64encode(hashlib.sha512(f"{tag}/{number}/{len(fresh)}".encode()).digest()).decode()
        kept = length * self._plan.workload.random_pct // 100
        for begin in range(0, self._columns * length, length):
            yield self._quote(fresh[begin : begin + kept].ljust(length, "X"))

    def _quote(self, value: str) -> str:
        return str(self._connection.escape(value))

    def look(self) -> Look:
        row = query(self._connection, read_statements(PACKAGE, "client_loop")["look"], self._look)[0]
        return Look(int(row["us"]) * 1000, not row["free"])

    def publish(self) -> None:
        """Do nothing: the server shows at once what it counted."""
