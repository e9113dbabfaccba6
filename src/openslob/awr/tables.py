"""Table of a report, as returned by both lexers: section title, column headings and rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache


def squeeze(text: str) -> str:
    """Collapse each run of white space to one blank, and strip both ends."""
    return " ".join(text.split())


def flatten(text: str) -> bytes:
    """Return ``text`` in lower case with one byte for each character, for the search for words of ASCII in it."""
    return text.encode("ascii", errors="replace").lower()


@lru_cache(maxsize=4096)  # a report repeats few headings in many tables
def plain(title: str) -> str:
    """Normalize a title or heading: lower case, single blanks, no trailing colon."""
    return squeeze(title).rstrip(":").strip().lower()


@lru_cache(maxsize=4096)  # a table goes over many pages, and reports of a version have the same headings
def _index(columns: tuple[str, ...], patterns: tuple[str, ...]) -> int | None:
    headings = [plain(column) for column in columns]
    for pattern in patterns:
        for at, heading in enumerate(headings):
            if re.fullmatch(pattern, heading):
                return at
    return None


@dataclass(frozen=True, slots=True)
class ReportTable:
    """One table of a report.

    ``section`` is the title above the table, ``summary`` HTML's summary attribute or empty. ``columns`` are headings
    with their lines joined, ``rows`` stripped cells. ``widths`` are the widths of a text table's columns, empty for
    HTML (a name that fills its column may be cut). ``misfits`` are the printed rows that do not fit the columns.
    """

    section: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    summary: str = ""
    widths: tuple[int, ...] = ()
    misfits: tuple[str, ...] = field(default=())

    def index(self, *patterns: str) -> int | None:
        """Return the first column whose plain heading matches one of ``patterns``, tried in order, or None."""
        return _index(self.columns, patterns)

    def of_cluster(self) -> tuple[str, ...] | None:
        """Return the row of the whole cluster in a table with a row per instance: ``Sum``, or the only instance's."""
        for row in self.rows:
            if row[0].lower() == "sum":
                return row
        listed = [row for row in self.rows if row[0].isdigit()]
        return listed[0] if len(listed) == 1 else None

    def by_instance(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield each row after the number of its instance, which text prints only in the first of several rows.

        It is ``*`` for all instances, and empty in a table without such numbers.
        """
        at, number = self.index("i#"), ""
        for row in self.rows:
            number = cell(row, at) or number
            yield number, row

    def read_labels(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield each ``label:`` of the table with the non-empty cells that follow it."""
        for row in self.rows:
            label, values = "", list[str]()
            for at, cell in enumerate(row):
                if cell.endswith(":") or (at == 0 and cell):
                    if label:
                        yield plain(label), tuple(values)
                    label, values = cell, []
                elif cell:
                    values.append(cell)
            if label:
                yield plain(label), tuple(values)


def cell(row: tuple[str, ...], at: int | None) -> str:
    """Return the cell at column ``at``; empty if there is no such column or the row is shorter."""
    return row[at] if at is not None and at < len(row) else ""
