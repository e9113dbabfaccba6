"""``slob awr`` from end to end."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from factories.awr_reports import FIXTURES, ROOT, report
from factories.tables import table
from openslob.awr.columns import COLUMNS
from openslob.awr.rows import ROW_SETS
from openslob.awr.selection import SETS, SLOB, SLOB_TOP

WHOLE = str(FIXTURES / "awr_23ai.html")


class _Tags(HTMLParser):
    """The attributes of a page's own tags, not of what its scripts hold as text."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []

    def handle_starttag(self, tag, attrs):
        self.found.append(dict(attrs))


@pytest.fixture
def petal_files(tmp_path) -> list[Path]:
    files = []
    for block in (8192, 16384):
        folder = tmp_path / f"{block // 1024}k"
        folder.mkdir()
        for sessions, iops, us in ((1, 7_000, 107), (8, 41_000, 136), (64, 99_000, 602)):
            path = folder / f"awr_0_{sessions}.txt"
            waits = iops * 600
            path.write_bytes(report(waits, round(waits * us / 1e6), 600, sessions, block))
            files.append(path)
    return files


def test_a_table_on_the_screen(slob):
    code, out, err = slob(WHOLE)
    assert (code, err) == (0, "")
    heading, line = out.splitlines()
    assert heading.split()[:3] == ["FILE", "SESSIONS", "ELAPSED"]
    assert line.split()[:5] == [WHOLE, "-", "600", "0.9", "5"]


def test_the_format_has_the_short_option_that_it_has_elsewhere(slob):
    code, out, _ = slob(WHOLE, "-f", "csv")
    assert (code, out) == slob(WHOLE, "--format", "csv")[:2]
    assert (code, out != slob(WHOLE)[1]) == (0, True)


def test_the_slob_columns_as_csv(slob):
    code, out, _ = slob(WHOLE, "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(out))
    assert code == 0
    assert list(row) == [*SLOB, *SLOB_TOP]
    expected = {"ELAPSED": "600", "LIO": "11000", "PREADS": "10001", "PWRITES": "51", "READ_MBS": "78.140625"}
    assert {key: row[key] for key in expected} == expected
    assert (row["DFSR_LAT"], row["LFPW_LAT"], row["DPR_LAT"]) == ("400", "3210", "")
    assert row["TOP WAIT"] == "db file sequential read, 6,000,000 waits, 2,400 s, 400 us, 80 %"


def test_the_events_columns(slob):
    events = ("--event", "db file sequential read", "--event", "log file parallel write", "--event", "no such")
    code, out, _ = slob(WHOLE, "--columns", "events", *events, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert list(rows[0]) == list(ROW_SETS["events"].headings())
    assert (rows[0]["Waits"], rows[0]["Time(s)"], rows[0]["Latency(us)"]) == ("6000000", "2400", "400")
    assert (rows[0]["IOPS"], rows[0]["Latency from"]) == ("10000", "printed average")
    assert (rows[1]["Latency(us)"], rows[1]["Latency from"]) == ("3210", "printed average")
    assert (rows[2]["Event"], rows[2]["Waits"]) == ("no such", "")


def test_verdicts_tape_wide_and_a_list_of_columns(slob):
    _, out, _ = slob(WHOLE, "--columns", "verdicts", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert list(rows[0]) == list(ROW_SETS["verdicts"].headings())
    assert {row["Check"]: row["Verdict"] for row in rows}["commits_are_waited_for"] == "fails"
    _, out, _ = slob(WHOLE, "--columns", "tape", "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(out))
    assert (row["IOPS"], row["DB CPU"], row["IOPS per DB CPU"]) == ("10052", "0.9", "11168.88889")
    _, out, _ = slob(WHOLE, "--columns", "wide", "--format", "csv")
    assert out.splitlines()[0].split(",") == list(COLUMNS)
    _, out, _ = slob(WHOLE, "--columns", "db_name, release", "--format", "csv")
    assert out == "db_name,release\nFIX,23.0.0.0.0\n"


def test_json_says_why_a_figure_is_missing_and_where_one_comes_from(slob):
    code, out, _ = slob(FIXTURES / "sp_9.2.txt", "--json")
    (entry,) = json.loads(out)["reports"]
    assert (code, entry["status"]) == (0, "whole")
    (row,), (missing,), (sources,) = entry["rows"], entry["missing"], entry["sources"]
    assert row["PREADS"] is None
    assert missing["PREADS"] == "physical read total IO requests: not listed in Instance Activity Stats"
    assert sources["DFSR_LAT"] == "time/waits"
    assert {verdict["verdict"] for verdict in entry["verdicts"]} <= {"holds", "fails", "unknown"}


def test_exit_codes_tell_whole_some_and_none(slob, tmp_path):
    cut = tmp_path / "cut.txt"
    cut.write_bytes((FIXTURES / "awr_11.2.txt").read_bytes()[:4000])
    assert slob(WHOLE, WHOLE)[0] == 0
    code, out, err = slob(WHOLE, FIXTURES / "awrdiff.txt", cut)
    assert code == 1
    assert len(out.splitlines()) == 3, "the whole and the cut report have a row each"
    assert "awrdiff.txt (1st): awr_compare_period report without readable figures" in err
    assert "cut.txt: warning: cut off: there is no 'End of Report'" in err
    assert slob(cut)[0] == 1
    code, out, err = slob(FIXTURES / "empty.txt", "no/such/file")
    assert code == 2
    assert [line.split(":")[0] for line in err.splitlines()] == ["slob", "slob"]


def test_a_workbook(slob, tmp_path):
    path = tmp_path / "figures.xlsx"
    code, out, _ = slob(WHOLE, FIXTURES / "empty.txt", "--output", path)
    assert (code, out) == (1, "")
    with zipfile.ZipFile(path) as book:
        sheet = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml"))
        texts = "".join(book.read(name).decode() for name in book.namelist() if name.endswith(".xml"))
    numbers = [cell.text for cell in sheet.iter("{http://schemas.openxmlformats.org/spreadsheetml/2006/main}v")]
    assert "11000" in numbers
    assert "missing: direct path read: not listed" in texts
    assert "the file is empty" in texts


@pytest.mark.parametrize(("ending", "first"), [("csv", "FILE,SESSIONS"), ("json", "{"), ("txt", "FILE")])
def test_the_output_files_ending_gives_the_format(slob, tmp_path, ending, first):
    path = tmp_path / f"figures.{ending}"
    assert slob(WHOLE, "-o", path)[:2] == (0, "")
    assert path.read_text().startswith(first)


@table(
    ("words", "message"),
    [
        (["--columns", "nothing"], "unknown column nothing"),
        (["--format", "xlsx"], "--format xlsx needs an output file"),
        (["--pattern", "("], "not a regular expression"),
        (["--petals", "x.gif"], "x.gif is not the name of a picture"),
        (["-o", "x.png"], "x.png is named as a picture, but --output writes a table"),
        (["-o", "x.svg"], "--petals x.svg"),
        (["--format", "csv", "-o", "x.html"], "--petals x.html"),
        (["--output", "no/such/folder/x.csv"], "can't be written"),
    ],
)
def test_wrong_options_are_usage_errors(slob, words, message):
    code, out, err = slob(WHOLE, *words)
    assert (code, out) == (2, "")
    assert message in err


# Without it a browser would ask for one.
NO_ICON = {"rel": "icon", "href": "data:,"}


@pytest.mark.parametrize("ending", ["html", "svg", "png"])
def test_petals(slob, petal_files, tmp_path, ending):
    picture = tmp_path / f"petals.{ending}"
    code, _, err = slob(*petal_files, "--petals", picture, "--group-by", "dir")
    assert code == 0
    assert f"{picture}: 6 reports drawn" in err
    data = picture.read_bytes()
    assert data.startswith({"html": b"<", "svg": b"<svg", "png": b"\x89PNG"}[ending])
    if ending == "html":
        text = data.decode()
        tags = _Tags()
        tags.feed(text)
        assert [tag for tag in tags.found if {"src", "href"} & tag.keys()] == [NO_ICON], (
            "the page asks the network for nothing"
        )
        assert '"line":"16k"' in text
        assert "99,000 engine reads/s at 602 µs mean" in text
    if ending == "svg":
        assert data.count(b">64</text>") == 4, "both panels label the last point of both lines"


def test_a_report_without_a_point_is_named_and_the_others_are_drawn(slob, petal_files, tmp_path):
    _, _, err = slob(*petal_files[:3], FIXTURES / "sp_9.2.txt", "--petals", tmp_path / "p.svg")
    assert "sp_9.2.txt: not in the picture: physical read total IO requests: not listed" in err
    assert "3 reports drawn" in err


def test_many_files_in_several_processes_come_in_order(slob, petal_files):
    one = slob(*petal_files, "--format", "csv", "--jobs", "1")
    two = slob(*petal_files, "--format", "csv", "--jobs", "2")
    assert one == two
    sessions = [line.split(",")[1] for line in two[1].splitlines()[1:]]
    assert sessions == ["1", "8", "64"] * 2


def test_help_has_an_example_and_the_exit_codes(slob):
    code, out, _ = slob("--help")
    assert code == 0
    assert "\nEXAMPLES\n  slob awr " in out
    assert "0: every report was read completely; 1: some were; 2: none was" in " ".join(out.split())


def test_every_heading_of_a_set_is_documented():
    page = (ROOT / "docs" / "awr.md").read_text()
    for heading, column in {**SLOB, **SETS["tape"]}.items():
        assert heading == column or f"| {heading} | `{column}` |" in page


@table(
    ("without", "cpu"),
    [
        ((), "13 % of the host"),
        (("Host CPU",), "0.9 CPUs used by the database"),
        (("Host CPU", "DB CPU"), "unknown CPU"),
    ],
)
def test_a_point_counts_reads_only_and_names_the_cpu_that_was_read(slob, tmp_path, without, cpu):
    text = (FIXTURES / "awr_11.2.txt").read_text()
    for words in without:
        text = text.replace(words, "Nobody".ljust(len(words)))
    report_file, picture = tmp_path / "awr_0_8.txt", tmp_path / "p.html"
    report_file.write_text(text)
    assert slob(report_file, "--petals", picture)[0] == 0
    page = picture.read_text()
    assert "10,001 engine reads/s" in page, "51 writes/s are no reads"
    assert cpu in page


def test_a_narrow_screen_folds_the_columns_and_loses_none(slob, monkeypatch):
    for width in (80, 120, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr("openslob.cli.awr.screen_columns", lambda width=width: width)
        code, out, _ = slob(WHOLE, FIXTURES / "awr_11.2.txt")
        assert code == 0
        assert max(map(len, out.splitlines())) <= width
        words = out.split()
        assert f"Files in {FIXTURES}" in out
        assert {"11,000", "10,001", "78.14", "0.7812", "400", "3,210"} <= set(words)
        assert words.count("awr_23ai.html") == words.count("FILE"), "each block has the file"
