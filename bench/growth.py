"""What commands cost as records grow: by name or latest among many, a sweep of many points, verification of long loads.

The records are made up here, from a fixture of the tests. Each command runs in a process of its own; its CPU seconds
and its peak memory are printed beside the limits. Example: python bench/growth.py --only names
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
MEASURED = ROOT / "tests" / "fixtures" / "records" / "v4" / "measured"
SWEPT = ROOT / "tests" / "fixtures" / "records" / "sweep-v1" / "measured"
COMPLETION = {"_SLOB_COMPLETE": "complete_bash", "COMP_WORDS": "slob show ", "COMP_CWORD": "2"}


def used(words: list[str], environment: dict[str, str] | None = None) -> tuple[float, float, int]:
    """Return CPU seconds, peak MB and exit code of a command."""
    process = subprocess.Popen(
        [sys.executable, "-m", "openslob", *words],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **(environment or {})},
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, process.returncode


def row(what: str, words: list[str], most_s: float, most_mb: float, environment: dict[str, str] | None = None) -> bool:
    """Print one line; return whether the command kept to its limits."""
    seconds, megabytes, code = used(words, environment)
    kept = seconds <= most_s and megabytes <= most_mb and code in (0, 3)
    print(
        f"{what:44} {seconds:7.2f} s (limit {most_s:g}) {megabytes:6.0f} MB (limit {most_mb:g})"
        f"{'' if code in (0, 3) else f'  exit code {code}'}{'' if kept else '  MISSED'}",
        flush=True,
    )
    return kept


def runs(folder: Path, count: int) -> None:
    """Make up so many records of runs."""
    record = json.loads((MEASURED / "run.json").read_text())
    for number in range(count):
        day = f"2026{1 + number // 672 % 12:02}{1 + number // 24 % 28:02}"
        started = f"{day}-{number % 24:02}{number // 8064:02}00"
        name = f"{started}-run-{number:05}"
        place = folder / name
        place.mkdir(parents=True)
        at = f"{started[:4]}-{started[4:6]}-{started[6:8]}T{started[9:11]}:{started[11:13]}:00Z"
        (place / "run.json").write_text(json.dumps({**record, "id": name, "name": name[16:], "started_at": at}))


def by_name(place: Path) -> Iterator[bool]:
    """Yield how commands do that need one record, or the newest, of 100, 1,000 and 10,000."""
    for count in (100, 1_000, 10_000):
        results = place / str(count)
        runs(results, count)
        given = ["--results", str(results)]
        yield row(f"show latest, {count:,} records", ["show", "latest", *given], 1, 150)
        yield row(f"show by name, {count:,} records", ["show", f"run-{count // 2:05}", *given], 1, 150)
        yield row(f"list, {count:,} records", ["list", *given], 1, 150)
        yield row(f"completion, {count:,} records", [], 1, 150, {**COMPLETION, "SLOB_RESULTS": str(results)})
        shutil.rmtree(results)


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
        what = f"of a sweep of {sessions * 10:,} points"
        yield row(f"show {what}", ["show", str(folder)], 3, 300)
        yield row(f"report {what}", ["report", str(folder), "--output", str(place / "report.html")], 10, 300)
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
    yield row("verify 8 sessions x 24 h", ["verify", str(long)], 8, 300)
    yield row("verify 1,000 sessions x 1 h", ["verify", str(wide)], 30, 500)


PARTS = {"names": by_name, "points": of_points, "verify": of_rows}


def main() -> int:
    """Run the parts that are asked for; return 3 if a limit was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, help="run this part alone")
    only = parser.parse_args().only
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(prefix="slob-growth-") as place:
        kept = [each for name, part in PARTS.items() if only in (None, name) for each in part(Path(place))]
    return 0 if all(kept) else 3


if __name__ == "__main__":
    sys.exit(main())
