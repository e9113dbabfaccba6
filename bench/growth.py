"""What commands cost as records grow: by name or latest among many, many points or runs, and days of latencies.

The records are made up here, from a fixture of the tests. Each command runs in a process of its own, with the bytecode
that an installation has; its CPU seconds and its peak memory are printed beside the limits, and how the seconds grow
beside the number of records: 1 is linear. A loop of fixed length comes first, since CPU seconds are longer on a busy
host. Example: python bench/growth.py --only names
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
MEASURED = ROOT / "tests" / "fixtures" / "records" / "v4" / "measured"
SWEPT = ROOT / "tests" / "fixtures" / "records" / "sweep-v1" / "measured"
COMPLETION = {"_SLOB_COMPLETE": "complete_bash", "COMP_WORDS": "slob show ", "COMP_CWORD": "2"}
SLOB = ["-m", "openslob"]
READ = "import sys, openslob\nfor _ in range(int(sys.argv[2])): openslob.read('latest', results=sys.argv[1])"
# CPU seconds of the same command with fewer records, by what it is called.
_BEFORE: dict[str, tuple[int, float]] = {}


def used(arguments: list[str], environment: dict[str, str] | None = None) -> tuple[float, float, int]:
    """Return CPU seconds, peak MB and exit code of a Python program."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **(environment or {})},
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, process.returncode


def row(
    what: str,
    count: int,
    arguments: list[str],
    most_s: float,
    most_mb: float,
    environment: dict[str, str] | None = None,
) -> bool:
    """Print one line about ``count`` of something; return whether the program kept to its limits."""
    seconds, megabytes, code = used(arguments, environment)
    kept = seconds <= most_s and megabytes <= most_mb and code in (0, 3, 4)
    fewer, before_s = _BEFORE.get(what, (0, 0.0))
    grows = f"{math.log(seconds / before_s) / math.log(count / fewer):5.2f}" if fewer else " " * 5
    _BEFORE[what] = (count, seconds)
    print(
        f"{what.format(f'{count:,}'):40} {seconds:7.2f} s (limit {most_s:g}) {megabytes:6.0f} MB (limit {most_mb:g})"
        f" {grows}{'' if code in (0, 3, 4) else f'  exit code {code}'}{'' if kept else '  MISSED'}",
        flush=True,
    )
    return kept


def runs(folder: Path, count: int) -> None:
    """Make up so many records of runs, with figures that are not the same."""
    noise = random.Random(1)
    record = json.loads((MEASURED / "run.json").read_text())
    for number in range(count):
        day = f"2026{1 + number // 672 % 12:02}{1 + number // 24 % 28:02}"
        started = f"{day}-{number % 24:02}{number // 8064:02}00"
        name = f"{started}-run-{number:05}"
        place = folder / name
        place.mkdir(parents=True)
        at = f"{started[:4]}-{started[4:6]}-{started[6:8]}T{started[9:11]}:{started[11:13]}:00Z"
        share = noise.gauss(1.0 if number < count // 2 else 0.9, 0.02)
        summary = {
            key: {**each, "value": each["value"] * share} if isinstance(each["value"], float) else each
            for key, each in record["summary"].items()
        }
        run = {**record, "id": name, "name": name[16:], "started_at": at, "summary": summary}
        (place / "run.json").write_text(json.dumps(run))


def by_name(place: Path) -> Iterator[bool]:
    """Yield how commands do that need one record, or the newest, of 100, 1,000 and 10,000."""
    for count in (100, 1_000, 10_000):
        results = place / str(count)
        runs(results, count)
        given = ["--results", str(results)]
        yield row("show latest, {} records", count, [*SLOB, "show", "latest", *given], 1, 150)
        yield row("show by name, {} records", count, [*SLOB, "show", f"run-{count // 2:05}", *given], 1, 150)
        yield row("list, {} records", count, [*SLOB, "list", *given], 1, 150)
        yield row("completion, {} records", count, SLOB, 1, 150, {**COMPLETION, "SLOB_RESULTS": str(results)})
        yield row("100 times read('latest'), {} records", count, ["-c", READ, str(results), "100"], 5, 150)
        shutil.rmtree(results)


def over_time(place: Path) -> Iterator[bool]:
    """Yield how `history` does of 100 and of 1,000 runs of one load."""
    for count in (100, 1_000):
        results = place / str(count)
        runs(results, count)
        yield row("history of {} runs", count, [*SLOB, "history", "--results", str(results)], 4, 300)
        shutil.rmtree(results)


def make_days(folder: Path, days: int) -> None:
    """Make up the record of a load of so many days."""
    from factories.live import DAY_S, long_run  # noqa: PLC0415 - it takes numpy, and so memory

    long_run(folder, days * DAY_S)


def of_days(place: Path) -> Iterator[bool]:
    """Yield what the log of latencies takes of loads of a day and of seven."""
    for days in (1, 7):
        folder, log = place / f"20260101-000000-days-{days}", place / "latencies.hlog"
        # In a process of its own: the peak of a program counts that of the process which started it.
        maker = multiprocessing.get_context("spawn").Process(target=make_days, args=(folder, days))
        maker.start()
        maker.join()
        yield row(".hlog of {} days", days, [*SLOB, "export", str(folder), "-o", str(log)], 30, 150)
        shutil.rmtree(folder)


def points(folder: Path, sessions: int, update_pcts: int) -> None:
    """Make up a sweep of so many session counts and shares of updates, with the raw files of each run."""
    sweep = json.loads((SWEPT / "sweep.json").read_text())
    (like,) = SWEPT.glob("*-sessions-2-r1")
    record, point = json.loads((like / "run.json").read_text()), sweep["points"][0]
    made = []
    for number in range(sessions * update_pcts):
        values = {"sessions": 1 + number // update_pcts, "update_pct": number % update_pcts}
        name = f"20260101-{number // 3600:02}{number // 60 % 60:02}{number % 60:02}-point-{number}"
        shutil.copytree(like, folder / name, ignore=shutil.ignore_patterns("report.txt"))
        spec, summary = {**record["spec"], **values}, dict(record["summary"])
        summary["sessions"] = {**summary["sessions"], "value": values["sessions"]}
        run = {**record, "id": name, "name": name[16:], "spec": spec, "summary": summary}
        (folder / name / "run.json").write_text(json.dumps(run))
        made.append({**point, "number": number + 1, "values": values, "run": name})
    grid = {"sessions": list(range(1, sessions + 1)), "update_pct": list(range(update_pcts))}
    (folder / "sweep.json").write_text(json.dumps({**sweep, "grid": grid, "points": made}))


def of_points(place: Path) -> Iterator[bool]:
    """Yield how `report` and `show` do of sweeps of 100 and 1,000 points."""
    for sessions in (10, 100):
        folder = place / f"sweep-{sessions}"
        folder.mkdir()
        points(folder, sessions, 10)
        count, page = sessions * 10, str(place / "report.html")
        yield row("show of a sweep of {} points", count, [*SLOB, "show", str(folder)], 3, 300)
        yield row("report of a sweep of {} points", count, [*SLOB, "report", str(folder), "--output", page], 10, 300)
        shutil.rmtree(folder)


def make(long: Path, wide: Path) -> None:
    """Make up the record of a day of 8 sessions, and that of an hour of 1,000 sessions with a slice a second each."""
    from factories.live import DAY_S, long_run, run_folder  # noqa: PLC0415 - it takes numpy, and so memory

    long_run(long, DAY_S, 8)
    run_folder(wide, 3600, 1000, length_s=1)


def of_rows(place: Path) -> Iterator[bool]:
    """Yield how `verify` does of long records. They are made by a process of its own, so that its memory is gone."""
    long, wide = place / "long", place / "wide"
    process = multiprocessing.get_context("spawn").Process(target=make, args=(long, wide))
    process.start()
    process.join()
    yield row("verify {} sessions x 24 h", 8, [*SLOB, "verify", str(long)], 8, 300)
    yield row("verify of {} sessions x 1 h", 1000, [*SLOB, "verify", str(wide)], 30, 500)


PARTS = {"names": by_name, "points": of_points, "verify": of_rows, "history": over_time, "days": of_days}


def main() -> int:
    """Run the parts that are asked for; return 3 if a limit was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, help="run this part alone")
    only = parser.parse_args().only
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(prefix="slob-growth-") as place:
        os.environ["PYTHONPYCACHEPREFIX"] = f"{place}/bytecode"
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        for words in (["show", "--help"], ["report", str(SWEPT), "--output", f"{place}/report.html"]):
            used([*SLOB, *words])
        begun = time.process_time()
        sum(number * number for number in range(5_000_000))
        print(f"this host: {time.process_time() - begun:.2f} s for a loop that takes 0.2 to 0.3 s on an idle core")
        kept = [each for name, part in PARTS.items() if only in (None, name) for each in part(Path(place))]
    return 0 if all(kept) else 3


if __name__ == "__main__":
    sys.exit(main())
