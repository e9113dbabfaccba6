"""The test tables: which there are for a specification, and how one of them is made and filled.

Rows are sent in the order of the surrogate primary key, so the server fills page after page. The constant fill is a
variable of the session, so the driver sends little more than keys; random text it has to send.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from openslob.engines.mysql.connection import Connection, ask, statement
from openslob.engines.mysql.names import Names
from openslob.engines.mysql.page_layout import Layout
from openslob.permutation import Permutation
from openslob.workload import DataSpec

# Key of the permutation of schema 0's tables, if there were one; each table has its own. Kept in the manifest.
PLACEMENT_KEY = 510
COLUMNS = tuple(f"c{number}" for number in range(2, 21))
# A statement is a transaction of its own: large enough to make commits cheap, small enough to stop soon.
_BATCH_BYTES = 1024 * 1024
_MOST_PAGES = 128
# Printable ASCII but for the characters that must be escaped and the blank, which is cut off at a value's end.
_PRINTABLE = np.array([code for code in range(33, 127) if chr(code) not in "'\\"], dtype=np.uint8)


@dataclass(frozen=True)
class Table:
    """One table to load: ``keys`` are its keys in the order of its pages; only ``indexed`` ones have an index."""

    name: str
    relation: str
    keys: Permutation
    indexed: bool

    @property
    def pages(self) -> int:
        """Visited rows, and so pages."""
        return self.keys.size


def tables_of(spec: DataSpec, names: Names) -> list[Table]:
    """All tables of a specification, the biggest first, so that none is left to load alone at the end."""
    return sorted(_tables(spec, names), key=lambda table: -table.pages)


def _tables(spec: DataSpec, names: Names) -> Iterator[Table]:
    for number in range(1, spec.schemas + 1):
        key = PLACEMENT_KEY + 2 * number
        yield Table(f"cf1_{number}", names.cf1(number), Permutation(spec.scale_blocks, key), indexed=True)
        yield Table(f"cf2_{number}", names.cf2(number), Permutation(spec.scan_blocks, key + 1), indexed=False)


def fill(
    connection: Connection, table: Table, layout: Layout, obfuscate: bool, wrote_blocks: Callable[[int], None]
) -> None:
    """Make, fill, index and analyse a table. ``wrote_blocks`` hears of every batch; what it raises ends the load."""
    columns = ", ".join(f"{name} CHAR({layout.value_bytes})" for name in COLUMNS)
    ask(connection, statement("schema", "create_table", table=table.relation, columns=columns))
    ask(connection, statement("load", "constants"), vars(layout))
    pages = min(_MOST_PAGES, max(1, _BATCH_BYTES // _page_bytes(layout)))
    for first in range(0, table.pages, pages):
        keys = table.keys.chunk(first, first + pages).tolist()
        rows, values = _random_rows(first, keys, layout) if obfuscate else (_constant_rows(first, keys, layout), ())
        insert = statement("load", "insert", table=table.relation, columns=", ".join(COLUMNS), rows=rows)
        with connection.cursor() as cursor:
            cursor.execute(insert, values or None)
        wrote_blocks(len(keys))
    if table.indexed:
        ask(connection, statement("schema", "create_index", table=table.relation))
    ask(connection, statement("load", "analyze", table=table.relation))


def _page_bytes(layout: Layout) -> int:
    return len(COLUMNS) * layout.value_bytes + layout.pad_bytes + layout.fillers * layout.filler_pad_bytes


def _constant_rows(first: int, keys: list[int], layout: Layout) -> str:
    values, nulls = ", ".join(["@value"] * len(COLUMNS)), ", ".join(["NULL"] * len(COLUMNS))
    parts = []
    for page, key in enumerate(keys, start=first):
        row = page * layout.rows_per_page
        parts.append(f"({row}, {key}, {values}, @pad)")
        parts += [f"({row + number}, NULL, {nulls}, @filler)" for number in range(1, layout.rows_per_page)]
    return ", ".join(parts)


def _random_rows(first: int, keys: list[int], layout: Layout) -> tuple[str, tuple[object, ...]]:
    """The same with incompressible text: the list of VALUES with places for it, and the text."""
    visited, filler = f"(%s, %s{', %s' * len(COLUMNS)}, %s)", f"(%s, NULL{', NULL' * len(COLUMNS)}, %s)"
    parts: list[object] = []
    for page, key in enumerate(keys, start=first):
        row, text = page * layout.rows_per_page, _random_text(layout)
        parts += [row, key, *(next(text) for _ in COLUMNS), next(text)]
        for number in range(1, layout.rows_per_page):
            parts += [row + number, next(text)]
    rows = ", ".join([visited, *[filler] * layout.fillers])
    return ", ".join([rows] * len(keys)), tuple(parts)


def _random_text(layout: Layout) -> Iterator[str | None]:
    lengths = [layout.value_bytes] * len(COLUMNS) + [layout.pad_bytes] + [layout.filler_pad_bytes] * layout.fillers
    chance = np.random.default_rng().integers(0, len(_PRINTABLE), sum(lengths), dtype=np.uint8)
    text, place = _PRINTABLE[chance].tobytes().decode("ascii"), 0
    for length in lengths:
        yield text[place : place + length] or None
        place += length
