"""The live page of a whole sweep in headless Chromium: its points begin and end, and every picture is drawn throughout.

One browser looks on from the end of the second point to the end of the sweep. What a browser shows between two points,
and while a point begins, is where drawings met data that they had no place for.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from factories import browser
from factories.browser import Tab
from factories.live import OPS, READS, MadeRun, MadeSweep
from openslob.record.store import lock_marker

pytestmark = pytest.mark.skipif(browser.CHROMIUM is None, reason="no Chromium here: apt-get install chromium")

POINTS = ((2, 0), (8, 0), (4, 20), (6, 20))
PETALS = """({
  now: Array.from(document.querySelectorAll("#picture-petals .role-mark text"), text => text.__data__.datum)
    .filter(row => row && row.said).map(row => [row.line, row.sessions, row.x]),
  labels: Array.from(document.querySelectorAll("#picture-petals .role-mark text"), text => text.textContent),
  legend: Array.from(document.querySelectorAll("#picture-petals .role-legend-label text"), text => text.textContent),
  title: document.getElementById("figures-title").textContent,
  tile: (document.querySelector("[data-figure=pio_read_per_s] b") || {}).textContent,
  text: document.getElementById("petals-text").textContent,
})"""


@dataclass
class Seen:
    """What the browser saw at each moment, and what went wrong in it."""

    moments: dict[str, Any] = field(default_factory=dict)
    drawn: list[float] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    sweep = MadeSweep(tmp_path_factory.mktemp("live") / "20260301-101112-petals", POINTS)
    for _ in range(2):
        _end(sweep, _begin(sweep))
    command = [sys.executable, "-m", "openslob", "live", str(sweep.folder), "--web"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            with browser.tab() as tab, ExitStack() as locked:
                locked.enter_context(lock_marker(sweep.folder))
                yield _watch(sweep, tab, server.stdout.readline().strip(), locked)
        finally:
            server.kill()


def _begin(sweep: MadeSweep) -> MadeRun:
    run = sweep.begin()
    run.grow(4)
    return run


def _end(sweep: MadeSweep, run: MadeRun) -> None:
    run.grow(1)
    sweep.end(run)


def _watch(sweep: MadeSweep, tab: Tab, address: str, locked: ExitStack) -> Seen:
    seen = Seen()
    tab.open(address)
    _look(seen, tab, "between", "!now.length && labels.length === 2")
    third = sweep.begin()
    with lock_marker(third.folder):
        tab.until("document.getElementById('state').textContent === 'in progress, connect'")
        _look(seen, tab, "begins", "!now.length")
        third.grow(4)
        _look(seen, tab, "third", "now.length && labels.length === 3")
        seen.drawn = _list_drawn(tab, 4)
    _end(sweep, third)
    _look(seen, tab, "after", "!now.length && labels.length === 3")
    fourth = _begin(sweep)
    with lock_marker(fourth.folder):
        _look(seen, tab, "fourth", "now.length && labels.length === 4")
        fourth.grow(3)
        tab.until("document.getElementById('clock').textContent.startsWith('00:07')")
    _end(sweep, fourth)
    locked.close()
    tab.until("document.getElementById('state').textContent === 'complete'")
    _look(seen, tab, "finished", "!now.length && labels.length === 4")
    seen.complaints = list(tab.complaints)
    return seen


def _look(seen: Seen, tab: Tab, name: str, once: str) -> None:
    tab.until("Boolean(charts.get('petals'))")
    seen.moments[name] = tab.until(f"(({{now, labels}}) => ({once}))({PETALS}) && {PETALS}")


def _list_drawn(tab: Tab, sessions: int) -> list[float]:
    """Return the reads per second that are drawn over time, once there are those of so many sessions."""
    rows = "charts.get('requests').view.data('rows').filter(row => row.series.endsWith('read requests'))"
    values = f"{rows}.map(row => row.value)"
    found: list[float] = tab.until(f"{values}.includes({sessions * OPS * READS}) && {values}")
    return found


def test_what_is_drawn_over_time_is_of_one_run(seen: Seen) -> None:
    assert len(seen.drawn) >= 2
    assert set(seen.drawn) == {4 * OPS * READS}


def test_nothing_goes_wrong_in_the_page_from_point_to_point(seen: Seen) -> None:
    assert list(seen.moments) == ["between", "begins", "third", "after", "fourth", "finished"]
    assert seen.complaints == []


@pytest.mark.parametrize(("moment", "sessions"), [("third", 4), ("fourth", 6)])
def test_the_point_that_is_measured_is_marked_where_it_is(seen: Seen, moment: str, sessions: int) -> None:
    found = seen.moments[moment]
    assert found["now"] == [["20 % updates", sessions, sessions * OPS * READS]]
    assert f"{sessions} now" in found["labels"]


@pytest.mark.parametrize("moment", ["between", "begins", "after"])
def test_between_points_the_last_run_is_shown_and_named(seen: Seen, moment: str) -> None:
    sessions = 4 if moment == "after" else 8
    found = seen.moments[moment]
    assert found["title"].startswith("Figures of the last run: ")
    assert found["title"].endswith(f", {sessions} sessions, 20 % updates")
    assert found["tile"] == f"{sessions * OPS * READS:,}/s"


def test_every_line_of_the_sweep_has_its_colour_from_the_begin(seen: Seen) -> None:
    assert {tuple(each["legend"]) for each in seen.moments.values()} == {("0 % updates", "20 % updates")}


def test_a_finished_sweep_shows_its_petals(seen: Seen) -> None:
    found = seen.moments["finished"]
    assert sorted(found["labels"]) == ["2", "4", "6", "8"]
    assert "0 % updates: at most 4,800/s with 8; 20 % updates: at most 3,600/s with 6." in found["text"]
