"""Rates of clusters whose instances ran for different times, and of reports whose elapsed time is wrong."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from factories.awr.described import Database
from factories.awr.making import example
from factories.awr.report import LAYOUTS, write, write_global
from factories.awr.sheet import Layout
from factories.tables import table
from openslob.awr import Number, Report, read_bytes
from openslob.awr.cells import Subject
from openslob.awr.columns import column_of
from openslob.awr.rates import contradicts
from openslob.awr.rows import ROW_SETS
from openslob.awr.verdicts import verdicts

NAMES = [f"{layout.version}-{'html' if layout.is_html else 'text'}" for layout in LAYOUTS]
of_every_layout = pytest.mark.parametrize("layout", LAYOUTS, ids=NAMES)
ALIKE, APART = (0.8, 0.8), (0.8, 0.35)  # of the time of the whole report


@cache
def describe(shares: tuple[float, ...]) -> Database:
    database = example(7, instances=len(shares), containers=1)
    ran = zip(database.instances, shares, strict=True)
    return replace(database, instances=tuple(replace(one, ran_s=database.elapsed * share) for one, share in ran))


@cache
def read_global(shares: tuple[float, ...], layout: Layout) -> Report:
    return read_bytes(write_global(describe(shares), layout).data)


def cell(report: Report, column: str):
    return column_of(column).read(Subject(report))


def add_rates(database: Database, statistic: str) -> float:
    """The sum of a figure of the time model over each instance's own time."""
    return sum(
        database.per_second(one, one.db_time if statistic == "DB time" else one.times[statistic])
        for one in database.instances
    )


@of_every_layout
@table("shares", [ALIKE, APART])
def test_a_rate_of_a_cluster_is_the_sum_of_its_instances_rates(layout, shares):
    database, report = describe(shares), read_global(shares, layout)
    used, active = add_rates(database, "DB CPU"), add_rates(database, "DB time")
    lio = sum(database.per_second(one, one.statistics["session logical reads"]) for one in database.instances)
    assert cell(report, "db_cpu").value == pytest.approx(used, rel=2e-3)
    assert cell(report, "db_time").value == pytest.approx(active, rel=2e-3)
    assert cell(report, "lio").value == pytest.approx(lio, rel=1e-6, abs=0.006)
    assert cell(report, "lio_per_db_cpu").value == pytest.approx(lio / used, rel=2e-3, abs=0.006 / used)
    figures = next(one for one in verdicts(report) if one.name == "cpu_is_not_saturated").figures
    assert figures["cpus_used"] == pytest.approx(used + add_rates(database, "background cpu time"), rel=2e-3)


@of_every_layout
@table("shares", [ALIKE, APART])
def test_the_time_of_a_cluster_that_is_not_its_instances_is_one_warning(layout, shares):
    (warning,) = read_global(shares, layout).warnings
    seconds = [round(describe(shares).elapsed * share) for share in (0.35, 0.8) if share in shares]
    assert all(any(str(near) in warning for near in range(one - 1, one + 2)) for one in seconds)
    assert "sums over the instances" in warning


@table(("shares", "is_known"), [(ALIKE, True), (APART, False)])
def test_a_total_of_instances_that_ran_for_different_times_is_divided_by_none_of_them(shares, is_known):
    report = read_global(shares, Layout("19c", is_html=True))
    (row,) = ROW_SETS["events"].rows_of(Subject(report), ("log file sync",))
    per_s = row[ROW_SETS["events"].headings().index("IOPS")]
    waits, elapsed = report.event("log file sync").waits.value, describe(shares).elapsed
    assert per_s.value == (pytest.approx(waits / (0.8 * elapsed), rel=2e-3) if is_known else None)
    assert is_known or "ran for" in per_s.why
    window = verdicts(report, 4)[0]
    assert (window.verdict == "unknown") != is_known


@of_every_layout
def test_the_io_of_an_instance_is_over_its_own_time(layout):
    """The report divides by the time of all; without its totals nobody can tell."""
    database, report = describe(APART), read_global(APART, layout)
    headings, rows = ROW_SETS["instances"].headings(), list(ROW_SETS["instances"].rows_of(Subject(report), ()))
    for one, row in zip(database.instances, rows, strict=True):
        reads = database.per_second(one, sum(item.reads for item in one.filetypes))
        found = row[headings.index("Preads")]
        assert found.value == (pytest.approx(reads, rel=2e-3) if layout.since("12.2") else None)
        assert found.value is not None or "this instance" in found.why


def test_no_total_is_divided_by_an_elapsed_time_that_the_printed_rates_contradict():
    page = write(example(7), Layout("12.1", is_html=True)).data.decode()
    minutes = f"{read_bytes(page.encode()).header.elapsed_min.value:.2f}"
    report = read_bytes(page.replace(minutes, f"{float(minutes) / 2:.2f}").encode())
    assert any("does not fit total / per second" in warning for warning in report.warnings)
    (row,) = ROW_SETS["events"].rows_of(Subject(report), ("log file sync",))
    assert "does not fit" in row[ROW_SETS["events"].headings().index("IOPS")].why
    assert cell(report, "db_cpu").value == report.load_profile["db_cpu"].per_second.value


@table(
    ("computed", "printed", "expected"),
    [(6.0457, 6.1, True), (3.546, 3.6, True), (3.446, 3.5, True), (6.0500001, 6.1, False), (3.55, 3.6, False)],
)
def test_a_computed_figure_contradicts_a_printed_one_beyond_half_its_last_digit(computed, printed, expected):
    assert contradicts(Number(computed, 1e-4), Number(printed, 0.1)) is expected
