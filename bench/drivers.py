"""Many drivers on one server: 4 with 64 sessions each, 8 with 125, their clocks up to a minute apart.

The drivers are Dask workers of a scheduler on this host. libfaketime sets the clock of each; without it they have this
host's. Then a driver is killed in the middle of a run: the others must have lost nothing.

.venv/bin/python bench/drivers.py [--quick] [--seconds 30] [--rounds 3]
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from common import Bar, Bench, bench, notify, parse, parser, print_figure, print_heading, skew_p99_ms, start
from openslob.core.errors import SlobError
from openslob.core.units import MIB
from openslob.core.workload import Workload
from openslob.fleet.dask import CALM, Tls, connect_client, workers
from openslob.fleet.hiring import Fleet, hire_drivers
from openslob.host.sampler import peak_rss_bytes
from openslob.record import store
from openslob.record.model import RunRecord
from openslob.record.raw_csv import raw_table

FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")
# Drivers, sessions of each, and the bar of the start skew in ms.
SHAPES = ((4, 64, 20.0), (8, 125, 50.0))
APART_S = 60.0
CACHE_MB = 64
START_S = 90.0
POLL_S = 0.2
# All data in the cache, so that nothing but CPUs keeps a session from its first operation. Sessions rest after each:
# hundreds that never do keep every process of the host waiting for a CPU, this one as well. The start skew is what all
# first operations take; here they are of one block. thousand.py compares that with other operations.
REST = {"think_tm_frequency": 1, "think_tm_min": 0.1, "think_tm_max": 0.1, "work_unit": 1}
AT_WORK = {"think_tm_frequency": 0, "work_unit": 64}
SHAPE: dict[str, Any] = {"schemas": 4, "scale": "8M", "warmup": 1, **REST}
NONE = Bar(0, at_least=False)


def main() -> None:
    """Run the benchmark and print the results."""
    args = parse(parser(__doc__, seconds=30, rounds=3))
    most = max(drivers * sessions for drivers, sessions, _ in SHAPES)
    with bench("drivers", cache_bytes=CACHE_MB * MIB, max_sessions=most + 20) as target:
        target.load(Workload.model_validate(SHAPE))
        for drivers, sessions, skew_ms in SHAPES:
            with _workers(drivers) as address, hire_drivers(address, Tls()) as fleet:
                print_heading(f"{drivers} drivers × {sessions} sessions, clocks up to {APART_S:.0f} s apart")
                _measure(target, fleet, drivers * sessions, args.seconds, args.rounds, skew_ms)
                _kill_one(target, fleet, drivers * sessions)


def _measure(target: Bench, fleet: Fleet, sessions: int, seconds: float, rounds: int, skew_ms: float) -> None:
    records = []
    for number in range(rounds):
        notify(f"{sessions} sessions: round {number + 1} of {rounds}")
        records.append(_run(target, fleet, sessions, seconds))
    clocks = [each["clock_offset_s"] for record in records for each in record.environment["drivers"]]
    print_figure("clock of a driver: the server's minus its own", clocks, "s")
    print_figure("operations and buckets not in the sum", [_missing(target, record) for record in records], "", NONE)
    skews = [skew_p99_ms(target.results / record.id) for record in records]
    print_figure("start skew, p99 of the sessions", skews, "ms", Bar(skew_ms, at_least=False))
    # What drivers need for sessions that work all the time, as a share of what the server needs for them.
    records = [_run(target, fleet, sessions, seconds, **AT_WORK) for _ in range(rounds)]
    cpu = [each for record in records if (each := record.summary["driver_cpu_pct_of_db"].value) is not None]
    if cpu:
        print_figure("CPU of all drivers together", cpu, "% of DB CPU", Bar(3, at_least=False))
    peaks = [each["peak_rss_bytes"] / MIB for record in records for each in record.environment["drivers"]]
    print_figure("memory of a driver", peaks, "MB", Bar(400, at_least=False))
    print_figure("memory of the leading process, this script in it", [peak_rss_bytes() / MIB], "MB")


def _run(target: Bench, fleet: Fleet, sessions: int, seconds: float, **changed: object) -> RunRecord:
    # Rates are not asked for: counters that were read late do not matter.
    shape = {**SHAPE, "sessions": sessions, "run_time": seconds, **changed}
    return target.run_once(Workload.model_validate(shape), fleet.hire)


def _missing(target: Bench, record: RunRecord) -> int:
    """Return by how many operations the record and the drivers' own files differ, bucket for bucket."""
    folder = target.results / record.id
    own = Counter[Any]()
    for place in sorted((folder / "drivers").iterdir()):
        own.update(_buckets(place))
    merged = _buckets(folder)
    return sum((own - merged).values()) + sum((merged - own).values())


def _buckets(folder: Path) -> Counter[Any]:
    found = Counter[Any]()
    for second, kind, edge, count in raw_table(folder, "latency.csv")[1]:
        found[second, kind, edge] += count
    columns, rows = raw_table(folder, "slices.csv")
    for row in rows:
        found["session", row[columns.index("session")]] += row[columns.index("ops")]
    return found


def _kill_one(target: Bench, fleet: Fleet, sessions: int) -> None:
    """Kill the last driver in the middle of a run; print what the others lost."""
    notify(f"{sessions} sessions: a driver is killed")
    victim, others = fleet.drivers[-1], len(fleet.drivers) - 1
    before = {path.name for path in target.results.iterdir()}
    killer = threading.Thread(target=_kill, args=(target.results, before, victim.who.pid), daemon=True)
    killer.start()
    said = ""
    try:
        target.run_once(Workload.model_validate({**SHAPE, "sessions": sessions, "run_time": 600}), fleet.hire)
    except SlobError as error:
        said = error.what
        notify(said)
    record = store.load(_new(target.results, before))
    kept = [each for each in record.environment["drivers"] if each["number"] != victim.number]
    same = sum(not each["lost"] and each["ops"] == each["ops_written"] > 0 for each in kept)
    print_figure("drivers of which all is kept", [same], f"of {others} others", Bar(others))
    print_figure("the killed one is named", [victim.name in said], "", Bar(1))


def _kill(results: Path, before: set[str], pid: int) -> None:
    """Kill a process once a new run has some slices."""
    while True:
        time.sleep(POLL_S)
        with suppress(OSError, StopIteration):
            if (_new(results, before) / "slices.csv").stat().st_size > MIB / 64:
                os.kill(pid, signal.SIGKILL)
                return


def _new(results: Path, before: set[str]) -> Path:
    return next(path for path in results.iterdir() if path.name not in before)


@contextmanager
def _workers(count: int) -> Iterator[str]:
    """Run a scheduler and so many workers on this host, each with a clock of its own; yield the scheduler's address."""
    if not FAKETIME.exists():
        notify(f"{FAKETIME} is not installed: all drivers have this host's clock")
    with tempfile.TemporaryDirectory(prefix="slob-bench-") as scratch, ExitStack() as stack:
        address, there = f"tcp://127.0.0.1:{_free_port()}", Path(scratch, "scheduler.json")
        scheduler = ["scheduler", "--host", address, "--no-dashboard", "--scheduler-file", str(there)]
        stack.enter_context(_process(scheduler, scratch, 0.0))
        for number in range(count):
            ahead_s = APART_S * (2 * number / (count - 1) - 1)
            worker = ["worker", address, "--name", str(number + 1), "--nthreads", "1", "--no-nanny", "--no-dashboard"]
            worker += ["--local-directory", scratch, "--memory-limit", "0"]
            stack.enter_context(_process(worker, scratch, ahead_s))
        deadline = time.monotonic() + START_S
        while _connected(address) < count:
            if time.monotonic() > deadline:
                raise SlobError("the workers did not start in time", "is the host too busy?")
            time.sleep(POLL_S)
        yield address


def _connected(address: str) -> int:
    try:
        with connect_client(address, Tls().security()) as client:
            return len(workers(client))
    except SlobError:
        return 0


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def _process(words: list[str], scratch: str, ahead_s: float) -> Iterator[None]:
    """Run a command of Dask in this block, with a clock that is so many seconds ahead."""
    calm = {f"DASK_{name.upper().replace('.', '__').replace('-', '_')}": str(value) for name, value in CALM.items()}
    faked = {"LD_PRELOAD": str(FAKETIME), "FAKETIME": f"{ahead_s:+.3f}s", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    command = [sys.executable, "-m", f"distributed.cli.dask_{words[0]}", *words[1:]]
    environment = {**os.environ, **calm, **(faked if ahead_s and FAKETIME.exists() else {})}
    log = Path(scratch, f"{words[0]}{ahead_s:+.0f}.log")
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


if __name__ == "__main__":
    start(main)
