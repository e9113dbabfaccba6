"""A report of a run beside other sessions' load claims nothing that is theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from factories import record_files
from openslob.record.model import Figure, Holds, RunRecord, Verdict
from openslob.report import run_series
from openslob.report.charts.picture import page_specs
from openslob.report.charts.run import timeline
from openslob.report.headline import headline

WHY = "other sessions worked on the server"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    record_files.write(tmp_path)
    return tmp_path


def beside_others(outcome: Holds) -> RunRecord:
    record = record_files.record()
    alone = Verdict(name="alone_on_server", verdict=outcome, why=WHY)
    unknown = {"redo_mb_per_s": Figure(value=None, unit="MB/s", why=WHY)}
    return record.model_copy(update={"verdicts": (*record.verdicts, alone), "summary": {**record.summary, **unknown}})


def drawn(record: RunRecord, folder: Path) -> str:
    return str(page_specs(timeline(record, run_series.read(folder, record))))


def test_the_time_line_leaves_out_what_counts_the_whole_server(folder):
    assert "redo_mb_per_s" in drawn(beside_others(Holds.HOLDS), folder)
    beside = drawn(beside_others(Holds.FAILS), folder)
    assert "redo_mb_per_s" not in beside
    assert "lio_per_s" in beside


def test_the_headline_says_that_others_were_there():
    assert headline(beside_others(Holds.FAILS)).endswith("; while other sessions loaded the server.")
    assert "beside" not in headline(beside_others(Holds.UNKNOWN))


def test_cpu_over_time_says_whose_it_is(folder):
    away = record_files.record()
    away = away.model_copy(update={"environment": {**away.environment, "local": False}})
    assert "driver's host CPU" in drawn(away, folder)
    assert "driver's host CPU" not in drawn(record_files.record(), folder)


def test_the_seconds_of_a_run_are_whole_numbers(folder):
    """With as many digits as the label before it has, the last of ten seconds was 1e+1."""
    axes = [found for found in drawn(record_files.record(), folder).split("'axis': ") if "tickMinStep" in found]
    assert axes
    assert all("'format': 'd'" in axis.partition("}")[0] for axis in axes)
