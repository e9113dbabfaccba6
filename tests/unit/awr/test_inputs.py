"""Files as users name them: folders, patterns, archives, standard input; and the order of the rows."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import sys
import zipfile
from pathlib import Path

import pytest

from factories.awr_reports import FIXTURES, report
from factories.tables import table
from openslob.cli import main

TEXT = (FIXTURES / "awr_11.2.txt").read_bytes()


def first_cells(out: str) -> list[str]:
    return [line.split(",")[0] for line in out.splitlines()[1:]]


def names(out: str) -> list[str]:
    return [Path(cell).name for cell in first_cells(out)]


@pytest.fixture
def folder(tmp_path) -> Path:
    """Reports with counts in their names, files of other kinds, and a hidden file."""
    top = tmp_path / "reports"
    (top / "below").mkdir(parents=True)
    for sessions in (1, 16, 2, 128):
        (top / f"awr_0_{sessions}.txt").write_bytes(report(6_000_000, 2400, 600, sessions))
    (top / "below" / "awr_0_4.txt").write_bytes(TEXT)
    (top / "iostat.out").write_text("Device r/s w/s\n")
    (top / "empty.txt").write_text("")
    (top / ".hidden").write_text("nothing")
    return top


def test_a_folder_is_read_in_order_and_other_files_are_left_out(slob, folder):
    code, out, err = slob(folder, "--format", "csv")
    assert code == 0
    assert names(out) == ["awr_0_1.txt", "awr_0_2.txt", "awr_0_16.txt", "awr_0_128.txt", "awr_0_4.txt"]
    left_out = [line for line in err.splitlines() if line.startswith("left out: ")]
    assert [("iostat.out" in line, "the file is empty" in line) for line in left_out] == [(False, True), (True, False)]


def test_a_folder_without_a_report_is_a_failure(slob, tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")
    code, _, err = slob(tmp_path)
    assert code == 2
    assert f"no AWR or Statspack report in {tmp_path}" in err


def test_a_file_that_is_named_must_be_a_report(slob, folder):
    code, out, err = slob(folder / "iostat.out", folder / "awr_0_1.txt", "--format", "csv")
    assert (code, names(out)) == (1, ["awr_0_1.txt"])
    assert "iostat.out: not an AWR or Statspack report" in err


def test_a_pattern_that_the_shell_left_alone(slob, folder):
    code, out, _ = slob(f"{folder}/awr_*.txt", "--format", "csv")
    assert (code, len(names(out))) == (0, 4)
    code, _, err = slob(f"{folder}/none_*.txt")
    assert code == 2
    assert "No such file" in err


@table(("ending", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)])
def test_packed_reports(slob, tmp_path, ending, pack):
    path = tmp_path / f"awr_0_8.txt{ending}"
    path.write_bytes(pack(TEXT))
    code, out, _ = slob(path, "--columns", "file,sessions,lio", "--format", "csv")
    assert (code, out.splitlines()[1]) == (0, f"{path},8,11000")
    path.write_bytes(pack(TEXT)[:200])
    code, _, err = slob(path)
    assert code == 2
    assert "can't be read" in err


def test_an_archive(slob, tmp_path):
    path = tmp_path / "reports.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("run/awr_0_8.txt", TEXT)
        archive.writestr("run/slob.conf", "UPDATE_PCT=25")
    code, out, err = slob(path, "--columns", "file,sessions", "--format", "csv")
    assert (code, out.splitlines()[1:]) == (0, [f"{path}/run/awr_0_8.txt,8"])
    assert "left out: " in err


def test_standard_input(slob, monkeypatch, folder):
    class Stdin:
        buffer = io.BytesIO(TEXT)

    monkeypatch.setattr(sys, "stdin", Stdin())
    code, out, _ = slob("-", folder / "awr_0_1.txt", "--columns", "file,lio", "--format", "csv", "--jobs", "2")
    assert code == 0
    assert "-,11000" in out.splitlines()
    Stdin.buffer = io.BytesIO(b"")
    code, _, err = slob("-")
    assert code == 2
    assert "standard input: not an AWR or Statspack report: the file is empty" in err


@table(
    ("order", "expected"),
    [
        ("natural", [1, 2, 16, 128]),
        ("given", [128, 16, 2, 1]),
        ("time", [1, 2, 16, 128]),
        ("sessions", [1, 2, 16, 128]),
        ("-sessions", [128, 16, 2, 1]),
        ("-file", [128, 16, 2, 1]),
    ],
)
def test_orders(slob, folder, order, expected):
    files = [folder / f"awr_0_{sessions}.txt" for sessions in (128, 16, 2, 1)]
    code, out, _ = slob(*files, "--columns", "sessions", "--format", "csv", "--sort", order)
    assert (code, [int(line) for line in out.split()[1:]]) == (0, expected)


def test_reports_without_counts_are_in_order_of_time(slob, tmp_path):
    for name, hour in (("a", "12"), ("b", "09"), ("c", "10")):
        (tmp_path / f"{name}.txt").write_bytes(TEXT.replace(b"02-Mar-15 10:", f"02-Mar-15 {hour}:".encode()))
    code, out, _ = slob(tmp_path, "--format", "csv")
    assert (code, names(out)) == (0, ["b.txt", "c.txt", "a.txt"])


def test_the_whole_model_and_the_list_as_files(slob, folder):
    code, out, _ = slob(folder / "awr_0_1.txt", "--columns", "model")
    (entry,) = json.loads(out)["reports"]
    assert (code, entry["model"]["header"]["db_name"]) == (0, "FIX")
    assert slob(folder, "--columns", "model", "--format", "csv")[0] == 2


def test_the_list_of_columns(slob, monkeypatch, capsys, folder):
    monkeypatch.setattr(sys, "argv", ["slob", "awr", "--columns", "list", "--format", "csv"])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    listed = {row["column"]: row for row in csv.DictReader(io.StringIO(capsys.readouterr().out))}
    assert (listed["dfsr_us"]["unit"], listed["dfsr_us"]["where in the report"]) == ("us", "Foreground Wait Events")
    assert "event:log file sync:waits" in listed["event:NAME"]["meaning"]
    _, out, _ = slob(folder / "awr_0_1.txt", "--columns", "list", "--format", "csv")
    assert "event:db file sequential read" in first_cells(out)
    code, _, err = slob("--columns", "wide")
    assert code == 2
    assert "no report is given" in err


def test_a_column_that_is_empty_in_every_report_is_named(slob, folder):
    code, out, err = slob(folder / "awr_0_1.txt", "--columns", "file,event:db file sequential rad", "--format", "csv")
    assert (code, out.splitlines()[1].split(",")[1]) == (0, "")
    assert "event:db file sequential rad: empty in every report" in err
    assert "did you mean 'db file sequential read'?" in err
