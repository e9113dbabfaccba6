"""A test of failover, cycle by cycle: load, outage, another server takes over, and the level is reached again.

Or, without an outage, the search for the highest rate of commits that copies follow: steps at paced rates, which halve
the distance between yes and no.
"""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import Interrupt
from openslob.core.units import NANOS
from openslob.engines.base import Engine
from openslob.engines.ledger import LedgerContents, LedgerTables
from openslob.engines.patience import Patience
from openslob.kinds.failover import servers as places
from openslob.kinds.failover.figures import (
    MEAN_OVER_S,
    WARM_S,
    ObservedCycle,
    all_back_ns,
    back_ns,
    commits_rows,
    figures_of,
    find_acknowledged,
    lag_of_copies,
    lag_rows,
    level,
    longest_pause,
    outage_of,
    summary,
    verdicts,
)
from openslob.kinds.failover.lag import INTERVAL_S, LagSample, LagSampler
from openslob.kinds.failover.record import (
    COMMITS,
    COMMITS_FILE,
    LAG,
    LAG_FILE,
    FailoverFolder,
    FailoverRecord,
    FollowStep,
)
from openslob.kinds.failover.servers import Servers
from openslob.kinds.failover.sessions import FailoverSession, Plan, Retry
from openslob.record.model import Figure, Status
from openslob.record.store import new_head

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
class FailoverRequest:
    """What is to be tested. ``before_s`` is the time of the load before the outage, ``recovery_s`` the most after it.

    ``per_s`` is the rate of all sessions together; None: as fast as they can. ``follow_limit_s`` asks for the rate that
    copies follow with less lag, without an outage. Without ``targets`` servers are made, of ``engine``: a pair, or a
    cluster of so many ``nodes``. ``on_outage`` and ``repair`` are commands for servers by URL.
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
    follow_limit_s: float | None = None
    targets: Sequence[str] = ()
    engine: str | None = None
    nodes: int | None = None
    on_outage: str | None = None
    repair: str | None = None

    def to_parameters(self) -> dict[str, object]:
        """Return the parameters as they are recorded."""
        kept = {name: getattr(self, name) for name in _RECORDED}
        follow = {} if self.follow_limit_s is None else {"follow_limit_s": self.follow_limit_s}
        return {**kept, "retry": self.retry.value, **follow}

    def check(self) -> None:
        """Raise UsageError for parameters that exclude each other."""
        if self.engine and self.targets:
            raise UsageError("--engine is for a new pair, and --target names servers", "give one of them")
        if self.nodes and (self.targets or self.synchronous):
            raise UsageError(
                "--nodes makes a new cluster, whose commits wait for its nodes", "give no --target, --synchronous"
            )
        if places.are_managed(self.targets) and (self.on_outage or self.repair):
            raise UsageError(
                "slob kills, promotes and repairs managed servers itself",
                "--on-outage and --repair are for servers by URL",
            )

    @property
    def kills_named(self) -> bool:
        """Whether managed servers of the user's are killed and created again."""
        return bool(self.targets) and places.are_managed(self.targets) and self.follow_limit_s is None


# The parameters in the record, in their order there.
_RECORDED = ("sessions", "cycles", "before_s", "recovery_s", "retry", "per_s", "answer_s", "synchronous")


def execute(request: FailoverRequest, interrupt: Interrupt, tell: Callable[[str], None]) -> tuple[FailoverRecord, Path]:
    """Make the outages, or search for the rate that copies follow; return the record and its folder.

    Raises UsageError for parameters that exclude each other and servers that are no such pair, SlobError if they can't
    be used. An error after the first cycle began is in the record.
    """
    request.check()
    fresh, commands = (request.engine, request.nodes), (request.on_outage, request.repair)
    with places.open_servers(request.targets, fresh, commands, interrupt, tell) as (servers, is_named):
        if request.follow_limit_s is None:
            return Conduct(request, servers, interrupt, tell, is_named).run()
        return FollowSearch(request, servers, interrupt, tell, request.follow_limit_s).run()


@dataclass
class OpenSessions:
    """The sessions of a cycle with the tables on each server, in the order of the servers."""

    engines: Sequence[Engine]
    tables: Sequence[LedgerTables]
    plan: Plan
    clients: Sequence[FailoverSession]
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

    def find_divided(self, writers: Sequence[int]) -> list[str]:
        """Return the problem that servers take writes of which one should follow the other; none in a cluster."""
        if self.plan.spread or len(writers) < 2:
            return []
        names = " and ".join(self.names[number] for number in writers)
        return [f"{names} take writes, each for itself (split brain): what one has the other lacks"]


@contextmanager
def connect_sessions(request: FailoverRequest, servers: Servers, interrupt: Interrupt) -> Iterator[OpenSessions]:
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
        for engine in engines:
            locks.enter_context(engine.exclusive(places.PURPOSE))
        tables[0].create(request.sessions, _ROWS)
        found: OpenSessions | None = None

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
        clients = [FailoverSession(number, plan) for number in range(request.sessions)]
        found = OpenSessions(engines, tables, plan, clients, names=servers.names)
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


@dataclass(frozen=True)
class _FailoverTest(ABC):
    """A test and its record. An error after it began is in the record."""

    _request: FailoverRequest
    _servers: Servers
    _interrupt: Interrupt
    _tell: Callable[[str], None]

    def run(self) -> tuple[FailoverRecord, Path]:
        """Run the test; return the record and its folder."""
        with begin(self._request, self._servers) as folder:
            status = Status.COMPLETE
            errors: tuple[str, ...] = ()
            try:
                self._work(folder)
            except SlobError as error:
                stopped = self._interrupt.requested
                status = Status.INTERRUPTED if stopped else Status.FAILED
                errors = (STOPPED if stopped else str(error),)
            folder.update(status=status, errors=errors, **self._findings(folder.record))
            return folder.record, folder.path

    def _wait(self, seconds: float) -> None:
        """Wait while the sessions work. SlobError when the test is stopped."""
        if self._interrupt.stop.wait(seconds):
            raise SlobError(STOPPED)

    @abstractmethod
    def _work(self, folder: FailoverFolder) -> None:
        """Make all cycles or steps, and save each."""

    @abstractmethod
    def _findings(self, record: FailoverRecord) -> dict[str, object]:
        """Return what the cycles or steps come to, by field of the record."""


@dataclass(frozen=True)
class Conduct(_FailoverTest):
    """Runs the cycles. With ``mends_last`` the servers are made whole again after the last one, too."""

    mends_last: bool

    def _work(self, folder: FailoverFolder) -> None:
        for number in range(1, self._request.cycles + 1):
            self._cycle(folder, number)
            if number < self._request.cycles or self.mends_last:
                self._tell("making the servers whole again")
                self._servers.mend()

    def _findings(self, record: FailoverRecord) -> dict[str, object]:
        cycles = record.cycles
        return {"summary": summary(cycles) if cycles else {}, "verdicts": verdicts(cycles, record.asked)}

    def _cycle(self, folder: FailoverFolder, number: int) -> None:
        if self._request.synchronous:
            self._servers.synchronous(True)
        with connect_sessions(self._request, self._servers, self._interrupt) as team:
            sampler = LagSampler(team.engines, team.tables)
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

    def _until_back(self, team: OpenSessions, cause_ns: int | None) -> None:
        """Wait until the level is reached again, and a little longer; at most for as long as was asked for."""
        deadline = time.monotonic() + self._request.recovery_s
        while time.monotonic() < deadline:
            self._wait(_LOOK_S)
            journals = [client.journal for client in team.clients]
            acked = find_acknowledged(journals)
            if cause_ns is None and not any(client.journal.losses for client in team.clients):
                continue
            now = time.monotonic_ns()
            from_ns = cause_ns or team.began_ns + int(WARM_S * NANOS)
            pause = longest_pause(acked, from_ns, all_back_ns(journals, now))
            before = level(acked, team.began_ns + int(WARM_S * NANOS), pause.begin_ns) if pause else None
            back = back_ns(acked, pause, before, now) if pause and before else None
            if back and now > back + (MEAN_OVER_S + _MORE_S) * NANOS:
                return

    def _save(
        self, folder: FailoverFolder, number: int, team: OpenSessions, sampler: LagSampler,
        times: tuple[int, int, int | None, int | None],
    ) -> None:  # fmt: skip
        calm_ns, end_ns, cause_ns, taken_ns = times
        after, *others = team.writers()
        seen = ObservedCycle(
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
        pause = outage_of(seen).driver
        calm = [each for each in sampler.samples if each.at_ns < min(calm_ns, pause.begin_ns if pause else calm_ns)]
        cycle = figures_of(seen, number, team.names[0], team.names[after], lag_of_copies(calm, team.names))
        cycle = cycle.model_copy(update={"problems": (*team.find_divided([after, *others]), *cycle.problems)})
        folder.add_rows(COMMITS_FILE, COMMITS, commits_rows(seen.journals, seen.begin_ns, seen.end_ns, number))
        folder.add_rows(LAG_FILE, LAG, lag_rows(sampler.samples, team.began_ns, number, team.names))
        folder.update(cycles=(*folder.record.cycles, cycle))


def begin(request: FailoverRequest, servers: Servers) -> FailoverFolder:
    """Create the folder of the record."""
    facts = servers.engines()[0].facts()
    record = FailoverRecord(
        **new_head(request.name),
        status=Status.FAILED,
        targets=tuple(engine.target for engine in servers.engines()),
        asked=request.to_parameters(),
        servers={"product": facts.product, "version": facts.version},
        roles=servers.roles,
    )
    return FailoverFolder.begin(request.results, record)


# The search ends when the rates that are followed and not are as near as this, or after so many steps.
_NEAR = 1.1
_MOST_STEPS = 10
# A step at less of the rate that was asked for does not tell whether copies follow that rate.
_REACHED = 0.95
# The begin of a step is no part of it: the lag of the step before it goes down first. Its share, and the longest wait.
_SETTLE, _CATCH_UP_S = 1 / 4, 120.0


def next_rate(steps: Sequence[FollowStep]) -> float | None:
    """Return the rate of the next step; None when the search is over. Nothing is asked for in the first step."""
    if not steps:
        return None
    low, high = bounds(steps)
    if high is None or len(steps) >= _MOST_STEPS or (low and high / low <= _NEAR):
        return None
    # Until a rate is followed, the next one is a quarter: there may be several orders of magnitude in between.
    return (low * high) ** 0.5 if low else high / 4


def bounds(steps: Sequence[FollowStep]) -> tuple[float | None, float | None]:
    """Return the highest rate that was followed, and the lowest above it that was not; by the rates measured."""
    refused = [step.commits_per_s for step in steps if step.follows is False]
    high = min(refused, default=None)
    followed = [step.commits_per_s for step in steps if step.follows and (high is None or step.commits_per_s < high)]
    return max(followed, default=None), high


def judge_step(
    number: int, asked: float | None, rate: float, samples: Sequence[LagSample], limit_s: float
) -> FollowStep:
    """Return a step: whether all copies were behind by less than the limit in all samples."""
    unknown = next(
        (each.why or "no lag" for each in samples if each.heartbeat_s is None), "" if samples else "no sample"
    )
    lags = [each.heartbeat_s for each in samples if each.heartbeat_s is not None]
    behind = [each.bytes_behind for each in samples if each.bytes_behind is not None]
    lag = max(lags, default=None)
    follows: bool | None = None if lag is None else lag < limit_s
    why = ""
    if follows and unknown:
        follows, why = None, f"not all samples are known: {unknown}"
    elif follows and asked is not None and rate < _REACHED * asked:
        why = f"only {rate:.0f}/s of {asked:.0f}/s were reached"
    elif follows is None:
        why = unknown
    return FollowStep(
        number=number, asked_per_s=asked, commits_per_s=rate, lag_s=lag,
        bytes_behind=max(behind, default=None), follows=follows, why=why,
    )  # fmt: skip


def search_figures(steps: Sequence[FollowStep]) -> dict[str, Figure]:
    """Return the answer: between which rates the highest one lies."""
    low, high = bounds(steps)
    if low is None:
        why = (
            next((step.why for step in steps if step.follows is None), "") or "the lag was above the limit at each rate"
        )
    else:
        why = ""
    everything = None if high is not None else "the copies follow whatever the sessions commit"
    return {
        "follows_per_s": Figure(value=low, unit="1/s", why=why or None),
        "follows_below_per_s": Figure(value=high, unit="1/s", why=everything if low is not None else why or None),
    }


@dataclass(frozen=True)
class FollowSearch(_FailoverTest):
    """Runs the steps; the load goes on all the time, at each step's rate. ``limit_s`` is the most lag."""

    limit_s: float

    def _work(self, folder: FailoverFolder) -> None:
        with connect_sessions(self._request, self._servers, self._interrupt) as team:
            self._search(folder, team)

    def _findings(self, record: FailoverRecord) -> dict[str, object]:
        return {"summary": search_figures(record.follow) if record.follow else {}}

    def _search(self, folder: FailoverFolder, team: OpenSessions) -> None:
        sampler = LagSampler(team.engines, team.tables)
        sampler.start()
        steps: list[FollowStep] = []
        try:
            while True:
                rate = next_rate(steps)
                if steps and rate is None:
                    return
                self._catch_up(team, sampler)
                team.plan.per_s = rate
                self._tell(
                    f"step {len(steps) + 1}: " + (f"{rate:.0f} commits/s" if rate else "as fast as sessions can")
                )
                steps.append(self._step(len(steps) + 1, rate, team, sampler))
                folder.update(follow=tuple(steps))
        finally:
            end_ns = time.monotonic_ns()
            team.stop()
            sampler.stop()
            journals = [client.journal for client in team.clients]
            folder.add_rows(COMMITS_FILE, COMMITS, commits_rows(journals, team.began_ns, end_ns, 1))
            folder.add_rows(LAG_FILE, LAG, lag_rows(sampler.samples, team.began_ns, 1, team.names))

    def _catch_up(self, team: OpenSessions, sampler: LagSampler) -> None:
        """Let copies apply what they lack, at a low rate. SlobError if they do not."""
        team.plan.per_s = 1.0
        deadline = time.monotonic() + _CATCH_UP_S
        while time.monotonic() < deadline:
            self._wait(2 * INTERVAL_S)
            recent = sampler.since(time.monotonic_ns() - int(4 * INTERVAL_S * NANOS))
            if recent and all(each.heartbeat_s is not None and each.heartbeat_s < self.limit_s / 2 for each in recent):
                return
        raise SlobError(
            f"a copy did not catch up within {_CATCH_UP_S:.0f} s, almost without load",
            "see whether its replication goes on",
        )

    def _step(self, number: int, rate: float | None, team: OpenSessions, sampler: LagSampler) -> FollowStep:
        self._wait(self._request.before_s * _SETTLE)
        begin_ns = time.monotonic_ns()
        self._wait(self._request.before_s * (1 - _SETTLE))
        end_ns = time.monotonic_ns()
        acked = find_acknowledged([client.journal for client in team.clients])
        reached = level(acked, begin_ns, end_ns) or 0.0
        return judge_step(number, rate, reached, sampler.since(begin_ns), self.limit_s)
