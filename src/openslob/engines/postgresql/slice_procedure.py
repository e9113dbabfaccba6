"""The work loop's procedure: its text, what a call takes and returns, its plans, and the signal that stops it.

The stop signal is an advisory lock that is held exclusively when the sessions must stop.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import psycopg
from psycopg import sql

from openslob.core.histogram import BUCKETS, Histogram, bucket_expression
from openslob.core.method import OpKind
from openslob.core.workload import Workload
from openslob.engines.base import SessionPlan, SliceResult
from openslob.engines.postgresql.errors import report_as
from openslob.engines.postgresql.local_path import tables_on_path
from openslob.engines.postgresql.names import PostgresNames
from openslob.engines.row_text import column_bytes
from openslob.engines.server_engine import ConnectionOwner
from openslob.engines.slice_io import (
    KINDS,
    begin_together,
    count_statement,
    explained_kinds,
    key_statement,
    loop_parameters,
    plan_refused,
    procedures_of,
    slice_result,
    update_key_statement,
    written_columns,
)
from openslob.engines.sql import read_sql, read_statements

# "slobstop" as a number.
STOP_KEY = int.from_bytes(b"slobstop", "big", signed=True)

PACKAGE = "openslob.engines.postgresql"
# The loop counts all histograms in one array: each begins at a multiple of this.
BUCKETS_A_KIND = 2000
# Histograms of the work loop: service time by kind; of a paced one then response time by kind, and late wake-ups.
_WAKE_UPS = 2 * len(KINDS)
PACED_HISTOGRAMS = _WAKE_UPS + 1
# What a call is given, by the number of its parameter: $1 and so on.
CALL_PARAMETERS = (
    "first_op", "max_ops", "not_before_us", "until_us", "resume_us", "due_ns", "interval_us", "due_for_us",
)  # fmt: skip
_ARRAYS = ("sum_us", "max_us", "bucket", "bucket_count")
# The procedure returns what it declares: a counter that is added to slice.sql needs no change here.
CALL_RESULTS = tuple(re.findall(r"^ +INOUT (\w+)", read_sql(PACKAGE, "slice"), re.MULTILINE))
_BUCKET = sql.SQL(bucket_expression("us"))


class PostgresStop(ConnectionOwner[psycopg.Connection[Any]]):
    """Holds the lock from `request` until it is closed. A session that can't share it ends its slice."""

    def request(self) -> None:
        """Make every session stop within about half a second."""
        with report_as("the sessions can't be stopped"):
            self._connection.execute("SELECT pg_advisory_lock(%s)", (STOP_KEY,))


_NUMBERS = [name for name in CALL_RESULTS if name not in _ARRAYS]


def compose_slice(
    names: PostgresNames, schema: int, workload: Workload, part: int = 0, crowd: int | None = None
) -> sql.Composed:
    """Return the statement that creates the slice procedure of one schema for this workload.

    It may be that of a class of sessions, whose number is ``part``; all classes have ``crowd`` sessions.
    """
    paced, together = workload.is_paced, begin_together(workload, crowd)
    return _part("slice", "procedure").format(
        procedure=names.procedure(schema, part),
        nap=names.nap(),
        histograms=sql.Literal(PACED_HISTOGRAMS if paced else len(KINDS)),
        buckets_a_kind=sql.Literal(BUCKETS_A_KIND),
        last_bucket=sql.Literal(BUCKETS - 1),
        bucket=_BUCKET,
        select_key=_part("slice", key_statement(workload)).format(rows=sql.SQL("work_unit")),
        update_key=_part("slice", update_key_statement(workload)).format(rows=sql.SQL("update_work_unit")),
        count_update=_part("slice", count_statement(workload)),
        common_start=_part("slice", "common_start") if together else sql.SQL(""),
        step_aside=_part("slice", "step_aside") if together else sql.SQL(""),
        paced_wait=_compose_paced("wait", names) if paced else sql.SQL(""),
        paced_respond=_compose_paced("respond", names) if paced else sql.SQL(""),
        **{kind.value: _in_loop(kind, names, schema, workload) for kind in KINDS},
        **{f"{kind.value}_hot": _in_loop(kind, names, 1, workload) for kind in KINDS},
    )


def install(connection: psycopg.Connection[Any], names: PostgresNames, workload: Workload) -> None:
    """Create the slice procedure of each schema that sessions will work on, and the procedure that it calls."""
    crowd = workload.total_sessions
    set_autovacuum(connection, names, on=workload.churns)
    routines = [
        (names.nap(), sql.SQL(read_sql(PACKAGE, "nap")).format(nap=names.nap())),
        *(
            (names.procedure(schema, part.number), compose_slice(names, schema, part.workload, part.number, crowd))
            for schema, part in procedures_of(workload)
        ),
    ]
    with connection.transaction():
        for name, statement in routines:
            # CREATE OR REPLACE can't change parameters, which differ between versions.
            connection.execute(sql.SQL("DROP ROUTINE IF EXISTS {}").format(name))
            connection.execute(statement)


def set_autovacuum(connection: psycopg.Connection[Any], names: PostgresNames, on: bool) -> None:
    """Let the server's autovacuum work on the tables, or keep it off; a load keeps it off, and a churn needs it."""
    found = connection.execute(read_statements(PACKAGE, "facts")["autovacuum_not"], {"schema": names.schema, "on": on})
    for (number,) in found.fetchall():
        connection.execute(_part("schema", "autovacuum_on" if on else "autovacuum_off").format(table=names.cf1(number)))


def compose_call(names: PostgresNames, schema: int, parameters: Mapping[str, Any], part: int = 0) -> sql.Composed:
    """Return the CALL of one schema's procedure, with the parameters that stay the same written into its text.

    That saves the driver converting them in every slice.
    """
    values: dict[str, sql.Composable] = {name: sql.Literal(value) for name, value in parameters.items()}
    values |= {name: sql.NULL for name in CALL_RESULTS}
    values |= {name: sql.SQL(f"${number}") for number, name in enumerate(CALL_PARAMETERS, start=1)}
    arguments = [sql.SQL("{} => {}").format(sql.Identifier(name), value) for name, value in values.items()]
    return sql.SQL("CALL {}({})").format(names.procedure(schema, part), sql.SQL(", ").join(arguments))


def _part(file: str, name: str) -> sql.SQL:
    return sql.SQL(read_statements(PACKAGE, file)[name])


def _compose_paced(name: str, names: PostgresNames) -> sql.Composed:
    return _part("paced", name).format(nap=names.nap(), bucket=_BUCKET)


def _in_loop(kind: OpKind, names: PostgresNames, schema: int, workload: Workload) -> sql.Composed:
    """Return a statement of the loop with the procedure's variables in it."""
    rows = "update_work_unit" if kind is OpKind.UPDATE else "work_unit"
    composed = compose_statement(
        kind, names, schema, workload, into="INTO found_rows", key="key", rows=rows, value="fresh[{}]".format
    )
    if kind is not OpKind.UPDATE or not workload.churns:
        return composed
    values = [sql.SQL(f"fresh[{number}]") for number in range(1, 1 + len(written_columns(workload)))]
    return _part("slice", "churn_in_loop").format(
        delete=composed, table=names.cf1(schema), key=sql.SQL("key"), values=sql.SQL(", ").join(values)
    )


def compose_statement(
    kind: OpKind,
    names: PostgresNames,
    schema: int,
    workload: Workload,
    *,
    into: str,
    key: str,
    rows: str,
    value: Callable[[int], str],
) -> sql.Composed:
    """Return a statement of the loop; ``value`` returns what an update writes into its columns, which count from 1."""
    tables = tables_on_path(names, workload)
    assignments = [
        sql.SQL("{} = {}").format(sql.Identifier(column), sql.SQL(value(number)))
        for number, column in enumerate(written_columns(workload), start=1)
    ]
    name = "churn" if kind is OpKind.UPDATE and workload.churns else kind.value
    return _part("slice", name).format(
        table=tables.cf2(schema) if kind is OpKind.SCAN else tables.cf1(schema),
        into=sql.SQL(into),
        key=sql.SQL(key),
        rows=sql.SQL(rows),
        assignments=sql.SQL(", ").join(assignments),
    )


def explain(
    connection: psycopg.Connection[Any], names: PostgresNames, schema: int, workload: Workload
) -> dict[str, str]:
    """Return the plan of each statement of the loop by kind, planned as the loop plans them.

    The plans are generic ones, made under the settings of ``connection``. SlobError when a statement does not read
    block by block through the index.
    """
    plans = {}
    for kind in explained_kinds(workload):
        statement = compose_statement(
            kind, names, schema, workload, into="", key="$1", rows="$2", value="$3[{}]".format
        )
        plans[kind.value] = require_index(kind, _plan_of(connection, statement))
    return plans


def require_index(
    kind: OpKind, plan: str, remedy: str = "check that no setting of the role or database forbids index scans"
) -> str:
    """Return the plan. SlobError for a statement that would not read block by block through the index, but must."""
    if kind is not OpKind.SCAN and "Index Scan using" not in plan:
        raise plan_refused(kind, plan.splitlines()[-1], remedy)
    return plan


def _plan_of(connection: psycopg.Connection[Any], statement: sql.Composed) -> str:
    connection.execute(_part("slice", "prepare").format(statement=statement))
    rows = connection.execute(_part("slice", "explain")).fetchall()
    connection.execute(_part("slice", "deallocate"))
    return "\n".join(row[0] for row in rows)


def slice_parameters(plan: SessionPlan) -> dict[str, Any]:
    """Return the parameters of the procedure that stay the same in every slice of a session."""
    return {**loop_parameters(plan), "value_bytes": column_bytes(plan.block_size), "stop_key": STOP_KEY}


def to_result(row: Mapping[str, Any]) -> SliceResult:
    """Return the procedure's row, whose values are text as the server writes it, as a result."""
    sums_us, maxima_us, places, counts = (_elements(row[name]) for name in _ARRAYS)
    numbers = {name: int(row[name]) for name in _NUMBERS}
    paced = len(sums_us) == PACED_HISTOGRAMS
    counted: list[dict[int, int]] = [{} for _ in sums_us]
    for place, count in zip(map(int, places), map(int, counts), strict=True):
        kind, bucket = divmod(place, BUCKETS_A_KIND)
        counted[kind][bucket] = count
    histograms = [
        Histogram(*values) for values in zip(counted, map(float, sums_us), map(float, maxima_us), strict=True)
    ]
    return slice_result(
        numbers,
        latency=dict(zip(KINDS, histograms, strict=False)),
        response=dict(zip(KINDS, histograms[len(KINDS) :], strict=False)),
        wake_ups=histograms[_WAKE_UPS] if paced else Histogram(),
        due_ns=numbers["due_ns"] if paced else None,
    )


def _elements(array: bytes | None) -> list[bytes]:
    """Return the elements of an array of numbers, such as ``{1,2}``; none of an empty or missing one."""
    inner = (array or b"{}")[1:-1]
    return inner.split(b",") if inner else []
