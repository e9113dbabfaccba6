"""Proof of durability: a server under commits crashes again and again, and every acknowledged commit is looked for."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from openslob.core import rehearsal
from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import Interrupt
from openslob.core.units import NANOS
from openslob.durability.accounting import LedgerAccount, account
from openslob.durability.clients import Clients, Reconnect, end_session
from openslob.durability.cut import FAULTS, Fault, Files, Survival
from openslob.durability.ledger import LedgerFile, Operation
from openslob.engines import registry
from openslob.engines.ledger import LedgerContents
from openslob.engines.managed.base import require_primary
from openslob.engines.patience import Patience, StoppedError
from openslob.host.environment import environment
from openslob.kinds.crash import figures as analysis
from openslob.kinds.crash import rig as rigs
from openslob.kinds.crash.faults import FaultTrial, Returning, Suffered
from openslob.kinds.crash.moments import Checkpoint, Moments
from openslob.kinds.crash.record import CrashControl, CrashCycle, CrashFolder, CrashMethod, CrashRecord, LostCommit
from openslob.kinds.crash.rig import Rig
from openslob.record.model import Status
from openslob.record.store import new_head

# How long sessions may take to notice that the server is gone, in s.
_NOTICE_S = 5.0
_MOST_LINES = 20
# How long checkpoint and recovery take until one was seen, in s.
_CHECKPOINT_S, _RECOVERY_S = 0.1, 0.3
# How long a fault lasts unless that is asked for, in s: less than clients wait for an answer.
_FAULT_S = 3.0
_LEDGERS = "ledgers"
_STILL = "the server's processes stand still at that moment"
_CUT: Mapping[Survival, str] = {
    "nothing": f"a FUSE file system that keeps what was synced, and drops everything else at a cut; {_STILL}",
    "random": f"a FUSE file system that keeps what was synced, and of everything else a random part at a cut, in "
    f"sectors of 512 bytes, so that pages are torn; {_STILL}",
}
Tell = Callable[[CrashCycle], None]


@dataclass(frozen=True)
class CrashRequest:
    """What is asked for: ``kinds`` take turns. ``server`` is the user's managed server; None: one is made.

    ``engine`` is that of the server; None: the default one. ``survive`` is what a cut leaves of that which was not
    synced; None: nothing. ``fault`` is a fault of storage that comes before each crash, for ``fault_s`` seconds, on the
    files ``fault_on``; None: as is usual for this fault.
    """

    kinds: tuple[CrashMethod, ...]
    cycles: int
    sessions: int
    rows: int
    seed: int
    name: str
    results: Path
    engine: str | None = None
    server: str | None = None
    version: str | None = None
    control: str | None = None
    survive: Survival | None = None
    fault: Fault | None = None
    fault_s: float | None = None
    fault_on: Files | None = None

    @property
    def asked(self) -> Mapping[str, Any]:
        """The parameters, for the record."""
        return {
            "engine": self.engine, "kind": "both" if len(self.kinds) > 1 else self.kinds[0].value,
            "cycles": self.cycles, "sessions": self.sessions, "rows": self.rows, "seed": self.seed,
            "server": self.server, "version": self.version, "control": self.control,
            "survive": self.survival,
            "fault": self.fault.value if self.fault else None, "fault_s": self.fault_s,
            "fault_on": self.fault_on.value if self.fault_on else None,
        }  # fmt: skip

    @property
    def begin(self) -> str:
        """What is done first, in words."""
        if self.server:
            return f"the server {self.server} is crashed {self.cycles} times"
        return f"creating the server {rigs.name_of(_engine(self))}, which is destroyed afterwards"

    @property
    def survival(self) -> Survival | None:
        """What a cut leaves of that which was not synced; None if nothing is cut off."""
        return self.survive or "nothing" if CrashMethod.CUT in self.kinds else None

    def resolve(self) -> CrashRequest:
        """Return it with the engine. UsageError for parameters that exclude each other and what can't be crashed.

        SlobError if this host can't cut storage off.
        """
        if self.survive == "random" and CrashMethod.CUT not in self.kinds:
            raise UsageError("--survive random is for cuts, and --kind kill makes none", "use --kind cut or both")
        fault_s = self._check_fault()
        engine = self._engine_of(self.server) if self.server else self.engine or registry.default_engine()
        rigs.check(engine, frozenset(self.kinds), self.control, self.fault)
        return replace(self, engine=engine, fault_s=fault_s)

    def _check_fault(self) -> float | None:
        """Return for how long the fault lasts; None if that is not for a time. UsageError for what it does not have."""
        if self.fault is None and (self.fault_s is not None or self.fault_on is not None):
            raise UsageError("--fault-for and --fault-on describe a fault, and none is given", "add --fault NAME")
        is_timed = self.fault is not None and FAULTS[self.fault].is_timed
        if self.fault and self.fault_s is not None and not is_timed:
            raise UsageError(f"--fault {self.fault.value} does not last for a time", "leave out --fault-for")
        return self.fault_s or _FAULT_S if is_timed else None

    def _engine_of(self, server: str) -> str:
        for option, given in (("--engine", self.engine), ("--version", self.version), ("--control", self.control)):
            if given is not None:
                raise UsageError(f"{option} is for a server that is made for the proof", "leave out --server")
        ordinary = f"the data of {server} are on an ordinary file system, which can't be"
        if self.fault:
            raise UsageError(f"{ordinary} made to fail", "leave out --server")
        if CrashMethod.CUT in self.kinds:
            raise UsageError(f"{ordinary} cut off", "leave out --server, or use --kind kill")
        if "://" in server or "," in server:
            raise UsageError(
                f"{server} is not a managed server, and slob crashes only servers that it made",
                "leave out --server: a server is made for the proof, and destroyed afterwards",
            )
        found = registry.require_server(server)
        require_primary(found)
        return found.status().spec.engine

    def rig(self) -> AbstractContextManager[Callable[[], Rig]]:
        """Return what provides the server of a resolved request."""
        if self.server:
            return rigs.use_server(self.server)
        survive: Survival | None = self.survival or ("nothing" if self.fault else None)
        return rigs.make_servers(_engine(self), self.version, self.control, self.seed, survive)


def _engine(request: CrashRequest) -> str:
    assert request.engine is not None, "a request is resolved first"
    return request.engine


def execute(
    asked: CrashRequest, interrupt: Interrupt, notify: Callable[[str], None], tell: Tell
) -> tuple[CrashRecord, Path]:
    """Crash the server; return the record and its folder. ``tell`` gets each cycle when it ends.

    A stop ends it after the cycle that goes on; one whose data could not be read because of the stop does not count.
    SlobError when nothing could be proved: the record says why. The errors of `CrashRequest.resolve` come first.
    """
    plan = asked.resolve()
    notify(plan.begin)
    with plan.rig() as make_rig, CrashFolder.begin(plan.results, _record(plan)) as folder:
        try:
            _Proof(plan, make_rig, folder, interrupt, tell).run()
        except StoppedError:
            interrupt.stop.set()
        except SlobError as error:
            folder.update(status=Status.FAILED, errors=(str(error),), **_findings(folder.record))
            raise
        stopped = interrupt.stop.is_set()
        status = Status.INTERRUPTED if stopped else Status.COMPLETE
        errors = ("stopped before its end",) if stopped else ()
        folder.update(status=status, errors=errors, **_findings(folder.record))
        return folder.record, folder.path


def _record(plan: CrashRequest) -> CrashRecord:
    control = None
    if plan.control:
        on_tables = plan.fault if plan.fault_on is not Files.REST else None
        settings, why = rigs.excuses(_engine(plan), plan.control, plan.survival, on_tables)
        control = CrashControl(name=plan.control, settings=settings, may_lose_nothing=why)
    return CrashRecord(
        **new_head(plan.name),
        status=Status.FAILED,
        asked=plan.asked,
        environment=environment(None),
        storage=_describe_storage(plan),
        control=control,
        notes=rehearsal.notices(),
    )


def _describe_storage(plan: CrashRequest) -> str:
    """Return what a cut or a fault does to the storage, in words; empty where it is that of the host."""
    cut = _CUT[plan.survival] if plan.survival else ""
    if plan.fault is None:
        return cut
    lasts = f"for {plan.fault_s:g} s" if plan.fault_s else ""
    return "; ".join(filter(None, ("a FUSE file system", FAULTS[plan.fault].says, lasts, cut)))


def _findings(record: CrashRecord) -> dict[str, object]:
    return {
        "summary": analysis.summary(record.cycles),
        "verdicts": analysis.verdicts(record.cycles, record.control),
    }


class _Proof:
    """The cycles, each on what the one before left."""

    def __init__(
        self, plan: CrashRequest, make_rig: Callable[[], Rig], folder: CrashFolder, interrupt: Interrupt, tell: Tell
    ) -> None:
        self._plan, self._make_rig, self._folder, self._interrupt, self._tell = plan, make_rig, folder, interrupt, tell
        self._random = random.Random(plan.seed)
        self._first = [1] * plan.sessions
        self._noted: set[str] = set()
        self._checkpoint_s, self._recovery_s = _CHECKPOINT_S, _RECOVERY_S
        self._rig, self._before = self._begin()

    def _begin(self) -> tuple[Rig, LedgerContents]:
        """Make a server with the tables of the proof."""
        rig = self._make_rig()
        rig.engine.follow(Patience(self._interrupt))
        rig.begin(self._plan.sessions, self._plan.rows)
        if not self._folder.record.server:
            facts = rig.engine.facts()
            self._folder.update(
                server={
                    "name": rig.server.name, "product": facts.product, "version": facts.version,
                    "block_size": facts.block_size, "cache_bytes": facts.cache_bytes,
                    "settings": dict(rig.tables.settings()), "made_for_this": self._plan.server is None,
                },
                guards=tuple(rig.tables.guards()),
            )  # fmt: skip
        return rig, rig.tables.contents()

    def run(self) -> None:
        """Run all cycles, or until the server is down for good, or a stop."""
        for number in range(1, self._plan.cycles + 1):
            if self._interrupt.stop.is_set():
                return
            kind = self._plan.kinds[(number - 1) % len(self._plan.kinds)]
            cycle, after = self._cycle(number, kind)
            self._folder.update(cycles=(*self._folder.record.cycles, cycle))
            self._tell(cycle)
            if number == self._plan.cycles:
                return
            broken = after is None or bool(cycle.damage)
            if (self._plan.control or self._plan.fault) and broken:
                self._rig, self._before = self._begin()
                self._first = [1] * self._plan.sessions
            elif after is None or broken:
                why = f"No cycle after {number}: {analysis.what_is_wrong(cycle)}"
                self._note(why)
                return
            else:
                self._before = after

    def _cycle(self, number: int, kind: CrashMethod) -> tuple[CrashCycle, LedgerContents | None]:
        path = self._folder.path / _LEDGERS / f"cycle-{number}.csv"
        path.parent.mkdir(exist_ok=True)
        moments = Moments.draw(self._random)
        with (
            Checkpoint(self._rig.tables.open_session(0), moments.checkpoint_s) as checkpoint,
            LedgerFile(path) as ledger,
        ):
            returning = Returning(self._rig.tables)
            clients = self._clients(ledger, self._first, returning if self._plan.fault else end_session)
            clients.start()
            checkpoint.start()
            began_ns = time.monotonic_ns()

            def wait() -> None:
                self._wait(number, clients, checkpoint, moments)

            if self._plan.fault:
                wait()
                suffered = self._trial(number, ledger).run(kind, clients, returning)
            else:
                crash = self._rig.crash(kind, wait)
                suffered = Suffered(crash.at_ns, None, crash, clients.end(_NOTICE_S), clients.last_numbers())
        at_ns, crash = suffered.began_ns, suffered.crash
        self._note_checkpoint(number, checkpoint, at_ns)
        self._first = [suffered.last[session] + 1 for session in range(self._plan.sessions)]
        cycle = CrashCycle(
            number=number,
            kind=kind,
            load_s=(crash.at_ns - began_ns) / NANOS,
            in_checkpoint=checkpoint.was_in_progress(at_ns),
            recovery_crashes=0,
            torn_pages=crash.torn_pages,
            fault=suffered.seen,
        )
        into_recovery = None if self._plan.fault else moments.into_recovery
        cycle, after = self._look_for(cycle, suffered.operations, crash.at_ns, into_recovery)
        if cycle.is_clean:
            path.unlink()
        else:
            cycle = cycle.model_copy(update={"ledger": f"{_LEDGERS}/{path.name}"})
        return cycle, after

    def _clients(self, ledger: LedgerFile, first: Sequence[int], reconnect: Reconnect = end_session) -> Clients:
        return Clients(self._rig.tables, ledger, self._plan.rows, first, reconnect)

    def _trial(self, number: int, ledger: LedgerFile) -> FaultTrial:
        """Return the trial of the fault in a cycle; crashes of both kinds are with all files in turn."""
        plan = self._plan
        assert plan.fault is not None
        files = (plan.fault_on,) if plan.fault_on else FAULTS[plan.fault].files
        turn = (number - 1) // len(plan.kinds) % len(files)
        return FaultTrial(
            rig=self._rig,
            fault=plan.fault,
            seconds=plan.fault_s or 0.0,
            files=files[turn],
            seed=f"{plan.seed}:{number}",
            stop=self._interrupt.stop,
            again=lambda first: self._clients(ledger, first),
        )

    def _wait(self, number: int, clients: Clients, checkpoint: Checkpoint, moments: Moments) -> None:
        """Wait for the moment of the crash; SlobError if the load is gone by then."""
        if moments.into_checkpoint is None:
            self._interrupt.stop.wait(moments.load_s)
        elif checkpoint.wait_begun(self._interrupt.stop):
            self._interrupt.stop.wait(moments.into_checkpoint * self._checkpoint_s)
        self._require_load(number, clients)

    def _note_checkpoint(self, number: int, checkpoint: Checkpoint, at_ns: int) -> None:
        """Keep how long the checkpoint took; note, once, that the server makes none when it is asked."""
        self._checkpoint_s = checkpoint.seconds or self._checkpoint_s
        if why := checkpoint.complaint(at_ns):
            self._note_once(f"Cycle {number}: the server made no checkpoint under load: {why}", "checkpoint")

    def _require_load(self, number: int, clients: Clients) -> None:
        """Raise SlobError if no session works; note, once, that some had ended by themselves: the load was less."""
        why = next(iter(clients.errors.values()), "no error was reported")
        running = clients.running()
        if not running:
            clients.end(_NOTICE_S)
            raise SlobError(f"no session could go on: {why}")
        if ended := self._plan.sessions - running:
            said = f"{ended} of {self._plan.sessions} sessions had ended before the crash: {why}"
            self._note_once(f"Cycle {number}: {said}", "ended")

    def _note_once(self, text: str, about: str) -> None:
        if about not in self._noted:
            self._noted.add(about)
            self._note(text)

    def _note(self, text: str) -> None:
        self._folder.update(notes=(*self._folder.record.notes, text))

    def _look_for(
        self, cycle: CrashCycle, operations: list[Operation], crashed_ns: int, into_recovery: float | None
    ) -> tuple[CrashCycle, LedgerContents | None]:
        """Start the server and compare what it has; None for what it has if that can't be read.

        It crashes once more on the way if a share of its recovery is given.
        """
        acked = sum(not operation.in_doubt for operation in operations)
        cycle = cycle.model_copy(update={"acked": acked, "in_doubt": len(operations) - acked})
        recovery_s = None
        try:
            if into_recovery is not None and not self._interrupt.stop.is_set():
                cycle = self._crash_again(cycle, into_recovery)
            recovery_s = self._recovery_s = self._rig.recover()
            after = self._rig.tables.contents()
            damage = tuple(self._rig.tables.damage())
        except StoppedError:  # the user's wish, and no fault of the server
            raise
        except SlobError as error:
            return cycle.model_copy(update={"recovery_s": recovery_s, "why": str(error)}), None
        found = account(self._before, operations, after)
        more = {"recovery_s": recovery_s, "damage": damage[:_MOST_LINES], **_describe_found(found, crashed_ns)}
        return cycle.model_copy(update=more), after

    def _crash_again(self, cycle: CrashCycle, into_recovery: float) -> CrashCycle:
        """Crash the server once more after a share of its recovery."""
        again, recovered = self._rig.crash_recovery(cycle.kind, into_recovery * self._recovery_s)
        torn = None if cycle.torn_pages is None else cycle.torn_pages + (again.torn_pages or 0)
        return cycle.model_copy(update={"recovery_crashes": int(recovered), "torn_pages": torn})


def _describe_found(found: LedgerAccount, crashed_ns: int) -> dict[str, Any]:
    lost = [_describe_lost(operation, crashed_ns) for operation in found.lost]
    return {
        "compared": True,
        "doubtful_there": found.doubtful_there,
        "lost": found.lost_in_all,
        "lost_operations": tuple(lost[:_MOST_LINES]),
        "oldest_lost_ms": max((operation.age_ms for operation in lost), default=None),
        "faults": found.faults[:_MOST_LINES],
    }


def _describe_lost(operation: Operation, crashed_ns: int) -> LostCommit:
    """Return a lost operation; one that was acknowledged while the server was being stopped has an age of 0."""
    age_ms = max(0.0, (crashed_ns - (operation.acked_ns or crashed_ns)) / 1e6)
    return LostCommit(session=operation.session, number=operation.number, key=operation.key, age_ms=round(age_ms, 3))
