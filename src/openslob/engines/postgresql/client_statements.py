"""The statements of a session of the client loop, by calls of libpq itself: they are prepared once, under names.

They are those of the work loop's procedure, with its parameters as those of the statement.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import psycopg
from psycopg import sql
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGconn, PGresult

from openslob.core.method import OpKind
from openslob.engines.base import SessionPlan
from openslob.engines.client_loop import Look, Operation
from openslob.engines.postgresql.connection import PROMPT_SINCE
from openslob.engines.postgresql.names import PostgresNames
from openslob.engines.postgresql.slice_procedure import PACKAGE, STOP_KEY, compose_statement, require_index
from openslob.engines.row_text import column_bytes
from openslob.engines.slice_io import explained_kinds, written_columns
from openslob.engines.sql import read_statements

# The numbers of types in the server's catalogue: bigint and text.
_BIGINT, _TEXT = 20, 25
_TRUE = b"t"
# Behind a pooler a session can't set what pins the plans.
_OF_ROLE = "ALTER ROLE … SET enable_bitmapscan = off, and enable_seqscan = off, of the pooler's role; then RECONNECT it"
_Send = Callable[[Sequence[bytes]], PGresult]
_Queue = Callable[[Sequence[bytes]], None]


class PostgresStatements:
    """Implements `openslob.engines.client_loop.Statements`; nothing is refused that could be sent again."""

    conflicts = 0

    def __init__(self, connection: psycopg.Connection[Any], names: PostgresNames, plan: SessionPlan) -> None:
        self._connection = connection
        self._names = names
        self._plan = plan
        self._columns = len(written_columns(plan.workload))
        self._value_bytes = column_bytes(plan.block_size)
        own = read_statements(PACKAGE, "client_loop")
        self._look, self._publish = own["look"].encode(), own["publish"].encode()
        self._publishes = connection.info.server_version >= PROMPT_SINCE
        # By kind: how to send it to the session's own tables, and to those of schema 1.
        self._send: dict[OpKind, tuple[_Send, _Send]] = {}
        # The same, without waiting for the result.
        self._queue: dict[OpKind, tuple[_Queue, _Queue]] = {}

    def use(self, connection: psycopg.Connection[Any]) -> None:
        """Send them on another connection, once `prepare` was called again."""
        self._connection = connection

    def prepare(self) -> None:
        """Make the statements ready of all kinds of operation that the workload has."""
        for kind in explained_kinds(self._plan.workload):
            (send, queue), (send_hot, queue_hot) = (self._make_ready(kind, hot) for hot in (False, True))
            self._send[kind], self._queue[kind] = (send, send_hot), (queue, queue_hot)

    def _make_ready(self, kind: OpKind, hot: bool) -> tuple[_Send, _Queue]:
        """Prepare a statement; return how to send it."""
        name, pgconn = f"slob_{kind.value}{'_hot' if hot else ''}".encode(), self._connection.pgconn
        _require(pgconn.prepare(name, self._compose(kind, hot), self._types(kind)), ExecStatus.COMMAND_OK)
        return partial(pgconn.exec_prepared, name), partial(pgconn.send_query_prepared, name)

    def _compose(self, kind: OpKind, hot: bool) -> bytes:
        """Return a statement with its parameters: the first key, then the values to write."""
        load = self._plan.workload
        schema = 1 if hot and load.hot_schema_frequency else self._plan.schema
        rows = load.rows_per_update if kind is OpKind.UPDATE else load.work_unit
        return compose_statement(
            kind, self._names, schema, load, into="", key="$1", rows=str(rows), value=self._parameter_of
        ).as_bytes(self._connection)

    def _parameter_of(self, column: int) -> str:
        """Return the parameter that a column is set to: a constant fill has one value for all."""
        return f"${column + 1}" if self._plan.workload.obfuscate_columns else "$2"

    def _types(self, kind: OpKind) -> Sequence[int]:
        values = self._columns if self._plan.workload.obfuscate_columns else 1
        return {OpKind.SELECT: [_BIGINT], OpKind.UPDATE: [_BIGINT, *[_TEXT] * values], OpKind.SCAN: []}[kind]

    def explain(self) -> dict[str, str]:
        """Return the plan of each prepared statement by kind. SlobError for one that does not read by the index."""
        text, plans = read_statements(PACKAGE, "client_loop")["explain"], dict[str, str]()
        for kind in explained_kinds(self._plan.workload):
            values = [sql.SQL("1"), *[sql.SQL("''")] * (len(self._types(kind)) - 1)] if self._types(kind) else []
            arguments = sql.SQL("({})").format(sql.SQL(", ").join(values)) if values else sql.SQL("")
            name = sql.Identifier(f"slob_{kind.value}")
            rows = self._connection.execute(sql.SQL(text).format(name=name, values=arguments)).fetchall()
            plans[kind.value] = require_index(kind, "\n".join(row[0] for row in rows))
        return plans

    def select(self, hot: bool, key: int) -> int:
        return _count(self._send[OpKind.SELECT][hot]([b"%d" % key]))

    def scan(self, hot: bool) -> int:
        return _count(self._send[OpKind.SCAN][hot]([]))

    def update(self, hot: bool, key: int, number: int) -> int:
        return _changed(self._send[OpKind.UPDATE][hot]([b"%d" % key, *self._values(number)]))

    def send(self, batch: Sequence[Operation]) -> list[int]:
        """Send them in pipeline mode: each update is a transaction, with the reads that came before it in the batch."""
        pgconn = self._connection.pgconn
        # Where the way to the server is full, libpq then takes in results while it waits.
        pgconn.nonblocking = 0
        pgconn.enter_pipeline_mode()
        for operation in batch:
            self._queue[operation.kind][operation.hot]([*self._values_of(operation)])
            if operation.kind is OpKind.UPDATE:
                pgconn.pipeline_sync()
        # A transaction of reads alone ends with the batch.
        is_open = batch[-1].kind is not OpKind.UPDATE
        if is_open:
            pgconn.pipeline_sync()
        rows = [self._take(operation) for operation in batch]
        if is_open:
            _require(_next(pgconn), ExecStatus.PIPELINE_SYNC)
        pgconn.exit_pipeline_mode()
        return rows

    def _values_of(self, operation: Operation) -> Iterator[bytes]:
        if operation.kind is not OpKind.SCAN:
            yield b"%d" % operation.key
        if operation.kind is OpKind.UPDATE:
            yield from self._values(operation.number)

    def _take(self, operation: Operation) -> int:
        """Return the rows of the next operation whose result is to come."""
        pgconn = self._connection.pgconn
        result = _next(pgconn)
        if operation.kind is not OpKind.UPDATE:
            rows = _count(result)
            pgconn.get_result()
            return rows
        rows = _changed(result)
        pgconn.get_result()
        _require(_next(pgconn), ExecStatus.PIPELINE_SYNC)
        return rows

    def _values(self, number: int) -> Iterator[bytes]:
        """Yield what an update writes, as slice.sql makes it of the session's tag and the operation's number."""
        tag, length = self._plan.tag, self._value_bytes
        if not self._plan.workload.obfuscate_columns:
            yield f"{number}{tag}".encode()[:length].ljust(length, b"x")
            return
        for column in range(1, self._columns + 1):
            parts = (hashlib.sha512(f"{tag}/{number}/{column}/{part}".encode()).digest() for part in "ab")
            kept = length * self._plan.workload.random_pct // 100
            yield base64.b64encode(b"".join(parts))[:kept].ljust(length, b"X")

    def look(self) -> Look:
        result = self._connection.pgconn.exec_params(self._look, [b"%d" % STOP_KEY])
        _require(result, ExecStatus.TUPLES_OK)
        return Look(int(result.get_value(0, 0) or 0) * 1000, result.get_value(0, 1) != _TRUE)

    def publish(self) -> None:
        if self._publishes:
            _require(self._connection.pgconn.exec_params(self._publish, []), ExecStatus.TUPLES_OK)


class PooledStatements(PostgresStatements):
    """The same through a pooler, which may send each statement to another process: none is prepared."""

    def _make_ready(self, kind: OpKind, hot: bool) -> tuple[_Send, _Queue]:
        pgconn, text, types = self._connection.pgconn, self._compose(kind, hot), self._types(kind)
        return (
            lambda values: pgconn.exec_params(text, values, types),
            lambda values: pgconn.send_query_params(text, values, types),
        )

    def explain(self) -> dict[str, str]:
        """Return the plan of each statement, as the server plans it for these values."""
        plans = {}
        for kind in explained_kinds(self._plan.workload):
            types, text = self._types(kind), b"EXPLAIN (COSTS OFF) " + self._compose(kind, hot=False)
            values = [b"1", *[b""] * (len(types) - 1)][: len(types)]
            result = self._connection.pgconn.exec_params(text, values, types)
            _require(result, ExecStatus.TUPLES_OK)
            lines = [(result.get_value(row, 0) or b"").decode() for row in range(result.ntuples)]
            plans[kind.value] = require_index(kind, "\n".join(lines), _OF_ROLE)
        return plans

    def show(self, setting: str) -> str:
        """Return the value of a setting that the statements have."""
        result = self._connection.pgconn.exec_params(b"SELECT current_setting($1)", [setting.encode()])
        _require(result, ExecStatus.TUPLES_OK)
        return (result.get_value(0, 0) or b"").decode()


def _count(result: PGresult) -> int:
    """Return the number that is the result."""
    _require(result, ExecStatus.TUPLES_OK)
    return int(result.get_value(0, 0) or 0)


def _changed(result: PGresult) -> int:
    """Return how many rows an update changed."""
    _require(result, ExecStatus.COMMAND_OK)
    return result.command_tuples or 0


def _next(pgconn: PGconn) -> PGresult:
    """Return the next result of a pipeline, which must come."""
    result = pgconn.get_result()
    if result is None:
        raise psycopg.OperationalError("the server sent fewer results than it was asked for")
    return result


def _require(result: PGresult, status: ExecStatus) -> None:
    """Raise psycopg.Error unless the statement ended with this status."""
    if result.status != status:
        raise error_from_result(result)
