"""``slob awr``: AWR and Statspack reports as a table, CSV, XLSX or JSON, and as petals."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openslob.awr import Report, comparison, read_all
from openslob.awr.batch import Extraction, Result, extract_all
from openslob.awr.inputs import expand_paths
from openslob.awr.rows import FILE, ROW_SETS
from openslob.awr.selection import (
    GIVEN,
    LIST,
    LIST_HEADINGS,
    MODEL,
    NATURAL,
    SETS,
    TIME,
    keys,
    list_choices,
    list_sets,
    parse_order,
)
from openslob.cli.console import columns as screen_columns
from openslob.cli.console import complain, remark, write, write_file
from openslob.cli.picture_options import THEME, PictureTheme, refuse_picture
from openslob.cli.progress import show_count
from openslob.core.errors import SlobError, UsageError
from openslob.core.extras import require_extra
from openslob.export import tidy
from openslob.report.format import fold_table

if TYPE_CHECKING:
    from openslob.analyze.curves.external_points import ExternalPoint

TITLE = "Latency over read IOPS and MB/s"
READ_LATENCY = "Single-block read latency"
NO_COUNTS = "The file names contain no session counts: no line joins the points; their numbers are row numbers."

HELP = "help"  # in place of a file
DEFAULT_SET = "slob"

_SETS = ", ".join((*SETS, *ROW_SETS, MODEL, LIST))


def check_picture(path: Path) -> None:
    """Raise UsageError unless the file's ending names a picture format; SlobError if nothing can be drawn here."""
    require_extra("pictures")
    # The drawing library takes a second to import, and pictures are the exception.
    from openslob.report.picture_files import check_format  # noqa: PLC0415

    check_format(path)


def draw(path: Path, results: Sequence[Result], events: Sequence[str], theme: PictureTheme) -> None:
    """Draw the reports that have a point, and print why others have none. SlobError if no report has a point."""
    from openslob.report.picture_files import draw_external_points  # noqa: PLC0415

    for result in results:
        if result.no_point:
            remark(f"{result.path}: not in the picture: {result.no_point}")
    points = list(_external_points(results))
    if not points:
        raise SlobError("no report has reads per second and a latency: nothing to draw", "leave --petals out")
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
                database=point.database,
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


FILES = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE",
        help="AWR or Statspack reports, text or HTML; also folders, patterns, .gz, .zip, and - for standard input.",
    ),
]
COLUMNS = Annotated[
    str, typer.Option(metavar="SET|COLUMN,...", help=f"A set ({_SETS}), or columns; 'list' prints all of them.")
]
EVENTS = Annotated[
    list[str] | None,
    typer.Option(
        metavar="EVENT", help="Wait event for the sets with events and for --petals; 'all' for all of them; repeatable."
    ),
]
FORM = Annotated[
    AwrFormat | None, typer.Option("--format", "-f", help="Default: by the ending of --output, else a table.")
]
SORT = Annotated[
    str,
    typer.Option(
        metavar="ORDER",
        help=f"Order of the reports: {NATURAL} (folder, series, sessions, time), {TIME}, {GIVEN}, or a column; "
        "-COLUMN for the largest first.",
    ),
]
PETALS = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Draw latency over reads/s and MB/s read: .html (offline), .svg or .png."),
]
COMPARE = Annotated[
    bool,
    typer.Option(
        "--compare",
        metavar="",
        help="Compare two reports, or the periods of a compare-period report: rates, ratios, what differs.",
    ),
]
PATTERN = Annotated[
    str | None,
    typer.Option(
        metavar="REGEX", help=r"Regular expression for file names: (?P<sessions>\d+), writers, readers, group."
    ),
]


def awr(
    files: FILES = None,
    columns: COLUMNS = DEFAULT_SET,
    event: EVENTS = None,
    form: FORM = None,
    json: Annotated[bool, typer.Option("--json", metavar="", help="The same as --format json.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file.")] = None,
    sort: SORT = NATURAL,
    petals: PETALS = None,
    theme: THEME = PictureTheme.LIGHT,
    group_by: Annotated[Grouping, typer.Option(help="What the points of one line share.")] = Grouping.NAME,
    pattern: PATTERN = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=1024, help="Processes; by default one per core.")
    ] = None,
    compare: COMPARE = False,
) -> None:
    r"""Read AWR and Statspack reports, without a database: a row per report, event, file, instance or verdict.

    Exit code 0: every report was read completely; 1: some were; 2: none was.

    Example: slob awr reports/ --columns events --petals petals.html
    """
    refuse_picture(output, "--output writes a table", f"to draw the reports: --petals {output}")
    form = _format(form, json, output, columns)
    for target in filter(None, (output, petals)):
        _check_target(target)
    if petals is not None:
        check_picture(petals)
    if not files or [str(file) for file in files] == [HELP]:
        _write_listing(columns, form, output, sets_only=bool(files))
        return
    if compare:
        _refuse_with_compare(columns=columns != DEFAULT_SET, event=event, petals=petals)
        _write_comparison([path for path, _ in expand_paths(map(str, files))], form, output)
        return
    details = form is AwrFormat.JSON or petals is not None
    in_file = form is not AwrFormat.TABLE
    wanted = Extraction(columns, tuple(event or ()), pattern, group_by.value, details, in_file, order=parse_order(sort))
    found = dict(expand_paths(map(str, files)))
    read = show_count(extract_all(list(found), wanted, jobs), "reading reports", len(found))
    results = list(_with_messages(read, found))
    if all(_is_left_out(result, found) for result in results):
        complain(f"no AWR or Statspack report in {', '.join(map(str, files))}")
    results = _sort([result for result in results if not _is_left_out(result, found)], wanted)
    _write(form, output, wanted, results)
    if petals is not None:
        draw(petals, results, wanted.events, theme)
    raise typer.Exit(_exit_code(results))


def _write_listing(columns: str, form: AwrFormat, output: Path | None, sets_only: bool) -> None:
    """Write what there is to choose from. UsageError if reports are needed."""
    if columns != LIST and not sets_only:
        raise UsageError("no report is given", "give files or a folder, such as `slob awr reports/`")
    _write_rows(form, output, LIST_HEADINGS, list(list_sets() if sets_only else list_choices()), key_count=1)


def _refuse_with_compare(**given: object) -> None:
    """Raise UsageError for an option that a comparison has no use for."""
    for name, value in given.items():
        if value:
            raise UsageError(f"--{name} does nothing with --compare", "leave it out; --format csv has all rows")


def _write_comparison(paths: Sequence[str], form: AwrFormat, output: Path | None) -> None:
    """Write the differences of two reports: on a screen those that matter most, in other formats all."""
    reports = [report for path in paths for report in read_all(path)]
    if len(reports) != 2:
        raise UsageError(
            f"--compare needs two reports, and {len(reports)} are given",
            "give two files, or one that compares two periods",
        )
    for report in reports:
        for warning in report.warnings:
            remark(f"{report.path}: warning: {warning}")
    found = comparison.compare(*reports)
    if form is not AwrFormat.TABLE:
        _write_rows(form, output, comparison.HEADINGS, [one.cells() for one in found], key_count=2)
        return
    blocks = [_describe_sides(reports)]
    for rows in comparison.choose(found).values():
        cells = [one.cells()[1:-1] for one in rows]  # without the kind and the note
        used = [at for at in range(len(cells[0])) if {row[at] for row in cells} - {None, "", "rate", rows[0].kind}]
        headings = [rows[0].kind.upper(), *(comparison.HEADINGS[at + 1] for at in used[1:])]
        shown = [[row[at] for at in used] for row in cells]
        blocks.append(_table(headings, shown, 1 + (headings[1] == "Figure"), None if output else screen_columns()))
    statistics = sum(one.kind == comparison.STATISTIC for one in found)
    blocks.append(f"{len(found)} figures, {statistics} of them statistics: --format csv or -o FILE.csv has all.\n")
    _output("\n".join(blocks), output)


def _describe_sides(reports: Sequence[Report]) -> str:
    """Return a line for each side; a third one if they are of different kinds, whose figures count other things."""
    lines = []
    for name, report in zip("AB", reports, strict=True):
        head, elapsed = report.header, report.elapsed_s
        time = " to ".join(filter(None, (head.begin_time, head.end_time)))
        parts = (head.db_name, head.instance, head.release, time, f"{elapsed.value:,.0f} s" if elapsed else "")
        lines.append(f"{name}: {report.path}: {', '.join(filter(None, parts))}\n")
    if reports[0].kind is not reports[1].kind:
        lines.append(f"{reports[0].kind} and {reports[1].kind} reports count some figures differently.\n")
    return "".join(lines)


def _sort(results: list[Result], wanted: Extraction) -> list[Result]:
    """Return the results in their order; files that failed come last, in the order of their names."""
    if wanted.order.by == GIVEN:
        return results
    read = sorted((result for result in results if result.status != "failed"), key=lambda result: result.sort_key)
    if wanted.order.is_descending and not _is_by_number(read):
        read.reverse()
    return [*read, *(result for result in results if result.status == "failed")]


def _is_by_number(results: Sequence[Result]) -> bool:
    return any(result.sort_key[:2] == (0, 0) for result in results)


def _is_left_out(result: Result, found: Mapping[str, bool]) -> bool:
    """Return whether a file is of another kind and was only found in a folder or an archive."""
    return result.foreign and found.get(result.path, False)


def _check_target(path: Path) -> None:
    """Raise UsageError for a file that can't be written, before thousands of reports are read."""
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"{path} can't be written", "give a file in a directory that you may write to")


def _format(form: AwrFormat | None, json: bool, output: Path | None, columns: str) -> AwrFormat:
    if json or (columns == MODEL and form is None):
        return AwrFormat.JSON
    endings = {".csv": AwrFormat.CSV, ".json": AwrFormat.JSON, ".xlsx": AwrFormat.XLSX}
    chosen = form or (endings.get(output.suffix.lower()) if output else None) or AwrFormat.TABLE
    if chosen is AwrFormat.XLSX and output is None:
        raise UsageError("--format xlsx needs an output file", "add --output figures.xlsx")
    if columns == MODEL and chosen is not AwrFormat.JSON:
        raise UsageError(f"--format {chosen.value} is a table, and --columns {MODEL} is not one", "use --format json")
    return chosen


def _with_messages(results: Iterator[Result], found: Mapping[str, bool]) -> Iterator[Result]:
    """Yield ``results`` and print the error and the warnings of each on stderr as it comes."""
    for result in results:
        if result.error and _is_left_out(result, found):
            remark(f"left out: {result.error}")
        elif result.error:
            complain(result.error)
        for warning in result.warnings:
            remark(f"{result.path}: warning: {warning}")
        yield result


def _write(form: AwrFormat, output: Path | None, wanted: Extraction, results: Sequence[Result]) -> None:
    headings = wanted.headings()
    if form is AwrFormat.JSON:
        _output(tidy.as_json(_document(headings, results)), output)
        return
    rows = [[reading.value for reading in row] for result in results for row in result.rows]
    key_count = 1 if wanted.columns == LIST else keys(wanted.columns)
    _write_rows(form, output, headings, rows, key_count, _notes(headings, results))
    for heading, why in _empty_columns(headings, results):
        remark(f"{heading}: empty in every report: {why}")


def _empty_columns(headings: Sequence[str], results: Sequence[Result]) -> Iterator[tuple[str, str]]:
    """Yield each column chosen by a figure's name that no report has, with the reason of the first report."""
    rows = [row for result in results for row in result.rows]
    for at, heading in enumerate(headings):
        if rows and ":" in heading and all(row[at].value is None for row in rows):
            yield heading, rows[0][at].why


def _write_rows(
    form: AwrFormat,
    output: Path | None,
    headings: Sequence[str],
    rows: Sequence[Sequence[tidy.Cell]],
    key_count: int,
    notes: Iterable[Sequence[str]] = (),
) -> None:
    if form is AwrFormat.XLSX and output is not None:
        write_file(output, tidy.as_xlsx(headings, rows, iter(notes)))
    elif form is AwrFormat.TABLE:
        width = None if output else screen_columns()
        folder, shown = ("", rows) if width is None else _without_folder(headings, rows)
        _output(folder + _table(headings, shown, key_count, width), output)
    elif form is AwrFormat.CSV:
        _output(tidy.as_csv(headings, [map(tidy.round_cell, row) for row in rows]), output)
    else:
        _output(tidy.as_json([dict(zip(headings, row, strict=True)) for row in rows]), output)


def _output(text: str, output: Path | None) -> None:
    if output is None:
        write(text, end="")
    else:
        write_file(output, text)


def _without_folder(
    headings: Sequence[str], rows: Sequence[Sequence[tidy.Cell]]
) -> tuple[str, Sequence[Sequence[tidy.Cell]]]:
    """Return a line with the folder of all files, and the rows with the rest of their paths: a screen is narrow."""
    paths = [str(row[0]) for row in rows]
    try:
        folder = os.path.commonpath([str(Path(path).parent) for path in paths])
    except ValueError:  # no rows, or absolute and relative paths
        return "", rows
    begin = folder + os.sep
    if headings[0] not in {"FILE", "file", FILE} or not all(path.startswith(begin) for path in paths):
        return "", rows
    shown = [[path.removeprefix(begin), *row[1:]] for path, row in zip(paths, rows, strict=True)]
    return f"Files in {folder}\n\n", shown


def _table(headings: Sequence[str], rows: Sequence[Sequence[tidy.Cell]], key_count: int, width: int | None) -> str:
    """Return a table. On the screen, columns that do not fit follow in further blocks with the key columns repeated."""
    is_figure = [all(isinstance(row[at], int | float | None) for row in rows) for at in range(len(headings))]
    texts = [at for at, is_number in enumerate(is_figure) if not is_number]
    cells = [[_cell_text(cell) for cell in row] for row in rows]
    return "".join(f"{line}\n" for line in fold_table(headings, cells, width, key_count, texts, indent=""))


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
    } | ({"model": result.model} if result.model is not None else {})


def _exit_code(results: Sequence[Result]) -> int:
    """Return 0 if all reports were read completely, 1 if some were, 2 if none was."""
    if all(result.status == "failed" for result in results):
        return 2
    return 0 if all(result.status == "whole" for result in results) else 1
