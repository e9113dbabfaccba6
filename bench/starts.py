"""CPU time that `slob` takes to start: imports, options, help, and what a shell waits for when it completes a word.

The list is that of 200 records; below each command stands how many times `python -c pass` it takes. Each command in
turn, in every round; completions are timed by the clock, the second time that they are asked for.

.venv/bin/python bench/starts.py [--quick] [--rounds 20]
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from psutil import Process

from common import Bar, parse, parser, print_figure, print_heading, start

# On a CPU of 2020: a second is what users begin to wait for.
BAR = Bar(1, at_least=False)
BARS = {"--version": Bar(0.06, at_least=False), "list": Bar(0.25, at_least=False)}
COMMANDS = (*BARS, "live --help", "watch --help", "run --help")
RECORD = Path(__file__).parents[1] / "tests" / "fixtures" / "records" / "v5" / "measured" / "run.json"
# A key that does nothing for longer than this was not pressed.
COMPLETION_BAR = Bar(0.15, at_least=False)
LINES = ("", "show ", "compare --fail-if pio", "sweep --ready ", "baseline show ", "run --")


def main() -> None:
    """Run the benchmark and print the results."""
    rounds = parse(parser(__doc__, rounds=20)).rounds
    with TemporaryDirectory() as home:
        make_records(Path(home), 200)
        python, taken = time_commands(Path(home), rounds)
    with TemporaryDirectory() as home:
        completed = time_completions(Path(home), rounds)
    print_heading("CPU time of a start")
    print_figure("python -c pass", python, "s")
    for each, seconds in taken.items():
        print_figure(f"slob {each}", seconds, "s", BARS.get(each, BAR))
        print_figure("  times python -c pass", [each / statistics.median(python) for each in seconds], " ")
    print_heading("Time of a completion, among 500 records")
    for line, seconds in completed.items():
        print_figure(f"slob {line}<TAB>", seconds, "s", COMPLETION_BAR)


def make_records(home: Path, count: int) -> None:
    """Make so many records in the folder of results of a home."""
    for number in range(count):
        folder = home / "results" / f"20260301-{number:06}-name-{number}"
        folder.mkdir(parents=True)
        shutil.copy(RECORD, folder)


def time_commands(home: Path, rounds: int) -> tuple[list[float], dict[str, list[float]]]:
    """Return the CPU seconds of Python alone and of each command, in rounds."""
    python: list[float] = []
    taken: dict[str, list[float]] = {each: [] for each in COMMANDS}
    for _ in range(rounds):
        python.append(started_s(["-c", "pass"], home))
        for each, seconds in taken.items():
            seconds.append(started_s(["-m", "openslob", *each.split()], home))
    return python, taken


def time_completions(home: Path, rounds: int) -> dict[str, list[float]]:
    """Return the seconds until a shell has its answer for each line, in rounds, with a home of its own."""
    for number in range(500):
        (home / "results" / f"20260301-{number:06}-name-{number}").mkdir(parents=True)
    taken: dict[str, list[float]] = {each: [] for each in LINES}
    for each in LINES:
        complete_s(each, home)
    for _ in range(rounds):
        for each, seconds in taken.items():
            seconds.append(complete_s(each, home))
    return taken


def complete_s(line: str, home: Path) -> float:
    """Return the seconds until a shell has what may follow on a line."""
    words = ["slob", *line.split()]
    asked = {
        "_SLOB_COMPLETE": "complete_bash",
        "COMP_WORDS": f"slob {line}",
        "COMP_CWORD": str(len(words) if line.endswith(" ") or not line else len(words) - 1),
        "OPENSLOB_HOME": str(home),
        "XDG_CACHE_HOME": str(home),
    }
    begun = time.perf_counter()
    program = Path(sys.executable).with_name("slob")
    subprocess.run([program], check=True, stdout=subprocess.DEVNULL, env={**os.environ, **asked})
    return time.perf_counter() - begun


def started_s(words: Sequence[str], home: Path) -> float:
    """Return the CPU seconds, of the program and of the system for it, of one start of Python."""
    before = Process().cpu_times()
    environment = {**os.environ, "OPENSLOB_HOME": str(home)}
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL, env=environment)
    after = Process().cpu_times()
    return after.children_user + after.children_system - before.children_user - before.children_system


if __name__ == "__main__":
    start(main)
