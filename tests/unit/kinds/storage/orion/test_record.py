"""Orion's pictures draw the record's figures, its options are understood as people type them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest
from typer.testing import CliRunner

from factories.orion import record_of, simple, whole
from factories.tables import table
from factories.vega_lite import validate
from openslob.cli import app
from openslob.cli.raw_orion import translate_option
from openslob.cli.report import with_own_page
from openslob.core.errors import UsageError
from openslob.kinds.storage import KIND as STORAGE
from openslob.kinds.storage.orion.points import OrionResult
from openslob.kinds.storage.pictures import MOST_LINES, latency_rows, rate_rows, storage_pictures
from openslob.kinds.storage.record import StorageFolder
from openslob.kinds.storage.report import storage_document
from openslob.record.finding import Found
from openslob.record.model import Status
from openslob.report.charts.picture import page_specs, png, svg
from openslob.report.html.page import page_of, render_page


def test_a_mixed_point_is_two_steps_that_say_where_they_belong():
    steps = record_of(whole(1)).steps
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    mixed = [step for step in steps if (step.value("small"), step.value("large")) == (2, 1)]
    assert [step.name for step in mixed] == ["small", "large"]
    assert (mixed[0].value("iops"), mixed[1].value("mb_per_s")) == (2000, 100)
    assert (mixed[0].load.in_flight, mixed[1].load.in_flight, mixed[1].load.processes) == (3, 8, 2)
    assert mixed[0].latency["count"] == 2000


def test_lines_are_the_rates_of_the_record():
    record = record_of(whole(1))
    small_rows, large_rows = rate_rows(record, "small"), rate_rows(record, "large")
    assert {row["line"] for row in small_rows} == {"alone", "with 1 large", "with 2 large"}
    assert [row["value"] for row in small_rows if row["line"] == "alone"] == [1000, 2000, 3000, 4000, 5000]
    assert [row["value"] for row in large_rows if row["line"] == "with 5 small"] == [100, 200]


def test_of_many_loads_only_some_are_lines_the_first_and_the_last_among_them():
    lines = {row["line"] for row in rate_rows(record_of(whole(8)), "small")}
    assert len(lines) == MOST_LINES
    assert {"alone", "with 16 large"} <= lines


def test_latency_is_drawn_in_percentiles_of_small_requests_alone():
    rows = latency_rows(record_of(whole(1)))
    assert {row["line"] for row in rows} == {"p50", "p90", "p99", "p99.9", "longest"}
    assert [row["value"] for row in rows if row["line"] == "longest"] == [101, 102, 103, 104, 105]
    (picture,) = (each for each in storage_pictures(record_of(whole(1))) if each.name == "orion-latency")
    assert "p99 from 101 µs to 105 µs" in picture.description
    assert len(picture.table.rows) == 5


@pytest.mark.parametrize(
    ("outcome", "names"),
    [
        (simple(), ["orion-iops", "orion-mbps", "orion-latency"]),
        (whole(1), ["orion-iops", "orion-mbps", "orion-latency", "orion-matrix"]),
        (OrionResult(simple().matrix, simple().points[5:]), ["orion-mbps"]),
        (OrionResult(simple().matrix, ()), []),
    ],
)
def test_there_is_a_picture_of_what_was_measured(outcome, names):
    assert [picture.name for picture in storage_pictures(record_of(outcome))] == names


@pytest.mark.parametrize("outcome", [whole(1), OrionResult(simple().matrix, simple().points[5:])])
def test_every_picture_can_be_drawn(outcome):
    for picture in storage_pictures(record_of(outcome)):
        for spec in page_specs(picture):
            validate({name: value for name, value in spec.items() if name != "config"})
        text = svg(picture)
        assert len(ET.fromstring(text).findall(".//{http://www.w3.org/2000/svg}path")) > 5
        assert "NaN" not in text


def test_the_matrix_shows_every_cell():
    picture = storage_pictures(record_of(whole(1)))[-1]
    specs = json.dumps(page_specs(picture)[0])
    assert specs.count('"shown"') >= 15
    assert png(picture).startswith(b"\x89PNG")


def test_the_page_has_answer_verdicts_and_pictures():
    page = page_of(storage_document(record_of(whole(1))))
    assert len(page.pictures) == 4
    assert page.verdict_counts == "all 1 hold"
    assert "orion-matrix" in render_page(page)
    stopped = record_of(simple()).model_copy(update={"status": Status.INTERRUPTED, "errors": ("stopped",)})
    assert page_of(storage_document(stopped)).banners == ("This measurement is interrupted: stopped",)


def test_slob_report_writes_the_page_beside_the_record(tmp_path):
    with StorageFolder.begin(tmp_path, record_of(whole(1))) as folder:
        folder.finish(Status.COMPLETE)
    done = CliRunner().invoke(app, ["report", "latest", "--results", str(tmp_path), "--svg-dir", str(tmp_path / "svg")])
    assert done.exit_code == 0, done.output
    assert "at most 5,000 requests/s" in done.output
    assert "orion-matrix" in (folder.path / "report.html").read_text()
    assert {path.name for path in (tmp_path / "svg").iterdir()} == {
        "orion-iops.svg", "orion-mbps.svg", "orion-latency.svg", "orion-matrix.svg",
    }  # fmt: skip
    assert with_own_page([folder.path.name], tmp_path) == (Found(STORAGE, folder.path),)
    assert with_own_page(["a", "b"], tmp_path) == ()
    with pytest.raises(UsageError, match="a is not: a report shows one or the other"):
        with_own_page([folder.path.name, "a"], tmp_path)


@table(
    ("typed", "meant"),
    [
        ("-run", "--run"),
        ("--run", "--run"),
        ("-num_disks", "--num-disks"),
        ("-num_streamIO", "--num-streamio"),
        ("–write", "--write"),
        ("-cache_size=0", "--cache-size=0"),
        ("-h", "-h"),
        ("simple", "simple"),
        ("RAID0", "RAID0"),
        ("/data/my-test", "/data/my-test"),
    ],
)
def test_options_are_understood_as_people_type_them(typed, meant):
    assert translate_option(typed) == meant
