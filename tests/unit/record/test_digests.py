"""Digests of a record's files: what has changed since its end is named, in parts of the record too."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from factories.paths import FIXTURES
from factories.records import physical
from factories.tables import table
from openslob.core.errors import SlobError
from openslob.kinds.repeated.record import RepeatedFolder
from openslob.kinds.repeated.record import load as load_repeated
from openslob.record import digests, store
from openslob.record.store import RunFolder


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A record of two runs, each part finished as programs do."""
    document = load_repeated(FIXTURES / "records" / "repeated-v1" / "measured")
    with RepeatedFolder.begin(tmp_path, document) as folder:
        for name in ("r1", "r2"):
            with RunFolder.begin(folder.path, physical(record_id=name)) as run:
                run.attach("awr.html", "a report")
                run.finish(physical(record_id=name), "a text")
    return folder.path


def test_a_finished_record_is_as_written(whole: Path) -> None:
    found = digests.check(whole)
    assert found.changed == ()
    known = json.loads((whole / "digests.json").read_text())
    assert known["sha256"] == found.sha256
    assert set(known["files"]) == {"repeated.json", "r1/digests.json", "r2/digests.json"}
    assert set(json.loads((whole / "r1" / "digests.json").read_text())["files"]) >= {
        "run.json", "report.txt", "slices.csv", "events.csv", "attachments/awr.html",
    }  # fmt: skip


def test_the_digest_of_the_whole_is_that_of_what_sha256sum_prints(whole: Path) -> None:
    names = sorted(json.loads((whole / "digests.json").read_text())["files"])
    printed = subprocess.run(["sha256sum", *names], cwd=whole, capture_output=True, check=True).stdout
    assert digests.check(whole).sha256 == hashlib.sha256(printed).hexdigest()


@table(
    ("name", "named"),
    [
        ("repeated.json", "repeated.json: changed"),
        ("r1/run.json", "r1/run.json: changed"),
        ("r2/slices.csv", "r2/slices.csv: changed"),
        ("r2/attachments/awr.html", "r2/attachments/awr.html: changed"),
    ],
)
def test_a_changed_file_is_named(whole: Path, name: str, named: str) -> None:
    before = (whole / name).read_bytes()
    (whole / name).write_bytes(before + b" ")
    assert digests.check(whole).changed == (named,)
    (whole / name).unlink()
    assert digests.check(whole).changed == (named.replace("changed", "missing"),)
    (whole / name).write_bytes(before)


def test_a_part_whose_digests_were_computed_anew_is_named_too(whole: Path) -> None:
    (whole / "r1" / "run.json").write_text("{}")
    digests.write(whole / "r1")
    assert digests.check(whole / "r1").changed == ()
    assert digests.check(whole).changed == ("r1/digests.json: changed",)


def test_added_files_are_named_if_a_record_could_have_them(whole: Path) -> None:
    (whole / "notes.txt").write_text("somebody's own")
    (whole / "report.html").write_text("made of the record")
    assert digests.check(whole).changed == ()
    (whole / "r1" / "response2.csv").write_text("")
    (whole / "r3").mkdir()
    (whole / "r3" / "run.json").write_text("{}")
    assert set(digests.check(whole).changed) == {"r3/run.json: added", "r1/response2.csv: added"}


@table("text", ["", "{", "[]", '{"digests_version": 99}', '{"digests_version": 1, "files": {}, "sha256": "x"}'])
def test_digests_that_are_none_are_a_change(whole: Path, text: str) -> None:
    (whole / "digests.json").write_text(text)
    assert "digests.json" in digests.check(whole).changed[-1]


def test_a_record_that_goes_on_has_no_digests_until_it_ends(whole: Path) -> None:
    with RepeatedFolder.resume(whole) as folder:
        assert digests.check(whole) == digests.Checked()
        folder.save(folder.record.model_copy(update={"name": "other"}))
    assert digests.check(whole).sha256
    assert digests.check(whole).changed == ()


def test_a_record_without_an_end_has_none(tmp_path: Path) -> None:
    with RunFolder.begin(tmp_path, physical(record_id="r")) as run:
        pass
    assert digests.check(run.path) == digests.Checked()


def test_digests_that_cant_be_written_are_an_error_that_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(digests, "write", refuse)
    with RunFolder.begin(tmp_path, physical(record_id="r")) as run:
        with pytest.raises(store.UnsavedError, match=r"digests\.json can't be written"):
            run.finish(physical(record_id="r"))
        assert store.load(run.path).status == physical().status
    with pytest.raises(SlobError, match="first"):  # noqa: SIM117
        with RepeatedFolder.begin(tmp_path, load_repeated(FIXTURES / "records" / "repeated-v1" / "measured")):
            raise SlobError("first")
