"""A run at a given rate in every report: response beside service time, the rate, and lines that run along it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from openpyxl import load_workbook
from typer.testing import CliRunner

from factories.records import START_NS, Made, histogram, physical
from factories.tables import table
from openslob.analyze.compare import compare
from openslob.analyze.curves.points import Run
from openslob.analyze.curves.series import RESPONSE_LATENCY, point_set
from openslob.analyze.curves.usl import NoFit
from openslob.cli import app
from openslob.cli.progress import describe
from openslob.core.counts import SliceCounts
from openslob.core.method import OpKind
from openslob.export.openmetrics import openmetrics
from openslob.export.tidy import point_rows, run_rows
from openslob.export.xlsx import workbook
from openslob.kinds.run.progress import Rates, RunProgress
from openslob.record.model import Figure, Holds, RunRecord, Verdict
from openslob.record.raw_csv import RawCsv
from openslob.record.store import RunFolder
from openslob.report.charts.over_sessions import cpu, latency_percentiles
from openslob.report.charts.petals import petals
from openslob.report.charts.run import response_histogram
from openslob.report.comparison import figure_label
from openslob.report.headline import headline
from openslob.report.html.page import page_of, render_page
from openslob.report.several_runs import set_document
from openslob.report.text import render

RATES = (1000, 2000, 4000, 8000, 16_000)
RESPONSE_US = 40_000.0


def paced(iops: float, reached: float | None = None, response_us: float = RESPONSE_US) -> RunRecord:
    """A run asked for ``iops`` blocks a second that visited ``reached``."""
    done = reached or iops
    record = physical(Made(visits=done), record_id=f"20260301-12{round(iops / 1000):02d}00-paced")
    asked = iops / 64
    figures = {
        "target_ops_per_s": asked,
        "ops_not_begun_pct": 100 * (1 - done / iops),
        "backlog_s": 3.2 * (done < iops),
    }
    summary = {name: Figure(value=value, unit="") for name, value in {**figures, "wake_up_late_us": 640.0}.items()}
    outcome = Holds.FAILS if done < iops else Holds.HOLDS
    return record.model_copy(
        update={
            "spec": {**record.spec, "target_iops": float(iops)},
            "summary": {**record.summary, **summary},
            "response": {"select": histogram(round(done / 64 * 15), response_us, 0.4).summary()},
            "verdicts": (*record.verdicts, Verdict(name="rate_reached", verdict=outcome, why="As it is.")),
        }
    )


SWEEP = [Run.of(paced(rate, response_us=5000 + rate)) for rate in RATES]


def test_the_text_has_both_latencies_and_the_rate() -> None:
    text = render(paced(8000))
    service = text.partition("LATENCY of one operation, from its begin (service time), µs")[2]
    assert "from when it was due (response time), µs" in service
    assert "PACING, uniform" in text
    assert "Late wake-ups 640 µs" in " ".join(text.split())
    assert all(len(line) <= 100 for line in text.splitlines())


def test_without_a_rate_nothing_of_it_is_shown() -> None:
    text = render(physical())
    for word in ("PACING", "response", "Late wake-ups", "Not begun"):
        assert word not in text


@table(
    ("reached", "says"),
    [
        (None, "125 ops/s requested and reached"),
        (4000, "125 ops/s requested, only 62.5 reached with 3.20 s of backlog at the end"),
    ],
)
def test_the_headline_says_whether_the_rate_was_reached_and_what_is_left(reached: float | None, says: str) -> None:
    text = headline(paced(8000, reached))
    assert says in text
    assert "from when it was due" in text
    assert "48.7 % left" in text


def test_points_that_differ_by_their_rate_are_one_line() -> None:
    found = point_set(SWEEP)
    (series,) = found.series
    assert found.along == "target_iops"
    assert [point.step for point in series.points] == list(RATES)
    assert series.points[0].at == "1,000 block visits/s requested"
    assert found.axes.latency == RESPONSE_LATENCY
    assert isinstance(series.scaling, NoFit)
    # Up to 16,000 response time grows more slowly than the rate squared, so the line has not bent yet.
    assert series.knee is None
    assert series.peak is series.points[-1]
    assert "target_iops" not in {*found.varying, *found.common}


def test_with_other_session_counts_lines_run_along_those() -> None:
    other = paced(1000).model_copy(update={"spec": {**paced(1000).spec, "sessions": 32}})
    found = point_set([*SWEEP, Run.of(other)])
    assert found.along == "sessions"
    assert "target_iops" in found.varying
    assert {series.label for series in found.series} == {f"{rate:,} block visits/s requested" for rate in RATES}


def test_pictures_run_along_the_rate() -> None:
    found = point_set(SWEEP)
    for picture in (petals(found, "pio_read_per_s"), latency_percentiles(found), cpu(found)):
        assert picture.panels
        assert picture.table
        assert [row[1].removesuffix(" (knee)") for row in picture.table.rows] == [f"{rate:,}" for rate in RATES]
        assert "block visits/s requested" in picture.table.head[1]
    assert latency_percentiles(found).title == "Response time percentiles over block visits/s requested"


def test_a_page_of_a_sweep_over_rates_and_of_one_run() -> None:
    page = render_page(page_of(set_document("rates", SWEEP, ())))
    assert "block visits/s requested" in page
    histogram_ = response_histogram(paced(8000))
    assert histogram_ is not None
    assert histogram_.name == "response"
    assert response_histogram(physical()) is None


def test_tables_have_response_times() -> None:
    (row, plain) = run_rows([SWEEP[0], Run.of(physical())])
    assert row["select_response_p99_us"] == SWEEP[0].record.response["select"]["p99_us"]
    assert plain["select_response_p99_us"] is None
    assert plain["select_p99_us"] is not None
    assert point_rows(point_set(SWEEP).points)[0]["select_response_mean_us"] is not None
    assert 'statistic="response_p99"' in openmetrics(SWEEP)
    found = point_set(SWEEP)
    book = load_workbook(io.BytesIO(workbook(found, point_rows(found.points), run_rows(SWEEP))))
    assert book.sheetnames


def test_response_times_can_be_compared() -> None:
    found = compare([SWEEP[0]], [Run.of(paced(1000, response_us=9000))])
    difference = found.answer("op_response_p99_us")
    assert difference is not None
    assert difference.change is not None
    assert figure_label("select_response_p999_us", physical=True) == "Select response p99.9"
    assert found.answer("target_ops_per_s") is None


def test_raw_response_times_are_exported_as_kinds_of_their_own(tmp_path: Path) -> None:
    record = paced(8000)
    with RunFolder.begin(tmp_path, record) as folder:
        folder.raw.latency(0, OpKind.SELECT, histogram(10, 100, 0.1))
        folder.raw.response(0, OpKind.SELECT, histogram(10, 900, 0.1))
        folder.finish(record)
    result = CliRunner().invoke(app, ["export", str(folder.path), "--format", "hdr"])
    assert result.exit_code == 0
    tags = [line.partition(",")[0] for line in result.stdout.splitlines() if line.startswith("Tag=")]
    assert tags == ["Tag=select", "Tag=select-response"]


def test_a_slice_s_due_time_is_in_the_raw_file(tmp_path: Path) -> None:
    with RawCsv(tmp_path) as raw:
        rows = {"counts": SliceCounts(), "latency": {}, "first_op_ns": None}
        raw.slice(0, 0, start_ns=START_NS, end_ns=START_NS + 1, due_ns=START_NS + 5, **rows)
        raw.slice(1, 0, start_ns=START_NS, end_ns=START_NS + 1, **rows)
    with (tmp_path / "slices.csv").open(encoding="utf-8", newline="") as file:
        assert [row["due_ns"] for row in csv.DictReader(file)] == [str(START_NS + 5), ""]


LIVE = Rates(ops=98, visits=6272, commits=0, reads=None, mean_us=None, p99_us=None)


def test_the_live_line_holds_the_rate_against_what_is_asked() -> None:
    assert "98 of 100 ops/s" in describe(RunProgress("window", 3, 10, rates=LIVE, wanted_per_s=100))
    assert "ops/s" not in describe(RunProgress("window", 3, 10, rates=LIVE))


def test_the_record_has_them_and_is_read_back() -> None:
    record = paced(8000)
    assert RunRecord.model_validate(json.loads(record.model_dump_json())) == record
