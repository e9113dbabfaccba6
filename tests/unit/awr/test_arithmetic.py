"""What becomes of the cells of a table: units and months, totals of each instance, and figures that must agree."""

from __future__ import annotations

from datetime import datetime

import pytest

from factories.tables import table
from openslob.awr.builder import ReportBuilder
from openslob.awr.columns import COLUMNS
from openslob.awr.consistency import average_agrees
from openslob.awr.figures import read_iostat, read_limits
from openslob.awr.model import Scope, WaitEvent, snapshot_time
from openslob.awr.numbers import Number, NumberFormat
from openslob.awr.tables import ReportTable
from openslob.awr.waits import find_bucket_edges, merge_histograms, read_histogram

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@pytest.fixture
def builder() -> ReportBuilder:
    return ReportBuilder(NumberFormat())


def test_every_month_is_read_by_its_name_and_by_its_number():
    for number, name in enumerate(MONTHS, start=1):
        expected = datetime(2015, number, 2, 10)
        assert snapshot_time(f"02-{name}-15 10:00") == snapshot_time(f"02-{number}-15 10:00") == expected


def test_buckets_end_at_the_edges_of_their_units():
    edges = find_bucket_edges(("Event", "% of Waits <1us", "<1ms", "<1s", "<1h"))
    assert [edge for _, edge in edges] == [1, 1000, 1e6, 3.6e9]


@table(
    ("printed", "expected"),
    [
        (("<512us", "<1", "<2"), [512, 1000, 2000]),
        (("<512ms", "<1", "<2"), [512e3, 1e6, 2e6]),
        (("<16", "<32ms"), [16e3, 32e3]),
        (("<30m", "<1h"), [1.8e9, 3.6e9]),
    ],
)
def test_an_edge_whose_unit_is_cut_has_the_one_that_goes_on_from_its_neighbour(printed, expected):
    assert [edge for _, edge in find_bucket_edges(printed)] == expected


def test_columns_have_the_units_that_their_names_end_in():
    units = {"_per_s": "MB/s (2^20 bytes)", "_per_h": "1/h", "_us": "us", "_s": "s", "_pct": "%"}
    for name, column in COLUMNS.items():
        ends = [unit for end, unit in units.items() if name.endswith(end)]
        assert not ends or column.unit == ends[0], name


def test_events_that_matter_have_four_columns_each_by_a_short_name():
    for short in ("dfsr", "dpr", "dfpr", "dfscr", "dpw", "dprt", "dpwt", "lfs", "dfpw", "lfpw", "lfsr"):
        assert {f"{short}_{figure}" for figure in ("waits", "s", "us", "pct")} <= COLUMNS.keys()


@table("headings", [("<4us", "<2us", ">=2us"), ("<2us", "<2us", ">=2us")])
def test_buckets_that_are_not_in_order_are_not_read(builder, headings):
    rows = (("log file sync", "10", "50.0", "30.0", "20.0"),)
    read_histogram(ReportTable("Wait Event Histogram", ("Event", "Total Waits", *headings), rows), builder)
    assert (list(merge_histograms(builder)), list(builder.unread)) == ([], ["Wait Event Histogram"])


COLUMNS_OF_FILETYPES = (
    "I#", "Filetype Name", "Reads: Data", "Read Reqs per sec", "Read Data per sec", "Writes: Data",
    "Write Reqs per sec", "Write Data per sec", "Waits: Count", "Avg Tm(ms)", "Small Read(ms)", "Large Read(ms)",
)  # fmt: skip


def test_the_total_of_each_instance_has_reads_and_writes_apart(builder):
    rows = (
        ("1", "Total:", "9G", "100", "10M", "4G", "40", "4M", "900", "1.5", ".5", "3"),
        ("2", "Total:", "9G", "200", "20M", "4G", "80", "8M", "900", "1.5", ".5", "3"),
        ("*", "Data File", "9G", "300", "30M", "4G", "120", "12M", "1,800", "1.5", ".5", "3"),
    )
    read_iostat("filetypes", ReportTable("IOStat by Filetype", COLUMNS_OF_FILETYPES, rows), builder)
    found = {
        instance: {name: number.value for name, number in figures.items()}
        for instance, figures in builder.per_instance.items()
    }
    assert {number: (each["read_requests_per_s"], each["write_requests_per_s"]) for number, each in found.items()} == {
        1: (100, 40), 2: (200, 80),
    }  # fmt: skip
    (listed,) = builder.iostat_filetypes
    assert (listed.name, listed.waits, listed.avg_us) == (
        "Data File",
        Number(1800, 1),
        Number(1500, pytest.approx(100)),
    )
    assert (listed.read_requests_per_s.value, listed.write_requests_per_s.value) == (300, 120)
    assert (listed.read_mb_per_s.value, listed.write_mb_per_s.value) == (30, 12)
    assert (listed.small_read_us.value, listed.large_read_us.value) == (500, 3000)


def test_the_number_of_cpus_is_that_of_its_own_limit(builder):
    rows = (("Sessions:", "400"), ("CPUs:", ""), ("CPUs:", "4"), ("Memory:", "8"))
    read_limits(ReportTable("Resource Limits", ("Name", "Value"), rows), builder)
    assert builder.header == {"cpus": 4}


@table(
    ("waits", "avg_us", "time_s", "agrees"),
    [
        (Number(1000, 1), Number(2000, 10), Number(2, 1), True),
        (Number(1000, 1), Number(2000, 10), Number(4, 1), False),
        (Number(100_000, 1000), Number(2000, 10), Number(201, 1), True),
        (Number(100_000, 1), Number(2000, 10), Number(230, 1), False),
        (None, Number(2000, 10), Number(4, 1), True),
        (Number(1000, 1), None, Number(4, 1), True),
        (Number(1000, 1), Number(2000, 10), None, True),
    ],
)
def test_the_time_of_an_event_is_its_waits_times_their_mean_as_far_as_they_are_printed(waits, avg_us, time_s, agrees):
    event = WaitEvent("db file sequential read", Scope.FOREGROUND, waits=waits, avg_us=avg_us, time_s=time_s)
    assert average_agrees(event) is agrees
