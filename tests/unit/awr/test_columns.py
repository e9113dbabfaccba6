"""Every kind of column, from text and HTML with the same figures."""

from __future__ import annotations

import json

import pytest

from factories.awr_reports import FIXTURES, read_fixture
from factories.awr_sections import page_with_sections, text_with_sections
from factories.tables import table
from openslob.awr import Report, read_bytes
from openslob.awr.cells import Subject
from openslob.awr.columns import COLUMNS, PREFIXES, column_of
from openslob.awr.model import plain_model
from openslob.awr.rows import ROW_SETS
from openslob.awr.selection import SETS, chosen, list_choices, names_of
from openslob.core.errors import UsageError


@pytest.fixture(params=[text_with_sections, page_with_sections], ids=["text", "html"])
def report(request) -> Report:
    return read_bytes(request.param())


def cell(report: Report, column: str):
    return column_of(column).read(Subject(report))


def rows(report: Report, name: str, *events: str) -> list[tuple[object, ...]]:
    return [tuple(one.value for one in row[1:]) for row in ROW_SETS[name].rows_of(Subject(report), events)]


EXPECTED: dict[str, object] = {
    "buffer_hit_pct": 9.09,
    "library_hit_pct": 98.0,
    "efficiency:soft parse %": 91.0,
    "log_switches": 3.0,
    "log_switches_per_h": 18.0,
    "thread:log switches:per_hour": 18.0,
    "user_io_s": 2403.0,
    "user_io_waits": 6_041_300.0,
    "user_io_us": pytest.approx(2403e6 / 6_041_300),
    "user_io_pct": 80.1,
    "commit_us": 32_000.0,
    "class:system i/o:waits": 1200.0,
    "gc_received": 12.5,
    "gc_served": 10.25,
    "gc_cr_us": 800.0,
    "gc:current block receive time": 1400.0,
    "gc:log flushes for cr blocks served %": 3.6,
    "datafile_read_us": 400.0,
    "filetype:Data File:write_mb": 0.781,
    "filetype:Log File:writes": 1.0,
    "tablespace:SLOB_DATA": 400.0,
    "tablespace:slob_data:writes_per_s": 48.0,
    "datafile:slob_data_02.dbf:read_us": 500.0,
    "datafile:/u01/oradata/FIX/undotbs01.dbf:reads": 1000.0,
    "histogram:db file sequential read:1ms": 90.0,
    "histogram:db file sequential read:8ms": pytest.approx(99.7),
    "dfsr_below_1ms": 90.0,
    "dfsr_waits": 6_000_000.0,
    "dfsr_s": 2400.0,
    "event:db file sequential read:pct": 80.0,
    "event:db file sequential read:from": "time/waits",
    "top1_event": "db file sequential read",
    "top1_waits": 6_000_000.0,
    "top1_s": 2400.0,
    "top1_us": 400.0,
    "top1_pct": 80.0,
    "stat:user commits:total": 600.0,
    "instance_number": "1",
}


def test_columns_are_the_same_from_text_and_html(report):
    assert {column: cell(report, column).value for column in EXPECTED} == EXPECTED


@table(
    ("column", "why"),
    [
        ("event:log file synk", "log file synk: not listed (did you mean 'log file sync'?)"),
        ("stat:user comits", "user comits: not listed in Instance Activity Stats (did you mean 'user commits'?)"),
        ("class:user", "user: no such wait class"),
        ("tablespace:SLOB_DATE", "SLOB_DATE: not listed in Tablespace IO Stats (did you mean 'SLOB_DATA'?)"),
        ("histogram:db file sequential read:3ms", "has no edge at 3ms; it has 1ms, 2ms, 4ms"),
        ("function:LGWR:writes", "LGWR: not listed in IOStat by Function"),
        ("os:BUSY_TIME", "the report has no Operating System Statistics"),
        ("gc:none", "none: not listed in Global Cache and Enqueue Services"),
        ("parameter:cpu_coun", "did you mean 'cpu_count'?"),
    ],
)
def test_a_missing_figure_has_a_reason_and_the_likely_name(column, why):
    found = cell(read_bytes(text_with_sections()), column)
    assert found.value is None
    assert why in found.why


@table(
    ("columns", "message"),
    [
        ("preds", "did you mean preads?"),
        ("TOP WAIT", "did you mean top_wait?"),
        ("evnt:log file sync", "did you mean event:log file sync?"),
        ("histogram:log file sync", "needs a time at its end, such as histogram:log file sync:1ms"),
        ("event:", "needs a name, such as event:log file sync:waits"),
        ("histogramm", "did you mean histograms?"),
    ],
)
def test_an_unknown_column_names_the_likely_one(columns, message):
    with pytest.raises(UsageError) as error:
        chosen(columns)
    assert message in str(error.value)


def test_each_example_is_a_column_and_each_name_of_a_report_too(report):
    for key, prefix in PREFIXES.items():
        assert column_of(f"{key}:{prefix.example}").section == prefix.section
    for column, _, _, _ in names_of(report):
        assert cell(report, column) is not None
    listed = {line[0] for line in list_choices()}
    assert {*SETS, *ROW_SETS, *COLUMNS} <= listed
    assert {f"{key}:NAME" for key in PREFIXES} <= listed


def test_an_event_of_the_background_only_is_found(report):
    text = read_fixture("awr_11.2.txt")
    assert (cell(text, "event:log file parallel write:waits").value, cell(text, "lfs_us").value) == (600, None)
    assert cell(text, "event:log file sync").value == cell(text, "background:log file sync").value == 32_000
    assert cell(text, "background:log file parallel write:s").value == 2


def with_db_cpu(per_second: str, in_all: str) -> Report:
    text = (FIXTURES / "awr_11.2.txt").read_text()
    for printed, other in ((" 0.9              ", per_second.rjust(4) + " " * 14), ("540.0         18.0\n", "")):
        assert printed in text
        text = text.replace(printed, other or f"{in_all:>5}         18.0\n", 1)
    return read_bytes(text.encode())


@table(
    ("per_second", "in_all", "expected", "source"),
    [
        ("0.9", "540.0", 0.9, "time model / elapsed"),
        ("0.0", "0.6", 0.001, "time model / elapsed"),
        ("0.0", "540.0", 0.0, "Load Profile"),
        ("12.3", "7365", 12.3, "Load Profile"),
    ],
)
def test_a_small_rate_has_the_decimals_of_the_time_model_if_it_agrees(per_second, in_all, expected, source):
    found = cell(with_db_cpu(per_second, in_all), "db_cpu")
    assert (found.value, found.source) == (pytest.approx(expected), source)


def test_sets_with_several_rows(report):
    assert ("User I/O", "foreground", 6_041_300, 2403, pytest.approx(397.76, abs=0.01), 80.1) in rows(report, "classes")
    assert rows(report, "top")[0] == (1, "db file sequential read", "User I/O", 6_000_000, 2400, 400, 80)
    assert ("log switches (derived)" in dict(cell[:2] for cell in rows(report, "stats"))) is False
    assert ("Data File", 10_000, 50, 78.125, 0.781, 400, None) in rows(report, "filetypes")
    assert rows(report, "tablespaces")[0] == ("SLOB_DATA", None, 5_999_000, 9998, 400, 1, 29_000, 48, 7, 3000)
    assert rows(report, "files")[2][:5] == ("/u01/oradata/FIX/undotbs01.dbf", "UNDOTBS1", None, 1000, 2)
    assert rows(report, "histograms")[:2] == [
        ("db file sequential read", 0, 1000, 90, 90),
        ("db file sequential read", 1000, 2000, pytest.approx(0.5), pytest.approx(90.5)),
    ]
    assert rows(report, "instances")[0][:5] == (1, "fix1", "dbhost", 3000, 540)
    assert len(rows(report, "events", "all")) > 1
    assert rows(report, "os") == [(None, None, None)]


def test_each_instance_of_a_cluster_has_a_row():
    found = rows(read_fixture("awrg_19c.html"), "instances", "db file sequential read")
    assert [row[:5] for row in found] == [(1, "fix1", "node1", 3000, 540), (2, "fix2", "node2", 3000, 540)]
    assert [row[-2:] for row in found] == [
        ("db file sequential read", pytest.approx(300)),
        ("db file sequential read", pytest.approx(500)),
    ]


def test_the_whole_model_is_plain_data(report):
    model = json.loads(json.dumps(plain_model(report), allow_nan=False))
    assert model["header"]["db_name"] == "FIX"
    assert model["activity"]["user commits"]["total"] == 600
    assert model["elapsed_s"] == 600
    assert {"wait_classes", "tablespaces", "files", "global_cache", "histograms"} <= model.keys()
