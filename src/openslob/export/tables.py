"""Tables as CSV, JSON, Parquet and plain XLSX."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from openslob.errors import SlobError

Cell = str | int | float | bool | None


def as_csv(headings: Sequence[str], rows: Iterable[Iterable[Cell]]) -> str:
    """Return comma-separated values with a line of headings; a cell without a value is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows(rows)
    return out.getvalue()


def rounded(cell: Cell) -> str:
    """Return the text of a cell for people: ten significant digits without thousands separators, yes or no."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return f"{cell:.10g}" if isinstance(cell, float) else str(cell)


def as_json(document: object) -> str:
    """Return JSON text. ValueError for a number that JSON does not have, such as NaN."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def as_parquet(rows: Sequence[Mapping[str, Cell]]) -> bytes:
    """Return a Parquet file. SlobError when the library for it is not installed."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - large, and an extra
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError as error:
        raise SlobError("Parquet needs pyarrow, which is not installed", "pip install 'openslob[parquet]'") from error
    target = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows)), target)
    return target.getvalue()


def write_xlsx(
    path: Path, headings: Sequence[str], rows: Iterable[Sequence[Cell]], notes: Iterable[Sequence[str]] = ()
) -> None:
    """Write a workbook with the table and, on a second sheet, ``notes``: a line of headings, then their lines."""
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
