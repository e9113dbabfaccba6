"""The test tables: how one of them is created, filled and indexed, and what is checked of it afterwards.

Every loaded table must pass the checks at the end before anything is measured on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import oracledb

from openslob.core.method import BLOCK_TOLERANCE
from openslob.core.workload import DataSpec
from openslob.engines import tables
from openslob.engines.oracle.connection import Connection, Row, query, statement
from openslob.engines.oracle.errors import explain_error, is_final, is_missing
from openslob.engines.oracle.names import cf1, cf2, index
from openslob.engines.oracle.page_layout import INITRANS, TEXT_COLUMNS, constant_text, value_bytes_of
from openslob.engines.oracle.rowids import place_of
from openslob.engines.oracle.tablespace import Tablespace
from openslob.engines.oracle.ways import TEXTS, Destination, Ways, Wrote
from openslob.engines.tables import Check, DataTable, check, key_checks, missing_table, placement_check, stretches

_COLUMNS = TEXT_COLUMNS + 1
# Beside the rows a segment has bitmaps of its space: one block in 16 of a small segment, fewer in larger ones, and a
# few blocks at its begin.
_BITMAP_SHARE, _BITMAP_BLOCKS = 0.03, 64
# So many blocks of a table give its statistics.
_SAMPLED_BLOCKS = 50_000
_ESTIMATE_TOLERANCE = 0.1
# ORA-01795: no list of values is longer.
_LONGEST_LIST = 1000


def tables_of(spec: DataSpec) -> list[DataTable]:
    """Return all tables of a specification, the largest first."""
    return tables.tables_of(spec, cf1, cf2)


@dataclass(frozen=True)
class Filling:
    """How the tables of a load are filled: where, the ways that all its threads share, sessions that build an index.

    ``notes`` has by name what is worth knowing of the load beside its figures.
    """

    place: Tablespace
    ways: Ways
    obfuscate: bool
    parallel: int
    notes: dict[str, str]


def fill(connection: Connection, table: DataTable, how: Filling, wrote_blocks: Wrote) -> None:
    """Create, fill, index and analyse a table.

    ``wrote_blocks`` is called after every batch of rows; an exception in it ends the load of the table.
    """
    _create(connection, table, how)
    _limit_rows_per_block(connection, table, how)
    how.ways.fill(connection, Destination(table, how.place, how.obfuscate), wrote_blocks)
    if not how.obfuscate:
        _run(connection, "schema", "no_defaults", table=table.relation, columns=_each_column("{name} DEFAULT NULL"))
    if table.indexed:
        _index(connection, table, how)
    _run(connection, "schema", "logging", table=table.relation)
    _analyze(connection, table)


def _run(connection: Connection, file: str, name: str, /, **identifiers: object) -> None:
    query(connection, statement(file, name, **identifiers))


def _each_column(form: str, **values: object) -> str:
    return ", ".join(form.format(name=name, **values) for name in TEXTS)


def _create(connection: Connection, table: DataTable, how: Filling) -> None:
    width = value_bytes_of(how.place.block_size)
    default = "" if how.obfuscate else f" DEFAULT '{constant_text(how.place.block_size)}'"
    columns = _each_column("{name} VARCHAR2({width} BYTE){default}", width=width, default=default)
    place, relation = how.place.clause, table.relation
    _run(connection, "schema", "create_table", table=relation, columns=columns, initrans=INITRANS, in_tablespace=place)


def _limit_rows_per_block(connection: Connection, table: DataTable, how: Filling) -> None:
    """Make one row a block a property of the table. PCTFREE alone has the same effect, so it may be refused."""
    try:
        for name in ("first_row", "minimize", "empty"):
            _run(connection, "schema", name, table=table.relation)
    except oracledb.Error as error:
        if is_final(error):
            raise
        how.notes["MINIMIZE RECORDS_PER_BLOCK"] = (
            f"refused, so only PCTFREE keeps a block to one row: {explain_error(error)}"
        )
        _run(connection, "schema", "empty", table=table.relation)


def _index(connection: Connection, table: DataTable, how: Filling) -> None:
    parts = {"index": index(table.relation), "table": table.relation, "in_tablespace": how.place.clause}
    if how.parallel <= 1 or not _index_in_parallel(connection, parts, how):
        _run(connection, "schema", "create_index", parallel="NOPARALLEL", **parts)
    _run(connection, "schema", "index_logging", **parts)


def _index_in_parallel(connection: Connection, parts: Mapping[str, str], how: Filling) -> bool:
    """Create an index by several sessions; return False if the server refuses that, as some editions do."""
    try:
        _run(connection, "schema", "create_index", parallel=f"PARALLEL {how.parallel}", **parts)
    except oracledb.Error as error:
        if is_final(error):
            raise
        how.notes["parallel index"] = f"refused: {explain_error(error)}"
        return False
    _run(connection, "schema", "index_serial", **parts)
    return True


def _analyze(connection: Connection, table: DataTable) -> None:
    """Gather statistics, of large tables from a share of their blocks, and lock them."""
    percent = max(1, 100 * _SAMPLED_BLOCKS // table.blocks) if table.blocks > _SAMPLED_BLOCKS else 100
    values = {"table_name": table.relation}
    query(connection, statement("schema", "statistics"), values | {"percent": percent})
    query(connection, statement("schema", "lock_statistics"), values)


def checks_of(connection: Connection, table: DataTable, place: Tablespace) -> list[Check]:
    """Return every check of one table, passed or not. SlobError if the table does not exist."""
    relation = _figures(connection, table, "relation", {"table_name": table.relation})
    keys = _figures(connection, table, "keys", {})
    rows = list(_looked_at(connection, table))
    sizes = [row["value_bytes"] or 0 for row in rows] or [0]
    size = TEXT_COLUMNS * value_bytes_of(place.block_size) if table.blocks else 0
    around = (table.blocks * (1 - _ESTIMATE_TOLERANCE), table.blocks * (1 + _ESTIMATE_TOLERANCE))
    most = table.blocks * (1 + _BITMAP_SHARE) + _BITMAP_BLOCKS
    found = [
        check(table, "blocks in use", relation["used_blocks"], table.blocks * (1 - BLOCK_TOLERANCE), most),
        *key_checks(table, keys["rows_there"], keys["lowest"], keys["highest"]),
        check(table, "rows that are not the first of their block", keys["not_first"], 0),
        check(table, "valid unique indexes on custid", relation["unique_indexes"], int(table.indexed)),
        placement_check(table, placement(rows)),
        check(table, "bytes of the shortest row's text", min(sizes), size),
        check(table, "bytes of the longest row's text", max(sizes), size),
        check(table, "columns with statistics", relation["analyzed"], _COLUMNS if table.blocks else 0, _COLUMNS),
        check(table, "rows by the statistics", relation["estimated_rows"], *around),
        check(table, "locked statistics", relation["locked"], 1),
    ]
    if table.indexed:
        # How often the block changes from one key to the next: with each, if no two of them share one.
        found.append(check(table, "clustering factor", relation["clustering_factor"], *around))
    return found


def placement(rows: Iterable[Row]) -> dict[str, float]:
    """Return of how many ``pairs`` of neighbouring blocks the keys are ``adjacent``."""
    by_place = sorted((place_of(row["place"]), int(row["custid"])) for row in rows)
    keys = np.array([key for _, key in by_place], dtype=np.int64)
    steps = np.abs(np.diff(keys))
    return {"pairs": float(len(steps)), "adjacent": float(np.count_nonzero(steps == 1))}


def _looked_at(connection: Connection, table: DataTable) -> Iterator[Row]:
    """Yield the rows whose places are looked at: all of a small table, of a large one those of stretches of blocks."""
    parts = list(stretches(table.blocks))
    if len(parts) == 1:
        yield from _rows(connection, table, "")
        return
    keys = [key for first, beyond in parts for key in table.keys.chunk(first, beyond).tolist()]
    for begin in range(0, len(keys), _LONGEST_LIST):
        listed = ", ".join(map(str, keys[begin : begin + _LONGEST_LIST]))
        yield from _rows(connection, table, f"WHERE t.custid IN ({listed})")


def _rows(connection: Connection, table: DataTable, stretch: str) -> list[Row]:
    return list(query(connection, statement("verify", "rows", table=table.relation, stretch=stretch)))


def _figures(connection: Connection, table: DataTable, name: str, values: Mapping[str, object]) -> Row:
    try:
        rows = query(connection, statement("verify", name, table=table.relation), values)
    except oracledb.DatabaseError as error:
        if is_missing(error):
            raise missing_table(table) from error
        raise
    if not rows:
        raise missing_table(table)
    return {name: figure or 0 for name, figure in rows[0].items()}
