"""The wait for dirty pages before the window, by a clock that the test moves."""

from itertools import chain, count, repeat
from types import SimpleNamespace

import pymysql
import pytest
from pymysql.constants import ER

from factories.texts import numbers
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
    assert waited([3]) == quiesce.WRITTEN_OUT
    assert clock.s == 0


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (ER.SPECIFIC_ACCESS_DENIED_ERROR, "this user may not set innodb_max_dirty_pages_pct"),
        (ER.DISK_FULL, "the server's words"),
    ],
)
def test_only_a_right_that_is_missing_is_named_as_what_keeps_pages_in_memory(code, why):
    class Refused:
        def change(self, *_):
            raise pymysql.OperationalError(code, "the server's words")

    assert quiesce.flush_pages(None, Refused(), None) == f"dirty pages were not written out: {why}"


def test_the_wait_goes_on_while_they_get_fewer(clock):
    assert waited(range(900, 0, -1)) == quiesce.WRITTEN_OUT
    assert clock.s > 40


def test_pages_that_others_dirty_all_the_time_are_not_waited_for(clock):
    assert numbers(waited(chain([5000, 900], repeat(1000)))) == [1000, 5]
    assert 5 < clock.s < 5.3


def test_a_slow_disk_has_a_minute(clock):
    left, waited_s = numbers(waited(count(100_000, -1)))
    assert 60 == waited_s < clock.s < 60.3
    assert 0 < left < 100_000


def test_whoever_ends_the_wait_is_asked_before_each_look(clock):
    asked = []
    left = iter([100, 50, 0])
    assert quiesce.wait_until_clean(lambda: next(left), asked.append) == quiesce.WRITTEN_OUT
    assert asked == [0.0, 0.0]
