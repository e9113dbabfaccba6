"""Records have one home, and every command finds the same ones by the same words."""

from pathlib import Path

import pytest

from factories.records import physical
from factories.running import slob
from openslob import places
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
        assert done.stdout.endswith(f"records: {home}\n")


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
