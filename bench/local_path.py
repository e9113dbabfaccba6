"""The local path compared with the shared one, on one CPU and storage in memory: the cost of a shared buffer cache.

The server is limited to one CPU, and its data lie buffered on a file system in memory, so that a read is a copy and CPU
is the only limit. Both paths are run in turn, in random order in each round. The data are many times the cache: with
one CPU, the running session briefly has the whole shared cache to itself, and with less data it would find blocks there
that its share of private memory does not hold.

    .venv/bin/python bench/local_path.py [--quick] [--seconds 20] [--rounds 5] [--place /dev/shm] [--sessions 4]
"""

from __future__ import annotations

import os
import random
from pathlib import Path

from common import Bench, Pair, bench, figure, notify, parse, parser, print_heading, print_pairs, start, verdict
from openslob.analyze.compare import ComparedValues, compare_values
from openslob.analyze.curves.points import Run
from openslob.core.units import MIB
from openslob.core.workload import Workload
from openslob.record.model import RunRecord
from openslob.report.comparison import show_side_by_side
from openslob.report.terminal import render_blocks

PATHS = ("shared", "local")
DATA_PER_CACHE = 64
# The server's minimum of a session's private memory is 800 KB; a quarter of this is above it.
CACHE_BYTES = 4 * MIB
FIGURES = ("iops_per_db_cpu", "lio_per_db_cpu", "pio_read_per_s")


def main() -> None:
    """Run the benchmark and print the results."""
    options = parser(__doc__, seconds=20, rounds=5)
    options.add_argument("--place", type=Path, default=Path("/dev/shm"), help="a file system in memory (%(default)s)")
    options.add_argument("--sessions", type=int, default=4, help="sessions, and as many schemas (%(default)d)")
    args = parse(options)
    scale_mb = CACHE_BYTES // MIB * (DATA_PER_CACHE // 4 if args.quick else DATA_PER_CACHE) // args.sessions
    shape = {"schemas": args.sessions, "sessions": args.sessions, "scale": f"{scale_mb}M", "scan_table_sz": "64K"}
    place = args.place / f"slob-bench-{os.getpid()}"
    spec = {"data_dir": place, "io": "buffered", "cpus": "0", "cache_bytes": CACHE_BYTES}
    with bench("local-path", **spec) as server:
        server.load(Workload.model_validate(shape))
        records = measure(server, {**shape, "run_time": args.seconds, "warmup": 1}, args.rounds)
    show(records, f"{args.sessions} sessions, {scale_mb} MB each, one CPU, data on {args.place}")


def measure(target: Bench, shape: dict[str, object], rounds: int) -> dict[str, list[RunRecord]]:
    """Run both paths in every round; return the records by path."""
    found: dict[str, list[RunRecord]] = {path: [] for path in PATHS}
    for number in range(rounds):
        notify(f"round {number + 1} of {rounds}")
        for path in random.Random(number).sample(PATHS, len(PATHS)):
            record = target.run(**shape, block_path=path, seed=number + 1)
            found[path].append(record)
            notify(f"{path}: {verdict(record, 'reads_reached_device')}")
    return found


def show(records: dict[str, list[RunRecord]], what: str) -> None:
    """Print the comparison with intervals, then the ratios of the rounds."""
    runs = [Run.of(record) for each in records.values() for record in each]
    print(render_blocks(show_side_by_side(compare_values(runs, ComparedValues("block_path", *PATHS)))))
    print_heading(f"{what}: local and shared", pairs=True)
    for name in FIGURES:
        both = zip(records["local"], records["shared"], strict=True)
        print_pairs(name.replace("_", " "), [Pair(figure(ours, name), figure(theirs, name)) for ours, theirs in both])


if __name__ == "__main__":
    start(main)
