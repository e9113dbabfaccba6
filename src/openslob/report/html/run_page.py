"""The page of one run."""

from __future__ import annotations

from pathlib import Path

from openslob.errors import SlobError
from openslob.record.model import RunRecord, Status
from openslob.report import context, figures, run_series
from openslob.report.charts.picture import DataTable
from openslob.report.charts.run import (
    heat_map,
    latency_histogram,
    response_histogram,
    response_map,
    timeline,
)
from openslob.report.charts.theme import FigureNames
from openslob.report.headline import headline
from openslob.report.html.page import Page, PageSection, definitions, text_section, verdict_rows
from openslob.report.record_view import figures_of, label, reason, shown, value
from openslob.report.set_summary import physical

_SECTIONS = (
    figures.load_profile, figures.log, figures.pacing, figures.instances, figures.efficiency, figures.timed_events,
    figures.latencies, figures.responses, figures.object_io,
    context.test, context.host, context.server, context.remarks,
)  # fmt: skip


def run_page(record: RunRecord, folder: Path) -> Page:
    """The page of the run in ``folder``. Raw files that are damaged are told on it, and the rest is shown."""
    raw, problem = _raw(record, folder)
    latencies = (
        latency_histogram(record),
        response_histogram(record),
        heat_map(record, raw),
        response_map(record, raw),
    )
    pictures = (timeline(record, raw, FigureNames(physical([record]))), *latencies)
    return Page(
        title=f"{record.name}: {_on_what(record)}",
        about=f"Run {record.id}, started {record.started_at.replace('T', ' ').removesuffix('Z')} UTC.",
        banners=tuple(filter(None, (_status(record), problem))),
        answers=(headline(record),),
        verdicts=verdict_rows(record.verdicts),
        pictures=tuple(picture for picture in pictures if picture is not None and picture.panels),
        sections=(
            _figures(record),
            *(section for render in _SECTIONS for section in text_section(render(record))),
            definitions(),
        ),
    )


def _raw(record: RunRecord, folder: Path) -> tuple[run_series.RunSeries, str]:
    try:
        return run_series.read(folder, record), ""
    except SlobError as error:
        return run_series.RunSeries(), f"Nothing is drawn over time: {error}"


def _on_what(record: RunRecord) -> str:
    product = f"{record.engine.get('product', 'unknown server')} {record.engine.get('version', '')}".rstrip()
    host = record.environment.get("host")
    where = "driven from" if record.environment.get("local") is False else "on"
    return f"{product} {where} {host}" if host else product


def _status(record: RunRecord) -> str:
    if record.status is Status.COMPLETE:
        return ""
    why = record.errors[0] if record.errors else "the record does not say why"
    return f"This run is {record.status.value}: {why}"


def _figures(record: RunRecord) -> PageSection:
    rows = tuple(
        (label(record, name), shown(record, name), "" if value(record, name) is not None else reason(record, name))
        for name in figures_of(record)
        if record.summary
    )
    return PageSection("Figures", table=DataTable(("figure", "value", "why it is not known"), rows))
