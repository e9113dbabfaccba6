"""Reading the record of a long run: seconds and memory of each command that reads it, and what it takes on disk.

The record is made up: 32 sessions with updates, of a week unless it is said otherwise, in the files that a run writes.

.venv/bin/python bench/long_record.py [--days 7]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from common import Bar, print_figure, print_heading, scratch_folder
from factories.live import DAY_S, long_run
from openslob.core.units import MIB

SECONDS_BAR, MEMORY_BAR, DISK_BAR = (Bar(most, at_least=False) for most in (30, 500, 500))
# Reads a record as viewers do, and asks for what a screen shows.
LOOK = """
import sys
from pathlib import Path
from openslob.kinds.contract import follow
found = follow(Path(sys.argv[1]))
while found.read_share < 1:
    found.poll()
view = found.view()
view.series("ops_per_s"), view.series("latency.select.p99_us"), view.waits(), view.cpu(), view.heat("select")
"""


def commands(record: Path, other: Path, out: Path) -> dict[str, list[str]]:
    """Return the arguments of the programs to be measured, by what they are called."""
    slob = [sys.executable, "-m", "openslob"]
    return {
        "slob list": [*slob, "list", "--results", str(record.parent)],
        "slob show": [*slob, "show", str(record)],
        "slob report": [*slob, "report", str(record), "-o", str(out / "report.html")],
        "slob compare": [*slob, "compare", str(record), str(other)],
        "slob export": [*slob, "export", str(record), "-o", str(out / "figures.csv")],
        "slob live": [sys.executable, "-c", LOOK, str(record)],
    }


def measured(command: list[str]) -> tuple[float, float]:
    """Return the seconds that a program takes, and the memory that it has at most, in MB."""
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command[2:5])} ended with status {os.waitstatus_to_exitcode(status)}")
    return time.monotonic() - begun, usage.ru_maxrss * 1024 / MIB


def make(folder: Path, seconds: int) -> None:
    """Make up a record, in a process of its own: the peak of a program counts that of the process which started it."""
    process = multiprocessing.get_context("spawn").Process(target=long_run, args=(folder, seconds))
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit("the record could not be made")


def main() -> None:
    """Make the records, and print what reading one takes."""
    parsed = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parsed.add_argument("--days", type=float, default=7.0)
    seconds = round(parsed.parse_args().days * DAY_S)
    with scratch_folder() as folder:
        record, other = folder / "records" / "a", folder / "records" / "b"
        for each in (record, other):
            make(each, seconds)
        print_heading(f"A record of {seconds:,} s with 32 sessions")
        size = sum(path.stat().st_size for path in record.iterdir())
        print_figure("on disk", [size / 1e6], "MB", DISK_BAR)
        for name, command in commands(record, other, folder).items():
            took_s, used_mb = measured(command)
            print_figure(f"{name}, time", [took_s], "s", SECONDS_BAR)
            print_figure(f"{name}, memory", [used_mb], "MB", MEMORY_BAR)


if __name__ == "__main__":
    main()
