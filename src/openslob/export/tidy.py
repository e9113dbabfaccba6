"""Tidy tables: a row for each run or point, a column for each variable, the unit at the end of the column's name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openslob.analyze.curves.points import LATENCIES, Parameters, ParameterValue, Point, Run, latency_of
from openslob.analyze.curves.series import PointSet, Series
from openslob.analyze.curves.usl import Scaling
from openslob.analyze.statistics import Estimate
from openslob.method import OpKind
from openslob.metrics import METRICS
from openslob.record.model import Holds

Row = dict[str, ParameterValue]

# Ending of the column with half the width of the 95 % interval of the column before it; empty if unknown.
INTERVAL = "_ci95"
_SESSIONS = "sessions"


def run_rows(runs: Sequence[Run]) -> list[Row]:
    """Return a row for each run, including failed ones; every row has the same columns."""
    names = _names([run.parameters for run in runs])
    return [_run_row(run, names) for run in runs]


def point_rows(points: Sequence[Point]) -> list[Row]:
    """Return a row for each point: parameters, number of repeats, and mean and half interval width of each figure."""
    names = _names([point.parameters for point in points])
    return [_point_row(point, names) for point in points]


def series_rows(found: PointSet) -> list[Row]:
    """One row a line: what it is, its knee and peak, what was exhausted there, and how it scales."""
    return [_series_row(series) for series in found.series]


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
    row |= {f"{kind.value}_{name}": latency_of(record, kind.value, name) for name in LATENCIES for kind in OpKind}
    fails = [verdict.name for verdict in record.verdicts if verdict.verdict is Holds.FAILS]
    return {**row, "limit": _limit(run), "failed_verdicts": " ".join(fails)}


def _point_row(point: Point, names: Sequence[str]) -> Row:
    row: Row = {name: point.parameters.get(name) for name in names}
    row |= {"repeats": len(point.record_ids), "left_out": len(point.left_out), "ids": " ".join(point.record_ids)}
    for name, estimate in _figures(point).items():
        row |= {name: estimate.mean, f"{name}{INTERVAL}": estimate.half_width}
    limit = point.limit.resource if point.limit else None
    return {**row, "limit": limit, "failed_verdicts": " ".join(point.failed)}


def _figures(point: Point) -> Mapping[str, Estimate]:
    latency = [f"{kind.value}_{name}" for name in LATENCIES for kind in OpKind]
    return {name: point.figure(name) for name in (*METRICS, *latency) if name != _SESSIONS}


def _names(parameters: Sequence[Parameters]) -> list[str]:
    return list(dict.fromkeys(name for each in parameters for name in each))


def _limit(run: Run) -> str | None:
    limits = [each.figures.get("limit") for each in run.record.verdicts if each.name == "limit_found"]
    return str(limits[0]) if limits and limits[0] else None
