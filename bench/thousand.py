"""A thousand sessions from one driver on one server: start skew, memory and CPU of the driver.

With 1,000 sessions on a few CPUs most wait for a CPU, and so does the driver. Therefore they are measured both at work
all the time, and with a rest of 0.1 s after each operation.

.venv/bin/python bench/thousand.py [--quick] [--engine mariadb] [--sessions 1000] [--seconds 10] [--rounds 1]
"""

from __future__ import annotations

import time

from common import Bar, Bench, bench, figure, notify, parse, parser, print_figure, print_heading, skew_p99_ms, start
from openslob.engines import registry
from openslob.errors import SlobError
from openslob.host.sampler import peak_rss_bytes
from openslob.record.model import RunRecord
from openslob.units import MIB
from openslob.workload import Workload

SESSIONS = 1000
CACHE_MB = 64
SKEW_BAR = Bar(50, at_least=False)
CPU_BAR = Bar(3, at_least=False)
MEMORY_BAR = Bar(400, at_least=False)
SHAPE: dict[str, object] = {"schemas": 4, "scale": "8M", "mode": "lio", "warmup": 1}
LOADS: dict[str, dict[str, object]] = {
    "at work all the time": {},
    "a rest of 0.1 s after each operation": {"think_tm_frequency": 1, "think_tm_min": 0.1, "think_tm_max": 0.1},
}


def main() -> None:
    """Run the benchmark and print the results."""
    options = parser(__doc__, seconds=10, rounds=1)
    options.add_argument("--sessions", type=int, default=SESSIONS, help="how many (%(default)d)")
    options.add_argument("--engine", default=registry.default_engine(), help="the server's kind (%(default)s)")
    args = parse(options)
    with bench("thousand", args.engine, cache_bytes=CACHE_MB * MIB, max_sessions=args.sessions) as target:
        target.load(Workload.model_validate(SHAPE))
        for load, rest in LOADS.items():
            print_heading(f"{args.engine}, {args.sessions:,} sessions, {load}")
            _measure(target, {**SHAPE, **rest, "sessions": args.sessions, "run_time": args.seconds}, args.rounds)
        # The peak of the whole process, with the load of the data and this script in it: the driver alone needs less.
        print_heading("all of it")
        print_figure("memory of the driver", [peak_rss_bytes() / MIB], "MB", MEMORY_BAR)


def _measure(target: Bench, parameters: dict[str, object], rounds: int) -> None:
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
        print_figure("CPU of the driver", cpu, "% of DB CPU", CPU_BAR)
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
