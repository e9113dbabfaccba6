"""What is exported is read back by other programs: openpyxl, prometheus_client, hdrhistogram, the csv module."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import load_workbook
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from typer.testing import CliRunner

import openslob
from factories.records import Made, cached, failed, physical, remote
from factories.sweeps import sweep
from openslob.analyze.curves.points import Run
from openslob.analyze.curves.series import point_set
from openslob.cli import app
from openslob.core import extras
from openslob.core.counts import SliceCounts
from openslob.core.errors import SlobError
from openslob.core.histogram import Histogram, bucket_of
from openslob.core.method import OpKind
from openslob.export.hdr import HdrRun, encode_counts, hdr_log
from openslob.export.openmetrics import openmetrics
from openslob.export.tidy import as_csv, as_json, as_parquet, point_rows, run_rows, series_rows
from openslob.export.xlsx import workbook
from openslob.kinds.runs import find
from openslob.metrics import METRICS
from openslob.record.model import DISCARDED, RunRecord
from openslob.record.store import RunFolder

HOUR_NS = 3600 * 10**9


def runs(records: list[RunRecord]) -> list[Run]:
    return [Run.of(record) for record in records]


SWEEP = runs(sweep(counts=(1, 2, 4, 8), update_pcts=(0, 20)))


def test_run_rows_have_every_figure_in_every_row() -> None:
    rows = run_rows(runs([physical(), remote(), failed()]))
    assert len({tuple(row) for row in rows}) == 1
    assert set(METRICS) <= set(rows[0])
    assert rows[0]["select_p99_us"] == physical().latency["select"]["p99_us"]
    assert rows[1]["dev_read_per_s"] is None
    assert rows[2]["status"] == "failed"


def test_point_rows_are_one_a_point_with_intervals() -> None:
    rows = point_rows(point_set(SWEEP).points)
    assert [(row["update_pct"], row["sessions"]) for row in rows] == [(u, n) for u in (0, 20) for n in (1, 2, 4, 8)]
    assert all(row["repeats"] == 3 for row in rows)
    values = [run.record.summary["ops_per_s"].value or 0 for run in SWEEP[:3]]
    assert rows[0]["ops_per_s"] == pytest.approx(sum(values) / 3)
    assert rows[0]["ops_per_s_ci95"] is not None


def test_csv_comes_back_as_it_was() -> None:
    rows = run_rows(runs([physical(), remote()]))
    read = list(csv.DictReader(io.StringIO(as_csv(list(rows[0]), [row.values() for row in rows]))))
    assert len(read) == 2
    assert float(read[0]["pio_read_per_s"]) == rows[0]["pio_read_per_s"]
    assert read[1]["dev_read_per_s"] == ""
    assert json.loads(as_json(rows)) == rows
    assert as_csv([], []) == "\n"


def test_workbook_holds_the_points_and_both_petals() -> None:
    found = point_set(SWEEP)
    rows = point_rows(found.points)
    content = workbook(found, rows, run_rows(SWEEP), ["This platform does much.", "=no formula"])
    book = load_workbook(io.BytesIO(content))
    assert book.sheetnames == ["Answer", "Petals", "Lines", "Points", "Runs", "Figures"]
    assert [book["Answer"][cell].value for cell in ("A1", "A2", "A4")] == [
        "This platform does much.",
        "=no formula",
        "line",
    ]
    assert [row[1] for row in book["Answer"].iter_rows(min_row=5, max_row=12, values_only=True)] == [1, 2, 4, 8] * 2
    head, *body = book["Points"].iter_rows(values_only=True)
    assert list(head) == list(rows[0])
    column = head.index("pio_read_per_s")
    assert [line[column] for line in body] == pytest.approx([row["pio_read_per_s"] for row in rows])
    assert book["Runs"].max_row == 1 + len(SWEEP)
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        # The only drawing.
        assert parts.read("xl/drawings/drawing1.xml").count(b"<c:chart ") == 2


@pytest.mark.parametrize("table", ["Points", "Runs"])
def test_at_most_twenty_columns_are_in_sight_and_the_others_stay(table: str) -> None:
    rows = point_rows(point_set(SWEEP).points)
    book = load_workbook(io.BytesIO(workbook(point_set(SWEEP), rows, run_rows(SWEEP))))
    head = [cell.value for cell in book[table][1]]
    folded: set[str] = set()
    for column in book[table].column_dimensions.values():
        if column.hidden:
            folded.update(head[column.min - 1 : column.max])
    assert {"update_pct", "sessions", "pio_read_per_s", "limit", "failed_verdicts"} <= set(head) - folded
    assert len(head) - len(folded) <= 20
    assert "pio_write_mb_per_s" in folded


def test_lines_have_their_knee_peak_and_fit() -> None:
    found = point_set(runs(sweep(update_pcts=(0, 20))))
    rows = series_rows(found)
    assert [row["line"] for row in rows] == ["0 % updates", "20 % updates"]
    for row, series in zip(rows, found.series, strict=True):
        assert series.knee is not None
        assert row["knee_sessions"] == series.knee.sessions
        assert row["knee_pio_read_per_s"] == series.knee.mean("pio_read_per_s")
        assert row["limit"] == "storage"
        assert 0 < (row["usl_r2"] or 0) < 1


def test_a_series_of_the_chart_is_a_line_with_error_bars_and_session_counts() -> None:
    found = point_set(SWEEP)
    rows = point_rows(found.points)
    with zipfile.ZipFile(io.BytesIO(workbook(found, rows, run_rows(SWEEP)))) as file:
        chart = file.read("xl/charts/chart1.xml").decode()
        both = chart + file.read("xl/charts/chart2.xml").decode()
    assert chart.count("<c:ser>") == len(found.series) + 1  # one more for the knees
    assert chart.count("<c:errBars>") == 2 * len(found.series)
    assert "0 % updates" in chart
    assert "20 % updates" in chart
    column = list(rows[0]).index("pio_read_per_s")
    letters = (chr(64 + column // 26) if column >= 26 else "") + chr(65 + column % 26)
    assert f"Points!${letters}$2:${letters}$5" in chart
    assert f"Points!${letters}$6:${letters}$9" in chart
    assert "IOPS" in both
    assert "MB/s" in both
    # Cells of folded columns are drawn.
    assert both.count('<c:plotVisOnly val="1"/>') == 0
    assert all(f"<a:t>{n}</a:t>" in chart for n in (1, 2, 4, 8))


def test_workbooks_of_cached_failed_and_no_runs() -> None:
    for records in ([cached()], [failed()], []):
        found = point_set(runs(records))
        content = workbook(found, point_rows(found.points), run_rows(runs(records)))
        assert "Points" in load_workbook(io.BytesIO(content)).sheetnames


def test_what_looks_like_a_formula_stays_text() -> None:
    record = physical().model_copy(update={"name": "=1+1"})
    found = point_set(runs([record]))
    book = load_workbook(io.BytesIO(workbook(found, point_rows(found.points), run_rows(runs([record])))))
    cell = book["Runs"]["B2"]
    assert (cell.value, cell.data_type) == ("=1+1", "s")


def test_openmetrics_is_read_by_its_own_parser() -> None:
    record = physical().model_copy(update={"name": 'a "quoted"\nname\\'})
    text = openmetrics(runs([record, remote()]))
    families = {family.name: family for family in text_string_to_metric_families(text)}
    ops = families["openslob_ops_per_s"].samples
    assert [sample.value for sample in ops] == [record.summary["ops_per_s"].value, remote().summary["ops_per_s"].value]
    assert ops[0].labels["name"] == record.name
    assert ops[0].labels["sessions"] == "8"
    assert float(ops[0].timestamp) == 1772366400
    # What is not known has no sample: it is not 0.
    assert len(families["openslob_dev_read_per_s"].samples) == 1
    p99 = [s for s in families["openslob_operation_latency_us"].samples if s.labels["statistic"] == "p99"]
    assert p99[0].value == record.latency["select"]["p99_us"]
    assert {s.value for s in families["openslob_verdict_holds"].samples} == {1.0}


def read_log(text: str, path: Path) -> list[HdrHistogram]:
    path.write_text(text, encoding="utf-8")
    reader = HistogramLogReader(str(path), HdrHistogram(1, HOUR_NS, 3))
    found = []
    while (histogram := reader.get_next_interval_histogram()) is not None:
        found.append(histogram)
    reader.close()
    return found


def giving(rows):
    """Return what gives these latencies one by one."""

    def read(give):
        for second, kind, bucket, count in rows:
            give(second, kind, [bucket], [count])

    return read


def test_latencies_of_a_second_that_come_in_parts_are_one_histogram(tmp_path):
    rows = [(1, "select", 10, 2), (0, "select", 10, 1), (1, "select", 10, 3), (1, "select", 400, 1)]
    first, second = read_log(hdr_log([HdrRun("a", 1_772_366_400.25, giving(rows))]), tmp_path / "x.hlog")
    assert (first.get_total_count(), second.get_total_count()) == (1, 6)


def test_a_log_without_latencies_is_none():
    with pytest.raises(SlobError, match="no latency over time"):
        hdr_log([HdrRun("a", 1.0, giving([]))])


def test_hdr_log_gives_the_same_percentiles(tmp_path: Path) -> None:
    ours = Histogram()
    rows = []
    for us in (3, 40, 90, 130, 131, 900, 12_000, 2_500_000):
        ours.add({bucket_of(us): 7}, 7 * us, us)
        rows.append((0, "select", bucket_of(us), 7))
    rows.append((1, "update", bucket_of(55), 3))
    log = hdr_log([HdrRun("a", 1_772_366_400.25, giving(rows))])
    first, second = read_log(log, tmp_path / "x.hlog")
    assert (first.get_total_count(), second.get_total_count()) == (56, 3)
    for share in (0.5, 0.9, 0.99):
        quantile = ours.quantile_us(share)
        assert first.get_value_at_percentile(100 * share) / 1000 == pytest.approx(quantile, rel=0.0011)
    assert (first.get_tag(), second.get_tag()) == ("select", "update")
    assert "#[StartTime: 1772366400.250 (seconds since epoch)]" in log


def test_a_log_begins_with_what_must_be_known_of_the_server():
    log = hdr_log([HdrRun("a", 1.0, giving([(0, "select", 10, 1)]), ("No database.", "Experimental."))])
    assert log.splitlines()[2:4] == ["#[a: No database.]", "#[a: Experimental.]"]
    assert "Experimental" not in hdr_log([HdrRun("a", 1.0, giving([(0, "select", 10, 1)]))])


@given(st.dictionaries(st.integers(1, HOUR_NS), st.integers(1, 2**40), min_size=1, max_size=30))
def test_hdr_histograms_come_back_whole(counts: dict[int, int]) -> None:
    import base64  # noqa: PLC0415

    back = HdrHistogram.decode(base64.b64encode(encode_counts(counts)))
    assert back.get_total_count() == sum(counts.values())
    assert back.values_are_equivalent(back.get_max_value(), max(counts))
    assert back.values_are_equivalent(back.get_min_value(), min(counts))
    for value in counts:
        same = sum(count for other, count in counts.items() if back.values_are_equivalent(other, value))
        assert back.get_count_at_value(value) == same


def test_parquet_says_what_is_missing_before_anything_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    result = CliRunner().invoke(app, ["export", "none", "-o", str(tmp_path / "x.parquet"), "--results", str(tmp_path)])
    assert isinstance(result.exception, SlobError)
    assert "pyarrow" in str(result.exception)


def test_parquet_comes_back_or_says_what_is_missing() -> None:
    rows = run_rows(runs([physical(), remote()]))
    try:
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError:
        with pytest.raises(SlobError, match="pyarrow") as error:
            as_parquet(rows)
        assert "pip install" in error.value.remedy
        return
    table = pq.read_table(io.BytesIO(as_parquet(rows)))
    assert table.to_pylist() == rows


def save(results: Path, record: RunRecord) -> Path:
    with RunFolder.begin(results, record) as folder:
        assert record.window
        for at in range(20):
            begin = record.window.load_start_ns + at * 10**9
            latency = Histogram()
            latency.add({bucket_of(900): 100 + at % 3}, 900.0 * (100 + at % 3), 900)
            folder.raw.slice(
                0, at, start_ns=begin, end_ns=begin + 10**9, first_op_ns=begin,
                counts=SliceCounts(latency.count, latency.count, rows_read=6400), latency={OpKind.SELECT: latency},
            )  # fmt: skip
            folder.raw.latency(at, OpKind.SELECT, latency)
            reads = {"read_requests": 1000.0 + at % 4, "read_time_us": 2e5}
            folder.raw.engine(begin, begin + 10**9, reads)
        folder.finish(record)
    return results / record.id


def test_load_reads_a_run_and_a_folder_of_runs(tmp_path: Path) -> None:
    one = save(tmp_path, physical())
    save(tmp_path, physical(Made(sessions=16), record_id="20260301-121500-pio"))
    assert [record.id for record in openslob.read(one).records] == [physical().id]
    both = openslob.read(tmp_path)
    assert [point.sessions for point in both.points().points] == [8, 16]
    assert [row["sessions"] for row in both.rows()] == [8, 16]
    with pytest.raises(SlobError, match="there is no record of runs"):
        openslob.read(tmp_path / "nothing", results=tmp_path)


def test_runs_are_found_by_name_id_and_path(tmp_path: Path) -> None:
    for at in range(2):
        save(tmp_path, physical(name="before", record_id=f"20260301-12000{at}-before"))
    assert len(find(["before"], tmp_path).runs) == 2
    assert find(["20260301-120001"], tmp_path).records[0].id == "20260301-120001-before"
    assert len(find([str(tmp_path)], Path("elsewhere")).runs) == 2
    with pytest.raises(SlobError):
        find(["after"], tmp_path)


def test_a_run_that_was_made_again_is_no_repeat_but_can_be_read_alone(tmp_path: Path) -> None:
    ids = [f"20260301-12000{at}-before" for at in range(3)]
    for at, each in enumerate(ids):
        notes = (f"{DISCARDED}{ids[0]}: read late",) if at == 1 else ()
        save(tmp_path, physical(name="before", record_id=each).model_copy(update={"notes": notes}))
    for named in (["before"], [str(tmp_path)], ids):
        assert [record.id for record in find(named, tmp_path).records] == ids[1:], named
    assert [record.id for record in find([ids[0]], tmp_path).records] == ids[:1]


def test_a_single_run_has_intervals_from_its_own_seconds(tmp_path: Path) -> None:
    point = openslob.read(save(tmp_path, physical())).points().points[0]
    for figure in ("ops_per_s", "pio_read_per_s", "engine_read_latency_us", "select_mean_us"):
        estimate = point.figure(figure)
        assert estimate.basis == "within one run", figure
    # 100, 101, 102 over and over: a standard deviation of 0.84 %, over 15 s.
    ops = point.metrics["ops_per_s"]
    assert (ops.half_width or 0) / (ops.mean or 1) == pytest.approx(2.14 * 0.0084 / 15**0.5, rel=0.1)


def test_a_damaged_raw_file_is_told_and_a_cut_off_line_is_not(tmp_path: Path) -> None:
    one = save(tmp_path, physical())
    file = one / "slices.csv"
    file.write_text(file.read_text() + "0,20,177")
    assert len(openslob.read(one).runs) == 1
    file.write_text(file.read_text() + "\n")
    with pytest.raises(SlobError, match="damaged at line"):
        openslob.read(one)


@pytest.mark.parametrize("ending", ["csv", "json", "xlsx", "openmetrics", "prom", "hlog"])
def test_command_writes_every_format(tmp_path: Path, ending: str) -> None:
    save(tmp_path / "results", physical())
    output = tmp_path / f"x.{ending}"
    done = CliRunner().invoke(app, ["export", "latest", "-o", str(output), "--results", str(tmp_path / "results")])
    assert done.exit_code == 0, done.output
    assert output.stat().st_size > 500


def test_command_knows_no_other_format(tmp_path: Path) -> None:
    save(tmp_path, physical())
    done = CliRunner().invoke(app, ["export", "latest", "-o", "x.doc", "--results", str(tmp_path)])
    assert getattr(done.exception, "exit_code", 0) == 2
    done = CliRunner().invoke(app, ["export", "latest", "--json", "--per", "run", "--results", str(tmp_path)])
    assert json.loads(done.stdout)[0]["id"] == physical().id
