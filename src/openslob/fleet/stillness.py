"""Times in which a driver's process did nothing although it had to: it was stopped, or had no CPU.

A thread that looks after the driver's files a few times a second notices that it woke up late. Why, two figures say
that Linux keeps: the CPU time of the process, and how long the thread waited for a CPU (`/proc/thread-self/schedstat`,
see Documentation/scheduler/sched-stats.rst). A process that was stopped used no CPU and waited for none.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from openslob.core.units import NANOS
from openslob.host.run_queue import parse_schedstat

# Sessions begin their slices later by no more than that on a busy host.
LEAST_S = 1.0
SCHEDULED = Path("/proc/thread-self/schedstat")


@dataclass(frozen=True)
class Stillness:
    """A time in which a thread did not go on: ``begin_ns`` by the time of day, with the CPU time of the process in it.

    ``waited_s`` is how long the thread was ready and had no CPU; None where the system does not say it.
    """

    begin_ns: int
    seconds: float
    cpu_s: float
    waited_s: float | None


class StillnessWatch:
    """Times how late a thread wakes up; `longest` is the longest time, None if none was `LEAST_S` long."""

    def __init__(self) -> None:
        self.longest: Stillness | None = None
        self._begun = self._now()

    def begin(self) -> None:
        """Note that the thread begins to wait."""
        self._begun = self._now()

    def end(self, meant_s: float) -> None:
        """Note that the thread goes on, which was to wait for ``meant_s`` at the most."""
        _, begun, cpu_s, waited_s = self._begun
        time_ns, now, cpu_now_s, waited_now_s = self._now()
        late_s = now - begun - meant_s
        if late_s >= max(LEAST_S, self.longest.seconds if self.longest else 0.0):
            waited = None if waited_s is None or waited_now_s is None else waited_now_s - waited_s
            self.longest = Stillness(time_ns - round(late_s * NANOS), late_s, cpu_now_s - cpu_s, waited)

    def _now(self) -> tuple[int, float, float, float | None]:
        return time.time_ns(), time.monotonic(), time.process_time(), waited_for_cpu_s()


def waited_for_cpu_s() -> float | None:
    """Return how long the calling thread was ready and had no CPU so far; None where Linux does not count it."""
    try:
        counted = parse_schedstat(SCHEDULED.read_bytes())
    except (OSError, ValueError):
        return None
    return counted[1] / NANOS if counted else None
