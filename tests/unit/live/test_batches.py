"""The screen and the page of a run with batches say that its latencies are those of batches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from factories.batches import batched
from factories.live import MadeSweep, run_folder
from factories.views import HEAD, NAMES, MadeView, sweep_view
from openslob.kinds.contract import follow
from openslob.kinds.sweep.record import SWEEP_FILE
from openslob.live.screen.canvas import Canvas, Signs
from openslob.live.screen.panes import PaneContent, Screenful, draw
from openslob.live.screen.playhead import Playhead
from openslob.live.web.application import figures_now
from openslob.live.web.board import names_of
from openslob.live.web.pictures import LivePicture, pictures_of, specification
from openslob.metrics import Timed
from openslob.record.model import RunRecord
from openslob.record.store import RECORD_FILE
from openslob.report.charts.time_panels import BAND_COLOURS
from openslob.report.record_view import FigureNames

SINGLE, BATCHED = MadeView(), MadeView(head=replace(HEAD, batch=16))


def screen_of(view: MadeView, tab: int) -> str:
    canvas = Canvas.blank(200, 49)
    span = Playhead().span(view.head.elapsed_s, view.head.planned_s)
    draw(canvas, Screenful(PaneContent(view, view, span, Signs()), tab, Playhead()))
    return "\n".join(canvas.lines())


@pytest.mark.parametrize("tab", [0, 1])
def test_the_panes_of_latencies_name_batches(tab: int) -> None:
    assert screen_of(BATCHED, tab).count("Latency of batches of 16 with select") == 2
    assert screen_of(SINGLE, tab).count("Latency of selects") == 2
    assert "batch" not in screen_of(SINGLE, tab)


def test_a_pane_of_several_kinds_names_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NAMES, "latency.update.p50_us", 200.0)
    names = (*BATCHED.names, "latency.update.p50_us")
    assert "Latency of batches of 16 operations" in screen_of(replace(BATCHED, names=names), 0)


def test_the_axis_of_petals_names_batches() -> None:
    sweep = sweep_view()
    cached = [
        replace(each, figures={"lio_per_s": each.figures["pio_read_per_s"], "op_mean_us": figure})
        for each in sweep.points
        if (figure := each.figures.get("engine_read_latency_us"))
    ]
    for batch, name in ((1, "mean latency"), (16, "mean latency of a batch of 16 operations")):
        shown = replace(sweep, points=tuple(cached), head=replace(sweep.head, batch=batch))
        canvas = Canvas.blank(120, 40)
        draw(canvas, Screenful(PaneContent(shown, shown, Playhead().span(60.0, 60.0), Signs()), 6, Playhead()))
        text = "\n".join(canvas.lines())
        assert name in text
        assert ("batch" in text) == (batch > 1)


def timed(view: MadeView) -> list[LivePicture]:
    return [each for each in pictures_of(view, FigureNames()) if each.name.startswith(("latency-", "map-"))]


def test_the_pictures_of_the_page_have_it_in_title_and_axis() -> None:
    assert [each.title for each in timed(BATCHED)] == [
        "Latency of batches of 16 with select",
        "Latency of batches of 16 with select over time: share of the operations",
        "Latency of batches of 16 with select over time: share of their time",
    ]
    for picture in timed(BATCHED):
        assert "batch of 16 with select latency (µs)" in str(specification(picture, tuple(BAND_COLOURS)))
    assert not [each.title for each in timed(SINGLE) if "batch" in each.title]


def test_what_is_scraped_says_it_too() -> None:
    assert (figures_now(BATCHED).timed, figures_now(SINGLE).timed) == (Timed(16), Timed())


def test_the_page_of_a_sweep_names_its_figures_so() -> None:
    assert names_of((), replace(HEAD, batch=None).timed).label("op_mean_us") == (
        "Batch of PIPELINE operations: mean latency"
    )
    assert names_of((), HEAD.timed).label("op_mean_us") == "Operation: mean latency"


@pytest.mark.parametrize("size", [1, 8])
def test_a_view_learns_the_size_from_the_record(size: int, tmp_path: Path) -> None:
    made = run_folder(tmp_path / "made", seconds=3)
    (made.folder / RECORD_FILE).write_text(batched(made.record, size).model_dump_json())
    assert follow(made.folder).view().head.batch == size


def test_a_sweep_of_several_sizes_has_none(tmp_path: Path) -> None:
    sweep = MadeSweep(tmp_path / "sweep", [(1, 0), (2, 0)])
    assert follow(sweep.folder).view().head.batch == 1
    _, second = sweep.record.points
    several = sweep.record.with_point(second.model_copy(update={"values": {**second.values, "pipeline": 16}}))
    (sweep.folder / SWEEP_FILE).write_text(several.model_dump_json())
    assert follow(sweep.folder).view().head.batch is None


def test_the_db_time_of_a_client_loop_is_none_of_its_batches(tmp_path: Path) -> None:
    """All operations of a batch wait at the same time, and not only in the server."""
    made = run_folder(tmp_path / "made", seconds=5, finished=False)
    path = made.folder / RECORD_FILE
    own = follow(made.folder).view()
    assert own.now["db_time_per_s"].value
    assert "db_time_per_s" in own.names
    path.write_text(batched(RunRecord.model_validate_json(path.read_text())).model_dump_json())
    view = follow(made.folder).view()
    assert view.now["ops_per_s"].value == own.now["ops_per_s"].value
    assert (view.now["db_time_per_s"].value, view.now["db_time_per_s"].why) == (None, "known at the end")
    assert "db_time_per_s" not in view.names
