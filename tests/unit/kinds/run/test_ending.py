"""When a phase is overdue, and the steps in which its sessions are ended."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from factories.texts import numbers
from openslob.core.units import NANOS
from openslob.kinds.run import ending
from openslob.kinds.run.ending import (
    ASK_S,
    CUT_AFTER_S,
    GRACE_S,
    LEAVE_AFTER_S,
    PATIENCE_S,
    Deadline,
    SessionEnding,
    cancel,
)
from openslob.kinds.run.plan import Phase

NEVER_S = 10**7


class Clock:
    """Stands for the module ``time``: this host's clock can be set, the monotonic one only goes on."""

    def __init__(self):
        self.now = 1000.0
        self.wall_s = 5000.0

    def monotonic(self):
        return self.now

    def time_ns(self):
        return int(self.wall_s * NANOS)

    def go(self, seconds):
        self.now += seconds
        self.wall_s += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(ending, "time", made)
    return made


def phase_of(clock, seconds, max_ops=0, ahead_s=0.0):
    """A phase that begins in 0.1 s, by the clock of a server that is so far ahead."""
    begin_ns = int((clock.wall_s + ahead_s + 0.1) * NANOS)
    return Phase("window", begin_ns, begin_ns + int(seconds * NANOS), max_ops)


@pytest.mark.parametrize("ahead_s", [0, -3600, 3600])
def test_a_phase_is_overdue_after_its_end_and_grace_whatever_clocks_say(clock, ahead_s):
    deadline = Deadline(phase_of(clock, 10, ahead_s=ahead_s), ahead_s * NANOS, 4)
    assert deadline.left_s() == pytest.approx(10.1 + GRACE_S)
    clock.wall_s -= 3600
    clock.go(10)
    assert deadline.left_s() == pytest.approx(0.1 + GRACE_S)
    assert numbers(deadline.complaint(1, 4)) == [1, 4, GRACE_S]


def test_a_phase_that_is_ended_early_is_overdue_earlier(clock):
    phase = phase_of(clock, 100)
    deadline = Deadline(phase, 0, 4)
    phase.end_ns -= 60 * NANOS
    assert deadline.left_s() == pytest.approx(40.1 + GRACE_S)


def test_a_phase_of_operations_is_overdue_when_nobody_gets_on(clock):
    deadline = Deadline(phase_of(clock, NEVER_S, max_ops=10**6), 0, 4)
    for _ in range(100):
        clock.go(GRACE_S)
        assert deadline.left_s() > 0
        deadline.heard()
    clock.go(GRACE_S + 2)
    assert deadline.left_s() < 0
    assert "made no progress for 30 s" in deadline.complaint(4, 4)


@dataclass
class Worker:
    """Notes what is done to it."""

    answers: bool = True
    done: list = field(default_factory=list)

    def cancel(self):
        self.done.append("cancel")
        return self.answers

    def cut(self):
        self.done.append("cut")


def steps(clock, workers, patience_s, seconds, silent=False):
    asked = []
    ends = SessionEnding(lambda: asked.append(clock.now))
    begun = clock.now
    while clock.now < begun + seconds and not ends.left:
        ends.go_on(workers, patience_s, lambda: silent)
        clock.go(0.1)
    assert len(asked) == 1
    return ends


def test_sessions_are_asked_then_cancelled_then_cut_off_then_left(clock):
    worker = Worker()
    assert not steps(clock, [worker], PATIENCE_S, PATIENCE_S - 1).cancelled
    assert worker.done == []
    ends = steps(clock, [worker], PATIENCE_S, PATIENCE_S + 1)
    assert (ends.cancelled, worker.done) == (True, ["cancel"])
    assert ends.asked_for_s == pytest.approx(PATIENCE_S, abs=0.2)
    begun = clock.now
    assert steps(clock, [worker], 0.0, 100).left
    assert clock.now - begun == pytest.approx(CUT_AFTER_S + LEAVE_AFTER_S, abs=0.5)
    assert worker.done[1] == "cancel"
    assert set(worker.done[2:]) == {"cut"}


def test_once_one_cancel_is_not_answered_all_are_cut_off(clock):
    workers = [Worker(), Worker(answers=False), Worker()]
    steps(clock, workers, 0.0, 0.1)
    assert [worker.done for worker in workers] == [["cancel", "cut"], ["cancel", "cut"], ["cut"]]


def test_a_silent_server_is_not_asked_to_cancel(clock):
    worker = Worker()
    steps(clock, [worker], PATIENCE_S, 0.1, silent=True)
    assert worker.done == ["cut"]


def test_a_server_that_is_slow_to_take_requests_does_not_keep_a_thousand_sessions_from_their_end(clock):
    class Slow(Worker):
        def cancel(self):
            clock.go(ASK_S / 2)
            return super().cancel()

    workers = [Slow() for _ in range(1000)]
    begun = clock.now
    cancel(workers)
    assert clock.now - begun == ASK_S
    assert [worker.done for worker in workers] == [["cancel", "cut"]] * 2 + [["cut"]] * 998
