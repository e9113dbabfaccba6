"""A fault of storage in a cycle: it begins under load, the server is watched, and asked again when the fault is over.

What the server did is said by what can be seen from outside: its processes, its log, and what its clients got.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event

from openslob.core.errors import SlobError
from openslob.core.units import NANOS
from openslob.durability.clients import Clients
from openslob.durability.cut import FAULTS, Fault, Files
from openslob.durability.ledger import Operation
from openslob.engines.ledger import LedgerSession, LedgerTables
from openslob.engines.patience import StoppedError
from openslob.host.witness import Witness
from openslob.kinds.crash.moments import Checkpoint
from openslob.kinds.crash.record import CrashMethod, CycleFault, ServerDid, keep_distinct
from openslob.kinds.crash.rig import Crash, Rig

# How long a fault waits for a request that it can meet, in s: the checkpoint that is asked for makes some soon.
_MEET_S = 15.0
# A server that acknowledges nothing for so long after the fault hangs, or takes no commits any more, in s.
ANSWER_S = 20.0
_LOOK_EVERY_S = 0.05
ENDING_S = 2.0
Again = Callable[[Sequence[int]], Clients]


@dataclass
class Returning:
    """Sessions that come back after an error, until ``stop`` is set; ``errors`` has all of them."""

    tables: LedgerTables
    stop: Event = field(default_factory=Event)
    errors: list[str] = field(default_factory=list)

    def __call__(self, operation: Operation, error: SlobError) -> LedgerSession | None:
        """Return a new session in place of the one that was lost by this operation; None after ``stop``."""
        self.errors.append(str(error))
        while not self.stop.wait(_LOOK_EVERY_S):
            try:
                return self.tables.open_session(operation.session)
            except StoppedError:
                return None
            except SlobError as refused:
                self.errors.append(str(refused))
        return None


@dataclass(frozen=True)
class Suffered:
    """What came of the load: the ``crash`` that ended it, and what was ``seen`` of the server under a fault before.

    ``began_ns`` is the moment of the crash, or of the fault, by the monotonic clock; ``last`` has the last number that
    each session sent.
    """

    began_ns: int
    seen: CycleFault | None
    crash: Crash
    operations: list[Operation]
    last: Mapping[int, int]


@dataclass
class FaultTrial:
    """A fault on ``files`` for ``seconds``, if it lasts for a time. ``stop`` ends the waiting.

    ``again`` returns clients whose first operations have these numbers.
    """

    rig: Rig
    fault: Fault
    seconds: float
    files: Files
    seed: str
    stop: Event
    again: Again

    def run(self, kind: CrashMethod, clients: Clients, returning: Returning) -> Suffered:
        """Let the fault begin, ask the server again when it is over, and crash it. The sessions come back no more.

        The load ends with the fault: what is written again is mended, whatever was lost of it. Then sessions ask for a
        commit each, the server is asked for another checkpoint, and crashes. SlobError if it does not run.
        """
        try:
            return self._run(kind, clients, returning)
        finally:
            returning.stop.set()

    def _run(self, kind: CrashMethod, clients: Clients, returning: Returning) -> Suffered:
        witness = Witness.begin(self.rig.server.status().pid)
        with Checkpoint(self.rig.tables.open_session(0), 0.0) as checkpoint:
            began_ns = time.monotonic_ns()
            self.rig.begin_fault(self.fault, self.seconds, self.files, self.seed)
            checkpoint.start()
            checkpoint.wait_begun(self.stop)
            met, first = self._await_end(checkpoint)
            over_ns = time.monotonic_ns()
            clients.stop()
            returning.stop.set()
            silent = not clients.join(ANSWER_S)
            errors = list(returning.errors)
            if silent:
                # What they wait for is in doubt from now on, and its number is taken.
                clients.cut()
                clients.join(ANSWER_S)
        asked = _Asking(self, clients.last_numbers(), witness, over_ns, silent)
        asked.run()
        after = None if asked.answered_s is None else self._ask_for_checkpoint()
        if errors or after or _describe(checkpoint):
            witness.await_end()
        seen = CycleFault(
            name=self.fault.value,
            files=self.files.value,
            seconds=self.seconds if FAULTS[self.fault].is_timed else None,
            met=met,
            first=first,
            did=_judge(witness, asked, bool(errors)),
            client_errors=len(errors),
            said=keep_distinct(errors),
            log=keep_distinct(witness.complaints()),
            checkpoint=_describe(checkpoint),
            checkpoint_after=after,
            answered_s=asked.answered_s,
        )
        crash = self.rig.end_fault(kind)
        operations = [*clients.end(ENDING_S), *asked.operations]
        return Suffered(began_ns, seen, crash, operations, asked.last)

    def _await_end(self, checkpoint: Checkpoint) -> tuple[int, str]:
        """Wait until the fault is over, or its only request met it; return how many did, and the first of them."""
        if FAULTS[self.fault].is_timed:
            time.sleep(self.seconds)
            return self.rig.fault_met()
        until = time.monotonic() + _MEET_S
        while True:
            # A checkpoint that was made before nothing met the fault was the last occasion.
            last = checkpoint.seconds is not None or time.monotonic() > until
            met, first = self.rig.fault_met()
            if met or last or self.stop.wait(_LOOK_EVERY_S):
                return met, first

    def _ask_for_checkpoint(self) -> str | None:
        try:
            session = self.rig.tables.open_session(0)
        except SlobError as error:
            return str(error)
        with Checkpoint(session, 0.0) as checkpoint:
            checkpoint.start()
            checkpoint.wait_begun(self.stop)
        return _describe(checkpoint)


@dataclass
class _Asking:
    """Sessions that ask a server for commits after a fault, until it acknowledges one, ends, or ``ANSWER_S`` is over.

    ``silent``: sessions wait for an answer, without an error.
    """

    trial: FaultTrial
    last: Mapping[int, int]
    witness: Witness
    over_ns: int
    silent: bool
    answered_s: float | None = None
    operations: list[Operation] = field(default_factory=list)

    def run(self) -> None:
        """Ask again and again."""
        until = time.monotonic() + ANSWER_S
        while self.answered_s is None and self.witness.lives():
            self._ask(until)
            if time.monotonic() > until or self.trial.stop.wait(_LOOK_EVERY_S):
                return

    def _ask(self, until: float) -> None:
        clients = self.trial.again([self.last[session] + 1 for session in sorted(self.last)])
        try:
            clients.start()
        except SlobError:
            self.silent = False
            return
        while clients.running() and self._find_acked(clients) is None and time.monotonic() < until:
            time.sleep(_LOOK_EVERY_S)
        clients.stop()
        self.silent = not clients.join(ENDING_S)
        self.operations += clients.end(ENDING_S)
        self.last = clients.last_numbers()
        acked_ns = self._find_acked(clients)
        if acked_ns is not None:
            self.answered_s = (acked_ns - self.over_ns) / NANOS

    @staticmethod
    def _find_acked(clients: Clients) -> int | None:
        return next((each.acked_ns for each in list(clients.operations) if each.acked_ns is not None), None)


def _judge(witness: Witness, asked: _Asking, has_errors: bool) -> ServerDid:
    """Return what the server did; the worst of it."""
    if not witness.lives():
        return ServerDid.ENDS
    if asked.answered_s is None:
        return ServerDid.HANGS if asked.silent else ServerDid.REFUSES
    if witness.has_restarted():
        return ServerDid.RESTARTS
    return ServerDid.REPORTS if has_errors else ServerDid.GOES_ON


def _describe(checkpoint: Checkpoint) -> str | None:
    """Return the complaint about a checkpoint that ended; empty if it was made, None if it was not asked for."""
    return "" if checkpoint.seconds is not None else checkpoint.complaint(time.monotonic_ns()) or None
