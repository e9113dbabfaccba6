"""One connection that runs the work loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from decimal import Decimal
from typing import Any

import oracledb

from openslob.engines.base import SessionPlan, SliceRequest, SliceResult
from openslob.engines.common_checks import require_shared
from openslob.engines.oracle.connection import PACKAGE, Connection, execute_block
from openslob.engines.oracle.errors import report_as
from openslob.engines.oracle.known_settings import apply_setting, list_settings, read_as_set, set_in_session
from openslob.engines.oracle.slice_procedure import (
    KEPT,
    NO_LOCAL_PATH,
    RESULTS,
    TEXTS,
    choose_parameters,
    choose_state,
    compose_call,
    explain,
    to_result,
)
from openslob.engines.server_engine import ConnectionOwner
from openslob.engines.settings import of_sessions
from openslob.engines.slice_io import NO_LIMIT, ONE_BEFORE_ALL, shares_by_kind
from openslob.engines.sql import read_statements

_LONGEST_TEXT = 32767


def measure_clock(connection: Connection) -> dict[str, float]:
    """Return the resolution of the server's clock and what reading it costs, in µs."""
    found = {}
    for name in ("clock_step_us", "clock_cost_us"):
        text = read_statements(PACKAGE, "session")[name.removesuffix("_us")]
        found[name] = float(execute_block(connection, text, {name: float})[name])
    return found


class OracleSession(ConnectionOwner[Connection]):
    """A session of the work loop. The procedure commits by itself; what it returns goes through bind variables."""

    def __init__(self, connection: Connection, plan: SessionPlan) -> None:
        super().__init__(connection)
        self._plan = plan
        self._parameters = choose_parameters(plan)
        self._paced = plan.interval_us is not None
        self._text = compose_call(plan.schema, plan.part)
        self._cursor = connection.raw.cursor()
        self._returned = {name: self._make_variable(name) for name in RESULTS}
        self._kept: dict[str, Any] = {}
        self._instance: str | None = None
        self._set: dict[str, str] = {}
        self._begin_again()

    def _make_variable(self, name: str) -> oracledb.Var:
        if name in TEXTS:
            return self._cursor.var(oracledb.DB_TYPE_VARCHAR, _LONGEST_TEXT)
        # A float would be exact to a quarter of a µs only.
        return self._cursor.var(Decimal if name == "due_us" else int)

    def _begin_again(self) -> None:
        self._kept = dict.fromkeys(KEPT, 0) | {"random_state": choose_state(self._plan)}

    def load_private_tables(self, wrote_blocks: Callable[[int], None]) -> None:  # noqa: ARG002 - always refused
        """Raise UsageError: single blocks are read through the cache that all sessions share."""
        require_shared(self._plan.workload, NO_LOCAL_PATH)

    def prepare(self) -> None:
        """Set the session up, run one operation of each kind to build cursors and caches, then set the seed."""
        with self._guard():
            statements = read_statements(PACKAGE, "session")
            for change in of_sessions(self._plan.settings):
                self._set[change.name] = set_in_session(self._connection, change.name, change.value)
            for name in list_settings(self._connection.version, self._plan.workload.commit_mode):
                # What the server refuses, the check has found and the record says.
                apply_setting(self._connection, name)
            if execute_block(self._connection, statements["is_cluster"], {"clustered": int})["clustered"]:
                self._instance = self._connection.raw.instance_name
            for shares in shares_by_kind(self._plan.workload):
                self._execute(shares, ONE_BEFORE_ALL, paced=False)
            self._begin_again()

    def plans(self) -> dict[str, str]:
        """Return the plans of the loop's statements, under this session's settings."""
        with self._guard():
            return explain(self._connection, self._plan.schema, self._plan.workload, self._plan.part)

    def settings(self) -> dict[str, str]:
        with self._guard():
            return read_as_set(self._connection, self._plan.settings, self._set)

    def run_slice(self, order: SliceRequest) -> SliceResult:
        with self._guard():
            return self._execute({}, order, self._paced)

    def _execute(self, changed: Mapping[str, object], order: SliceRequest, paced: bool) -> SliceResult:
        if order.due_ns is not None:
            self._kept["due_us"] = Decimal(order.due_ns) / 1000
        for name, value in self._kept.items():
            self._returned[name].setvalue(0, value)
        times = {
            "first_op": order.first_op,
            "max_ops": order.max_ops or NO_LIMIT,
            "not_before_us": order.not_before_ns // 1000,
            "until_us": order.until_ns // 1000,
            "interval_us": (order.interval_us or self._plan.interval_us or 0.0) if paced else 0.0,
            "due_before_us": (order.due_ns or 0) / 1000 + order.due_for_us,
        }
        binds = {**self._parameters, **changed, **times, **self._returned}
        self._connection.call(lambda: self._cursor.execute(self._text, binds))
        found = {name: variable.getvalue() for name, variable in self._returned.items()}
        self._kept = {name: found[name] for name in KEPT}
        return to_result(found, paced)

    def _guard(self) -> AbstractContextManager[None]:
        return report_as(f"session {self._plan.number} was lost")

    def backend_id(self) -> int:
        with self._guard():
            return self._connection.session_id

    def instance(self) -> str | None:
        """Return the name of the instance that the session landed on; None when the database has only one."""
        return self._instance

    def cancel(self) -> bool:
        return self._connection.cancel()

    def cut(self) -> None:
        """Break the connection off, which the thread that runs the slice sees as a lost connection."""
        self._connection.cut()
