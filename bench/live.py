"""Cost of looking at a run: its throughput with a viewer beside it and without, and the CPU that the viewer takes.

The viewer reads the record once a second and computes what a screen shows. Its CPU is measured on made-up records that
grow, of 8 and of 1,000 sessions, from their first minute on and after a day.

.venv/bin/python bench/live.py [--quick] [--seconds 15] [--rounds 10] [--day]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from common import (
    Bar,
    Bench,
    Pair,
    bench,
    figure,
    notify,
    parse,
    parser,
    print_figure,
    print_heading,
    print_pairs,
    scratch_folder,
    start,
)
from factories.live import DAY_S, run_folder
from openslob.analyze.intervals import standard_errors
from openslob.core.units import MIB
from openslob.core.workload import Workload
from openslob.kinds.contract import follow
from openslob.kinds.view import Follower
from openslob.record.raw_csv import COLUMNS

CPU_BAR = Bar(1, at_least=False)
# What a screen of 200 columns shows at once.
SHOWN = (
    *("ops_per_s", "pio_read_per_s", "lio_per_s", "pio_write_per_s", "engine_read_latency_us", "host.busy_pct"),
    *("latency.select.p50_us", "latency.select.p99_us", "device.reads_per_s", "device.read_latency_us"),
)
# Enough for what is computed anew only now and then.
LOOKS, FIRST_LOOKS = 60, 3
SHAPE = {"schemas": 2, "scale": "32M", "mode": "lio", "warmup": 1}


def main() -> None:
    """Run the benchmark and print the results."""
    options = parser(__doc__, rounds=10, seconds=15)
    options.add_argument("--day", action="store_true", help="also a record of 24 hours, which takes some minutes")
    args = parse(options)
    for sessions in (8, 1000):
        viewer_cpu(sessions, 60)
    if args.day:
        viewer_cpu(8, DAY_S)
    with bench("live", cache_bytes=128 * MIB) as target:
        target.load(Workload.model_validate(SHAPE))
        throughput(target, args.seconds, args.rounds)


def look(follower: Follower) -> None:
    """Read what is new, and compute what a screen shows."""
    follower.poll()
    view = follower.view()
    assert view.head
    assert view.now
    for name in SHOWN:
        if name in view.names:
            view.series(name)
    view.waits()
    view.cpu()
    if "latency.select.p50_us" in view.names:
        view.heat("select")
    assert view.verdicts or view.head.elapsed_s < 1


def viewer_cpu(sessions: int, seconds: int) -> None:
    """Measure and print what a look a second takes while a made-up record grows by a second each."""
    print_heading(f"a viewer of {sessions} sessions, {LOOKS} looks after {seconds:,} s")
    with scratch_folder() as folder:
        made = run_folder(folder / "made", seconds, sessions, finished=False)
        size = sum((made.folder / name).stat().st_size for name in COLUMNS)
        began, began_cpu = time.perf_counter(), time.process_time()
        follower = follow(made.folder)
        look(follower)
        opened = time.perf_counter() - began
        while follower.read_share < 1:
            follower.poll()
        whole, cpu = time.perf_counter() - began, time.process_time() - began_cpu
        print(f"  opened in {opened:.2f} s, all of {size / MIB:,.0f} MB read in {whole:.1f} s ({cpu:.1f} s of CPU)")
        costs = []
        # The first ones compute what later ones keep.
        for number in range(-FIRST_LOOKS, LOOKS):
            made.grow(1)
            before = time.process_time()
            look(follower)
            if number >= 0:
                costs.append(100 * (time.process_time() - before))
        print_figure("a look", [statistics.mean(costs)], "% of a CPU at one a second", CPU_BAR)


def throughput(target: Bench, seconds: float, rounds: int) -> None:
    """Measure and print a run's throughput with a viewer beside it, of that without, in turn."""
    print_heading(f"{rounds} pairs of runs of {seconds:g} s, cached, 2 sessions, with a viewer and without", pairs=True)
    pairs = []
    for number in range(rounds):
        notify(f"pair {number + 1} of {rounds}")
        values = {}
        for viewed in (True, False) if number % 2 else (False, True):
            with viewer(target.results if viewed else None):
                values[viewed] = figure(target.run(**SHAPE, run_time=seconds), "ops_per_s")
        pairs.append(Pair(values[True], values[False]))
    print_pairs("operations/s", pairs, Bar(0.99))
    ratios = [pair.ours / pair.theirs for pair in pairs]
    if len(ratios) > 1:
        half = standard_errors(len(ratios) - 1) * statistics.stdev(ratios) / len(ratios) ** 0.5
        mean = statistics.mean(ratios)
        print(f"  95 % interval of the ratio: {mean - half:.4f} to {mean + half:.4f}")


@contextmanager
def viewer(results: Path | None) -> Iterator[None]:
    """Run a viewer of the newest record in a process of its own; none without a folder."""
    if results is None:
        yield
        return
    process = subprocess.Popen([sys.executable, __file__, "--view", str(results)])
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def view(results: Path) -> None:
    """Look at the record that begins next, once a second."""
    known, follower = set(results.glob("*/run.json")), None
    while True:
        new = set(results.glob("*/run.json")) - known
        if new and follower is None:
            follower = follow(new.pop().parent)
        if follower is not None:
            look(follower)
        time.sleep(1.0 if follower else 0.1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--view"]:
        view(Path(sys.argv[2]))
    else:
        start(main)
