"""Storage: `slob raw calibrate` compared with itself and with a plain fio job at the depth that it chose, in turn.

.venv/bin/python bench/calibrate.py [--quick] [--seconds 2] [--rounds 3] [--engine io_uring] [DIRECTORY]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path
from threading import Event

from common import Bar, Pair, notify, parse, parser, print_figure, print_heading, print_pairs, start
from openslob.core.errors import SlobError
from openslob.core.units import MIB
from openslob.kinds.storage.calibrate import IOPS, CalibrationPlan, calibrate
from openslob.kinds.storage.fio import Fio, IoEngine
from openslob.kinds.storage.record import StorageLoad, StorageRecord
from openslob.kinds.storage.session import StorageRequest, StorageTarget, session
from openslob.kinds.storage.target import temporary_file

BLOCK = 8192
SPREAD_BAR = Bar(3, at_least=False)
# The ratio must be within 3 % of 1.
RATIO_BARS = (Bar(0.97), Bar(1.03, at_least=False))


def main() -> None:
    """Run the benchmark and print the results."""
    options = parser(__doc__, seconds=2, rounds=3)
    options.add_argument("directory", nargs="?", type=Path, default=Path("/var/tmp"))
    options.add_argument("--engine", type=IoEngine, default=IoEngine.IO_URING)
    args = parse(options)
    size = (128 if args.quick else 1024) * MIB
    fio, target = Fio.find(Event()), StorageTarget(args.directory, size, args.engine)
    plan = CalibrationPlan(args.engine, BLOCK, args.seconds, len(os.sched_getaffinity(0)), limit_us=None, writes=False)
    pairs = []
    with tempfile.TemporaryDirectory(prefix="slob-bench-") as results:
        for number in range(args.rounds):
            notify(f"round {number + 1} of {args.rounds}")
            record = calibrated(fio, target, plan, Path(results))
            notify(next(each.why for each in record.verdicts if each.name == "repeatable"))
            pairs.append(
                Pair(record.summary["max_iops"].value or 0.0, plain(fio, target, chosen(record), args.seconds))
            )
    rates = [pair.ours for pair in pairs]
    print_heading(f"max IOPS, {target.path}", pairs=True)
    for bar in RATIO_BARS:
        print_pairs("plain fio at the same depth", pairs, bar)
    spread = 100 * (max(rates) - min(rates)) / statistics.median(rates)
    print_figure(f"spread of {len(rates)} calibrations", [spread], "%", SPREAD_BAR)


def calibrated(fio: Fio, target: StorageTarget, plan: CalibrationPlan, results: Path) -> StorageRecord:
    """Run one calibration, including its test file, and return the record."""
    with session(fio, StorageRequest("calibrate", "bench", results, {}), target, lambda _: None) as (step_runner, file):
        return calibrate(step_runner, file, plan)


def chosen(record: StorageRecord) -> StorageLoad:
    """Return the load of the steps that gave the reported rate."""
    return next(step.load for step in reversed(record.steps) if step.load and step.name.startswith(f"{IOPS}:"))


def plain(fio: Fio, target: StorageTarget, load: StorageLoad, seconds: float) -> float:
    """Return reads per second of a plain fio job on a file of the same size."""
    with temporary_file(fio, target.path, target.size) as file:
        options = {
            "name": "plain", "filename": file.path, "size": file.size, "bs": load.block_bytes, "rw": "randread",
            "ioengine": load.engine, "iodepth": load.in_flight // load.processes, "numjobs": load.processes,
            "direct": 1, "time_based": 1, "runtime": f"{seconds:g}s", "ramp_time": f"{seconds / 4:g}s",
            "randrepeat": 0, "group_reporting": 1, "output-format": "json",
        }  # fmt: skip
        argv = [str(fio.program), *(f"--{name}={value}" for name, value in options.items())]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SlobError(f"fio failed: {done.stderr.strip()}")
    return float(json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]["read"]["iops"])


if __name__ == "__main__":
    start(main)
