"""One connection that runs the work loop: how a plan becomes arguments of the slice procedure and its rows a result."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
import pymysql
from numpy.typing import NDArray
from pymysql.constants import ER

from openslob.engines.base import SessionPlan, SliceRequest, SliceResult
from openslob.engines.mysql.checks import require_shared
from openslob.engines.mysql.connection import PACKAGE, Connection, Row, ask, cancel, handle, thread_id
from openslob.engines.mysql.dsn import Place
from openslob.engines.mysql.errors import code_of, reported
from openslob.engines.mysql.names import Names
from openslob.engines.mysql.page_layout import layout_of
from openslob.engines.mysql.plans import explain
from openslob.engines.mysql.stop import STOP
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
from openslob.histogram import BUCKETS, LINEAR_US, STEEPNESS, Histogram
from openslob.method import OpKind
from openslob.workload import Pacing, Workload

# In the order of their numbers in slice.sql.
KINDS = (OpKind.SELECT, OpKind.UPDATE, OpKind.SCAN)
_KIND_STEPS = 4
# No operation, but how late the session woke up for one.
_WAKE_UP = 3


def buckets_of(us: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bucket numbers of latencies in whole µs."""
    buckets: NDArray[np.float64] = np.floor(STEEPNESS * np.arcsinh(us / LINEAR_US))
    return buckets.clip(0, BUCKETS - 1).astype(np.int64)


class Latencies:
    """Histograms of one slice by kind: ``service`` from an operation's begin, ``response`` from when it was due.

    ``wake_ups`` is how late a paced session woke up for operations that it had been waiting for.
    """

    def __init__(self, paced: bool) -> None:
        self._paced = paced
        self.service = {kind: Histogram() for kind in KINDS}
        self.response = {kind: Histogram() for kind in KINDS} if paced else {}
        self.wake_ups = Histogram()

    def add(self, text: str) -> None:
        """Fold in one text of the work loop: numbers with commas behind them."""
        numbers = np.fromstring(text.rstrip(","), dtype=np.int64, sep=",") if text else np.empty(0, dtype=np.int64)
        coded, response = (numbers[::2], numbers[1::2]) if self._paced else (numbers, numbers)
        kinds, service = coded % _KIND_STEPS, coded // _KIND_STEPS
        for place, kind in enumerate(KINDS):
            chosen = kinds == place
            _add(self.service[kind], service[chosen])
            if self._paced:
                _add(self.response[kind], response[chosen])
        _add(self.wake_ups, service[kinds == _WAKE_UP])


def _add(histogram: Histogram, us: NDArray[np.int64]) -> None:
    if us.size:
        histogram.add(_counted(buckets_of(us)), float(us.sum()), float(us.max()))


def _counted(buckets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    found, counts = np.unique(buckets, return_counts=True)
    return zip(found.tolist(), counts.tolist(), strict=True)


# The random generator's state is two numbers below 2^30 - 1. It is weak: neighbouring states give neighbouring keys
# at first, so seeds are spread by odd constants (Knuth's multiplicative hashing).
_SEED_LIMIT = 0x3FFFFFFF
_SPREAD = (2654435761, 2246822519)
_RESUME = ("restore", "again", "keep", "done", "latencies")


def compose_slice(names: Names, schema: int, workload: Workload, value_bytes: int, resumable: bool = False) -> str:
    """The statement that creates the slice procedure of one schema for this workload.

    ``resumable``: a CALL that the server breaks off for another node's change can be made again (resume.sql).
    """
    pieces = read_statements(PACKAGE, "resume")
    assignments = [
        f"{column} = SUBSTR(fresh, {1 + place * value_bytes}, {value_bytes})"
        for place, column in enumerate(written_columns(workload))
    ]
    return read_sql(PACKAGE, "slice").format(
        procedure=names.procedure(schema),
        cf1=names.cf1(schema),
        cf2=names.cf2(schema),
        hot_cf1=names.cf1(1),
        hot_cf2=names.cf2(1),
        assignments=", ".join(assignments),
        **{f"resume_{name}": pieces[name] if resumable else "" for name in _RESUME},
    )


def slice_arguments(plan: SessionPlan, names: Names) -> dict[str, Any]:
    """The arguments of the procedure that stay the same in every slice of a session, in its order."""
    load = plan.workload
    return {
        **choices(plan),
        "interval_us": plan.interval_us or 0,
        "poisson": load.pacing is Pacing.POISSON,
        "tag": plan.tag,
        "random_values": load.obfuscate_columns,
        "written_columns": len(written_columns(load)),
        "value_bytes": layout_of(plan.block_size).value_bytes,
        "stop_lock": names.lock(STOP),
        "step_aside": step_aside_s(plan),
    }


def seeds(seed: int, session: int) -> dict[str, int]:
    """The random generator's first state in a session."""
    number = seed * 7919 + session + 1
    first, second = (number * spread % 2**32 % _SEED_LIMIT for spread in _SPREAD)
    return {"first": first, "second": second}


def to_result(row: Mapping[str, Any], latencies: Latencies) -> SliceResult:
    """The procedure's last row and latencies as a result."""
    due_ns = None if row["due_us"] is None else int(row["due_us"] * 1000)
    return slice_result(row, latencies.service, latencies.response, latencies.wake_ups, due_ns)


class MysqlSession:
    """Runs one session's slices. The connection is in autocommit mode: the procedure opens its transactions itself."""

    def __init__(self, connection: Connection, place: Place, names: Names, plan: SessionPlan) -> None:
        self._connection = connection
        self._place = place
        self._names = names
        self._plan = plan
        self._arguments = slice_arguments(plan, names)
        self._call = self._compose_call({})
        self._paced = plan.interval_us is not None
        self._resume_us = 0

    def _compose_call(self, changed: Mapping[str, object]) -> str:
        """The CALL as text with what stays the same written in: less to convert for the driver in every slice."""
        values = list({**self._arguments, **changed}.values())
        text = f"CALL {self._names.procedure(self._plan.schema)}(%s{', %s' * (5 + len(values))})"
        kept = ["%s"] * 6 + [self._connection.escape(value) for value in values]
        return text % tuple(kept)

    def load_private_tables(self, wrote_blocks: Callable[[int], None]) -> None:  # noqa: ARG002 - refused, whoever listens
        """UsageError: InnoDB reads temporary tables, too, through the cache that all sessions share."""
        require_shared(self._plan.workload)

    def prepare(self) -> None:
        """Session settings, then one operation of each kind to fill caches, then the seed."""
        with reported(f"session {self._plan.number} was lost"):
            statements = read_statements(PACKAGE, "session")
            for name in ("clock", "isolation", "plan", "mode", "patience"):
                ask(self._connection, statements[name])
            self._run_calls_once()
            for shares in each_kind(self._plan.workload):
                self._execute(self._compose_call({**shares, "interval_us": 0}), ONE_BEFORE_ALL, paced=False)
            self._resume_us = 0
            ask(self._connection, statements["seed"], seeds(self._plan.workload.seed, self._plan.number))

    def _run_calls_once(self) -> None:
        try:
            ask(self._connection, read_statements(PACKAGE, "session")["once"])
        except pymysql.Error as error:
            if code_of(error) != ER.UNKNOWN_SYSTEM_VARIABLE:
                raise

    def plans(self) -> dict[str, str]:
        """EXPLAIN of the loop's statements under this session's settings."""
        with reported(f"session {self._plan.number} was lost"):
            return explain(self._connection, self._names, self._plan.schema, self._plan.workload)

    def run_slice(self, order: SliceRequest) -> SliceResult:
        """One CALL."""
        with reported(f"session {self._plan.number} was lost"):
            return self._execute(self._call, order, self._paced)

    def _execute(self, call: str, order: SliceRequest, paced: bool) -> SliceResult:
        due_us = Decimal(order.due_ns) / 1000 if paced and order.due_ns is not None else None
        times = (order.not_before_ns // 1000, order.until_ns // 1000, self._resume_us, due_us)
        values = (order.first_op, order.max_ops or NO_LIMIT, *times)
        latencies, last = Latencies(paced), None
        while last is None:
            last = self._called(call, values, latencies)
        self._resume_us = last["resume_us"]
        return to_result(last, latencies)

    def _called(self, call: str, values: Sequence[object], latencies: Latencies) -> Row | None:
        """The last row of a CALL; None when it was broken off and is to be made again just so."""
        try:
            return self._rows(call, values, latencies)
        except pymysql.Error as error:
            if code_of(error) == ER.LOCK_DEADLOCK and self._can_go_on():
                return None
            raise

    def _can_go_on(self) -> bool:
        return bool(ask(self._connection, read_statements(PACKAGE, "resume")["kept"])[0]["kept"])

    def _rows(self, call: str, values: Sequence[object], latencies: Latencies) -> Row:
        last = None
        with self._connection.cursor() as cursor:
            cursor.execute(call, values)
            while True:
                for row in cursor.fetchall():
                    if "latencies" in row:
                        latencies.add(row["latencies"])
                    else:
                        last = row
                if not cursor.nextset():
                    break
        if last is None:
            raise SlobError("the work loop returned nothing", "run `slob run` again")
        return last

    def backend_id(self) -> int:
        """The server's number of the session's connection."""
        return thread_id(self._connection)

    def cancel(self) -> None:
        """Cancel the running slice, or cut the connection of a server that no longer answers."""
        try:
            cancel(self._place, self.backend_id())
        except pymysql.Error:
            self._cut()

    def _cut(self) -> None:
        """End the session of a server that no longer answers.

        The thread in the slice uses the connection, so only its socket is shut, which that thread sees as a lost
        connection.
        """
        with suppress(OSError, AttributeError), socket.socket(fileno=os.dup(handle(self._connection))) as shared:
            shared.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        with suppress(pymysql.Error):
            self._connection.close()
