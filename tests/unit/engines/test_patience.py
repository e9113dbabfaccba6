"""When a wait for a server must end, by a clock that the tests set."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from threading import Event

import pytest

from factories.tables import table
from openslob.core.errors import SlobError
from openslob.core.interrupt import Interrupt
from openslob.engines import patience as module
from openslob.engines.patience import (
    ANSWER_S,
    AT_ONCE_S,
    PROBE_EVERY_S,
    SOON_S,
    NoAnswerError,
    Patience,
    StoppedError,
    Watch,
    Work,
    cut_when_late,
)

LOCKED = "session 0 waits for bob"


class Clock:
    """Stands for the module ``time``."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    monkeypatch.setattr("openslob.core.interrupt.time", made)
    return made


class Server:
    """Answers a probe, or says who is in the way; None: it does not answer."""

    def __init__(self, obstacle=""):
        self.obstacle = obstacle
        self.asked = 0

    def __call__(self):
        self.asked += 1
        if self.obstacle is None:
            raise SlobError("it does not answer")
        return self.obstacle


def lasts(clock, check, seconds, step_s=0.5):
    """The time until the wait is ended and its error; None when it goes on for all of these seconds."""
    begun = clock.now
    while clock.now < begun + seconds:
        clock.now += step_s
        try:
            check()
        except SlobError as error:
            return clock.now - begun, error
    return None


@table(
    ("work", "obstacle", "limit_s", "words"),
    [
        (Work.SHORT, "", ANSWER_S, "no answer came for 30 s; the server hangs"),
        (Work.SHORT, LOCKED, ANSWER_S, LOCKED),
        (Work.SHORT, None, ANSWER_S, "it does not answer"),
        (Work.SAMPLE, "", ANSWER_S, "no answer came for 30 s; the server hangs"),
        (Work.SETTLE, "", None, ""),
        (Work.SETTLE, LOCKED, ANSWER_S, LOCKED),
        (Work.SETTLE, None, ANSWER_S, "it does not answer"),
        (Work.LOAD, "", None, ""),
        (Work.LOAD, LOCKED, None, ""),
        (Work.LOAD, None, ANSWER_S, "it does not answer"),
    ],
)
def test_how_long_a_statement_may_take(clock, work, obstacle, limit_s, words):
    ended = lasts(clock, Watch(Patience(), work, Server(obstacle)).begin(), 4 * ANSWER_S)
    if limit_s is None:
        assert ended is None
        return
    assert limit_s < ended[0] <= limit_s + PROBE_EVERY_S + 1
    assert str(ended[1]).startswith(words)


def test_what_holds_up_a_load_is_said_once(clock):
    said = []
    server = Server(LOCKED)
    watch = Watch(Patience(tell=said.append), Work.LOAD, server)
    lasts(clock, watch.begin(), 5 * PROBE_EVERY_S)
    assert server.asked >= 4
    assert said == [LOCKED]


def test_a_server_that_answers_a_probe_again_may_take_longer(clock):
    server = Server(None)
    check = Watch(Patience(), Work.LOAD, server).begin()
    assert lasts(clock, check, ANSWER_S - 1) is None
    server.obstacle = ""
    assert lasts(clock, check, PROBE_EVERY_S + 1) is None
    server.obstacle = None
    assert lasts(clock, check, ANSWER_S - PROBE_EVERY_S - 2) is None


def test_the_first_stop_ends_what_goes_on_and_nothing_that_begins_later(clock):
    interrupt = Interrupt()
    watch = Watch(Patience(interrupt), Work.LOAD, Server())
    check = watch.begin()
    clock.now += 1
    interrupt.request()
    ended = lasts(clock, check, 10)
    assert ended[0] <= SOON_S + 1
    assert isinstance(ended[1], StoppedError)
    assert lasts(clock, watch.begin(), 10) is None


def test_the_second_stop_ends_everything(clock):
    interrupt = Interrupt()
    patience = Patience(interrupt)
    watch = Watch(patience, Work.LOAD, Server())
    interrupt.request()
    check = watch.begin()
    interrupt.request()
    ended = lasts(clock, check, 10)
    assert ended[0] <= AT_ONCE_S + 1
    assert isinstance(ended[1], StoppedError)
    patience.allow(100)
    with pytest.raises(StoppedError):
        watch.begin()
    with pytest.raises(StoppedError):
        patience.connect(lambda: 1, print)


def test_readings_in_a_window_wait_until_it_is_overdue(clock):
    patience = Patience()
    patience.allow(100)
    watch = Watch(patience, Work.SAMPLE, Server())
    check = watch.begin()
    assert lasts(clock, check, 100) is None
    assert isinstance(lasts(clock, check, 10)[1], NoAnswerError)
    with pytest.raises(NoAnswerError, match="the server hangs"):
        watch.begin()
    patience.allow(1)
    watch.begin()


def test_after_a_server_was_found_not_to_answer_nothing_is_waited_for(clock):
    patience = Patience()
    watch = Watch(patience, Work.SHORT, Server(None))
    lasts(clock, watch.begin(), 4 * ANSWER_S)
    with pytest.raises(NoAnswerError, match="the server hangs"):
        watch.begin()
    blocked = Patience()
    watch = Watch(blocked, Work.SHORT, Server(LOCKED))
    lasts(clock, watch.begin(), 4 * ANSWER_S)
    watch.begin()


def test_a_connection_that_opens_too_late_is_closed(monkeypatch):
    monkeypatch.setattr(module, "time", time)
    monkeypatch.setattr("openslob.core.interrupt.time", time)
    monkeypatch.setattr(module, "POLL_S", 0.01)
    answer, closed = Event(), []
    patience = Patience()
    patience.allow(0.02)
    with pytest.raises(NoAnswerError):
        patience.connect(lambda: answer.wait(60) and "late", closed.append)
    answer.set()
    for _ in range(6000):
        if closed:
            break
        time.sleep(0.01)
    assert closed == ["late"]


def test_a_connection_and_an_error_of_opening_it_are_handed_on(monkeypatch):
    monkeypatch.setattr(module, "time", time)

    def refused():
        raise TimeoutError("refused")

    assert Patience().connect(lambda: "open", print) == "open"
    with pytest.raises(TimeoutError, match="refused"):
        Patience().connect(refused, print)


def test_an_answer_that_comes_as_a_wait_for_it_ends_is_no_failure(monkeypatch):
    """`Future.result` raises its own TimeoutError with nothing to say, and the answer may be there meanwhile."""

    class JustMissed(Future):
        def result(self, timeout=None):
            if timeout is None:
                return super().result()
            super().exception()
            raise TimeoutError

    monkeypatch.setattr(module, "time", time)
    monkeypatch.setattr(module, "Future", JustMissed)
    assert Patience().connect(lambda: "open", print) == "open"


def test_a_line_that_differs_in_how_long_it_lasts_is_not_repeated():
    said = []
    patience = Patience(tell=said.append)
    for text in (LOCKED, f"{LOCKED} (idle for 4 s)", f"{LOCKED} (idle for 14 s)", LOCKED):
        patience.tell_once(text)
    assert said == [LOCKED, f"{LOCKED} (idle for 4 s)", LOCKED]


def test_a_connection_that_is_not_ready_in_time_is_broken_off():
    broken = Event()
    with cut_when_late(broken.set, seconds=0.01):
        assert broken.wait(60)


def test_a_connection_that_is_ready_is_left_alone():
    broken, others = Event(), set(threading.enumerate())
    with cut_when_late(broken.set, seconds=600):
        (timer,) = (each for each in set(threading.enumerate()) - others if isinstance(each, threading.Timer))
    timer.join(60)
    assert not timer.is_alive()
    assert not broken.is_set()
