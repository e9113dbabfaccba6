"""A test of failover, cycle by cycle: load, outage, another server takes over, and the level is reached again."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

from openslob._version import __version__
from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import Interrupt
from openslob.core.units import NANOS, iso
from openslob.engines.base import Engine
from openslob.engines.ledger import LedgerContents, LedgerTables
from openslob.engines.patience import Patience
from openslob.kinds.failover import servers as places
from openslob.kinds.failover.cycle import (
    WARM_S,
    Observed,
    commits_rows,
    figures_of,
    lag_of_copies,
    lag_rows,
    outage_of,
)
from openslob.kinds.failover.lag import LagSampler
from openslob.kinds.failover.outage import MEAN_OVER_S, acknowledged, all_back_ns, back_ns, level, longest_gap
from openslob.kinds.failover.record import COMMITS, COMMITS_FILE, LAG, LAG_FILE, FailoverFolder, FailoverRecord
from openslob.kinds.failover.servers import Servers
from openslob.kinds.failover.sessions import Client, Plan, Retry
from openslob.kinds.failover.verdicts import summary, verdicts
from openslob.record.model import Status
from openslob.record.store import record_id

# How often the course of a cycle is looked at, and how long it goes on after the level was reached again.
_LOOK_S, _WATCH_S = 0.25, 0.05
_MORE_S = 2.0
# How long sessions may take to end, and copies to get the tables.
_ENDING_S, _ARRIVAL_S = 5.0, 60.0
_ROWS = 16
# How long a thread of this process may make another one wait for its turn: acknowledgements are noted at once.
_TURN_S = 0.0005
STOPPED = "the test was stopped"


@dataclass(frozen=True)
class Request:
    """What is to be tested. ``before_s`` is the time of the load before the outage, ``recovery_s`` the most after it.

    ``per_s`` is the rate of all sessions together; None: as fast as they can.
    """

    name: str
    results: Path
    sessions: int = 8
    cycles: int = 1
    before_s: float = 10.0
    recovery_s: float = 60.0
    retry: Retry = Retry.ASK
    per_s: float | None = None
    answer_s: float = 10.0
    synchronous: bool = False

    def asked(self) -> dict[str, object]:
        """Return the parameters as they are recorded."""
        kept = {name: value for name, value in vars(self).items() if name not in ("name", "results")}
        return {**kept, "retry": self.retry.value}


@dataclass
class Crew:
    """The sessions of a cycle with the tables on each server, in the order of the servers."""

    engines: Sequence[Engine]
    tables: Sequence[LedgerTables]
    plan: Plan
    clients: Sequence[Client]
    began_ns: int = 0
    names: Sequence[str] = field(default_factory=tuple)

    def stop(self) -> None:
        """End all sessions; those that wait for an answer are cut off. SlobError when one does not end."""
        self.plan.stop.set()
        until = time.monotonic() + _ENDING_S
        late = [client for client in self.clients if not client.join(max(0.0, until - time.monotonic()))]
        until = time.monotonic() + _ENDING_S * 4
        while late:
            # One may just be about to ask another server.
            for client in late:
                client.cut()
            late = [client for client in late if not client.join(_WATCH_S)]
            if late and time.monotonic() > until:
                raise SlobError(
                    "sessions do not end, although they were cut off", "end this program by a second Ctrl-C"
                )

    def close(self) -> None:
        """Close all connections."""
        for client in self.clients:
            client.close()

    def watch(self) -> None:
        """Cut sessions off that wait too long for an answer, until all are stopped."""
        while not self.plan.stop.wait(_WATCH_S):
            for client in self.clients:
                client.cut_if_late()

    def server_of(self, number: int) -> LedgerContents:
        """Return what a server has in the end, with all that it or its cluster has acknowledged."""
        session = self.tables[number].open_session(0)
        try:
            session.last()
        finally:
            session.close()
        return self.tables[number].contents()

    def writers(self) -> list[int]:
        """Return the servers that take writes, that of most sessions first. SlobError when there is none."""
        found, refused = [], SlobError("no server takes writes")
        for number in self.plan.order(0, None):
            try:
                session = self.tables[number].open_session(0)
            except SlobError as error:
                refused = error
                continue
            try:
                session.last()
            except SlobError as error:
                refused = error
            else:
                found.append(number)
            finally:
                session.close()
        if not found:
            raise refused
        ends = Counter(client.journal.targets[-1] for client in self.clients if len(client.journal))
        return sorted(found, key=lambda number: -ends[number])

    def divided(self, writers: Sequence[int]) -> list[str]:
        """Return the problem that servers take writes of which one should follow the other; none in a cluster."""
        if self.plan.spread or len(writers) < 2:
            return []
        names = " and ".join(self.names[number] for number in writers)
        return [f"{names} take writes, each for itself (split brain): what one has the other lacks"]


@contextmanager
def crew(request: Request, servers: Servers, interrupt: Interrupt) -> Iterator[Crew]:
    """Create the tables and connect all sessions; remove the tables at the end of the block, wherever they are then."""
    engines = servers.engines()
    for engine in engines:
        engine.follow(Patience(interrupt))
    tables = [_tables(engine) for engine in engines]
    with ExitStack() as stack:
        stack.callback(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(_TURN_S)
        # The locks' connections end with the server that is killed.
        locks = stack.enter_context(ExitStack())
        locks.enter_context(places.held(engines))
        tables[0].create(request.sessions, _ROWS)
        found: Crew | None = None

        def remove() -> None:
            with suppress(SlobError):
                for number in found.writers() if found else [0]:
                    tables[number].drop()

        stack.callback(remove)
        tables[0].heartbeat(0)
        places.await_copies(engines[1:], _ARRIVAL_S)
        plan = Plan(
            targets=dict(enumerate(tables)), rows=_ROWS, retry=request.retry, spread=servers.spread,
            answer_s=request.answer_s, per_s=request.per_s, sessions=request.sessions,
        )  # fmt: skip
        clients = [Client(number, plan) for number in range(request.sessions)]
        found = Crew(engines, tables, plan, clients, names=servers.names)
        stack.callback(found.close)
        for client in clients:
            client.connect()
        stack.callback(found.stop)
        found.began_ns = time.monotonic_ns()
        Thread(target=found.watch, name="watch", daemon=True).start()
        for client in clients:
            client.start()
        yield found


def _tables(engine: Engine) -> LedgerTables:
    tables = engine.ledger()
    if tables is None:
        raise UsageError(f"{engine.name} has no tables to prove commits by yet", "use another engine")
    return tables


class Conduct:
    """Runs the cycles and writes the record."""

    def __init__(
        self, request: Request, servers: Servers, interrupt: Interrupt, tell: Callable[[str], None], mends_last: bool
    ) -> None:
        self._request, self._servers, self._interrupt, self._tell = request, servers, interrupt, tell
        self._mends_last = mends_last

    def run(self) -> tuple[FailoverRecord, Path]:
        """Run all cycles; return the record and its folder. An error after the first cycle began is in the record."""
        with begin(self._request, self._servers, self._request.asked()) as folder:
            status = Status.COMPLETE
            errors: tuple[str, ...] = ()
            try:
                for number in range(1, self._request.cycles + 1):
                    self._cycle(folder, number)
                    if number < self._request.cycles or self._mends_last:
                        self._tell("making the servers whole again")
                        self._servers.mend()
            except SlobError as error:
                stopped = self._interrupt.requested
                status = Status.INTERRUPTED if stopped else Status.FAILED
                errors = (STOPPED if stopped else str(error),)
            cycles = folder.record.cycles
            found = {"summary": summary(cycles) if cycles else {}, "verdicts": verdicts(cycles, folder.record.asked)}
            folder.update(status=status, errors=errors, **found)
            return folder.record, folder.path

    def _cycle(self, folder: FailoverFolder, number: int) -> None:
        if self._request.synchronous:
            self._servers.synchronous(True)
        with crew(self._request, self._servers, self._interrupt) as team:
            pairs = list(zip(team.engines, team.tables, strict=True))
            sampler = LagSampler(pairs[0], dict(list(enumerate(pairs))[1:]))
            sampler.start()
            try:
                self._tell(f"cycle {number} of {self._request.cycles}: load for {self._request.before_s:g} s")
                self._wait(self._request.before_s)
                calm_ns = time.monotonic_ns()
                cause_ns, taken_ns = self._outage()
                self._until_back(team, cause_ns)
            finally:
                end_ns = time.monotonic_ns()
                team.stop()
                sampler.stop()
            self._save(folder, number, team, sampler, (calm_ns, end_ns, cause_ns, taken_ns))

    def _outage(self) -> tuple[int | None, int | None]:
        """Make the outage and let another server take over; return when each was done."""
        if not self._servers.makes_outage:
            self._tell("make the outage now")
            return None, None
        self._tell(f"outage: {self._servers.roles['cause']}")
        cause_ns = time.monotonic_ns()
        self._servers.cause()
        return cause_ns, self._servers.take_over()

    def _until_back(self, team: Crew, cause_ns: int | None) -> None:
        """Wait until the level is reached again, and a little longer; at most for as long as was asked for."""
        deadline = time.monotonic() + self._request.recovery_s
        while time.monotonic() < deadline:
            self._wait(_LOOK_S)
            journals = [client.journal for client in team.clients]
            acked = acknowledged(journals)
            if cause_ns is None and not any(client.journal.losses for client in team.clients):
                continue
            now = time.monotonic_ns()
            from_ns = cause_ns or team.began_ns + int(WARM_S * NANOS)
            gap = longest_gap(acked, from_ns, all_back_ns(journals, now))
            before = level(acked, team.began_ns + int(WARM_S * NANOS), gap.begin_ns) if gap else None
            back = back_ns(acked, gap, before, now) if gap and before else None
            if back and now > back + (MEAN_OVER_S + _MORE_S) * NANOS:
                return

    def _wait(self, seconds: float) -> None:
        """Wait while the sessions work. SlobError when the test is stopped."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._interrupt.stop.wait(left):
                raise SlobError(STOPPED)

    def _save(
        self, folder: FailoverFolder, number: int, team: Crew, sampler: LagSampler,
        times: tuple[int, int, int | None, int | None],
    ) -> None:  # fmt: skip
        calm_ns, end_ns, cause_ns, taken_ns = times
        after, *others = team.writers()
        seen = Observed(
            journals=[client.journal for client in team.clients],
            contents=team.server_of(after),
            rows=_ROWS,
            offsets=team.plan.offsets,
            begin_ns=team.began_ns,
            end_ns=end_ns,
            cause_ns=cause_ns,
            taken_over_ns=taken_ns,
            wall_ns=time.time_ns() - time.monotonic_ns(),
        )
        gap = outage_of(seen).driver
        calm = [each for each in sampler.samples if each.at_ns < min(calm_ns, gap.begin_ns if gap else calm_ns)]
        cycle = figures_of(seen, number, team.names[0], team.names[after], lag_of_copies(calm, team.names))
        cycle = cycle.model_copy(update={"problems": (*team.divided([after, *others]), *cycle.problems)})
        folder.add_rows(COMMITS_FILE, COMMITS, commits_rows(seen.journals, seen.begin_ns, seen.end_ns, number))
        folder.add_rows(LAG_FILE, LAG, lag_rows(sampler.samples, team.began_ns, number, team.names))
        folder.update(cycles=(*folder.record.cycles, cycle))


def begin(request: Request, servers: Servers, asked: dict[str, object]) -> FailoverFolder:
    """Create the folder of the record."""
    started = iso(time.time_ns())
    facts = servers.engines()[0].facts()
    record = FailoverRecord(
        id=record_id(request.name, started),
        name=request.name,
        status=Status.FAILED,
        started_at=started,
        openslob_version=__version__,
        targets=tuple(engine.target for engine in servers.engines()),
        asked=asked,
        servers={"product": facts.product, "version": facts.version},
        roles=servers.roles,
    )
    return FailoverFolder.begin(request.results, record)
