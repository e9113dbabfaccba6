"""The injector of the blind bench, in a process of its own: waits for a load, injects its fault, and writes the truth.

The measuring side tells it the folder of the run and the end of it, by closing its input, and reads none of what it
writes. What it changed, it changes back when its input is closed, also if the measuring side was killed.
"""

from __future__ import annotations

import contextlib
import json
import math
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from blinded.host import Host
from blinded.plan import CAPS, LATENCIES, NEIGHBOURS, QUOTAS, Kind, Place, Planned, Shape
from blinded.raw import Course, Numbers, Sampler, limited
from limits import GROUPS
from openslob.core.errors import SlobError
from openslob.core.units import NANOS
from openslob.record.raw_csv import Event, window_facts

# A fault begins after so many seconds of the load, and a cap that changes so long before its end.
FIRST_S, CHANGING_S, LASTING_S = 10.0, 32.0, 16.0
# What is usual is what was just before the fault.
USUAL_S = 6.0
# The highest level of stairs, of a slow fall and of an oscillation, as a share of what the load does without a cap.
HIGHEST = 0.65
PERIOD_US = 100_000
# The kernel grants requests by slices of 0.1 s, in each a whole number.
IOPS_STEP = 10
NO_QUOTA = "-1"
NEIGHBOUR, NEIGHBOURS_STARTED, LEAST_NICE = Path(__file__).with_name("neighbour.py"), 6, 19
# When a limit changed: seconds after the moment of the fault, and the level, None without one.
Schedule = Sequence[tuple[float, float | None]]


@dataclass
class Truth:
    """What was done to a run. Moments are seconds since the epoch: ``began`` and ``until`` are those of its load.

    ``at`` is when the fault began and ``ended`` when it was over, None if it lasted. ``levels`` has the limits with the
    moments from which they were in force, in requests, or bytes, a second, or in CPUs; None: there was none from then
    on. ``free`` is what the load did just before. ``why`` says why not all was done that was planned.
    """

    planned: Planned
    began: float | None = None
    until: float | None = None
    at: float | None = None
    ended: float | None = None
    free: float | None = None
    levels: list[tuple[float, float | None]] = field(default_factory=list)
    why: str = ""

    def write(self, path: Path) -> None:
        path.write_text(json.dumps({**vars(self), "planned": self.planned.to_json()}, indent=1))

    @classmethod
    def read(cls, path: Path) -> Truth:
        values = json.loads(path.read_text())
        planned = Planned.from_json(values.pop("planned"))
        return cls(planned=planned, **{**values, "levels": [(at, level) for at, level in values["levels"]]})


def schedule(planned: Planned, free: float, left_s: float) -> Schedule:
    """Return how the level of a cap goes on, for a load that did ``free`` and has so many seconds left."""
    low, high = planned.low * free, HIGHEST * free
    if planned.shape is Shape.LEVEL:
        return [(0.0, low), *([(planned.lifted * left_s, None)] if planned.lifted else [])]
    if planned.shape is Shape.STAIRS:
        step_s = 8 + 2 * planned.pace
        return [(0.0, high), (step_s, (high + low) / 2), (2 * step_s, low)]
    if planned.shape is Shape.BUCKET:
        dry_s, full_s = 5 + planned.pace, 4.0
        times = [number * (dry_s + full_s) for number in range(3)]
        return [each for at in times for each in ((at, low), (at + dry_s, None))]
    if planned.shape is Shape.FALL:
        seconds = max(1, int(left_s))
        return [(float(at), high + (low - high) * at / seconds) for at in range(seconds)]
    period_s = 6 + 4 * planned.pace
    steps = [each / 2 for each in range(max(1, int(2 * left_s)))]
    middle, swing = (high + low) / 2, (high - low) / 2
    return [(at, middle - swing * math.sin(2 * math.pi * at / period_s)) for at in steps]


def moment_s(planned: Planned, seconds: float) -> float:
    """Return after how many seconds of a load the fault begins."""
    changes = planned.kind in CAPS and planned.shape is not Shape.LEVEL
    latest = seconds - (CHANGING_S if changes else LASTING_S)
    return FIRST_S + planned.at * max(0.0, latest - FIRST_S)


class RunEndedError(Exception):
    """The measuring side has closed our input: the run is over."""


def inject(folder: Path, number: int, seconds: float) -> None:
    """Do what the plan says of a run, and write its truth and its course."""
    truth_folder = folder / "truth"
    planned = next(each for each in read_plan(folder) if each.number == number)
    host, truth = Host.read(folder / "host.json"), Truth(planned)
    numbers = Numbers(Path(host.numbers))
    with ExitStack() as undone:
        sampler = undone.enter_context(Sampler(numbers, host.device, (host.groups["cpuacct"], host.beside)))
        with contextlib.suppress(RunEndedError):
            truth.began = _load_begins(folder / "runs" / f"{number:03}")
            truth.until = truth.began + seconds
            _await(truth.began + moment_s(planned, seconds))
            injection = Injection(host, numbers, truth, sampler)
            with injection.undone():
                _action_of(planned.kind)(injection)
                _await(math.inf)
    if truth.began is None:
        truth.why = "no load began"
    elif truth.at is None and planned.kind is not Kind.NOTHING:
        truth.why = "the run ended before the fault"
    sampler.course().write(truth_folder / f"{number:03}.csv")
    truth.write(truth_folder / f"{number:03}.json")


def read_plan(folder: Path) -> list[Planned]:
    """Return the faults of all runs."""
    return [Planned.from_json(each) for each in json.loads((folder / "truth" / "plan.json").read_text())]


def _await(moment: float) -> None:
    """Wait until a moment. Raises RunEndedError when our input is closed before."""
    while (left_s := moment - time.time()) > 0:
        if select.select([sys.stdin], [], [], min(left_s, 60.0))[0] and not sys.stdin.buffer.read1(1):
            raise RunEndedError


def _load_begins(run: Path) -> float:
    """Wait until the window of a run is known, and return when it begins, by this host's clock."""
    while True:
        for events in run.glob("results/*/*/events.csv"):
            facts: dict[Event, int] = {}
            # A row may be half written.
            with contextlib.suppress(SlobError, ValueError):
                facts = window_facts(events.parent)
            if Event.BEGIN_NS in facts and Event.CLOCK_OFFSET_NS in facts:
                return (facts[Event.BEGIN_NS] - facts[Event.CLOCK_OFFSET_NS]) / NANOS
        _await(time.time() + 0.1)


@dataclass
class Injection:
    """The fault of a run while it is there."""

    host: Host
    numbers: Numbers
    truth: Truth
    sampler: Sampler

    @property
    def planned(self) -> Planned:
        return self.truth.planned

    @property
    def left_s(self) -> float:
        return (self.truth.until or 0.0) - time.time()

    def course(self) -> Course:
        return self.sampler.course()

    def begin(self, level: float | None = None) -> None:
        """Note a change that was just made; the first one is the moment of the fault."""
        now = time.time()
        self.truth.at = self.truth.at or now
        self.truth.levels.append((now, level))

    def end(self) -> None:
        """Note that the fault is over."""
        self.truth.ended = time.time()

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Take back all that any fault may have changed."""
        try:
            yield
        finally:
            for device in (self.host.device, self.host.below):
                for way in ("read", "write"):
                    for unit in ("iops", "bps"):
                        self.host.limit("blkio", f"blkio.throttle.{way}_{unit}_device", f"{device} 0")
            self.host.limit("cpu", "cpu.cfs_quota_us", NO_QUOTA)
            for name in ("read_delay_ns", "sync_delay_ns", "spread"):
                self.numbers.ask(name, 0)

    def await_lifting(self) -> None:
        """Wait until the fault is to end. Raises RunEndedError if it lasts to the end of the run."""
        _await(time.time() + self.planned.lifted * self.left_s if self.planned.lifted else math.inf)


def _cap(injection: Injection) -> None:
    planned, host = injection.planned, injection.host
    way = "read" if planned.kind in (Kind.READ_IOPS, Kind.READ_BYTES) else "write"
    device = host.device if planned.place is Place.DEVICE else host.below
    file = f"blkio.throttle.{way}_{'iops' if planned.unit == 'iops' else 'bps'}_device"
    course, now = injection.course(), time.time()
    # The newest row is a quarter of a second old.
    on_device = planned.place is Place.DEVICE
    free = limited(course, way, planned.unit, on_device, now - USUAL_S, float(course["at"][-1]))
    injection.truth.free = free
    step = IOPS_STEP if planned.unit == "iops" else 1
    for after_s, level in schedule(planned, free, injection.left_s):
        _await(now + after_s)
        limit = None if level is None else max(step, step * round(level / step))
        host.limit("blkio", file, f"{device} {limit or 0}")
        injection.begin(limit)
    if injection.truth.levels[-1][1] is None:
        injection.end()


def _slow_calls(injection: Injection) -> None:
    planned = injection.planned
    name = "read_delay_ns" if planned.kind is Kind.READ_LATENCY else "sync_delay_ns"
    injection.numbers.ask("spread", int(planned.spread))
    injection.numbers.ask(name, round(planned.delay_ms * 1e6))
    injection.begin()
    injection.await_lifting()
    injection.numbers.ask(name, 0)
    injection.end()


def _limit_cpu(injection: Injection) -> None:
    quota_us = round(injection.planned.low * PERIOD_US)
    injection.host.limit("cpu", "cpu.cfs_quota_us", str(quota_us))
    injection.begin(quota_us / PERIOD_US)
    injection.await_lifting()
    injection.host.limit("cpu", "cpu.cfs_quota_us", NO_QUOTA)
    injection.end()


def _add_neighbours(injection: Injection) -> None:
    """Start other programs beside the server."""
    kind = injection.planned.kind
    task = {
        Kind.NICED: ["burn", str(LEAST_NICE)],
        Kind.PLAIN: ["burn", "0"],
        Kind.ON_DISK: ["read", injection.host.neighbours_file],
    }[kind]
    with ExitStack() as ended:
        for _ in range(NEIGHBOURS_STARTED):
            command = [sys.executable, "-S", NEIGHBOUR, *task]
            neighbour = ended.enter_context(subprocess.Popen(command, stdin=subprocess.DEVNULL))
            ended.callback(neighbour.kill)
            if kind is Kind.NICED:
                # In the group of the bench, which is never idle then, they would take CPU from all that is not in it.
                (GROUPS / "cpu" / "cgroup.procs").write_text(str(neighbour.pid))
        injection.begin()
        injection.await_lifting()
    injection.end()


def _action_of(kind: Kind) -> Callable[[Injection], None]:
    actions: dict[Kind, Callable[[Injection], None]] = {
        **dict.fromkeys(CAPS, _cap),
        **dict.fromkeys(LATENCIES, _slow_calls),
        **dict.fromkeys(QUOTAS, _limit_cpu),
        **dict.fromkeys(NEIGHBOURS, _add_neighbours),
        Kind.NOTHING: lambda _: None,
    }
    return actions[kind]


def write_plan(folder: Path, drawn: Sequence[tuple[Planned, Any]]) -> None:
    """Write the plan: the faults apart from what the measuring side may know."""
    (folder / "truth").mkdir(parents=True)
    (folder / "truth").chmod(0o700)
    (folder / "truth" / "plan.json").write_text(json.dumps([fault.to_json() for fault, _ in drawn], indent=1))
    loads = [vars(load) for _, load in drawn]
    (folder / "loads.json").write_text(json.dumps(loads, indent=1))
