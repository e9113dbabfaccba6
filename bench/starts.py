"""CPU time that `slob` takes to start: imports, options, help, and what a shell waits for when it completes a word.

Each command in turn, in every round; completions are timed by the clock, the second time that they are asked for.

.venv/bin/python bench/starts.py [--quick] [--rounds 20]
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from psutil import Process

from common import Bar, parse, parser, print_figure, print_heading, start

# On a CPU of 2020: a second is what users begin to wait for.
BAR = Bar(1, at_least=False)
COMMANDS = ("--version", "list", "live --help", "watch --help", "run --help")
# A key that does nothing for longer than this was not pressed.
COMPLETION_BAR = Bar(0.15, at_least=False)
LINES = ("", "show ", "compare --fail-if pio", "sweep --ready ", "baseline show ", "run --")


def main() -> None:
    """Run the benchmark and print the results."""
    rounds = parse(parser(__doc__, rounds=20)).rounds
    taken: dict[str, list[float]] = {each: [] for each in COMMANDS}
    for _ in range(rounds):
        for each, seconds in taken.items():
            seconds.append(started_s(each))
    with TemporaryDirectory() as home:
        completed = time_completions(Path(home), rounds)
    print_heading("CPU time of a start")
    for each, seconds in taken.items():
        print_figure(f"slob {each}", seconds, "s", BAR)
    print_heading("Time of a completion, among 500 records")
    for line, seconds in completed.items():
        print_figure(f"slob {line}<TAB>", seconds, "s", COMPLETION_BAR)


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


def started_s(command: str) -> float:
    """Return the CPU seconds, of the program and of the system for it, of one start."""
    before = Process().cpu_times()
    subprocess.run([sys.executable, "-m", "openslob", *command.split()], check=True, stdout=subprocess.DEVNULL)
    after = Process().cpu_times()
    return after.children_user + after.children_system - before.children_user - before.children_system


if __name__ == "__main__":
    start(main)
