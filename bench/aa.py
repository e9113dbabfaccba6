"""How often comparisons are right: equal runs that are called different, and a known change that is not found.

Every run has a start of the server and a driver process of its own, with the data in the cache; or, with
``--reads-limit``, with direct I/O on a device that gives so many reads a second, as a cloud's volume does (needs root
and control groups of version 1). Pilot runs come first: of their spread `slob` says
how many runs on each side show the change. Then each set has so many runs of A, of A again, and of B, whose operations
cost so much more (WORK_UNIT), in random order. A against A should show no difference; B against A should. Every run is
written to a file as soon as it is done, and the same command goes on where it was stopped.

    .venv/bin/python bench/aa.py --to aa.jsonl [--pairs 100] [--inject 5] [--seconds 3] [--hours 4] \
        [--reads-limit 3000]
    .venv/bin/python bench/aa.py --to aa.jsonl --results-only
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

from common import Bar, Bench, bench, notify, parse, parser, print_heading, start
from limits import disk, group, move, require_groups
from openslob.analyze.ci_gate import GateResult, check, parse_condition
from openslob.analyze.compare import Comparison, compare
from openslob.analyze.curves.points import Run, points
from openslob.analyze.differences import Outcome
from openslob.analyze.intervals import nested_ratio, spread, starts_needed
from openslob.core.errors import SlobError
from openslob.core.units import MIB
from openslob.core.workload import Workload
from openslob.kinds.runs import load
from openslob.record.model import RunRecord

FIGURE = "ops_per_s"
SHOWN = (Outcome.BETTER, Outcome.WORSE, Outcome.DIFFERENT)
LIMIT_FILE = "blkio.throttle.read_iops_device"
PILOT, LEAST_RUNS = 6, 3
ALARMS, POWER = Bar(5, at_least=False), Bar(90)
ATTEMPTS = 20
PILOT_SIDE = "pilot"


@dataclass(frozen=True)
class Load:
    """What the runs do: the server's settings, the data, the command's options, and the figures that people look at."""

    server: Mapping[str, Any]
    data: Mapping[str, Any]
    options: Mapping[str, Any]
    work_unit: int
    figures: Sequence[str]


LATENCY = ("select_mean_us", "select_p50_us", "select_p99_us")
CACHED = Load(
    {"cache_bytes": 256 * MIB},
    {"schemas": 2, "scale": "32M"},
    {"mode": "lio", "sessions": 2},
    256,
    (FIGURE, "lio_per_s", "lio_per_db_cpu", "db_cpu_per_s", *LATENCY),
)
LIMITED = Load(
    {"cache_bytes": 32 * MIB, "io": "direct"},
    {"schemas": 2, "scale": "256M"},
    {"mode": "pio", "sessions": 8},
    19,
    (FIGURE, "read_iops", "pio_per_s", *LATENCY),
)


@dataclass(frozen=True)
class Task:
    """One run to make: its set, the side there, and its number on this side."""

    set: int
    side: str
    number: int


@dataclass(frozen=True)
class Row:
    """One run that was made. ``half_pct`` is half the interval of its figure by its own course, in %."""

    task: Task
    run: Run
    half_pct: float | None

    @property
    def value(self) -> float:
        return self.run.record.summary[FIGURE].value or 0.0


class Notebook:
    """The file of the runs that were made: the plan in the first line, then a run in each."""

    def __init__(self, path: Path, plan: Mapping[str, Any]) -> None:
        self._path = path
        self.rows: list[Row] = []
        if not path.exists():
            path.write_text(json.dumps({"plan": plan}) + "\n", encoding="utf-8")
        first, *lines = path.read_text(encoding="utf-8").splitlines()
        if json.loads(first)["plan"] != plan:
            raise SlobError(f"{path} is of another plan: {first}", "name another file, or repeat its options")
        for line in lines:
            row = json.loads(line)
            run = Run.of(RunRecord.model_validate(row["record"]))
            self.rows.append(Row(Task(**row["task"]), run, row["half_pct"]))

    def add(self, row: Row) -> None:
        """Write a run down at once. What a comparison does not need of its record is left out."""
        self.rows.append(row)
        record = row.run.record.model_dump(mode="json")
        record["latency"] = {kind: {**each, "buckets": [], "slowest": []} for kind, each in record["latency"].items()}
        line = {"task": vars(row.task), "half_pct": row.half_pct, "record": {**record, "waits": [], "episodes": None}}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def of(self, number: int, side: str) -> list[Row]:
        return [row for row in self.rows if (row.task.set, row.task.side) == (number, side)]


def main() -> None:
    """Make the runs that are missing, and print how often the comparison is right."""
    args = _arguments()
    plan = {"seconds": args.seconds, "reads_limit": args.reads_limit, "inject": args.inject, "see": args.see}
    notebook = Notebook(args.to, plan)
    if not args.results_only:
        _measure(notebook, args)
    _print(notebook, args)


def _arguments() -> argparse.Namespace:
    options = parser(__doc__, seconds=3, rounds=1)
    options.add_argument("--to", type=Path, default=Path("aa.jsonl"), help="file of the runs (%(default)s)")
    options.add_argument("--pairs", type=int, default=100, help="pairs of equal sets of runs (%(default)d)")
    options.add_argument("--inject", type=float, default=0.0, help="make operations of B cost so many %% more (none)")
    options.add_argument("--see", type=float, default=5.0, help="plan for a change of so many %% (%(default)g)")
    options.add_argument("--reads-limit", type=int, help="read from a device that gives so many reads a second")
    options.add_argument("--most", type=int, default=12, help="most runs on a side, whatever is advised (%(default)d)")
    options.add_argument("--hours", type=float, default=math.inf, help="begin no run later than this")
    options.add_argument("--results-only", action="store_true", help="print what the file shows, and measure nothing")
    return parse(options)


def _measure(notebook: Notebook, args: argparse.Namespace) -> None:
    deadline = time.monotonic() + 3600 * args.hours
    load = _load(args)
    with bench("aa", **load.server) as target, _limited(args.reads_limit) as limit:
        target.load(Workload.model_validate(load.data))
        for task in _tasks(notebook, args):
            if time.monotonic() > deadline:
                notify("the time is over: the same command goes on")
                return
            row = _run(target, task, args, limit)
            notebook.add(row)
            notify(f"set {task.set} {task.side} {task.number}: {row.value:,.1f} operations/s")


def _load(args: argparse.Namespace) -> Load:
    return LIMITED if args.reads_limit else CACHED


@contextmanager
def _limited(reads: int | None) -> Iterator[Path | None]:
    """Make a control group that may read so often a second; None if there is no limit."""
    if reads is None:
        yield None
        return
    require_groups("blkio")
    with group("blkio") as folder:
        (folder / LIMIT_FILE).write_text(f"{disk()} {reads}")
        yield folder


def _tasks(notebook: Notebook, args: argparse.Namespace) -> Iterator[Task]:
    """Yield the runs that are missing: the pilot, then set by set, so that every finished set counts."""
    done = {row.task for row in notebook.rows}
    yield from (task for number in range(PILOT) if (task := Task(0, PILOT_SIDE, number)) not in done)
    runs = _runs_a_side(notebook, args)
    sides = ("A", "A again", *(["B"] if args.inject else []))
    for number in range(1, args.pairs + 1):
        tasks = [Task(number, side, each) for side in sides for each in range(runs)]
        random.Random(f"aa/{number}").shuffle(tasks)
        yield from (task for task in tasks if task not in done)


def _runs_a_side(notebook: Notebook, args: argparse.Namespace) -> int:
    """Return how many runs show the change, as the tool says it of the pilot's spread."""
    known = spread([[row.value] for row in notebook.of(0, PILOT_SIDE)])
    advised = starts_needed(known, args.see) or LEAST_RUNS
    runs = min(max(advised, LEAST_RUNS), args.most)
    pct = known.pct if known else math.nan
    notify(f"equal runs differ by {pct:.2f} %; {advised} runs a side are advised for {args.see:g} %, {runs} are made")
    return runs


def _run(target: Bench, task: Task, args: argparse.Namespace, limit: Path | None) -> Row:
    """Restart the server and make a run in a driver of its own; again if the host was too busy for a result."""
    for attempt in range(1, ATTEMPTS + 1):
        target.server.stop()
        target.server.start()
        if limit:
            move(target, limit)
        folder = Path(tempfile.mkdtemp(prefix="aa-", dir=target.results))
        try:
            return _row(task, folder, _drive(target, task, folder, args))
        except SlobError as error:
            if attempt == ATTEMPTS:
                raise
            notify(f"repeating the run: {error}")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    raise AssertionError


def _drive(target: Bench, task: Task, folder: Path, args: argparse.Namespace) -> str:
    """Run the command, and return what it said on stderr."""
    load = _load(args)
    work_unit = math.ceil(load.work_unit / (1 - args.inject / 100)) if task.side == "B" else load.work_unit
    options = {
        "target": target.server.name,
        "results": folder,
        **load.options,
        "work-unit": work_unit,
        "warmup": 1,
        "run-time": args.seconds,
    }
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "openslob", "run", "--quiet", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stderr


def _row(task: Task, folder: Path, said: str) -> Row:
    try:
        run = load(folder).runs[0]
    except SlobError as error:
        raise SlobError(f"{error}: {said.strip()[-300:]}") from error
    measured = points([run])[0].figure(FIGURE)
    if not measured.mean:
        raise SlobError(f"{FIGURE} is unknown: {measured.why}")
    half = measured.half_width
    return Row(task, replace(run, timeline={}), None if half is None else 100 * half / measured.mean)


def _compared(first: Sequence[Row], second: Sequence[Row]) -> Comparison:
    """Compare two sides as `slob compare` does; the work of an operation is the change, and no condition."""
    sides = [
        [replace(row.run, parameters={**row.run.parameters, "work_unit": 0}) for row in side]
        for side in (first, second)
    ]
    return compare(*sides)


def _print(notebook: Notebook, args: argparse.Namespace) -> None:
    runs = _runs_a_side(notebook, args)
    every = [[notebook.of(number, side) for side in ("A", "A again")] for number in range(1, args.pairs + 1)]
    sets = [sides for sides in every if min(map(len, sides)) >= runs]
    print_heading(
        f"{len(sets)} pairs of {runs} equal runs a side, each after a restart; {args.seconds:g} s, {_how(args)}"
    )
    equal = [_compared(*each) for each in sets]
    _share("called different: operations/s", [_outcome(each, FIGURE) in SHOWN for each in equal], ALARMS)
    figures = _load(args).figures
    every_figure = [_outcome(each, name) in SHOWN for each in equal for name in figures]
    _share(f"called different: {len(figures)} main figures", every_figure)
    gate = parse_condition(f"{FIGURE} < 0%")
    _share("alarms of a gate on any fall", [check(gate, each).result is GateResult.VIOLATED for each in equal], ALARMS)
    _share("would differ by the spread within single runs", [_differ_within(a[0], b[0]) for a, b in sets])
    values = [[[row.value] for found in sets for row in found[side]] for side in (0, 1)]
    if known := spread(*values):
        print(f"  equal runs differ by {known.pct:.2f} % (standard deviation over starts)")
    if args.inject:
        _print_injected(notebook, args, runs)


def _how(args: argparse.Namespace) -> str:
    return f"device of {args.reads_limit:,} reads/s" if args.reads_limit else "cached"


def _print_injected(notebook: Notebook, args: argparse.Namespace, runs: int) -> None:
    numbers = [number for number in range(1, args.pairs + 1) if len(notebook.of(number, "B")) >= runs]
    sets = [(notebook.of(number, "A"), notebook.of(number, "B")) for number in numbers]
    found = [_outcome(_compared(*each), FIGURE) is Outcome.WORSE for each in sets]
    _share(f"{args.inject:g} % that were injected, found", found, POWER)
    ratio = nested_ratio(*([[row.value] for each in sets for row in each[side]] for side in (0, 1)))
    if ratio.value and ratio.low and ratio.high:
        low, change, high = (100 * (each - 1) for each in (ratio.low, ratio.value, ratio.high))
        print(f"  operations/s of all of B against all of A: {change:+.2f} % ({low:+.2f} to {high:+.2f})")


def _outcome(comparison: Comparison, figure: str) -> Outcome | None:
    difference = comparison.answer(figure)
    return None if difference is None else difference.outcome


def _differ_within(a: Row, b: Row) -> bool:
    """Return whether two single runs would differ if nothing but the spread within them counted."""
    if a.half_pct is None or b.half_pct is None:
        return False
    return abs(b.value / a.value - 1) * 100 > math.hypot(a.half_pct, b.half_pct)


def _share(what: str, cases: Sequence[bool], bar: Bar | None = None) -> None:
    if not cases:
        return
    pct, sure = 100 * sum(cases) / len(cases), binomtest(sum(cases), len(cases)).proportion_ci()
    judged = f"   {bar.judge(pct)}" if bar else ""
    rate = f"{pct:.1f} %, 95 % interval {100 * sure.low:.1f} to {100 * sure.high:.1f} %"
    print(f"  {what:<48} {sum(cases):>5} of {len(cases)} ({rate}){judged}", flush=True)


if __name__ == "__main__":
    start(main)
