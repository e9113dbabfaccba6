"""For how long tasks waited for a CPU: sums over tasks that come and go."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from openslob.core.units import NANOS
from openslob.host.run_queue import RunQueueSum, parse_schedstat


def test_the_second_number_is_the_wait():
    assert parse_schedstat(b"1337212 1570878 4\n") == (1_337_212, 1_570_878)
    assert parse_schedstat(b"0 0 0\n") is None


@given(st.lists(st.dictionaries(st.integers(1, 4), st.integers(0, 10**6)), max_size=8))
def test_the_sum_has_what_each_task_waited_more(readings):
    """A task that is missing for a while goes on where it was."""
    counter, at, total, last = RunQueueSum(), dict.fromkeys(range(5), 0), 0, 0.0
    for more in readings:
        for task, ns in more.items():
            at[task] += ns
            total += ns
        found = counter.add({(task, task): at[task] for task in more}, forget=False)
        assert round(found * NANOS) == total
        assert found >= last
        last = found


def test_a_number_that_went_to_another_task_begins_at_zero():
    counter = RunQueueSum()
    assert counter.add({(7, 7): 5 * NANOS}, forget=False) == 5.0
    assert counter.add({(7, 7): 2 * NANOS}, forget=False) == 7.0


def test_a_look_at_all_tasks_forgets_those_that_ended():
    counter = RunQueueSum()
    counter.add({(7, 7): 5 * NANOS, (8, 8): NANOS}, forget=False)
    assert counter.add({(8, 8): NANOS}, forget=True) == 6.0
    assert counter.add({(7, 7): 6 * NANOS, (8, 8): NANOS}, forget=False) == 12.0
