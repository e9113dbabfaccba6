"""Tidy tables: a row for each run or point, a column for each variable, the unit at the end of the column's name.

They are written as CSV, JSON, Parquet and plain XLSX.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence

from openslob.analyze.curves.points import LATENCIES, Parameters, ParameterValue, Point, Run
from openslob.analyze.curves.series import PointSet, Series
from openslob.analyze.curves.usl import Scaling
from openslob.analyze.statistics import Estimate
from openslob.core.extras import require_extra
from openslob.core.method import OpKind
from openslob.core.workload import PRICE
from openslob.metrics import METRICS, Timed
from openslob.metrics.run_metrics import latency_of
from openslob.record.model import ClassRow, Holds

Row = dict[str, ParameterValue]

# Ending of the column with half the width of the 95 % interval of the column before it; empty if unknown.
INTERVAL = "_ci95"
# The column that says whose time the latencies of a row are: of an operation, or of a batch of several.
LATENCY_OF = "latency_of"
_SESSIONS = "sessions"

Cell = str | int | float | bool | None
# A spreadsheet that opens a CSV file takes a text that begins so for a formula, except a number.
_FORMULA_BEGINS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?(?:[\d.,]+(?:e[+-]?\d+)?)?\s*%?", re.IGNORECASE)


def run_rows(runs: Sequence[Run]) -> list[Row]:
    """Return a row for each run, including failed ones; every row has the same columns."""
    names = _names([run.parameters for run in runs])
    return [_run_row(run, names) for run in runs]


def class_rows(runs: Sequence[Run]) -> list[Row]:
    """Return a row for each class of sessions of each run; none of runs without classes."""
    return [_class_row(run, row) for run in runs for row in run.record.classes]


def _class_row(run: Run, found: ClassRow) -> Row:
    timed = ((kind.value, name) for kind in OpKind for name in LATENCIES)
    return {
        "id": run.record.id,
        "run": run.record.name,
        **{name: value for name, value in found if name not in ("latency", "response")},
        **{f"{kind}_{name}": latency_of(found, kind, name) for kind, name in timed},
    }


def stage_rows(runs: Sequence[Run]) -> list[Row]:
    """Return a row for each stage of each run whose rate changes; none of other runs."""
    return [
        {"id": run.record.id, "run": run.record.name, "stage": number, **dict(row)}
        for run in runs
        for number, row in enumerate(run.record.stages, start=1)
    ]


def point_rows(points: Sequence[Point]) -> list[Row]:
    """Return a row for each point: parameters, number of repeats, and mean and half interval width of each figure."""
    names = _names([point.parameters for point in points])
    return [_point_row(point, names) for point in points]


def series_rows(points: PointSet) -> list[Row]:
    """Return a row for each series: label, knee, peak, limiting resource and scaling."""
    return [_series_row(series) for series in points.series]


def _series_row(series: Series) -> Row:
    rates = dict.fromkeys((series.axes.throughput, "pio_read_mb_per_s"))
    row: Row = {"line": series.label}
    for name, point in (("knee", series.knee), ("peak", series.peak)):
        row[f"{name}_sessions"] = point.sessions if point else None
        row |= {f"{name}_{rate}": point.mean(rate) if point else None for rate in rates}
        row[f"{name}_latency_us"] = point.mean(series.axes.latency) if point else None
    row |= {
        "turn": series.knee_result.tail_trend.value if series.knee_result.tail_trend else None,
        "note": series.knee_result.why or None,
    }
    limit = series.exhausted
    row |= {"limit": limit.limit.resource if limit else None, "limit_from_sessions": limit.sessions if limit else None}
    fit = series.scaling if isinstance(series.scaling, Scaling) else None
    return row | {
        "usl_lambda_per_s": fit.lambda_per_s if fit else None,
        "usl_sigma": fit.sigma if fit else None,
        "usl_kappa": fit.kappa if fit else None,
        "usl_r2": fit.r2 if fit else None,
    }


def _run_row(run: Run, names: Sequence[str]) -> Row:
    record = run.record
    row: Row = {
        "id": record.id,
        "name": record.name,
        "started_at": record.started_at,
        "status": record.status.value,
        **{name: run.parameters.get(name) for name in names},
    }
    for name in METRICS:
        figure = record.summary.get(name)
        row.setdefault(name, figure.value if figure else None)
    row |= _timed(run.parameters)
    row |= {f"{kind.value}_{name}": latency_of(record, kind.value, name) for name in LATENCIES for kind in OpKind}
    fails = [verdict.name for verdict in record.verdicts if verdict.verdict is Holds.FAILS]
    price = str(record.spec.get(PRICE) or "") or None
    return {**row, "limit": _limit(run), "failed_verdicts": " ".join(fails), PRICE: price}


def _point_row(point: Point, names: Sequence[str]) -> Row:
    row: Row = {name: point.parameters.get(name) for name in names}
    row |= {"repeats": len(point.record_ids), "left_out": len(point.left_out), "ids": " ".join(point.record_ids)}
    row |= _timed(point.parameters)
    for name, estimate in _figures(point).items():
        row |= {name: estimate.mean, f"{name}{INTERVAL}": estimate.half_width}
    limit = point.limit.resource if point.limit else None
    return {**row, "limit": limit, "failed_verdicts": " ".join(point.failed), PRICE: point.price}


def _timed(parameters: Parameters) -> Row:
    """Return the column that says what the latencies of operations are of; empty where there are none, as observed."""
    known = parameters.get("pipeline") is not None
    return {LATENCY_OF: Timed.of(parameters).one() if known else None}


def _figures(point: Point) -> Mapping[str, Estimate]:
    latency = [f"{kind.value}_{name}" for name in LATENCIES for kind in OpKind]
    return {name: point.figure(name) for name in (*METRICS, *latency) if name != _SESSIONS}


def _names(parameters: Sequence[Parameters]) -> list[str]:
    return list(dict.fromkeys(name for each in parameters for name in each))


def _limit(run: Run) -> str | None:
    limits = [each.figures.get("limit") for each in run.record.verdicts if each.name == "limit_found"]
    return str(limits[0]) if limits and limits[0] else None


def as_csv(headings: Sequence[str], rows: Iterable[Iterable[Cell]]) -> str:
    """Return comma-separated values with a line of headings; a cell without a value is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(_literal, headings))
    writer.writerows(map(_literal, row) for row in rows)
    return out.getvalue()


def _literal(cell: Cell) -> Cell:
    """Return a text that a spreadsheet would read as a formula with an apostrophe before it; others unchanged."""
    if not isinstance(cell, str):
        return cell
    text = cell.replace("\r", " ")  # the standard library does not quote it, and it ends a line
    return f"'{text}" if cell.startswith(_FORMULA_BEGINS) and not _NUMBER.fullmatch(cell) else text


def round_cell(cell: Cell) -> str:
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
    require_extra("parquet")
    import pyarrow as pa  # noqa: PLC0415 - large, and an extra
    import pyarrow.parquet as pq  # noqa: PLC0415

    target = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows)), target)
    return target.getvalue()


def as_xlsx(headings: Sequence[str], rows: Iterable[Sequence[Cell]], notes: Iterable[Sequence[str]] = ()) -> bytes:
    """Return a workbook with the table and, on a second sheet, ``notes``: a line of headings, then their lines."""
    import xlsxwriter  # noqa: PLC0415 - only this format needs it

    options = {"strings_to_formulas": False, "strings_to_urls": False, "constant_memory": True}
    target = io.BytesIO()
    with xlsxwriter.Workbook(target, options) as book:
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
    return target.getvalue()
