"""`slob lab` before a server is made, and its records in the commands that look at records."""

from __future__ import annotations

import csv
import io
import json

import pytest

import openslob
from factories.labs import PAGES_OFF, lab_record
from factories.records import physical
from factories.running import slob
from openslob.engines import registry
from openslob.kinds.lab.record import LabFolder, LabRun
from openslob.record.store import RunFolder


@pytest.fixture
def results(tmp_path):
    """A lab of one pair with the records of its runs, and a run in its folder that was stopped."""
    record = lab_record((PAGES_OFF, 1.1), rounds=1)
    with LabFolder.begin(tmp_path, record) as folder:
        runs: list[LabRun] = []
        for number, each in enumerate((*record.runs, None)):
            made = physical().model_copy(update={"id": f"20260301-12000{number}-run", "name": f"r{number}"})
            with RunFolder.begin(folder.path, made) as run:
                run.finish(made)
            runs += [each.model_copy(update={"run": run.id})] if each else []
        folder.save(record.model_copy(update={"runs": tuple(runs)}))
    return tmp_path


def test_what_is_ready_is_that_of_the_engine():
    for engine in registry.managed_engines():
        listed = json.loads(slob("lab", "--ready", "list", "--engine", engine, "--json").stdout)
        assert list(listed) == [each.name for each in registry.ready_settings(engine)]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--loads", "reads"], "there is no load 'reads'"),
        (["--ready", "io"], "there is no ready setting 'io'"),
        (["--target", "some://server/db"], "a lab restarts servers"),
        (["--resume", "latest", "x=1"], "--resume takes the settings of the record"),
        (["--require", "steady"], "there is no such verdict"),
    ],
)
def test_what_can_not_be_made_is_one_line_before_any_server_is(words, problem):
    done = slob("lab", *words)
    assert done.returncode == 2
    assert problem in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert registry.find("lab") is None


def test_a_lab_that_is_over_says_how_it_gets_more_time(results):
    done = slob("lab", "--resume", "lab", "--for", "0", "--results", results)
    assert done.returncode == 2
    record = LabFolder.load(results / "20260301-120000-lab")
    with LabFolder.resume(results / record.id) as folder:
        folder.save(record.model_copy(update={"spent_s": record.limit_s}))
    done = slob("lab", "--resume", "lab", "--results", results)
    assert done.returncode == 2
    assert "its time is over; `slob show 20260301-120000-lab` shows it; --for gives it more time" in done.stderr


def test_it_is_listed_shown_and_reported(results, tmp_path):
    listed = slob("list", "--results", results, "--points").stdout
    assert "1 value of a setting" in listed
    assert listed.count(" run ") == 3
    assert "full_page_writes=off (here: on)" in slob("show", "latest", "--results", results, "--all").stdout
    assert "What the settings do is unknown: 1 pair at most" in slob("show", "latest", "--results", results).stdout
    done = slob("report", "lab", "--results", results, "-o", tmp_path / "lab.html", "--json")
    assert json.loads(done.stdout)["answers"][0].startswith("There are too few pairs yet")
    assert "full_page_writes=off" in (tmp_path / "lab.html").read_text()


def test_its_ratios_are_exported_with_their_intervals(results, tmp_path):
    rows = list(csv.DictReader(io.StringIO(slob("export", "lab", "--results", results).stdout)))
    assert [(row["setting"], row["value"], row["here"], row["load"], row["figure"]) for row in rows] == [
        ("full_page_writes", "off", "on", "update", name) for name in ("rate", "rate_per_db_cpu", "p99_us")
    ]
    assert float(rows[0]["ratio"]) == pytest.approx(1.1, rel=0.1)
    assert (rows[0]["low"], rows[0]["why"]) == ("", "one pair does not show how much pairs differ")
    as_json = json.loads(slob("export", "lab", "--per", "ratio", "--results", results, "--json").stdout)
    assert (as_json[0]["pairs"], as_json[0]["low"]) == (1, None)
    assert slob("export", "lab", "--results", results, "-o", tmp_path / "lab.xlsx").returncode == 0
    done = slob("export", "lab", "--results", results, "-o", tmp_path / "lab.prom")
    assert (done.returncode, "has figures of runs, and no ratios" in done.stderr) == (2, True)


def test_its_runs_are_exported_with_the_value_that_they_were_made_with(results):
    done = slob("export", "lab", "--results", results, "--format", "csv", "--per", "run")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["full_page_writes"] for row in rows} == {"on", "off"}
    assert len(openslob.read("lab", results=results)) == 2  # not the one that was stopped


def test_python_reads_what_it_found(results):
    found = openslob.read_lab("latest", results=results)
    assert found.table.column("figure") == ["rate", "rate_per_db_cpu", "p99_us"]
    assert found.table[0]["pairs"] == 1
    assert "full_page_writes=off" in repr(found)
    assert found.verdicts["settled"].verdict == "fails"
    assert "WHAT EACH SETTING DOES" in found.text()
    assert "full_page_writes=off" in found._repr_html_()
