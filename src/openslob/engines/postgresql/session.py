"""One connection that runs the work loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import psycopg
from psycopg import sql

from openslob.core.workload import CommitMode
from openslob.engines.base import CANCEL_S, SessionPlan, SliceRequest, SliceResult
from openslob.engines.postgresql.connection import backend_pid, cut_off, override_defaults
from openslob.engines.postgresql.errors import report_as
from openslob.engines.postgresql.libpq_statement import PlainStatement
from openslob.engines.postgresql.local_path import load_private_tables
from openslob.engines.postgresql.names import PostgresNames
from openslob.engines.postgresql.session_settings import read_shown, set_in_session
from openslob.engines.postgresql.slice_procedure import (
    PACKAGE,
    compose_call,
    explain,
    slice_parameters,
    to_result,
)
from openslob.engines.server_engine import ConnectionOwner
from openslob.engines.settings import of_sessions
from openslob.engines.slice_io import NO_LIMIT, ONE_BEFORE_ALL, no_result, session_seed, shares_by_kind
from openslob.engines.sql import read_sql

# Keys are drawn with setseed/random, whose seed is a number in [-1, 1]; a prime spreads neighbouring seeds over it.
_SEED_STEPS = 1_000_003

_COMMIT_SETTING = {CommitMode.WAIT: "on", CommitMode.NOWAIT: "off"}


def seed_of(plan: SessionPlan) -> float:
    """Return the seed of a session's random generator, as setseed() takes it."""
    return session_seed(plan) % _SEED_STEPS / _SEED_STEPS


class PostgresSession(ConnectionOwner[psycopg.Connection[Any]]):
    """A session of the work loop. Its connection is in autocommit mode: the procedure commits by itself."""

    def __init__(self, connection: psycopg.Connection[Any], names: PostgresNames, plan: SessionPlan) -> None:
        super().__init__(connection)
        # Preparing the statement on the server after some executions would change it in mid-run.
        connection.prepare_threshold = None
        self._names = names
        self._plan = plan
        self._parameters = slice_parameters(plan)
        self._call: PlainStatement | None = None
        self._resume_us = 0
        self._set: dict[str, str] = {}

    def _compose_call(self, changed: Mapping[str, int]) -> PlainStatement:
        """Return the CALL with these of the session's parameters changed."""
        call = compose_call(self._names, self._plan.schema, {**self._parameters, **changed}, self._plan.part)
        # Not prepared on the server: the plan of a prepared statement may change in mid-run.
        return PlainStatement(self._connection, call.as_bytes(self._connection))

    def load_private_tables(self, wrote_blocks: Callable[[int], None]) -> None:
        with report_as(f"session {self._plan.number} could not load its own tables"):
            load_private_tables(self._connection, self._plan, wrote_blocks)

    def prepare(self) -> None:
        """Set the session up, run one operation of each kind to build plans and caches, then set the seed."""
        with self._guard():
            self._set_up()
            for shares in shares_by_kind(self._plan.workload):
                self._execute(self._compose_call(shares), ONE_BEFORE_ALL)
            self._resume_us = 0
            self._connection.execute("SELECT setseed(%s)", (seed_of(self._plan),))
            self._call = self._compose_call({})

    def _set_up(self) -> None:
        """Give the session its settings: those of the run, and what the plans of its statements rely on."""
        for change in of_sessions(self._plan.settings):
            self._set[change.name] = set_in_session(self._connection, change.name, change.value)
        override_defaults(self._connection)
        self._connection.execute(read_sql(PACKAGE, "session"))
        commit = _COMMIT_SETTING.get(self._plan.workload.commit_mode)
        if commit:
            self._connection.execute(sql.SQL("SET synchronous_commit = {}").format(sql.Literal(commit)))

    def plans(self) -> dict[str, str]:
        """Return the generic plans of the loop's statements, under this session's settings."""
        with self._guard():
            return explain(self._connection, self._names, self._plan.schema, self._plan.workload)

    def settings(self) -> dict[str, str]:
        with self._guard():
            return read_shown(self._connection, self._plan.settings, self._set) if self._plan.settings else {}

    def run_slice(self, order: SliceRequest) -> SliceResult:
        with self._guard():
            return self._execute(self._call or self._compose_call({}), order)

    def _execute(self, call: PlainStatement, order: SliceRequest) -> SliceResult:
        parameters = (
            order.first_op,
            order.max_ops or NO_LIMIT,
            order.not_before_ns // 1000,
            order.until_ns // 1000,
            self._resume_us,
            order.due_ns or 0,
            order.interval_us or self._plan.interval_us or 0.0,
            order.due_for_us,
        )
        row = call.row(*(b"%r" % value for value in parameters))
        if not row:
            raise no_result()
        self._resume_us = int(row["resume_us"])
        return to_result(row)

    def _guard(self) -> AbstractContextManager[None]:
        return report_as(f"session {self._plan.number} was lost")

    def backend_id(self) -> int:
        return backend_pid(self._connection)

    def instance(self) -> None:
        """Return None: the target is one server."""

    def cancel(self) -> bool:
        try:
            self._connection.cancel_safe(timeout=CANCEL_S)
        except psycopg.Error:
            return False
        return True

    def cut(self) -> None:
        cut_off(self._connection)
