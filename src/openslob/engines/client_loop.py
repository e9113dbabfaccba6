"""The client loop: the operations of the server's work loop, sent from here, one statement after the other.

Operation *n* of a session is the same in both loops: `core.method` says what it does, and the product's random
generator, computed here, draws the same numbers from the same seed in the same order: the key, the time to the next due
time, the think time. Each statement is a transaction of its own. Latency is the client's: from the call of the driver's
library to its return, so that the library, the protocol and the network are in it.

A product has `Statements`, and a generator. Times are by the server's clock, as in every slice: the sessions of a
process learn together how far it is ahead of this host's (`Lookout`).
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Event
from time import monotonic_ns
from typing import NamedTuple, Protocol

from openslob.core.errors import SlobError
from openslob.core.histogram import Histogram, bucket_of
from openslob.core.method import OpKind, is_due, kind_of
from openslob.core.units import NANOS
from openslob.core.workload import Pacing
from openslob.engines.base import SessionPlan, SliceRequest, SliceResult
from openslob.engines.slice_io import KINDS, NO_LIMIT, explained_kinds, slice_result

# How often the sessions of a process together ask the server for its clock, and whether to stop.
LOOK_NS = 200_000_000
# Clocks of two hosts that nobody sets drift apart by less than this share.
_DRIFT = 1e-4
_US = 1000


@dataclass(frozen=True)
class Look:
    """The server's clock, in ns since the epoch, and whether it holds the signal to stop."""

    server_ns: int
    stopping: bool


class Operation(NamedTuple):
    """An operation of a batch: its number, what it does and where; ``key`` is 0 for a scan."""

    number: int
    kind: OpKind
    hot: bool
    key: int


class Statements(Protocol):
    """The statements of one session, on its connection. They raise the errors of the driver's library.

    ``conflicts`` is how often updates were refused because of other transactions' changes, and sent again. ``hot``: on
    the tables of schema 1, and not on the session's own. The statements that visit rows return how many they visited.
    """

    conflicts: int

    def select(self, hot: bool, key: int) -> int:
        """Read ``WORK_UNIT`` rows from ``key`` on."""

    def update(self, hot: bool, key: int, number: int) -> int:
        """Change and commit ``UPDATE_WORK_UNIT`` rows from ``key`` on; operation ``number`` makes the values new."""

    def scan(self, hot: bool) -> int:
        """Read the short-scan table."""

    def send(self, batch: Sequence[Operation]) -> list[int]:
        """Do operations in their order without waiting for one before the next is sent; return the rows of each."""

    def look(self) -> Look:
        """Ask for the clock and the signal to stop."""

    def publish(self) -> None:
        """Let the server show all that it counted for this session."""


class Lookout:
    """What the sessions of a process know of their server together.

    ``offset_ns`` is the server's clock minus the monotonic one of this host. A reading is wrong by half of what it took
    at most, so that the quickest one counts, until the clocks may have drifted apart by more.
    """

    def __init__(self) -> None:
        self.offset_ns = 0
        self.stopping = False
        self._error_ns = math.inf
        self._read_ns = 0
        self._looked_ns = 0

    def is_due(self, now_ns: int) -> bool:
        """Return whether the server is to be asked again, or for the first time, as long as no answer has come."""
        return self.stopping or self._error_ns == math.inf or now_ns - self._looked_ns > LOOK_NS

    def look(self, ask: Callable[[], Look]) -> None:
        """Ask the server."""
        asked_ns = self._looked_ns = monotonic_ns()
        found = ask()
        answered_ns = monotonic_ns()
        self.stopping = found.stopping
        offset_ns, wrong_ns = found.server_ns - (asked_ns + answered_ns) // 2, (answered_ns - asked_ns) / 2
        error_ns = self._error_ns + _DRIFT * (answered_ns - self._read_ns)
        # A clock that is further off than both readings can be wrong was set.
        if wrong_ns <= error_ns or abs(offset_ns - self.offset_ns) > wrong_ns + error_ns:
            self.offset_ns, self._error_ns, self._read_ns = offset_ns, wrong_ns, answered_ns


def histogram_of(latencies_us: Sequence[int] | Counter[int]) -> Histogram:
    """Return the histogram of latencies in whole µs, one by one or counted."""
    counted, counts = Counter(latencies_us), Counter[int]()
    for us, count in counted.items():
        counts[bucket_of(us)] += count
    total = sum(us * count for us, count in counted.items())
    return Histogram(dict(counts), float(total), float(max(counted, default=0)))


def _by_kind() -> dict[OpKind, list[int]]:
    return {kind: [] for kind in KINDS}


@dataclass
class _Slice:
    """A slice while it runs; moments are of the monotonic clock, in ns.

    ``done`` is its number of operations, ``since_due_us`` how long after its first due time the next operation is due.
    """

    order: SliceRequest
    offset_ns: int
    until_ns: int
    began_ns: int = 0
    now_ns: int = 0
    done: int = 0
    since_due_us: float = 0.0
    rows: Counter[OpKind] = field(default_factory=Counter)
    service: dict[OpKind, list[int]] = field(default_factory=_by_kind)
    response: dict[OpKind, list[int]] = field(default_factory=_by_kind)
    wake_ups: list[int] = field(default_factory=list)
    connects: list[int] = field(default_factory=list)

    @property
    def op(self) -> int:
        """The number of the next operation."""
        return self.order.first_op + self.done

    @property
    def due_ns(self) -> float:
        """When the next operation is due; in the past where none has a due time."""
        return (self.order.due_ns or 0) - self.offset_ns + self.since_due_us * _US

    @property
    def is_at_rate(self) -> bool:
        """Whether the next operation is due at the rate of this slice."""
        return self.since_due_us < self.order.due_for_us

    def result(self, conflicts: int, paced: bool) -> SliceResult:
        """Return it as the work loop's result."""
        numbers = {
            "began_us": (self.began_ns + self.offset_ns) // _US,
            "ended_us": (self.now_ns + self.offset_ns) // _US,
            "ops": self.done,
            "rows_read": self.rows[OpKind.SELECT],
            "rows_updated": self.rows[OpKind.UPDATE],
            "rows_scanned": self.rows[OpKind.SCAN],
            "conflicts": conflicts,
        }
        response = {kind: histogram_of(each) for kind, each in self.response.items()} if paced else {}
        due_ns = (self.order.due_ns or 0) + round(self.since_due_us * _US) if paced else None
        service = {kind: histogram_of(each) for kind, each in self.service.items()}
        result = slice_result(numbers, service, response, histogram_of(self.wake_ups), due_ns)
        return replace(result, connects=histogram_of(self.connects))


class ClientLoop:
    """The operations of one session. Used by one thread, but `end` may come from another.

    ``connect`` gives the session another connection, and returns how long it took to connect, in ns.
    """

    def __init__(self, plan: SessionPlan, statements: Statements, lookout: Lookout, connect: Callable[[], int]) -> None:
        self._plan = plan
        self._load = plan.workload
        self._law = plan.workload.key_law(plan.scale)
        self._statements = statements
        self._lookout = lookout
        self._connect = connect
        self._draw: Callable[[], float] = random.random
        self._paced = plan.interval_us is not None
        # The end of a sleep that the end of a slice cut short, by the monotonic clock.
        self._resume_ns = 0
        self._ending = Event()

    def warm_up(self) -> None:
        """Do one operation of each kind, before all others, so that the first one is no slower."""
        for kind in explained_kinds(self._load):
            self._perform(kind, hot=False, number=-1)
        if self._load.pipeline > 1:
            kinds = explained_kinds(self._load)
            self._statements.send([Operation(-1, kind, False, self._key_of(kind, -1)) for kind in kinds])
        self._statements.publish()

    def begin(self, draw: Callable[[], float]) -> None:
        """Draw every number from here on by ``draw``: the product's generator, with the session's seed."""
        self._draw = draw

    def end(self) -> None:
        """Let a slice that runs fail soon."""
        self._ending.set()

    def run(self, order: SliceRequest) -> SliceResult:
        """Run one slice. SlobError after `end`."""
        conflicts, last_op = self._statements.conflicts, order.first_op + (order.max_ops or NO_LIMIT)
        work = self._start(order)
        while work.now_ns < work.until_ns and work.op < last_op and work.is_at_rate and self._await_due(work):
            if self._load.pipeline > 1:
                self._send_batch(work, last_op)
            else:
                self._operate(work)
            if not self._may_go_on(work):
                break
        if work.done:
            self._statements.publish()
        return work.result(self._statements.conflicts - conflicts, self._paced)

    def _start(self, order: SliceRequest) -> _Slice:
        """Wait for the slice's begin."""
        if self._lookout.is_due(monotonic_ns()):
            self._lookout.look(self._statements.look)
        offset_ns = self._lookout.offset_ns
        work = _Slice(order, offset_ns, order.until_ns - offset_ns)
        may_work = self._sleep_until(min(max(order.not_before_ns - offset_ns, self._resume_ns), work.until_ns))
        work.began_ns = work.now_ns = monotonic_ns()
        if not may_work or self._lookout.stopping:
            work.until_ns = work.now_ns
        return work

    def _await_due(self, work: _Slice) -> bool:
        """Wait until the next operation is due; return whether it may begin in this slice."""
        due_ns = work.due_ns
        if not self._paced or due_ns <= work.now_ns:
            return True
        may_work = self._sleep_until(min(int(due_ns), work.until_ns))
        work.now_ns = monotonic_ns()
        if not may_work or work.now_ns >= work.until_ns:
            return False
        work.wake_ups.append(max(0, round((work.now_ns - due_ns) / _US)))
        return True

    def _operate(self, work: _Slice) -> None:
        """Do the next operation, and count it."""
        if self._ending.is_set():
            raise self._was_ended()
        load, phases, number = self._load, self._plan.phases, work.op
        if number and is_due(number, load.connect_every, 0):
            # What it has counted would otherwise be shown when the server has ended it.
            self._statements.publish()
            work.connects.append((self._connect() + _US // 2) // _US)
        kind = kind_of(number, load.update_pct, load.scan_pct, phases)
        hot = is_due(number, load.hot_schema_frequency, phases.hot_schema)
        rows, began_ns, ended_ns = self._perform(kind, hot, number)
        us = (ended_ns - began_ns + _US // 2) // _US
        work.rows[kind] += rows
        work.service[kind].append(us)
        if self._paced:
            work.response[kind].append(max(us, round((ended_ns - work.due_ns) / _US)))
            intervals = -math.log(1 - self._draw()) if load.pacing is Pacing.POISSON else 1.0
            work.since_due_us += (work.order.interval_us or self._plan.interval_us or 0.0) * intervals
        work.done += 1
        work.now_ns = ended_ns

    def _send_batch(self, work: _Slice, last_op: int) -> None:
        """Do the next operations together. Each counts, with the time until the results of all of them were there."""
        if self._ending.is_set():
            raise self._was_ended()
        batch = [self._choose(number) for number in range(work.op, min(work.op + self._load.pipeline, last_op))]
        began_ns = monotonic_ns()
        rows = self._statements.send(batch)
        work.now_ns = monotonic_ns()
        us = (work.now_ns - began_ns + _US // 2) // _US
        for operation, count in zip(batch, rows, strict=True):
            work.rows[operation.kind] += count
            work.service[operation.kind].append(us)
        work.done += len(batch)

    def _choose(self, number: int) -> Operation:
        """Return what the operation of this number does."""
        load, phases = self._load, self._plan.phases
        kind = kind_of(number, load.update_pct, load.scan_pct, phases)
        hot = is_due(number, load.hot_schema_frequency, phases.hot_schema)
        return Operation(number, kind, hot, self._key_of(kind, number))

    def _key_of(self, kind: OpKind, number: int) -> int:
        """Draw the first key of an operation; a scan has none."""
        if kind is OpKind.SCAN:
            return 0
        return self._draw_key(number, self._load.work_unit if kind is OpKind.SELECT else self._load.rows_per_update)

    def _perform(self, kind: OpKind, hot: bool, number: int) -> tuple[int, int, int]:
        """Do an operation; return its rows, and when it began and ended."""
        statements, key = self._statements, self._key_of(kind, number)
        began_ns = monotonic_ns()
        if kind is OpKind.SELECT:
            rows = statements.select(hot, key)
        elif kind is OpKind.UPDATE:
            rows = statements.update(hot, key, number)
        else:
            rows = statements.scan(hot)
        return rows, began_ns, monotonic_ns()

    def _draw_key(self, number: int, rows: int) -> int:
        """Draw the first of ``rows`` keys: the only place where a key is chosen."""
        plan, law = self._plan, self._law
        if law.exponent:
            return law.key_of(law.rank_at(self._draw()))
        base, span = 1, plan.scale
        if plan.hotspot and is_due(number, self._load.hotspot_frequency, plan.phases.hotspot):
            base, span = plan.hotspot
        return base + math.floor(self._draw() * (span - rows + 1))

    def _may_go_on(self, work: _Slice) -> bool:
        """Think, where it is time for that; return whether the run goes on."""
        load = self._load
        if self._lookout.is_due(work.now_ns):
            self._lookout.look(self._statements.look)
            if self._lookout.stopping:
                return False
        if not is_due(work.op - 1, load.think_tm_frequency, self._plan.phases.think):
            return True
        think_s = load.think_tm_min + self._draw() * (load.think_tm_max - load.think_tm_min)
        self._resume_ns = work.now_ns + int(think_s * NANOS)
        may_work = self._sleep_until(min(self._resume_ns, work.until_ns))
        work.now_ns = monotonic_ns()
        return may_work

    def _sleep_until(self, at_ns: int) -> bool:
        """Sleep; return whether the run goes on. SlobError after `end`."""
        while (left_ns := at_ns - monotonic_ns()) > 0:
            if self._ending.wait(min(left_ns, LOOK_NS) / NANOS):
                raise self._was_ended()
            if self._lookout.is_due(monotonic_ns()):
                self._lookout.look(self._statements.look)
                if self._lookout.stopping:
                    return False
        return True

    def _was_ended(self) -> SlobError:
        return SlobError(f"session {self._plan.number} was lost: it was ended while it worked")
