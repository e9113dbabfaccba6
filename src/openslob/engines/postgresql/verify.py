"""The checks that every loaded table must pass before anything is measured on it."""

from __future__ import annotations

from collections.abc import Mapping

from psycopg.rows import dict_row

from openslob.engines.postgresql.tables import Connection, Table, statement
from openslob.engines.table_checks import BLOCK_TOLERANCE, Check, adjacent_limit, stretches
from openslob.errors import SlobError

_COLUMNS = 20


def checks_of(connection: Connection, table: Table) -> list[Check]:
    """Every check of one table, passed or not. SlobError if the table is not there."""

    def check(name: str, figure: float, low: float, high: float | None = None) -> Check:
        return Check(name, table.name, figure, low, low if high is None else high)

    relation = _figures(connection, table, "relation", {"relation": table.relation})
    keys = _figures(connection, table, "keys", {})
    placement = _placement(connection, table, int(relation["blocks"]))
    slack = table.rows * BLOCK_TOLERANCE
    return [
        check("blocks", relation["blocks"], table.rows - slack, table.rows + slack),
        check("rows", keys["rows"], table.rows),
        check("lowest key", keys["lowest"], min(1, table.rows)),
        check("highest key", keys["highest"], table.rows),
        check("valid unique indexes on custid", relation["unique_indexes"], int(table.indexed)),
        check("rows in the fullest block", placement["most_in_block"], min(1, table.rows)),
        check("neighbouring keys in neighbouring blocks", placement["adjacent"], 0, adjacent_limit(placement["pairs"])),
        check("blocks not all-visible", relation["blocks"] - relation["all_visible"], 0),
        check("columns with statistics", relation["analyzed"], _COLUMNS if table.rows else 0),
        check("rows by the statistics", relation["estimated_rows"], table.rows - slack, table.rows + slack),
    ]


def _placement(connection: Connection, table: Table, blocks: int) -> dict[str, float]:
    """Placement figures over all stretches that are looked at."""
    total = {"rows": 0.0, "most_in_block": 0.0, "pairs": 0.0, "adjacent": 0.0}
    for first, beyond in stretches(blocks):
        stretch = _figures(connection, table, "placement", {"first": f"({first},0)", "beyond": f"({beyond},0)"})
        most = max(total["most_in_block"], stretch["most_in_block"])
        total = {name: total[name] + stretch[name] for name in total} | {"most_in_block": most}
    return total


def _figures(connection: Connection, table: Table, name: str, values: Mapping[str, object]) -> dict[str, float]:
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(statement("verify", name, table=table.identifier), values).fetchone()
    if row is None:
        raise SlobError(f"verification failed: the table {table.name} is not there")
    return row
