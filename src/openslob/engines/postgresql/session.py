"""One connection that runs the work loop: how a plan becomes parameters of the slice procedure and its row a result."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any

import psycopg
from psycopg import sql

from openslob.engines.base import SessionPlan, SliceRequest, SliceResult
from openslob.engines.postgresql.connection import backend_pid
from openslob.engines.postgresql.copy_format import column_bytes
from openslob.engines.postgresql.errors import reported
from openslob.engines.postgresql.libpq_statement import PlainStatement
from openslob.engines.postgresql.local_path import load_private_tables, tables_on_path
from openslob.engines.postgresql.names import Names
from openslob.engines.postgresql.plans import explain
from openslob.engines.postgresql.stop import STOP_KEY
from openslob.engines.slice_io import (
    NO_LIMIT,
    ONE_BEFORE_ALL,
    choices,
    each_kind,
    slice_result,
    step_aside_s,
    written_columns,
)
from openslob.engines.sql import read_sql, read_statements
from openslob.errors import SlobError
from openslob.histogram import Histogram
from openslob.method import OpKind
from openslob.workload import CommitMode, Pacing, Workload

PACKAGE = "openslob.engines.postgresql"
BUCKETS_A_KIND = 2000
KINDS = (OpKind.SELECT, OpKind.UPDATE, OpKind.SCAN)
# Histograms of the work loop: service time by kind; of a paced one then response time by kind, and late wake-ups.
_WAKE_UPS = 2 * len(KINDS)
PACED_HISTOGRAMS = _WAKE_UPS + 1
_SLICE_PARAMETERS = ("first_op", "max_ops", "not_before_us", "until_us", "resume_us", "due_ns")
_SLICE_ARRAYS = ("sum_us", "max_us", "bucket", "bucket_count")
# What the procedure returns is what it declares: a counter that is added there needs no change here.
_SLICE_RESULTS = re.findall(r"^ +INOUT (\w+)", read_sql(PACKAGE, "slice"), re.MULTILINE)
_SLICE_NUMBERS = [name for name in _SLICE_RESULTS if name not in _SLICE_ARRAYS]
# Keys are drawn with setseed/random, whose seed is a number in [-1, 1]; a prime spreads neighbouring seeds over it.
_SEED_STEPS = 1_000_003

_COMMIT_SETTING = {CommitMode.WAIT: "on", CommitMode.NOWAIT: "off"}


def compose_slice(names: Names, schema: int, workload: Workload) -> sql.Composed:
    """The statement that creates the slice procedure of one schema for this workload."""
    tables = tables_on_path(names, workload)
    assignments = [
        sql.SQL("{} = fresh[{}]").format(sql.Identifier(column), sql.Literal(place))
        for place, column in enumerate(written_columns(workload), start=1)
    ]
    paced = workload.is_paced
    return sql.SQL(read_sql(PACKAGE, "slice")).format(
        procedure=names.procedure(schema),
        nap=names.nap(),
        histograms=sql.Literal(PACED_HISTOGRAMS if paced else len(KINDS)),
        paced_wait=_piece("wait", names) if paced else sql.SQL(""),
        paced_respond=_piece("respond", names) if paced else sql.SQL(""),
        cf1=tables.cf1(schema),
        cf2=tables.cf2(schema),
        hot_cf1=tables.cf1(1),
        hot_cf2=tables.cf2(1),
        assignments=sql.SQL(", ").join(assignments),
    )


def _piece(name: str, names: Names) -> sql.Composed:
    return sql.SQL(read_statements(PACKAGE, "paced")[name]).format(nap=names.nap())


def slice_parameters(plan: SessionPlan) -> dict[str, Any]:
    """The parameters of the procedure that stay the same in every slice of a session."""
    load = plan.workload
    return {
        **choices(plan),
        "tag": plan.tag,
        "random_values": load.obfuscate_columns,
        "written_columns": len(written_columns(load)),
        "value_bytes": column_bytes(plan.block_size),
        "stop_key": STOP_KEY,
        "step_aside": step_aside_s(plan),
        "interval_us": plan.interval_us or 0.0,
        "poisson": load.pacing is Pacing.POISSON,
    }


def to_result(row: Mapping[str, Any]) -> SliceResult:
    """The procedure's row, as the server writes it, as a result."""
    sums_us, maxima_us, buckets, counts = (_list(row[name]) for name in _SLICE_ARRAYS)
    numbers = {name: int(row[name]) for name in _SLICE_NUMBERS}
    paced = len(sums_us) == PACED_HISTOGRAMS
    counted: list[dict[int, int]] = [{} for _ in sums_us]
    for place, count in zip(map(int, buckets), map(int, counts), strict=True):
        kind, bucket = divmod(place, BUCKETS_A_KIND)
        counted[kind][bucket] = count
    made = [Histogram(*each) for each in zip(counted, map(float, sums_us), map(float, maxima_us), strict=True)]
    return slice_result(
        numbers,
        latency=dict(zip(KINDS, made, strict=False)),
        response=dict(zip(KINDS, made[len(KINDS) :], strict=False)),
        wake_ups=made[_WAKE_UPS] if paced else Histogram(),
        due_ns=numbers["due_ns"] if paced else None,
    )


def _list(array: bytes | None) -> list[bytes]:
    """The elements of an array of numbers: ``{1,2}``; none of an empty or missing one."""
    inner = (array or b"{}")[1:-1]
    return inner.split(b",") if inner else []


class PostgresSession:
    """Runs one session's slices. The connection is in autocommit mode: the procedure commits by itself."""

    def __init__(self, connection: psycopg.Connection[Any], names: Names, plan: SessionPlan) -> None:
        self._connection = connection
        # Server-side preparation after some executions would change the statement in mid-run: off, for good.
        connection.prepare_threshold = None
        self._names = names
        self._plan = plan
        self._parameters = slice_parameters(plan)
        self._call = self._compose_call({})
        self._resume_us = 0

    def _compose_call(self, changed: Mapping[str, int]) -> PlainStatement:
        """The CALL as text with what stays the same written in: less to convert for the driver in every slice."""
        values: dict[str, sql.Composable] = {
            name: sql.Literal(value) for name, value in {**self._parameters, **changed}.items()
        }
        values |= {name: sql.NULL for name in _SLICE_RESULTS}
        values |= {name: sql.SQL(f"${place}") for place, name in enumerate(_SLICE_PARAMETERS, start=1)}
        arguments = [sql.SQL("{} => {}").format(sql.Identifier(name), value) for name, value in values.items()]
        call = sql.SQL("CALL {}({})").format(self._names.procedure(self._plan.schema), sql.SQL(", ").join(arguments))
        # Without a name: a prepared statement's plan may change in mid-run.
        return PlainStatement(self._connection, call.as_bytes(self._connection))

    def load_private_tables(self, wrote_blocks: Callable[[int], None]) -> None:
        """Temporary tables of the session's own."""
        with reported(f"session {self._plan.number} could not load its own tables"):
            load_private_tables(self._connection, self._plan, wrote_blocks)

    def prepare(self) -> None:
        """Session settings, then one operation of each kind to build plans and caches, then the seed."""
        with self._guard():
            self._connection.execute(read_sql(PACKAGE, "session"))
            commit = _COMMIT_SETTING.get(self._plan.workload.commit_mode)
            if commit:
                self._connection.execute(sql.SQL("SET synchronous_commit = {}").format(sql.Literal(commit)))
            for shares in each_kind(self._plan.workload):
                self._execute(self._compose_call(shares), ONE_BEFORE_ALL)
            self._resume_us = 0
            seed = (self._plan.workload.seed * 7919 + self._plan.number) % _SEED_STEPS
            self._connection.execute("SELECT setseed(%s)", (seed / _SEED_STEPS,))

    def plans(self) -> dict[str, str]:
        """EXPLAIN of the loop's statements under this session's settings, with the generic plan the loop uses."""
        with self._guard():
            return explain(self._connection, self._names, self._plan.schema, self._plan.workload)

    def run_slice(self, order: SliceRequest) -> SliceResult:
        """One CALL."""
        with self._guard():
            return self._execute(self._call, order)

    def _execute(self, call: PlainStatement, order: SliceRequest) -> SliceResult:
        parameters = (
            order.first_op,
            order.max_ops or NO_LIMIT,
            order.not_before_ns // 1000,
            order.until_ns // 1000,
            self._resume_us,
            order.due_ns or 0,
        )
        row = call.row(*(b"%d" % value for value in parameters))
        if not row:
            raise SlobError("the work loop returned nothing", "run `slob run` again")
        self._resume_us = int(row["resume_us"])
        return to_result(row)

    def _guard(self) -> AbstractContextManager[None]:
        return reported(f"session {self._plan.number} was lost")

    def backend_id(self) -> int:
        """Process id of the session's backend."""
        return backend_pid(self._connection)

    def cancel(self) -> None:
        """Cancel the running slice, waiting at most a few seconds for the server to take the request."""
        try:
            self._connection.cancel_safe(timeout=5)
        except psycopg.Error:
            self._cut()

    def _cut(self) -> None:
        """End the session of a server that no longer answers.

        The thread in the slice uses the connection: closing it here would free its memory in mid-use. So only its
        socket is shut, which that thread sees as a lost connection.
        """
        with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(self._connection.fileno())) as shared:
            shared.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
