"""The page of all records: seconds from opening it in a browser until every record is in its list, and has its figures.

The records are made up here, from a fixture of the tests. Each round starts `slob live --web` and opens its page in a
headless Chromium as soon as the address is printed, when nothing has been read yet, and then again; last it filters the
list by a word.

.venv/bin/python bench/browse.py [--quick] [--records 500] [--rounds 5]
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from common import Bar, parse, parser, print_figure, print_heading, scratch_folder, start
from factories import browser
from factories.browser import Tab
from factories.paths import FIXTURES

MEASURED = FIXTURES / "records" / "v4" / "measured" / "run.json"
RECORDS = 500
BAR = Bar(1, at_least=False)
FIRST = "the same, and have their figures"
ALL_READ = "!document.getElementById('count').textContent.includes('read')"
ROWS = "document.querySelectorAll('#rows tr').length"
FILTER = (
    """(box => { box.value = 'run49'; box.dispatchEvent(new Event('input')); })(document.getElementById('filter'))"""
)


def main() -> None:
    """Run the benchmark and print the results."""
    options = parser(__doc__, rounds=5)
    options.add_argument("--records", type=int, default=RECORDS, help="how many (%(default)d)")
    args = parse(options)
    with scratch_folder() as folder:
        make_records(folder, args.records)
        print_heading(f"{args.records:,} records")
        rounds = [look(folder, args.records) for _ in range(args.rounds)]
    for what in rounds[0]:
        print_figure(what, [each[what] for each in rounds], "s", BAR if what != FIRST else None)


def make_records(folder: Path, count: int) -> None:
    """Write so many records of runs."""
    document = json.loads(MEASURED.read_text())
    for at in range(count):
        record = f"20260301-{at // 3600:02}{at // 60 % 60:02}{at % 60:02}-run{at}"
        (folder / record).mkdir()
        changed = {"id": record, "name": f"run{at}"}
        (folder / record / "run.json").write_text(json.dumps(document | changed))


def look(folder: Path, count: int) -> dict[str, float]:
    """Return the seconds of each thing that a reader does."""
    command = [sys.executable, "-m", "openslob", "live", "--web", "--results", str(folder)]
    # The browser starts first: its start is no part of the page's.
    with browser.tab() as tab, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            listed = timed(lambda: opened(tab, address, count))
            return {
                "opened for the first time, all are listed": listed,
                FIRST: listed + timed(lambda: tab.until(ALL_READ)),
                "opened again, all have their figures": timed(lambda: opened(tab, address, count, ALL_READ)),
                "filtered": timed(lambda: tab.ask(FILTER)),
            }
        finally:
            server.kill()


def opened(tab: Tab, address: str, count: int, and_then: str = "true") -> None:
    """Open the page, and wait for all its rows."""
    tab.open(address)
    tab.until(f"{ROWS} === {count} && {and_then}")


def timed(work: Callable[[], object]) -> float:
    """Return how many seconds some work takes."""
    began = time.monotonic()
    work()
    return time.monotonic() - began


if __name__ == "__main__":
    start(main)
