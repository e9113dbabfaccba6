"""The one shape both lexers deliver: a table with its section's title, its column headings and its rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_SPACE = re.compile(r"\s+")


def squeeze(text: str) -> str:
    """``text`` with every run of white space made one blank, and none at its ends."""
    return _SPACE.sub(" ", text).strip()


def plain(title: str) -> str:
    """A title or heading made comparable: lower case, single blanks, no colon at the end."""
    return squeeze(title).rstrip(":").strip().lower()


@dataclass(frozen=True, slots=True)
class ReportTable:
    """One table of a report.

    ``section``: the title above it; ``summary``: HTML's summary attribute, else empty; ``columns``: headings,
    lines joined; ``rows``: cells as printed, stripped; ``widths``: characters a text column has room for (a name
    that fills it may be cut), empty for HTML; ``misfits``: rows whose text does not fit the columns, as printed.
    """

    section: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    summary: str = ""
    widths: tuple[int, ...] = ()
    misfits: tuple[str, ...] = field(default=())

    def index(self, *patterns: str) -> int | None:
        """The first column whose plain heading matches one of ``patterns`` (tried in their order), or None."""
        headings = [plain(column) for column in self.columns]
        for pattern in patterns:
            for at, heading in enumerate(headings):
                if re.fullmatch(pattern, heading):
                    return at
        return None

    def labelled(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Every ``label:`` of the table with the cells that follow it, blanks left out."""
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
    """The cell at column ``at``; empty when the table has no such column or the row ends before it."""
    return row[at] if at is not None and at < len(row) else ""
