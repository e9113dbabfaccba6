"""Compare-period reports: both reports that they compare, and how `slob awr --compare` shows the differences of two."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from factories import awr_periods
from factories.awr_reports import FIXTURES, report
from openslob.awr import InitParameter, Number, Rate, ReportError, ReportKind, Scope, read, read_all
from openslob.awr.comparison import Difference, compare
from openslob.awr.latency import latency_of


@pytest.fixture(params=["text", "html"])
def path(request, tmp_path):
    file = tmp_path / f"diff.{request.param}"
    file.write_bytes(awr_periods.text() if request.param == "text" else awr_periods.page())
    return file


def value(number):
    return None if number is None else number.value


def test_both_periods_are_reports_of_their_own(path):
    first, second = read_all(path)
    assert [one.path for one in (first, second)] == [f"{path} (1st)", f"{path} (2nd)"]
    assert {one.kind for one in (first, second)} == {ReportKind.AWR_COMPARE}
    assert (first.warnings, second.warnings, first.complete) == ((), (), True)
    for one, host, seconds, commits, cpus in ((first, "one", 600, 20, 8), (second, "two", 300, 40, 16)):
        head = one.header
        assert (head.db_name, head.instance, head.host, head.block_size, head.cpus) == ("FIX", "fix1", host, 8192, cpus)
        assert value(one.elapsed_s) == pytest.approx(seconds, abs=0.6)
        assert value(one.load_profile["transactions"].per_second) == commits
        assert value(one.activity["user commits"].per_second) == commits  # of elapsed time, not of DB time
    assert [value(one.activity["physical read total IO requests"].total) for one in (first, second)] == [
        600_500,
        900_750,
    ]
    assert [value(one.time_model_s["DB CPU"]) for one in (first, second)] == [600.5, 300.2]
    assert [value(one.os_stats["BUSY_TIME"].value) for one in (first, second)] == [1000, 2000]
    assert [value(one.host_cpu.user_pct) for one in (first, second)] == [20, 40]
    assert [one.parameters["cpu_count"].begin for one in (first, second)] == ["8", "16"]
    assert [one.parameters["db_block_size"].begin for one in (first, second)] == ["8192", "8192"]


def test_events_statements_and_segments_of_each_period(path):
    first, second = read_all(path)
    event = second.event("db file sequential read", Scope.ALL)
    assert (value(event.waits), value(event.waits_per_s), value(event.time_s), event.wait_class) == (
        None,
        3000,
        900,
        "User I/O",
    )
    assert value(second.event("db file sequential read", Scope.TOP_ALL).waits) == 900_750
    assert latency_of(second, event).us == pytest.approx(999.17, abs=0.01)
    assert second.event("CPU time", Scope.TOP_ALL) is None  # "-": not in the list of this period
    ids = [[row.cells["SQL Id"] for row in one.listed["sql_elapsed"]] for one in (first, second)]
    assert ids == [["0123456789abc"], ["0123456789abc", "abcdefghijklm"]]  # N/A is not captured, not 0
    row = second.listed["sql_elapsed"][0].cells
    assert [value(row[name]) for name in ("Elapsed/exec(s)", "Executions", "% of DB time")] == [0.8, 1200, 80]
    assert row["SQL"] == "select count(c2) from cf1"
    assert value(second.listed["sql_gets"][0].cells["Gets/exec"]) == 3001
    (segment,) = first.listed["segments"]
    assert (segment.cells["Statistic"], segment.cells["Object"], value(segment.cells["Value"])) == (
        "logical reads",
        "CF1",
        9_005_000,
    )
    assert [value(one.cells["Value"]) for one in second.listed["segments"]] == [9005, 7]


def find(found: list[Difference], kind: str, name: str, figure: str) -> Difference:
    return next(one for one in found if (one.kind, one.name, one.figure) == (kind, name, figure))


def test_ratios_per_second_and_per_transaction(path):
    found = compare(*read_all(path))
    redo = find(found, "statistic", "redo size", "rate")
    assert (redo.each.ratio, redo.per_txn.ratio) == (pytest.approx(3), pytest.approx(1.5))
    assert find(found, "load", "redo size", "rate").each == redo.each
    assert find(found, "load", "db time", "rate").each.ratio == pytest.approx(2, rel=1e-3)
    read_time = find(found, "event", "db file sequential read", "time")
    assert (read_time.each.ratio, read_time.per_txn.ratio) == (pytest.approx(3, rel=1e-3), pytest.approx(1.5, rel=1e-3))
    assert find(found, "event", "db file sequential read", "waits").each.ratio == 3
    assert find(found, "event", "db file sequential read", "latency").each.ratio == pytest.approx(1, rel=1e-3)
    sync = find(found, "event", "log file sync", "time")
    assert (sync.each.ratio, sync.note()) == (None, "printed as 0 in A")
    assert find(found, "SQL", "0123456789abc", "elapsed/exec").each.ratio == 4
    assert find(found, "SQL", "0123456789abc", "elapsed").each.ratio == pytest.approx(2 * 80 / 60, rel=1e-3)
    new = find(found, "SQL", "abcdefghijklm", "elapsed")
    assert (new.each.a, new.each.ratio, new.note()) == (None, None, "no figure in A")
    settings = {one.name: one.texts for one in found if one.kind == "setting"}
    assert settings == {"host": ("one", "two"), "cpus": ("8", "16"), "cpu_count": ("8", "16")}


def test_names_that_one_of_the_reports_cuts_are_the_same():
    whole = read(FIXTURES / "awr_19c.txt")
    assert whole.format == "text"
    statistic = next(iter(whole.activity.values()))
    sides = [
        replace(whole, activity={"redo size": statistic, f"a statistic with a name that is{rest}": statistic})
        for rest in (" long", "")
    ]
    names = [(one.name, one.each.ratio) for one in compare(*sides) if one.kind == "statistic"]
    assert names == [("redo size", 1), ("a statistic with a name that is long", 1)]
    pages = [replace(one, format="html") for one in sides]  # which print names whole: two statistics
    assert [one.note() for one in compare(*pages) if one.kind == "statistic"] == [
        "",
        "no figure in B",
        "no figure in A",
    ]


def test_a_ratio_for_each_transaction_needs_digits_of_the_transactions():
    whole = read(FIXTURES / "awr_19c.txt")
    rate = Rate(Number(0.1, 0.1))
    few = replace(whole, load_profile=dict(whole.load_profile) | {"transactions": rate}, activity={})
    (waits, *_) = (one for one in compare(few, few) if one.figure == "waits" and one.each.ratio is not None)
    assert (waits.each.ratio, waits.per_txn.ratio) == (1, None)


def test_a_value_that_a_text_cuts_is_no_other_value():
    whole = read(FIXTURES / "awr_19c.txt")
    long, short = ("/u01/app/oracle/oradata/one.ctl, /u02/two.ctl", "/u01/app/oracle/oradata/one.ctl")
    sides = [replace(whole, parameters={"control_files": InitParameter(value), "recyclebin": InitParameter(other)})
             for value, other in ((long, "on"), (short, "off"))]  # fmt: skip
    assert [one.name for one in compare(*sides) if one.kind == "setting"] == ["recyclebin"]


def test_page_headings_of_sqlplus_are_no_titles(tmp_path):
    file = tmp_path / "captured.html"
    file.write_bytes(awr_periods.page().replace(b"<table>", b"\nOUTPUT\n" + b"-" * 300 + b"\n<table>"))
    first, _ = read_all(file)
    assert (first.header.db_name, first.header.cpus, len(first.listed["sql_elapsed"])) == ("FIX", 8, 1)


def test_a_report_is_the_same_as_itself():
    whole = read(FIXTURES / "awr_19c.txt")
    found = compare(whole, whole)
    assert {one.each.ratio for one in found if one.each.ratio is not None} == {1.0}
    assert {one.kind for one in found} >= {"load", "time", "statistic", "event"}


def test_too_few_digits_make_no_ratio(tmp_path):
    sides = []
    for name, seconds in (("a", 1), ("b", 2)):  # seconds that are rounded: 0.5 to 1.5
        file = tmp_path / name
        file.write_bytes(report(1000, seconds, 600))
        sides.append(read(file))
    time = find(compare(*sides), "event", "db file sequential read", "time")
    assert (time.each.ratio, time.note()) == (None, "too few digits for a ratio")


def test_the_command_shows_what_changed_and_writes_all(slob, path, tmp_path):
    code, out, err = slob("--compare", path)
    assert (code, err) == (0, "")
    assert out.startswith(f"A: {path} (1st): FIX, fix1, ")
    assert [line.split()[0] for line in out.splitlines() if line.split()[1:2] in (["Unit"], ["Figure"])] == [
        "SETTING", "LOAD", "TIME", "EVENT", "SQL",
    ]  # fmt: skip
    code, out, _ = slob("--compare", path, "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    redo = next(row for row in rows if (row["Kind"], row["Name"]) == ("statistic", "redo size"))
    assert (redo["Unit"], redo["A"], redo["B"], redo["B/A"], redo["B/A per txn"]) == (
        "1/s",
        "10000",
        "30000",
        "3",
        "1.5",
    )
    assert json.loads(slob("--compare", path, "--json")[1])[0].keys() == rows[0].keys()
    for number, period in enumerate(("1st", "2nd"), 1):
        code, out, _ = slob(path, "--columns", "file,elapsed_s", "-f", "csv")
        assert (code, out.splitlines()[number].split(",")[0]) == (0, f"{path} ({period})")


def test_two_reports_are_compared_in_the_order_of_the_command_line(slob):
    first, second = FIXTURES / "awr_19c.txt", FIXTURES / "awr_11.2.txt"
    code, out, _ = slob("--compare", first, second)
    assert (code, [line.split(": ")[1] for line in out.splitlines()[:2]]) == (0, [str(first), str(second)])
    assert "count some figures differently" in slob("--compare", first, FIXTURES / "sp_19c.txt")[1]


@pytest.mark.parametrize(
    "words", [["one.txt"], ["one.txt", "two.txt", "one.txt"], ["one.txt", "two.txt", "--columns", "top"]]
)
def test_what_is_no_comparison_is_refused(slob, words):
    files = {"one.txt": FIXTURES / "awr_19c.txt", "two.txt": FIXTURES / "awr_11.2.txt"}
    code, out, err = slob("--compare", *(files.get(word, word) for word in words))
    assert (code, out) == (2, "")
    assert "--compare" in err


def test_the_reader_of_one_report_refuses_two(path):
    with pytest.raises(ReportError, match="compare-periods"):
        read(path)
