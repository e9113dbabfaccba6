"""The work loop's procedure: its text, what a call takes and returns, its plans, and the signal that stops it.

The stop signal is a named lock that is held when the sessions must stop.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pymysql
from numpy.typing import NDArray

from openslob.core.errors import SlobError
from openslob.core.histogram import BUCKETS, Histogram, lower_edge_us
from openslob.core.method import OpKind
from openslob.core.workload import Workload
from openslob.engines.base import SessionPlan, SliceResult
from openslob.engines.mysql.connection import PACKAGE, Connection, Row, query, statement
from openslob.engines.mysql.errors import explain_error, report_as
from openslob.engines.mysql.names import MysqlNames
from openslob.engines.mysql.page_layout import PageLayout, layout_of
from openslob.engines.server_engine import ConnectionOwner
from openslob.engines.slice_io import (
    KINDS,
    begin_together,
    count_statement,
    explained_kinds,
    key_statement,
    loop_parameters,
    plan_refused,
    slice_result,
    update_key_statement,
    written_columns,
)
from openslob.engines.sql import read_statements

STOP = "stop"
_PATIENCE_S = 5

# What a call is given before the parameters that stay the same: first_op, max_ops, not_before_us, until_us, resume_us,
# due_us, interval_us, due_before_us.
CALL_PARAMETERS = 8
_RESUME = ("restore", "again", "keep", "done", "latencies")
# A latency and its kind are one number: 4 * µs + kind, by the order of `KINDS`.
_KIND_STEPS = 4
# In place of a kind: not an operation, but how late the session woke up for one.
_WAKE_UP = 3
# How a plan finds a range of keys, or one key.
_RANGE, _ONE_ROW = ("range",), ("const", "ref", "range")
# So many places for pages has each session that inserts rows, behind those of a load.
_PLACES = 10**12
_INDEX_CONDITION = "Using index condition"
# Marks of plans that fetch rows in the order of their location instead of the order of the index.
_REORDERED = ("MRR", "Rowid-ordered", "Key-ordered", "filesort")


class MysqlStop(ConnectionOwner[Connection]):
    """Holds the lock from `request` until it is closed. A session that finds it held ends its slice."""

    def __init__(self, connection: Connection, names: MysqlNames) -> None:
        super().__init__(connection)
        self._values = {"lock": names.lock(STOP), "patience": _PATIENCE_S}

    def request(self) -> None:
        with report_as("the sessions can't be stopped"):
            query(self._connection, statement("facts", "lock"), self._values)


_LOWER_EDGES_US = np.array([lower_edge_us(bucket) for bucket in range(BUCKETS)], dtype=np.int64)


def compose_slice(
    names: MysqlNames,
    schema: int,
    workload: Workload,
    layout: PageLayout,
    resumable: bool = False,
    part: int = 0,
    crowd: int | None = None,
) -> str:
    """Return the statement that creates the slice procedure of one schema for this workload.

    It may be that of a class of sessions, whose number is ``part``; all classes have ``crowd`` sessions.
    ``resumable``: a CALL that the server aborts because of another node's change can be repeated (resume.sql).
    """
    pieces, parts = read_statements(PACKAGE, "resume"), read_statements(PACKAGE, "slice")
    together = begin_together(workload, crowd)
    return statement(
        "slice",
        "procedure",
        procedure=names.procedure(schema, part),
        **{kind.value: _in_loop(kind, names, schema, workload, layout) for kind in KINDS},
        **{f"{kind.value}_hot": _in_loop(kind, names, 1, workload, layout) for kind in KINDS},
        select_key=statement("slice", key_statement(workload), rows="work_unit"),
        update_key=statement("slice", update_key_statement(workload), rows="update_work_unit"),
        count_update=statement("slice", count_statement(workload), rows_per_page=layout.rows_per_page),
        find_place=_find_place(names, schema, layout) if workload.churns else "",
        common_start=parts["common_start"] if together else "",
        step_aside=parts["step_aside"] if together else "",
        **{f"resume_{name}": pieces[name] if resumable else "" for name in _RESUME},
    )


def _in_loop(kind: OpKind, names: MysqlNames, schema: int, workload: Workload, layout: PageLayout) -> str:
    """Return a statement of the loop with the procedure's variables in it."""
    if kind is OpKind.UPDATE and workload.churns:
        return _churn_in_loop(names, schema, workload, layout)
    variables = {"first_key": "first_key", "last_key": "last_key", "rows": "update_work_unit"}
    assignments = _assignments(workload, "fresh", layout.value_bytes)
    return compose_statement(kind, names, schema, into="INTO found_rows", assignments=assignments, **variables)


def _find_place(names: MysqlNames, schema: int, layout: PageLayout) -> str:
    places = _PLACES * layout.rows_per_page
    table = names.cf1(schema)
    return statement("slice", "find_place", table=table, rows_per_page=layout.rows_per_page, places=places)


def _churn_in_loop(names: MysqlNames, schema: int, workload: Workload, layout: PageLayout) -> str:
    """Return the statements that delete the visited row of a page with its fillers, and insert those of a new page."""
    columns, table = written_columns(workload), names.cf1(schema)
    texts = [_piece("fresh", number, layout.value_bytes) for number in range(len(columns))]
    pad = f"REPEAT('X', {layout.pad_bytes})" if layout.pad_bytes else "NULL"
    empty = ", ".join(["NULL"] * (1 + len(columns)))
    fillers = [
        f"(next_place + {number}, {empty}, REPEAT('X', {layout.filler_pad_bytes}))"
        for number in range(1, layout.rows_per_page)
    ]
    return statement(
        "slice",
        "churn_in_loop",
        table=table,
        find=statement("slice", "churn", table=table, into="INTO place", first_key="first_key"),
        columns=", ".join(columns),
        rows=", ".join([f"(next_place, first_key, {', '.join(texts)}, {pad})", *fillers]),
        last_filler=layout.fillers,
    )


def _assignments(workload: Workload, values: str, value_bytes: int) -> str:
    columns = enumerate(written_columns(workload))
    return ", ".join(f"{name} = {_piece(values, number, value_bytes)}" for number, name in columns)


def _piece(values: str, number: int, value_bytes: int) -> str:
    return f"SUBSTR({values}, {1 + number * value_bytes}, {value_bytes})"


def compose_statement(kind: OpKind, names: MysqlNames, schema: int, **parts: str) -> str:
    """Return a statement of the loop with these ``parts`` in place of its placeholders."""
    table = names.cf2(schema) if kind is OpKind.SCAN else names.cf1(schema)
    return statement("slice", kind.value, table=table, **parts)


def explain(
    connection: Connection, names: MysqlNames, schema: int, workload: Workload, value_bytes: int
) -> dict[str, str]:
    """Return the plan of each statement of the loop by kind, under the settings of ``connection``.

    SlobError when a statement does not read block by block through the index.
    """
    plans = {}
    range_of_keys = {"first_key": "1", "last_key": "64", "rows": "64"}
    for kind in explained_kinds(workload):
        finds_one = kind is OpKind.UPDATE and workload.churns
        parts = {**range_of_keys, "into": "", "assignments": _assignments(workload, "''", value_bytes)}
        text = (
            statement("slice", "churn", table=names.cf1(schema), **parts)
            if finds_one
            else compose_statement(kind, names, schema, **parts)
        )
        row = _plan_of(connection, kind, text)
        condition = _INDEX_CONDITION if kind is OpKind.SELECT else ""
        if kind is not OpKind.SCAN and not _reads_by_index(row, condition, _ONE_ROW if finds_one else _RANGE):
            raise _refuse_plan(kind, _plan_text(row))
        plans[kind.value] = _plan_text(row)
    return plans


def _plan_of(connection: Connection, kind: OpKind, text: str) -> Row:
    try:
        return query(connection, statement("slice", "explain", statement=text))[0]
    except pymysql.Error as error:
        raise _refuse_plan(kind, explain_error(error)) from error


def _reads_by_index(row: Row, condition: str, types: Collection[str]) -> bool:
    extra = row.get("Extra") or ""
    by_index = row.get("type") in types and row.get("key") == "custid"
    return by_index and condition in extra and not any(word in extra for word in _REORDERED)


def _refuse_plan(kind: OpKind, plan: str) -> SlobError:
    return plan_refused(kind, plan, "check optimizer_switch, and that the load's index custid is there")


def _plan_text(row: Row) -> str:
    """Return the plan as one line, with `index` before the key's name."""
    parts = {"table": "table", "type": "type", "index": "key", "rows": "rows", "extra": "Extra"}
    return " ".join(f"{name}={row[column]}" for name, column in parts.items() if row.get(column) is not None)


def slice_parameters(plan: SessionPlan, names: MysqlNames) -> dict[str, Any]:
    """Return the arguments of the procedure that stay the same in every slice of a session, in its order."""
    layout = layout_of(plan.block_size)
    place = (1 + plan.number) * _PLACES * layout.rows_per_page
    own = {"value_bytes": layout.value_bytes, "ring_place": place, "stop_lock": names.lock(STOP)}
    return {**loop_parameters(plan), **own}


def to_result(row: Mapping[str, Any], histograms: SliceHistograms) -> SliceResult:
    """Return the procedure's last row and the latencies that it returned before as a result."""
    due_ns = None if row["due_us"] is None else int(row["due_us"] * 1000)
    return slice_result(row, histograms.service, histograms.response, histograms.wake_ups, due_ns)


class SliceHistograms:
    """Histograms of one slice by kind: ``service`` from an operation's begin, ``response`` from when it was due.

    ``wake_ups`` is how late a paced session woke up for operations that it had been waiting for.
    """

    def __init__(self, paced: bool) -> None:
        self._paced = paced
        self.service = {kind: Histogram() for kind in KINDS}
        self.response = {kind: Histogram() for kind in KINDS} if paced else {}
        self.wake_ups = Histogram()

    def add(self, text: str) -> None:
        """Add the latencies of one text that the work loop returned: numbers, each followed by a comma."""
        numbers = np.fromstring(text.rstrip(","), dtype=np.int64, sep=",") if text else np.empty(0, dtype=np.int64)
        coded, response = (numbers[::2], numbers[1::2]) if self._paced else (numbers, numbers)
        kinds, service = coded % _KIND_STEPS, coded // _KIND_STEPS
        for number, kind in enumerate(KINDS):
            chosen = kinds == number
            _add(self.service[kind], service[chosen])
            if self._paced:
                _add(self.response[kind], response[chosen])
        _add(self.wake_ups, service[kinds == _WAKE_UP])


def _add(histogram: Histogram, us: NDArray[np.int64]) -> None:
    if us.size:
        buckets, counts = np.unique(buckets_of(us), return_counts=True)
        counted = zip(buckets.tolist(), counts.tolist(), strict=True)
        histogram.add(counted, float(us.sum()), float(us.max()))


def buckets_of(us: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bucket numbers of latencies in whole µs: the last bucket whose lower edge is not above the latency."""
    return np.searchsorted(_LOWER_EDGES_US, us, side="right").astype(np.int64) - 1
