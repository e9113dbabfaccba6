"""Who runs the sessions of a run: threads of this process, or those of drivers elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Semaphore
from typing import Protocol

from openslob.core.errors import start_thread
from openslob.core.measurement import DriverUse
from openslob.engines.base import Engine, SessionPlan
from openslob.kinds.run.plan import Phase
from openslob.kinds.run.worker import CONNECT_AT_ONCE, Report, Worker, allow_files, wait_longer_for_python


class Member(Protocol):
    """One session of a crew, wherever its thread is."""

    @property
    def number(self) -> int:
        """The session's number, from 0."""

    def cancel(self) -> bool:
        """Cancel the slice that is running; return whether the server took the request, as far as is known."""

    def cut(self) -> None:
        """Break its connection off."""

    def is_alive(self) -> bool:
        """Return whether its thread still runs."""

    def join(self, timeout: float | None = None) -> None:
        """Wait for its thread to end, so many seconds at the most."""


class Crew(Protocol):
    """All sessions of one run, by number."""

    @property
    def lead_s(self) -> float:
        """What it takes to hand out a phase, beyond `lead_seconds`."""

    @property
    def is_heard_late(self) -> bool:
        """Whether one hears a while later that sessions have ended, but when that was by this host's clock."""

    @property
    def members(self) -> Sequence[Member]:
        """The sessions."""

    def start(self) -> None:
        """Let all sessions connect. SlobError when some can't even begin to."""

    def give(self, phase: Phase | None, in_s: float = 0.0) -> None:
        """Queue the next phase, which begins in so many seconds, for all sessions; None ends them."""

    def late(self) -> str:
        """Return who is not known to have had the order of the last phase, which begins now; empty when all had it."""

    def stop(self) -> None:
        """Ask all sessions to end soon: they begin no further slice."""

    def collect(self) -> Sequence[DriverUse]:
        """Return what each driver did in the window, which has ended, and fetch the files that it wrote itself."""

    def close(self) -> None:
        """Let the drivers go, once all members have ended or were left; never raises."""


# Makes the crew of a run from its engine, its plans, what takes the sessions' reports, what says whether they must end,
# and the folder of the record, where files that drivers wrote themselves go.
Hire = Callable[[Engine, Sequence[SessionPlan], Callable[[Report], None], Callable[[], bool], Path], Crew]


class LocalCrew:
    """The sessions as threads of this process, which writes the files of the record itself."""

    lead_s = 0.0
    is_heard_late = False

    def __init__(
        self,
        engine: Engine,
        plans: Sequence[SessionPlan],
        report: Callable[[Report], None],
        stopping: Callable[[], bool],
        _folder: Path,
    ) -> None:
        gate = Semaphore(CONNECT_AT_ONCE)
        self._workers = [Worker(engine, plan, report, stopping, gate) for plan in plans]
        self._asked_after_s = sys.getswitchinterval()

    @property
    def members(self) -> Sequence[Member]:
        return self._workers

    def start(self) -> None:
        allow_files(len(self._workers))
        self._asked_after_s = wait_longer_for_python(len(self._workers))
        for worker in self._workers:
            start_thread(worker)

    def give(self, phase: Phase | None, in_s: float = 0.0) -> None:  # noqa: ARG002 - they wait in the server
        for worker in self._workers:
            worker.give(phase)

    def late(self) -> str:
        """Return nothing: the threads take an order at once."""
        return ""

    def stop(self) -> None:
        """Do nothing: the threads look by themselves whether they must end."""

    def collect(self) -> Sequence[DriverUse]:
        """Return nothing: this process is the driver, and the samplers of the host read it."""
        return ()

    def close(self) -> None:
        """Put the interpreter's interval back; the threads end by themselves."""
        sys.setswitchinterval(self._asked_after_s)


local_crew: Hire = LocalCrew
