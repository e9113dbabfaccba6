"""A thousand sessions from one driver on one server: start skew, memory and CPU of the driver.

With 1,000 sessions on a few CPUs most wait for a CPU, and so does the driver. Therefore they are measured both at work
all the time, and with a rest of 0.1 s after each operation, of 64 blocks and of one: the start skew is what all first
operations take. What the driver needs is compared with a server that is at work. PostgreSQL is measured, by root, with
huge pages, too: without them each session's process has to find every block of the cache for itself.

.venv/bin/python bench/thousand.py [--quick] [--engine mariadb] [--sessions 1000] [--seconds 10] [--rounds 1]
"""

from __future__ import annotations

import os
import time

from common import Bar, Bench, bench, figure, notify, parse, parser, print_figure, print_heading, skew_p99_ms, start
from openslob.core.errors import SlobError
from openslob.core.units import MIB
from openslob.core.workload import Workload
from openslob.engines import registry
from openslob.host.sampler import peak_rss_bytes
from openslob.record.model import RunRecord

SESSIONS = 1000
CACHE_MB = 64
SKEW_BAR = Bar(50, at_least=False)
CPU_BAR = Bar(3, at_least=False)
MEMORY_BAR = Bar(400, at_least=False)
SHAPE: dict[str, object] = {"schemas": 4, "scale": "8M", "mode": "lio", "warmup": 1}
RESTING: dict[str, object] = {"think_tm_frequency": 1, "think_tm_min": 0.1, "think_tm_max": 0.1}
AT_WORK = "at work all the time"
LOADS: dict[str, dict[str, object]] = {
    AT_WORK: {},
    "a rest of 0.1 s after each operation of 64 blocks": RESTING,
    "a rest of 0.1 s after each operation of one block": {**RESTING, "work_unit": 1},
}


def main() -> None:
    """Run the benchmark and print the results."""
    options = parser(__doc__, seconds=10, rounds=1)
    options.add_argument("--sessions", type=int, default=SESSIONS, help="how many (%(default)d)")
    options.add_argument("--engine", default=registry.default_engine(), help="the server's kind (%(default)s)")
    args = parse(options)
    with bench("thousand", args.engine, cache_bytes=CACHE_MB * MIB, max_sessions=args.sessions) as target:
        target.load(Workload.model_validate(SHAPE))
        for huge_pages in (False, True) if args.engine == "postgresql" and os.geteuid() == 0 else (False,):
            if huge_pages:
                target.restart(huge_pages=True)
            for load, changed in LOADS.items():
                print_heading(f"{args.engine}, {args.sessions:,} sessions, {load}{', huge pages' * huge_pages}")
                shape = {**SHAPE, **changed, "sessions": args.sessions, "run_time": args.seconds}
                _measure(target, shape, args.rounds, CPU_BAR if load == AT_WORK else None)
        # The peak of the whole process, with the load of the data and this script in it: the driver alone needs less.
        print_heading("all of it")
        print_figure("memory of the driver", [peak_rss_bytes() / MIB], "MB", MEMORY_BAR)


def _measure(target: Bench, parameters: dict[str, object], rounds: int, cpu_bar: Bar | None) -> None:
    """Run so many times; print skew, the driver's CPU, and how long all but the load itself took."""
    records, around_s, sizes = [], [], []
    for number in range(rounds):
        notify(f"round {number + 1} of {rounds}")
        begun = time.monotonic()
        records.append(record := target.run_once(Workload.model_validate(parameters)))
        load_s = record.window.warmup_s + record.window.load_seconds if record.window else 0.0
        around_s.append(time.monotonic() - begun - load_s)
        sizes.append(sum(file.stat().st_size for file in (target.results / record.id).rglob("*.*")) / MIB)
    print_figure(
        "start skew, p99 of the sessions", [skew_p99_ms(target.results / each.id) for each in records], "ms", SKEW_BAR
    )
    if cpu := [each for record in records if (each := _known(record, "driver_cpu_pct_of_db")) is not None]:
        print_figure("CPU of the driver", cpu, "% of DB CPU", cpu_bar)
    print_figure("time before and after the load", around_s, "s")
    print_figure("size of the record", sizes, "MB")


def _known(record: RunRecord, name: str) -> float | None:
    try:
        return figure(record, name)
    except SlobError as error:
        notify(str(error))
        return None


if __name__ == "__main__":
    start(main)
