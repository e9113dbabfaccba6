"""The checks that every loaded table must pass before anything is measured on it."""

from __future__ import annotations

from collections.abc import Mapping

from openslob.engines.mysql.connection import Connection, Row, ask, statement
from openslob.engines.mysql.page_layout import Layout
from openslob.engines.mysql.tables import Table
from openslob.engines.table_checks import BLOCK_TOLERANCE, Check, adjacent_limit, stretches
from openslob.errors import SlobError

# Where the tree's first page was split, its fillers stand in a page of their own.
_MORE_PAGES = 1
# Pages that the server keeps free for rows to come, where only all pages together are known: some extents of 1 MB or
# 64 pages.
_FREE_PAGES = 4 * 256
_ESTIMATE_TOLERANCE = 0.1


def checks_of(connection: Connection, database: str, table: Table, layout: Layout, blocks: Blocks) -> list[Check]:
    """Every check of one table, passed or not. SlobError if the table is not there."""

    def check(name: str, figure: float, low: float, high: float | None = None) -> Check:
        return Check(name, f"{database}.{table.name}", figure, low, low if high is None else high)

    names = {"database": database, "name": table.name}
    relation = _figures(connection, table, "relation", names)
    keys = _figures(connection, table, "keys", {"rows_per_page": layout.rows_per_page})
    placement = _placement(connection, table, layout)
    rows = table.pages * layout.rows_per_page
    free = _MORE_PAGES if blocks.leaves_only else _FREE_PAGES
    return [
        check(
            "blocks",
            blocks.by_table.get(table.name, -1),
            table.pages * (1 - BLOCK_TOLERANCE),
            table.pages * (1 + BLOCK_TOLERANCE) + free,
        ),
        check("rows", keys["visited"], table.pages),
        check("filler rows", keys["fillers"], table.pages * layout.fillers),
        check("rows out of their order", keys["misplaced"], 0),
        check("lowest key", keys["lowest"], min(1, table.pages)),
        check("highest key", keys["highest"], table.pages),
        check("unique indexes on custid", relation["unique_indexes"], int(table.indexed)),
        check("neighbouring keys in neighbouring blocks", placement["adjacent"], 0, adjacent_limit(placement["pairs"])),
        # That there are any: InnoDB estimates them from a few pages, in a way that fits pages of few rows badly.
        check("rows by the statistics", relation["estimated_rows"], table.pages, rows * (1 + _ESTIMATE_TOLERANCE)),
    ]


class Blocks:
    """Blocks of our tables by name; ``leaves_only``: those that hold rows, else all that the server set apart."""

    def __init__(self, by_table: Mapping[str, int], leaves_only: bool) -> None:
        self.by_table = by_table
        self.leaves_only = leaves_only


def _placement(connection: Connection, table: Table, layout: Layout) -> dict[str, float]:
    """Placement figures over all stretches that are looked at."""
    total = {"pairs": 0.0, "adjacent": 0.0}
    for first, beyond in stretches(table.pages):
        window = {"first": first * layout.rows_per_page, "beyond": beyond * layout.rows_per_page}
        found = _figures(connection, table, "placement", window)
        total = {name: total[name] + found[name] for name in total}
    return total


def _figures(connection: Connection, table: Table, name: str, values: Mapping[str, object]) -> Row:
    rows = ask(connection, statement("verify", name, table=table.relation), values)
    if not rows:
        raise SlobError(f"verification failed: the table {table.name} is not there")
    return rows[0]
