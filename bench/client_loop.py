"""The client loop compared with `pgbench -M prepared`, one row an operation, cached, by one driver and by two.

pgbench has one thread in both. All run on the server's host, so that what a client uses is missing to the server.

    .venv/bin/python bench/client_loop.py [--quick] [--seconds 8] [--rounds 5]
"""

from __future__ import annotations

from common import Bar, Bench, Pair, bench, figure, notify, parse, parser, print_heading, print_pairs, start
from openslob.core.units import MIB
from openslob.core.workload import Workload
from openslob.fleet import hire_crews
from peers import pgbench

BLOCK = 8192
SIZE_MB = 64
SESSIONS = (1, 4, 8)
# A driver has one session at least.
SHAPES = ((None, SESSIONS, Bar(0.25)), ("local:2", SESSIONS[1:], Bar(0.8)))
LOAD = {"schemas": 1, "scale": f"{SIZE_MB}M", "work_unit": 1, "mode": "lio", "warmup": 0.5}


def main() -> None:
    """Run the benchmark and print the results."""
    args = parse(parser(__doc__, seconds=8, rounds=5))
    with bench("client-loop", cache_bytes=2 * SIZE_MB * MIB) as target:
        target.load(Workload.model_validate(LOAD))
        for drivers, counts, bar in SHAPES:
            print_heading(f"client loop, cached, WORK_UNIT=1, drivers: {drivers or 'one'}", pairs=True)
            for sessions in counts:
                measure(target, drivers, sessions, args.seconds, args.rounds, bar)


def measure(target: Bench, drivers: str | None, sessions: int, seconds: float, rounds: int, bar: Bar) -> None:
    """Measure both in turn, and print the ratio; the loop of the server stands beside."""
    pairs, by_server = [], []
    with hire_crews(drivers, None, None, None, notify) as hire:
        for number in range(rounds):
            notify(f"{sessions} sessions: round {number + 1} of {rounds}")
            load = {**LOAD, "sessions": sessions, "run_time": seconds}
            theirs = pgbench(target, SIZE_MB * MIB // BLOCK, sessions, seconds).per_s
            pairs.append(Pair(figure(target.run(hire, **load, loop="client"), "ops_per_s"), theirs))
            by_server.append(Pair(pairs[-1].ours, figure(target.run(**load), "ops_per_s")))
    print_pairs(f"operations/s, pgbench prepared, {sessions} sessions", pairs, bar if sessions > 1 else None)
    print_pairs("operations/s, the server's loop", by_server)


if __name__ == "__main__":
    start(main)
