"""What only the driver learns of slices: latencies by kind, slowest operations, how late they were, and the clock."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.measurements import histogram
from factories.tables import table
from openslob.core.counts import SliceCounts
from openslob.core.histogram import Histogram, bucket_of
from openslob.core.method import OpKind
from openslob.core.units import NANOS
from openslob.core.workload import Workload
from openslob.engines.base import SliceResult
from openslob.kinds.run.plan import session_plans
from openslob.kinds.run.recorder import MOST_SLOW, WindowAccumulator

BEGIN = 1_700_000_000 * NANOS
MS = 1_000_000
PLANS = session_plans(Workload(schemas=2, sessions=2, scale="100", work_unit=4), 8192, "tag")


def a_slice(start_ms, end_ms, selects=0, updates=0, us=100):
    latency = {OpKind.SELECT: histogram(selects, us), OpKind.UPDATE: histogram(updates, us), OpKind.SCAN: Histogram()}
    ops = selects + updates
    return SliceResult(
        start_ns=BEGIN + start_ms * MS,
        end_ns=BEGIN + end_ms * MS,
        first_op_ns=BEGIN + start_ms * MS if ops else None,
        counts=SliceCounts(ops, selects, updates, rows_read=4 * selects, rows_updated=4 * updates),
        latency=latency,
    )


def test_a_slow_batch_is_one_of_the_slowest_and_not_as_many_as_it_has_operations():
    load = Workload(schemas=2, sessions=2, scale="100", work_unit=4, loop="client", pipeline=16)
    accumulator = WindowAccumulator(session_plans(load, 8192, "tag"), BEGIN)
    took = (*[9_000_000] * 16, *[500_000] * 32, *[100] * 64)
    accumulator.add(0, slow_slice(0, *took))
    found = [slow.us for slow in accumulator.slowest[OpKind.SELECT]]
    assert found[:4] == pytest.approx([9_000_000, 500_000, 500_000, 100], rel=0.011)
    assert len(found) == 7


def test_conflicts_add_up():
    slices = [replace(a_slice(0, 1000), counts=SliceCounts(conflicts=refused)) for refused in (3, 4)]
    assert tally_of(*((0, each) for each in slices)).counts.conflicts == 7


def tally_of(*slices):
    accumulator = WindowAccumulator(PLANS, BEGIN)
    for session, result in slices:
        accumulator.add(session, result)
    return accumulator


def slow_slice(start_ms, *latencies_us):
    made = Histogram()
    for us in latencies_us:
        made.add({bucket_of(us): 1}, us, us)
    return replace(a_slice(start_ms, start_ms + 1000), latency={OpKind.SELECT: made})


@given(st.lists(st.tuples(st.integers(0, 1), st.lists(st.integers(1, 10**7), max_size=30)), max_size=12))
def test_the_slowest_operations_are_kept_with_the_slices_in_which_they_came(slices):
    accumulator = tally_of(*((session, slow_slice(at * 1000, *took)) for at, (session, took) in enumerate(slices)))
    found = accumulator.slowest.get(OpKind.SELECT, [])
    every = sorted((us for _, took in slices for us in took), reverse=True)
    assert [slow.us for slow in found] == pytest.approx(every[:MOST_SLOW], rel=0.011, abs=0.5)
    assert [slow.us for slow in found[:1]] == every[:1], "the longest is exact"
    for slow in found:
        session, took = slices[(slow.slice_start_ns - BEGIN) // NANOS]
        assert session == slow.session
        assert slow.us == pytest.approx(min(took, key=lambda us: abs(us - slow.us)), rel=0.011, abs=0.5)
        assert slow.slice_end_ns == slow.slice_start_ns + NANOS


def test_a_session_is_idle_between_its_slices():
    slices = (
        (0, a_slice(0, 1000, selects=3)),
        (1, a_slice(5, 700)),
        (0, a_slice(1010, 2000)),
        (0, a_slice(2005, 2100)),
    )
    assert tally_of(*slices).idle_us == {0: 15_000, 1: 0}


@table(
    ("slices", "set_back_s"),
    [
        ([a_slice(0, 1000), a_slice(1000, 2000)], 0),
        ([a_slice(0, 1000), a_slice(400, 2000)], 0.6),
        ([a_slice(0, 1000), a_slice(1001, 801)], 0.2),
        ([a_slice(5, 4)], 0),
    ],
)
def test_a_clock_that_was_set_back_shows_in_the_slices(slices, set_back_s):
    assert tally_of(*((0, each) for each in slices)).clock_set_back_s == set_back_s


SPANS = st.tuples(st.integers(0, 1), st.integers(0, 5000), st.integers(1, 3000), st.integers(0, 40), st.integers(0, 9))


@given(st.lists(SPANS, max_size=30))
def test_nothing_is_lost_or_counted_twice(spans):
    """Whatever the slices, all add up to the same operations."""
    slices = [
        (session, a_slice(start, start + long, selects, updates)) for session, start, long, selects, updates in spans
    ]
    accumulator = tally_of(*slices)
    ops = sum(result.counts.ops for _, result in slices)
    assert accumulator.counts.ops == ops
    assert sum(histogram.count for histogram in accumulator.latency.values()) == ops
    early = list(accumulator.seconds_before(3))
    late = list(accumulator.seconds_before(2**62))
    assert sum(histogram.count for _, _, histogram in early + late) == ops
    assert all(second < 3 for second, _, _ in early)
    assert all(second >= 3 for second, _, _ in late)


def test_latencies_of_classes_are_kept_apart_and_together():
    load = Workload(schemas=1, scale="100", classes="a:sessions=1;b:sessions=1,target_ops=5")
    accumulator = WindowAccumulator(session_plans(load, 8192, "tag"), BEGIN)
    accumulator.add(0, a_slice(0, 1000, selects=3))
    accumulator.add(1, replace(a_slice(0, 900, selects=2, updates=1), response={OpKind.SELECT: histogram(2, 400)}))
    assert accumulator.latency[OpKind.SELECT].count == 5
    service, response = (accumulator.of_classes[what] for what in ("latency", "response"))
    assert {name: each.count for name, each in service.items()} == {"a/select": 3, "b/select": 2, "b/update": 1}
    assert {name: each.count for name, each in response.items()} == {"b/select": 2}
    assert [name for _, name, _ in accumulator.seconds_before(1)] == ["a/select", "b/select", "b/update"]
    # One class works as fast as it can: what is asked of the other is no rate of all.
    assert (accumulator.is_paced, accumulator.wanted_per_s) == (False, pytest.approx(5))


def test_without_classes_nothing_is_kept_of_any():
    assert tally_of((0, a_slice(0, 1000, selects=3))).of_classes == {"latency": {}, "response": {}}


# --- a given rate: 10 operations a second over two sessions, so one each 0.2 s


def paced_tally(pacing="uniform", **given):
    workload = Workload(schemas=2, sessions=2, scale="100", target_ops=10, pacing=pacing, **given)
    return WindowAccumulator(session_plans(workload, 8192, "tag"), BEGIN)


def paced_slice(start_ms, end_ms, due_ms, selects=0, waited_us=0):
    made = a_slice(start_ms, end_ms, selects=selects)
    first_op_ns = made.first_op_ns and made.first_op_ns + 50 * MS
    response = {OpKind.SELECT: histogram(selects, 100 + waited_us)}
    wake_ups = histogram(selects, 70)
    return replace(made, first_op_ns=first_op_ns, response=response, due_ns=BEGIN + due_ms * MS, wake_ups=wake_ups)


def test_what_was_due_and_had_not_begun_is_counted_by_session():
    accumulator = paced_tally()
    accumulator.add(0, paced_slice(0, 1000, due_ms=200, selects=1))
    accumulator.add(0, paced_slice(1000, 2003, due_ms=1350, selects=5))
    accumulator.add(1, paced_slice(0, 2000, due_ms=2001, selects=9))
    schedule = accumulator.schedule(BEGIN + 2000 * MS)
    # Due at 1.35, 1.55, 1.75 and 1.95 s; the one at 2.15 s lies beyond the end, the other session's too.
    assert (schedule.wanted_per_s, schedule.not_begun, schedule.oldest_s) == (10, 4, pytest.approx(0.65))
    assert (schedule.wake_ups.count, schedule.wake_ups.max_us) == (15, 70)


def test_of_a_poisson_process_what_came_after_the_oldest_is_counted_by_its_mean():
    accumulator = paced_tally("poisson")
    accumulator.add(0, paced_slice(0, 2000, due_ms=1350, selects=1))
    accumulator.add(1, paced_slice(0, 2000, due_ms=3000, selects=9))
    assert accumulator.schedule(BEGIN + 2000 * MS).not_begun == pytest.approx(1 + 0.65 / 0.2)


def test_sessions_that_did_what_they_should_or_ended_early_are_not_behind():
    accumulator = paced_tally(work_loop=9)
    accumulator.add(0, paced_slice(0, 1000, due_ms=200, selects=9))
    accumulator.add(1, paced_slice(0, 500, due_ms=400, selects=2))
    schedule = accumulator.schedule(BEGIN + 2000 * MS)
    assert (schedule.not_begun, schedule.oldest_s) == (1, pytest.approx(0.1))


def test_response_times_are_added_up_beside_service_times():
    accumulator = paced_tally()
    accumulator.add(0, paced_slice(0, 1000, due_ms=1200, selects=3, waited_us=900))
    assert accumulator.response[OpKind.SELECT].sum_us == 3000
    assert accumulator.latency[OpKind.SELECT].sum_us == 300
    assert [(second, kind, found.count) for second, kind, found in accumulator.responses_before(9)] == [
        (0, OpKind.SELECT, 3)
    ]
    assert len(list(accumulator.seconds_before(9))) == 1


def test_without_a_rate_there_is_no_schedule():
    accumulator = tally_of((0, a_slice(0, 1000, selects=3)))
    assert accumulator.schedule(BEGIN + 1000 * MS) is None
    assert accumulator.wanted_per_s is None


def test_a_slice_that_ends_on_the_second_belongs_to_the_second_before():
    accumulator = tally_of((0, a_slice(0, 1000, selects=1)), (0, a_slice(1000, 1001, updates=2)))
    found = [(second, kind, histogram.count) for second, kind, histogram in accumulator.seconds_before(10)]
    assert found == [(0, OpKind.SELECT, 1), (1, OpKind.UPDATE, 2)]


def test_what_was_due_of_a_rate_that_changes_is_counted_by_its_schedule():
    """100 a second until 10 s, then 300: 200 + 900 are due from 8 s to 13 s, and one more a session."""
    load = Workload(sessions=2, rate_schedule="0s:100,10s:300", run_time=20)
    accumulator = WindowAccumulator(session_plans(load, 8192, "tag"), BEGIN)
    for session in range(2):
        accumulator.add(session, replace(a_slice(0, 13_000, selects=400), due_ns=BEGIN + 8 * NANOS))
    schedule = accumulator.schedule(BEGIN + 20 * NANOS)
    assert (schedule.not_begun, schedule.oldest_s) == (1102, 5)
    assert schedule.wanted_per_s == pytest.approx(1900 / 13)
    assert accumulator.asked_per_s(BEGIN + 9 * NANOS, BEGIN + 11 * NANOS) == pytest.approx(200)
