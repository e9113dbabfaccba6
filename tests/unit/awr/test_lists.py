"""Statements, segments, enqueues, undo, cells and findings: the same from text and HTML, and each kind of report."""

from __future__ import annotations

import csv
import io

import pytest

from factories.awr_lists import GLOBAL_PAGE, PAGE, STATSPACK, TEXT, with_lists
from factories.awr_reports import FIXTURES
from factories.tables import table
from openslob.awr import read_bytes
from openslob.awr.cells import Subject
from openslob.awr.rows import ROW_SETS
from openslob.awr.sections import SECTIONS
from openslob.awr.selection import SETS

REPORTS = {"text": TEXT, "html": PAGE, "global": GLOBAL_PAGE, "statspack": STATSPACK}


def rows(form: str, name: str) -> list[dict[str, object]]:
    """The rows of a set by heading, without the figures that are missing."""
    found = ROW_SETS[name]
    report = read_bytes(with_lists(REPORTS[form]))
    assert report.warnings == ()
    listed = [dict(zip(found.headings(), row, strict=True)) for row in found.rows_of(Subject(report), ())]
    return [{heading: one.value for heading, one in row.items() if one.value is not None} for row in listed]


FIRST = {"SQL Id": "0123456789abc", "Elapsed(s)": 1234.5, "Executions": 600, "Elapsed/exec(s)": pytest.approx(2.0575),
         "% of DB time": 41.2, "% CPU": 12.5, "% IO": 80.1, "Module": "slob",
         "SQL": "select count(c2) from cf1"}  # fmt: skip
SECOND = {"SQL Id": "abcdefghijklm", "Elapsed(s)": 2.5, "% of DB time": 0.1, "% CPU": 99,
          "SQL": "update cf1 set c2 = :1 where custid > :2 and custid < :3 -- of text that is wrapped"}  # fmt: skip


@pytest.mark.parametrize("form", ["text", "html"])
def test_statements_of_an_instance(form):
    listed = [{key: cell for key, cell in row.items() if key != "Filename"} for row in rows(form, "sql_elapsed")]
    assert listed == [{"Inst": "1"} | FIRST, {"Inst": "1"} | SECOND]


def test_a_quotient_with_more_digits_is_exact_only_if_it_rounds_to_the_printed_one():
    """2.06 is printed; of 12,000 gets and 8 executions 1,500.0; 3 executions, whose gets per execution do not fit."""
    gets = rows("text", "sql_gets")
    assert [row["Gets/exec"] for row in gets] == [1500, 7.7]
    executions = {row["SQL Id"]: row for row in rows("text", "sql_executions")}
    assert executions["0123456789abc"]["Elapsed/exec(s)"] == pytest.approx(1234.5 / 600)
    assert "Elapsed/exec(s)" not in executions["abcdefghijklm"]  # 0.0 s of 7 executions: shorter, not 0


def test_a_count_with_decimals_is_no_count():
    """159,917 with another sign between thousands than the report's, or with a K that its column has cut."""
    page = with_lists(STATSPACK).replace(b"       1,000 ", b"     159.917 ")
    (row,) = read_bytes(page).listed["sql_elapsed"]
    assert row.why["Executions"] == "not a whole number (159.917)"
    assert row.cells["Elapsed/exec(s)"].value == 0.4  # as printed: nothing is divided by it


def test_a_table_with_other_groups_is_not_read_by_their_order():
    """Two totals where the known releases have four: which of them are requests, the headings do not say."""
    page = with_lists(PAGE).replace(b"<th>Value</th><th>per Sec</th>", b"<th>Total</th><th>per Sec</th>")
    (row,) = read_bytes(page).listed["flash_cache"]
    assert "Read hits" in row.cells
    assert not {"Writes", "First writes", "Writes(MB)"} & row.cells.keys()


@table(
    ("form", "name", "expected"),
    [
        ("global", "sql_elapsed",
         {"Inst": "*", "SQL Id": "0123456789abc", "Elapsed(s)": 1234.5, "Executions": 600, "CPU(s)": 154.2,
          "Gets": 9_000_000, "Reads": 60, "% of DB time": 41.2, "SQL": "select count(c2)..."}),
        ("global", "sql_gets",
         {"SQL Id": "0123456789abc", "Gets": 9_000_000, "Gets/exec": 15_000, "% of gets": 90.5, "Reads": 60,
          "Elapsed(s)": 1234.5}),
        ("statspack", "sql_elapsed",
         {"SQL Id": "3851979199", "Elapsed(s)": 404.3, "Executions": 1000, "Elapsed/exec(s)": pytest.approx(0.4043),
          "% of DB time": 65.4, "CPU(s)": 337.7, "Reads": 1_011_306, "Module": "slob"}),
    ],
)  # fmt: skip
def test_statements_of_other_kinds_of_reports(form, name, expected):
    first = rows(form, name)[0]
    assert {key: first.get(key) for key in expected} == expected


SEGMENTS = [
    ("logical reads", "SLOB", "CF1", None, "TABLE", "DATA", 99_505_248, 28.25, None),
    ("itl waits", "SLOB", "CF1_PK", "P1", "INDEX", "DATA", 12, None, 92.3),
]


@pytest.mark.parametrize("form", ["text", "html", "global"])
def test_segments(form):
    headings = tuple(SECTIONS["segments"].columns)[:9]
    listed = [tuple(row.get(heading) for heading in headings) for row in rows(form, "segments")]
    lowered = [(str(row[0]).lower(), *row[1:]) for row in listed]
    assert lowered == SEGMENTS


@pytest.mark.parametrize("form", ["text", "html", "statspack"])
def test_enqueues(form):
    listed = [tuple(row.values())[2:] for row in rows(form, "enqueues")]
    assert listed == [
        ("TX-Transaction (row lock contention)", 13_390, 13_389, 0, 13_375, 6724, 502_750),
        ("TM-DML", 921_713, 921_689, 0, 0, 0),  # N/A is no time
    ]


@pytest.mark.parametrize("form", ["text", "html", "statspack"])
def test_undo(form):
    summary, interval = rows(form, "undo")
    assert list(summary.values())[1:] == ["1", "2", 15_100, 94_254, 1559, 8, 28.9, 40, 1, 2, 3, 4, 5, 6, 7, 8]
    assert list(interval.values())[1:] == ["1", "04-Feb 19:50", 687, 11_989, 956, 8, 30, 0, 0, 0, 0, 0, 0, 0, 0]


@table(
    ("form", "expected"),
    [
        ("text", [0.9, 29.5, 0]),
        ("html", [0.9, 29.5, 0]),
        ("statspack", [12.1, 0, 1796.7, 14_905.7, 1_034_828.1]),
    ],
)
def test_instance_cpu(form, expected):
    (row,) = rows(form, "instance_cpu")
    assert list(row.values())[2:] == expected


@pytest.mark.parametrize("form", ["html"])
def test_cells_and_their_cache_from_several_tables(form):
    flash, disk, cell = rows(form, "cells")
    assert (flash["Disk type"], flash["IOPS"], flash["Small reads/s"]) == ("F/5.8T", 6623.94, 890.51)
    assert (flash["Latency(us)"], flash["Large writes(us)"]) == (312.73, 2230)  # 2.23, below a heading with ms
    assert (disk["Disk type"], disk["Cell"], disk["IOPS"]) == ("F/5.8T", "cel02", 8611.24)  # its mark is no column
    assert (cell["Cell"], cell["% CPU"], "IOPS" in cell) == ("cel01", 10.13, False)
    assert [tuple(row.values())[2:] for row in rows(form, "flash_cache")] == [
        ("All", 131_513_104, 36_239.49, 2_031_729, 129_481_375, 7740, 129_307_769.03, 35_631.79, 3_590_864, 989.49,
         274_250, 3_316_556, 37_935.02, 10.45)
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["text", "html"])
def test_findings_with_their_texts(form):
    first, second, listed = rows(form, "addm")
    assert list(first.values())[2:] == [
        "ADDM:1_1_42",
        'Top "SQL" Statements',
        29.93,
        0.33,
        1.1,
        "SQL statements consuming significant database time were found. These go on.",
        'Run SQL Tuning Advisor on "0123456789abc". | Look at the statement.',
    ]
    assert (second["Finding"], second["% of activity"], "Actions" in second) == ("Soft Parse", 2.16, False)
    assert list(listed.values())[2:] == ["ADDM:1_1_41", "Commits", 3.5, 2.5]  # has no report at the end


@pytest.mark.parametrize("name", SECTIONS)
def test_a_report_without_the_section_says_so(name, slob):
    code, out, _ = slob(FIXTURES / "awr_10.2.txt", "--columns", name, "--format", "csv")
    heading, row = csv.reader(io.StringIO(out))
    assert (code, heading[:2], set(row[1:])) == (0, ["Filename", "Inst"], {""})


def test_help_lists_the_sets(slob):
    code, out, _ = slob("help")
    assert code == 0
    listed = [line.split()[0] for line in out.splitlines()[1:] if line[0] != " "]
    assert listed == [*SETS, *ROW_SETS]
