"""The set ``awr_info`` against a table that was worked out by hand from the lines that SLOB's script reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from factories.awr_reports import SAMPLES, needs_samples, read_fixture
from factories.tables import table
from openslob.awr import Number, Rate, read
from openslob.awr.awr_info import HEADINGS
from openslob.awr.cells import Subject
from openslob.awr.columns import column_of
from openslob.awr.inputs import parse_name
from openslob.awr.selection import SETS

# By hand: ELAPSED 10.00 x 60; PREADS of 10,000.0 "physical read IO requests" per second, not of "total IO requests";
# 81,920,000.0 bytes / 2^20 is 78.125; 819,200.0 / 2^20 is 0.78; latencies are whole seconds / waits.
FIXTURE = {
    "ELAPSED": 600, "DB CPU": 0.9, "DB Tm": 5.0, "EXECUTES": 100, "LIO": 11_000, "PREADS": 10_000, "READ_MBS": 78.1,
    "PWRITES": 50, "WRITE_MBS": 1, "REDO_MBS": 0.0, "DFSR_LAT": 400, "DFPW_LAT": None, "LFPW_LAT": 3333,
}  # fmt: skip
# From the lines of the report by hand, and the same that the script itself prints of it.
SAMPLE = {
    "ELAPSED": 3615, "DB CPU": 0.3, "DB Tm": 1.1, "EXECUTES": 1536, "LIO": 97_456, "PREADS": 101, "READ_MBS": 1.2,
    "PWRITES": 12, "WRITE_MBS": 1, "REDO_MBS": 0.1, "DFSR_LAT": 111, "DFPW_LAT": 359, "LFPW_LAT": 386,
}  # fmt: skip


def row_of(report, path="awr.txt.128"):
    subject = Subject(report, parse_name(path))
    return {heading: column_of(column).read(subject) for heading, column in SETS["awr_info"].items()}


def test_the_set_has_the_scripts_columns_in_its_order_and_totals_after_them():
    assert tuple(SETS["awr_info"])[: len(HEADINGS)] == HEADINGS
    assert tuple(SETS["slob"]) == HEADINGS
    assert tuple(SETS["awr_info"])[len(HEADINGS) :] == ("TOTAL PREADS", "TOTAL PWRITES", "FG CPU")


def test_figures_are_those_of_the_lines_that_the_script_reads():
    found = row_of(read_fixture("awr_11.2.txt"))
    assert {heading: found[heading].value for heading in FIXTURE} == FIXTURE
    assert found["SESSIONS"].value == 128
    assert found["TOP WAIT"].value.startswith("db file sequential read, 6,000,000 waits, 2,400 s")
    assert (found["TOTAL PREADS"].value, found["TOTAL PWRITES"].value) == (10_001, 51)
    assert "0 s" in found["DPR_LAT"].why


@table(("background", "expected"), [(0.36, 1.26), (None, 0.9)])
def test_db_cpu_is_that_of_foreground_and_background(background, expected):
    report = read_fixture("awr_11.2.txt")
    more = {} if background is None else {"background_cpu": Rate(Number(background, 0.1))}
    found = row_of(replace(report, load_profile={**report.load_profile, **more}))["DB CPU"]
    assert found.value == pytest.approx(expected)
    assert ("no Background CPU" in found.source) == (background is None)


@needs_samples
def test_figures_of_a_real_report():
    found = row_of(read(SAMPLES / "awr_text_12.2.0.1_aix_bpsc.txt"))
    assert {heading: found[heading].value for heading in SAMPLE} == SAMPLE
    assert found["TOP WAIT"].value.startswith("DB CPU, 1,234.8 s")


def test_an_unknown_heading_has_a_reason():
    why = column_of("awr_info:IOPS").read(Subject(read_fixture("awr_11.2.txt"))).why
    assert "PREADS" in why
