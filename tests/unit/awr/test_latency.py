"""Latency in µs, and the tables by which SLOB's users have compared arrays."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.awr.described import Wait
from factories.awr.making import example
from factories.awr.report import LAYOUTS, write
from factories.awr_reports import read_fixture, report
from factories.tables import table
from openslob.awr import Bucket, Number, Scope, WaitHistogram, read_bytes
from openslob.awr.cells import Subject
from openslob.awr.columns import COLUMNS, column_of
from openslob.awr.latency import HISTOGRAM, PRINTED, TIME_BY_WAITS, latency, latency_of

# Waits and whole seconds of db file sequential read, and the latency that was published with them: an array
# attached by PCIe, then by InfiniBand (sessions, waits, seconds, us, IOPS).
PCIE = [
    (1, 308_185, 33, 107, 7_139.2),
    (4, 4_166_252, 510, 122, 24_883.1),
    (8, 9_146_095, 1_245, 136, 41_569.2),
    (16, 19_496_201, 3_112, 160, 70_121.9),
    (32, 40_159_185, 11_079, 275, 92_185.0),
    (64, 81_342_725, 49_049, 602, 99_060.1),
]
INFINIBAND = [
    (1, 9_999, 1, 100, 2_063.8),
    (4, 29_992, 5, 166, 5_998.8),
    (8, 39_965, 6, 150, 8_285.5),
    (16, 79_958, 15, 187, 13_897.8),
    (32, 159_914, 43, 269, 18_133.9),
    (64, 21_595_919, 6_035, 280, 115_461.1),
    (128, 99_762_808, 69_007, 691, 124_907.4),
]
# Printed as 280, but 6,035 s (half a second more or less) over these waits is 279.43 to 279.47.
NOT_FROM_ITS_OWN_ROW = (64, 21_595_919, 6_035, 280, 115_461.1)


def whole(value: float) -> Number:
    return Number(value, 1.0)


@table("row", PCIE + INFINIBAND, ids=str)
def test_published_latencies_follow_from_waits_and_seconds(row):
    """Published figures were cut in some rows and rounded in others: within the seconds' rounding, one of both fits."""
    _, waits, seconds, published, _ = row
    found = latency(whole(waits), whole(seconds))
    assert found.source == TIME_BY_WAITS
    possible = range(math.floor(found.low_us), round(found.high_us) + 1)
    assert (published in possible) == (row != NOT_FROM_ITS_OWN_ROW)
    assert abs(found.us - published) < 1


@table("row", PCIE + INFINIBAND, ids=str)
def test_the_published_tables_come_out_of_reports(row):
    """The same through a report: its elapsed time has hundredths of minutes, so that IOPS are as good as these."""
    sessions, waits, seconds, published, iops = row
    parsed = read_bytes(report(waits, seconds, waits / iops, sessions))
    assert parsed.warnings == ()
    event = parsed.foreground("db file sequential read")
    assert abs(latency_of(parsed, event).us - published) < 1
    assert event.waits.value / parsed.elapsed_s.value == pytest.approx(iops, rel=0.3 / parsed.elapsed_s.value)


def test_425_us_where_the_report_prints_0_ms():
    found = latency(whole(119_835_425), whole(50_938), avg_us=Number(0, 1000))
    assert round(found.us) == 425
    assert found.source == TIME_BY_WAITS


def test_the_printed_average_is_used_where_the_seconds_are_too_coarse():
    found = latency(whole(109), whole(0), Number(749.07, 0.01))
    assert (found.us, found.source) == (749.07, PRINTED)


def test_the_finer_of_two_coarse_figures_is_used():
    assert latency(whole(561), whole(2), Number(4000, 1000)).source == PRINTED
    assert latency(whole(561), whole(6), Number(11000, 10000)).source == TIME_BY_WAITS


def test_the_histogram_is_used_where_nothing_else_tells():
    buckets = (Bucket(0, 1000, 0), Bucket(1000, 2000, 100.0), Bucket(2000, None, 0))
    found = latency(whole(40_000), None, None, WaitHistogram("x", None, buckets))
    assert (found.us, found.low_us, found.high_us, found.source) == (1500, 1000, 2000, HISTOGRAM)


def test_a_histogram_without_upper_limit_gives_no_mean():
    assert latency(None, None, None, WaitHistogram("x", None, (Bucket(0, 8, 50), Bucket(8, None, 50)))) is None


def test_a_latency_below_the_clock_is_unknown_and_never_0():
    found = latency(whole(40_000), whole(0), Number(0, 1000))
    assert found.us is None
    assert found.high_us == 12.5
    parsed = read_fixture("awr_11.2.txt")
    reading = COLUMNS["dpr_us"].read(Subject(parsed))
    assert reading.value is None
    assert reading.why == "direct path read: below 12.5 us, which the report prints as 0"


@given(st.integers(1, 10**10), st.floats(1e-3, 1e6), st.sampled_from([1.0, 0.1, 0.01]))
def test_the_true_mean_lies_within_the_limits(waits, seconds, step):
    printed = Number(round(seconds / step) * step, step)
    true = seconds / waits * 1e6
    found = latency(whole(waits), printed)
    assert found.low_us <= true * (1 + 1e-9)
    assert true <= found.high_us * (1 + 1e-9)
    assert found.us is None or found.us > 0


def histogram(low, high, waits=None):
    return WaitHistogram("x", waits, (Bucket(0, low, 0), Bucket(low, high, 100.0), Bucket(high, None, 0)))


def test_a_histogram_that_contradicts_the_table_is_not_used():
    zero = latency(whole(40_000), whole(0), Number(0, 1000), histogram(4000, 7000))
    assert (zero.us, zero.high_us) == (None, 12.5)
    assert latency(None, None, Number(1000, 1000), histogram(32_000, 42_000)).us == 1000


def test_a_histogram_of_other_waits_is_not_used():
    """It counts the background's waits too."""
    coarse = latency(whole(4), whole(0), None, histogram(100, 200, whole(4)))
    assert (coarse.us, coarse.source) == (150, HISTOGRAM)
    assert latency(whole(4), whole(0), None, histogram(100, 200, whole(400))).us is None


def test_a_mean_is_never_less_exact_than_the_printed_one():
    found = latency(whole(360_121), whole(40), Number(109.72, 0.01), histogram(64, 128))
    assert (found.us, found.source) == (109.72, PRINTED)


@table(
    ("seconds", "average", "printed_us"),
    [
        (25, Number(5000, 1000), 5000),  # 5567 us, printed as 5 ms
        (25, Number(6000, 1000), None),
        (25, None, None),
        (None, Number(5000, 10), None),
    ],
)
def test_a_mean_that_the_printed_average_excludes_is_marked(seconds, average, printed_us):
    found = latency(whole(4491), whole(seconds) if seconds else None, average)
    assert found.printed_us == printed_us
    assert ("5000" in found.origin) == (printed_us is not None)


def test_the_mark_is_where_the_latency_comes_from():
    report = read_fixture("awr_11.2.txt")
    event = report.event("db file sequential read")
    cut = replace(event, time_s=Number(event.waits.value * 5567e-6, 0.001), avg_us=Number(5000, 1000), name="cut")
    found = column_of("event:cut:from").read(Subject(replace(report, events=(cut,))))
    assert found.value == f"{TIME_BY_WAITS} (the report prints 5000 us)"


def test_the_shares_of_a_histogram_are_those_that_are_printed_whatever_they_add_up_to():
    """A third each is printed as 33.3 %."""
    wait = Wait("log file sync", "Commit", {4: 1000, 12: 1000, 18: 1000})
    described = example(7)
    described = replace(described, instances=(replace(described.instances[0], foreground=(wait,), background=()),))
    for layout in LAYOUTS:
        report = read_bytes(write(described, layout).data)
        found = report.histogram("log file sync")
        assert [bucket.share_pct for bucket in found.buckets if bucket.share_pct] == [33.3] * 3
        assert found.total_pct == pytest.approx(99.9)
        assert found.buckets[0].low_us == 0
        assert found.buckets[-1].high_us is None
        below = column_of("histogram:log file sync:2s").read(Subject(report))
        assert (below.value, below.source) == (pytest.approx(99.9), "the printed shares add up to 99.9 %")


def test_the_mean_of_a_histogram_is_over_the_sum_of_its_shares():
    halves = WaitHistogram("x", None, (Bucket(0, 100, 0), Bucket(100, 100, 49.0), Bucket(100, None, 0)))
    assert latency(whole(4), None, None, halves).us == 100


def test_negative_figures_give_no_latency():
    assert latency(whole(-5), whole(3), None) is None
    assert latency(whole(5), whole(-3), Number(-1, 1)) is None


def test_an_event_has_one_latency_in_every_table():
    """The top list prints tenths of seconds, the full table whole ones."""
    for name in ("awr_12.1.txt", "awr_23ai.html", "sp_19c.txt", "awr_19c.txt", "awrg_19c.html"):
        report = read_fixture(name)
        for top in (*report.list_events(Scope.TOP), *report.list_events(Scope.TOP_ALL)):
            full = report.event(top.name, Scope.FOREGROUND)
            if full is not None:
                assert latency_of(report, top) == latency_of(report, full)
