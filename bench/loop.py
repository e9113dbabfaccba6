"""The work loop on cached data compared with two alternatives, and the cost of its timing.

With 2 sessions on one table, for several sizes of data (memory latency determines how fast blocks can be visited) and,
for root, also with huge pages:
  WORK_UNIT=64   block visits/s against a loop of dynamic SQL in PL/pgSQL (sql/dynamic_loop.sql)
  WORK_UNIT=1    operations/s against one-row selects by `pgbench -M prepared`
  timing         time of the work loop against the time of the same text without clocks and histograms

    .venv/bin/python bench/loop.py [--quick] [--seconds 8] [--rounds 5]
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg

from common import Bar, Bench, Pair, bench, figure, notify, parse, parser, print_heading, print_pairs, start
from openslob.core.units import MIB
from openslob.core.workload import Workload
from openslob.engines.base import Session, SliceRequest
from openslob.engines.postgresql.adapter import PatientPsycopg
from openslob.engines.postgresql.session import PostgresSession
from openslob.kinds.run.plan import session_plans
from peers import dynamic_loop, pgbench
from untimed import UntimedNames, untimed_slice

SESSIONS = 2
BLOCK = 8192
VISITS_BAR = Bar(3.2)
PGBENCH_BAR = Bar(2.5)
TIMING_BAR = Bar(1.05, at_least=False)
# The loops with and without timing alternate at this interval, so that disturbances affect both.
TURN_S = 0.25
FEWEST_TURNS = 20
NEVER_NS = 2**62


def main() -> None:
    """Run the benchmark and print the results."""
    args = parse(parser(__doc__, seconds=8, rounds=5))
    sizes = [64, 256] if args.quick else [64, 1024]
    with bench("loop", cache_bytes=2 * sizes[-1] * MIB) as target:
        target.load(_workload(sizes[-1]))
        for huge_pages in (False, True) if os.geteuid() == 0 else (False,):
            if huge_pages:
                target.restart(huge_pages=True)
            for size in sizes:
                pages = "huge pages" if huge_pages else "4 KB pages"
                print_heading(f"cached, {SESSIONS} sessions, {size} MB of data, {pages}", pairs=True)
                measure(target, size, args.seconds, args.rounds)


def _workload(size_mb: int, work_unit: int = 64, seconds: float = 60) -> Workload:
    shape = {"schemas": 1, "sessions": SESSIONS, "scale": f"{size_mb}M", "work_unit": work_unit}
    return Workload.model_validate({**shape, "run_time": seconds, "warmup": 0.5, "mode": "lio"})


def measure(target: Bench, size_mb: int, seconds: float, rounds: int) -> None:
    """Make and print all comparisons on data of one size."""
    keys = size_mb * MIB // BLOCK
    visits: list[Pair] = []
    ops: list[Pair] = []
    for number in range(rounds):
        notify(f"round {number + 1} of {rounds}")
        ours = target.run(**_workload(size_mb, 64, seconds).to_record())
        visits.append(Pair(figure(ours, "block_visits_per_s"), dynamic_loop(target, keys, 64, SESSIONS, seconds)))
        ours = target.run(**_workload(size_mb, 1, seconds).to_record())
        ops.append(Pair(figure(ours, "ops_per_s"), pgbench(target, keys, SESSIONS, seconds).per_s))
    print_pairs("WORK_UNIT=64, block visits/s, dynamic SQL", visits, VISITS_BAR)
    print_pairs("WORK_UNIT=1, operations/s, pgbench prepared", ops, PGBENCH_BAR)
    turns = timing_cost(target, _workload(size_mb), max(FEWEST_TURNS, int(seconds * rounds / TURN_S / 2)))
    print_pairs("WORK_UNIT=64, ms a turn, without timing", turns, TIMING_BAR)


def timing_cost(target: Bench, workload: Workload, turns: int) -> list[Pair]:
    """Return the milliseconds of equal turns of the loops with and without timing, executed alternately."""
    with _both_loops(target, workload) as (timed, untimed):
        ops = _ops_a_turn(timed)
        pairs = []
        for turn in range(turns):
            # The second loop finds the caches as the first left them, so the order alternates.
            order = (timed, untimed) if turn % 2 else (untimed, timed)
            took = {id(sessions): _turn_ms(sessions, turn * ops, ops) for sessions in order}
            pairs.append(Pair(took[id(timed)], took[id(untimed)]))
    return pairs


@contextmanager
def _both_loops(target: Bench, workload: Workload) -> Iterator[tuple[list[Session], list[Session]]]:
    """Provide prepared sessions of the real loop, and as many of the loop without timing."""
    names = UntimedNames()
    target.engine.install(workload)
    with psycopg.connect(target.url, autocommit=True) as connection:
        connection.execute(untimed_slice(names, 1, workload))
    plans = session_plans(workload, BLOCK, "timing")
    timed: list[Session] = [target.engine.open_session(plan) for plan in plans]
    untimed: list[Session] = [
        PostgresSession(PatientPsycopg.connect(target.url, autocommit=True), names, plan) for plan in plans
    ]
    try:
        for session in (*timed, *untimed):
            session.prepare()
        yield timed, untimed
    finally:
        for session in (*timed, *untimed):
            session.close()


def _ops_a_turn(sessions: Sequence[Session]) -> int:
    """Return the number of operations that fill a turn."""
    until_ns = time.time_ns() + int(TURN_S * 1e9)

    def one(session: Session) -> int:
        return session.run_slice(SliceRequest(0, 0, until_ns, 0)).counts.ops

    with ThreadPoolExecutor(len(sessions)) as pool:
        return min(pool.map(one, sessions))


def _turn_ms(sessions: Sequence[Session], first_op: int, ops: int) -> float:
    """Return the mean time of a slice of ``ops`` operations in all sessions at once, by this process's clock."""

    def one(session: Session) -> float:
        begun = time.perf_counter()
        session.run_slice(SliceRequest(first_op, 0, NEVER_NS, ops))
        return 1000 * (time.perf_counter() - begun)

    with ThreadPoolExecutor(len(sessions)) as pool:
        return sum(pool.map(one, sessions)) / len(sessions)


if __name__ == "__main__":
    start(main)
