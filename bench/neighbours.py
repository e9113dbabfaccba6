"""Whether neighbours get the blame only if the server waited for what they took, in runs on a real server.

Others use the CPU, niced and not, beside fewer and more sessions than there are CPUs; they read from the disk; and a
CPU quota is set that `slob` can't read. The causes that are named are counted: right, false or unknown; a neighbour
that slows nothing down is no cause. Root, fio and version 1 of control groups are needed.

.venv/bin/python bench/neighbours.py [--quick] [--rounds 3]
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from common import Bench, bench, notify, parse, parser, print_figure, print_heading, scratch_folder, start
from openslob.analyze.causes import Cause, episodes
from openslob.analyze.level import search
from openslob.analyze.run_folder import read_trace
from openslob.core.units import MIB, NANOS
from openslob.core.workload import Workload
from openslob.record import store
from openslob.record.raw_csv import Event, window_facts

SHAPE = {"schemas": 2, "scale": "128M", "update_pct": 10, "warmup": 2}
CPU_GROUPS = Path("/sys/fs/cgroup/cpu")
LEAD_S, LONG_S, APART_S = 10.0, 6.0, 12.0
SLOWED = 0.8
HOGS = 4
# Without the mounts of control groups nobody below can read a quota.
HIDING = ("unshare", "--mount", "sh", "-c", 'umount -lR /sys/fs/cgroup && exec "$@"', "sh")


@dataclass(frozen=True)
class Place:
    """Where a neighbour lives: the group of the server, and a file on its disk."""

    group: Path
    file: Path


@dataclass(frozen=True)
class Neighbour:
    """What is done for some seconds, and the causes that may then be stated."""

    name: str
    sessions: int
    disturb: Callable[[Place], None]
    right: frozenset[str]


def main() -> None:
    """Run the benchmark and print the results."""
    args = parse(parser(__doc__, rounds=3))
    counted = dict.fromkeys(("right", "false", "unknown"), 0)
    with bench("neighbours", cache_bytes=32 * MIB) as target, scratch_folder() as folder:
        place = Place(CPU_GROUPS / f"slob-bench-{os.getpid()}", folder / "neighbour")
        subprocess.run(["fio", *_fio(place.file, 1), "--create_only=1"], check=True, stdout=subprocess.DEVNULL)
        target.load(Workload.model_validate({**SHAPE, "sessions": 2}))
        print_heading(f"{args.rounds} rounds")
        with _group(target, place.group):
            for sessions in sorted({each.sessions for each in NEIGHBOURS}):
                those = [each for each in NEIGHBOURS if each.sessions == sessions] * args.rounds
                for outcome in _run(target, place, sessions, those):
                    counted[outcome] += 1
    for outcome, count in counted.items():
        print_figure(f"stretches whose cause is {outcome}", [count], "stretches")


def _run(target: Bench, place: Place, sessions: int, those: Sequence[Neighbour]) -> Iterator[str]:
    seconds = LEAD_S + len(those) * (LONG_S + APART_S)
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in SHAPE.items()]
    command = [
        *HIDING,
        sys.executable,
        "-m",
        "openslob",
        "run",
        f"--target={target.url}",
        f"--results={target.results}",
    ]
    before = set(target.results.glob("*-run"))
    with subprocess.Popen(
        [*command, *flags, f"--sessions={sessions}", f"--run-time={seconds}"], stdout=subprocess.DEVNULL
    ) as driver:
        begin_s = _wait_for_window(target.results, before)
        times = []
        for number, each in enumerate(those):
            time.sleep(max(0.0, begin_s + LEAD_S + number * (LONG_S + APART_S) - time.time()))
            from_s = time.time() - begin_s
            each.disturb(place)
            times.append((from_s, time.time() - begin_s))
        driver.wait()
    folder = max(target.results.glob("*-run"), key=lambda path: path.stat().st_mtime)
    record = store.load(folder)
    trace = read_trace(folder, record)
    found = episodes(trace, search(trace).proven)
    limit = next(each for each in record.verdicts if each.name == "limit_found")
    notify(f"{sessions} sessions, limit found: {limit.why}")
    ops, queue = trace.get("ops"), trace.get("server.runqueue")
    for each, (from_s, to_s) in zip(those, times, strict=True):
        at = slice(int(from_s) + 1, int(to_s))
        beside = np.r_[ops[max(0, at.start - 8) : at.start - 2], ops[at.stop + 3 : at.stop + 8]]
        share = float(np.nanmean(ops[at]) / np.nanmedian(beside))
        met = [one for one in found if one.begin_s < to_s + 1.5 and one.end_s > from_s - 0.5]
        worst = max(met, key=lambda one: one.lost_ops, default=None)
        named = frozenset() if worst is None else frozenset(worst.cause.removeprefix("either ").split(" or "))
        outcome = "right" if named & each.right else "unknown" if named <= {Cause.UNKNOWN} else "false"
        says = f"{worst.cause}: {worst.evidence}" if worst else "no stretch"
        waiting = f"{np.nanmean(queue[at]):.2g} threads waited for a CPU"
        notify(f"{each.name}, {sessions} sessions: {share:.0%} of the usual ops/s, {waiting}: {outcome}; {says}")
        if worst is not None:
            yield outcome


def _wait_for_window(results: Path, before: set[Path]) -> float:
    """Return when the window of the new run begins, by this host's clock."""
    while True:
        for folder in set(results.glob("*-run")) - before:
            facts = window_facts(folder)
            if Event.BEGIN_NS in facts and Event.CLOCK_OFFSET_NS in facts:
                return (facts[Event.BEGIN_NS] - facts[Event.CLOCK_OFFSET_NS]) / NANOS
        time.sleep(0.1)


def _burn(nice: int) -> None:
    os.nice(nice)
    while True:
        pass


def _hog(nice: int) -> Callable[[Place], None]:
    def disturb(_place: Place) -> None:
        hogs = [multiprocessing.get_context("fork").Process(target=_burn, args=(nice,)) for _ in range(HOGS)]
        for each in hogs:
            each.start()
        time.sleep(LONG_S)
        for each in hogs:
            each.kill()
            each.join()

    return disturb


def _fio(file: Path, jobs: int) -> list[str]:
    return [
        *("--name=neighbour", f"--filename={file}", "--size=512M", "--rw=randread", "--bs=64k", "--direct=1"),
        *("--time_based", f"--runtime={LONG_S:g}", f"--numjobs={jobs}", "--ioengine=psync"),
    ]


def _read_disk(place: Place) -> None:
    subprocess.run(["fio", *_fio(place.file, 16)], check=True, stdout=subprocess.DEVNULL)


def _quota(place: Place) -> None:
    (place.group / "cpu.cfs_quota_us").write_text("10000")
    time.sleep(LONG_S)
    (place.group / "cpu.cfs_quota_us").write_text("-1")


@contextmanager
def _group(target: Bench, group: Path) -> Iterator[None]:
    """Put the server into a control group of its own."""
    main_process = psutil.Process(target.server.status().pid)
    group.mkdir()
    try:
        for process in (main_process, *main_process.children(recursive=True)):
            (group / "cgroup.procs").write_text(str(process.pid))
        yield
    finally:
        for pid in (group / "cgroup.procs").read_text().split():
            (group.parent / "cgroup.procs").write_text(pid)
        group.rmdir()


_CPU, _NOBODY = frozenset({Cause.OTHERS_CPU.value}), frozenset[str]()
_DISK = frozenset({Cause.OTHERS_IO.value})
NEIGHBOURS = (
    Neighbour("hog", 1, _hog(0), _CPU),
    Neighbour("niced hog", 1, _hog(19), _NOBODY),
    Neighbour("hog", 8, _hog(0), _CPU),
    Neighbour("niced hog", 8, _hog(19), _NOBODY),
    Neighbour("hidden quota", 8, _quota, frozenset({Cause.QUOTA.value})),
    Neighbour("reader of the disk", 8, _read_disk, _DISK | _CPU),
)


if __name__ == "__main__":
    start(main)
