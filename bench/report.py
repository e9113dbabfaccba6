"""The HTML report of a sweep: time of `slob report`, size of the file, and time of a browser to open it.

.venv/bin/python bench/report.py SWEEP [--results results] [--rounds 5]

The browser is headless Chromium. Its start time is subtracted: it also opens an empty page in every round.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import Bar, parse, parser, print_figure, print_heading, start
from openslob.core.errors import SlobError
from openslob.core.units import MIB

WRITE_BAR = Bar(10, at_least=False)
SIZE_BAR = Bar(5, at_least=False)
OPEN_BAR = Bar(2, at_least=False)
EMPTY = "<!DOCTYPE html><html><head><title></title></head><body></body></html>"
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")


def browser() -> str:
    """Return Chromium's program. Raises SlobError if it is not installed."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        raise SlobError("Chromium is not installed", "apt-get install chromium")
    return found


def opened_s(page: Path) -> float:
    """Return the seconds until the page is loaded and its charts are drawn. Raises SlobError if no chart is drawn."""
    with tempfile.TemporaryDirectory(prefix="slob-bench-") as profile:
        command = [browser(), *FLAGS, f"--user-data-dir={profile}", "--virtual-time-budget=10000", "--dump-dom"]
        begun = time.monotonic()
        done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, check=True, timeout=120)
        seconds = time.monotonic() - begun
    if "chart" in page.read_text(encoding="utf-8") and "<svg" not in done.stdout:
        raise SlobError(f"{page}: the browser drew no chart")
    return seconds


def main() -> None:
    """Run the benchmark and print the results."""
    options = parser(__doc__, rounds=5)
    options.add_argument("sweep", help="a sweep, or any runs, as `slob report` takes them")
    options.add_argument("--results", default="results", help="the folder of its records (%(default)s)")
    args = parse(options)
    with tempfile.TemporaryDirectory(prefix="slob-bench-") as folder:
        page, empty = Path(folder) / "report.html", Path(folder) / "empty.html"
        empty.write_text(EMPTY, encoding="utf-8")
        command = [
            Path(sys.executable).with_name("slob"),
            "report",
            args.sweep,
            "--results",
            args.results,
            "-o",
            page,
        ]
        written, opened = [], []
        for _ in range(args.rounds):
            begun = time.monotonic()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            written.append(time.monotonic() - begun)
            opened.append(opened_s(page) - opened_s(empty))
        print_heading(f"the report of {args.sweep}")
        print_figure("slob report", written, "s", WRITE_BAR)
        print_figure("the file", [page.stat().st_size / MIB], "MB", SIZE_BAR)
        print_figure("opening it, less an empty page", opened, "s", OPEN_BAR)


if __name__ == "__main__":
    start(main)
