"""Whether slow stretches get the right cause: faults are injected into runs on a real server, and looked for by name.

The data are on a loop device, so that a device that stops (its file's disk is held back, which the server's host does
not show) and a limit on the device (which it does) are two things. An injection counts if it slowed the load down: the
operations of its seconds are less than 80 % of the seconds beside it. Root and version 1 of control groups are needed.

.venv/bin/python bench/causes.py [--quick] [--rounds 50]
"""

from __future__ import annotations

import multiprocessing
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

from common import Bar, Bench, bench, notify, parse, parser, print_figure, print_heading, start
from openslob.analyze.causes import Cause, Episode, episodes
from openslob.analyze.level import search
from openslob.analyze.run_folder import read_trace
from openslob.analyze.trace import Trace
from openslob.core.errors import SlobError
from openslob.core.units import MIB, NANOS
from openslob.core.workload import Workload
from openslob.record import store
from openslob.record.raw_csv import event_rows

GROUPS = Path("/sys/fs/cgroup")
SHAPE = {"schemas": 2, "scale": "128M", "sessions": 4, "update_pct": 20, "warmup": 2}
DISK_BYTES = 6 << 30
# Between injections; they last at most LONGEST_S.
APART_S, LONGEST_S, LEAD_S = 9.0, 4.0, 8.0
A_RUN = 10
SLOWED = 0.8
HOGS = 4


@dataclass(frozen=True)
class Host:
    """The server with its control group, its device and the device below that, and the driver of the run."""

    target: Bench
    group: str
    device: str
    below: str
    driver: int

    def write(self, controller: str, file: str, text: str) -> None:
        """Write a limit of the group."""
        (GROUPS / controller / self.group / file).write_text(text)

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
    kinds = [list(FAULTS)[number % len(FAULTS)] for number in range(len(FAULTS) if args.quick else args.rounds)]
    random.Random(1).shuffle(kinds)
    slowed: list[bool] = []
    with ExitStack() as opened:
        folder, device, below = opened.enter_context(_loop_device())
        target = opened.enter_context(bench("causes", cache_bytes=64 * MIB, data_dir=folder / "data"))
        target.load(Workload.model_validate(SHAPE))
        # The load restarts the server.
        group = opened.enter_context(_group(target))
        print_heading(f"{len(kinds)} injected faults")
        for first in range(0, len(kinds), A_RUN):
            slowed += _run(target, group, (device, below), kinds[first : first + A_RUN])
    print_figure("faults that slowed the load down", [len(slowed)], "faults")
    print_figure("named right, of these", [100 * sum(slowed) / max(len(slowed), 1)], "%", Bar(90))


def _run(target: Bench, group: str, devices: tuple[str, str], kinds: Sequence[Cause]) -> list[bool]:
    """Run the load with these faults one after the other; return of each that slowed it whether it was named right."""
    seconds = LEAD_S + len(kinds) * (APART_S + LONGEST_S)
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in SHAPE.items()]
    command = [sys.executable, "-m", "openslob", "run", f"--target={target.url}", f"--results={target.results}"]
    with subprocess.Popen([*command, *flags, f"--run-time={seconds}"], stdout=subprocess.DEVNULL) as driver:
        host = Host(target, group, *devices, driver.pid)
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
    trace = read_trace(folder, record)
    found = episodes(trace, search(trace).cap)
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


def _limited(*limits: tuple[str, str, str, str], seconds: float = LONGEST_S) -> Callable[[Host], None]:
    """Return a fault that sets limits of the group for a while: controller, file, the limit and none."""

    def inject(host: Host) -> None:
        for controller, file, limit, _ in limits:
            host.write(controller, file, limit.format(device=host.device, below=host.below))
        time.sleep(seconds)
        for controller, file, _, none in limits:
            host.write(controller, file, none.format(device=host.device, below=host.below))

    return inject


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


def _burn() -> None:
    os.nice(-5)
    while True:
        pass


def _hog(_host: Host) -> None:
    hogs = [multiprocessing.get_context("fork").Process(target=_burn, daemon=True) for _ in range(HOGS)]
    for each in hogs:
        each.start()
    time.sleep(LONGEST_S)
    for each in hogs:
        each.kill()
        each.join()


_IOPS = [f"blkio.throttle.{way}_iops_device" for way in ("read", "write")]
FAULTS: dict[Cause, Callable[[Host], None]] = {
    Cause.STOPPED: _stop_server,
    Cause.STALL: _limited(*(("blkio", file, "{below} 1", "{below} 0") for file in _IOPS), seconds=2.5),
    Cause.IO_CAP: _limited(("blkio", _IOPS[0], "{device} 300", "{device} 0")),
    Cause.LOCK: _lock,
    Cause.QUOTA: _limited(("cpu", "cpu.cfs_quota_us", "5000", "-1")),
    Cause.OTHERS_CPU: _hog,
    Cause.CHECKPOINT: _checkpoint,
    Cause.DRIVER: _stop_driver,
}


@contextmanager
def _loop_device() -> Iterator[tuple[Path, str, str]]:
    """Mount a file system on a loop device; yield its folder, the device's number and that of the disk below it."""
    top = Path("/var/tmp") / f"slob-bench-{os.getpid()}"
    image, folder = top / "image", top / "mnt"
    folder.mkdir(parents=True)
    os.truncate(os.open(image, os.O_CREAT | os.O_RDWR), DISK_BYTES)
    with ExitStack() as undone:
        undone.callback(lambda: subprocess.run(["rm", "-rf", str(top)], check=True))
        subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0", str(image)], check=True)
        device = _said("losetup", "--find", "--show", "--direct-io=on", str(image))
        undone.callback(lambda: subprocess.run(["losetup", "--detach", device], check=True))
        subprocess.run(["mount", device, str(folder)], check=True)
        undone.callback(lambda: subprocess.run(["umount", str(folder)], check=True))
        folder.chmod(0o755)
        below = image.stat().st_dev
        disk = Path(f"/sys/dev/block/{os.major(below)}:{os.minor(below)}").resolve()
        disk = disk.parent if (disk / "partition").exists() else disk
        yield folder, _said("lsblk", "-ndo", "MAJ:MIN", device), (disk / "dev").read_text().strip()


def _said(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def _group(target: Bench) -> Iterator[str]:
    """Put the server, and what it will start, into a control group of its own; yield its name."""
    name = f"slob-bench-{os.getpid()}"
    folders = [GROUPS / controller / name for controller in ("cpu", "blkio")]
    main_process = psutil.Process(target.server.status().pid)
    try:
        for folder in folders:
            folder.mkdir()
            for process in (main_process, *main_process.children(recursive=True)):
                (folder / "cgroup.procs").write_text(str(process.pid))
        yield name
    finally:
        for folder in folders:
            for pid in (folder / "cgroup.procs").read_text().split():
                (folder.parent / "cgroup.procs").write_text(pid)
            folder.rmdir()


if __name__ == "__main__":
    start(main)
