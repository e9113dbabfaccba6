"""The list of all records: what it says of each, and that it follows what happens in the folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from factories.live import MadeSweep, run_folder
from factories.paths import FIXTURES
from openslob.live.web.catalogue import Catalogue, MissingError
from openslob.record.store import RECORD_FILE, lock_marker

RECORDS = FIXTURES / "records"
LONG_S = 60.0


def rows(catalogue: Catalogue) -> dict[str, dict[str, Any]]:
    found = catalogue.look(LONG_S)
    assert found["left"] == 0
    return {row["id"]: row for row in found["rows"]}


def change(folder: Path, **values: object) -> None:
    document = json.loads((folder / RECORD_FILE).read_text())
    (folder / RECORD_FILE).write_text(json.dumps(document | values))


def test_every_kind_of_record_has_a_row(tmp_path: Path) -> None:
    for name in ("v4/measured", "sweep-v2/measured", "storage-v1/dd", "crash-v2/measured", "lab-v2/measured"):
        shutil.copytree(RECORDS / name, tmp_path / name.partition("/")[0])
    found = rows(Catalogue(tmp_path))
    assert {name: (row["kind"], row["runs"], row["live"], row["opens"]) for name, row in found.items()} == {
        "v4": ("run", True, True, True),
        "sweep-v2": ("sweep", True, True, True),
        "storage-v1": ("dd", False, False, True),
        "crash-v2": ("crash", False, False, True),
        # A copy without its runs.
        "lab-v2": ("lab", True, False, True),
    }
    assert found["v4"]["figures"][3] == ["4,096", pytest.approx(4095.586)]
    assert found["v4"]["remarks"] == "caution: no stalls, driver quiet, quiet machine"


def test_only_what_makes_figures_unusable_is_invalid(tmp_path: Path) -> None:
    shutil.copytree(RECORDS / "v3" / "measured", tmp_path / "a")
    verdicts = [
        {"name": name, "verdict": "fails", "why": "made to", "figures": {}}
        for name in ("reads_reached_device", "steady", "limit_found")
    ]
    change(tmp_path / "a", verdicts=verdicts)
    [row] = rows(Catalogue(tmp_path)).values()
    assert (row["invalid"], row["remarks"]) == ("reads reached device", "caution: steady")


def test_the_newest_is_first_and_is_read_first(tmp_path: Path) -> None:
    for at in range(40):
        run_folder(tmp_path / f"20260301-1011{at:02}-made", 1)
        change(tmp_path / f"20260301-1011{at:02}-made", started_at=f"2026-03-01T10:11:{at:02}Z")
    catalogue = Catalogue(tmp_path)
    some = catalogue.look(0.0)
    assert some["left"] == len(some["rows"]) == 40
    # Of what was not read yet, the folder says when it began, and its name.
    first = some["rows"][0]
    assert (first["started"], first["name"], first["kind"]) == ("2026-03-01T10:11:39Z", "made", "run")
    assert (first["figures"][2], first["opens"], first["live"]) == (["", None], True, True)
    while some["left"] == 40:
        some = catalogue.look(0.001)
    assert some["rows"][0]["figures"][2][1] is not None
    assert [row["started"] for row in catalogue.look(LONG_S)["rows"]] == [
        f"2026-03-01T10:11:{at:02}Z" for at in reversed(range(40))
    ]


def test_what_is_new_changed_or_gone_is_noticed(tmp_path: Path) -> None:
    made = run_folder(tmp_path / "20260301-101112-a", 3)
    catalogue = Catalogue(tmp_path)
    assert [row["name"] for row in rows(catalogue).values()] == ["made"]
    change(made.folder, name="renamed")
    run_folder(tmp_path / "20260301-101113-b", 3)
    assert {name: row["name"] for name, row in rows(catalogue).items()} == {
        "20260301-101112-a": "renamed",
        "20260301-101113-b": "made",
    }
    shutil.rmtree(made.folder)
    assert list(rows(catalogue)) == ["20260301-101113-b"]
    with pytest.raises(MissingError):
        catalogue.find("20260301-101112-a")


def test_a_record_in_progress_is_the_current_one(tmp_path: Path) -> None:
    sweep = MadeSweep(tmp_path / "20260301-101112-petals", [(2, 0)])
    latest = run_folder(tmp_path / "20260301-101115-later", 3)
    catalogue = Catalogue(tmp_path)
    with lock_marker(sweep.folder):
        row = rows(catalogue)[sweep.folder.name]
        assert (row["state"], row["live"], row["opens"], row["runs"]) == ("running", True, False, False)
        assert catalogue.find_current() == sweep.folder.name
    assert rows(catalogue)[sweep.folder.name]["state"] == "interrupted"
    assert catalogue.find_current() == latest.folder.name


def test_a_damaged_record_has_a_row_that_says_why(tmp_path: Path) -> None:
    made = run_folder(tmp_path / "20260301-101112-a", 3)
    (made.folder / RECORD_FILE).write_text("{")
    [row] = rows(Catalogue(tmp_path)).values()
    assert (row["state"], row["opens"], row["live"], row["runs"]) == ("unreadable", False, False, False)
    assert row["remarks"].startswith("unreadable: ")


def test_a_folder_without_records_has_none(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nothing"):
        catalogue = Catalogue(folder)
        assert rows(catalogue) == {}
        with pytest.raises(MissingError):
            catalogue.find_current()
