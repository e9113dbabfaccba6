"""Sessions that outlive their server: each commits one operation after another, and goes on where it is served."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Event, Lock, Thread

from openslob.core.errors import SlobError
from openslob.core.units import NANOS
from openslob.durability.clients import key_of
from openslob.engines.ledger import Entry, LedgerSession, LedgerTables, TakesNoWritesError
from openslob.kinds.failover.accounting import IN_DOUBT, Journal, Loss
from openslob.kinds.failover.figures import Offset

# How long a session waits before it tries the servers again, after all of them refused it.
RETRY_S = 0.01
# The quickest of so many questions for the server's clock counts: its error is half of the time that it took.
_CLOCK_READINGS = 3
# At a given rate, a session that is later than this has not been served: what was due meanwhile is not sent any more.
_LATEST_S = 0.1


class Retry(StrEnum):
    """What a client does with an operation in doubt: send it again at once, or ask first whether it is there."""

    ASK = "ask"
    BLIND = "blind"


@dataclass
class Plan:
    """What all sessions have in common; it may change while they work.

    ``targets`` are the tables on each server, in the order in which sessions try them, by the server's number;
    ``spread``: all of them take writes, and sessions begin on each in turn. ``answer_s`` is how long a session waits
    for an acknowledgement before it gives the connection up. ``per_s`` is the rate of all sessions together.
    """

    targets: dict[int, LedgerTables]
    rows: int
    retry: Retry = Retry.ASK
    spread: bool = False
    answer_s: float = 10.0
    per_s: float | None = None
    sessions: int = 1
    offsets: dict[int, Offset] = field(default_factory=dict)
    stop: Event = field(default_factory=Event)
    lock: Lock = field(default_factory=Lock)

    def order(self, session: int, after: int | None) -> list[int]:
        """Return the servers in the order in which a session tries them, after it lost one of them if it did."""
        numbers = list(self.targets)
        if after is None:
            first = session % len(numbers) if self.spread else 0
        else:
            first = numbers.index(after) + 1 if after in numbers else 0
        return [numbers[(first + step) % len(numbers)] for step in range(len(numbers))]

    def compare_clocks(self, target: int, session: LedgerSession) -> None:
        """Measure how far a server's clock is ahead of the driver's; the smallest error of all readings counts."""
        for _ in range(_CLOCK_READINGS):
            before = time.time_ns()
            server_ns = session.server_ns()
            took = time.time_ns() - before
            found = Offset(server_ns - before - took // 2, took // 2)
            with self.lock:
                known = self.offsets.get(target)
                if known is None or found.error_ns < known.error_ns:
                    self.offsets[target] = found


class FailoverSession:
    """One session: its thread, its connection and its journal."""

    def __init__(self, number: int, plan: Plan) -> None:
        self.journal = Journal(number)
        # The connection whose answer is waited for, and since when.
        self._asked: LedgerSession | None = None
        self._since = 0.0
        self._plan = plan
        self._session: LedgerSession | None = None
        # Connections to servers that take no writes yet: a copy that is promoted does soon.
        self._waiting: dict[int, LedgerSession] = {}
        self._target = 0
        self._due_ns: int | None = None
        self._thread = Thread(target=self._work, name=f"client {number}", daemon=True)

    def connect(self) -> None:
        """Connect for the first time. SlobError when no server takes the session."""
        error = self._try_all(None)
        if error:
            raise error
        self.journal.reconnections.clear()  # the rows are new

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def cut_if_late(self) -> None:
        """Break the connection off if its answer is overdue: the session then tries the other servers."""
        asked = self._asked
        if asked is not None and time.monotonic() > self._since + self._plan.answer_s:
            asked.cut()

    def cut(self) -> None:
        """Break all connections off, one to a server that is asked whether it takes writes, too."""
        asked, own = self._asked, self._session
        for session in (*self._waiting.copy().values(), *(each for each in (asked, own) if each)):
            session.cut()

    def join(self, seconds: float) -> bool:
        """Wait for the end of the thread; return whether it ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def close(self) -> None:
        """Close all connections."""
        for session in (*self._waiting.values(), *([self._session] if self._session else [])):
            session.close()
        self._session = None
        self._waiting.clear()

    @contextmanager
    def _asking(self, session: LedgerSession) -> Iterator[None]:
        """Wait for answers of a connection in the block, each no longer than the plan says."""
        self._since = time.monotonic()
        self._asked = session
        try:
            yield
        finally:
            self._asked = None

    def _work(self) -> None:
        number = 1
        try:
            while not self._plan.stop.is_set() and self._session is not None:
                if self._is_due():
                    number = self._operate(self._session, number)
        finally:
            self.close()

    def _is_due(self) -> bool:
        """Wait until the next operation is due; return False when the sessions are stopped meanwhile."""
        rate = self._plan.per_s
        if rate is None:
            self._due_ns = None
            return True
        interval = int(NANOS * self._plan.sessions / rate)
        now = time.monotonic_ns()
        due = now + interval * self.journal.session // self._plan.sessions if self._due_ns is None else self._due_ns
        late = now - due
        if late > _LATEST_S * NANOS:
            missed = late // interval
            self.journal.skipped += missed
            due += missed * interval
        if due > now and self._plan.stop.wait((due - now) / NANOS):
            return False
        self._due_ns = due + interval
        return True

    def _operate(self, session: LedgerSession, number: int) -> int:
        """Send an operation; return the number of the next one."""
        try:
            with self._asking(session):
                session.commit(number, key_of(number, self._plan.rows))
                acked = time.monotonic_ns()
        except SlobError as error:
            self.journal.add(number, IN_DOUBT, self._target, 0)
            found = self._reconnect(error)
            asked = self._plan.retry is Retry.ASK and found is not None
            return number + 1 if asked and found and found.number >= number else number
        self.journal.add(number, acked, self._target, session.done_ns)
        return number + 1

    def _reconnect(self, error: SlobError) -> Entry | None:
        """Try the servers until one takes the session; return what it has of the session. None: it was stopped."""
        after = self._target
        self.close()
        while not self._plan.stop.is_set():
            if self._try_all(after) is None:
                self.journal.losses.append(Loss(str(error), time.monotonic_ns()))
                return self.journal.reconnections[-1].entry
            self._plan.stop.wait(RETRY_S)
        return None

    def _try_all(self, after: int | None) -> SlobError | None:
        """Try each server once; return why the last one refused, None if one took the session."""
        refused = SlobError("there is no server to connect to")
        for target in self._plan.order(self.journal.session, after):
            tables = self._plan.targets.get(target)
            try:
                if tables and self._try(target, tables):
                    return None
            except SlobError as error:
                refused = error
        return refused

    def _try(self, target: int, tables: LedgerTables) -> bool:
        session = self._waiting.pop(target, None) or tables.open_session(self.journal.session)
        try:
            with self._asking(session):
                if target not in self._plan.offsets:
                    self._plan.compare_clocks(target, session)
                entry = session.last()
        except TakesNoWritesError:
            self._waiting[target] = session
            raise
        except BaseException:
            session.close()
            raise
        self._session, self._target = session, target
        self.journal.note_reconnection(entry)
        return True
