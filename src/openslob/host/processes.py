"""CPU and storage I/O of the server's processes, including those that have ended.

A server is a process tree or a set of processes (`openslob.core.process_selector`). In a tree, nothing is lost or
counted twice (Linux; each point was tested):

- The utime and stime of a process are those of all its threads. Its cutime and cstime are those of the children that it
  has waited for, and of their children. So the sum of all four over the living tree is the CPU of all processes that
  were ever in it. A zombie shows its own times until it is waited for.
- ``/proc/<pid>/io`` includes the I/O of children that were waited for in the same way (observed: 16 MiB read by a child
  were in the parent's counter after the wait).
- The list of processes is read first, then the main process, then the others. If a process ends before it is read,
  either the main process's times include it, or the main process's count of its children's page faults (``cminflt``;
  every process has some) has changed at the end, and everything is read again.
- A process whose parent has ended belongs to init and is no longer counted as one of the server's.

The kernel counts nanoseconds but reports whole clock ticks (SC_CLK_TCK, 10 ms), rounded down, four values per process.
Over seconds the errors average out: for 300 processes they are about 0.1 s. ``/proc/<pid>/schedstat`` would report
nanoseconds, but of one thread only, and nothing of children. Kernel threads that work for the server, such as
write-back, are not included in any figure.

A full scan of a tree reads every process of the host, to find its parent. Other readings read the processes known from
before, and the children listed in ``/proc/<pid>/task/<pid>/children`` of the main process. That list may skip children
when one ends while it is read, but then everything is read again. Until the next full scan, a new process is missed if
its parent is another process, or another thread of the main process.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from openslob.core.host import FigureUnknownError, ProcFiles
from openslob.core.process_selector import ProcessSelector, ProcessSet, ProcessTree
from openslob.core.units import NANOS
from openslob.host.counters import TICKS_PER_S
from openslob.host.model import Sample
from openslob.host.proc_files import LocalProc
from openslob.host.run_queue import NOT_COUNTED, RunQueueSum, TaskId, parse_schedstat

_IO_NAMES = ("server_read_bytes", "server_write_bytes")
_WAITED = "server_runqueue_s"
SERVER_NAMES = ("server_cpu_s", "server_cores", *_IO_NAMES, _WAITED)
SAMPLER_NAMES = ("sampler_cpu_s",)
# If processes end during each of five readings of a few milliseconds, the server has no lasting sessions.
ATTEMPTS = 5
_NOT_READ = "the I/O of the server's processes is not read so often"
_WAITED_NOT_READ = "how long the server's processes waited for a CPU is not read so often"
# The kernel's number of a process's clock: the process's number, inverted, above three bits for the kind of clock.
_KIND_BITS, _SCHEDULER = 3, 2


@dataclass(frozen=True)
class ProcessStat:
    """The contents of ``/proc/<pid>/stat``.

    ``ticks`` is the CPU time in clock ticks including children that have ended, ``own_ticks`` without them. ``started``
    is the start time in ticks since boot, which together with the pid identifies a process. ``reaped_faults`` changes
    whenever a child is waited for. ``threads`` is how many the process has.
    """

    pid: int
    parent: int
    started: int
    ticks: float
    reaped_faults: int
    own_ticks: float = 0
    threads: int = 1


@dataclass(frozen=True)
class Task:
    """A thread, or a process with a single thread: its name in the kernel and its CPU seconds since its start."""

    name: str
    cpu_s: float


# Tasks by pid and start time, which together identify a task.
Tasks = dict[tuple[int, int], Task]


def parse_stat(text: bytes) -> ProcessStat:
    """Parse ``/proc/<pid>/stat``.

    Fields have their numbers of proc(5). They are counted after the command's name, which may contain blanks and
    parentheses.
    """
    rest = text[text.rindex(b")") + 2 :].split(None, 20)

    def number(position: int) -> int:
        return int(rest[position - 3])

    own = number(14) + number(15)
    return ProcessStat(
        pid=int(text[: text.index(b" ")]),
        parent=number(4),
        started=number(22),
        ticks=own + number(16) + number(17),
        reaped_faults=number(11),
        own_ticks=own,
        threads=number(20),
    )


def parse_io(text: bytes) -> tuple[int, int]:
    """Return the bytes in ``/proc/<pid>/io`` that the process caused to be read from and written to storage.

    Reads are counted when they are sent to the device, so that page-cache hits are not included. Buffered writes are
    counted when a page becomes dirty, not when it is written.
    """
    words = text.split()
    fields = dict(zip(words[::2], words[1::2], strict=True))
    return int(fields[b"read_bytes:"]), int(fields[b"write_bytes:"])


def find_descendants(main: int, stats: Iterable[ProcessStat]) -> list[ProcessStat]:
    """Return all processes below ``main`` at any depth, without ``main``."""
    children: Mapping[int, list[ProcessStat]] = defaultdict(list)
    for stat in stats:
        children[stat.parent].append(stat)
    found: list[ProcessStat] = []
    todo = [main]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += [stat.pid for stat in below]
    return found


@dataclass(frozen=True)
class ServerReading:
    """The server's processes at one moment, or those of all servers of a cluster on this host.

    ``ticks`` is the CPU of all of them in clock ticks, since ``epoch`` began. ``workers`` are the processes that may
    serve sessions. ``io`` is bytes read and written, or why that is not known; ``cpus`` are those that the server may
    run on. ``waited_s`` is for how long its threads waited for a CPU, or why that is not known.
    """

    epoch: str
    ticks: float
    workers: Sequence[ProcessStat]
    io: tuple[int, int] | str
    cpus: frozenset[int] | None
    waited_s: float | str = NOT_COUNTED

    def server(self) -> Sample:
        """Return CPU seconds and storage bytes of the whole server since the epoch began."""
        values: dict[str, float] = {"server_cpu_s": self.ticks / TICKS_PER_S}
        unknown: dict[str, str] = {}
        if self.cpus is not None:
            values["server_cores"] = len(self.cpus)
        if isinstance(self.io, str):
            unknown = dict.fromkeys(_IO_NAMES, self.io)
        else:
            values.update(zip(_IO_NAMES, self.io, strict=True))
        if isinstance(self.waited_s, str):
            unknown[_WAITED] = self.waited_s
        else:
            values[_WAITED] = self.waited_s
        return Sample(values, self.epoch, unknown)

    def samplers(self, pids: Sequence[int]) -> Sample:
        """Return CPU seconds of slob's own sampling sessions, whose server processes have these pids."""
        samplers = {process.pid: process for process in self.workers if process.pid in pids}
        others = sorted(set(pids) - set(samplers))
        if not pids:
            return Sample.missing(SAMPLER_NAMES, "no sampling session was open")
        if others:
            return Sample.missing(SAMPLER_NAMES, f"sampling session {others[0]} is not a process of the server")
        epoch = "sessions " + ", ".join(f"{pid} of tick {samplers[pid].started}" for pid in sorted(samplers))
        return Sample({"sampler_cpu_s": sum(process.ticks for process in samplers.values()) / TICKS_PER_S}, epoch)


def combine_readings(readings: Sequence[ServerReading]) -> ServerReading:
    """Return the readings of several servers of one host as one reading."""
    cpus = [reading.cpus for reading in readings]
    known = [each for each in cpus if each is not None]
    return ServerReading(
        epoch="; ".join(reading.epoch for reading in readings),
        ticks=sum(reading.ticks for reading in readings),
        workers=[process for reading in readings for process in reading.workers],
        io=_sum_io([reading.io for reading in readings]),
        cpus=frozenset().union(*known) if len(known) == len(cpus) else None,
        waited_s=_sum_waits([reading.waited_s for reading in readings]),
    )


class _ProcReader(ABC):
    """Reads files of the processes ``_pids``; ``cpu_alone``: neither their I/O nor their waits for a CPU."""

    def __init__(self, files: ProcFiles | None = None, cpu_alone: bool = False) -> None:
        self.files = files or LocalProc()
        self._cpu_alone = cpu_alone
        self._pids: list[str] = []
        self._run_queue = RunQueueSum()

    @abstractmethod
    def read(self, full_scan: bool = True) -> ServerReading:
        """Return all processes of the server now. Raises FigureUnknownError if they can't be read.

        A full scan looks for new processes everywhere, which is most of the cost.
        """

    def tasks(self) -> Tasks:
        """Return all threads of the processes of the last reading, those of the main process first."""
        tasks: Tasks = {}
        self.files.want((), self._pids)
        names = [f"{pid}/task/{tid}/stat" for pid in self._pids for tid in self.files.threads(pid)]
        self.files.want(names)
        for name in names:
            if text := self.files.read(name):
                thread, stat = text[text.index(b"(") + 1 : text.rindex(b")")], parse_stat(text)
                tasks[stat.pid, stat.started] = Task(thread.decode(errors="replace"), stat.own_ticks / TICKS_PER_S)
        return tasks

    def close(self) -> None:
        """Close all files of /proc; a second call does nothing."""
        self.files.close()
        self._pids = []

    def _want_of(self, processes: Sequence[ProcessStat]) -> None:
        """Ask for what is read of the server's processes beside their CPU."""
        if self._cpu_alone:
            return
        threaded = [str(process.pid) for process in processes if process.threads > 1]
        self.files.want((f"{process.pid}/io" for process in processes), threaded)

    def _keep(self, pids: list[str]) -> None:
        self._pids = pids
        self.files.keep(pids)

    def _forget(self) -> None:
        self._pids = []
        self.files.forget()

    def _stat(self, pid: str) -> ProcessStat | None:
        """Return None if the process has ended, or if the host hides processes of other users (hidepid)."""
        try:
            text = self.files.read(f"{pid}/stat")
        except PermissionError:
            return None
        return parse_stat(text) if text else None

    def read_io(self, pid: int) -> tuple[int, int] | str | None:
        """Return bytes read and written, or the reason why they are unknown; None if the process has ended."""
        if self._cpu_alone:
            return _NOT_READ
        try:
            text = self.files.read(f"{pid}/io")
        except PermissionError:
            return "this user may not read the storage I/O of the server's processes"
        if text is None:
            return "this kernel keeps no storage I/O by process" if self._stat(str(pid)) else None
        return parse_io(text)

    def read_waits(self, processes: Sequence[ProcessStat], full_scan: bool) -> float | str:
        """Return for how long all threads of these processes waited for a CPU, in s, or why that is not known."""
        if self._cpu_alone:
            return _WAITED_NOT_READ
        waited_ns: dict[TaskId, int] = {}
        files = {
            (process.pid, int(tid)): f"{process.pid}/task/{tid}/schedstat" if threaded else f"{tid}/schedstat"
            for process in processes
            for threaded in (process.threads > 1,)
            for tid in (self.files.threads(str(process.pid)) if threaded else (str(process.pid),))
        }
        self.files.want(files.values())
        for task, name in files.items():
            try:
                text = self.files.read(name)
            except PermissionError:
                return "this user may not read how long the server's processes waited for a CPU"
            counted = parse_schedstat(text) if text else None
            if counted:
                waited_ns[task] = counted[1]
        return self._run_queue.add(waited_ns, full_scan) if waited_ns else NOT_COUNTED


class ProcessTreeSampler(_ProcReader):
    """Reads the process tree below ``main_pid``. Raises FigureUnknownError on a host without /proc."""

    def __init__(self, main_pid: int, files: ProcFiles | None = None, cpu_alone: bool = False) -> None:
        super().__init__(files, cpu_alone)
        self.main_pid = main_pid
        self._children = f"{main_pid}/task/{main_pid}/children"

    def read(self, full_scan: bool = True) -> ServerReading:
        """Return all processes of the server now. A full scan reads every process of the host.

        Raises FigureUnknownError if the main process can't be read, or if processes end faster than they are read.
        """
        if full_scan:
            self._forget()
        for _ in range(ATTEMPTS):
            main, reading = self._read_tree(full_scan)
            if self._main().reaped_faults == main.reaped_faults:
                return reading
        raise FigureUnknownError("the server's processes ended faster than they could be read")

    def _read_tree(self, full_scan: bool) -> tuple[ProcessStat, ServerReading]:
        """Return the main process and the reading. The main process is read before its descendants."""
        names = self.files.pids() if full_scan or not self._pids else self._candidate_pids()
        self.files.want(f"{pid}/stat" for pid in dict.fromkeys([str(self.main_pid), *names]))
        main = self._main()
        others = [stat for name in names if name != str(main.pid) and (stat := self._stat(name))]
        below = find_descendants(main.pid, others)
        self._keep([str(stat.pid) for stat in (main, *below)])
        self._want_of((main, *below))
        return main, ServerReading(
            epoch=f"process {main.pid}, started at tick {main.started}",
            ticks=sum(process.ticks for process in (main, *below)),
            workers=below,
            io=_sum_io([self.read_io(process.pid) for process in (main, *below)]),
            cpus=self.files.cpus(main.pid),
            waited_s=self.read_waits((main, *below), full_scan),
        )

    def _candidate_pids(self) -> Collection[str]:
        """Return the known pids and the main process's current children; all pids if the kernel has no such list."""
        children = self.files.read(self._children)
        if children is None:
            return self.files.pids()
        return dict.fromkeys([*self._pids[1:], *children.decode().split()])

    def _main(self) -> ProcessStat:
        stat = self._stat(str(self.main_pid))
        if stat is None:
            raise FigureUnknownError(f"the server's main process {self.main_pid} has ended or is hidden from this user")
        return stat


class ProcessSetSampler(_ProcReader):
    """Reads processes without a common parent. Raises FigureUnknownError on a host without /proc.

    A process counts with its own threads. The CPU and I/O of an ended process up to its last reading stay in the sums;
    its CPU and I/O after that are lost.
    """

    def __init__(self, processes: ProcessSet, files: ProcFiles | None = None, cpu_alone: bool = False) -> None:
        super().__init__(files, cpu_alone)
        self._processes = processes
        self._ticks: dict[tuple[int, int], float] = {}
        self._bytes: dict[tuple[int, int], tuple[int, int]] = {}

    def read(self, full_scan: bool = True) -> ServerReading:
        """Return the processes of the set; a full scan finds new ones. Raises FigureUnknownError if there is none."""
        if full_scan or not self._pids:
            self._forget()
            self._keep([str(pid) for pid in self._processes.find()])
        self.files.want(f"{pid}/stat" for pid in self._pids)
        present = [stat for name in self._pids if (stat := self._stat(name))]
        if not present:
            raise FigureUnknownError(f"there are no {self._processes.description}, or they are hidden from this user")
        self._want_of(present)
        why_no_io = ""
        for stat in present:
            key, io = (stat.pid, stat.started), self.read_io(stat.pid)
            self._ticks[key] = stat.own_ticks
            if isinstance(io, tuple):
                self._bytes[key] = io
            why_no_io = why_no_io or (io if isinstance(io, str) else "")
        return ServerReading(
            epoch=self._processes.description,
            ticks=sum(self._ticks.values()),
            workers=present,
            io=why_no_io or _sum_io(self._bytes.values()),
            cpus=self.files.cpus(present[0].pid),
            waited_s=self.read_waits(present, full_scan),
        )


def process_sampler(
    selector: ProcessSelector, files: ProcFiles | None = None, cpu_alone: bool = False
) -> ProcessTreeSampler | ProcessSetSampler:
    """Return the sampler for this selector. Raises FigureUnknownError on a host without /proc."""
    if isinstance(selector, ProcessTree):
        return ProcessTreeSampler(selector.main_pid, files, cpu_alone)
    return ProcessSetSampler(selector, files, cpu_alone)


def _sum_io(parts: Iterable[tuple[int, int] | str | None]) -> tuple[int, int] | str:
    """Return the sums of bytes read and written, or the reason if a process can't be read; None counts as 0."""
    known = []
    for part in parts:
        if isinstance(part, str):
            return part
        if part is not None:
            known.append(part)
    return sum(read for read, _ in known), sum(written for _, written in known)


def _sum_waits(parts: Sequence[float | str]) -> float | str:
    """Return the sum in s, or the reason if one is not known."""
    return next((part for part in parts if isinstance(part, str)), "") or sum(map(float, parts))


def cpu_ns(pid: int) -> int:
    """Return the CPU time of all threads of a process, in ns. OSError when there is no such process."""
    return time.clock_gettime_ns(~pid << _KIND_BITS | _SCHEDULER)


class ProcessClockSampler(ProcessTreeSampler):
    """Reads the CPU of a process tree by the clocks of its processes: once a second beside hundreds of sessions.

    A process's clock has nanoseconds, where ``/proc/<pid>/stat`` has whole clock ticks: over a second, those of 300
    processes would be wrong by some percent of a CPU. And it costs a tenth of reading a file. It does not include the
    children that the process has waited for: these are taken from its file, which is read when the process is first
    seen, and again after the main process has waited for any child. Neither I/O nor waits for a CPU are read: that
    would need a file of each process. Raises FigureUnknownError on a host without /proc.
    """

    def __init__(self, main_pid: int) -> None:
        super().__init__(main_pid, cpu_alone=True)
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
