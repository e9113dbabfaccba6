"""The test tables: which there are for a specification, and how one of them is made and filled.

One COPY stream writes about 500 MB of blocks a second on a two-core virtual machine, and the server's own work on it is
the limit: one core of it is busy taking the rows apart, checking their encoding and writing the blocks, while the
driver uses a seventh of one (a third with random text). So several tables are loaded at the same time; a single one
goes no faster than its stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from openslob.engines.postgresql.copy_format import HEADER, TRAILER, batches, constant_text
from openslob.engines.postgresql.names import Names
from openslob.engines.sql import read_statements
from openslob.permutation import Permutation
from openslob.workload import DataSpec

PACKAGE = "openslob.engines.postgresql"
Connection = psycopg.Connection[Any]

# Key of the permutation of schema 0's tables, if there were one; each table has its own. Kept in the manifest.
PLACEMENT_KEY = 510


@dataclass(frozen=True)
class Table:
    """One table to load: ``keys`` are its keys in the order of its blocks; only ``indexed`` ones have an index."""

    identifier: sql.Identifier
    keys: Permutation
    indexed: bool

    @property
    def relation(self) -> str:
        """Its quoted name, as the server reads it."""
        return self.identifier.as_string()

    @property
    def name(self) -> str:
        """Its name in messages."""
        return self.relation.replace('"', "")

    @property
    def rows(self) -> int:
        """Rows, and so blocks."""
        return self.keys.size


def tables_of(spec: DataSpec, names: Names) -> list[Table]:
    """All tables of a specification, the biggest first, so that none is left to load alone at the end."""
    return sorted(_tables(spec, names), key=lambda table: -table.rows)


def _tables(spec: DataSpec, names: Names) -> Iterator[Table]:
    for number in range(1, spec.schemas + 1):
        yield table_cf1(names, number, spec.scale_blocks)
        yield table_cf2(names, number, spec.scan_blocks)


def table_cf1(names: Names, number: int, blocks: int) -> Table:
    """The table of one row a block of a schema."""
    return Table(names.cf1(number), Permutation(blocks, PLACEMENT_KEY + 2 * number), indexed=True)


def table_cf2(names: Names, number: int, blocks: int) -> Table:
    """The short-scan table of a schema."""
    return Table(names.cf2(number), Permutation(blocks, PLACEMENT_KEY + 2 * number + 1), indexed=False)


def statement(file: str, name: str, **identifiers: sql.Composable) -> sql.Composed:
    """A statement of one of our .sql files with its identifiers put in."""
    return sql.SQL(read_statements(PACKAGE, file)[name]).format(**identifiers)


def fill(
    connection: Connection, table: Table, block_size: int, obfuscate: bool, wrote_blocks: Callable[[int], None]
) -> None:
    """Make, fill, index, vacuum and analyse a table; all but the last two in one transaction: whole or not there.

    ``wrote_blocks`` hears of every batch of rows; what it raises ends the load of the table.
    """
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(statement("schema", "create_table", table=table.identifier))
        if not obfuscate:
            text = sql.Literal(constant_text(block_size))
            cursor.execute(statement("load", "set_text", table=table.identifier, text=text))
        with cursor.copy(statement("load", "copy_rows" if obfuscate else "copy_keys", table=table.identifier)) as copy:
            copy.write(HEADER)
            for batch, rows in batches(table.keys, block_size, obfuscate):
                copy.write(batch)
                wrote_blocks(rows)
            copy.write(TRAILER)
        if not obfuscate:
            cursor.execute(statement("load", "unset_text", table=table.identifier))
        if table.indexed:
            cursor.execute(statement("schema", "create_index", table=table.identifier))
    connection.execute(statement("load", "vacuum", table=table.identifier))
