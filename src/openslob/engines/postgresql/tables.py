"""The test tables: how one of them is created and filled, with rows in the format of binary COPY.

One COPY stream writes about 500 MB of blocks a second on a two-core virtual machine. The server's work on it is the
limit: it takes one whole core to take the rows apart, check their encoding and write the blocks, while the driver uses
a seventh of a core (a third with random text). So several tables are loaded at the same time; a single table is loaded
no faster than one stream.

All rows have the same length, so numpy lays out a batch at a time: only keys and random text are written per row.
Binary rows also cost the server less than text, which it must split and unescape. Text that is the same in every row is
not sent: it is the default of the columns during the load, which saves the server taking 19 columns a row apart and
checking their encoding.

Every loaded table must pass the checks at the end before anything is measured on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from psycopg import sql
from psycopg.rows import dict_row

from openslob.core.method import BLOCK_TOLERANCE
from openslob.core.permutation import Permutation
from openslob.core.workload import DataSpec
from openslob.engines import tables
from openslob.engines.postgresql.connection import Connection, statement
from openslob.engines.postgresql.names import PostgresNames
from openslob.engines.row_text import TEXT_COLUMNS, column_bytes, constant_text, random_texts
from openslob.engines.tables import (
    Check,
    DataTable,
    check,
    key_checks,
    missing_table,
    placement_check,
    sum_over_stretches,
)

BATCH_ROWS = 512
# Begin and end of a binary COPY.
_HEADER = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_TRAILER = b"\xff\xff"
_COLUMNS = 20


def tables_of(spec: DataSpec, names: PostgresNames) -> list[DataTable]:
    """Return all tables of a specification, the largest first."""
    return tables.tables_of(spec, lambda n: names.cf1(n).as_string(), lambda n: names.cf2(n).as_string())


def fill(
    connection: Connection, table: DataTable, block_size: int, random_pct: int, wrote_blocks: Callable[[int], None]
) -> None:
    """Create, fill, index, vacuum and analyse a table, of whose texts this share is random.

    All but the last two are one transaction: the table is complete or does not exist. ``wrote_blocks`` is called after
    every batch of rows; an exception in it ends the load of the table.
    """
    create_and_fill(connection, table, block_size, random_pct, wrote_blocks)
    connection.execute(statement("load", "vacuum", table=sql.SQL(table.relation)))


def create_and_fill(
    connection: Connection, table: DataTable, block_size: int, random_pct: int, wrote_blocks: Callable[[int], None]
) -> None:
    """Create, fill and index a table, in one transaction."""
    name = sql.SQL(table.relation)
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(statement("schema", "create_table", table=name))
        if not random_pct:
            cursor.execute(statement("load", "set_text", table=name, text=sql.Literal(constant_text(block_size))))
        with cursor.copy(statement("load", "copy_rows" if random_pct else "copy_keys", table=name)) as copy:
            copy.write(_HEADER)
            for batch, rows in batches(table.keys, block_size, random_pct):
                copy.write(batch)
                wrote_blocks(rows)
            copy.write(_TRAILER)
        if not random_pct:
            cursor.execute(statement("load", "unset_text", table=name))
        if table.indexed:
            cursor.execute(statement("schema", "create_index", table=name))


def batches(keys: Permutation, block_size: int, random_pct: int) -> Iterator[tuple[bytes, int]]:
    """Yield the rows of a table in batches, each with its number of rows, in the order of ``keys``.

    Rows have a key only, or text too, of which the share ``random_pct`` is random; its seed is the permutation's key.
    """
    width = column_bytes(block_size)
    batch = _template(width, TEXT_COLUMNS if random_pct else 0)
    random = np.random.Generator(np.random.SFC64(keys.key))
    for chunk in keys.chunks(BATCH_ROWS):
        rows = batch[: len(chunk)]
        rows["custid"] = chunk
        if random_pct:
            rows["columns"]["text"] = random_texts(random, len(chunk), width, random_pct)
        yield rows.tobytes(), len(chunk)


def _template(width: int, columns: int) -> NDArray[np.void]:
    column = np.dtype([("length", ">i4"), ("text", f"S{width}")])
    row = np.dtype([("fields", ">i2"), ("key_length", ">i4"), ("custid", ">i8"), ("columns", column, (columns,))])
    batch = np.zeros(BATCH_ROWS, row)
    batch["fields"], batch["key_length"] = 1 + columns, 8
    batch["columns"]["length"] = width
    return batch


def checks_of(connection: Connection, table: DataTable) -> list[Check]:
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


def _placement(connection: Connection, table: DataTable, blocks: int) -> dict[str, float]:
    def figures(first: int, beyond: int) -> Mapping[str, float]:
        return _figures(connection, table, "placement", {"first": f"({first},0)", "beyond": f"({beyond},0)"})

    return sum_over_stretches(blocks, figures)


def _figures(connection: Connection, table: DataTable, name: str, values: Mapping[str, object]) -> dict[str, float]:
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(statement("verify", name, table=sql.SQL(table.relation)), values).fetchone()
    if row is None:
        raise missing_table(table)
    return row
