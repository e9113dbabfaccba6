"""Slices of sessions as the lines of `slices.csv`, made up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from openslob.analyze.run_tables import RunTables
from openslob.record.cells import Cells
from openslob.record.raw_csv import COLUMNS

COLUMNS_OF_SLICES = COLUMNS["slices.csv"]
# What a slice has that says nothing else.
PLAIN: Mapping[str, Any] = {**dict.fromkeys(COLUMNS_OF_SLICES, 0), "first_op_ns": "", "max_us": "", "due_ns": ""}


def lines(rows: Iterable[Mapping[str, Any]]) -> Cells:
    """The cells of slices, of each of which some columns are given."""
    text = "".join(",".join(str({**PLAIN, **row}[name]) for name in COLUMNS_OF_SLICES) + "\n" for row in rows)
    return Cells(text.encode(), len(COLUMNS_OF_SLICES))


def tables_of_slices(begin_ns: int, rows: Iterable[Mapping[str, Any]]) -> RunTables:
    """The tables of a load that began then, of which there are slices alone."""
    tables = RunTables(begin_ns)
    tables.take("slices.csv", COLUMNS_OF_SLICES, lines(rows))
    return tables
