"""One connection that runs the work loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

import pymysql
from pymysql.constants import ER

from openslob.engines.base import SessionPlan, SliceRequest, SliceResult
from openslob.engines.common_checks import require_shared
from openslob.engines.mysql.checks import NO_LOCAL_PATH
from openslob.engines.mysql.connection import (
    PACKAGE,
    Connection,
    MysqlParams,
    Row,
    cut_off,
    kill,
    query,
    thread_id,
)
from openslob.engines.mysql.errors import code_of, ignoring, report_as
from openslob.engines.mysql.known_settings import read_shown, set_in_session
from openslob.engines.mysql.names import MysqlNames
from openslob.engines.mysql.slice_procedure import (
    CALL_PARAMETERS,
    SliceHistograms,
    explain,
    slice_parameters,
    to_result,
)
from openslob.engines.server_engine import ConnectionOwner
from openslob.engines.settings import of_sessions
from openslob.engines.slice_io import NO_LIMIT, ONE_BEFORE_ALL, no_result, session_seed, shares_by_kind
from openslob.engines.sql import read_statements

# The random generator's state is two numbers below 2^30 - 1. It is weak: neighbouring states give neighbouring keys
# at first, so seeds are spread by odd constants (Knuth's multiplicative hashing).
SEED_LIMIT = 0x3FFFFFFF
_SPREAD = (2654435761, 2246822519)


def seeds(session_seed: int) -> dict[str, int]:
    """Return the first state of the random generator in a session."""
    first, second = ((session_seed + 1) * spread % 2**32 % SEED_LIMIT for spread in _SPREAD)
    return {"first": first, "second": second}


class MysqlSession(ConnectionOwner[Connection]):
    """A session of the work loop. Its connection is in autocommit mode: the procedure opens its transactions itself."""

    def __init__(self, connection: Connection, params: MysqlParams, names: MysqlNames, plan: SessionPlan) -> None:
        super().__init__(connection)
        self._params = params
        self._names = names
        self._plan = plan
        self._parameters = slice_parameters(plan, names)
        self._call = self._compose_call({})
        self._paced = plan.interval_us is not None
        self._resume_us = 0
        self._set: dict[str, str] = {}

    def _compose_call(self, changed: Mapping[str, object]) -> str:
        """Return the CALL, with the parameters that stay the same written into its text.

        That saves the driver converting them in every slice.
        """
        fixed = [self._connection.escape(value) for value in {**self._parameters, **changed}.values()]
        name = self._names.procedure(self._plan.schema, self._plan.part)
        return f"CALL {name}({', '.join(['%s'] * CALL_PARAMETERS + fixed)})"

    def load_private_tables(self, wrote_blocks: Callable[[int], None]) -> None:  # noqa: ARG002 - always refused
        """Raise UsageError: InnoDB reads temporary tables, too, through the cache that all sessions share."""
        require_shared(self._plan.workload, NO_LOCAL_PATH)

    def prepare(self) -> None:
        """Set the session up, run one operation of each kind to fill caches, then set the seed."""
        with report_as(f"session {self._plan.number} was lost"):
            self._set_up()
            for shares in shares_by_kind(self._plan.workload):
                self._execute(self._compose_call(shares), ONE_BEFORE_ALL, paced=False)
            self._resume_us = 0
            seed = read_statements(PACKAGE, "session")["seed"]
            query(self._connection, seed, seeds(session_seed(self._plan)))

    def _set_up(self) -> None:
        """Give the session its settings: those of the run, and what its statements rely on."""
        statements = read_statements(PACKAGE, "session")
        query(self._connection, statements["memory"])
        for change in of_sessions(self._plan.settings):
            self._set[change.name] = set_in_session(self._connection, change.name, change.value)
        for name in ("own", "isolation", "patience", "clock", "plan"):
            query(self._connection, statements[name])
        with ignoring(ER.UNKNOWN_SYSTEM_VARIABLE):
            query(self._connection, statements["once"])

    def plans(self) -> dict[str, str]:
        with report_as(f"session {self._plan.number} was lost"):
            value_bytes = self._parameters["value_bytes"]
            return explain(self._connection, self._names, self._plan.schema, self._plan.workload, value_bytes)

    def settings(self) -> dict[str, str]:
        with report_as(f"session {self._plan.number} was lost"):
            return read_shown(self._connection, self._plan.settings, self._set)

    def run_slice(self, order: SliceRequest) -> SliceResult:
        """Run one slice: one CALL, or more when the server aborted it."""
        with report_as(f"session {self._plan.number} was lost"):
            return self._execute(self._call, order, self._paced)

    def _execute(self, call: str, order: SliceRequest, paced: bool) -> SliceResult:
        due_us = Decimal(order.due_ns) / 1000 if paced and order.due_ns is not None else None
        interval_us = (order.interval_us or self._plan.interval_us) if paced else 0
        times = (order.not_before_ns // 1000, order.until_ns // 1000, self._resume_us, due_us)
        pace = (interval_us, float(due_us or 0) + order.due_for_us)
        values = (order.first_op, order.max_ops or NO_LIMIT, *times, *pace)
        histograms, last = SliceHistograms(paced), None
        while last is None:
            last = self._call_once(call, values, histograms)
        self._resume_us = last["resume_us"]
        return to_result(last, histograms)

    def _call_once(self, call: str, values: Sequence[object], histograms: SliceHistograms) -> Row | None:
        """Return the last row of a CALL; None when it was aborted and must be repeated with the same values."""
        try:
            return self._rows(call, values, histograms)
        except pymysql.Error as error:
            kept = read_statements(PACKAGE, "resume")["kept"]
            if code_of(error) == ER.LOCK_DEADLOCK and query(self._connection, kept)[0]["kept"]:
                return None
            raise

    def _rows(self, call: str, values: Sequence[object], histograms: SliceHistograms) -> Row:
        last = None
        with self._connection.cursor() as cursor:
            cursor.execute(call, values)
            while True:
                for row in cursor.fetchall():
                    if "latencies" in row:
                        histograms.add(row["latencies"])
                    else:
                        last = row
                if not cursor.nextset():
                    break
        if last is None:
            raise no_result()
        return last

    def backend_id(self) -> int:
        return thread_id(self._connection)

    def instance(self) -> None:
        """Return None: the target is one server."""

    def cancel(self) -> bool:
        try:
            kill(self._params, self.backend_id())
        except pymysql.Error:
            return False
        return True

    def cut(self) -> None:
        cut_off(self._connection)
