"""The test tables: how one of them is created, filled and indexed, and what is checked of it afterwards.

There are several ways to write the rows, the fastest first; not every server, driver and user allows all of them.
Constant text is the default of the columns during the load, so that nothing but keys is sent. Incompressible text is
made here and sent: the server would need milliseconds a row for it. All ways write whole blocks past the cache, and in
all of them rows come in the order of the keys. A way that the server refuses is not tried again in the same load.

Every loaded table must pass the checks at the end before anything is measured on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial, reduce
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from openslob.core.errors import SlobError
from openslob.core.method import BLOCK_TOLERANCE
from openslob.core.units import MIB
from openslob.core.workload import DataSpec
from openslob.engines import tables
from openslob.engines.oracle.connection import Connection, Row, change, query, query_if_visible, statement
from openslob.engines.oracle.errors import find_refusal
from openslob.engines.oracle.names import cf1, cf2, index, staging
from openslob.engines.oracle.tablespace import Tablespace
from openslob.engines.row_text import CONSTANT, TEXT_COLUMNS, column_bytes, constant_text, random_texts
from openslob.engines.tables import Check, DataTable, check, key_checks, missing_table, placement_check, stretches

TEXTS = tuple(f"c{number}" for number in range(2, TEXT_COLUMNS + 2))
# Each batch is a transaction of its own: large enough to make commits cheap, small enough to be cancelled soon.
BATCH_BYTES = 16 * MIB
_COLUMNS = TEXT_COLUMNS + 1
# PCTFREE 99 closes a block to further rows as soon as its first row fills more than 1 % of it, in blocks of 2 KB to
# 32 KB. All columns that updates write keep their length: a row never grows, and never leaves its block.
INITRANS = 4
# The check of how many blocks a table takes.
IN_USE = "blocks in use"
# Beside the rows a segment has bitmaps of its space: one block in 16 of a small segment, fewer in larger ones, and a
# few blocks at its begin.
_BITMAP_SHARE, _BITMAP_BLOCKS = 0.03, 64
# So many blocks of a table give its statistics.
_SAMPLED_BLOCKS = 50_000
_ESTIMATE_TOLERANCE = 0.1
# ORA-01795: no list of values is longer.
_LONGEST_LIST = 1000
# The digits of an extended ROWID: object, file, block, and number of the row in the block.
_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_DIGIT_VALUES = {digit: value for value, digit in enumerate(_DIGITS)}
_ROWID_LENGTH = 18
_FILE, _BLOCK, _ROW = slice(6, 9), slice(9, 15), slice(15, 18)


@dataclass(frozen=True)
class Destination:
    """A table that is filled: where it lies, which share of its text is random, and how much is written at once."""

    table: DataTable
    place: Tablespace
    random_pct: int
    batch_bytes: int = BATCH_BYTES

    def batches(self) -> Iterator[list[int]]:
        """Yield the keys in their order, a batch at a time."""
        rows = max(1, self.batch_bytes // self.place.block_size)
        return (chunk.tolist() for chunk in self.table.keys.chunks(rows))

    def rows(self) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the same batches with the text of each row, which is the same in every load."""
        random = np.random.Generator(np.random.SFC64(self.table.keys.key))
        width = column_bytes(self.place.block_size)
        for keys in self.batches():
            texts_of_rows = random_texts(random, len(keys), width, self.random_pct).astype(str).tolist()
            yield [(key, *texts) for key, texts in zip(keys, texts_of_rows, strict=True)]


Wrote = Callable[[int], None]


@dataclass(frozen=True)
class Way:
    """A way to fill a table: its name, what it does, and why a connection does not have it (empty if it does)."""

    name: str
    fill: Callable[[Connection, Destination, Wrote], None]
    explain_lack: Callable[[Connection], str] = lambda _connection: ""


class Ways:
    """The ways of one load, for all of its threads: which one was used, and why no faster one."""

    def __init__(self, ways: Sequence[Way]) -> None:
        self._ways = ways
        self._refused: dict[str, str] = {}
        self._used: set[str] = set()
        self._changing = Lock()

    def fill(self, connection: Connection, destination: Destination, wrote_blocks: Wrote) -> None:
        """Write all rows of an empty table, in the first way that works. SlobError if none does."""
        for way in self._ways:
            if way.name not in self._refused and self._fill(way, connection, destination, wrote_blocks):
                return
        why = "; ".join(f"{name}: {reason}" for name, reason in self._refused.items())
        raise SlobError(f"no way to write rows works on this server: {why}")

    def _fill(self, way: Way, connection: Connection, destination: Destination, wrote_blocks: Wrote) -> bool:
        """Return whether it worked; if not, the table is empty again."""
        written = 0

        def wrote(blocks: int) -> None:
            nonlocal written
            written += blocks
            wrote_blocks(blocks)

        if reason := way.explain_lack(connection):
            self._refuse(way, reason)
            return False
        if reason := find_refusal(partial(way.fill, connection, destination, wrote)):
            self._refuse(way, reason)
            query(connection, statement("schema", "empty", table=destination.table.relation))
            wrote_blocks(-written)
            return False
        with self._changing:
            self._used.add(way.name)
        return True

    def _refuse(self, way: Way, reason: str) -> None:
        with self._changing:
            self._refused.setdefault(way.name, reason)

    @property
    def text(self) -> str:
        """Which way the rows came, and why not a faster one, for the load's checks."""
        used = " and ".join(way.name for way in self._ways if way.name in self._used)
        return used + "".join(f"; not {name}: {reason}" for name, reason in self._refused.items())


def _explain_lack(connection: Connection) -> str:
    if not connection.raw.thin:
        return "the driver has it in thin mode only"
    return "" if hasattr(connection.raw, "direct_path_load") else "this version of python-oracledb does not have it"


def _append_keys(connection: Connection, destination: Destination, wrote_blocks: Wrote) -> None:
    _append(
        connection,
        destination.table,
        ["custid"],
        ([(key,) for key in keys] for keys in destination.batches()),
        wrote_blocks,
    )


def _append_rows(connection: Connection, destination: Destination, wrote_blocks: Wrote) -> None:
    _append(connection, destination.table, ["custid", *TEXTS], destination.rows(), wrote_blocks)


def _append(
    connection: Connection,
    table: DataTable,
    columns: Sequence[str],
    batches: Iterator[list[tuple[Any, ...]]],
    wrote_blocks: Wrote,
) -> None:
    values = ", ".join(f":{number}" for number in range(1, len(columns) + 1))
    text = statement("load", "append", table=table.relation, columns=", ".join(columns), values=values)
    with closing(connection.raw.cursor()) as cursor:
        for rows in batches:
            connection.call(partial(cursor.executemany, text, rows))
            wrote_blocks(len(rows))


def _load_direct_path(connection: Connection, destination: Destination, wrote_blocks: Wrote) -> None:
    columns, relation = ["CUSTID", *(name.upper() for name in TEXTS)], destination.table.relation
    for rows in destination.rows():
        connection.call(partial(connection.raw.direct_path_load, destination.place.owner, relation, columns, rows))
        wrote_blocks(len(rows))


def _make_in_server(connection: Connection, destination: Destination, wrote_blocks: Wrote) -> None:
    """Send nothing but keys, into a temporary table; its rows end with each transaction."""
    relation, width = destination.table.relation, column_bytes(destination.place.block_size)
    keys = staging(relation)
    texts = TEXTS if destination.random_pct else ()
    columns = ", ".join(["custid", *texts])
    kept = width * destination.random_pct // 100
    made = f"DBMS_RANDOM.STRING('p', {kept})"
    made = made if kept == width else f"RPAD({made}, {width}, '{CONSTANT}')"
    values = ", ".join(["k.custid", *[made for _ in texts]])
    make = statement("load", "make", table=relation, columns=columns, values=values, keys=keys)
    stage = statement("load", "stage", keys=keys)
    query(connection, statement("load", "create_keys", keys=keys))
    connection.raw.autocommit = False
    position = 0
    try:
        with closing(connection.raw.cursor()) as cursor:
            for batch in destination.batches():
                rows = list(enumerate(batch, start=position))
                position += len(batch)
                connection.call(partial(cursor.executemany, stage, rows))
                change(connection, make)
                connection.call(connection.raw.commit)
                wrote_blocks(len(batch))
    finally:
        connection.raw.autocommit = True
    query(connection, statement("schema", "drop_table", table=keys))


_IN_SERVER = Way("rows made in the server from keys (APPEND)", _make_in_server)
_CONSTANT = (Way("keys sent, constant text as the columns' default (APPEND_VALUES)", _append_keys), _IN_SERVER)
_INCOMPRESSIBLE = (
    Way("rows sent by the driver's direct path load", _load_direct_path, _explain_lack),
    Way("rows sent (APPEND_VALUES)", _append_rows),
    _IN_SERVER,
)


def list_ways(obfuscate: bool) -> Sequence[Way]:
    """Return the ways to write rows of incompressible or constant text, the fastest first."""
    return _INCOMPRESSIBLE if obfuscate else _CONSTANT


def tables_of(spec: DataSpec) -> list[DataTable]:
    """Return all tables of a specification, the largest first."""
    return tables.tables_of(spec, cf1, cf2)


@dataclass(frozen=True)
class Filling:
    """How the tables of a load are filled: where, the ways that all its threads share, sessions that build an index.

    ``notes`` has by name what is worth knowing of the load beside its figures. ``batch_bytes`` are written at once.
    """

    place: Tablespace
    ways: Ways
    random_pct: int
    parallel: int
    notes: dict[str, str]
    batch_bytes: int = BATCH_BYTES


def fill(connection: Connection, table: DataTable, how: Filling, wrote_blocks: Wrote) -> None:
    """Create, fill, index and analyse a table.

    ``wrote_blocks`` is called after every batch of rows; an exception in it ends the load of the table.
    """
    _create(connection, table, how)
    _limit_rows_per_block(connection, table, how)
    how.ways.fill(connection, Destination(table, how.place, how.random_pct, how.batch_bytes), wrote_blocks)
    if not how.random_pct:
        _run(connection, "schema", "no_defaults", table=table.relation, columns=_list_columns("{name} DEFAULT NULL"))
    if table.indexed:
        _index(connection, table, how)
    _run(connection, "schema", "logging", table=table.relation)
    _analyze(connection, table)


def _run(connection: Connection, file: str, name: str, /, **identifiers: object) -> None:
    query(connection, statement(file, name, **identifiers))


def _list_columns(form: str, **values: object) -> str:
    return ", ".join(form.format(name=name, **values) for name in TEXTS)


def _create(connection: Connection, table: DataTable, how: Filling) -> None:
    width = column_bytes(how.place.block_size)
    default = "" if how.random_pct else f" DEFAULT '{constant_text(how.place.block_size)}'"
    columns = _list_columns("{name} VARCHAR2({width} BYTE){default}", width=width, default=default)
    place, relation = how.place.clause, table.relation
    _run(connection, "schema", "create_table", table=relation, columns=columns, initrans=INITRANS, in_tablespace=place)


def _limit_rows_per_block(connection: Connection, table: DataTable, how: Filling) -> None:
    """Make one row a block a property of the table. PCTFREE alone has the same effect, so it may be refused."""

    def limit() -> None:
        for name in ("first_row", "minimize", "empty"):
            _run(connection, "schema", name, table=table.relation)

    if reason := find_refusal(limit):
        how.notes["MINIMIZE RECORDS_PER_BLOCK"] = f"refused, so only PCTFREE keeps a block to one row: {reason}"
        _run(connection, "schema", "empty", table=table.relation)


def _index(connection: Connection, table: DataTable, how: Filling) -> None:
    parts = {"index": index(table.relation), "table": table.relation, "in_tablespace": how.place.clause}
    if how.parallel <= 1 or not _index_in_parallel(connection, parts, how):
        _run(connection, "schema", "create_index", parallel="NOPARALLEL", **parts)
    _run(connection, "schema", "index_logging", **parts)


def _index_in_parallel(connection: Connection, parts: Mapping[str, str], how: Filling) -> bool:
    """Create an index by several sessions; return False if the server refuses that, as some editions do."""
    create = partial(_run, connection, "schema", "create_index", parallel=f"PARALLEL {how.parallel}", **parts)
    if reason := find_refusal(create):
        how.notes["parallel index"] = f"refused: {reason}"
        return False
    _run(connection, "schema", "index_serial", **parts)
    return True


def _analyze(connection: Connection, table: DataTable) -> None:
    """Gather statistics, of large tables from a share of their blocks, and lock them."""
    percent = max(1, 100 * _SAMPLED_BLOCKS // table.blocks) if table.blocks > _SAMPLED_BLOCKS else 100
    values = {"table_name": table.relation}
    query(connection, statement("schema", "statistics"), values | {"percent": percent})
    query(connection, statement("schema", "lock_statistics"), values)


def check_table(connection: Connection, table: DataTable, place: Tablespace) -> list[Check]:
    """Return every check of one table, passed or not. SlobError if the table does not exist."""
    relation = _read_figures(connection, table, "relation", {"table_name": table.relation})
    keys = _read_figures(connection, table, "keys", {})
    rows = list(_sample_rows(connection, table))
    sizes = [row["value_bytes"] or 0 for row in rows] or [0]
    size = TEXT_COLUMNS * column_bytes(place.block_size) if table.blocks else 0
    around = (table.blocks * (1 - _ESTIMATE_TOLERANCE), table.blocks * (1 + _ESTIMATE_TOLERANCE))
    most = table.blocks * (1 + _BITMAP_SHARE) + _BITMAP_BLOCKS
    found = [
        check(table, IN_USE, relation["used_blocks"], table.blocks * (1 - BLOCK_TOLERANCE), most),
        *key_checks(table, keys["rows_there"], keys["lowest"], keys["highest"]),
        check(table, "rows that are not the first of their block", keys["not_first"], 0),
        check(table, "valid unique indexes on custid", relation["unique_indexes"], int(table.indexed)),
        placement_check(table, count_adjacent(rows)),
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


def count_adjacent(rows: Iterable[Row]) -> dict[str, float]:
    """Return of how many ``pairs`` of neighbouring blocks the keys are ``adjacent``."""
    by_place = sorted((parse_rowid(row["place"]), int(row["custid"])) for row in rows)
    keys = np.array([key for _, key in by_place], dtype=np.int64)
    steps = np.abs(np.diff(keys))
    return {"pairs": float(len(steps)), "adjacent": float(np.count_nonzero(steps == 1))}


class Rowid(NamedTuple):
    """Where a row lies; rows sort in the order of their blocks."""

    file: int
    block: int
    row: int


def parse_rowid(text: str) -> Rowid:
    """Return where an extended ROWID (18 digits to the base of 64) says that a row lies."""
    if len(text) != _ROWID_LENGTH or not set(text) <= set(_DIGIT_VALUES):
        raise SlobError(f"the server shows where a row is in a form that slob does not know: {text}")
    return Rowid(*(_parse_digits(text[part]) for part in (_FILE, _BLOCK, _ROW)))


def _parse_digits(digits: str) -> int:
    return reduce(lambda number, digit: number * len(_DIGITS) + _DIGIT_VALUES[digit], digits, 0)


def _sample_rows(connection: Connection, table: DataTable) -> Iterator[Row]:
    """Yield the rows whose places are looked at: all of a small table, of a large one those of stretches of blocks."""
    parts = list(stretches(table.blocks))
    if len(parts) == 1:
        yield from _read_rows(connection, table, "")
        return
    keys = [key for first, beyond in parts for key in table.keys.chunk(first, beyond).tolist()]
    for begin in range(0, len(keys), _LONGEST_LIST):
        listed = ", ".join(map(str, keys[begin : begin + _LONGEST_LIST]))
        yield from _read_rows(connection, table, f"WHERE t.custid IN ({listed})")


def _read_rows(connection: Connection, table: DataTable, stretch: str) -> list[Row]:
    return list(query(connection, statement("verify", "rows", table=table.relation, stretch=stretch)))


def _read_figures(connection: Connection, table: DataTable, name: str, values: Mapping[str, object]) -> Row:
    rows = query_if_visible(connection, statement("verify", name, table=table.relation), values)
    if not rows:
        raise missing_table(table)
    return {name: figure or 0 for name, figure in rows[0].items()}
