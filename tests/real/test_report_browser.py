"""The HTML report in a real browser, headless Chromium: drawn, pointed at, clicked; nothing asked of any network.

The page is opened with a script added at its end, which does what a reader does and writes down what it saw.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from factories import record_files
from factories.paths import FIXTURES
from factories.sweeps import failing, sweep
from openslob.analyze.curves.points import Run
from openslob.report.text import run_document

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium")

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--enable-logging=stderr",
    # Whatever is asked of a network goes nowhere.
    "--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9", "--virtual-time-budget=10000",
)  # fmt: skip
SCRIPTS = FIXTURES / "browser"
WATCH = f"<script>{(SCRIPTS / 'watch.js').read_text(encoding='utf-8')}</script>"
LOOK = f'<pre id="seen"></pre><script>{(SCRIPTS / "look.js").read_text(encoding="utf-8")}</script>'


@dataclass(frozen=True)
class Seen:
    """What the browser saw of a page, and what it wrote to its console."""

    page: dict[str, Any]
    console: list[str]


def browse(html: str, *flags: str) -> Seen:
    """Open ``html`` in a browser with a profile of its own, and look around."""
    html = html.replace("</title>", "</title>" + WATCH, 1)
    cut = html.rindex("</body>")
    with tempfile.TemporaryDirectory(prefix="slob-chromium-") as place:
        file = Path(place) / "report.html"
        file.write_text(html[:cut] + LOOK + html[cut:], encoding="utf-8")
        done = subprocess.run(
            [str(CHROMIUM), *FLAGS, *flags, f"--user-data-dir={place}/profile", "--dump-dom", file.as_uri()],
            capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
    found = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stdout[-2000:]
    assert found[1], done.stderr[-3000:]
    return Seen(json.loads(unescape(found[1])), [each for each in done.stderr.splitlines() if "CONSOLE" in each])


@pytest.fixture(scope="module")
def sweep_html() -> str:
    # A moment of CPU, which each worker would spend.
    from openslob.report.html.page import page_of, render_page  # noqa: PLC0415
    from openslob.report.several_runs import set_document  # noqa: PLC0415 - as above

    records = sweep(repeats=2)
    doubted = [failing(each, "quiet_machine") if each.spec["sessions"] == 64 else each for each in records]
    doubted = [failing(each, "mode") if each.spec["sessions"] == 1 else each for each in doubted]
    return render_page(page_of(set_document("a sweep", [Run.of(record) for record in doubted], ())))


@pytest.fixture(scope="module")
def run_html(tmp_path_factory: pytest.TempPathFactory) -> str:
    from openslob.report.html.page import page_of, render_page  # noqa: PLC0415 - as above

    folder = tmp_path_factory.mktemp("run")
    record_files.write(folder)
    return render_page(page_of(run_document(record_files.record(), folder)))


@pytest.fixture(scope="module")
def seen_sweep(sweep_html: str) -> Seen:
    return browse(sweep_html, "--window-size=1280,800")


@pytest.fixture(scope="module")
def seen_run(run_html: str) -> Seen:
    return browse(run_html, "--window-size=1280,800")


Which = Callable[[str], Seen]


@pytest.fixture
def seen(request: pytest.FixtureRequest, seen_sweep: Seen, seen_run: Seen) -> Seen:
    return {"sweep": seen_sweep, "run": seen_run}[request.param]


both = pytest.mark.parametrize("seen", ["sweep", "run"], indirect=True)


@both
def test_no_error_and_nothing_on_the_console(seen: Seen) -> None:
    assert seen.page["errors"] == []
    assert seen.console == []


@both
def test_no_request_leaves_the_file(seen: Seen) -> None:
    assert [name for name in seen.page["resources"] if not name.startswith(("data:", "blob:"))] == []


@both
def test_every_chart_is_drawn_in_full_and_described(seen: Seen) -> None:
    assert len(seen.page["charts"]) >= 4
    for chart in seen.page["charts"]:
        assert chart["marks"] > 3, chart
        assert chart["nan"] is False, chart
        assert chart["cut"] == [], chart
        assert chart["described"], chart


@both
def test_every_chart_tells_its_figures_when_pointed_at(seen: Seen) -> None:
    for chart in seen.page["charts"]:
        assert re.search(r"\d", chart["tooltip"]), chart
        assert "null" not in chart["tooltip"]
        assert "undefined" not in chart["tooltip"]


def test_a_click_on_the_legend_picks_a_line_and_another_brings_all_back(seen_sweep: Seen) -> None:
    picks = [chart["pick"] for chart in seen_sweep.page["charts"]]
    assert len(picks) == 4
    for before, picked, after in picks:
        assert before == after == {"stored": 0, "faded": 0}
        assert picked["stored"] == 1
        assert picked["faded"] > 0


@pytest.fixture(scope="module")
def seen_narrow_and_dark(sweep_html: str) -> Seen:
    return browse(sweep_html, "--window-size=500,900", "--force-dark-mode", "--blink-settings=preferredColorScheme=0")


def test_a_narrow_window_is_enough(seen_narrow_and_dark: Seen) -> None:
    narrow = seen_narrow_and_dark
    assert narrow.page["page"] <= narrow.page["window"]
    assert all(chart["width"] <= narrow.page["window"] for chart in narrow.page["charts"])
    assert [chart["cut"] for chart in narrow.page["charts"]] == [[]] * len(narrow.page["charts"])


def test_the_first_picture_is_on_the_first_screen(seen_sweep: Seen, seen_run: Seen, seen_narrow_and_dark: Seen) -> None:
    # A phone shows 844 pixels; half of the drawing is enough to see what it is.
    for seen, height in ((seen_sweep, 800), (seen_run, 800), (seen_narrow_and_dark, 844)):
        top, bottom = seen.page["first"]
        assert (top + bottom) / 2 < height, seen.page["first"]


def test_tables_that_scroll_say_so_and_others_do_not(seen_sweep: Seen, seen_narrow_and_dark: Seen) -> None:
    for seen in (seen_sweep, seen_narrow_and_dark):
        assert [box["says"] for box in seen.page["tables"]] == [box["scrolls"] for box in seen.page["tables"]]
        assert any(box["says"] for box in seen.page["tables"])


def test_in_print_everything_is_unfolded_and_light(seen_narrow_and_dark: Seen) -> None:
    assert seen_narrow_and_dark.page["folded"]["screen"] > 0
    assert seen_narrow_and_dark.page["folded"]["print"] == 0


def test_on_a_dark_page_the_words_of_the_charts_are_light(seen_sweep: Seen, seen_narrow_and_dark: Seen) -> None:
    both = seen_sweep.page["charts"], seen_narrow_and_dark.page["charts"]
    for light_chart, dark_chart in zip(*both, strict=True):
        assert _brightness(light_chart["ink"]) < 80
        assert _brightness(dark_chart["ink"]) > 170


def test_a_chart_that_cannot_be_drawn_would_be_noticed(run_html: str) -> None:
    broken = run_html.replace('"layer":[', '"layer":5,"was":[', 1)
    assert broken != run_html
    assert browse(broken).page["errors"]


def _brightness(colour: str) -> float:
    parts = [float(part) for part in re.findall(r"[\d.]+", colour)[:3]]
    return sum(parts) / len(parts)
