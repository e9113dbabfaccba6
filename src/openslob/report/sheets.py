"""A table of results as CSV, JSON or XLSX: one definition, every format."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

Cell = str | int | float | bool | None


def as_csv(headings: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Comma-separated values with a line of headings; a cell without a value is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows([csv_cell(cell) for cell in row] for row in rows)
    return out.getvalue()


def csv_cell(cell: Cell) -> str:
    """Text of a cell; numbers in full, without thousands separators."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return f"{cell:.10g}" if isinstance(cell, float) else str(cell)


def as_json(document: object) -> str:
    """JSON text; nothing that is not JSON (no NaN) is let through."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_xlsx(
    path: Path, headings: Sequence[str], rows: Iterable[Sequence[Cell]], notes: Iterable[Sequence[str]] = ()
) -> None:
    """A workbook with the table and, on a second sheet, ``notes`` (a first line of headings, then lines)."""
    import xlsxwriter  # noqa: PLC0415 - only this format needs it

    options = {"strings_to_formulas": False, "strings_to_urls": False, "constant_memory": True}
    with xlsxwriter.Workbook(str(path), options) as book:
        bold = book.add_format({"bold": True})
        figure = book.add_format({"num_format": "#,##0.###"})
        sheet = book.add_worksheet("figures")
        sheet.freeze_panes(1, 1)
        sheet.set_column(0, len(headings), 14)
        sheet.write_row(0, 0, headings, bold)
        for at, row in enumerate(rows, start=1):
            for column, cell in enumerate(row):
                sheet.write(at, column, cell, figure if isinstance(cell, float) else None)
        lines = list(notes)
        if lines:
            second = book.add_worksheet("notes")
            for at, line in enumerate(lines):
                second.write_row(at, 0, line, None if at else bold)
