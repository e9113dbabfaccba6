"""Reading of AWR reports: the quick way of HTML compared with the parser alone, and a folder of many reports.

The reports are those of the tests, or yours, which are larger. Parsers in C that are installed (lxml, selectolax) are
measured as well: building their tree of a page, and reading the text of all cells from it, though of a damaged page
their trees are others than the tables that `slob awr` finds.

.venv/bin/python bench/awr.py [--quick] [--reports 500] [--rounds 5] [REPORT ...]
"""

from __future__ import annotations

import importlib
import itertools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

from common import Bar, Pair, notify, parse, parser, print_figure, print_heading, print_pairs, scratch_folder, start
from openslob.awr import html, read
from openslob.awr.source import ReportText, load
from openslob.core.units import MIB

FIXTURES = Path(__file__).resolve().parents[1] / "tests" / "fixtures" / "awr"
REPORTS = 500
RATIO = Bar(2.5)  # of the same program: what both ways have in common is in both
FOLDER_S = Bar(30, at_least=False)
MEMORY = Bar(300, at_least=False)  # MB, of all processes together
TEXTS = Bar(100)  # reports a second of CPU
LOOK_S = 0.1


def main() -> None:
    """Run the benchmark and print the results."""
    options = parser(__doc__, rounds=5)
    options.add_argument("reports_given", metavar="REPORT", nargs="*", type=Path, help="your reports, text or HTML")
    options.add_argument("--reports", type=int, default=REPORTS, help="in the folder (%(default)d)")
    args = parse(options)
    given = args.reports_given or [*FIXTURES.glob("awr*_*.html"), *FIXTURES.glob("awr*_*.txt")]
    sources = {path: load(path) for path in given}
    pages = [source for source in sources.values() if source.is_html]
    texts = [path for path, source in sources.items() if not source.is_html]
    if pages:
        compare(pages, args.rounds)
        for name in ("lxml", "selectolax"):
            measure_library(name, pages, args.rounds)
        read_folder([path for path in given if sources[path].is_html], 50 if args.quick else args.reports)
    if texts:
        rates = [len(texts) / cpu_s(lambda: [read(path) for path in texts]) for _ in range(args.rounds)]
        print_heading(f"{len(texts)} text reports")
        print_figure("text reports a second of CPU", rates, "/s", TEXTS)


def compare(pages: list[ReportText], rounds: int) -> None:
    """Print how many times as fast the quick way finds all tables of the pages."""
    print_heading(f"{len(pages)} pages, {sum(len(page.text) for page in pages) / MIB:.1f} MB: MB/s quick, parser alone")
    size = sum(len(page.text) for page in pages) / MIB
    pairs = [
        Pair(size / cpu_s(lambda: read_tables(pages, True)), size / cpu_s(lambda: read_tables(pages, False)))
        for _ in range(rounds)
    ]
    print_pairs("tables that are read", pairs, RATIO)


def read_tables(pages: Iterable[ReportText], is_quick: bool) -> None:
    """Find the tables of the pages, and read every other one, as `slob awr` reads a part of them."""
    for page in pages:
        turns = itertools.cycle((True, False))
        list(html.tables(page.text, lambda *_, turns=turns: next(turns), is_quick))


def measure_library(name: str, pages: list[ReportText], rounds: int) -> None:
    """Print the same of a parser in C, if it is installed."""
    try:
        read_cells = LIBRARIES[name]()
    except ImportError:
        notify(f"{name} is not installed: left out")
        return
    size = sum(len(page.text) for page in pages) / MIB
    rates = [size / cpu_s(lambda: [read_cells(page.text) for page in pages]) for _ in range(rounds)]
    print_figure(f"{name}: tree and text of all cells", rates, "MB/s")


def _lxml() -> Callable[[str], object]:
    library = importlib.import_module("lxml.html")
    way = library.HTMLParser(huge_tree=True)

    def read_cells(text: str) -> object:
        tree = library.document_fromstring(text, parser=way)
        return [["".join(cell.itertext()) for cell in row] for row in tree.iter("tr")]

    return read_cells


def _selectolax() -> Callable[[str], object]:
    library = importlib.import_module("selectolax.lexbor")

    def read_cells(text: str) -> object:
        return [[cell.text() for cell in row.iter()] for row in library.LexborHTMLParser(text).css("tr")]

    return read_cells


LIBRARIES = {"lxml": _lxml, "selectolax": _selectolax}


def read_folder(pages: list[Path], count: int) -> None:
    """Print seconds and memory of `slob awr` of a folder of ``count`` copies with names of their own."""
    with scratch_folder() as folder:
        for at, page in zip(range(count), itertools.cycle(pages), strict=False):
            shutil.copy(page, folder / f"awr_0_{at}.html")
        size = sum(file.stat().st_size for file in folder.iterdir()) / MIB
        print_heading(f"slob awr of {count} pages, {size / count:.2f} MB each, on {len(os.sched_getaffinity(0))} CPUs")
        begin, began_cpu = time.monotonic(), os.times()
        command = [sys.executable, "-m", "openslob", "awr", str(folder), "-o", str(folder / "figures.csv")]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            peak = max(iter(lambda: memory(process), None))
        seconds, cpu = time.monotonic() - begin, os.times()
    print_figure("seconds", [seconds], "s", FOLDER_S)
    used = cpu.children_user + cpu.children_system - began_cpu.children_user - began_cpu.children_system
    print_figure("CPU", [used], "s")
    print_figure("memory of all processes, pages that they share once", [peak], "MB", MEMORY)


def memory(process: subprocess.Popen[bytes]) -> float | None:
    """Return the memory of a process and its children in MB after a moment; None once it has ended."""
    time.sleep(LOOK_S)
    if process.poll() is not None:
        return None
    total = 0.0
    for one in [main := psutil.Process(process.pid), *main.children(recursive=True)]:
        try:
            total += one.memory_full_info().pss / MIB
        except psutil.NoSuchProcess:
            continue
    return total


def cpu_s(act: Callable[[], object]) -> float:
    """Return the seconds of CPU that ``act`` takes."""
    began = time.process_time()
    act()
    return time.process_time() - began


if __name__ == "__main__":
    start(main)
