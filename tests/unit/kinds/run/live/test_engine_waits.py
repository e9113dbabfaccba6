"""Maps of the engine's waits, which it counts by duration: what is closed again too soon counts once."""

from __future__ import annotations

from pathlib import Path

import pytest

from factories.live import MadeRun, run_folder
from factories.records import START_NS
from openslob.core.units import NANOS
from openslob.kinds.contract import follow
from openslob.live.screen.canvas import Canvas, Signs
from openslob.live.screen.panes import PaneContent, Screenful, draw
from openslob.live.screen.playhead import Playhead
from openslob.live.web.board import Board
from openslob.report import run_series

READ, SYNC = "io:a read, one", "log:sync"


@pytest.fixture
def made(tmp_path: Path) -> MadeRun:
    """A run of ten seconds; the reading that ends it comes 0.2 s after the last regular one, and replaces it."""
    made = run_folder(tmp_path / "made", 10, finished=False)
    for second in range(10):
        count(made, second, second + 1, f'"{READ}",128,256,{100 + second}', f"{SYNC},1024,2048,5")
    count(made, 9, 10.2, f'"{READ}",128,256,130', f"{SYNC},1024,2048,6", f"{SYNC},4096,8192,1")
    return made


def count(made: MadeRun, begin_s: float, end_s: float, *rows: str) -> None:
    times = ",".join(f"{START_NS + round(at * NANOS)}" for at in (begin_s, end_s))
    with (made.folder / "engine_latency.csv").open("a") as file:
        file.writelines(f"{times},{row}\n" for row in rows)


def test_an_interval_that_was_replaced_counts_once(made: MadeRun) -> None:
    view = follow(made.folder).view()
    assert view.waits_by_duration == [READ, SYNC]
    reads, syncs = view.heat(READ), view.heat(SYNC)
    assert sum(sum(row) for row in reads.counts) == sum(range(100, 109)) + 130
    assert (reads.edges_us, syncs.edges_us) == ([128, 256], [1024, 2048, 4096, 8192])
    assert [sum(row) for row in zip(*syncs.counts, strict=True)] == [9 * 5 + 6, 0, 1]
    assert sum(row[0] for row in syncs.time_us) == pytest.approx(51 * (1024 + 2047) / 2)
    assert view.heat(READ).what == "waits"
    with pytest.raises(KeyError):
        view.heat("another")


def test_while_it_grows_the_map_is_that_of_the_report(made: MadeRun) -> None:
    follower = follow(made.folder)
    assert follower.view().heat(READ).counts
    count(made, 10.2, 11.2, f'"{READ}",128,256,7')
    follower.poll()
    made.finish()
    follower.poll()
    record = follower.view()
    drawn = run_series.read(made.folder, made.record).engine_latency
    for event in (READ, SYNC):
        reported = sum(sum(each.durations.values()) for each in drawn[event])
        assert sum(map(sum, record.heat(event).counts)) == reported


def test_a_replay_shows_what_had_been_counted(made: MadeRun) -> None:
    view = follow(made.folder).view(4.0)
    assert [sum(row) for row in view.heat(READ).counts] == [100, 101, 102, 103]


def test_screen_and_page_have_the_maps(made: MadeRun) -> None:
    view = follow(made.folder).view()
    canvas, playhead = Canvas.blank(160, 60), Playhead()
    span = playhead.span(view.head.elapsed_s, view.head.planned_s)
    draw(canvas, Screenful(PaneContent(view, view, span, Signs()), 1, playhead))
    text = "\n".join(canvas.lines())
    assert "Engine's waits, a read, one, share of waits" in text
    assert "Engine's waits, sync, share of waits" in text
    board = Board(0.0)
    board.update(view)
    pictures = {each["name"]: each for each in board.whole()["pictures"]}
    title = "Engine's waits, log:sync, over time: share of the waits"
    assert pictures["map-log:sync-share_pct"]["title"] == title
    assert "map-io:a-read,-one-time_pct" in pictures
