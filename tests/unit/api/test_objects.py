"""Records as objects for notebooks: figures, tables, data frames, pictures and reports."""

from __future__ import annotations

import builtins
import sys
from dataclasses import replace
from html import escape
from pathlib import Path

import pytest

import openslob
from factories import record_files
from factories.records import buffered, physical, remote
from factories.sweeps import sweep
from openslob.api.results import MOST_POINTS_SHOWN
from openslob.api.table import Table
from openslob.record.raw_csv import COLUMNS
from openslob.record.store import RunFolder
from openslob.report.charts.colours import Theme


def save(results: Path, record=None) -> Path:
    """The record of a run, with raw files."""
    record = record or record_files.record()
    with RunFolder.begin(results, record) as folder:
        folder.finish(record)
    record_files.write(results / record.id)
    return results / record.id


@pytest.fixture
def run(tmp_path: Path):
    return openslob.read(save(tmp_path)).run


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    for record in sweep(counts=(1, 2, 4, 8), update_pcts=(0, 20)):
        save(folder, record)
    return openslob.read(folder)


def test_a_figure_has_its_value_unit_and_meaning_or_the_reason_why_it_is_unknown(run, tmp_path):
    figure = run.figures["pio_read_per_s"]
    assert (figure.value, figure.unit) == (run.record.summary["pio_read_per_s"].value, "1/s")
    assert figure.definition
    assert run.figures["select_p99_us"].value == run.record.latency["select"]["p99_us"]
    figures = openslob.read(save(tmp_path / "remote", remote())).run.figures
    unknown = next(each for each in figures.values() if each.value is None)
    assert unknown.reason
    with pytest.raises(openslob.VerdictError, match="is not known"):
        float(unknown)


def test_an_unknown_name_is_an_error_that_names_similar_ones(run):
    for missing in (lambda: run.figures["reads_per_s"], lambda: run.verdicts["stable"], lambda: run.plot("time")):
        with pytest.raises(openslob.UnknownNameError, match=r"did you mean|there are"):
            missing()
    with pytest.raises(KeyError, match="did you mean pio_read_per_s"):
        run.figures["io_read_per_s"]
    assert "reads_per_s" not in run.figures
    assert "pio_read_per_s" in run.figures._ipython_key_completions_()


def test_required_verdicts_are_an_error_unless_they_hold(run, tmp_path):
    assert run.require() is run
    run = openslob.read(save(tmp_path / "buffered", buffered())).run
    holding = [name for name, verdict in run.verdicts.items() if verdict.verdict.value == "holds"]
    assert run.require(*holding) is run
    bad = next(name for name in run.verdicts if name not in holding)
    with pytest.raises(openslob.VerdictError, match=f"verdict {bad} "):
        run.require(bad)
    with pytest.raises(openslob.VerdictError, match="fails: "):
        run.require()
    with pytest.raises(openslob.VerdictError, match="not read: verdict reads_reached_device fails"):
        run.require("read")
    with pytest.raises(openslob.UnknownNameError):
        run.require("nonsense")


@pytest.mark.parametrize("name", COLUMNS)
def test_raw_measurements_are_tables(run, name):
    method = {"os.csv": "host"}.get(name, name.removesuffix(".csv"))
    table = getattr(run, method)()
    assert table.columns == COLUMNS[name]
    lines = (run.folder / name).read_text().splitlines()[1:]
    assert len(table) == len(lines)
    if lines:
        assert [type(value) for value in table[0].values()] != [str] * len(table.columns)
        assert table.column(table.columns[0])[-1] == int(lines[-1].split(",")[0])


def test_tables_become_data_frames(run, swept):
    for table in (run.latency(), swept.table(), swept.table("run"), run.figures.table(), run.table()):
        pandas, polars = table.to_pandas(), table.to_polars()
        assert list(pandas.columns) == polars.columns == list(table.columns)
        assert len(pandas) == polars.height == len(table)
    assert swept.to_pandas()["sessions"].tolist() == [1, 2, 4, 8] * 2
    assert swept.to_polars(per="run").height == len(swept)
    with pytest.raises(openslob.UsageError, match="per='host'"):
        swept.table("host")


def test_a_data_frame_without_its_library_is_an_error_with_the_command(run, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name in ("pandas", "polars"):
            raise ImportError(name)
        return real(name, *rest)

    for library in ("pandas", "polars"):
        monkeypatch.delitem(sys.modules, library, raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install .*\[pandas\]"):
        run.to_pandas()
    with pytest.raises(openslob.SlobError, match=r"pip install .*\[polars\]"):
        run.latency().to_polars()


def test_what_a_program_prints_of_a_table_is_a_line(run):
    assert repr(run.latency()).startswith("<Table: ")
    assert repr(Table(["a", "b"], [[1, 2]])) == "<Table: 1 row, 2 columns: a, b>"
    for each in (run.figures, run.verdicts, run.slices(), Table([str(at) for at in range(400)], [])):
        assert len(repr(each)) < 120
    assert repr(run.figures).endswith(", …>")


def test_pictures_are_charts_by_name(run, swept, monkeypatch):
    # The pictures themselves have tests of their own; Altair takes a second to make a chart of one, and to write it.
    assert swept.plot(swept.plots[-1]).to_dict(validate=False)["title"]
    monkeypatch.setattr("openslob.report.charts.picture.chart", lambda picture, theme: (picture.name, theme))
    for record in (run, swept):
        assert record.plot()[0] == record.plots[0]
        assert record.plot(record.plots[-1])[0] == record.plots[-1]
    assert [run.plot(theme=theme)[1] for theme in ("light", "dark")] == [Theme.LIGHT, Theme.DARK]


def test_the_report_is_the_page_of_the_command(run, swept, tmp_path):
    for record in (run, swept):
        page = record.report(tmp_path / "report.html").read_text()
        assert page.startswith("<!DOCTYPE html>")
        assert "vegaEmbed" in page
    with pytest.raises(openslob.SlobError, match="can't be written"):
        run.report(tmp_path / "no" / "such" / "folder.html")


def test_a_notebook_shows_answer_verdicts_and_figures(run, swept):
    html = run._repr_html_()
    assert escape(run.answer) in html
    assert "verdicts hold" in html
    assert len(html) < 20_000
    html = swept._repr_html_()
    assert all(escape(answer) in html for answer in swept.answers)
    assert html.count("<tr>") == len(swept.table()) + 1 <= MOST_POINTS_SHOWN
    assert "<script" not in html
    for shown in (run.verdicts, run.figures, run.latency()):
        assert shown._repr_html_().startswith("<div")
    assert "20 of" in run.latency()._repr_html_()


def test_names_in_records_are_escaped(tmp_path):
    record = record_files.record().model_copy(update={"name": "<img src=x onerror=alert(1)>"})
    assert "<img" not in openslob.read(save(tmp_path, record))._repr_html_()


def test_results_are_a_sequence_of_runs(swept, run):
    assert len(swept) == len(list(swept)) == 24
    assert swept[0].id == swept.records[0].id
    assert [each.id for each in swept[:2]] == [each.id for each in swept.records[:2]]
    with pytest.raises(openslob.UsageError, match="24 runs; take one"):
        _ = swept.run
    assert run.parameters["update_pct"] == 20
    assert "24 runs" in repr(swept)
    assert run.id in repr(run)


def test_a_comparison_has_an_answer_and_a_table(tmp_path):
    before = physical(name="before", record_id="20260301-120000-before")
    after = physical(name="after", record_id="20260301-120100-after")
    paths = [str(save(tmp_path, record)) for record in (before, after)]
    found = openslob.compare(*paths)
    assert found.answer
    figures = found.table.column("figure")
    assert "ops_per_s" in figures
    assert found.to_pandas()["figure"].tolist() == figures
    assert escape(found.answer) in found._repr_html_()
    with pytest.raises(openslob.UsageError, match="on both sides"):
        openslob.compare(paths[0], openslob.read(paths[0]).run)


def test_sides_that_differ_are_compared_only_when_asked(tmp_path):
    other = physical(name="other", record_id="20260301-130000-other")
    other = other.model_copy(update={"environment": {**other.environment, "kernel": "6.2"}})
    sides = [str(save(tmp_path, record)) for record in (physical(), other)]
    with pytest.raises(openslob.SlobError, match="anyway=True"):
        openslob.compare(*sides)
    found = openslob.compare(*sides, anyway=True)
    assert found.mismatches
    assert "Not the same on both sides" in found._repr_html_()


def test_loading_a_path_still_reads_it_and_says_what_does(tmp_path):
    folder = save(tmp_path)
    with pytest.warns(DeprecationWarning, match=r"openslob.read\("):
        assert openslob.load(folder).records == openslob.read(folder).records
    with pytest.raises(openslob.UsageError, match=r"openslob.load\(target='big'\) loads data"):
        openslob.load("big")


def test_results_of_one_sweep_know_it(swept):
    assert replace(swept, name="x").sweep is None
