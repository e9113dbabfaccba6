#!/usr/bin/env python3
"""Make the pictures of README and the documentation, and the records of its gallery, from real runs on this host.

Usage: tools/make_pictures.py [--only NAME ...] [--into DIR]

Names: demo, petals, block-sizes, run, storage, heat. All of them take half an hour on a quiet machine, and need fio,
Chromium and MariaDB. Servers and records are in a temporary place, which is removed.

Nothing begins while other programs use the machine. A run is not shown if a verdict makes it invalid, or if anything
but the load used the machine: such a point of a sweep is made again, and so is everything else, up to twice. What can't
be shown even then stays as it was; the last line says what, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

from openslob.analyze.verdict_registry import MAX_OTHERS_PCT, MAX_STEAL_PCT, Severity, severity_of
from openslob.kinds import runs
from openslob.kinds.contract import follow
from openslob.record.model import Holds, Verdict

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))

from factories import browser  # noqa: E402 - the tests' folder is found only now

if TYPE_CHECKING:
    from collections.abc import Iterable

COLUMNS = 100
# How often what was disturbed is made again.
AGAIN = 2
# How long the machine is looked at before something is made.
LOOK_S = 5
# Exit codes of what was measured: a condition may fail, or be undecided.
JUDGED = (0, 3, 4)
# Fonts of other hosts: a picture of ours asks no network.
FONTS = re.compile(r"@font-face \{\{?.*?\n    \}\}?", re.DOTALL)
# What readers of a page hear of every mark, and more digits than a screen has pixels: most of a picture of many cells.
UNSEEN = re.compile(r' (?:aria-label|aria-roledescription|aria-hidden|role)="[^"]*"|(?<=\d\.\d)\d+')
# The run with the stalls: its length, when they begin and end, how long each is and how long after its begin the next.
RUN_S, STALLS_FROM_S, STALLS_TO_S, STALL_S, EVERY_S = 24, 9, 16, 0.1, 0.5
# Of the live screen: columns and lines; seconds before the end of the run.
SCREEN, BACK = (120, 40), 10


class UnfitError(Exception):
    """What was made, or would be made now, can't be shown; the text says why."""


class Place:
    """A home of servers and records, and the folders of pictures and of bundles of a checkout."""

    def __init__(self, home: Path, checkout: Path) -> None:
        self.home = home
        self.images, self.gallery = checkout / "docs" / "images", checkout / "bench" / "gallery"
        for folder in (self.images, self.gallery):
            folder.mkdir(parents=True, exist_ok=True)

    def slob(self, *words: str) -> str:
        """Return what a command prints on a coloured terminal of `COLUMNS` columns. UnfitError if it fails."""
        done = subprocess.run(command(*words), env=self.environment(), stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode not in JUDGED:
            raise UnfitError(f"slob {' '.join(words)} ended with {done.returncode}")
        return done.stdout

    def environment(self) -> dict[str, str]:
        """Return the environment of commands."""
        return {**os.environ, "OPENSLOB_HOME": str(self.home), "COLUMNS": str(COLUMNS), "FORCE_COLOR": "1"}

    def newest(self, name: str) -> Path:
        """Return the newest record of this name."""
        return max((self.home / "results").glob(f"*-{name}"))

    def keep(self, folder: Path, name: str) -> None:
        """Write a record into the gallery, with its raw measurements."""
        self.slob("export", str(folder), "--bundle", str(self.home / name))
        shutil.move(self.home / name, self.gallery / name)

    def draw(self, folder: Path, picture: str) -> str:
        """Return this picture of a record's report, as SVG."""
        with tempfile.TemporaryDirectory() as into:
            self.slob("report", str(folder), "-o", f"{into}/report.html", "--svg-dir", into)
            (file,) = Path(into).glob(f"*{picture}.svg")
            return UNSEEN.sub("", file.read_text(encoding="utf-8"))


def command(*words: str) -> list[str]:
    """Return the command line of the program of this checkout."""
    return [sys.executable, "-m", "openslob", *words]


def doubts(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """Yield why a run can't be shown: what makes it invalid, and what but the load used the machine."""
    for each in verdicts:
        used = {"others_cpu_pct": MAX_OTHERS_PCT, "steal_pct": MAX_STEAL_PCT}
        disturbed = any(float(each.figures.get(name) or 0.0) > most for name, most in used.items())
        invalid = each.verdict is Holds.FAILS and severity_of(each.name, each.figures) is Severity.INVALID
        if invalid or (each.name == "quiet_machine" and disturbed):
            yield f"{each.name}: {each.why}"


def unfit(folder: Path) -> dict[Path, str]:
    """Return why runs of a record can't be shown, by their folders."""
    found = runs.load(folder)
    why = {at: next(doubts(run.record.verdicts), "") for at, run in zip(found.folders, found.runs, strict=True)}
    return {at: text for at, text in why.items() if text}


def sweep(place: Place, name: str, *words: str) -> Path:
    """Make a sweep, and its disturbed points again; return its folder."""
    place.slob("sweep", "--name", name, *words)
    folder = place.newest(name)
    for _ in range(AGAIN):
        if not (disturbed := unfit(folder)):
            break
        for run in disturbed:
            shutil.rmtree(run)
        place.slob("sweep", "--resume", str(folder))
    require_fit(folder)
    return folder


def require_quiet() -> None:
    """Raise UnfitError if other programs use the machine now."""
    used = psutil.cpu_percent(LOOK_S)
    if used > MAX_OTHERS_PCT:
        raise UnfitError(f"other programs use {used:.0f} % of the CPU ({MAX_OTHERS_PCT:g} % is allowed)")


def require_fit(*folders: Path) -> None:
    """Raise UnfitError unless every run can be shown."""
    found = {at: why for folder in folders for at, why in unfit(folder).items()}
    for at, why in found.items():
        raise UnfitError(f"{at.name}, one of {len(found)}: {why}")


def demo(place: Place) -> None:
    """Draw what `slob demo` prints, without its next commands."""
    printed = place.slob("demo", "--no-live").rstrip().rpartition("\n\n")[0]
    require_fit(place.newest("demo"), *(place.home / "results").glob("*-cached-*"))
    shown = f"$ slob demo\n{printed}"
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
    console.print(Text.from_ansi(shown), soft_wrap=False)
    form = without_fonts(CONSOLE_SVG_FORMAT)
    drawn = console.export_svg(title="slob demo", theme=DIMMED_MONOKAI, code_format=form, unique_id="slob")
    (place.images / "demo.svg").write_text(drawn, encoding="utf-8")


def without_fonts(svg: str) -> str:
    """Return a picture that asks for no font of another host."""
    return FONTS.sub("", svg).replace("Fira Code, ", "")


def petals(place: Place) -> None:
    """Draw latency over reads per second by share of updates, and keep the sweep."""
    place.slob("server", "start", "petals", "--cache", "256M")
    try:
        folder = sweep(place, "petals", "--ready", "petals", "--target", "petals")
    finally:
        place.slob("server", "destroy", "petals")
    (place.images / "petals.svg").write_text(place.draw(folder, "petals-pio-read"), encoding="utf-8")
    place.keep(folder, "sweep.slob.zip")


def block_sizes(place: Place) -> None:
    """Keep a sweep over block sizes, each on a server of its own."""
    grid = ("--block-size", "4k,8k,16k", "--sessions", "1,8,32", "--update-pct", "0,20")
    fixed = ("--schemas", "1", "--scale", "1G", "--mode", "pio", "--run-time", "10")
    place.slob("server", "start", "blocks", "--engine", "mariadb", "--cache", "64M")
    try:
        place.keep(sweep(place, "block-sizes", "--target", "blocks", *grid, *fixed), "block-sizes.slob.zip")
    finally:
        place.slob("server", "destroy", "blocks")


def run(place: Place) -> None:
    """Keep a run of a minute, and draw the live screen and the live page of it."""
    if browser.CHROMIUM is None:
        raise UnfitError("there is no Chromium here")
    place.slob("server", "start", "run", "--cache", "64M")
    try:
        place.slob("load", "--target", "run", "--schemas", "1", "--scale", "1G")
        load = ("--sessions", "8", "--update-pct", "20", "--mode", "pio", "--run-time", "60")
        place.slob("run", "--target", "run", "--name", "run", *load)
    finally:
        place.slob("server", "destroy", "run")
    folder = place.newest("run")
    require_fit(folder)
    place.keep(folder, "run.slob.zip")
    (place.images / "live.svg").write_text(without_fonts(asyncio.run(screen_of(folder))), encoding="utf-8")
    photograph(place, folder)


async def screen_of(folder: Path) -> str:
    """Return the live screen of a run, shortly before its end, as SVG."""
    from openslob.live.screen.app import LiveScreen  # noqa: PLC0415 - only this picture needs it
    from openslob.live.screen.canvas import Signs  # noqa: PLC0415

    app = LiveScreen(follow(folder), Signs())
    async with app.run_test(size=SCREEN) as pilot:
        for _ in range(BACK):
            await pilot.press("left")
        await pilot.pause(3)
        return app.export_screenshot(title="slob live")


def photograph(place: Place, folder: Path) -> None:
    """Take a picture of the live page of a run."""
    serve = command("live", str(folder), "--web")
    with subprocess.Popen(serve, env=place.environment(), stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            with browser.tab() as tab:
                tab.open(server.stdout.readline().strip())
                tab.until("document.querySelectorAll('.role-mark path').length > 9")
                tab.screenshot(place.images / "live-page.png", whole=False)
        finally:
            server.send_signal(signal.SIGINT)


def storage(place: Place) -> None:
    """Keep a calibration of the storage."""
    place.slob("raw", "calibrate", str(place.home), "--latency-limit", "none", "--name", "storage")
    # No verdict on storage says whether it was alone.
    require_quiet()
    place.keep(place.newest("storage"), "storage.slob.zip")


def heat(place: Place) -> None:
    """Draw the map of latency of single reads, from a server that is stopped for a moment again and again."""
    place.slob("server", "start", "stalls", "--cache", "64M")
    try:
        place.slob("load", "--target", "stalls", "--schemas", "1", "--scale", "1G")
        (server,) = json.loads(place.slob("server", "list", "--json"))
        read_with_stalls(place, server["pid"])
    finally:
        place.slob("server", "destroy", "stalls")
    folder = place.newest("stalls")
    require_fit(folder)
    (place.images / "heat.svg").write_text(place.draw(folder, "latency-over-time"), encoding="utf-8")


def read_with_stalls(place: Place, pid: int) -> None:
    """Make a run of single reads, and stop the server of this process id during a part of it."""
    words = ("run", "--target", "stalls", "--name", "stalls", "--sessions", "4", "--work-unit", "1")
    reads = command(*words, "--run-time", str(RUN_S), "--retries", "0")
    with subprocess.Popen(
        reads, env=place.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as made:
        assert made.stderr is not None
        next(line for line in made.stderr if "window" in line)
        begin = time.monotonic()
        for at in range(int((STALLS_TO_S - STALLS_FROM_S) / EVERY_S)):
            time.sleep(max(0.0, begin + STALLS_FROM_S + at * EVERY_S - time.monotonic()))
            stop(pid)
        made.communicate()


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


MAKERS: Mapping[str, Callable[[Place], None]] = {
    "demo": demo,
    "petals": petals,
    "block-sizes": block_sizes,
    "run": run,
    "storage": storage,
    "heat": heat,
}


def make(name: str, checkout: Path) -> str:
    """Make one of these in a home of its own; return why it stays as it was, empty if it does not."""
    why = ""
    for _ in range(1 if name in ("petals", "block-sizes") else 1 + AGAIN):
        with tempfile.TemporaryDirectory(prefix="slob-pictures-", dir="/var/tmp") as folder:
            home = Path(folder)
            home.chmod(0o755)
            try:
                require_quiet()
                MAKERS[name](Place(home, checkout))
            except UnfitError as error:
                why = str(error)
            else:
                return ""
    return why


def main(arguments: Sequence[str] | None = None) -> int:
    """Make what is asked for; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=MAKERS, default=list(MAKERS), metavar="NAME")
    parser.add_argument("--into", type=Path, default=ROOT, metavar="DIR", help="gets docs/images and bench/gallery")
    given = parser.parse_args(arguments)
    left = {}
    for name in given.only:
        begin = time.monotonic()
        why = make(name, given.into)
        outcome = f"left as it was: {why}" if why else "made"
        print(f"{name}, after {time.monotonic() - begin:.0f} s: {outcome}", flush=True)
        left |= {name: why} if why else {}
    print(f"left as they were: {', '.join(left)}" if left else "all made")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
