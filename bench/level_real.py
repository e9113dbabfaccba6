"""How often a cap that is switched on in a real run is found: limits of control groups on a managed server.

The processes of a server with direct I/O are moved to control groups of their own. In the middle of each run a limit on
reads a second, on bytes a second or on CPU is switched on, and in some lifted again. The kernel's limits have no
bucket: that of a run is what it used beyond the limit until the switch, by what its processes read. Each run is judged
twice, with the limits that were read and without them, as on a cloud's volume. Needs root and groups of version 1.

    .venv/bin/python bench/level_real.py [--rounds 10] [--seconds 30]
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from common import Bench, bench, notify, parse, parser, print_heading, start
from limits import disk, group, move, require_groups
from openslob.analyze.level import find_cap
from openslob.analyze.run_folder import read_trace
from openslob.analyze.trace import Trace
from openslob.core.interrupt import Interrupt
from openslob.core.measurement import Cap
from openslob.core.units import MIB, NANOS
from openslob.core.workload import Workload
from openslob.kinds.run import runner
from openslob.record.model import RunRecord
from openslob.record.raw_csv import event_rows

LEAST_FOUND = 9
WITHIN_S, LEVEL, BUCKET = 5.0, 0.03, 0.1
NO_QUOTA = "-1"
BLOCK = 8192


@dataclass(frozen=True)
class Switch:
    """A limit to switch on: the file of its controller, the value there, and how ``find_cap`` names it."""

    controller: str
    file: str
    value: float
    kind: str
    cap: float
    sessions: int
    update_pct: int = 0
    lifted: bool = False


SWITCHES = (
    Switch("blkio", "blkio.throttle.read_iops_device", 3000, "iops", 3000, 8),
    Switch("blkio", "blkio.throttle.read_iops_device", 5000, "iops", 5000, 16, lifted=True),
    Switch("blkio", "blkio.throttle.read_bps_device", 32 * MIB, "bytes", 32, 8),
    Switch("cpu", "cpu.cfs_quota_us", 20_000, "cpu", 0.2, 8),
    Switch("blkio", "blkio.throttle.read_iops_device", 2000, "iops", 2000, 4),
    Switch("blkio", "blkio.throttle.read_bps_device", 16 * MIB, "bytes", 16, 32, 10),
    Switch("cpu", "cpu.cfs_quota_us", 30_000, "cpu", 0.3, 16, lifted=True),
    Switch("blkio", "blkio.throttle.read_iops_device", 1500, "iops", 1500, 2),
    Switch("blkio", "blkio.throttle.read_iops_device", 4000, "iops", 4000, 32, lifted=True),
    Switch("blkio", "blkio.throttle.read_bps_device", 24 * MIB, "bytes", 24, 16),
)


def main() -> None:
    """Run the benchmark and print the results."""
    args = parse(parser(__doc__, rounds=len(SWITCHES), seconds=30))
    require_groups("blkio", "cpu")
    shape = {"schemas": 2, "scale": "64M", "warmup": 1, "run_time": max(args.seconds, 24)}
    found, blind = 0, 0
    with bench("level", cache_bytes=32 * MIB, io="direct") as target:
        for number in range(args.rounds):
            switch = SWITCHES[number % len(SWITCHES)]
            load = Workload.model_validate({**shape, "sessions": switch.sessions, "update_pct": switch.update_pct})
            if number == 0 or SWITCHES[(number - 1) % len(SWITCHES)].update_pct:
                target.load(load)
            print_heading(f"{switch.file} {switch.value:g}, {switch.sessions} sessions, {switch.update_pct} % updates")
            record, trace, on_s = run(target, load, switch)
            print(
                f"  on at {on_s:.1f} s; {next(each.why for each in record.verdicts if each.name == 'level_sustained')}"
            )
            wrong = differs(switch, on_s, find_cap(trace), trace)
            print(f"  {wrong or 'right'}")
            found += not wrong
            if switch.kind != "cpu":
                wrong = differs(switch, on_s, find_cap(without_limits(trace)), trace)
                print(f"  without what was read of limits: {wrong or 'right'}", flush=True)
            blind += not wrong
    print(f"caps found: {found} of {args.rounds} (at least {LEAST_FOUND} of 10 are required)")
    print(f"caps on I/O found without what was read of limits: {blind} of {args.rounds}, with CPU by its quota")
    if found * 10 < LEAST_FOUND * args.rounds:
        sys.exit("bench: the search for caps does not reach its bar")


def run(target: Bench, load: Workload, switch: Switch) -> tuple[RunRecord, Trace, float]:
    """Run once with the limit switched on; return the record, its course, and when that was, in s of the load."""
    with group_of(target, switch) as file:
        turned: list[int] = []
        timer = threading.Thread(target=turn, args=(target, file, switch, load.run_time, turned))
        timer.start()
        # A run on a busy host that can't publish rates has its course all the same: it is not repeated.
        request = runner.RunRequest(load, "level", target.results)
        record = runner.run(target.engine, request, Interrupt(), lambda _: None, lambda _: "").record
        timer.join()
    folder = target.results / record.id
    begin_ns = next(int(each.text) for each in event_rows(folder) if each.kind == "begin_ns")
    offset_ns = float(record.environment["server_clock_offset_s"]) * NANOS
    return record, read_trace(folder, record), (turned[0] + offset_ns - begin_ns) / NANOS


def turn(target: Bench, file: Path, switch: Switch, seconds: float, turned: list[int]) -> None:
    """Switch the limit on in the middle of the window, and off again."""
    known = {each.name for each in target.results.iterdir()}
    deadline = time.monotonic() + 300
    begun: Sequence[Path] = ()
    while not begun and time.monotonic() < deadline:
        time.sleep(0.05)
        begun = [
            each
            for each in target.results.iterdir()
            if each.name not in known and "begin_ns" in text(each / "events.csv")
        ]
    time.sleep(0.4 * seconds)
    turned.append(time.time_ns())
    file.write_text(value(switch, switch.value))
    if switch.lifted:
        time.sleep(0.35 * seconds)
        file.write_text(value(switch, None))


def text(path: Path) -> str:
    """Return what is in a file; nothing if it is not there yet."""
    try:
        return path.read_text()
    except OSError:
        return ""


def value(switch: Switch, limit: float | None) -> str:
    """Return what is written to the file of a limit; None lifts it."""
    if switch.controller == "cpu":
        return NO_QUOTA if limit is None else f"{limit:.0f}"
    return f"{disk()} {limit or 0:.0f}"


@contextlib.contextmanager
def group_of(target: Bench, switch: Switch) -> Iterator[Path]:
    """Move the server's processes to a group for the block, and yield the file of its limit, which is off."""
    with group(switch.controller) as folder:
        move(target, folder)
        (folder / switch.file).write_text(value(switch, None))
        yield folder / switch.file
        (folder / switch.file).write_text(value(switch, None))


def without_limits(trace: Trace) -> Trace:
    """Return a course as it is where nobody says what the limits are."""
    return replace(trace, series={name: each for name, each in trace.series.items() if not name.endswith("_limit")})


def differs(switch: Switch, on_s: float, found: Cap | None, trace: Trace) -> str:
    """Return in what a cap that was found differs from the one that was switched on; empty if it is right."""
    if found is None:
        return "not found"
    size = found.request_bytes or BLOCK
    in_mb = {"bytes": 1.0, "iops": size / MIB}
    cap = switch.cap if switch.kind == "cpu" else switch.cap * in_mb[switch.kind] / in_mb.get(found.kind, 1.0)
    used = spent(found.kind, size, cap, on_s, trace)
    apart = {
        "kind": (found.kind == "cpu") != (switch.kind == "cpu"),
        "moment": found.dry_at_s is None or abs(found.dry_at_s - on_s) > WITHIN_S,
        "level": abs(found.cap / cap - 1) > LEVEL,
        "bucket": abs((found.bucket or 0.0) / used - 1) > BUCKET,
        "end": (found.lifted_at_s is not None) != switch.lifted,
    }
    wrong = ", ".join(name for name, so in apart.items() if so)
    return wrong and f"wrong {wrong} (used {used:,.0f}): {found}"


def spent(kind: str, request_bytes: float, cap: float, on_s: float, trace: Trace) -> float:
    """Return what was used beyond a cap until it was switched on, by what the server's processes read."""
    unit = {"bytes": MIB, "iops": request_bytes}
    rate = trace.get("server.cpu") if kind == "cpu" else trace.get("server.read_bytes") / unit[kind]
    whole = int(on_s)
    return float(np.nansum(rate[:whole] - cap) + (on_s - whole) * (rate[whole - 1] - cap))


if __name__ == "__main__":
    notify("the limits are those of control groups, which have no bucket")
    start(main)
