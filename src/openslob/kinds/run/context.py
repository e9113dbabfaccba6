"""What every kind of measurement is made with: where, how it is stopped and shown, and where its record goes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from openslob.core.host import FigureUnknownError, OtherHost
from openslob.core.interrupt import Interrupt
from openslob.core.measurement import StorageAlone
from openslob.core.secrets import Address
from openslob.core.workload import Workload
from openslob.engines import registry
from openslob.engines.base import Engine, Hold
from openslob.engines.facts import LoadResult
from openslob.engines.facts import ProgressSink as LoadSink
from openslob.engines.managed.base import ManagedServer
from openslob.engines.patience import Patience
from openslob.kinds.run import loading
from openslob.kinds.run.again import make_until_kept, why_lost
from openslob.kinds.run.crew import Hire, local_crew
from openslob.kinds.run.progress import ProgressSink
from openslob.record import store
from openslob.record.model import DISCARDED, READER

if TYPE_CHECKING:
    from openslob.kinds.run.runner import FinishedRun, RunRequest

Ceiling = Callable[[Engine], StorageAlone | None]


class Display(Protocol):
    """Where the user sees how far a measurement is."""

    def running(self, label: str, left_s: float | None) -> AbstractContextManager[ProgressSink]:
        """Show the progress of a run in this block; ``left_s``: seconds left of the whole that it is a part of."""

    def loading(self, block_size: int) -> AbstractContextManager[LoadSink]:
        """Show the progress of a load in this block."""

    def viewing(self, folder: Path) -> AbstractContextManager[None]:
        """Let the user look at the records that are written in a folder in this block, if that is wanted."""


def hire_here() -> AbstractContextManager[Hire]:
    """Let this process run the sessions."""
    return nullcontext(local_crew)


def no_ceiling(_sessions: int) -> Ceiling:
    """Compare no run with what storage alone gives."""
    return lambda _engine: None


@dataclass(frozen=True)
class Context:
    """A target and the folder of the records, with the user who looks on.

    ``tell`` gets a line about what happens. A block of ``stopping`` is one that the user can stop cleanly, by
    ``interrupt``. ``server_pid`` is the server's main process as the user names it, ``consented`` what the user has a
    licence for. ``hire`` provides who runs the sessions. ``ceiling_for`` returns, for so many sessions, what gives the
    raw measurement of an engine's storage that runs are compared with. ``host`` is the server's host, if the user names
    another one than this, and ``direct`` the server itself behind a target that is a pooler.
    """

    target: Address
    results: Path
    display: Display
    tell: Callable[[str], None]
    interrupt: Interrupt = field(default_factory=Interrupt)
    stopping: Callable[[], AbstractContextManager[object]] = nullcontext
    server_pid: int | None = None
    consented: frozenset[str] = frozenset()
    hire: Callable[[], AbstractContextManager[Hire]] = hire_here
    ceiling_for: Callable[[int], Ceiling] = no_ceiling
    host: OtherHost | None = None
    direct: Address | None = None

    @property
    def address(self) -> str:
        """The target as engines need it, with its password."""
        return self.target.reveal()

    def at(self, recorded: str, folder: Path) -> Self:
        """Return the same for the target of a record that is gone on with, and the host that its runs were read from.

        UsageError if the target's password is not given; SlobError if the host does not answer, and no other is given.
        """
        from openslob.host.remote import find_host  # noqa: PLC0415 - few commands read another host

        target, host = self.target.recorded_as(recorded), self.host
        if host is None and (address := _find_reader(folder)):
            host = find_host(address)
            self.tell(f"the counters of {address} are read again, as in the runs so far")
        return replace(self, target=target, host=host)

    def connect(self) -> Engine:
        """Return the engine of the target; a managed server is started. SlobError when there is none."""
        return self.adopt(registry.resolve(self.address)[0])

    def adopt(self, engine: Engine) -> Engine:
        """Return an engine of the target with what the user says of it; a stop ends its waits."""
        engine.server_pid, engine.host, engine.direct = self.server_pid, self.host, self.direct
        self.follow(engine)
        return engine

    def follow(self, engine: Engine) -> None:
        """Let a stop end the engine's waits outside of runs."""
        engine.follow(Patience(self.interrupt, self.tell))

    @property
    def stopped(self) -> bool:
        """Whether the user asked for a stop."""
        return self.interrupt.stop.is_set()

    def load(
        self, engine: Engine, server: ManagedServer | None, workload: Workload, held: Hold | None = None
    ) -> LoadResult:
        """Load what a workload needs, as `loading.load` does."""
        with self.display.loading(engine.facts().block_size) as sink:
            return loading.load(engine, server, workload, sink, self.interrupt.stop.is_set, self.tell, held)

    def run(self, engine: Engine, request: RunRequest, label: str = "", left_s: float | None = None) -> FinishedRun:
        """Make a run and write its record, as `runner.run` does; again if its window is lost and that is asked for."""
        from openslob.kinds.run import runner  # noqa: PLC0415 - takes a moment, and a load does without
        from openslob.report.text import render  # noqa: PLC0415

        discarded: list[FinishedRun] = []
        notes = list(request.notes)

        def make() -> FinishedRun:
            self._reach_host()
            # The data of a load with updates have grown by one that was discarded, as they do in a series of runs.
            asked = replace(request, notes=tuple(notes), goes_on=request.goes_on or bool(discarded))
            with self.display.running(label, left_s) as show:
                return runner.run(engine, asked, self.interrupt, show, render)

        def discard(lost: FinishedRun, why: str) -> None:
            discarded.append(lost)
            notes.append(f"{DISCARDED}{lost.folder.name}: {why}")
            self.tell(f"{why}; the run is discarded, and made again")

        finished = make_until_kept(make, lambda made: why_lost(made.record), request.retries, discard)
        return replace(finished, discarded=tuple(discarded)) if discarded else finished

    def _reach_host(self) -> None:
        """Open the connection to the server's host again if it was lost; a run does without if nobody answers."""
        try:
            if self.host:
                self.host.reopen()
        except FigureUnknownError as error:
            self.tell(f"{error}: the figures of that host are unknown")


def _find_reader(folder: Path) -> str:
    """Return the address of the host that the newest run in a folder was read from; empty if that was this host."""
    records = [entry.record for entry in reversed(store.find(folder, parts=False)) if entry.record]
    return next((str(each.environment[READER]["address"]) for each in records if READER in each.environment), "")
