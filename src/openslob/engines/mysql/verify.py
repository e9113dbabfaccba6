"""The checks that every loaded table must pass before anything is measured on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from openslob.engines.mysql.connection import Connection, Row, query, statement
from openslob.engines.mysql.page_layout import PageLayout
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

# Where the tree's first page was split, its fillers are in a page of their own.
_MORE_PAGES = 1
# Where only the number of all pages is known: pages that the server reserves for rows to come, some extents of 1 MB or
# 64 pages.
_FREE_PAGES = 4 * 256
_ESTIMATE_TOLERANCE = 0.1


@dataclass(frozen=True)
class TableBlocks:
    """Blocks of our tables by name; ``leaves_only``: only blocks that hold rows, else all that the server reserved."""

    by_table: Mapping[str, int]
    leaves_only: bool


def checks_of(
    connection: Connection, database: str, table: Table, layout: PageLayout, blocks: TableBlocks
) -> list[Check]:
    """Return every check of one table, passed or not. SlobError if the table does not exist."""
    relation = _figures(connection, table, "relation", {"database": database, "name": table.name})
    keys = _figures(connection, table, "keys", {"rows_per_page": layout.rows_per_page})
    most_rows = table.blocks * layout.rows_per_page * (1 + _ESTIMATE_TOLERANCE)
    most = table.blocks * (1 + BLOCK_TOLERANCE) + (_MORE_PAGES if blocks.leaves_only else _FREE_PAGES)
    return [
        check(table, "blocks", blocks.by_table.get(table.name, -1), table.blocks * (1 - BLOCK_TOLERANCE), most),
        *key_checks(table, keys["visited"], keys["lowest"], keys["highest"]),
        check(table, "filler rows", keys["fillers"], table.blocks * layout.fillers),
        check(table, "rows out of their order", keys["misplaced"], 0),
        check(table, "unique indexes on custid", relation["unique_indexes"], int(table.indexed)),
        placement_check(table, _placement(connection, table, layout)),
        # Only that there are some: InnoDB estimates them from a few pages, badly when pages hold few rows.
        check(table, "rows by the statistics", relation["estimated_rows"], table.blocks, most_rows),
    ]


def _placement(connection: Connection, table: Table, layout: PageLayout) -> dict[str, float]:
    def figures(first: int, beyond: int) -> Row:
        stretch = {"first": first * layout.rows_per_page, "beyond": beyond * layout.rows_per_page}
        return _figures(connection, table, "placement", stretch)

    return sum_over_stretches(table.blocks, figures)


def _figures(connection: Connection, table: Table, name: str, values: Mapping[str, object]) -> Row:
    rows = query(connection, statement("verify", name, table=table.relation), values)
    if not rows:
        raise missing_table(table)
    return rows[0]
