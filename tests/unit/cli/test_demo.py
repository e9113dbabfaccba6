"""The end of the demonstration: the answer on one screen, the whole report, and the HTML page with its address."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from factories.records import Made, cached, physical
from openslob.cli import demo
from openslob.core.units import GIB, MIB
from openslob.kinds import runs
from openslob.kinds.runs import Runs
from openslob.kinds.sweep import demo as plan
from openslob.kinds.sweep.record import PointState, SweepFolder, SweepPoint
from openslob.record.model import Holds, RunRecord, Verdict
from openslob.record.store import RunFolder
from openslob.report.document import Document
from openslob.report.terminal import LINES, render_screen, render_text

SIZES = plan.Sizes(64 * MIB, 768 * MIB, 32 * MIB)


def saved(record: RunRecord, place: Path, name: str) -> str:
    at = f"20260301-120000-{name}"
    made = record.model_copy(update={"id": at, "name": name, "started_at": "2026-03-01T12:00:00Z"})
    with RunFolder.begin(place, made) as folder:
        folder.finish(made)
    return at


class Demonstration:
    """Records as the demonstration leaves them; one of a ``verdict`` is on each physical run."""

    def __init__(self, results: Path, verdict: Verdict | None = None) -> None:
        self.cached = [saved(cached(), results, "cached-2-sessions-0-updates")]
        with SweepFolder.begin(results, plan.physical_sweep(SIZES)) as self.folder:
            points = [self.made(point, verdict) for point in self.folder.record.points]
            self.folder.save(self.folder.record.with_points(points))
        self.found: Runs = runs.join(
            [*(runs.find([each], results) for each in self.cached), runs.load(self.folder.path)]
        )

    def made(self, point: SweepPoint, verdict: Verdict | None) -> SweepPoint:
        sessions, update_pct = int(point.values["sessions"]), int(point.values["update_pct"])
        run = physical(Made(sessions=sessions, visits=9_000.0 * sessions**0.5, update_pct=update_pct))
        if verdict:
            others = (each for each in run.verdicts if each.name != verdict.name)
            run = run.model_copy(update={"verdicts": (*others, verdict)})
        saved(run, self.folder.path, point.run_name)
        update = {"state": PointState.DONE, "run": f"20260301-120000-{point.run_name}"}
        return point.model_copy(update=update)

    def document(self, address: str = "") -> Document:
        return demo.document_of(self.folder, self.found, self.cached, False, address)


def test_the_answer_is_on_one_screen_with_both_kinds_of_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOB_RESULTS", str(tmp_path))
    text = render_screen(Demonstration(tmp_path).document("file:///tmp/demo.html"), 80)
    assert len(text.splitlines()) < LINES
    assert max(map(len, text.splitlines())) <= 80
    answer = " ".join(text.split("\n\n")[1].split())
    assert "physical 8 KB reads/s at 32 sessions with 0 % updates" in answer
    assert "a read; it still rises" in answer
    assert "From the cache: 2," in answer
    assert "logical 8 KB reads/s at 2 sessions, 48.1 µs an operation" in answer
    assert "file:///tmp/demo.html" in text
    assert re.search(r"^  slob show (\d+|\S+-demo) --all  ", text, re.MULTILINE)


def test_reads_of_the_page_cache_are_not_called_physical(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOB_RESULTS", str(tmp_path))
    untrue = Verdict(
        name="reads_reached_device", verdict=Holds.FAILS, why="They did not.", figures={"storage_to_engine_pct": 12.0}
    )
    text = render_screen(Demonstration(tmp_path, untrue).document(), 80)
    assert "INVALID  6 of 7 runs: " in text
    assert "Not to be used: " in text
    assert "physical 8 KB" not in text
    assert len(text.splitlines()) < LINES


def test_the_whole_report_has_every_point_and_the_petals_on_a_terminal(tmp_path: Path) -> None:
    text = render_text(Demonstration(tmp_path).document(), 80)
    assert "Physical read requests (1/s)" in text
    assert all(f"{mark} {pct} % updates" in text for mark, pct in (("o", 0), ("x", 20)))


def test_the_page_is_beside_the_records(tmp_path: Path) -> None:
    made = Demonstration(tmp_path).found
    address = demo.write_page(made, tmp_path)
    page = Path(address.removeprefix("file://"))
    assert page.parent == tmp_path
    assert all(record.id in page.read_text() for record in made.records)


def test_without_room_for_the_page_there_is_the_answer_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Demonstration(tmp_path)
    assert demo.write_page(made.found, tmp_path / "missing") == ""
    assert "there is no HTML report: " in capsys.readouterr().err
    assert "file://" not in render_screen(made.document(), 80)


def test_cached_runs_fit_into_the_cache_and_physical_ones_do_not() -> None:
    size = plan.sizes(100 * GIB, 64 * GIB)
    of_cached = plan.cached_runs(size, 4).values()
    assert all(run.schemas * run.scale.amount <= size.cache / 2 for run in of_cached)
    sweep = plan.physical_sweep(size)
    assert len(sweep.points) == 6
    assert size.data == 12 * size.cache


def test_notes_are_left_to_the_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOB_RESULTS", str(tmp_path))
    few = Verdict(name="percentiles_supported", verdict=Holds.FAILS, why="There are too few operations.", figures={})
    screen = render_screen(Demonstration(tmp_path, few).document(), 80)
    assert "too few operations" not in screen.lower()
    assert "slob show" in screen.partition("--checks")[0]
    disturbed = Verdict(name="quiet_machine", verdict=Holds.FAILS, why="Others were busy.", figures={})
    assert "caution  6 of 7 runs: Others were busy." in render_screen(
        Demonstration(tmp_path / "disturbed", disturbed).document(), 80
    )
