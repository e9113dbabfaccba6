"""CPU time that `slob` takes to start: imports, options, help; each command in turn, in every round.

.venv/bin/python bench/starts.py [--quick] [--rounds 20]
"""

from __future__ import annotations

import subprocess
import sys

from psutil import Process

from common import Bar, parse, parser, print_figure, print_heading, start

# On a CPU of 2020: a second is what users begin to wait for.
BAR = Bar(1, at_least=False)
COMMANDS = ("--version", "list", "live --help", "watch --help", "run --help")


def main() -> None:
    """Run the benchmark and print the results."""
    rounds = parse(parser(__doc__, rounds=20)).rounds
    taken: dict[str, list[float]] = {each: [] for each in COMMANDS}
    for _ in range(rounds):
        for each, seconds in taken.items():
            seconds.append(started_s(each))
    print_heading("CPU time of a start")
    for each, seconds in taken.items():
        print_figure(f"slob {each}", seconds, "s", BAR)


def started_s(command: str) -> float:
    """Return the CPU seconds, of the program and of the system for it, of one start."""
    before = Process().cpu_times()
    subprocess.run([sys.executable, "-m", "openslob", *command.split()], check=True, stdout=subprocess.DEVNULL)
    after = Process().cpu_times()
    return after.children_user + after.children_system - before.children_user - before.children_system


if __name__ == "__main__":
    start(main)
