"""The end of an observed command: counts that sessions publish after it are its own, if the server then rests."""

import time
from itertools import chain, repeat

import pytest

from openslob.core.measurement import EngineDelta
from openslob.core.units import Anchor
from openslob.engines.base import CounterReading
from openslob.kinds.run.observation import observer
from openslob.kinds.run.observation.observer import ServerClock, read_at_end
from openslob.kinds.run.samplers import SystemReading


class Clock:
    """In place of the observer's `time`: only sleeping takes time."""

    def __init__(self):
        self.begun_ns, self.slept_ns = time.monotonic_ns(), 0

    def sleep(self, seconds):
        self.slept_ns += round(seconds * 1e9)

    def monotonic_ns(self):
        return self.begun_ns + self.slept_ns

    def monotonic(self):
        return self.monotonic_ns() / 1e9


class Server:
    """Samplers of a server that has counted so many transactions at each of its readings; the last again and again."""

    def __init__(self, *counted):
        self._counted = chain(counted, repeat(counted[-1]))
        self._read = 0

    def opening_reading(self):
        self._read += 1
        counters = CounterReading(time.time_ns(), {"transactions": next(self._counted)}, "1")
        return SystemReading(counters, f"host {self._read}", 0)

    closing_reading = opening_reading

    def engine_delta(self, before, after):
        first, last = (each.counters.values["transactions"] for each in (before, after))
        return EngineDelta(transactions=None if first is None else last - first)


@pytest.fixture
def closing(monkeypatch):
    monkeypatch.setattr(observer, "time", Clock())

    def read(*counted, command=True, last=(0, 0)):
        anchor, ended_ns = Anchor.now(), time.monotonic_ns()
        clock = ServerClock(anchor, 0, *last)
        return read_at_end(Server(*counted), clock.at(ended_ns) if command else None), anchor.wall_of(ended_ns)

    return read


def test_what_is_published_late_counts_and_the_window_ends_with_the_command(closing):
    reading, ended_ns = closing(100, 130, 150, 150)
    assert reading.counters.values == {"transactions": 150}
    assert reading.counters.server_ns == ended_ns
    # What the host did in the meantime is not the command's.
    assert reading.os == "host 1"


def test_a_short_command_does_not_end_before_it_began_where_the_server_s_clock_is_known_roughly(closing):
    now_ns, ahead_ns = time.monotonic_ns(), time.time_ns() + 10**12
    reading, _ = closing(100, 100, last=(ahead_ns, now_ns))
    assert reading.counters.server_ns > ahead_ns


def test_on_a_server_that_works_on_the_window_ends_with_its_counters(closing):
    reading, ended_ns = closing(*range(0, 1_000_000, 10))
    assert reading.counters.values == {"transactions": 10}
    assert reading.counters.server_ns > ended_ns
    assert reading.os == "host 2"


def test_where_transactions_are_not_known_nobody_can_tell_that_it_rests(closing):
    reading, ended_ns = closing(None)
    assert reading.counters.server_ns > ended_ns
    assert reading.os == "host 2"


def test_without_a_command_the_first_reading_is_the_last(closing):
    reading, _ = closing(100, 130, command=False)
    assert (reading.counters.values, reading.os) == ({"transactions": 100}, "host 1")
