"""CPU of a process tree by the clocks of its processes: for readings once a second beside hundreds of sessions.

A process's clock has nanoseconds, where ``/proc/<pid>/stat`` has whole clock ticks: over a second, those of 300
processes would be wrong by some percent of a CPU. And it costs a tenth of reading a file. It does not include the
children that the process has waited for: these are taken from its file, which is read when the process is first seen,
and again after the main process has waited for any child. I/O is not read: that would need a file of each process.
"""

from __future__ import annotations

import time
from pathlib import Path

from openslob.core.units import NANOS
from openslob.host.counters import TICKS_PER_S
from openslob.host.processes import ProcessStat, ProcessTreeSampler, ServerReading

_NOT_READ = "the I/O of the server's processes is not read so often"
# The kernel's number of a process's clock: the process's number, inverted, above three bits for the kind of clock.
_KIND_BITS, _SCHEDULER = 3, 2


def cpu_ns(pid: int) -> int:
    """Return the CPU time of all threads of a process, in ns. OSError when there is no such process."""
    return time.clock_gettime_ns(~pid << _KIND_BITS | _SCHEDULER)


class ProcessClockSampler(ProcessTreeSampler):
    """Reads the CPU of the process tree below ``main_pid``. Raises FigureUnknownError on a host without /proc."""

    def __init__(self, main_pid: int, proc: Path = Path("/proc")) -> None:
        super().__init__(main_pid, proc)
        self._known: dict[str, ProcessStat] = {}
        self._reaped_faults = -1

    def _read_tree(self, full_scan: bool) -> tuple[ProcessStat, ServerReading]:
        found = super()._read_tree(full_scan)
        # Any other number may be another process's next time.
        self._known = {pid: self._known[pid] for pid in self._pids if pid in self._known}
        return found

    def _stat(self, pid: str) -> ProcessStat | None:
        is_main = int(pid) == self.main_pid
        stat = None if is_main else self._known.get(pid)
        if stat is None:
            if (stat := super()._stat(pid)) is None:
                return None
            if is_main and stat.reaped_faults != self._reaped_faults:
                self._known.clear()
                self._reaped_faults = stat.reaped_faults
            self._known[pid] = stat
        try:
            own_ticks = cpu_ns(stat.pid) * TICKS_PER_S / NANOS
        except OSError:
            self._known.pop(pid)
            return None
        # Not by replace(), which takes ten times as long.
        ticks = own_ticks + stat.ticks - stat.own_ticks
        return ProcessStat(stat.pid, stat.parent, stat.started, ticks, stat.reaped_faults, own_ticks)

    def _io(self, pid: int) -> str:  # noqa: ARG002
        return _NOT_READ
