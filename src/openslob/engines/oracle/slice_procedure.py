"""The work loop's procedure: its text, what a call takes and returns, and the plans of its statements."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from openslob.core.errors import SlobError
from openslob.core.histogram import BUCKETS, LINEAR_US, STEEPNESS, Histogram
from openslob.core.method import OpKind
from openslob.core.workload import CommitMode, Workload
from openslob.engines.base import SessionPlan, SliceResult
from openslob.engines.facts import Finding
from openslob.engines.oracle import names
from openslob.engines.oracle.connection import PACKAGE, Connection, Row, change, query, query_if_visible, statement
from openslob.engines.oracle.known_settings import OF_PROCEDURE, apply_setting
from openslob.engines.oracle.versions import SINGLE_ROWID_HINT, sleep_procedure
from openslob.engines.row_text import CONSTANT, column_bytes
from openslob.engines.slice_io import (
    KINDS,
    explained_kinds,
    key_statement,
    loop_parameters,
    plan_refused,
    procedures_of,
    session_seed,
    slice_result,
    written_columns,
)
from openslob.engines.sql import read_statements

_COMMIT = {
    CommitMode.WAIT: "COMMIT WRITE IMMEDIATE WAIT",
    CommitMode.NOWAIT: "COMMIT WRITE BATCH NOWAIT",
    CommitMode.ENGINE: "COMMIT",
}

# The procedure's parameters by direction, as slice.sql declares them, in its order.
_DECLARED = re.findall(
    r"^ +(\w+) +(IN OUT|IN|OUT) (?:NUMBER|VARCHAR2)\b", read_statements(PACKAGE, "slice")["procedure"], re.MULTILINE
)
ARGUMENTS = tuple(name for name, _ in _DECLARED)
KEPT = tuple(name for name, direction in _DECLARED if direction == "IN OUT")
RESULTS = tuple(name for name, direction in _DECLARED if direction != "IN")
_SERVICE = {kind: f"{kind.value}_hist" for kind in KINDS}
_RESPONSE = {kind: f"{kind.value}_response" for kind in KINDS}
_WAKE_UPS = "wake_hist"
TEXTS = (*_SERVICE.values(), *_RESPONSE.values(), _WAKE_UPS)

_POOL_BYTES = 32_000
# The server sleeps in hundredths of a second, and wakes up late by about one.
_START_SPIN_S = 0.02
_LETTERS = string.ascii_letters + string.digits + "+/"

# Steps of a plan that reads block by block through the index. An UPDATE reads the rows without a step of its own.
_TOP = {"SELECT STATEMENT", "SORT AGGREGATE", "UPDATE STATEMENT", "UPDATE", "FILTER"}
_BY_INDEX, _BY_ROWID = "INDEX RANGE SCAN", "TABLE ACCESS BY INDEX ROWID"
# V$SQL.COMMAND_TYPE.
_UPDATE_COMMAND = 6
NO_LOCAL_PATH = Finding(
    "block path",
    "BLOCK_PATH=local: Oracle reads single blocks through the cache that all sessions share, and only whole tables "
    "into private memory",
    "set BLOCK_PATH=shared",
    blocking=True,
)
NO_CHURN = Finding(
    "mode", "MODE=churn: of Oracle, no rows that come and go were measured yet", "leave out MODE", blocking=True
)
NO_CLIENT_LOOP = Finding(
    "loop", "LOOP=client: of Oracle, only the server runs the work loop", "set LOOP=server", blocking=True
)


def compose_slice(
    schema: int, workload: Workload, version: Sequence[int], value_bytes: int, hot_schema: int = 1, part: int = 0
) -> str:
    """Return the statement that creates the slice procedure of one schema, for a server of this version.

    ``value_bytes`` are those of a text column. ``hot_schema`` is the schema whose tables every session may visit.
    The workload may be that of a class of sessions, whose number is ``part``.
    """
    columns = written_columns(workload)
    fresh_bytes = value_bytes * (len(columns) if workload.obfuscate_columns else 1)
    fresh = statement("slice", "obfuscated" if workload.obfuscate_columns else "plain", fresh_bytes=fresh_bytes)
    parts = {"single": choose_hint(version), "assignments": _compose_assignments(workload, "fresh", value_bytes)}
    return statement(
        "slice",
        "procedure",
        procedure=names.procedure(schema, part),
        run_table=names.RUN_TABLE,
        fresh=fresh.replace("\n", "\n" + " " * 12),
        select_key=_compose_key(workload, "work_unit", indent=16),
        update_key=_compose_key(workload, "update_work_unit", indent=12),
        commit=_COMMIT[workload.commit_mode],
        sleep=sleep_procedure(version),
        steepness=STEEPNESS,
        linear_us=LINEAR_US,
        last_bucket=BUCKETS - 1,
        **{kind.value: _compose_in_loop(kind, schema, parts) for kind in KINDS},
        **{f"{kind.value}_hot": _compose_in_loop(kind, hot_schema, parts) for kind in KINDS},
    )


def _compose_key(workload: Workload, rows: str, indent: int) -> str:
    return statement("slice", key_statement(workload), rows=rows).replace("\n", "\n" + " " * indent)


def choose_hint(version: Sequence[int]) -> str:
    """Return the hint, where the version knows it, that each row is fetched when its index entry is read."""
    return read_statements(PACKAGE, "slice")["single"] + " " if tuple(version) >= SINGLE_ROWID_HINT else ""


def _compose_assignments(workload: Workload, values: str, value_bytes: int) -> str:
    """Return the SET list; columns are all the same, or cut from a text of all of them."""
    columns = enumerate(written_columns(workload))
    if not workload.obfuscate_columns:
        return ", ".join(f"{name} = {values}" for _, name in columns)
    kept = value_bytes * workload.random_pct // 100
    cuts = {name: f"SUBSTR({values}, {1 + n * value_bytes}, {kept})" for n, name in columns}
    if kept < value_bytes:
        cuts = {name: f"RPAD({cut}, {value_bytes}, '{CONSTANT}')" for name, cut in cuts.items()}
    return ", ".join(f"{name} = {cut}" for name, cut in cuts.items())


def _compose_in_loop(kind: OpKind, schema: int, parts: Mapping[str, str]) -> str:
    """Return a statement of the loop with the procedure's variables in it."""
    return _compose_statement(kind, schema, into="INTO found_rows", first_key="first_key", last_key="last_key", **parts)


def _compose_statement(kind: OpKind, schema: int, **parts: str) -> str:
    table = names.cf2(schema) if kind is OpKind.SCAN else names.cf1(schema)
    return " ".join(statement("slice", kind.value, table=table, index=names.index(table), **parts).split())


def install(connection: Connection, workload: Workload, block_size: int) -> None:
    """Create the procedure of each schema that sessions will work on, compiled to machine code if the server allows it.

    SlobError when the server can't compile one, with its first message.
    """
    for name in OF_PROCEDURE:
        apply_setting(connection, name)
    value_bytes = column_bytes(block_size)
    for schema, part in procedures_of(workload):
        program = names.procedure(schema, part.number)
        query(connection, compose_slice(schema, part.workload, connection.version, value_bytes, part=part.number))
        wrong = query(connection, statement("slice", "compile_errors"), {"program": program})
        if wrong:
            message = f"the work loop does not compile: {wrong[0]['text']} (line {wrong[0]['line']})"
            raise SlobError(" ".join(message.split()), f"look at user_errors of {program}")


def choose_parameters(plan: SessionPlan) -> dict[str, Any]:
    """Return the arguments of the procedure that stay the same in every slice of a session, by name."""
    chance = random.Random(session_seed(plan))
    step = chance.randrange(-(2**31) + 1, 2**31, 2)
    # Its own for each run: a value that repeats one of an earlier run would not be new.
    cuts = random.Random(f"{session_seed(plan)}/{plan.tag}")
    shared = {name: value for name, value in loop_parameters(plan).items() if name in ARGUMENTS}
    return {
        **shared,
        # Few sessions begin together to the µs; many would keep each other from the CPUs.
        "start_spin": _START_SPIN_S if plan.interval_us is None and not shared["step_aside"] else 0.0,
        "poisson": int(shared["poisson"]),
        "pool": "".join(cuts.choices(_LETTERS, k=_POOL_BYTES)) if plan.workload.obfuscate_columns else None,
        "random_step": step,
    }


def choose_state(plan: SessionPlan) -> int:
    """Return the random generator's state before the first operation of a session."""
    return random.Random(f"{session_seed(plan)}/state").randrange(-(2**31), 2**31)


def compose_call(schema: int, part: int = 0) -> str:
    """Return the block that runs a slice: one text for all sessions of a schema and class, so it is parsed once."""
    return f"BEGIN {names.procedure(schema, part)}({', '.join(f'{name} => :{name}' for name in ARGUMENTS)}); END;"


def to_result(found: Mapping[str, Any], paced: bool) -> SliceResult:
    """Return what a call returned as a result."""
    numbers = {name: int(value) for name, value in found.items() if name not in TEXTS}
    return slice_result(
        numbers,
        latency={kind: parse_histogram(found[name]) for kind, name in _SERVICE.items()},
        response={kind: parse_histogram(found[name]) for kind, name in _RESPONSE.items()} if paced else {},
        wake_ups=parse_histogram(found[_WAKE_UPS]),
        due_ns=int(found["due_us"] * 1000) if paced else None,
    )


def parse_histogram(text: str | None) -> Histogram:
    """Return a histogram that the procedure returned: ``sum max bucket count bucket count …``."""
    if not text:
        return Histogram()
    total, greatest, *pairs = map(int, text.split())
    return Histogram(dict(zip(pairs[::2], pairs[1::2], strict=True)), float(total), float(greatest))


def explain(connection: Connection, schema: int, workload: Workload, part: int = 0) -> dict[str, str]:
    """Return the plan of each statement of the loop by kind.

    They are the plans by which the procedure was executed or, if this user may not see them or it was not, those that
    EXPLAIN PLAN gives. SlobError when a statement does not read block by block through the index.
    """
    executed, plans = _read_executed_plans(connection, schema, part), {}
    for kind in explained_kinds(workload):
        steps = executed.get(kind) or _explain_kind(connection, kind, schema, workload)
        plans[kind.value] = _format_plan(steps)
        if kind is not OpKind.SCAN and not _reads_by_index(steps, kind, names.index(names.cf1(schema))):
            remedy = f"check that {names.index(names.cf1(schema))} is there and usable, and hints not ignored"
            raise plan_refused(kind, plans[kind.value], f"{remedy} (OPTIMIZER_IGNORE_HINTS)")
    return plans


def _read_executed_plans(connection: Connection, schema: int, part: int) -> Mapping[OpKind, Sequence[Row]]:
    """Return the plans of the procedure's statements in this instance; none without the right to see them."""
    program = names.procedure(schema, part)
    rows = query_if_visible(connection, statement("slice", "cursors"), {"program": program}) or ()
    found: dict[OpKind, Sequence[Row]] = {}
    for _, steps in groupby(rows, lambda row: (row["sql_id"], row["child_number"])):
        plan = list(steps)
        for kind in _find_kinds(plan, schema):
            found.setdefault(kind, plan)
    return found


def _find_kinds(plan: Sequence[Row], schema: int) -> Iterator[OpKind]:
    """Yield the kind of operation that a plan belongs to; none for one on other tables, such as the hot schema's."""
    objects = {row["object_name"] for row in plan}
    if names.cf2(schema) in objects:
        yield OpKind.SCAN
    elif objects & {names.cf1(schema), names.index(names.cf1(schema))}:
        yield OpKind.UPDATE if plan[0]["command_type"] == _UPDATE_COMMAND else OpKind.SELECT


def _explain_kind(connection: Connection, kind: OpKind, schema: int, workload: Workload) -> Sequence[Row]:
    parts = {"single": choose_hint(connection.version), "assignments": _compose_assignments(workload, "'x'", 1)}
    text = _compose_statement(kind, schema, into="", first_key="1", last_key="64", **parts)
    change(connection, statement("slice", "forget_plan"))
    query(connection, statement("slice", "explain", statement=text))
    return query(connection, statement("slice", "explained"))


def _name_step(row: Row) -> str:
    return " ".join(row[name] for name in ("operation", "options") if row[name])


def _reads_by_index(steps: Sequence[Row], kind: OpKind, index: str) -> bool:
    named = {_name_step(row): row["object_name"] for row in steps}
    needed = {_BY_INDEX, _BY_ROWID} if kind is OpKind.SELECT else {_BY_INDEX}
    return needed <= set(named) <= _TOP | {_BY_INDEX, _BY_ROWID} and named[_BY_INDEX] == index


def _format_plan(steps: Sequence[Row]) -> str:
    """Return the plan as one line, from the outermost step to the innermost."""
    return ", ".join(f"{_name_step(row)} {row['object_name'] or ''}".strip() for row in steps)
