"""The live page in a real browser, headless Chromium: what it shows of a run in progress, and then of its result.

One browser goes through one run: it looks, the run grows, another reader comes, the run ends, it is replayed, and the
server of the page is stopped. The tests compare what was seen with the record.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from factories import browser
from factories.browser import Tab
from factories.live import OPS, READS, MadeRun
from openslob.kinds.contract import follow
from openslob.metrics import METRICS
from openslob.record.model import Figure
from openslob.record.store import lock_marker
from openslob.report.record_view import figure_text

pytestmark = pytest.mark.skipif(browser.CHROMIUM is None, reason="no Chromium here: apt-get install chromium")

SESSIONS, BEGUN_S, GROWN_S = 4, 12, 15
CHARTS = """Object.fromEntries(Array.from(charts, ([name, chart]) => [name, {
  rows: chart.view.data("rows"),
  marks: document.querySelectorAll(`#picture-${name} .role-mark path, #picture-${name} .role-mark line`).length,
  nan: document.getElementById(`picture-${name}`).outerHTML.includes("NaN"),
  text: document.getElementById(`${name}-text`).textContent,
}]))"""
TILES = """Object.fromEntries(Array.from(document.querySelectorAll('.tile'), function (tile) {
  return [tile.dataset.figure, tile.children[0].textContent];
}))"""
WIDTHS = "[document.documentElement.scrollWidth, window.innerWidth]"
INK = "getComputedStyle(document.querySelector('.role-axis-title text')).fill"


def clock(second: int) -> str:
    return f"document.getElementById('clock').textContent.startsWith('00:{second:02}')"


@dataclass
class Seen:
    """What the browser saw, by the moment of the journey."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    charts: dict[str, dict[str, Any]] = field(default_factory=dict)
    tiles: dict[str, dict[str, str]] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MadeRun]:
    made = MadeRun(tmp_path_factory.mktemp("live") / "20260301T101112-made", SESSIONS, 30)
    made.grow(BEGUN_S)
    # The driver's lock: the run is in progress.
    with lock_marker(made.folder):
        yield made


@pytest.fixture(scope="module")
def seen(run: MadeRun) -> Iterator[Seen]:
    command = [sys.executable, "-m", "openslob", "live", str(run.folder), "--web"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            with browser.tab() as tab:
                yield _journey(run, tab, server.stdout.readline().strip(), server)
        finally:
            server.kill()


def _journey(run: MadeRun, tab: Tab, address: str, server: subprocess.Popen[str]) -> Seen:
    seen = Seen()
    seen.told["address"] = address
    tab.open(address)
    _look(seen, tab, "begun", BEGUN_S)
    seen.told["where"] = tab.ask("location.href")
    seen.told["state"] = tab.ask("document.getElementById('state').textContent")
    run.grow(GROWN_S - BEGUN_S)
    _look(seen, tab, "grown", GROWN_S)
    run.say("note", "a <b>checkpoint</b> began")
    seen.told["note"] = tab.until("document.getElementById('notes').textContent.includes('a <b>checkpoint</b> began')")
    tab.open(address, width=420, height=900, dark=True)
    _look(seen, tab, "late", GROWN_S)
    seen.told["narrow"], seen.told["ink"] = tab.ask(WIDTHS), tab.ask(INK)
    seen.told["scrape"] = _scrape(address)
    run.finish()
    tab.until("document.getElementById('state').textContent === 'complete'")
    tab.until("document.getElementById('verdicts-title').textContent.startsWith('Verdicts: ')")
    seen.tiles["finished"] = tab.ask(TILES)
    tab.press("Home")
    tab.until("document.getElementById('clock').textContent.startsWith('00:00')")
    tab.ask("document.getElementById('at').value = 5, document.getElementById('at').dispatchEvent(new Event('input'))")
    _look(seen, tab, "replayed", 5)
    tab.press(" ")
    tab.until("document.getElementById('clock').textContent.startsWith('00:15')")
    seen.told["played"] = tab.until("document.getElementById('play').textContent === 'Play'")
    tab.press("End")
    tab.until(f"charts.get('requests').view.data('rows').some(row => row.to_s === {GROWN_S})")
    seen.complaints, seen.requests = list(tab.complaints), list(tab.requests)
    server.send_signal(signal.SIGINT)
    seen.told["code"] = server.wait(30)
    seen.told["trouble"] = tab.until("document.getElementById('trouble').textContent")
    return seen


def _look(seen: Seen, tab: Tab, name: str, at_s: int) -> None:
    tab.until(f"{clock(at_s)} && document.querySelectorAll('.chart svg').length >= 8")
    tab.until(f"charts.get('requests').view.data('rows').some(row => row.to_s === {at_s})")
    # Drawing follows what is said in words.
    rows = "chart.view.data('rows')"
    tab.until(f"Array.from(charts.values()).every(chart => {rows}.length && {rows}.every(row => row.to_s <= {at_s}))")
    seen.charts[name], seen.tiles[name] = tab.ask(CHARTS), tab.ask(TILES)


def _scrape(address: str) -> str:
    page, _, token = address.partition("?token=")
    asked = urllib.request.Request(f"{page}metrics", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(asked, timeout=60) as answer:
        text: str = answer.read().decode()
        return text


def test_nothing_is_asked_of_any_other_host_and_nothing_goes_wrong(seen: Seen) -> None:
    origin = seen.told["address"].partition("/?")[0]
    assert len(seen.requests) >= 10
    assert [each for each in seen.requests if not each.startswith((origin + "/", "data:", "blob:"))] == []
    assert seen.complaints == []


def test_the_token_leaves_the_address_bar(seen: Seen) -> None:
    assert "token=" in seen.told["address"]
    assert "token" not in seen.told["where"]


@pytest.mark.parametrize("moment", ["begun", "grown", "late", "replayed"])
def test_every_picture_is_drawn_and_said_in_words(seen: Seen, moment: str) -> None:
    assert {"requests", "sizes", "latency-select", "waits", "cpu", "work"} <= seen.charts[moment].keys()
    for name, chart in seen.charts[moment].items():
        assert chart["marks"] > 3, name
        assert chart["nan"] is False, name
        assert re.search(r"\d", chart["text"]), name


@pytest.mark.parametrize("moment", ["begun", "grown", "late"])
def test_the_figures_are_those_of_the_record(seen: Seen, moment: str) -> None:
    reads = SESSIONS * OPS * READS
    assert seen.tiles[moment]["pio_read_per_s"] == figure_text("pio_read_per_s", reads)
    assert seen.tiles[moment]["sessions"] == str(SESSIONS)
    rows = seen.charts[moment]["requests"]["rows"]
    drawn = [row for row in rows if row["series"].endswith("read requests")]
    end_s = BEGUN_S if moment == "begun" else GROWN_S
    # In the first second the sessions had not ended a slice yet.
    expected = [(at, at + 1, reads) for at in range(1, end_s)]
    assert [(row["from_s"], row["to_s"], row["value"]) for row in drawn] == expected


def test_a_late_reader_sees_what_the_first_one_saw(seen: Seen) -> None:
    for name, chart in seen.charts["late"].items():
        first, late = (sorted(_plain(each["rows"])) for each in (seen.charts["grown"][name], chart))
        assert first == late, name


def _plain(rows: list[dict[str, Any]]) -> list[str]:
    """Return the rows as text, without what the drawing adds to them."""
    return [
        json.dumps({name: value for name, value in row.items() if name in _OF_ROWS}, sort_keys=True) for row in rows
    ]


_OF_ROWS = ("from_s", "to_s", "series", "event", "kind", "value", "low", "high", "p50_us", "p90_us", "from_us", "count")


def test_the_result_is_that_of_the_record(seen: Seen, run: MadeRun) -> None:
    summary: dict[str, Figure] = dict(follow(run.folder).view().now)
    shown = {name: text for name, text in seen.tiles["finished"].items() if name in METRICS}
    assert len(shown) >= 8
    assert shown == {name: figure_text(name, summary[name].value) for name in shown}


def test_a_moment_of_the_replay_shows_nothing_that_came_later(seen: Seen) -> None:
    for name, chart in seen.charts["replayed"].items():
        assert max(row["to_s"] for row in chart["rows"]) <= 5, name
    assert seen.told["played"]


def test_what_happens_is_shown_as_text(seen: Seen) -> None:
    assert seen.told["state"] == "in progress, window"
    assert seen.told["note"]


def test_a_narrow_dark_window_is_enough(seen: Seen) -> None:
    page, window = seen.told["narrow"]
    assert page <= window == 420
    assert min(int(part) for part in re.findall(r"\d+", seen.told["ink"])[:3]) > 170


def test_prometheus_gets_the_same_figures(seen: Seen, run: MadeRun) -> None:
    reads = (
        f'openslob_pio_read_per_s{{id="20260301T101112-made",name="{run.record.name}"}} {SESSIONS * OPS * READS:.1f}\n'
    )
    assert reads in seen.told["scrape"]


def test_ctrl_c_ends_the_server_while_it_is_looked_at_and_the_page_says_so(seen: Seen) -> None:
    assert seen.told["code"] == 0
    assert seen.told["trouble"].startswith("The connection is lost: slob live has ended")
