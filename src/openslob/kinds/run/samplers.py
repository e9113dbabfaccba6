"""Samples counters and the operating system while sessions run, once a second on a thread of its own.

Readings go into the runner's queue, so that one thread alone writes the record. That thread also samples the waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from math import inf
from threading import Event, Lock, Thread
from typing import Any, cast

from openslob.core.errors import SlobError, start_thread
from openslob.core.host import Host
from openslob.core.measurement import EngineDelta, HostDelta
from openslob.core.units import NANOS
from openslob.engines.base import (
    SESSION_KINDS,
    Activity,
    CounterReading,
    Counters,
    Engine,
    Recountable,
    SamplingScope,
    Settling,
)
from openslob.engines.patience import StoppedError
from openslob.host.environment import environment
from openslob.host.model import OsReading
from openslob.host.processes import Tasks
from openslob.host.sampler import UNATTRIBUTED, OsReader, Ticker, cpu_by_kind
from openslob.host.this_host import HERE
from openslob.metrics.cpu import is_busy
from openslob.record.model import READER

COUNTER_INTERVAL_S = 1.0
# Reading counters and every backend's CPU costs more with more sessions. Up to this many are read once a second.
SESSIONS_A_SECOND = 100
CLOCK_QUERIES = 5
# Beside a load, a reading may take so many times as long as it did before.
READING_TIMES = 2
# A part of the server's CPU of which nobody knows whose it was: less than the spread between two runs.
MOST_UNKNOWN_CPU_PCT = 2.0
# The first closing readings follow each other closely. Should sessions end late, they get rarer.
FIRST_PAUSE_S, SLOWER, LONGEST_PAUSE_S = 0.01, 1.3, 1.0
SAME_HOST = "the server is not known to be on this host"


@dataclass(frozen=True)
class SystemReading:
    """The engine's counters and the operating system's at one moment.

    ``counted_ns`` is when the counters had been read, by the monotonic clock: another host may answer later.
    """

    counters: CounterReading
    os: OsReading
    counted_ns: int


class ClosingReadings(Thread):
    """Calls ``read`` again and again, from ``in_s`` seconds from now on, until it fails or `end` is called.

    It is for sessions of other processes: what they did is asked for now and then, and on a busy host the answer takes
    a part of a second. Counters that are read only then span more time than the load. ``before`` is called before the
    first time.
    """

    def __init__(self, in_s: float, before: Callable[[], object], read: Callable[[], SystemReading]) -> None:
        super().__init__(name="closing", daemon=True)
        self._begins_at = time.monotonic() + in_s
        self._before, self._read, self._over = before, read, Event()
        self._found: list[tuple[int, SystemReading]] = []

    def run(self) -> None:
        """Wait for the planned end, and read."""
        if self._over.wait(max(0.0, self._begins_at - time.monotonic())):
            return
        self._before()
        pause_s = FIRST_PAUSE_S
        while not self._over.wait(pause_s):
            asked_ns = time.monotonic_ns()
            try:
                self._found.append((asked_ns, self._read()))
            except SlobError:
                # Whoever reads once the sessions have ended gets the error, too.
                return
            pause_s = min(LONGEST_PAUSE_S, SLOWER * pause_s)

    def end(self) -> None:
        """Read no more, after a reading under way."""
        self._over.set()
        self.join()

    def first_after(self, ended_ns: int) -> SystemReading | None:
        """Return the first reading that was begun at ``ended_ns`` of the monotonic clock or later, if any."""
        return next((reading for asked_ns, reading in self._found if asked_ns >= ended_ns), None)


class Samplers:
    """Owns the sampling connections; reads before and after the window, and between `start` and `stop`.

    ``sessions`` are the test's, none when it is the whole server that is sampled (``scope``). ``cpu_alone``: of the
    server's processes only the CPU is read, as `OsReader` does then.
    """

    def __init__(
        self,
        engine: Engine,
        sessions: int,
        post: Callable[[SystemReading], None],
        scope: SamplingScope = SamplingScope.TEST,
        interval_s: float = COUNTER_INTERVAL_S,
        cpu_alone: bool = False,
    ) -> None:
        location = engine.location()
        self._post = post
        self.data_directory = location.data_directory
        # Whether the host's figures are those of the server's host.
        self.local = location.is_known
        self._host: Host = (engine.host if location.host else None) or HERE
        self._hides = engine.host.hides_processes if location.host and engine.host else ""
        self._counters = engine.open_counters(scope)
        self._waits = engine.open_waits(scope)
        own = [*self._counters.backend_ids(), *self._waits.backend_ids()]
        locations = [location, *location.others]
        self._os = OsReader(
            [each.processes for each in locations if each.processes is not None],
            [directory for each in locations for directory in each.data_directories],
            lambda: own,
            location.why_unknown or SAME_HOST,
            cpu_alone,
            self._host,
            location.why_no_device,
        )
        # How long the counters take to be read at least, once `server_clock_offset_ns` has done so; how long another
        # host's take, and how far apart their readings must be, once `find_price` has tried it.
        self.reading_s = self.host_s = self.least_s = 0.0
        self._interval_s = interval_s * max(1.0, sessions / SESSIONS_A_SECOND)
        # The counters have one connection.
        self._counting = Lock()
        # No periodic reading begins later, by the monotonic clock.
        self._last_ns = inf
        self._tasks: Tasks = {}
        self._tasks_at_end: Tasks = {}
        self._ticker = Ticker(self._interval_s, self._tick, "counters")
        self._closing: ClosingReadings | None = None

    def describe_host(self) -> dict[str, Any]:
        """Return the description of the host that is read, for the record; of another one, by whom it was read."""
        found = {**environment(self.data_directory, self._host), "local": self.local}
        reading = self._host.describe_reading()
        return {**found, READER: reading} if reading else found

    def get_ready(self) -> None:
        """Look at all processes of the host once, so that the opening reading does not take long."""
        self._os.read()
        self._tasks = self._os.tasks()

    def opening_reading(self) -> SystemReading:
        """Read both just before the window; call `get_ready` shortly before."""
        return self._read()

    def closing_reading(self, ended_ns: int | None = None) -> SystemReading:
        """Read both just after the window: the counters first, since they must end with the load.

        If `close_from` has made readings since the load ended, at ``ended_ns`` by the monotonic clock, it is the first
        of them. Call `stop` before.
        """
        made = self._closing.first_after(ended_ns) if self._closing and ended_ns is not None else None
        return made or self._read_end()

    def settle(self, before: SystemReading, after: SystemReading) -> SystemReading:
        """Return the closing reading with what the server showed late, once that has come."""
        if not isinstance(self._counters, Settling):
            return after
        return replace(after, counters=self._counters.settle(before.counters, after.counters))

    def _read_end(self) -> SystemReading:
        counters, counted_ns = self._count()
        # A reading under way may still wait for another host; then it is over.
        self._ticker.stop()
        host = self._os.read()
        self._tasks_at_end = self._os.tasks()
        return SystemReading(counters, host, counted_ns)

    def cpu_by_kind(self, server_cpu_s: float | None) -> Mapping[str, float] | None:
        """Return the server's CPU seconds of the window by kind of process or thread, once both readings were taken."""
        if server_cpu_s is None or not self._tasks_at_end:
            return None
        return cpu_by_kind(self._tasks, self._tasks_at_end, self._counters.task_kinds(), server_cpu_s)

    def read(self) -> SystemReading:
        """Read both now, the server first, since it may keep the reading waiting."""
        counters, counted_ns = self._counters.read(), time.monotonic_ns()
        return SystemReading(counters, self._os.read(full_scan=False), counted_ns)

    def _read(self) -> SystemReading:
        if self._host.where:
            # It may keep the reading waiting, too, for longer: the counters must be those of the moment.
            counters, counted_ns = self._count()
            return SystemReading(counters, self._os.read(full_scan=False), counted_ns)
        host = self._os.read(full_scan=False)
        counters, counted_ns = self._count()
        return SystemReading(counters, host, counted_ns)

    def _count(self) -> tuple[CounterReading, int]:
        with self._counting:
            return self._counters.read(), time.monotonic_ns()

    def _tick(self) -> None:
        if time.monotonic_ns() <= self._last_ns:
            self._post(self._read())

    def start(self, in_s: float, ends_in_s: float = inf) -> None:
        """Begin to sample: the first reading is one interval after ``in_s`` seconds from now.

        A reading of another host that may not be over ``ends_in_s`` from now is not begun: the closing one would wait.
        """
        if self._host.where:
            self._last_ns = time.monotonic_ns() + (ends_in_s - READING_TIMES * (self.reading_s + self.host_s)) * NANOS
        self._ticker.start(time.monotonic_ns() + int((in_s + self._interval_s) * NANOS))

    def close_from(self, in_s: float) -> None:
        """Make closing readings again and again, instead of the periodic ones, from ``in_s`` seconds from now on."""
        # They share a connection.
        self._closing = ClosingReadings(in_s, self._end_ticks, self._read_end)
        start_thread(self._closing)

    @property
    def error(self) -> str:
        """Why the counters are no longer read; empty while they are."""
        error = self._ticker.error
        if error is None or isinstance(error, StoppedError):
            return ""
        return str(error) if isinstance(error, SlobError) else f"the counters are no longer read: {error!r}"

    def stop(self) -> list[str]:
        """End sampling and wait for a reading of the counters under way; return the errors."""
        if self._closing:
            self._closing.end()
        self._end_ticks()
        return [self.error] if self.error else []

    def _end_ticks(self) -> None:
        self._ticker.stop(wait=not self._host.where)

    def sample(self) -> Activity:
        """Return what the server's sessions are doing at this moment."""
        return self._waits.sample()

    def bound_cpu(self, host: HostDelta) -> HostDelta:
        """Return what the host counted; where it shows no processes, with the most that the server's CPU can be."""
        if not self._hides or host.cpu is None or not host.seconds:
            return host
        busy = sum(seconds for kind, seconds in host.cpu.items() if is_busy(kind)) / host.seconds
        most = f"DB CPU was {busy:.2f} s per s at most, what all of the host was busy"
        return replace(host, unknown={**host.unknown, "server_cpu_s": f"{self._hides}: {most}"})

    def engine_delta(self, before: SystemReading, after: SystemReading) -> EngineDelta:
        """Return what the engine counted between two readings."""
        return self._counters.difference(before.counters, after.counters)

    @property
    def counting(self) -> Mapping[str, Any] | None:
        """What differences of the counters follow from beside the readings; None if they can't be taken again."""
        counting = self._counters.counting if isinstance(self._counters, Recountable) else None
        return None if counting is None else asdict(cast(Any, counting))

    def server_clock_offset_ns(self) -> int:
        """Return the server's clock minus this host's, from the quickest of a few queries; call it before `start`.

        What reading another host takes is found out, too: the periodic readings are as far apart as that demands.
        """
        took_ns, offset_ns = clock_offset_ns(self._counters)
        self.reading_s = took_ns / NANOS
        self.find_price()
        if self.least_s > self._interval_s:
            self._interval_s = self.least_s
            self._ticker = Ticker(self.least_s, self._tick, "counters")
        return offset_ns

    def find_price(self) -> None:
        """Find out how long a reading of another host takes, and how far apart readings must be."""
        self.host_s, self.least_s = self._os.price()

    def close(self) -> None:
        """Close the sampling connections and files."""
        self._counters.close()
        self._waits.close()
        self._os.close()


def split_cpu(host: HostDelta, by_kind: Mapping[str, float] | None, why: str = "") -> HostDelta:
    """Return what the host counted with the CPU of the server's sessions and of all its other tasks, by their kinds.

    Both are unknown, for ``why``, without kinds, and where too much was used by tasks without one.
    """
    if by_kind:
        unknown_pct = 100 * by_kind.get(UNATTRIBUTED, 0.0) / max(sum(by_kind.values()), 1e-9)
        foreground = sum(cpu_s for kind, cpu_s in by_kind.items() if kind in SESSION_KINDS)
        background = sum(cpu_s for kind, cpu_s in by_kind.items() if kind not in {*SESSION_KINDS, UNATTRIBUTED})
        why = f"{unknown_pct:.1f} % of the server's CPU was used by processes or threads of unknown kind, or that ended"
        if unknown_pct <= MOST_UNKNOWN_CPU_PCT and not SESSION_KINDS.isdisjoint(by_kind):
            return replace(host, foreground_cpu_s=foreground, background_cpu_s=background)
    return replace(host, unknown={"foreground_cpu_s": why, "background_cpu_s": why, **host.unknown})


def clock_offset_ns(counters: Counters) -> tuple[int, int]:
    """Return what the quickest of a few readings took, and the server's clock minus this host's by it."""
    return min(_ask_clock(counters) for _ in range(CLOCK_QUERIES))


def _ask_clock(counters: Counters) -> tuple[int, int]:
    before = time.time_ns()
    server_ns = counters.read().server_ns
    after = time.time_ns()
    return after - before, server_ns - (before + after) // 2
