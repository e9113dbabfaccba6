"""Records have one home, and every command finds the same ones by the same words."""

import json
import os
import shutil
from pathlib import Path

import pytest

from factories.paths import FIXTURES
from factories.records import physical
from factories.running import slob
from openslob.core import places
from openslob.record.model import Status
from openslob.record.store import RunFolder


def save(results, name="run", second=0, **changes):
    """A finished run; returns its id."""
    identity = {"id": f"20260301-1200{second:02}-{name}", "name": name, "started_at": f"2026-03-01T12:00:{second:02}Z"}
    record = physical().model_copy(update={**identity, **changes})
    with RunFolder.begin(results, record) as folder:
        folder.finish(record)
    return folder.id


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENSLOB_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SLOB_RESULTS", raising=False)
    return places.results()


def test_records_have_one_home_from_every_directory(home, tmp_path):
    assert home == tmp_path / "home" / "results"
    made = save(home)
    for place in (tmp_path, Path("/")):
        done = slob("list", cwd=place)
        assert (done.returncode, done.stderr) == (0, "")
        assert made in done.stdout
        assert done.stdout.endswith(f"\nrecords: {home}; latest is 1\n")


def test_another_home_is_told_by_flag_or_variable(home, tmp_path, monkeypatch):
    here = save(home, "here")
    there = save(tmp_path / "there", "there")
    assert there in slob("list", "--results", tmp_path / "there").stdout
    monkeypatch.setenv("SLOB_RESULTS", str(tmp_path / "there"))
    listed = slob("list").stdout
    assert there in listed
    assert here not in listed


def test_records_in_the_former_place_are_not_lost(home, tmp_path):
    (tmp_path / "results" / "of-another-program").mkdir(parents=True)
    assert "too" not in slob("list", cwd=tmp_path).stderr
    old = save(tmp_path / "results")
    told = slob("list", cwd=tmp_path).stderr
    assert f"records are in {home} now; there are some in ./results too: --results results" in told
    seen = slob("list", "--results", "results", cwd=tmp_path)
    assert (old in seen.stdout, seen.stderr) == (True, "")
    assert "too" not in slob("list", cwd=tmp_path.parent).stderr


def test_a_sweep_is_one_row_and_its_points_are_listed_on_request(home):
    run = save(home)
    shutil.copytree(FIXTURES / "records" / "sweep-v1" / "measured", home / "20270302-000000-petals")
    listed = slob("list").stdout
    assert "2,966,399 cached reads/s at 4 sessions" in listed
    assert "1–4 sessions; 0 % updates; 3 done" in listed
    assert listed.count("\n") == len(["head", run, "sweep", "records", "points"])
    assert "3 runs of sweeps and others: slob list --points" in listed
    assert len(slob("list", "--points").stdout.splitlines()) == len(listed.splitlines()) - 1 + 3
    rows = json.loads(slob("list", "--json").stdout)
    assert sorted(row["kind"] for row in rows) == ["run", "run", "run", "run", "sweep"]
    assert len([row for row in rows if row.get("sweep") == "20270302-000000-petals"]) == 3


def test_the_list_says_why_a_run_failed_and_is_one_table_at_80_columns(home):
    save(home, status=Status.FAILED, errors=("the server ended session 3: terminating connection", "more"))
    assert "failed: the server ended session 3: terminating connection" in slob("list").stdout
    listed = slob("list", env={**os.environ, "COLUMNS": "80"}).stdout.splitlines()
    assert "failed: the server ended" in listed[1]
    assert len(listed) == len(["head", "run", "records"])
    assert max(map(len, listed[:-1])) <= 80


def test_latest_is_the_same_for_every_command(home, tmp_path):
    save(home)
    shutil.copytree(FIXTURES / "records" / "sweep-v1" / "measured", home / "20270302-000000-petals")
    assert "latest is 2" in slob("list").stdout
    for arguments in (("show",), ("show", "latest"), ("show", "fixture-sweep")):
        shown = slob(*arguments)
        assert (shown.returncode, "PostgreSQL 18.4 on db: sessions" in shown.stdout) == (0, True)
        whole = slob(*arguments, "--all")
        assert ("knee" in whole.stdout, "points: 3 done" in whole.stdout) == (True, True)
    assert json.loads(slob("show", "--json").stdout)["kind"] == "sweep"
    assert len(slob("export", "latest").stdout.splitlines()) == 1 + 3
    done = slob("report", "--json", "-o", tmp_path / "latest.html")
    assert (done.returncode, json.loads(done.stdout)["written"]) == (0, [str(tmp_path / "latest.html")])


def swept(home):
    """The fixture of a sweep in the results; returns its folder and those of its runs."""
    folder = shutil.copytree(FIXTURES / "records" / "sweep-v1" / "measured", home / "20270302-000000-petals")
    return folder, sorted(path.parent for path in folder.glob("*/run.json"))


def test_of_a_sweep_that_is_shown_only_what_its_table_needs_is_read(home):
    folder, runs = swept(home)
    whole = slob("show")
    for name in ("latency.csv", "response.csv", "os.csv", "waits.csv"):
        for run in runs:
            (run / name).write_bytes(b"damaged\n")
    shown = slob("show")
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, whole.stdout, whole.stderr)
    (runs[0] / "engine.csv").write_bytes(b"damaged\n")
    assert f"{runs[0] / 'engine.csv'} is damaged" in slob("show").stderr
    sweep = json.loads((folder / "sweep.json").read_text())
    (folder / "sweep.json").write_text(json.dumps({**sweep, "figures": ["redo_mb_per_s"]}))
    assert "there are no records in" in slob("show").stderr


def test_of_repeats_that_are_shown_no_raw_file_is_read(home):
    folder, runs = swept(home)
    sweep = json.loads((folder / "sweep.json").read_text())
    record = json.loads((runs[0] / "run.json").read_text())
    points = [{**point, "values": sweep["points"][0]["values"], "repeat": 1 + number}
              for number, point in enumerate(sweep["points"])]  # fmt: skip
    (folder / "sweep.json").write_text(json.dumps({**sweep, "repeats": len(points), "points": points}))
    for run in runs:
        (run / "run.json").write_text(json.dumps({**record, "id": run.name}))
        (run / "engine.csv").write_bytes(b"damaged\n")
    shown = slob("show", "--all")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert f"{len(runs)} done" in shown.stdout
    failed = {**record, "id": runs[1].name, "status": "failed"}
    for run in runs[1:]:
        (run / "run.json").write_text(json.dumps({**failed, "id": run.name}))
    assert f"{runs[0] / 'engine.csv'} is damaged" in slob("show").stderr


def test_a_page_or_a_table_is_not_written_into_a_picture(home, tmp_path):
    save(home)
    for command, hint in (("report", "--png-dir DIR"), ("export", "slob report RECORD --png-dir DIR")):
        picture = tmp_path / "x.png"
        done = slob(command, "latest", "-o", picture)
        assert (done.returncode, hint in done.stderr, picture.exists()) == (2, True, False)


def test_whatever_reads_runs_takes_a_price_that_became_known_later(home, tmp_path):
    run = save(home)
    shutil.copytree(FIXTURES / "records" / "sweep-v1" / "measured", home / "20270302-000000-petals")
    price = ("--price", "340 EUR/month")
    assert "COST" not in slob("show", run, "--all").stdout
    assert "COST, at 340 EUR/month" in slob("show", run, *price, "--all").stdout
    assert "per million reads at 340 EUR/month." in slob("show", run, *price).stdout
    assert json.loads(slob("show", run, *price, "--json").stdout)["summary"]["cost_per_million_reads"]["unit"] == "EUR"
    assert "340 EUR/month." in slob("show", "20270302-000000-petals", *price).stdout
    assert "EUR" not in slob("show", "20270302-000000-petals").stdout
    assert '"340 EUR/month"' in slob("export", "20270302-000000-petals", *price, "--json").stdout
    wrong = slob("show", run, "--price", "much")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "an amount above 0" in wrong.stderr


def test_a_price_is_refused_for_what_has_no_figures_of_cost(home):
    shutil.copytree(FIXTURES / "records" / "lab-v1" / "measured", home / "20270303-000000-lab")
    for command in ("show", "report", "export"):
        done = slob(command, "lab", "--price", "340 EUR/month")
        assert (done.returncode, done.stdout) == (2, "")
        assert "--price is for runs and sweeps, and this is a lab; leave it out" in done.stderr


def test_the_last_line_of_a_verification_is_its_result(home):
    for name, said in (
        ("v4/measured", "verified: the figures follow"),
        ("storage-v1/dd", "nothing could be compared"),
    ):
        done = slob("verify", FIXTURES / "records" / name)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines()[-1].startswith(said)


def test_a_record_of_runs_that_is_not_there_is_called_so(home):
    save(home)
    assert "there is no record of runs 'nosuch' in " in slob("compare", "nosuch", "run").stderr


@pytest.mark.parametrize("mode", ["churn", "redo"])
def test_rows_that_come_and_go_are_listed_as_churn_and_not_as_updates(home, mode):
    save(home, spec={**physical().spec, "mode": mode, "update_pct": 100})
    listed = slob("list").stdout
    assert ("; 100 % churn" in listed, "; 100 % updates" in listed) == (mode == "churn", mode != "churn")
    assert json.loads(slob("list", "--json").stdout)[0]["mode"] == mode
