"""Whoever reads an export of batches learns that a latency is that of a batch, and other exports are as they were."""

from __future__ import annotations

import io
import zipfile

import pytest
from openpyxl import load_workbook
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from factories.batches import batched
from factories.records import cached
from openslob.analyze.curves.points import Run
from openslob.analyze.curves.series import point_set
from openslob.export.hdr import HdrRun, hdr_log
from openslob.export.openmetrics import Samples, exposition, openmetrics
from openslob.export.tidy import point_rows, run_rows
from openslob.export.xlsx import workbook
from openslob.metrics import Timed

BATCH = "batch of 16 operations"
SINGLE, BATCHED = Run.of(cached()), Run.of(batched(cached()))


def test_tables_say_in_a_column_what_latencies_are_of() -> None:
    assert [row["latency_of"] for row in run_rows([SINGLE, BATCHED])] == ["operation", BATCH]
    points = point_rows(point_set([SINGLE, BATCHED]).points)
    assert {row["pipeline"]: row["latency_of"] for row in points} == {1: "operation", 16: BATCH}
    columns = list(run_rows([BATCHED])[0])
    assert columns.index("latency_of") == columns.index("select_mean_us") - 1


def labels_of(text: str) -> list[str | None]:
    families = {family.name: family for family in text_string_to_metric_families(text)}
    family = families["openslob_operation_latency_us"]
    assert 'what the label "of" says' in family.documentation
    return list(dict.fromkeys(sample.labels.get("of") for sample in family.samples))


def test_openmetrics_have_a_label_for_batches_alone() -> None:
    assert labels_of(openmetrics([SINGLE])) == [None]
    assert labels_of(openmetrics([BATCHED])) == [BATCH]


@pytest.mark.parametrize(("size", "labels"), [(1, [None]), (16, [BATCH])])
def test_what_is_scraped_has_it_too(size: int, labels: list[str | None]) -> None:
    now = Samples({"id": "a"}, {}, {"select": {"p99_us": 5.0}}, (), Timed(size))
    text, _ = exposition(now, "application/openmetrics-text;version=1.0.0")
    assert labels_of(text.decode()) == labels


def log_of(*sizes: int) -> list[str]:
    runs = [
        HdrRun(name, 1.0, lambda give: give(0, "select", [10], [1]), timed=Timed(size))
        for name, size in zip("ab", sizes, strict=False)
    ]
    return hdr_log(runs).splitlines()


def test_a_log_of_histograms_says_it_at_its_head_and_in_its_tags() -> None:
    (line,) = [line for line in log_of(16) if line.startswith("Tag=")]
    assert line.startswith("Tag=batch-of-16-with-select,")
    assert f"#[a: a latency is that of a {BATCH}]" in log_of(16)
    assert [line.partition(",")[0] for line in log_of(1, 16)[-2:]] == ["Tag=a/select", "Tag=b/batch-of-16-with-select"]
    assert not [line for line in log_of(1) if "batch" in line]


@pytest.mark.parametrize(("run", "name"), [(SINGLE, "operation"), (BATCHED, BATCH)])
def test_a_workbook_has_it_in_the_heading(run: Run, name: str) -> None:
    points = point_set([run])
    book = load_workbook(io.BytesIO(workbook(points, point_rows(points.points), run_rows([run]))))
    assert f"{name} p99 (µs)" in [cell.value for row in book["Answer"].iter_rows() for cell in row]


def test_the_axis_of_a_workbook_has_it() -> None:
    runs = [Run.of(batched(cached(), size)) for size in (16, 32)]
    for several, name in ((runs[:1], "Batch of 16 operations"), (runs, "Batch of PIPELINE operations")):
        points = point_set(several)
        content = workbook(points, point_rows(points.points), run_rows(several))
        with zipfile.ZipFile(io.BytesIO(content)) as parts:
            assert f"{name} latency, mean (µs)" in parts.read("xl/charts/chart1.xml").decode()
