"""Records are kept house with: found in a list, tagged, renamed, removed."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys

import pytest

from factories.paths import FIXTURES
from factories.records import physical
from factories.running import slob
from openslob.core import places
from openslob.core.errors import SlobError
from openslob.record import digests, finding, removal
from openslob.record.model import Status
from openslob.record.store import RunFolder


def save(results, name="run", second=0, **changes):
    identity = {"id": f"20260301-1200{second:02}-{name}", "name": name, "started_at": f"2026-03-01T12:00:{second:02}Z"}
    record = physical().model_copy(update={**identity, **changes})
    with RunFolder.begin(results, record) as folder:
        folder.finish(record)
    return folder.path


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENSLOB_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SLOB_RESULTS", raising=False)
    return places.results()


@pytest.fixture
def several(home):
    """Three kinds of records; returns their folders."""
    copies = {"20270302-000000-petals": "sweep-v1/measured", "20270303-000000-dd": "storage-v1/dd"}
    for name, source in copies.items():
        shutil.copytree(FIXTURES / "records" / source, home / name)
    return [save(home), *(home / name for name in copies)]


def listed(*words):
    rows = json.loads(slob("list", "--json", *words).stdout)
    return {row["id"] for row in rows if not row["part_of"]}


def test_the_list_has_at_most_a_screen_and_says_what_it_leaves_out(home):
    for second in range(30):
        save(home, f"run{second}", second)
    shown = slob("list", env={**os.environ, "COLUMNS": "80"}).stdout.splitlines()
    assert len(shown) <= 23
    assert shown[1].lstrip().startswith("30 ")
    left = 30 - (len(shown) - len(["head", "older", "records"]))
    assert f"… {left} older: slob list --all" in shown
    assert len(slob("list", "--all").stdout.splitlines()) == 30 + 2


def test_numbers_stay_when_a_record_comes_between_two_commands(home):
    first = save(home, "first", 1)
    assert slob("list").stdout.splitlines()[1].startswith("1 ")
    save(home, "second", 2)
    save(home, "older", 0)
    assert f'"id": "{first.name}"' in slob("show", "1", "--json").stdout
    rows = {row["name"]: row["number"] for row in json.loads(slob("list", "--json").stdout)}
    assert (rows["first"], sorted(rows.values())) == (1, [1, 2, 3])
    for words in (("export", "1"), ("verify", "1"), ("tag", "1"), ("compare", "1", "2", "--anyway")):
        assert slob(*words).returncode in (0, 3), words


def test_a_list_can_be_of_one_kind_tag_server_and_time(several):
    run, sweep, storage = (path.name for path in several)
    assert listed() == {run, sweep, storage}
    assert listed("--kind", "sweep") == {sweep}
    assert listed("--kind", "raw") == listed("--kind", "raw dd") == {storage}
    assert listed("--server", "embed") == {run}
    assert listed("--since", "2026-11-21") == {sweep, storage}
    assert slob("tag", run, "a", "b").returncode == slob("tag", sweep, "a").returncode == 0
    assert listed("--tag", "a") == {run, sweep}
    assert listed("--tag", "a", "--tag", "b") == {run}
    text = slob("list", "--tag", "a").stdout
    assert (text.count("\n"), " a b " in text, "latest" in text) == (5, True, False)
    for words, said in (
        (("--kind", "sweeps"), "kinds that are there: raw, raw dd, run, sweep"),
        (("--tag", "c"), "no record in"),
    ):
        nothing = slob("list", *words)
        assert (nothing.returncode, nothing.stdout, said in nothing.stderr) == (0, "", True)
    assert listed("--since", "1s") == set()
    assert slob("list", "--since", "yesterday").returncode == 2


def test_tags_are_added_shown_and_removed_and_the_record_still_verifies(several):
    run, *_ = several
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    assert slob("tag", run.name, "before", "nvme").stdout == f"{run.name}: before nvme\n"
    assert slob("tag", run.name).stdout == f"{run.name}: before nvme\n"
    gone = slob("tag", run.name, "--remove", "nvme", "--remove", "other", "--json")
    assert json.loads(gone.stdout) == {"id": run.name, "tags": ["before"]}
    assert "had no tag other" in gone.stderr
    assert {name: (run / name).read_bytes() for name in before} == before
    sealed = digests.check(run)
    assert (sealed.changed, sealed.sha256 != "") == ((), True)
    digests.write(run)
    assert digests.check(run).sha256 == sealed.sha256
    assert slob("tag", run.name, "--remove", "before").stdout.endswith(": no tags\n")
    assert {path.name for path in run.iterdir()} == set(before)
    for wrong in ("two words", "--", "$(x)"):
        assert slob("tag", run.name, "--", wrong).returncode == 2


def test_a_renamed_record_has_its_new_name_everywhere_and_still_verifies(home):
    shutil.copytree(FIXTURES / "records" / "v4" / "measured", home / "20260301-120001-old")
    save(home, "other", 2)
    verified = slob("verify", "20260301-120001-old").stdout
    done = slob("rename", "20260301-120001", "the new one")
    assert done.stdout == "20260301-120001-old is called the new one now\n"
    assert slob("verify", "the new one").stdout == verified
    assert json.loads(slob("show", "the new", "--json").stdout)["name"] == "the new one"
    assert "run the new one" in slob("list").stdout
    for wrong in ("latest", "12", " ", "a\nb"):
        assert slob("rename", "the new one", wrong).returncode == 2, wrong
    assert slob("show", "the new one").returncode == 0


def test_a_damaged_label_makes_a_record_unreadable_and_says_what_to_do(home):
    run = save(home)
    (run / "label.json").write_text("{")
    shown = slob("show", run.name)
    assert (shown.returncode, "label.json is damaged" in shown.stderr, "remove it" in shown.stderr) == (1, True, True)
    assert "unreadable" in slob("list").stdout


def test_records_are_removed_by_any_of_their_words(several):
    run, sweep, storage = several
    slob("list")
    done = slob("rm", "1", sweep.name, "--yes")
    assert (done.returncode, done.stdout) == (0, f"removed {run.name}\nremoved {sweep.name}\n")
    assert [path.exists() for path in several] == [False, False, True]
    assert json.loads(slob("rm", storage, "--yes", "--json").stdout) == {"removed": [storage.name]}
    assert [path.name for path in storage.parent.iterdir()] == [".numbers.json"]


class Terminal(io.StringIO):
    """A terminal on which somebody types."""

    def isatty(self):
        return True


@pytest.mark.parametrize(("answer", "code", "is_left"), [("n\n", 1, True), ("\n", 1, True), ("y\n", 0, False)])
def test_on_a_terminal_it_asks_before_it_removes(several, monkeypatch, answer, code, is_left):
    run, *_ = several
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    done = slob("rm", run.name)
    assert (done.returncode, run.exists()) == (code, is_left)
    assert f"Remove {run.name} (" in done.stderr


def test_nothing_is_removed_unasked(several, monkeypatch):
    run, sweep, _ = several
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    done = slob("rm", run.name, sweep.name)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{run.name}, {sweep.name}" in done.stderr
    assert "give --yes" in done.stderr
    assert slob("rm", "--yes").returncode == 2
    assert all(path.exists() for path in several)


def test_what_is_in_progress_or_a_part_or_a_file_is_not_removed(several, home):
    _, sweep, _ = several
    record = physical().model_copy(update={"id": "20260301-130000-on", "name": "on", "status": Status.FAILED})
    with RunFolder.begin(home, record) as folder:
        busy = slob("rm", folder.path, "--yes")
        both = slob("rm", "20260301-120000-run", folder.path, "--yes")
        assert [busy.returncode, both.returncode, folder.path.exists()] == [1, 1, True]
        assert f"still in progress (process {os.getpid()})" in busy.stderr
    part = next(sweep.glob("*/run.json")).parent
    for path, said in ((part, f"part of a sweep, {sweep.name}"), (sweep / "sweep.json", "is a file")):
        refused = slob("rm", path, "--yes")
        assert (refused.returncode, said in refused.stderr, path.exists()) == (2, True, True)
    assert (home / "20260301-120000-run").is_dir()


@pytest.mark.parametrize("error", [KeyboardInterrupt, PermissionError])
def test_a_removal_that_is_interrupted_leaves_no_half_of_a_record(several, home, monkeypatch, error):
    run, *others = several

    def interrupted(folder):
        next(folder.glob("*.csv")).unlink()
        raise error

    with monkeypatch.context() as patched, pytest.raises((KeyboardInterrupt, SlobError)):
        patched.setattr(shutil, "rmtree", interrupted)
        removal.remove(finding.one(run.name, home))
    assert {each.entry.path for each in finding.whole(finding.every(home))} == set(others)
    assert len(list(home.glob(".removed-*"))) == 1
    assert run.name not in slob("list", "--all", "--points").stdout
    assert slob("rm", others[0], "--yes").returncode == 0
    assert list(home.glob(".removed-*")) == []


def test_of_a_linked_record_the_link_is_removed(home, tmp_path):
    run = save(tmp_path / "elsewhere")
    home.mkdir(parents=True)
    (home / run.name).symlink_to(run)
    assert slob("rm", home / run.name, "--yes").returncode == 0
    assert (run.is_dir(), (home / run.name).exists()) == (True, False)


@pytest.mark.usefixtures("several")
def test_latest_and_numbers_are_no_titles(tmp_path):
    slob("list")
    page = tmp_path / "page.html"
    for words, title in ((("latest",), "fixture-sweep"), (("2",), "fixture-sweep (#2)"), (("petals",), "petals")):
        if words == ("latest",):
            slob("rm", "20270303-000000-dd", "--yes")
        if words == ("petals",):
            slob("rename", "2", "petals")
        assert slob("report", *words, "-o", page).returncode == 0
        heading = page.read_text().partition("<h1")[2].partition("</h1>")[0]
        assert title in heading, heading
        assert "latest" not in heading
