"""The plans of the work loop's statements: recorded, and refused when they are not single-block index access."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from openslob.engines.postgresql.local_path import tables_on_path
from openslob.engines.postgresql.names import Names
from openslob.errors import SlobError
from openslob.workload import Workload

_RANGE = "custid >= $1 AND custid < $1 + $2"


def explain(connection: psycopg.Connection[Any], names: Names, schema: int, workload: Workload) -> dict[str, str]:
    """Plan text by statement, planned as the loop plans them: generic, under this connection's settings."""
    found: dict[str, str] = {}
    tables = tables_on_path(names, workload)
    if workload.update_pct < 100:
        found["select"] = _plan_of(
            connection, sql.SQL("SELECT count(c2) FROM {} WHERE " + _RANGE).format(tables.cf1(schema)), "(1, 64)"
        )
        _require_index_scan("select", found["select"])
    if workload.update_pct > 0:
        found["update"] = _plan_of(
            connection, sql.SQL("UPDATE {} SET c2 = c2 WHERE " + _RANGE).format(tables.cf1(schema)), "(1, 64)"
        )
        _require_index_scan("update", found["update"])
    if workload.update_pct < 100 and workload.scan_pct > 0:
        found["scan"] = _plan_of(connection, sql.SQL("SELECT count(c2) FROM {}").format(tables.cf2(schema)), "")
    return found


def _plan_of(connection: psycopg.Connection[Any], statement: sql.Composed, arguments: str) -> str:
    types = "(bigint, bigint)" if arguments else ""
    connection.execute(sql.SQL("PREPARE slob_plan" + types + " AS ") + statement)
    try:
        rows = connection.execute("EXPLAIN (COSTS OFF) EXECUTE slob_plan" + arguments).fetchall()
    finally:
        connection.execute("DEALLOCATE slob_plan")
    return "\n".join(row[0] for row in rows)


def _require_index_scan(name: str, plan: str) -> None:
    if "Index Scan using" not in plan:
        raise SlobError(
            f"the {name} of the work loop would not read block by block through the index: {plan.splitlines()[-1]}",
            "check that no setting of the role or database forbids index scans",
        )
