"""A figure is one row of the registry: with it alone, records, reports, exports and documents have the figure."""

from __future__ import annotations

import io
import runpy

import pytest
from openpyxl import load_workbook
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from factories import measurements
from factories.paths import ROOT
from openslob.analyze.curves.points import Run
from openslob.analyze.curves.series import point_set
from openslob.export.openmetrics import openmetrics
from openslob.export.tidy import as_csv, point_rows, run_rows
from openslob.export.xlsx import workbook
from openslob.metrics import METRICS, Better, RunMetric
from openslob.metrics.computation import EngineCounter, PerSecond
from openslob.metrics.model import ReportSection
from openslob.record.model import RunRecord
from openslob.report.figures import definitions, every_figure
from openslob.report.text import render

NAME, LABEL, DEFINITION = "checkpoints_per_hour", "Checkpoints an hour", "Checkpoints that the server began in an hour."
ROW = RunMetric(
    NAME, LABEL, "1/h", Better.LESS, DEFINITION, PerSecond(EngineCounter("checkpoints"), 3600), None, ReportSection.LOG
)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(METRICS, NAME, ROW)


@pytest.fixture
def record() -> RunRecord:
    return measurements.record(measurements.measurement(engine=measurements.engine(checkpoints=2.0)))


def test_the_summary_of_a_record_has_it_or_says_why_not(record):
    figure = record.summary[NAME]
    assert (figure.value, figure.unit, figure.why) == (120, "1/h", None)
    engine = measurements.engine(checkpoints=None, unknown={"checkpoints": "the server counts none"})
    unknown = measurements.record(measurements.measurement(engine=engine)).summary[NAME]
    assert (unknown.value, unknown.why) == (None, "the server counts none")


def test_the_report_lists_it_at_the_end_of_its_section_and_among_all_figures(record):
    log = render(record).partition("\nLOG")[2].partition("\n\n")[0].splitlines()
    assert log[-1].split() == [*LABEL.split(), "120", "1/h"]
    (all_figures,), (meanings,) = every_figure(record).parts, definitions().parts
    assert (LABEL, "120 1/h", "") in all_figures.rows
    assert (LABEL, "1/h", "less", DEFINITION) in meanings.rows


def test_the_exports_have_it(record):
    runs = [Run.of(record)]
    assert run_rows(runs)[0][NAME] == 120
    points = point_set(runs)
    assert point_rows(points.points)[0][NAME] == 120
    assert NAME in as_csv(*_table(run_rows(runs))).splitlines()[0].split(",")
    families = {family.name: family for family in text_string_to_metric_families(openmetrics(runs))}
    (family,) = (families[name] for name in families if name.endswith(NAME))
    assert [sample.value for sample in family.samples] == [120]
    assert DEFINITION in family.documentation
    book = load_workbook(io.BytesIO(workbook(points, point_rows(points.points), run_rows(runs))))
    cells = {cell.value for sheet in book for row in sheet.rows for cell in row}
    assert {NAME, LABEL, DEFINITION} <= cells


def _table(rows):
    return list(rows[0]), [list(row.values()) for row in rows]


def test_the_documentation_lists_it():
    page = runpy.run_path(str(ROOT / "tools" / "generate_docs.py"))["PAGES"]["figures.md"]()
    assert f"| `{NAME}` | {LABEL} | 1/h | less | {DEFINITION} |" in page.splitlines()
