"""Cost of python-oracledb as the load driver's library: CPU of a slice's call and memory with 1, 100 and 300 sessions.

The server is a stand-in in a process of its own, which sleeps for a slice's time and returns histograms of usual size:
no Oracle Database is needed, and nothing is said of one.

    .venv/bin/python bench/oracle_driver.py [--quick] [--seconds 10] [--rounds 3]
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil

from common import Bar, notify, parse, parser, print_figure, print_heading, start

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from factories.oracle.wire import Executor, OracleError, Rows, Server
from openslob.core.units import MIB
from openslob.core.workload import Workload
from openslob.engines.base import SliceRequest
from openslob.engines.oracle.connection import open_connection
from openslob.engines.oracle.session import OracleSession
from openslob.engines.oracle.slice_procedure import KEPT, RESULTS, TEXTS
from openslob.engines.oracle.target import parse as parse_url
from openslob.kinds.run.plan import session_plans

SERVE = "--serve"
SLICE_S = 1.0
CPU_BAR = Bar(1000, at_least=False)
MEMORY_BAR = Bar(300, at_least=False)
# Counts of 120 buckets, as a slice of a second has them.
_HISTOGRAM = "250000 4000 " + " ".join(f"{300 + at} {7 + at % 50}" for at in range(120))


class Slices(Executor):
    """A work loop that does nothing until its slice is over."""

    def execute(self, text: str, binds: dict[str, Any]) -> Rows | Mapping[str, Any] | int:
        """Answer a slice; any other statement succeeds."""
        if not text.lstrip().upper().startswith("BEGIN SLOB_SLICE"):
            return 0
        began = time.time_ns()
        time.sleep(max(0.0, int(binds["until_us"]) / 1e6 - began / 1e9))
        values: dict[str, Any] = dict.fromkeys(RESULTS, 1000) | dict.fromkeys(TEXTS) | dict.fromkeys(KEPT, 1)
        values |= {"began_us": began // 1000, "ended_us": time.time_ns() // 1000, "select_hist": _HISTOGRAM}
        return {**values, "_in_out": KEPT}

    def cancel(self) -> None:
        """Nothing cancels a benchmark."""
        raise OracleError(1013, "user requested cancel of current operation")


def main() -> None:
    """Run the benchmark and print the results."""
    if SERVE in sys.argv:
        serve()
        return
    args = parse(parser(__doc__, seconds=10, rounds=3))
    with served() as url:
        print_heading("python-oracledb, slices of 1 s")
        for sessions in (1, 100, 300):
            measure(url, sessions, args.seconds, args.rounds)


def serve() -> None:
    """Be the server, until the standard input ends."""
    with Server(lambda _: Slices()) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        sys.stdin.read()


@contextmanager
def served() -> Iterator[str]:
    """Start the server in a process of its own; yield the target."""
    command = [sys.executable, __file__, SERVE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        yield process.stdout.readline().strip().replace("slob@", "slob:slob@")
        process.stdin.close()


def measure(url: str, count: int, seconds: float, rounds: int) -> None:
    """Measure and print what so many sessions cost this process."""
    shape = {"schemas": 1, "sessions": count, "scale": "8M", "warmup": 0}
    plans = session_plans(Workload.model_validate(shape), 8192, "bench")
    before = psutil.Process().memory_info().rss
    with ExitStack() as stack:
        sessions = [OracleSession(open_connection(parse_url(url), "run/bench"), plan) for plan in plans]
        for session in sessions:
            stack.callback(session.close)
        cpu_us = []
        for number in range(rounds):
            notify(f"{count} sessions: round {number + 1} of {rounds}")
            cpu_us.append(_cpu_of_a_slice_us(sessions, max(1, round(seconds / SLICE_S))))
        grown = psutil.Process().memory_info().rss - before
        print_figure(f"CPU of a slice's call, {count} sessions", cpu_us, "µs", CPU_BAR)
        print_figure(f"memory, {count} sessions", [grown / MIB], "MB", MEMORY_BAR)


def _cpu_of_a_slice_us(sessions: list[OracleSession], slices: int) -> float:
    def work(session: OracleSession) -> None:
        for number in range(slices):
            until_ns = begin_ns + round((number + 1) * SLICE_S * 1e9)
            session.run_slice(SliceRequest(number * 1000, 0, until_ns, 0))

    begin_ns, cpu_s = time.time_ns(), time.process_time()
    threads = [threading.Thread(target=work, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (time.process_time() - cpu_s) / (slices * len(sessions)) * 1e6


if __name__ == "__main__":
    start(main)
