"""``slob awr``: AWR and Statspack reports as a table, CSV, XLSX or JSON, and as petals."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from enum import StrEnum
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from openslob.awr.batch import Result, Selection, extract_all
from openslob.awr.columns import ROW_SETS, SETS
from openslob.cli.console import notify, remark, write, write_file
from openslob.cli.picture_options import THEME, PictureTheme
from openslob.errors import SlobError, UsageError
from openslob.export import tidy

if TYPE_CHECKING:
    from openslob.analyze.curves.external_points import ExternalPoint

TITLE = "Latency over read IOPS and MB/s"
READ_LATENCY = "Single-block read latency"
NO_COUNTS = "No session counts in file names: the numbers at the points are the order of the files."

_SETS = ", ".join((*SETS, *ROW_SETS))


def check_picture(path: Path) -> None:
    """Raise UsageError unless the file's ending names a picture format."""
    # The drawing library takes a second to import, and pictures are the exception.
    from openslob.report.html.pages import check_format  # noqa: PLC0415

    check_format(path)


def draw(path: Path, results: Sequence[Result], events: Sequence[str], theme: PictureTheme) -> None:
    """Draw the reports that have a point, and print why others have none. SlobError if no report has a point."""
    from openslob.report.html.pages import draw_external_points  # noqa: PLC0415

    for result in results:
        if result.no_point:
            remark(f"{result.path}: not in the picture: {result.no_point}")
    points = list(_external_points(results))
    if not points:
        raise SlobError("no report has both reads per second and a latency", "nothing is drawn")
    notes = [NO_COUNTS] if any(result.point and result.point.sessions is None for result in results) else []
    latency = events[0].capitalize() if events else READ_LATENCY
    for file, ground in theme.files(path):
        write_file(file, draw_external_points(points, path.suffix.lower(), TITLE, notes, latency, ground))
        remark(f"{file}: {len(points)} reports drawn")


def _external_points(results: Sequence[Result]) -> Iterator[ExternalPoint]:
    from openslob.analyze.curves.external_points import ExternalPoint  # noqa: PLC0415
    from openslob.analyze.curves.points import ORDER, SESSIONS  # noqa: PLC0415
    from openslob.record.model import Holds, Verdict  # noqa: PLC0415

    for position, result in enumerate(results, start=1):
        if point := result.point:
            yield ExternalPoint(
                series=point.series,
                sessions=position if point.sessions is None else point.sessions,
                along=ORDER if point.sessions is None else SESSIONS,
                figures={
                    "pio_read_per_s": point.reads,
                    "pio_read_mb_per_s": point.read_mb,
                    "engine_read_latency_us": point.latency_us,
                    "db_cpu_per_s": point.db_cpu,
                    "host_cpu_busy_pct": point.host_busy_pct,
                },
                source=point.file,
                verdicts=[
                    Verdict(name=verdict.name, verdict=Holds(verdict.verdict), why=verdict.why)
                    for verdict in result.verdicts
                ],
            )


class AwrFormat(StrEnum):
    """Output formats."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    XLSX = "xlsx"


class Grouping(StrEnum):
    """What the points of one line of the picture have in common."""

    NAME = "name"
    DIR = "dir"
    BLOCK_SIZE = "block_size"
    NONE = "none"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("awr")(awr)


def awr(
    files: Annotated[list[Path], typer.Argument(help="AWR or Statspack reports, text or HTML.")],
    columns: Annotated[
        str, typer.Option(metavar="SET|LIST", help=f"A set ({_SETS}) or a list of columns, see docs/awr.md.")
    ] = "slob",
    event: Annotated[
        list[str] | None,
        typer.Option(metavar="EVENT", help="Wait event for --columns events and --petals; repeatable."),
    ] = None,
    form: Annotated[
        AwrFormat | None, typer.Option("--format", help="Default: by the ending of --output, else a table.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", metavar="", help="The same as --format json.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file.")] = None,
    petals: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw latency over reads/s and MB/s read: .html (offline), .svg or .png."),
    ] = None,
    theme: THEME = PictureTheme.LIGHT,
    group_by: Annotated[Grouping, typer.Option(help="What the points of a line have in common.")] = Grouping.NAME,
    pattern: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX", help=r"Regular expression for file names: (?P<sessions>\d+), writers, readers, group."
        ),
    ] = None,
    jobs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Processes; by default one per core.")] = None,
) -> None:
    r"""Read AWR and Statspack reports, without a database: a row per report, event or verdict.

    Exit code 0: every report was read completely; 1: some were; 2: none was.

    Example: slob awr reports/awr_0_*.txt --columns events --petals petals.html
    """
    form = _format(form, json, output)
    for target in filter(None, (output, petals)):
        _check_target(target)
    if petals is not None:
        check_picture(petals)
    details = form is AwrFormat.JSON or petals is not None
    selection = Selection(columns, tuple(event or ()), pattern, group_by.value, details)
    results = list(_with_messages(extract_all([str(file) for file in files], selection, jobs)))
    _write(form, output, selection, results)
    if petals is not None:
        draw(petals, results, selection.events, theme)
    raise typer.Exit(_exit_code(results))


def _check_target(path: Path) -> None:
    """Raise UsageError for a file that can't be written, before thousands of reports are read."""
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"{path} can't be written", "give a file in a directory that you may write to")


def _format(form: AwrFormat | None, json: bool, output: Path | None) -> AwrFormat:
    if json:
        return AwrFormat.JSON
    endings = {".csv": AwrFormat.CSV, ".json": AwrFormat.JSON, ".xlsx": AwrFormat.XLSX}
    chosen = form or (endings.get(output.suffix.lower()) if output else None) or AwrFormat.TABLE
    if chosen is AwrFormat.XLSX and output is None:
        raise UsageError("--format xlsx needs an output file", "add --output figures.xlsx")
    return chosen


def _with_messages(results: Iterator[Result]) -> Iterator[Result]:
    """Yield ``results`` and print the error and the warnings of each on stderr as it comes."""
    for result in results:
        if result.error:
            notify(result.error)
        for warning in result.warnings:
            remark(f"{result.path}: warning: {warning}")
        yield result


def _write(form: AwrFormat, output: Path | None, selection: Selection, results: Sequence[Result]) -> None:
    headings = selection.headings()
    rows = [[reading.value for reading in row] for result in results for row in result.rows]
    if form is AwrFormat.XLSX and output is not None:
        write_file(output, tidy.as_xlsx(headings, rows, _notes(headings, results)))
    elif form is AwrFormat.TABLE:
        _table(headings, rows, output)
    else:
        text = (
            tidy.as_csv(headings, [map(tidy.rounded, row) for row in rows])
            if form is AwrFormat.CSV
            else tidy.as_json(_document(headings, results))
        )
        _output(text, output)


def _output(text: str, output: Path | None) -> None:
    if output is None:
        write(text, end="")
    else:
        write_file(output, text)


def _table(headings: Sequence[str], rows: Sequence[Sequence[tidy.Cell]], output: Path | None) -> None:
    """Print a table. In a file or a pipe, it is as wide as its columns need."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for index, heading in enumerate(headings):
        figures = all(isinstance(row[index], int | float | None) for row in rows)
        table.add_column(heading, justify="right" if figures else "left", no_wrap=not figures, overflow="fold")
    for row in rows:
        table.add_row(*(escape(_cell_text(cell)) for cell in row))
    with StringIO() as text:
        Console(file=text, width=None if sys.stdout.isatty() and output is None else 500).print(table)
        _output("".join(line.rstrip() + "\n" for line in text.getvalue().splitlines()), output)


def _cell_text(cell: tidy.Cell) -> str:
    """Return a cell as text: four significant digits, a dash for a missing value."""
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:,.4g}"
    return f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)


def _notes(headings: Sequence[str], results: Sequence[Result]) -> Iterator[Sequence[str]]:
    """Yield a line of headings, then missing figures with the reason, warnings, and files that failed."""
    yield ("file", "column", "note")
    for result in results:
        for row in result.rows:
            yield from (
                (result.path, heading, f"missing: {reading.why}")
                for heading, reading in zip(headings, row, strict=True)
                if reading.value is None
            )
        yield from ((result.path, "", note) for note in (result.error, *result.warnings) if note)


def _document(headings: Sequence[str], results: Sequence[Result]) -> dict[str, object]:
    return {"columns": list(headings), "reports": [_entry(headings, result) for result in results]}


def _entry(headings: Sequence[str], result: Result) -> dict[str, object]:
    readings = [dict(zip(headings, row, strict=True)) for row in result.rows]
    return {
        "path": result.path,
        "status": result.status,
        "error": result.error or None,
        "rows": [{heading: reading.value for heading, reading in row.items()} for row in readings],
        "missing": [{h: r.why for h, r in row.items() if r.value is None} for row in readings],
        "sources": [{h: r.source for h, r in row.items() if r.source} for row in readings],
        "verdicts": [asdict(verdict) for verdict in result.verdicts],
        "warnings": list(result.warnings),
        "unparsed": list(result.unparsed),
    }


def _exit_code(results: Sequence[Result]) -> int:
    """Return 0 if all reports were read completely, 1 if some were, 2 if none was."""
    if all(result.status == "whole" for result in results):
        return 0
    return 2 if all(result.status == "failed" for result in results) else 1
