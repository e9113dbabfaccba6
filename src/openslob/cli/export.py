"""`slob export`: records for other programs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from openslob.analyze.load_kinds import timed_of
from openslob.analyze.run_folder import read_latencies, unit_of
from openslob.cli import completion
from openslob.cli.common_options import PRICE, RESULTS
from openslob.cli.console import notify, write_file
from openslob.cli.picture_options import refuse_picture
from openslob.cli.progress import working
from openslob.core.errors import SlobError, UsageError
from openslob.core.extras import require_extra
from openslob.core.units import NANOS, format_bytes
from openslob.export import tidy
from openslob.export.hdr import HdrRun, hdr_log
from openslob.kinds import runs
from openslob.kinds.contract import Wanted, kind_of, with_ratios
from openslob.kinds.runs import Runs
from openslob.record import bundle as bundles
from openslob.record import finding
from openslob.report.format import without_controls


class ExportFormat(StrEnum):
    """Output formats."""

    CSV = "csv"
    JSON = "json"
    XLSX = "xlsx"
    PARQUET = "parquet"
    OPENMETRICS = "openmetrics"
    HDR = "hdr"


class Per(StrEnum):
    """What a row of a table describes."""

    POINT = "point"
    RUN = "run"
    CLASS = "class"
    STAGE = "stage"
    RATIO = "ratio"


_ENDINGS = {".prom": ExportFormat.OPENMETRICS, ".om": ExportFormat.OPENMETRICS, ".hlog": ExportFormat.HDR}
RECORDS = Annotated[
    list[str],
    typer.Argument(autocompletion=completion.records, metavar="RECORD", help="Names or ids of records, or paths."),
]
FORMAT = Annotated[
    ExportFormat | None, typer.Option("--format", "-f", help="Default: by the ending of FILE, else csv.")
]
OUTPUT = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Default: standard output.")]
PER = Annotated[
    Per | None,
    typer.Option(
        show_default="ratio for labs, else point",
        help="What a row describes: a point (all its repeats), a run, a class or stage of it, or a ratio of a lab.",
    ),
]
JSON = Annotated[bool, typer.Option("--json", metavar="", help="The same as --format json.")]
BUNDLE = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write one record of any kind with its raw measurements, for slob verify."),
]


def export(
    records: RECORDS,
    form: FORMAT = None,
    output: OUTPUT = None,
    per: PER = None,
    bundle: BUNDLE = None,
    price: PRICE = None,
    *,
    results: RESULTS,
    as_json: JSON = False,
) -> None:
    """Write records as CSV, XLSX with petal charts, Parquet, OpenMetrics, HdrHistogram log or JSON, or as a bundle.

    Example: slob export petals -o petals.xlsx
    """
    if bundle:
        if output or form or as_json or price:
            raise UsageError("--bundle writes a record as it is, and no table", "give --bundle FILE alone")
        _bundle(records, results, bundle)
        return
    refuse_picture(output, "an export is a table", "to draw the records: slob report RECORD --png-dir DIR")
    chosen = ExportFormat.JSON if as_json else form or _by_ending(output)
    if chosen is ExportFormat.PARQUET:
        require_extra("parquet")
    if found_ratios := _find_with_ratios(records, results, per):
        rows = [row for each in found_ratios for row in _list_ratios(each, price)]
        _write(_table(rows, chosen), output)
        return
    # A log is of the files themselves: it needs no interval.
    figures = () if chosen is ExportFormat.HDR else None
    with working("reading the records"):
        found = runs.find(records, results, figures)
    for problem in found.problems:
        notify(problem)
    found = found.at_price(price) if price else found
    with working(f"making the table of {len(found.runs):,} runs"):
        content = _render(found, chosen, per or Per.POINT)
    _write(content, output)


def _find_with_ratios(records: list[str], results: Path, per: Per | None) -> list[finding.Found]:
    """Return the records whose ratios are wanted; none if runs are. UsageError for a record that has no ratios."""
    if per is Per.RATIO:
        return [finding.one(name, results, notify, with_ratios()) for name in records]
    if per is not None:
        return []
    found: list[finding.Found] = []
    # What is no record of runs, such as a folder of several, is found or refused with the runs.
    with suppress(SlobError):
        found = [each for name in records for each in finding.several(name, results)]
    return found if all(kind_of(each).has_ratios for each in found) else []


def _list_ratios(found: finding.Found, price: str | None) -> Sequence[Mapping[str, Any]]:
    kind = kind_of(found)
    return kind.ratios(kind.read_as(found.path, Wanted(price)))


def _bundle(records: list[str], results: Path, file: Path) -> None:
    if len(records) > 1:
        raise UsageError("a bundle is of one record", "export each of them; a sweep's bundle has all its runs")
    refuse_picture(file, "a bundle is an archive", "such as petals.slob.zip")
    found = finding.one(records[0], results, notify)
    with working(f"writing {file.name}"):
        digest = bundles.save(found, file)
    notify(f"wrote {file} ({format_bytes(file.stat().st_size)}, SHA-256 {digest}); `slob verify {file}` checks it")


def _by_ending(output: Path | None) -> ExportFormat:
    if output is None:
        return ExportFormat.CSV
    ending = output.suffix.lower()
    if ending.removeprefix(".") in {form.value for form in ExportFormat}:
        return ExportFormat(ending.removeprefix("."))
    if ending not in _ENDINGS:
        raise UsageError(f"the ending of {output} is not that of a known format", "give --format")
    return _ENDINGS[ending]


def _render(found: Runs, form: ExportFormat, per: Per) -> str | bytes:
    if per is Per.CLASS:
        if not (of_classes := tidy.class_rows(found.runs)):
            raise UsageError("none of these records has classes of sessions", "`slob run --class` makes one that has")
        return _table(of_classes, form)
    if per is Per.STAGE:
        if not (of_stages := tidy.stage_rows(found.runs)):
            raise UsageError("none of these records has a rate that changes", "`slob run --rate-schedule` makes one")
        return _table(of_stages, form)
    match form:
        case ExportFormat.XLSX:
            # Takes a moment to import, and only this format needs it.
            from openslob.export.xlsx import workbook  # noqa: PLC0415
            from openslob.report.several_runs import set_answers  # noqa: PLC0415 - as above

            points = found.points()
            tables = tidy.point_rows(points.points), tidy.run_rows(found.runs)
            return workbook(points, *tables, set_answers(found.runs))
        case ExportFormat.OPENMETRICS:
            from openslob.export.openmetrics import openmetrics  # noqa: PLC0415 - its library takes a moment to import

            return openmetrics(found.runs)
        case ExportFormat.HDR:
            return hdr_log(_hdr_runs(found))
    rows = tidy.run_rows(found.runs) if per is Per.RUN else tidy.point_rows(found.points().points)
    return _table(rows, form)


def _table(rows: Sequence[Mapping[str, Any]], form: ExportFormat) -> str | bytes:
    heads, cells = list(rows[0]) if rows else [], [list(row.values()) for row in rows]
    match form:
        case ExportFormat.PARQUET:
            return tidy.as_parquet(rows)
        case ExportFormat.JSON:
            return tidy.as_json(rows)
        case ExportFormat.XLSX:
            return tidy.as_xlsx(heads, cells)
        case ExportFormat.CSV:
            return tidy.as_csv(heads, cells)
    why = f"{form.value} has figures of runs, and no ratios or classes"
    raise UsageError(why, "add --per run, or choose csv, json, xlsx")


def _hdr_runs(found: Runs) -> list[HdrRun]:
    return [
        HdrRun(
            record.id,
            record.window.load_start_ns / NANOS,
            partial(read_latencies, folder, unit_s),
            record.reservations,
            unit_s,
            timed_of(record),
        )
        for record, folder in zip(found.records, found.folders, strict=True)
        if record.window
        for unit_s in [unit_of(folder, record.window.load_seconds)]
    ]


def _write(content: str | bytes, output: Path | None) -> None:
    if output is None:
        if isinstance(content, bytes) and sys.stdout.isatty():
            raise UsageError("this format is binary, and standard output is a terminal", "give a file with -o")
        sys.stdout.buffer.write(without_controls(content).encode("utf-8") if isinstance(content, str) else content)
        return
    write_file(output, content)
    notify(f"wrote {output}")
