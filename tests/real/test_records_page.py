"""The page of all records in headless Chromium: the list follows the folder, is filtered, and opens records."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from factories import browser
from factories.browser import Tab
from factories.live import MadeSweep, run_folder
from factories.paths import FIXTURES
from openslob.record.store import RECORD_FILE, lock_marker

pytestmark = pytest.mark.skipif(browser.CHROMIUM is None, reason="no Chromium here: apt-get install chromium")

NAMES = "Array.from(document.querySelectorAll('#rows th'), head => head.firstChild.textContent)"
COMPARE = "document.getElementById('compare')"


@dataclass
class Seen:
    """What the browser saw, by the moment of the journey."""

    told: dict[str, Any] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)


def _run(results: Path, at: int, name: str, sessions: int) -> None:
    made = run_folder(results / f"20260301-10111{at}-{name}", 5, sessions)
    document = json.loads((made.folder / RECORD_FILE).read_text())
    changed = {"name": name, "started_at": f"2026-03-01T10:11:1{at}Z"}
    (made.folder / RECORD_FILE).write_text(json.dumps(document | changed))


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    results = tmp_path_factory.mktemp("results")
    for at, name in enumerate(("before", "after")):
        _run(results, at, name, 4 * (at + 1))
    shutil.copytree(FIXTURES / "records" / "storage-v1" / "dd", results / "20200101-000000-dd")
    command = [sys.executable, "-m", "openslob", "live", "--web", "--results", str(results)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            with browser.tab() as tab, ExitStack() as locked:
                yield _journey(results, tab, server.stdout.readline().strip(), locked)
        finally:
            server.kill()


def _journey(results: Path, tab: Tab, address: str, locked: ExitStack) -> Seen:
    seen = Seen()
    tab.open(address)
    # All are listed at once; their figures and the names in them come as they are read.
    seen.told["count"] = tab.until(
        "(text => text.endsWith('records') && text)(document.getElementById('count').textContent)"
    )
    seen.told["all"] = tab.ask(NAMES)
    seen.told["where"] = tab.ask("location.pathname + location.search")
    seen.told["filtered"] = [_filter(tab, words) for words in ("run", "RUN after", "nothing has this", "")]
    tab.ask("Array.from(document.querySelectorAll('#head button')).find(each => each.textContent === 'name').click()")
    seen.told["sorted"] = tab.ask(NAMES)
    seen.told["one"] = tab.ask(f"{COMPARE}.hasAttribute('href')")
    tab.ask("document.querySelectorAll('#rows input:not([disabled])').forEach(box => box.click())")
    seen.told["two"] = tab.ask(f"{COMPARE}.textContent")
    links = "document.querySelectorAll('#rows tr[data-record$=after] a')"
    report, replay, compare = tab.ask(f"[...Array.from({links}), {COMPARE}].map(each => each.href)")
    sweep = MadeSweep(results / "20190301-101112-petals", [(2, 0), (4, 0)])
    locked.enter_context(lock_marker(sweep.folder))
    seen.told["busy"] = tab.until("(document.querySelector('#rows th .running') || document).parentNode.textContent")
    seen.told["first"] = tab.ask("document.querySelector('#rows tr').dataset.record")
    tab.open(report)
    seen.told["report"] = tab.until("document.querySelectorAll('.chart svg').length >= 3 && document.title")
    tab.open(compare)
    seen.told["compared"] = tab.until("document.querySelectorAll('.chart svg').length >= 1 && document.body.innerText")
    tab.open(replay)
    seen.told["replay"] = tab.until("document.querySelectorAll('.chart svg').length >= 8 && document.title")
    seen.told["at"] = tab.ask("location.pathname + location.search")
    seen.complaints = list(tab.complaints)
    return seen


def _filter(tab: Tab, words: str) -> Any:
    tab.ask(f"document.getElementById('filter').value = '{words}'")
    tab.ask("document.getElementById('filter').dispatchEvent(new Event('input'))")
    return tab.ask(NAMES)


def test_nothing_goes_wrong_in_any_page(seen: Seen) -> None:
    assert seen.complaints == []


def test_the_list_has_all_records_the_newest_first_and_is_filtered_by_words(seen: Seen) -> None:
    assert seen.told["where"] == "/"
    assert seen.told["count"] == "3 of 3 records"
    assert seen.told["all"] == ["fixture-dd", "after", "before"]
    assert seen.told["filtered"] == [["after", "before"], ["after"], [], seen.told["all"]]
    assert seen.told["sorted"] == ["after", "before", "fixture-dd"]


def test_a_record_in_progress_comes_by_itself_and_is_first(seen: Seen) -> None:
    assert seen.told["busy"] == "petalsin progress"
    assert seen.told["first"] == "20190301-101112-petals"


def test_a_name_opens_the_report_and_beside_it_the_replay(seen: Seen) -> None:
    assert seen.told["report"].startswith("after")
    assert seen.told["replay"] == "after: complete"
    assert seen.told["at"] == "/live?record=20260301-101111-after"


def test_two_records_are_compared_the_older_one_first(seen: Seen) -> None:
    assert seen.told["one"] is False
    assert seen.told["two"] == "Compare before with after"
    assert "before" in seen.told["compared"]
    assert "after" in seen.told["compared"]
