"""For how long tasks were ready to run and waited for a CPU, as the kernel counts it for each of them.

The second number of ``/proc/<pid>/task/<tid>/schedstat`` is that time in ns since the task began: in the run queue, or
held back by the CPU quota of its control group. It is the task's own, so that what other programs wait for is not in
it, unlike in the pressure of a whole host (PSI). The file is the shortest one of a task and costs the least to read.
"""

from __future__ import annotations

from collections.abc import Mapping

from openslob.core.units import NANOS

# Of a process and a thread of it.
TaskId = tuple[int, int]
NOT_COUNTED = "this kernel does not count how long a task waits for a CPU (/proc/<pid>/schedstat)"


def parse_schedstat(text: bytes) -> tuple[int, int] | None:
    """Return the ns for which a task ran and waited; None from a kernel that counts neither and shows zeros."""
    ran, waited = map(int, text.split()[:2])
    return (ran, waited) if ran or waited else None


class RunQueueSum:
    """Adds up what tasks waited, so that the sum keeps the part of those that have ended.

    What a task waited after its last reading is lost.
    """

    def __init__(self) -> None:
        self._last: dict[TaskId, int] = {}
        self._total_ns = 0

    def add(self, waited_ns: Mapping[TaskId, int], forget: bool) -> float:
        """Return the seconds that all tasks waited so far; ``waited_ns`` are those that are there now.

        ``forget`` the others: one of them that comes again would be counted twice, so this is for a look at all tasks.
        """
        for task, now_ns in waited_ns.items():
            last_ns = self._last.get(task, 0)
            # A smaller number is that of another task, which has the number of one that ended.
            self._total_ns += now_ns - last_ns if now_ns >= last_ns else now_ns
        self._last = dict(waited_ns) if forget else {**self._last, **waited_ns}
        return self._total_ns / NANOS
