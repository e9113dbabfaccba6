"""A driver: runs its part of a run's sessions, writes what they did to files of its own, and only then reports it.

It does nothing by itself. Whatever becomes of the task that made it, sessions run only when the process that leads the
run says so, to an agent that has the run's order; a second agent, or the same order again, is refused.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Lock, Semaphore, Thread

from openslob.core.errors import SlobError, of_the_system, start_thread
from openslob.core.interrupt import Interrupt
from openslob.core.measurement import EngineDelta
from openslob.core.places import home
from openslob.core.units import NANOS
from openslob.engines.base import Engine, Session, SessionPlan
from openslob.engines.patience import Patience
from openslob.engines.registry import resolve_as_is
from openslob.fleet.messages import DRIVERS, FILES, Heard, Order, Said, Use, Who
from openslob.fleet.stillness import Stillness, StillnessWatch
from openslob.host.sampler import OsReader, difference
from openslob.kinds.run.plan import Phase
from openslob.kinds.run.recorder import Recorder
from openslob.kinds.run.samplers import clock_offset_ns
from openslob.kinds.run.worker import (
    CONNECT_AT_ONCE,
    Lost,
    PhaseDone,
    Report,
    SliceDone,
    Worker,
    allow_files,
    wait_longer_for_python,
)
from openslob.record.thinning import ThinnedCsv

# A driver to which nothing is said for so long ends its sessions: the leading process is gone, or can't reach it.
ALONE_S = 120.0
# How long sessions may take to end then, before they are cut off.
LEAVE_S = 10.0
# How often the files are looked after while nothing is reported.
KEEP_S = 0.2
# How long before the window begins its first reading is to be made.
READ_AHEAD_S = 0.02
# How long an answer may wait for the files to be written.
MOST_WAIT_S = 5.0
MOST_BYTES = 1024 * 1024
WINDOW = "window"
# The parts of runs that this process has had.
BEGUN_HERE: set[tuple[str, int]] = set()
_BUSY = Lock()


class DriverAgent:
    """A driver as the leading process talks to it. Its calls return at once; one at a time is made."""

    def __init__(self) -> None:
        # Its part of the run, once it has begun it.
        self.job: DriverJob | None = None

    def who(self) -> Who:
        """Return which process this is."""
        return Who.here()

    def reach(self, order: Order) -> float:
        """Connect to the target and disconnect; return the server's clock minus this one's, in s."""
        return _offset_s(_engine_of(order))

    def begin(self, order: Order) -> None:
        """Begin to connect the sessions. SlobError for an order that was taken before."""
        with _BUSY:
            if (order.run, order.number) in BEGUN_HERE:
                raise SlobError("it has run these sessions before, and nothing is run twice")
            BEGUN_HERE.add((order.run, order.number))
        self.job = DriverJob(order)
        self.job.begin()

    def exchange(self, said: Said) -> Heard:
        """Do what is said, and return what was reported since."""
        return self._require().exchange(said)

    def finish(self) -> Use:
        """Close the files, and return what was used in the window."""
        return self._require().finish()

    def read(self, name: str, offset: int) -> bytes:
        """Return the next bytes of one of the files."""
        with (self._require().folder / Path(name).name).open("rb") as file:
            file.seek(offset)
            return file.read(MOST_BYTES)

    def discard(self) -> None:
        """Remove the files: the leading process has them."""
        self._require().discard()

    def end(self) -> None:
        """End all sessions that are left."""
        if self.job is not None:
            self.job.end()

    def _require(self) -> DriverJob:
        if self.job is None:
            raise SlobError("it does not know this run: its process was restarted")
        return self.job


class _Session(Worker):
    """A session that says when it has the order of a phase."""

    def __init__(
        self,
        engine: Engine,
        plan: SessionPlan,
        report: Callable[[Report], None],
        stopping: Callable[[], bool],
        begun: Callable[[int], None],
        gate: Semaphore,
    ) -> None:
        super().__init__(engine, plan, report, stopping, gate)
        self._begun = begun

    def _run_phase(self, session: Session, phase: Phase) -> None:
        self._begun(self.number)
        super()._run_phase(session, phase)


class DriverJob:
    """One driver's part of one run. Calls come from one thread; sessions and the keeper of the files have their own."""

    def __init__(self, order: Order) -> None:
        below = order.folder or home() / DRIVERS / order.run
        self.folder = below / DRIVERS / str(order.number) if order.folder else below / str(order.number)
        self._order = order
        self._messages: Queue[Report] = Queue()
        self._out: list[Report] = []
        self._taken = 0
        self._last_alive = frozenset(plan.number for plan in order.plans)
        self._lock, self.files_lock, self._ending = Lock(), Lock(), Lock()
        self._asked_after_s = sys.getswitchinterval()
        self._stop, self.over = Event(), Event()
        self._ended = self._measured = self.has_begun = self._has_failed = False
        self.said_at = time.monotonic()
        self.phase: Phase | None = None
        self._begun: set[int] = set()
        self.error = ""
        self._recorder: Recorder | None = None
        self._still: Stillness | None = None
        self._os = OsReader([], [], list)
        self.use = Use(folder=str(self.folder), why_unknown="the window was not begun")
        self._sessions: list[_Session] = []
        try:
            self.folder.mkdir(parents=True)
            self._raw = ThinnedCsv(self.folder)
        except FileExistsError:
            raise SlobError(f"{self.folder} is there already: this part of the run was begun before") from None
        except OSError as error:
            raise of_the_system(error) from error

    def begin(self) -> None:
        """Connect, on threads of their own."""
        start_thread(Thread(target=self._keep, name="files", daemon=True))
        start_thread(Thread(target=self._connect, name="connect", daemon=True))

    def _connect(self) -> None:
        try:
            engine = _engine_of(self._order)
            engine.follow(Patience(Interrupt()))
            offset_s = _offset_s(engine)
            self.use = Use(clock_offset_s=offset_s, folder=str(self.folder), why_unknown="the window was not begun")
            make, gate = partial(_Session, engine), Semaphore(CONNECT_AT_ONCE)
            # All are there before the first one reports: the next phase is given to those that are there.
            self._sessions = [
                make(plan, self._messages.put, self._stop.is_set, self._begun.add, gate) for plan in self._order.plans
            ]
            allow_files(len(self._sessions))
            self._asked_after_s = wait_longer_for_python(len(self._sessions))
            for session in self._sessions:
                start_thread(session)
            if self._stop.is_set():
                # They were told to end before there were any.
                self._end_all()
        except (SlobError, OSError, MemoryError) as error:
            self._lose(str(error if isinstance(error, SlobError) else of_the_system(error)))
        except BaseException as error:
            self._lose(repr(error))
            raise

    def _lose(self, why: str) -> None:
        """Report the sessions that could not be begun."""
        self._stop.set()
        begun = {session.number for session in self._sessions if session.ident is not None}
        for plan in self._order.plans:
            if plan.number not in begun:
                self._messages.put(Lost(plan.number, why))
        self._has_failed = True

    def exchange(self, said: Said) -> Heard:
        """Do what is said, and return the reports that were not heard yet."""
        self.said_at = time.monotonic()
        if said.stop or said.ended:
            self._stop.set()
        if said.phase is not None:
            self._give(said.phase)
        if said.ended and not self._ended:
            self._ended = True
            self._end_all()
        for session in self._sessions:
            if session.number in said.cancel and not session.cancel():
                session.cut()
            if session.number in said.cut:
                session.cut()
        alive = self.alive()
        # Of a session that has ended, all reports must be heard: with slow storage it has not ended yet.
        with self._messages.all_tasks_done:
            if self._messages.all_tasks_done.wait_for(lambda: not self._messages.unfinished_tasks, MOST_WAIT_S):
                self._last_alive = alive
        begin_ns = self.phase.begin_ns if self.phase else 0
        with self._lock:
            # What was heard is not kept.
            del self._out[: max(0, said.heard - self._taken)]
            self._taken = max(self._taken, said.heard)
            return Heard(self._taken, list(self._out), self._last_alive, begin_ns, len(self._begun), self.error)

    def _end_all(self) -> None:
        for session in self._sessions:
            session.give(None)

    def alive(self) -> frozenset[int]:
        """Return the sessions that have not ended, or may still begin."""
        if not self._sessions:
            return frozenset() if self._has_failed else frozenset(plan.number for plan in self._order.plans)
        # Those that were not begun yet are to come, unless they never will.
        to_come = [] if self._has_failed else [each.number for each in self._sessions if each.ident is None]
        return frozenset([*to_come, *(each.number for each in self._sessions if each.is_alive())])

    def _give(self, phase: Phase) -> None:
        if self.phase is not None and (self.phase.name, self.phase.begin_ns) == (phase.name, phase.begin_ns):
            self.phase.end_ns = phase.end_ns
            return
        self.phase = phase
        self._begun.clear()
        if phase.name == WINDOW:
            self._measured = True
            run_time = self._order.plans[0].workload.run_time
            recorder = Recorder(self._order.plans, phase.begin_ns, run_time, self._raw, _count_nothing, _unseen)
            with self.files_lock:
                self._recorder, self._before = recorder, self._os.read()
        for session in self._sessions:
            session.give(phase)

    def _keep(self) -> None:
        """Write what sessions report, then let it be heard; end all if nothing is said for too long."""
        watch = StillnessWatch()
        while not self.over.is_set():
            pause_s = self._pause_s()
            watch.begin()
            reports = self.take_reports(pause_s)
            watch.end(pause_s)
            self._pass_on(reports)
            if not self.has_begun:
                # What was before the window is not of it.
                watch.longest = None
            self._still = watch.longest
            if time.monotonic() > self.said_at + ALONE_S:
                self.error = self.error or f"it heard nothing for {ALONE_S:.0f} s, so it ended its sessions"
                self.end()

    def _mark_begin(self, batch: Sequence[Report]) -> None:
        """Read what was used so far until the window begins, never later: it is given out seconds before.

        If the clock was set meanwhile, the first slice says that it has begun.
        """
        if self._recorder is None or self.has_begun or self.over.is_set():
            return
        self.has_begun = self._begins_in_s() <= 0 or any(isinstance(message, SliceDone) for message in batch)
        if not self.has_begun:
            self._before = self._os.read()

    def _begins_in_s(self) -> float:
        begin_ns = self.phase.begin_ns if self.phase else 0
        return (begin_ns - time.time_ns()) / NANOS - (self.use.clock_offset_s or 0.0)

    def _pass_on(self, batch: Sequence[Report]) -> None:
        try:
            with self.files_lock:
                self._mark_begin(batch)
                self.write_rows(batch)
            with self._lock:
                self._out += batch
        except BaseException as error:
            # A defect: the run must not wait for reports that do not come, and the traceback must be shown.
            self.error = self.error or repr(error)
            raise
        finally:
            for _ in batch:
                self._messages.task_done()

    def write_rows(self, batch: Sequence[Report]) -> None:
        """Write what sessions reported of the window; `error` says why that can't be done."""
        if self._recorder is None:
            return
        for message in batch:
            self._recorder.handle(message)
        if any(isinstance(message, SliceDone) for message in batch):
            self._raw.flush()
        if self._raw.error and not self.error:
            self.error = str(self._raw.error)
        if any(isinstance(message, PhaseDone) for message in batch):
            self._note_use()

    def _pause_s(self) -> float:
        """Return how long to wait for reports: to the last reading before the window at the most."""
        to_last_reading_s = self._begins_in_s() - READ_AHEAD_S
        return min(KEEP_S, to_last_reading_s) if to_last_reading_s > 0 else KEEP_S

    def take_reports(self, timeout_s: float) -> list[Report]:
        """Return all reports that there are, or after waiting the first one; none within ``timeout_s``."""
        batch: list[Report] = []
        with suppress(Empty):
            batch.append(self._messages.get(timeout=timeout_s))
            while True:
                batch.append(self._messages.get_nowait())
        return batch

    def _note_use(self) -> None:
        """Note what was used since the window began."""
        used = difference(self._before, self._os.read())
        cpu = used.cpu or {}
        idle = sum(cpu.get(kind, 0.0) for kind in ("idle", "iowait"))
        self.use = Use(
            clock_offset_s=self.use.clock_offset_s,
            seconds=used.seconds,
            cpu_s=used.driver_cpu_s,
            peak_rss_bytes=used.driver_peak_rss_bytes,
            host_busy_s=sum(cpu.values()) - idle if cpu else None,
            host_cpus=used.cores,
            folder=str(self.folder),
            why_unknown="; ".join(dict.fromkeys(used.unknown[name] for name in used.unknown if name in _READ)),
        )

    def finish(self) -> Use:
        """Write all rows and close the files; return what was used."""
        self._close_files()
        sizes = {name: (self.folder / name).stat().st_size for name in FILES if (self.folder / name).exists()}
        still = self._still
        begin_ns = self.phase.begin_ns - round((self.use.clock_offset_s or 0.0) * NANOS) if self.phase else 0
        found = {} if still is None else {
            "still_s": still.seconds, "still_at_s": (still.begin_ns - begin_ns) / NANOS, "still_cpu_s": still.cpu_s,
            "still_waited_s": still.waited_s,
        }  # fmt: skip
        return Use(**{**vars(self.use), "sizes": sizes, **found})

    def end(self) -> None:
        """End the sessions that are left, by force in the end, and close everything."""
        # It may be told to just as it does so by itself.
        with self._ending:
            if not self.over.is_set():
                self._end_sessions()
                sys.setswitchinterval(self._asked_after_s)
                self.over.set()
                # What they reported last.
                self._pass_on(self.take_reports(0.0))
                self._close_files()
                # Only now: whoever writes the files reads the host, too.
                self._os.close()
                if not self._measured:
                    self.discard()

    def _end_sessions(self) -> None:
        self._stop.set()
        self._end_all()
        for step in (Worker.cancel, Worker.cut):
            alive = [session for session in self._sessions if session.is_alive()]
            for session in alive:
                step(session)
            deadline = time.monotonic() + LEAVE_S / 2
            for session in alive:
                session.join(max(0.0, deadline - time.monotonic()))

    def discard(self) -> None:
        """Remove the files, and the folder of the run with the last of them."""
        shutil.rmtree(self.folder, ignore_errors=True)
        with suppress(OSError):
            self.folder.parent.rmdir()

    def _close_files(self) -> None:
        with self.files_lock:
            if self._recorder is not None:
                self._recorder.finish()
                self._recorder = None
            with suppress(SlobError):
                self._raw.close()


# What is read of a driver and its host.
_READ = frozenset({"cpu", "driver_cpu_s", "driver_peak_rss_bytes"})


def _engine_of(order: Order) -> Engine:
    engine = resolve_as_is(order.target.reveal())
    engine.direct = order.direct
    return engine


def _offset_s(engine: Engine) -> float:
    counters = engine.open_counters()
    try:
        return clock_offset_ns(counters)[1] / NANOS
    finally:
        counters.close()


def _count_nothing(_before: object, _after: object) -> EngineDelta:
    return EngineDelta()


def _unseen(_progress: object) -> None:
    """Show nothing: the leading process does."""
