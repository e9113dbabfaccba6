"""Whether stops of some seconds get the right cause: they are injected into real runs, and looked for by name.

The data are on a loop device, so that its file's disk can be held back: a device that stops, of which the server's host
shows no limit. An injection counts if it slowed the load down: the operations of its seconds are less than 80 % of the
seconds beside it. Root and version 1 of control groups are needed. What lasts, `blind.py` injects.

.venv/bin/python bench/causes.py [--quick] [--rounds 50]
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import psycopg

from blinded.host import loop_device
from common import Bar, Bench, bench, notify, parse, parser, print_figure, print_heading, start
from limits import group, move, require_groups
from openslob.analyze.causes import Cause, Episode, episodes
from openslob.analyze.level import search
from openslob.analyze.run_folder import tables_of
from openslob.analyze.trace import Trace, trace_of
from openslob.core.errors import SlobError
from openslob.core.units import MIB, NANOS
from openslob.core.workload import Workload
from openslob.record import store
from openslob.record.raw_csv import event_rows

SHAPE = {"schemas": 2, "scale": "128M", "sessions": 4, "update_pct": 20, "warmup": 2}
# Between injections; they last at most LONGEST_S.
APART_S, LONGEST_S, LEAD_S = 9.0, 4.0, 8.0
A_RUN = 10
SLOWED = 0.8


@dataclass(frozen=True)
class Host:
    """The server with its control group, the disk below its device, and the driver of the run."""

    target: Bench
    group: Path
    below: str
    driver: int

    def processes(self) -> list[int]:
        """Return all processes of the server."""
        main_process = psutil.Process(self.target.server.status().pid)
        return [main_process.pid, *(child.pid for child in main_process.children(recursive=True))]


@dataclass(frozen=True)
class Injected:
    """A fault and when it was there, in seconds after the load began."""

    cause: Cause
    begin_s: float
    end_s: float


def main() -> None:
    """Run the benchmark and print the results."""
    args = parse(parser(__doc__, rounds=50))
    require_groups("blkio")
    kinds = [list(FAULTS)[number % len(FAULTS)] for number in range(len(FAULTS) if args.quick else args.rounds)]
    random.Random(1).shuffle(kinds)
    slowed: list[bool] = []
    with ExitStack() as opened:
        folder, _, below = opened.enter_context(loop_device())
        target = opened.enter_context(bench("causes", cache_bytes=64 * MIB, data_dir=folder / "data"))
        target.load(Workload.model_validate(SHAPE))
        # The load restarts the server.
        held = opened.enter_context(group("blkio"))
        move(target, held)
        print_heading(f"{len(kinds)} injected faults")
        for first in range(0, len(kinds), A_RUN):
            slowed += _run(target, held, below, kinds[first : first + A_RUN])
    print_figure("faults that slowed the load down", [len(slowed)], "faults")
    print_figure("named right, of these", [100 * sum(slowed) / max(len(slowed), 1)], "%", Bar(90))


def _run(target: Bench, held: Path, below: str, kinds: Sequence[Cause]) -> list[bool]:
    """Run the load with these faults one after the other; return of each that slowed it whether it was named right."""
    seconds = LEAD_S + len(kinds) * (APART_S + LONGEST_S)
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in SHAPE.items()]
    command = [sys.executable, "-m", "openslob", "run", f"--target={target.url}", f"--results={target.results}"]
    with subprocess.Popen([*command, *flags, f"--run-time={seconds}"], stdout=subprocess.DEVNULL) as driver:
        host = Host(target, held, below, driver.pid)
        begin_s = _window_begins(target.results)
        injected = []
        for number, kind in enumerate(kinds):
            time.sleep(max(0.0, begin_s + LEAD_S + number * (APART_S + LONGEST_S) - time.time()))
            from_s = time.time() - begin_s
            FAULTS[kind](host)
            injected.append(Injected(kind, from_s, time.time() - begin_s))
        driver.wait()
    folder = max(target.results.glob("*-run"), key=lambda path: path.stat().st_mtime)
    record = store.load(folder)
    trace = trace_of(tables_of(folder, record), record.window.load_seconds, event_rows(folder))
    found = episodes(trace, search(trace))
    outcomes = [_named(trace, found, each) for each in injected]
    others = [each for each in found if not any(_meet(each, fault) for fault in injected)]
    for each in others:
        notify(f"  no fault of ours: {each.begin_s:.0f} to {each.end_s:.0f} s, {each.cause}: {each.evidence}")
    return [outcome for outcome in outcomes if outcome is not None]


def _named(trace: Trace, found: Sequence[Episode], fault: Injected) -> bool | None:
    """Return whether a fault was named right; None if it did not slow the load down, whatever it was named."""
    ops, at = trace.get("ops"), slice(int(fault.begin_s), int(fault.end_s) + 1)
    beside = np.r_[ops[max(0, at.start - 6) : at.start], ops[at.stop + 1 : at.stop + 6]]
    share = float(np.nanmean(ops[at]) / np.nanmedian(beside))
    met = sorted((each for each in found if _meet(each, fault)), key=lambda each: -each.lost_ops)
    says = f"{met[0].cause}: {met[0].evidence}{f' (also {met[0].also})' if met[0].also else ''}" if met else "nothing"
    right = bool(met) and met[0].cause is fault.cause
    outcome = "did not slow it" if share >= SLOWED else "right" if right else "WRONG"
    notify(f"{fault.cause} at {fault.begin_s:.0f} s, {share:.0%} of the usual ops/s: {outcome}; {says}")
    return right if share < SLOWED else None


def _meet(episode: Episode, fault: Injected) -> bool:
    return episode.begin_s < fault.end_s + 1.5 and episode.end_s > fault.begin_s - 0.5


def _window_begins(results: Path) -> float:
    """Wait for the window of the newest run, and return when it begins, by this host's clock."""
    begun = time.time()
    while time.time() < begun + 120:
        folder = max(results.glob("*-run"), key=lambda path: path.stat().st_mtime, default=None)
        # A folder of an earlier run has ended.
        if folder and (folder / "running").exists():
            texts = {row.kind: row.text for row in event_rows(folder)}
            if "begin_ns" in texts and "clock_offset_ns" in texts:
                return (int(texts["begin_ns"]) - int(texts["clock_offset_ns"])) / NANOS
        time.sleep(0.05)
    raise SlobError("the run did not begin")


def _stall(host: Host) -> None:
    for requests in (1, 0):
        for way in ("read", "write"):
            (host.group / f"blkio.throttle.{way}_iops_device").write_text(f"{host.below} {requests}")
        time.sleep(2.5 * requests)


def _stop_server(host: Host) -> None:
    with _stopped(host.processes()):
        time.sleep(2.5)


def _stop_driver(host: Host) -> None:
    with _stopped([host.driver]):
        time.sleep(3.5)


@contextmanager
def _stopped(pids: Sequence[int]) -> Iterator[None]:
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in pids:
            if psutil.pid_exists(pid):
                os.kill(pid, signal.SIGCONT)


def _lock(host: Host) -> None:
    with psycopg.connect(host.target.url) as connection:
        tables = connection.execute(
            "SELECT oid::regclass::text FROM pg_class WHERE relname ~ '^cf[0-9]+_[0-9]+$'"
        ).fetchall()
        connection.execute(f"LOCK TABLE {', '.join(name for (name,) in tables)}")
        time.sleep(2.5)


def _checkpoint(host: Host) -> None:
    with psycopg.connect(host.target.url, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
    time.sleep(2)


FAULTS: dict[Cause, Callable[[Host], None]] = {
    Cause.STOPPED: _stop_server,
    Cause.STALL: _stall,
    Cause.LOCK: _lock,
    Cause.CHECKPOINT: _checkpoint,
    Cause.DRIVER: _stop_driver,
}


if __name__ == "__main__":
    start(main)
