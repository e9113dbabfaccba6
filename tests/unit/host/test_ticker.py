"""The ticker: due times without drift, missed ones counted, errors kept."""

from __future__ import annotations

import threading
import time

import pytest

from factories.running import eventually
from factories.tables import table
from openslob.host import sampler as ticker_module
from openslob.host.sampler import Ticker, next_tick

# Longer than any host takes.
PATIENCE_S = 120
CASES = (
    ("in time", 0, 100, 1, 0),
    ("exactly due", 0, 1000, 1, 0),
    ("late by a little skips that one", 0, 1001, 2, 1),
    ("late by three and a half", 4, 8500, 9, 4),
    ("before the start", 0, -500, 1, 0),
)


@table(("last", "now", "number", "missed"), [case[1:] for case in CASES], ids=[c[0] for c in CASES])
def test_next_tick(last, now, number, missed):
    assert next_tick(last, now + 7, 7, 1000) == (number, missed)


class Clock:
    """A clock that only goes on while somebody sleeps, in place of `time` and of the ticker's stop."""

    def __init__(self, ends_after):
        self.now_ns = 0
        self.waits_left = ends_after

    def monotonic_ns(self):
        return self.now_ns

    def sleep(self, seconds):
        self.now_ns += round(seconds * 1e9)

    def wait(self, seconds):
        self.sleep(seconds)
        self.waits_left -= 1
        return self.waits_left < 0


def test_ticks_stay_on_the_grid_though_each_action_takes_time(monkeypatch):
    clock, seen = Clock(ends_after=10), []
    monkeypatch.setattr(ticker_module, "time", clock)

    def action():
        seen.append(clock.now_ns)
        clock.sleep(0.01)

    ticker = Ticker(0.03, action, stopping=clock)
    ticker.run(0)
    # If each began when the one before ended, the distances from the grid would be 0, 10, 20, 0, 10, 20, … ms.
    assert seen == [number * 30_000_000 for number in range(10)]
    assert (ticker.done, ticker.missed) == (10, 0)


def test_slow_action_skips_and_counts(monkeypatch):
    clock, seen = Clock(ends_after=3), []
    monkeypatch.setattr(ticker_module, "time", clock)

    def action():
        seen.append(clock.now_ns)
        clock.sleep(0.05)

    ticker = Ticker(0.02, action, stopping=clock)
    ticker.run(0)
    # Those at 20 and 40, 80 and 100, 140 and 160 ms were missed.
    assert seen == [0, 60_000_000, 120_000_000]
    assert (ticker.done, ticker.missed) == (3, 6)


def test_stops_between_ticks():
    fired = threading.Event()
    ticker = Ticker(3600, fired.set)
    ticker.start()
    assert fired.wait(PATIENCE_S)
    # If it waited for the next tick, this test would run into the time limit of all tests.
    assert ticker.stop() is None
    assert (ticker.done, ticker.missed) == (1, 0)


def test_stop_before_the_first_tick_never_acts():
    ticker = Ticker(1, pytest.fail)
    ticker.start(time.monotonic_ns() + 3600 * 10**9)
    assert ticker.stop() is None
    assert ticker.done == 0


def test_an_error_ends_the_ticker_and_is_reported():
    failed = threading.Event()

    def action():
        failed.set()
        raise ValueError("the connection is gone")

    ticker = Ticker(0.001, action)
    ticker.start()
    assert failed.wait(PATIENCE_S)
    assert eventually(lambda: ticker.error is not None)
    error = ticker.stop()
    assert isinstance(error, ValueError)
    assert ticker.error is error
    assert ticker.done == 0
