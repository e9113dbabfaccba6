"""Sessions that commit one operation after another, and keep a ledger of what they sent and what was acknowledged."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Event, Lock, Thread

from openslob.core.errors import SlobError
from openslob.durability.ledger import LedgerFile, Operation
from openslob.engines.ledger import LedgerSession, LedgerTables

# A session's thread that does not end so long after its connection was cut off hangs in the driver's own host.
_JOIN_S = 30.0
# Rows are visited in the order of multiples of this odd prime, so that neighbouring operations write different blocks.
_STRIDE = 7919


def key_of(number: int, rows: int) -> int:
    """Return the row that an operation writes."""
    return number * _STRIDE % rows


# Called by the thread of a session that was lost, with the operation in doubt and the error. Returns the session to
# go on with; None to end.
Reconnect = Callable[[Operation, SlobError], LedgerSession | None]


def end_session(_operation: Operation, _error: SlobError) -> None:
    """Let a session end when it is lost."""


@dataclass
class Clients:
    """Threads of sessions on the tables of a proof, with ``rows`` rows each.

    ``first`` is the number of each session's first operation, above all that it sent before. Sessions are numbered
    from 0. `start` connects all of them before any begins; `stop` lets each finish its operation; `cut` ends those that
    hang. ``errors`` has the first error of each session.
    """

    tables: LedgerTables
    ledger: LedgerFile
    rows: int
    first: Sequence[int]
    reconnect: Reconnect = end_session
    operations: list[Operation] = field(default_factory=list)
    errors: dict[int, str] = field(default_factory=dict)
    failures: list[SlobError] = field(default_factory=list)
    _sessions: dict[int, LedgerSession] = field(default_factory=dict)
    _threads: list[Thread] = field(default_factory=list)
    _stop: Event = field(default_factory=Event)
    _lock: Lock = field(default_factory=Lock)

    def start(self) -> None:
        """Connect all sessions, then let them begin. SlobError when one can't connect: then none is left."""
        try:
            for number in range(len(self.first)):
                self._sessions[number] = self.tables.open_session(number)
        except BaseException:
            for session in self._sessions.values():
                session.close()
            raise
        self._threads = [
            Thread(target=self._work, args=(number,), name=f"client {number}", daemon=True)
            for number in range(len(self.first))
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Ask every session to end after its present operation."""
        self._stop.set()

    def running(self) -> int:
        """Return how many sessions still work."""
        return sum(thread.is_alive() for thread in self._threads)

    def cut(self) -> None:
        """Stop, and break all connections off."""
        self.stop()
        with self._lock:
            for session in self._sessions.values():
                session.cut()

    def join(self, seconds: float) -> bool:
        """Wait until all sessions have ended; return whether they did within so many seconds."""
        until = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        return not self.running()

    def end(self, seconds: float) -> list[Operation]:
        """Stop, wait, cut off what still works after so many seconds; return all operations in the order sent.

        SlobError when the ledger could not be written, or a session does not end.
        """
        self.stop()
        if not self.join(seconds):
            self.cut()
            if not self.join(_JOIN_S):
                raise SlobError(f"{self.running()} sessions do not end, although they were cut off")
        if self.failures:
            raise self.failures[0]
        return sorted(self.operations, key=lambda operation: operation.sent_ns)

    def last_numbers(self) -> Mapping[int, int]:
        """Return the number of the last operation that each session sent."""
        last = {session: first - 1 for session, first in enumerate(self.first)}
        for operation in self.operations:
            last[operation.session] = max(last[operation.session], operation.number)
        return last

    def _work(self, number: int) -> None:
        session: LedgerSession | None = self._sessions[number]
        operation = self.first[number]
        try:
            while session is not None and not self._stop.is_set():
                session = self._operate(session, number, operation)
                operation += 1
        except SlobError as error:  # of the ledger: nothing more may be sent
            self.failures.append(error)
            self._stop.set()
        finally:
            self._close(number)

    def _operate(self, session: LedgerSession, number: int, operation: int) -> LedgerSession | None:
        """Send one operation; return the session to go on with."""
        sent = Operation(number, operation, key_of(operation, self.rows), time.monotonic_ns())
        self.ledger.note_sent(sent)
        try:
            server_ns = session.commit(sent.number, sent.key)
        except SlobError as error:
            self.operations.append(sent)
            self.errors.setdefault(number, str(error))
            return self._replace(sent, error)
        acked = replace(sent, acked_ns=time.monotonic_ns(), server_ns=server_ns)
        self.operations.append(acked)
        self.ledger.note_acked(acked)
        return session

    def _replace(self, doubtful: Operation, error: SlobError) -> LedgerSession | None:
        self._close(doubtful.session)
        session = self.reconnect(doubtful, error)
        if session is not None:
            with self._lock:
                self._sessions[doubtful.session] = session
        return session

    def _close(self, number: int) -> None:
        with self._lock:
            session = self._sessions.pop(number, None)
        if session is not None:
            session.close()
