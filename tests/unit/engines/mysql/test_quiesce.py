"""The wait for dirty pages before the window, by a clock that the test moves."""

from itertools import chain, count, repeat
from types import SimpleNamespace

import pytest

from openslob.engines.mysql import quiesce


@pytest.fixture
def clock(monkeypatch):
    """Its seconds pass only in sleeps."""
    now = SimpleNamespace(s=0.0)

    def sleep(seconds):
        now.s += seconds

    monkeypatch.setattr(quiesce, "time", SimpleNamespace(monotonic=lambda: now.s, sleep=sleep))
    return now


def waited(counts):
    left = iter(counts)
    return quiesce.wait_until_clean(lambda: next(left), lambda _began: None)


def test_a_server_without_dirty_pages_keeps_nobody_waiting(clock):
    assert waited([3]) == "dirty pages were written out"
    assert clock.s == 0


def test_the_wait_goes_on_while_they_get_fewer(clock):
    assert waited(range(900, 0, -1)) == "dirty pages were written out"
    assert clock.s > 40


def test_pages_that_others_dirty_all_the_time_are_not_waited_for(clock):
    assert waited(chain([5000, 900], repeat(1000))) == "1,000 dirty pages were left: they did not get fewer for 5 s"
    assert 5 < clock.s < 5.3


def test_a_slow_disk_has_a_minute(clock):
    assert waited(count(100_000, -1)).endswith("dirty pages were left after 60 s")
    assert 60 < clock.s < 60.3


def test_whoever_ends_the_wait_is_asked_before_each_look(clock):
    asked = []
    left = iter([100, 50, 0])
    assert quiesce.wait_until_clean(lambda: next(left), asked.append) == "dirty pages were written out"
    assert asked == [0.0, 0.0]
