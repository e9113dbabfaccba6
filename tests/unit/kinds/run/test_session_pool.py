"""Bringing sessions up: those that load data of their own are waited for as long as they get on, and no longer."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from threading import Barrier, Condition, Event, Lock

import pytest

from factories.texts import numbers
from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import Interrupt
from openslob.core.workload import Workload
from openslob.engines.patience import Patience
from openslob.kinds.run import crew, ending
from openslob.kinds.run import session_pool as crew_module
from openslob.kinds.run.crew import local_crew
from openslob.kinds.run.plan import Phase, session_plans
from openslob.kinds.run.progress import Connecting
from openslob.kinds.run.session_pool import SessionPool

# How long the pool waits for sessions, by the clock of the tests, and how long tests wait: longer than any host takes.
PATIENCE_S, LONG_S = 60.0, 120
BLOCKS = 100


class Clock:
    """In place of the pool's `time`: waits take real time, patience only ends with the time of the sessions' steps."""

    time_ns, sleep = staticmethod(time.time_ns), staticmethod(time.sleep)

    def __init__(self):
        self.now_s, self.looks, self.changed = 1000.0, 0, Condition()

    def monotonic(self):
        return self.now_s

    def pass_on(self, seconds, cancelled):
        """Let time pass once the pool has heard what came before; return when it has seen that, or gave up."""
        with self.changed:
            self._await_look(cancelled)
            self.now_s += seconds
            self._await_look(cancelled)

    def _await_look(self, cancelled):
        # The present one may have begun before.
        enough = self.looks + 2
        assert self.changed.wait_for(lambda: self.looks >= enough or cancelled.is_set(), LONG_S)

    def look(self):
        with self.changed:
            self.looks += 1
            self.changed.notify_all()


@dataclass
class Session:
    """Loads in steps of so many seconds; a step of None never ends until the session is cancelled."""

    engine: Engine
    number: int
    cancelled: Event = field(default_factory=Event)

    def load_private_tables(self, wrote_blocks):
        for step_s in self.engine.steps[self.number]:
            if step_s is None:
                assert self.cancelled.wait(LONG_S)
            elif step_s:
                self.engine.clock.pass_on(step_s, self.cancelled)
            if self.cancelled.is_set():
                raise SlobError("cancelled")
            wrote_blocks(BLOCKS)
        if self.number in self.engine.failing:
            raise SlobError(f"session {self.number}: no space left")

    def prepare(self):
        self.engine.prepared.append(self.number)

    def plans(self):
        return {"select": "by the index"}

    def backend_id(self):
        return self.number

    def instance(self):
        return f"instance {self.number % 2}"

    def run_slice(self, order):
        self.engine.all_run.wait()
        if self.number == 0:
            self.engine.interrupt.request()
        self.cancelled.wait()
        raise SlobError("cancelled")

    def cancel(self):
        self.cancelled.set()
        with self.engine.clock.changed:
            self.engine.clock.changed.notify_all()
        return True

    cut = cancel

    def close(self):
        self.engine.closed.append(self.number)


@dataclass
class Engine:
    """Opens `Session`s; `steps` by session number."""

    steps: list
    failing: tuple = ()
    prepared: list = field(default_factory=list)
    closed: list = field(default_factory=list)
    interrupt: Interrupt = field(default_factory=Interrupt)
    all_run: Barrier = field(default_factory=lambda: Barrier(2))
    clock: Clock = field(default_factory=Clock)

    def open_stop(self):
        return self

    def obstacle(self):
        return ""

    def request(self):
        pass

    def close(self):
        pass

    def open_session(self, plan):
        return Session(self, plan.number)


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(crew_module, "CONNECT_PATIENCE_S", PATIENCE_S)
    monkeypatch.setattr(crew_module, "CUT_AFTER_S", 0.01)
    # Whoever is cancelled or cut off here ends by itself, on a busy host later.
    monkeypatch.setattr(crew_module, "LEAVE_AFTER_S", LONG_S)
    for name in ("ASK_S", "CUT_AFTER_S", "LEAVE_AFTER_S"):
        monkeypatch.setattr(ending, name, LONG_S)


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(crew_module, "time", made)
    monkeypatch.setattr(crew_module, "PULSE_S", 0.005)
    return made


def crew_of(engine, path="local", interrupt=None):
    workload = Workload(schemas=1, sessions=len(engine.steps), block_path=path)
    plans = session_plans(workload, 8192, "t")
    return SessionPool(engine, plans, Patience(interrupt or Interrupt()), local_crew, Path())


def test_a_crew_that_can_not_be_hired_leaves_no_connection():
    def refuse(*_):
        raise UsageError("there are 2 drivers for 1 session")

    engine = Engine([])
    opened = []
    engine.open_stop = lambda: opened.append("stop")
    with pytest.raises(UsageError):
        SessionPool(engine, [], Patience(Interrupt()), refuse, Path())
    assert opened == []


def brought_up(engine, private_bytes=0, **how):
    session_pool, seen = crew_of(engine, **how), []
    shown = Connecting(seen.append)
    ready = shown.ready
    shown.ready = lambda count: (engine.clock.look(), ready(count))
    try:
        plans = session_pool.connect_all(shown, private_bytes)
    finally:
        session_pool.shutdown()
    return plans, seen[-1].done or 0


def test_a_load_may_take_longer_than_patience_as_long_as_it_gets_on(clock):
    engine, begun = Engine([[10.0] * 8, [15.0] * 8], clock=clock), clock.now_s
    plans, blocks = brought_up(engine)
    assert clock.now_s - begun == 200 > PATIENCE_S
    assert plans == {"select": "by the index"}
    assert blocks == 16 * BLOCKS
    assert sorted(engine.prepared) == [0, 1]


def test_sessions_say_where_they_landed():
    session_pool = crew_of(Engine([[], [], []]))
    try:
        session_pool.connect_all(Connecting(lambda _: None))
    finally:
        session_pool.shutdown()
    assert session_pool.instances == {0: "instance 0", 1: "instance 1", 2: "instance 0"}


def test_a_load_that_stands_still_is_given_up_and_cancelled(clock):
    engine = Engine([[1.0, PATIENCE_S + 1]], clock=clock)
    with pytest.raises(SlobError, match=r"^1 of 1 sessions .* in time"):
        brought_up(engine)
    assert engine.closed == [0]


def test_patience_grows_with_what_is_to_be_loaded(clock):
    engine = Engine([[1.0, PATIENCE_S + 19]], clock=clock)
    brought_up(engine, private_bytes=20 * crew_module.SLOWEST_LOAD_BYTES_PER_S)
    assert engine.prepared == [0]


def test_one_that_fails_ends_the_others_at_once():
    engine = Engine([[0], [None]], failing=(0,))
    with pytest.raises(SlobError, match="session 0: no space left"):
        brought_up(engine)
    assert sorted(engine.closed) == [0, 1]
    assert engine.prepared == []


def test_a_stop_ends_a_load_within_a_batch():
    engine, interrupt = Engine([repeat(0)]), Interrupt()
    interrupt.request()
    with pytest.raises(SlobError, match="stopped before the start"):
        brought_up(engine, interrupt=interrupt)
    assert engine.prepared == []


def test_sessions_on_the_shared_path_load_nothing():
    engine = Engine([[None], [None]])
    assert brought_up(engine, path="shared") == ({"select": "by the index"}, 0)


def test_an_operation_that_goes_on_after_a_stop_is_cancelled_and_has_run_at_least_as_long(monkeypatch):
    monkeypatch.setattr(crew_module, "PATIENCE_S", 0.1)
    engine = Engine([[], []])
    session_pool = crew_of(engine, interrupt=engine.interrupt)
    begun = time.monotonic()
    try:
        session_pool.connect_all(Connecting(lambda _: None))
        session_pool.run_phase(Phase("window", 0, 2**62))
    finally:
        session_pool.shutdown()
    assert (session_pool.errors, session_pool.lost) == ([], set())
    assert sorted(session_pool.unfinished_s) == [0, 1]
    for seconds in session_pool.unfinished_s.values():
        assert crew_module.PATIENCE_S <= seconds <= time.monotonic() - begun


def test_an_operation_that_goes_on_after_the_planned_end_has_run_since_then(monkeypatch):
    monkeypatch.setattr(ending, "GRACE_S", 0.3)
    monkeypatch.setattr(crew_module, "LATE_PATIENCE_S", 0.1)
    session_pool = crew_of(Engine([[]], all_run=Barrier(1)))
    try:
        session_pool.connect_all(Connecting(lambda _: None))
        session_pool.run_phase(Phase("window", time.time_ns(), time.time_ns() + 100_000_000))
    finally:
        session_pool.shutdown()
    assert numbers(session_pool.errors[0])[:2] == [1, 1]
    assert session_pool.unfinished_s[0] >= 0.4


class Door(Engine):
    """Counts how many sessions are being opened at the same time; each waits in the door for ``goes_on``."""

    def __init__(self, steps, goes_on):
        super().__init__(steps)
        self.inside, self.most, self.opened, self.goes_on = 0, 0, [], goes_on
        self.lock = Lock()

    def open_session(self, plan):
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        self.goes_on()
        with self.lock:
            self.inside -= 1
            self.opened.append(plan.number)
        return super().open_session(plan)


def test_a_few_sessions_at_a_time_are_connected(monkeypatch):
    monkeypatch.setattr(crew, "CONNECT_AT_ONCE", 3)
    # Three meet in the door, or none goes on.
    engine = Door([[] for _ in range(9)], Barrier(3, timeout=LONG_S).wait)
    brought_up(engine, path="shared")
    assert sorted(engine.opened) == list(range(9))
    assert engine.most == 3


def test_a_stop_leaves_alone_the_sessions_that_were_not_opened_yet(monkeypatch):
    monkeypatch.setattr(crew, "CONNECT_AT_ONCE", 2)
    interrupt, first = Interrupt(), Lock()
    # The first one gets through; the others wait in the door for the stop.
    engine = Door([[] for _ in range(100)], lambda: first.acquire(blocking=False) or interrupt.stop.wait(LONG_S))
    session_pool = crew_of(engine, path="shared", interrupt=interrupt)
    stop = Connecting(lambda _: None)
    stop.ready = lambda count: interrupt.request() if count else None
    with pytest.raises(SlobError, match=r" of 100 sessions .*: stopped"):
        session_pool.connect_all(stop)
    session_pool.shutdown()
    assert len(engine.opened) <= 3
    assert sorted(engine.closed) == sorted(engine.opened)
