"""CPU and storage I/O of the server: its main process and everything under it, ended processes included.

How nothing is lost or counted twice (Linux; each point was tried):
- A process's utime + stime is its own, all threads; cutime + cstime is that of the children it has waited for, and of
  theirs. So the sum of all four over the living tree is the CPU of all processes that ever were in it. A zombie still
  shows its own figures until it is waited for.
- ``/proc/<pid>/io`` adds the I/O of children that were waited for in the same way (seen: 16 MiB read by a child stood
  in the parent's figure once it had been waited for).
- The list of processes is read first, then the main process, then the others: one that ends before it was looked at is
  in the main process's figures, or the main process's count of ended children's page faults (``cminflt``; no process
  lives without one) has moved by the end, and everything is read again.
- A process whose parent ended belongs to init from then on and is no longer seen as the server's.

The kernel counts nanoseconds and shows whole clock ticks (SC_CLK_TCK, 10 ms), rounded down, four figures a process.
Over seconds this averages out: 300 processes are good to about 0.1 s. ``/proc/<pid>/schedstat`` would show
nanoseconds, but of one thread only, and nothing of children.
Kernel threads that work for the server (write-back) are not in any figure.

A thorough reading looks at every process of the host, for its parent. One that is not looks at those that were the
server's before, and at the children that the main process's own list names, ``/proc/<pid>/task/<pid>/children``: that
list may skip some when a child ends while it is read, but then everything is read again. Missed until the next thorough
reading is only a process that is new since and whose parent is another one, or another thread of the main process.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from openslob.host.counters import TICKS_PER_S
from openslob.host.model import FigureUnknownError, Sample
from openslob.process_selector import ProcessSelector, ProcessSet, ProcessTree

_IO_NAMES = ("server_read_bytes", "server_write_bytes")
SERVER_NAMES = ("server_cpu_s", "server_cores", *_IO_NAMES)
SAMPLER_NAMES = ("sampler_cpu_s",)
# A server whose processes end in each of five readings of some milliseconds is not one with sessions that stay.
ATTEMPTS = 5
# Files of the server's processes that stay open, so that a reading costs half. With more processes their server takes
# so much CPU that the rest does not count, and a process may have 1,024 files open by default, its connections too.
MOST_KEPT = 128
# More than the files of a process have; a list of children has 8 bytes for each of them at the most.
_MOST_BYTES = 1 << 15


@dataclass(frozen=True)
class ProcessStat:
    """``/proc/<pid>/stat``: ``ticks`` is CPU in clock ticks, ended children included; ``own_ticks`` without them.

    ``started`` is the start time in ticks since boot, which with the number makes a process unique; ``reaped_faults``
    moves whenever a child is waited for.
    """

    pid: int
    parent: int
    started: int
    ticks: int
    reaped_faults: int
    own_ticks: int = 0


@dataclass(frozen=True)
class Task:
    """A thread, or a process that has one only: its name to the kernel and its CPU seconds since it began."""

    name: str
    cpu_s: float


# By number and start, which make a task unique.
Tasks = dict[tuple[int, int], Task]


def parse_stat(text: bytes) -> ProcessStat:
    """Fields as numbered in proc(5), counted behind the command's name, which may hold blanks and parentheses."""
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
    )


def parse_io(text: bytes) -> tuple[int, int]:
    """``/proc/<pid>/io``: bytes the process caused to be read from and written to storage.

    Reads are counted when they are sent to the device: page-cache hits are not in them. Buffered writes are counted
    when a page becomes dirty, whenever it is written.
    """
    words = text.split()
    fields = dict(zip(words[::2], words[1::2], strict=True))
    return int(fields[b"read_bytes:"]), int(fields[b"write_bytes:"])


def descendants(main: int, stats: Iterable[ProcessStat]) -> list[ProcessStat]:
    """All processes under ``main``, in any depth, itself left out."""
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
    run on.
    """

    epoch: str
    ticks: int
    workers: Sequence[ProcessStat]
    io: tuple[int, int] | str
    cpus: frozenset[int] | None

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
        return Sample(values, self.epoch, unknown)

    def samplers(self, pids: Sequence[int]) -> Sample:
        """CPU seconds of the product's own sampling sessions, given by process number."""
        mine = {process.pid: process for process in self.workers if process.pid in pids}
        strangers = sorted(set(pids) - set(mine))
        if not pids:
            return Sample.missing(SAMPLER_NAMES, "no sampling session was open")
        if strangers:
            return Sample.missing(SAMPLER_NAMES, f"sampling session {strangers[0]} is no process of the server")
        epoch = "sessions " + ", ".join(f"{pid} of tick {mine[pid].started}" for pid in sorted(mine))
        return Sample({"sampler_cpu_s": sum(process.ticks for process in mine.values()) / TICKS_PER_S}, epoch)


def together(readings: Sequence[ServerReading]) -> ServerReading:
    """Several servers of one host, read one after the other, as one."""
    cpus = [reading.cpus for reading in readings]
    known = [each for each in cpus if each is not None]
    return ServerReading(
        epoch="; ".join(reading.epoch for reading in readings),
        ticks=sum(reading.ticks for reading in readings),
        workers=[process for reading in readings for process in reading.workers],
        io=_sum_io([reading.io for reading in readings]),
        cpus=frozenset().union(*known) if len(known) == len(cpus) else None,
    )


class _ProcReader(ABC):
    """Reads files of ``/proc`` of the server's processes; those in ``_known`` are kept open."""

    def __init__(self, proc: Path) -> None:
        if not (proc / "stat").exists():
            raise FigureUnknownError("the CPU of ended processes is told on Linux only")
        self._proc = os.open(proc, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._known: list[str] = []
        self._kept: dict[str, int] = {}

    @abstractmethod
    def read(self, full_scan: bool = True) -> ServerReading:
        """Return all processes of the server now. FigureUnknownError when they can't be seen.

        ``full_scan``: processes that are new are looked for everywhere, which makes up most of the cost.
        """

    def tasks(self) -> Tasks:
        """All threads of the processes of the last reading, the main one's first; none that ends meanwhile."""
        found: Tasks = {}
        for pid in self._known:
            for tid in self._threads(pid):
                text = self._once(f"{pid}/task/{tid}/stat")
                if text:
                    name, stat = text[text.index(b"(") + 1 : text.rindex(b")")], parse_stat(text)
                    found[stat.pid, stat.started] = Task(name.decode(errors="replace"), stat.own_ticks / TICKS_PER_S)
        return found

    def _threads(self, pid: str) -> Collection[str]:
        """The process's threads by number, the first one first."""
        try:
            folder = os.open(f"{pid}/task", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._proc)
        except OSError:
            return []
        try:
            return dict.fromkeys([pid, *os.listdir(folder)])  # noqa: PTH208 - of an open folder
        except OSError:
            return []
        finally:
            os.close(folder)

    def close(self) -> None:
        """Close all files of /proc; a second time does nothing."""
        self._let_go()
        if self._proc >= 0:
            os.close(self._proc)
            self._proc = -1

    def _let_go(self) -> None:
        for handle in self._kept.values():
            os.close(handle)
        self._kept.clear()
        self._known.clear()

    def _stat(self, pid: str) -> ProcessStat | None:
        """None: the process has ended, or the host hides the processes of other users (hidepid)."""
        try:
            text = self._text(f"{pid}/stat")
        except PermissionError:
            return None
        return parse_stat(text) if text else None

    def _io(self, pid: int) -> tuple[int, int] | str | None:
        """Bytes read and written, or why that is not known; None: the process has ended."""
        try:
            text = self._text(f"{pid}/io")
        except PermissionError:
            return "this user may not read the storage I/O of the server's processes"
        if text is None:
            return "this kernel keeps no storage I/O by process" if self._stat(str(pid)) else None
        return parse_io(text)

    def _text(self, name: str) -> bytes | None:
        """The text of a file under /proc; None when it is not there or its process has ended."""
        kept = self._kept.get(name)
        if kept is not None:
            try:
                return os.pread(kept, _MOST_BYTES, 0)
            except ProcessLookupError:  # another process may have its number by now
                os.close(self._kept.pop(name))
        keep = len(self._kept) < MOST_KEPT and name.partition("/")[0] in self._known
        return self._once(name, keep)

    def _once(self, name: str, keep: bool = False) -> bytes | None:
        try:
            handle = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._proc)
        except FileNotFoundError:
            return None
        try:
            return os.pread(handle, _MOST_BYTES, 0)
        except ProcessLookupError:
            return None
        finally:
            if keep:
                self._kept[name] = handle
            else:
                os.close(handle)


class ProcessSampler(_ProcReader):
    """Reads the process tree under ``main_pid``. FigureUnknownError on a host without /proc."""

    def __init__(self, main_pid: int, proc: Path = Path("/proc")) -> None:
        super().__init__(proc)
        self.main_pid = main_pid
        self._children = f"{main_pid}/task/{main_pid}/children"

    def read(self, full_scan: bool = True) -> ServerReading:
        """Return all processes of the server now.

        FigureUnknownError: the main process can't be seen, or processes end faster than they are read. ``full_scan``:
        every process of the host is looked at.
        """
        if full_scan:
            self._let_go()
        for _ in range(ATTEMPTS):
            main, reading = self._read_once(full_scan)
            if self._main().reaped_faults == main.reaped_faults:
                return reading
        raise FigureUnknownError("the server's processes ended faster than they could be read")

    def _read_once(self, full_scan: bool) -> tuple[ProcessStat, ServerReading]:
        """Return the main process as it was read before those below it, and the reading."""
        names = self._every_name() if full_scan or not self._known else self._likely_names()
        main = self._main()
        main_io = self._io(main.pid)
        below = descendants(main.pid, [stat for name in names if (stat := self._stat(name))])
        self._known = [str(stat.pid) for stat in (main, *below)]
        return main, ServerReading(
            epoch=f"process {main.pid}, started at tick {main.started}",
            ticks=sum(process.ticks for process in (main, *below)),
            workers=below,
            io=_sum_io([main_io, *(self._io(process.pid) for process in below)]),
            cpus=_cpus_of(main.pid),
        )

    def _every_name(self) -> Collection[str]:
        return [name for name in os.listdir(self._proc) if name.isdigit()]  # noqa: PTH208 - of an open folder

    def _likely_names(self) -> Collection[str]:
        """Those that were the server's, and the main process's children now; every name if it has no such list."""
        children = self._text(self._children)
        if children is None:
            return self._every_name()
        return dict.fromkeys([*self._known[1:], *children.decode().split()])

    def _main(self) -> ProcessStat:
        stat = self._stat(str(self.main_pid))
        if stat is None:
            raise FigureUnknownError(f"the server's main process {self.main_pid} is gone, or hidden from this user")
        return stat


class ProcessSetSampler(_ProcReader):
    """Reads processes without a common parent. FigureUnknownError on a host without /proc.

    A process counts with its own threads. What a process used until it was last read stays in the sum after it ended;
    what it used after that is lost, with nobody to tell it.
    """

    def __init__(self, processes: ProcessSet, proc: Path = Path("/proc")) -> None:
        super().__init__(proc)
        self._processes = processes
        self._ticks: dict[tuple[int, int], int] = {}
        self._bytes: dict[tuple[int, int], tuple[int, int]] = {}

    def read(self, full_scan: bool = True) -> ServerReading:
        """Return all processes of the set now. FigureUnknownError when there is none. ``full_scan``: find them anew."""
        if full_scan or not self._known:
            self._let_go()
            self._known = [str(pid) for pid in self._processes.find()]
        present = [stat for name in self._known if (stat := self._stat(name))]
        if not present:
            raise FigureUnknownError(f"there are no {self._processes.description}, or they are hidden from this user")
        why_no_io = ""
        for stat in present:
            key, io = (stat.pid, stat.started), self._io(stat.pid)
            self._ticks[key] = stat.own_ticks
            if isinstance(io, tuple):
                self._bytes[key] = io
            why_no_io = why_no_io or (io if isinstance(io, str) else "")
        return ServerReading(
            epoch=self._processes.description,
            ticks=sum(self._ticks.values()),
            workers=present,
            io=why_no_io or _sum_io(self._bytes.values()),
            cpus=_cpus_of(present[0].pid),
        )


def process_sampler(selector: ProcessSelector, proc: Path = Path("/proc")) -> ProcessSampler | ProcessSetSampler:
    """Return the sampler of the processes that ``selector`` selects. FigureUnknownError on a host without /proc."""
    if isinstance(selector, ProcessTree):
        return ProcessSampler(selector.main_pid, proc)
    return ProcessSetSampler(selector, proc)


def _sum_io(parts: Iterable[tuple[int, int] | str | None]) -> tuple[int, int] | str:
    """Sum over the processes; the first reason when one of them can't be read. An ended one is in its parent's."""
    known = []
    for part in parts:
        if isinstance(part, str):
            return part
        if part is not None:
            known.append(part)
    return sum(read for read, _ in known), sum(written for _, written in known)


def _cpus_of(pid: int) -> frozenset[int] | None:
    try:
        return frozenset(os.sched_getaffinity(pid)) if hasattr(os, "sched_getaffinity") else None
    except OSError:
        return None
