"""Cost of the load driver: CPU with 1, 4 and 16 sessions, start skew with 100, memory and CPU with 300.

.venv/bin/python bench/driver.py [--quick] [--seconds 10] [--rounds 3]
"""

from __future__ import annotations

from common import Bar, Bench, bench, figure, notify, parse, parser, print_figure, print_heading, start
from openslob.core.units import MIB
from openslob.core.workload import Workload
from openslob.host.sampler import peak_rss_bytes

CPU_BAR = Bar(2, at_least=False)
SKEW_BAR = Bar(20, at_least=False)
MEMORY_BAR = Bar(300, at_least=False)
MANY = 300
# Reading the counters of so many processes takes about 20 ms, which must be a small share of the window.
MANY_S = 10.0
CACHE_MB = 64


def main() -> None:
    """Run the benchmark and print the results."""
    args = parse(parser(__doc__, seconds=10, rounds=3))
    data_mb = (8 if args.quick else 16) * CACHE_MB
    with bench("driver", cache_bytes=CACHE_MB * MIB, max_sessions=MANY + 20) as target:
        target.load(_workload(data_mb, sessions=1))
        print_heading("the driver")
        cached = {"mode": "lio", "scale": f"{CACHE_MB // 2}M", "sessions": 16}
        cpu(target, "driver CPU, 16 sessions, cached", {**cached}, args.seconds, args.rounds)
        physical = {"mode": "pio", "scale": f"{data_mb}M"}
        for few in (1, 4):
            what = f"driver CPU, {few} session{'s' if few > 1 else ''}"
            cpu(target, f"{what}, cached", {**cached, "sessions": few}, args.seconds, args.rounds)
            cpu(target, f"{what}, physical", {**physical, "sessions": few}, args.seconds, args.rounds)
        cpu(target, "driver CPU, 16 sessions, physical", {**physical, "sessions": 16}, args.seconds, args.rounds)
        skew(target, {**physical, "sessions": 100}, min(args.seconds, 3.0), args.rounds + 2)
        long_enough = max(args.seconds, MANY_S)
        cpu(target, f"driver CPU, {MANY} sessions, physical", {**physical, "sessions": MANY}, long_enough, 1)
        # This is the peak of the whole process, including the load of the data: the driver alone needs less.
        print_figure(f"driver memory, {MANY} sessions", [peak_rss_bytes() / MIB], "MB", MEMORY_BAR)


def _workload(data_mb: int, **parameters: object) -> Workload:
    return Workload.model_validate({"schemas": 1, "scale": f"{data_mb}M", **parameters})


def cpu(target: Bench, what: str, parameters: dict[str, object], seconds: float, rounds: int) -> None:
    """Measure the driver's CPU in % of the server's, and print it."""
    values = []
    for number in range(rounds):
        notify(f"{what}: round {number + 1} of {rounds}")
        record = target.run(schemas=1, run_time=seconds, warmup=1, **parameters)
        values.append(figure(record, "driver_cpu_pct_of_db"))
    print_figure(what, values, "% of DB CPU", CPU_BAR)


def skew(target: Bench, parameters: dict[str, object], seconds: float, rounds: int) -> None:
    """Measure the time between the first operations of the first and of the last session, and print it."""
    notify(f"start skew: {rounds} rounds")
    runs = [target.run(schemas=1, run_time=seconds, warmup=0.5, **parameters) for _ in range(rounds)]
    print_figure("start skew, 100 sessions", [figure(run, "start_skew_ms") for run in runs], "ms", SKEW_BAR)


if __name__ == "__main__":
    start(main)
