"""What is kept of the runs that pictures and the gallery are made from, and the gallery's reports of bundles."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from factories.paths import FIXTURES, ROOT
from factories.tables import table
from openslob.record import bundle
from openslob.record.finding import at
from openslob.record.model import Holds, Verdict

sys.path.insert(0, str(ROOT / "tools"))

import gallery
import make_pictures


def machine(others: float, steal: float = 0.0, spread: float = 0.0) -> Verdict:
    figures = {"steal_pct": steal, "others_cpu_pct": others, "spread_pct": spread}
    return Verdict(name="quiet_machine", verdict=Holds.FAILS, why="It is noisy.", figures=figures)


@table(
    "verdict",
    [
        machine(others=30.0),
        machine(others=0.0, steal=3.0),
        Verdict(name="reads_reached_device", verdict=Holds.FAILS, why="They did not."),
        Verdict(name="window", verdict=Holds.FAILS, why="It was lost."),
    ],
)
def test_an_invalid_run_and_a_disturbed_one_are_not_shown(verdict: Verdict) -> None:
    assert list(make_pictures.doubts([verdict])) == [f"{verdict.name}: {verdict.why}"]


@table(
    "verdict",
    [
        machine(others=5.0, spread=9.0),
        Verdict(name="percentiles_supported", verdict=Holds.FAILS, why="Too few operations."),
        Verdict(name="window", verdict=Holds.HOLDS, why="It held."),
    ],
)
def test_what_is_only_good_to_know_does_not_keep_a_run_from_being_shown(verdict: Verdict) -> None:
    assert list(make_pictures.doubts([verdict])) == []


def test_nothing_is_written_of_what_can_not_be_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(place: make_pictures.Place) -> None:
        (place.home / "results").mkdir()
        shutil.copytree(FIXTURES / "records" / "v4" / "measured", place.home / "results" / "20260301-120000-run")
        make_pictures.require_fit(place.newest("run"))
        (place.images / "run.svg").touch()

    monkeypatch.setitem(make_pictures.MAKERS, "run", measure)
    monkeypatch.setattr(make_pictures, "require_quiet", lambda: None)
    assert make_pictures.main(["--only", "run", "--into", str(tmp_path)]) == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_the_gallery_has_a_report_of_each_bundle(tmp_path: Path) -> None:
    found = at(FIXTURES / "records" / "v4" / "measured")
    assert found
    bundle.save(found, tmp_path / "run.slob.zip")
    (shown,) = gallery.exhibits(tmp_path)
    assert shown.file == "run.html"
    assert "physical 8 KB reads/s" in shown.html
