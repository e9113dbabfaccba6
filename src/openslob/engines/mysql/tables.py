"""The test tables: how one of them is created and filled, with INSERT statements of many rows.

Rows are sent in the order of the surrogate primary key, so the server fills page after page. The constant fill is a
variable of the session, so the driver sends little more than keys; random text it has to send.

Every loaded table must pass the checks at the end before anything is measured on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from openslob.core.workload import DataSpec
from openslob.engines import tables
from openslob.engines.mysql.connection import Connection, Row, query, statement
from openslob.engines.mysql.names import MysqlNames
from openslob.engines.mysql.page_layout import PageLayout
from openslob.engines.mysql.table_engine import TableEngine
from openslob.engines.tables import (
    Check,
    DataTable,
    check,
    key_checks,
    missing_table,
    placement_check,
    sum_over_stretches,
)

COLUMNS = tuple(f"c{number}" for number in range(2, 21))
# A statement is a transaction of its own: large enough to make commits cheap, small enough to be cancelled soon.
_BATCH_BYTES = 1024 * 1024
_MOST_PAGES = 128
# Printable ASCII without the characters that must be escaped, and without the blank, which is cut off at a value's end.
_PRINTABLE = np.array([code for code in range(33, 127) if chr(code) not in "'\\"], dtype=np.uint8)


def tables_of(spec: DataSpec, names: MysqlNames) -> list[DataTable]:
    """Return all tables of a specification, the largest first."""
    return tables.tables_of(spec, names.cf1, names.cf2)


def fill(
    connection: Connection,
    table: DataTable,
    engine: TableEngine,
    layout: PageLayout,
    random_pct: int,
    wrote_blocks: Callable[[int], None],
) -> None:
    """Create, fill, index and analyse a table, of whose texts this share is random.

    ``wrote_blocks`` is called after every batch of rows; an exception in it ends the load of the table.
    """
    columns = ", ".join(f"{name} CHAR({layout.value_bytes})" for name in COLUMNS)
    create = statement("schema", "create_table", table=table.relation, columns=columns, engine=engine.clause)
    query(connection, create)
    query(connection, statement("load", "constants"), vars(layout))
    pages = min(_MOST_PAGES, max(1, _BATCH_BYTES // _page_bytes(layout)))
    for first in range(0, table.blocks, pages):
        keys = table.keys.chunk(first, first + pages).tolist()
        rows, values = (
            _random_rows(first, keys, layout, random_pct) if random_pct else (_constant_rows(first, keys, layout), ())
        )
        insert = statement("load", "insert", table=table.relation, columns=", ".join(COLUMNS), rows=rows)
        with connection.cursor() as cursor:
            cursor.execute(insert, values or None)
        wrote_blocks(len(keys))
    if table.indexed:
        query(connection, statement("schema", "create_index", table=table.relation))
    query(connection, statement("load", "analyze", table=table.relation))


def _page_bytes(layout: PageLayout) -> int:
    return len(COLUMNS) * layout.value_bytes + layout.pad_bytes + layout.fillers * layout.filler_pad_bytes


def _constant_rows(first: int, keys: list[int], layout: PageLayout) -> str:
    """Return the list of VALUES of the pages from ``first``, one for each of ``keys``."""
    values, nulls = ", ".join(["@value"] * len(COLUMNS)), ", ".join(["NULL"] * len(COLUMNS))
    parts = []
    for page, key in enumerate(keys, start=first):
        row = page * layout.rows_per_page
        parts.append(f"({row}, {key}, {values}, @pad)")
        parts += [f"({row + number}, NULL, {nulls}, @filler)" for number in range(1, layout.rows_per_page)]
    return ", ".join(parts)


def _random_rows(first: int, keys: list[int], layout: PageLayout, random_pct: int) -> tuple[str, tuple[object, ...]]:
    """Return the list of VALUES of pages with random text: its placeholders, and the values."""
    visited, filler = f"(%s, %s{', %s' * len(COLUMNS)}, %s)", f"(%s, NULL{', NULL' * len(COLUMNS)}, %s)"
    parts: list[object] = []
    for page, key in enumerate(keys, start=first):
        row, text = page * layout.rows_per_page, _random_text(layout, random_pct)
        parts += [row, key, *(next(text) for _ in COLUMNS), next(text)]
        for number in range(1, layout.rows_per_page):
            parts += [row + number, next(text)]
    rows = ", ".join([visited, *[filler] * layout.fillers])
    return ", ".join([rows] * len(keys)), tuple(parts)


def _random_text(layout: PageLayout, random_pct: int) -> Iterator[str | None]:
    """Yield the texts of one page in the order of its columns and rows; None for one of no bytes.

    The share ``random_pct`` of each is random, the rest of it constant.
    """
    lengths = [layout.value_bytes] * len(COLUMNS) + [layout.pad_bytes] + [layout.filler_pad_bytes] * layout.fillers
    codes = np.random.default_rng().integers(0, len(_PRINTABLE), sum(lengths), dtype=np.uint8)
    text, begin = _PRINTABLE[codes].tobytes().decode("ascii"), 0
    for length in lengths:
        yield text[begin : begin + length * random_pct // 100].ljust(length, "X") or None
        begin += length


def checks_of(
    connection: Connection, names: MysqlNames, table: DataTable, engine: TableEngine, layout: PageLayout
) -> list[Check]:
    """Return every check of one table, passed or not. SlobError if the table does not exist."""
    relation = _figures(connection, table, "relation", {"database": names.database, "name": table.name})
    keys = _figures(connection, table, "keys", {"rows_per_page": layout.rows_per_page})
    blocks = engine.count_blocks(connection, names)
    return [
        *key_checks(table, keys["visited"], keys["lowest"], keys["highest"]),
        check(table, "filler rows", keys["fillers"], table.blocks * layout.fillers),
        check(table, "rows out of their order", keys["misplaced"], 0),
        check(table, "unique indexes on custid", relation["unique_indexes"], int(table.indexed)),
        placement_check(table, _placement(connection, table, layout)),
        *engine.size_checks(table, blocks, layout, relation["estimated_rows"]),
    ]


def _placement(connection: Connection, table: DataTable, layout: PageLayout) -> dict[str, float]:
    def figures(first: int, beyond: int) -> Row:
        stretch = {"first": first * layout.rows_per_page, "beyond": beyond * layout.rows_per_page}
        return _figures(connection, table, "placement", stretch)

    return sum_over_stretches(table.blocks, figures)


def _figures(connection: Connection, table: DataTable, name: str, values: Mapping[str, object]) -> Row:
    rows = query(connection, statement("verify", name, table=table.relation), values)
    if not rows:
        raise missing_table(table)
    return rows[0]
