"""The ways to write the rows of a table, the fastest first, and which of them this server, driver and user allow.

Constant text is the default of the columns during the load, so that nothing but keys is sent. Incompressible text is
made here and sent: the server would need milliseconds a row for it. All ways write whole blocks past the cache, and in
all of them rows come in the order of the keys. A way that the server refuses is not tried again in the same load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
import oracledb
from numpy.typing import NDArray

from openslob.core.errors import SlobError
from openslob.core.units import MIB
from openslob.engines.oracle.connection import Connection, change, query, statement
from openslob.engines.oracle.errors import explain_error, is_final
from openslob.engines.oracle.names import staging
from openslob.engines.oracle.page_layout import TEXT_COLUMNS, value_bytes_of
from openslob.engines.oracle.tablespace import Tablespace
from openslob.engines.tables import DataTable

TEXTS = tuple(f"c{number}" for number in range(2, TEXT_COLUMNS + 2))
# Each batch is a transaction of its own: large enough to make commits cheap, small enough to be cancelled soon.
_BATCH_BYTES = 16 * MIB
# Random bytes become printable ASCII: about 6.55 bits of chance in each, so compression gains a fifth at most.
_PRINTABLE = bytes(32 + value % 95 for value in range(256))


@dataclass(frozen=True)
class Destination:
    """A table that is filled: where it lies, and whether its text is incompressible."""

    table: DataTable
    place: Tablespace
    obfuscate: bool

    def batches(self) -> Iterator[list[int]]:
        """Yield the keys in their order, a batch at a time."""
        rows = max(1, _BATCH_BYTES // self.place.block_size)
        return (chunk.tolist() for chunk in self.table.keys.chunks(rows))

    def rows(self) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the same batches with the text of each row, which is the same in every load."""
        random = np.random.Generator(np.random.SFC64(self.table.keys.key))
        width = value_bytes_of(self.place.block_size)
        for keys in self.batches():
            yield [(key, *texts) for key, texts in zip(keys, _texts(random, len(keys), width), strict=True)]


Wrote = Callable[[int], None]


@dataclass(frozen=True)
class Way:
    """A way to fill a table: its name, why this connection does not have it (empty if it does), and what it does."""

    name: str
    lacking: Callable[[Connection], str]
    fill: Callable[[Connection, Destination, Wrote], None]


class Ways:
    """The ways of one load, for all of its threads: which one was used, and why no faster one."""

    def __init__(self, obfuscate: bool) -> None:
        self._ways: Sequence[Way] = _INCOMPRESSIBLE if obfuscate else _CONSTANT
        self._refused: dict[str, str] = {}
        self._used: set[str] = set()
        self._changing = Lock()

    @classmethod
    def only(cls, way: Way, obfuscate: bool) -> Ways:
        """Return the ways of a load that knows no other."""
        found = cls(obfuscate)
        found._ways = (way,)
        return found

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

        if reason := way.lacking(connection):
            self._refuse(way, reason)
            return False
        try:
            way.fill(connection, destination, wrote)
        except oracledb.Error as error:
            if is_final(error):
                raise
            self._refuse(way, explain_error(error))
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


def _available(_connection: Connection) -> str:
    return ""


def _direct_path_lacking(connection: Connection) -> str:
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


def _direct_path(connection: Connection, destination: Destination, wrote_blocks: Wrote) -> None:
    columns, relation = ["CUSTID", *(name.upper() for name in TEXTS)], destination.table.relation
    for rows in destination.rows():
        connection.call(partial(connection.raw.direct_path_load, destination.place.owner, relation, columns, rows))
        wrote_blocks(len(rows))


def _in_server(connection: Connection, destination: Destination, wrote_blocks: Wrote) -> None:
    """Send nothing but keys, into a temporary table; its rows end with each transaction."""
    relation, width = destination.table.relation, value_bytes_of(destination.place.block_size)
    keys = staging(relation)
    texts = TEXTS if destination.obfuscate else ()
    columns = ", ".join(["custid", *texts])
    values = ", ".join(["k.custid", *[f"DBMS_RANDOM.STRING('p', {width})" for _ in texts]])
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


_BY_KEYS = Way("keys sent, constant text as the columns' default (APPEND_VALUES)", _available, _append_keys)
_BY_ROWS = Way("rows sent (APPEND_VALUES)", _available, _append_rows)
_BY_DIRECT_PATH = Way("rows sent by the driver's direct path load", _direct_path_lacking, _direct_path)
_IN_SERVER = Way("rows made in the server from keys (APPEND)", _available, _in_server)
_CONSTANT = (_BY_KEYS, _IN_SERVER)
_INCOMPRESSIBLE = (_BY_DIRECT_PATH, _BY_ROWS, _IN_SERVER)


# Each way with each kind of text that it is for.
EVERY_WAY = (*((way, False) for way in _CONSTANT), *((way, True) for way in _INCOMPRESSIBLE))


def _texts(random: np.random.Generator, rows: int, width: int) -> list[list[str]]:
    """Return the texts of some rows."""
    text: NDArray[np.bytes_] = np.frombuffer(
        random.bytes(rows * TEXT_COLUMNS * width).translate(_PRINTABLE), f"S{width}"
    )
    return text.astype(str).reshape(rows, TEXT_COLUMNS).tolist()
