"""The checks that every loaded table must pass before anything is measured on it."""

from __future__ import annotations

from collections.abc import Mapping

from psycopg import sql
from psycopg.rows import dict_row

from openslob.engines.postgresql.connection import Connection, statement
from openslob.engines.table_checks import (
    BLOCK_TOLERANCE,
    Check,
    check,
    key_checks,
    missing_table,
    placement_check,
    sum_over_stretches,
)
from openslob.engines.tables import Table

_COLUMNS = 20


def checks_of(connection: Connection, table: Table) -> list[Check]:
    """Return every check of one table, passed or not. SlobError if the table does not exist."""
    relation = _figures(connection, table, "relation", {"relation": table.relation})
    keys = _figures(connection, table, "keys", {})
    placement = _placement(connection, table, int(relation["blocks"]))
    least, most = table.blocks * (1 - BLOCK_TOLERANCE), table.blocks * (1 + BLOCK_TOLERANCE)
    return [
        check(table, "blocks", relation["blocks"], least, most),
        *key_checks(table, keys["rows"], keys["lowest"], keys["highest"]),
        check(table, "valid unique indexes on custid", relation["unique_indexes"], int(table.indexed)),
        check(table, "rows in the fullest block", placement["most_in_block"], min(1, table.blocks)),
        placement_check(table, placement),
        check(table, "blocks not all-visible", relation["blocks"] - relation["all_visible"], 0),
        check(table, "columns with statistics", relation["analyzed"], _COLUMNS if table.blocks else 0),
        check(table, "rows by the statistics", relation["estimated_rows"], least, most),
    ]


def _placement(connection: Connection, table: Table, blocks: int) -> dict[str, float]:
    def figures(first: int, beyond: int) -> Mapping[str, float]:
        return _figures(connection, table, "placement", {"first": f"({first},0)", "beyond": f"({beyond},0)"})

    return sum_over_stretches(blocks, figures)


def _figures(connection: Connection, table: Table, name: str, values: Mapping[str, object]) -> dict[str, float]:
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(statement("verify", name, table=sql.SQL(table.relation)), values).fetchone()
    if row is None:
        raise missing_table(table)
    return row
