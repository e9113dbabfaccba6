"""Cost of `slob watch` at one reading a second, with 300 idle sessions in the server: its own CPU, and the server's.

The server's CPU is that of all its processes, less what they take while nobody watches.

.venv/bin/python bench/watch_cost.py [--quick] [--seconds 20] [--rounds 3] [--engine mariadb]
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from common import Bar, Bench, bench, notify, parse, parser, print_figure, print_heading, start
from openslob.core.units import MIB, NANOS
from openslob.engines import registry
from openslob.host.counters import TICKS_PER_S
from openslob.host.processes import ProcessClockSampler, cpu_ns

BAR = Bar(1, at_least=False)
SESSIONS = 300
# Until the first readings were made, which prepare their statements.
SETTLE_S = 3.0
WATCH = [sys.executable, "-m", "openslob", "watch"]


def main() -> None:
    """Run the benchmark and print the results."""
    options = parser(__doc__, rounds=3, seconds=20)
    options.add_argument("--engine", choices=registry.managed_engines(), default=registry.default_engine())
    args = parse(options)
    with bench("watch", args.engine, cache_bytes=64 * MIB, max_sessions=SESSIONS + 20) as target:
        for sessions in (0, SESSIONS):
            with idle_sessions(target, sessions):
                print_heading(f"slob watch, one reading a second, {sessions} idle sessions, {args.engine}")
                cost(target, args.seconds, args.rounds)


@contextmanager
def idle_sessions(target: Bench, number: int) -> Iterator[None]:
    """Keep so many sessions open that do nothing."""
    engine: Any = target.engine
    with ExitStack() as stack:
        for _ in range(number):
            stack.callback(engine.open("idle").close)
        yield


def cost(target: Bench, seconds: float, rounds: int) -> None:
    """Measure and print what watching costs, in % of one CPU."""
    own, servers = [], []
    processes = ProcessClockSampler(target.server.status().pid)

    def server_s() -> float:
        return processes.read().ticks / TICKS_PER_S

    for number in range(rounds):
        notify(f"round {number + 1} of {rounds}")
        (alone,) = used(seconds, server_s)
        with watching(target) as process:
            time.sleep(SETTLE_S)
            watcher, watched = used(seconds, lambda: cpu_ns(process.pid) / NANOS, server_s)
        own.append(watcher)
        servers.append(watched - alone)
    both = [ours + theirs for ours, theirs in zip(own, servers, strict=True)]
    print_figure("the watching process", own, "% of a CPU")
    print_figure("its sessions in the server", servers, "% of a CPU")
    print_figure("both", both, "% of a CPU", BAR)


@contextmanager
def watching(target: Bench) -> Iterator[subprocess.Popen[bytes]]:
    """Run the command within the block, with its lines going nowhere."""
    process = subprocess.Popen([*WATCH, "--target", target.url], stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def used(seconds: float, *clocks: Callable[[], float]) -> list[float]:
    """Return how far each clock goes in so many seconds, in % of them."""
    began, before = time.monotonic(), [clock() for clock in clocks]
    time.sleep(seconds)
    after, took = [clock() for clock in clocks], time.monotonic() - began
    return [100 * (last - first) / took for first, last in zip(before, after, strict=True)]


if __name__ == "__main__":
    start(main)
