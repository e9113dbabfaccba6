#!/usr/bin/env python3
"""Make the pictures of README and the documentation in docs/images, from measurements on this host.

Usage: tools/make_pictures.py [--records DIR] [--only demo|petals|heat]

Runs `slob demo`, the ready-made sweep `petals`, and a run of single reads whose server is stopped again and again for a
moment, on servers of its own in a temporary place: about eleven minutes, on a quiet machine. With --records, the newest
sweep named petals in that folder is drawn instead of a new one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
COLUMNS = 116
# Rich names fonts of other hosts; a picture of ours asks no network.
SVG = re.sub(r"@font-face \{\{.*?\n    \}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace("Fira Code, ", "")


# What readers of a page hear of every mark, and more digits than a screen has pixels: most of a picture of many cells.
UNSEEN = re.compile(r' (?:aria-label|aria-roledescription|aria-hidden|role)="[^"]*"|(?<=\d\.\d)\d+')
# The run with the stalls: its length, when they begin and end, how long each is and how long after its begin the next.
RUN_S, STALLS_FROM_S, STALLS_TO_S, STALL_S, EVERY_S = 24, 9, 16, 0.1, 0.5


def slob(*words: str, home: Path) -> str:
    """Run a command as on a coloured terminal of `COLUMNS` columns; return what it prints."""
    environment = {**os.environ, "OPENSLOB_HOME": str(home), "COLUMNS": str(COLUMNS), "FORCE_COLOR": "1"}
    command = [sys.executable, "-m", "openslob", *words]
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


def terminal(text: str, title: str) -> str:
    """Return a picture of a terminal with this text, as SVG."""
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
    console.print(Text.from_ansi(text), soft_wrap=False)
    return console.export_svg(title=title, theme=DIMMED_MONOKAI, code_format=SVG, unique_id="slob")


def demo(home: Path) -> None:
    """Draw what `slob demo` prints, up to its notes."""
    printed = slob("demo", home=home).partition("\nReport:")[0].rstrip()
    (IMAGES / "demo.svg").write_text(terminal(f"$ slob demo\n{printed}", "slob demo"), encoding="utf-8")


def petals(home: Path, records: Path | None) -> None:
    """Draw latency over reads per second, from a new sweep or the newest one in ``records``."""
    where = ("--results", str(records)) if records else ()
    if not records:
        slob("server", "start", "pictures", "--cache", "256M", home=home)
        slob("sweep", "--ready", "petals", "--target", "pictures", home=home)
        slob("server", "destroy", "pictures", home=home)
    with tempfile.TemporaryDirectory() as folder:
        slob("report", "petals", *where, "-o", f"{folder}/report.html", "--svg-dir", folder, home=home)
        shutil.copy(Path(folder, "petals-pio-read.svg"), IMAGES / "petals.svg")


def heat(home: Path) -> None:
    """Draw the map of latency of single reads, from a server that is stopped for a moment again and again."""
    slob("server", "start", "stalls", "--cache", "64M", home=home)
    try:
        slob("load", "--target", "stalls", "--schemas", "1", "--scale", "1G", home=home)
        (server,) = json.loads(slob("server", "list", "--json", home=home))
        read_with_stalls(server["pid"], home)
    finally:
        slob("server", "destroy", "stalls", home=home)
    with tempfile.TemporaryDirectory() as folder:
        slob("report", "latest", "-o", f"{folder}/report.html", "--svg-dir", folder, home=home)
        drawn = Path(folder, "latency-over-time.svg").read_text(encoding="utf-8")
    (IMAGES / "heat.svg").write_text(UNSEEN.sub("", drawn), encoding="utf-8")


def read_with_stalls(pid: int, home: Path) -> None:
    """Make a run of single reads, and stop the server of this process id during a part of it."""
    reads = ("run", "--target", "stalls", "--sessions", "4", "--work-unit", "1", "--run-time", str(RUN_S))
    command = [sys.executable, "-m", "openslob", *reads]
    environment = {**os.environ, "OPENSLOB_HOME": str(home)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None
        next(line for line in run.stderr if "window" in line)
        begin = time.monotonic()
        for at in range(int((STALLS_TO_S - STALLS_FROM_S) / EVERY_S)):
            time.sleep(max(0.0, begin + STALLS_FROM_S + at * EVERY_S - time.monotonic()))
            stop(pid)
        run.communicate()


def stop(pid: int) -> None:
    """Stop a server for `STALL_S`."""
    server = psutil.Process(pid)
    processes = [server, *server.children(recursive=True)]
    try:
        for process in processes:
            process.send_signal(signal.SIGSTOP)
        time.sleep(STALL_S)
    finally:
        for process in processes:
            process.send_signal(signal.SIGCONT)


def main() -> None:
    """Make all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=Path, help="folder with a sweep named petals")
    parser.add_argument("--only", choices=("demo", "petals", "heat"), help="make this picture alone")
    given = parser.parse_args()
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="slob-pictures-") as folder:
        home = Path(folder)
        home.chmod(0o755)
        makers = {"demo": demo, "petals": lambda home: petals(home, given.records), "heat": heat}
        for name, make in makers.items():
            if given.only in (None, name):
                make(home)


if __name__ == "__main__":
    main()
