"""The plans of the work loop's statements: recorded, and refused when they are not single-block index access."""

from __future__ import annotations

import pymysql

from openslob.engines.mysql.connection import Connection, Row, ask, statement
from openslob.engines.mysql.errors import explain_error
from openslob.engines.mysql.names import Names
from openslob.errors import SlobError
from openslob.workload import Workload

_INDEX_CONDITION = "Using index condition"
# Rows fetched in the order of their places instead of the index's.
_REORDERED = ("MRR", "Rowid-ordered", "Key-ordered", "filesort")


def explain(connection: Connection, names: Names, schema: int, workload: Workload) -> dict[str, str]:
    """Plan text by statement, under this connection's settings."""
    found: dict[str, str] = {}
    if workload.update_pct < 100:
        found["select"] = _range_plan(connection, "select", names.cf1(schema), _INDEX_CONDITION)
    if workload.update_pct > 0:
        found["update"] = _range_plan(connection, "update", names.cf1(schema), "")
    if workload.update_pct < 100 and workload.scan_pct > 0:
        found["scan"] = _text(_row(connection, "scan", names.cf2(schema)))
    return found


def _range_plan(connection: Connection, name: str, table: str, wanted: str) -> str:
    row = _row(connection, name, table)
    extra = row.get("Extra") or ""
    by_index = row.get("type") == "range" and row.get("key") == "custid"
    if not by_index or wanted not in extra or any(word in extra for word in _REORDERED):
        raise _refused(name, _text(row))
    return _text(row)


def _row(connection: Connection, name: str, table: str) -> Row:
    try:
        return ask(connection, statement("plans", name, table=table))[0]
    except pymysql.Error as error:
        raise _refused(name, explain_error(error)) from error


def _refused(name: str, plan: str) -> SlobError:
    return SlobError(
        f"the {name} of the work loop would not read block by block through the index: {plan}",
        "check optimizer_switch, and that the load's index custid is there",
    )


def _text(row: Row) -> str:
    """One line, with `index` before the key's name."""
    parts = {"table": "table", "type": "type", "index": "key", "rows": "rows", "extra": "Extra"}
    return " ".join(f"{name}={row[column]}" for name, column in parts.items() if row.get(column) is not None)
