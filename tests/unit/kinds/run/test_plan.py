"""From a workload to sessions and slices."""

import math
import statistics
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.tables import table
from openslob.core.method import phases_of
from openslob.core.units import NANOS
from openslob.core.workload import LONGEST_SLICE_S, SLICES_PER_S, Workload, slice_seconds
from openslob.kinds.run.plan import SHORTEST_SLICE, Phase, between_slices_s, first_due_ns, session_plans

BLOCK = 8192
SESSIONS = st.integers(1, 1200)
LENGTHS_NS = st.integers(1, 100 * NANOS)
BEGIN_NS = 1_700_000_000 * NANOS


def boundaries(length_ns, session, sessions):
    return list(Phase("window", BEGIN_NS, BEGIN_NS + length_ns).boundaries(session, sessions))


@given(LENGTHS_NS, SESSIONS, st.data())
def test_slices_cover_a_phase_exactly(length_ns, sessions, data):
    ends = boundaries(length_ns, data.draw(st.integers(0, sessions - 1)), sessions)
    assert ends[-1] == BEGIN_NS + length_ns
    assert all(before < after for before, after in pairwise([BEGIN_NS, *ends]))


@given(LENGTHS_NS, SESSIONS, st.data())
def test_no_slice_is_much_shorter_or_longer_than_asked(length_ns, sessions, data):
    whole = slice_seconds(sessions) * NANOS
    ends = boundaries(length_ns, data.draw(st.integers(0, sessions - 1)), sessions)
    lengths = [after - before for before, after in pairwise([BEGIN_NS, *ends])]
    assert max(lengths) <= (1 + SHORTEST_SLICE) * whole + 1
    if length_ns > 2 * whole:
        assert min(lengths) >= SHORTEST_SLICE * whole - 1
    assert all(length == int(whole) for length in lengths[1:-1])


def test_a_phase_of_one_and_a_half_slices_has_two():
    sessions, length_ns = 212, 39_650_000_000
    ends = boundaries(length_ns, 41, sessions)
    assert [end - BEGIN_NS for end in ends] == [length_ns // 2, length_ns]


def test_sessions_do_not_end_their_slices_at_the_same_moment():
    sessions = 16
    whole = slice_seconds(sessions) * NANOS
    inner = [boundaries(round(10 * whole), session, sessions)[2:-2] for session in range(sessions)]
    moments = sorted({moment for ends in inner for moment in ends})
    assert len(moments) == sum(len(ends) for ends in inner)
    assert all(after - before == pytest.approx(whole / sessions, abs=2) for before, after in pairwise(moments))


@given(SESSIONS)
def test_so_many_sessions_so_few_slices_a_second(sessions):
    length_s = slice_seconds(sessions)
    assert 1 <= length_s <= LONGEST_SLICE_S
    assert sessions / length_s <= SLICES_PER_S or length_s == LONGEST_SLICE_S


@table(
    ("given", "schemas"),
    [
        ({"schemas": 3, "threads_per_schema": 2}, [1, 2, 3, 1, 2, 3]),
        ({"schemas": 4, "sessions": 2}, [1, 2]),
        ({"schemas": 2, "sessions": 5}, [1, 2, 1, 2, 1]),
        ({"schemas": 1, "sessions": 3}, [1, 1, 1]),
    ],
)
def test_sessions_go_round_robin_over_the_schemas(given, schemas):
    plans = session_plans(Workload(scale="100", **given), BLOCK, "tag")
    assert [plan.schema for plan in plans] == schemas
    assert [plan.number for plan in plans] == list(range(len(schemas)))
    assert len({plan.tag for plan in plans}) == len(plans)


def test_a_plan_has_the_scale_in_blocks_and_phases_of_its_own():
    workload = Workload(scale="80M", seed=7, hot_schema_frequency=5, think_tm_frequency=9)
    plans = session_plans(workload, BLOCK, "tag")
    assert {plan.scale for plan in plans} == {80 * 1024**2 // BLOCK}
    assert [plan.phases for plan in plans] == [phases_of(7, number, 0, 5, 9) for number in range(4)]


def test_the_hot_spot_is_in_keys_of_the_engine_s_block_size():
    """SLOB computes with 8 KB whatever the block size is (PEERS S6)."""
    workload = Workload(scale="1000", do_hotspot=True, hotspot_mb=2, hotspot_offset_mb=1, hotspot_frequency=3)
    assert session_plans(workload, 8192, "t")[0].hotspot == (129, 256)
    assert session_plans(workload, 16384, "t")[0].hotspot == (65, 128)
    same = Workload(scale="1000", access="hotspot", hotspot_mb=2, hotspot_offset_mb=1, hotspot_frequency=3)
    assert session_plans(same, 8192, "t")[0].hotspot == (129, 256)
    assert session_plans(same, 8192, "t")[0].phases == session_plans(workload, 8192, "t")[0].phases
    plain = Workload(scale="1000", hotspot_frequency=3)
    assert session_plans(plain, 8192, "t")[0].hotspot is None
    assert session_plans(plain, 8192, "t")[0].phases.hotspot == 0


def test_a_session_has_the_load_of_its_class_and_its_place_among_all():
    classes = "readers:sessions=5;writers:sessions=2,update_pct=100,target_ops=10"
    load = Workload(scale="100", schemas=4, work_unit=4, classes=classes)
    plans = session_plans(load, BLOCK, "tag")
    assert [plan.number for plan in plans] == list(range(7))
    assert [plan.schema for plan in plans] == [1, 2, 3, 4, 1, 2, 3]
    assert [plan.workload.update_pct for plan in plans] == [0] * 5 + [100] * 2
    places = [(plan.of_class, plan.part, plan.first) for plan in plans]
    assert places == [("readers", 0, 0)] * 5 + [("writers", 1, 5)] * 2
    assert {plan.of_all for plan in plans} == {7}
    # Ten operations a second of two sessions: each has one every 0.2 s, in turn.
    assert [plan.interval_us for plan in plans] == [None] * 5 + [200_000] * 2
    assert first_dues(plans) == [None] * 5 + [BEGIN_NS, BEGIN_NS + 100_000_000]
    (plain,) = session_plans(Workload(scale="100", sessions=1), BLOCK, "tag")
    assert (plain.of_class, plain.part, plain.first, plain.crowd, plain.of_all) == ("", 0, 0, None, 1)


# --- due times

RATES = st.floats(0.01, 1e6)


def paced(per_s, sessions, **given):
    return session_plans(Workload(scale="100", sessions=sessions, target_ops=per_s, **given), BLOCK, "tag")


def first_dues(plans, name="window"):
    return [first_due_ns(plan, Phase(name, BEGIN_NS, BEGIN_NS + NANOS)) for plan in plans]


@given(RATES, st.integers(1, 60), st.integers(1, 5))
def test_due_times_of_all_sessions_together_are_even(per_s, sessions, rounds):
    plans = paced(per_s, sessions)
    interval_ns = plans[0].interval_us * 1000
    assert [plan.interval_us for plan in plans] == pytest.approx([sessions / per_s * 1e6] * sessions)
    dues = sorted(first + round(number * interval_ns) for first in first_dues(plans) for number in range(rounds))
    assert dues[0] == BEGIN_NS
    assert all(b - a == pytest.approx(1e9 / per_s, abs=2) for a, b in pairwise(dues))


@given(RATES, st.integers(1, 60), st.integers(0, 1000))
def test_first_due_times_of_independent_users_depend_on_seed_session_and_phase_only(per_s, sessions, seed):
    plans = paced(per_s, sessions, seed=seed, pacing="poisson")
    dues = first_dues(plans)
    assert dues == first_dues(plans)
    assert min(dues) >= BEGIN_NS
    if per_s <= 1000:
        # Two may fall on the same nanosecond once in a blue moon.
        assert len(set(dues)) >= sessions - 1
        assert first_dues(plans, "warm-up") != dues


def test_first_due_times_of_independent_users_are_exponential():
    plans = paced(50, 2000, pacing="poisson")
    intervals = [(due - BEGIN_NS) / (plans[0].interval_us * 1000) for due in first_dues(plans)]
    assert statistics.mean(intervals) == pytest.approx(1, abs=5 / 2000**0.5)
    assert statistics.median(intervals) == pytest.approx(math.log(2), abs=5 / 2000**0.5)


def test_a_rate_of_blocks_is_one_of_operations_by_the_mix():
    """10 % updates of 4 rows, 45 % selects of 64, 45 % scans of 128: 86.8 blocks an operation."""
    mix = {"update_pct": 10, "update_work_unit": 4, "scan_pct": 50, "scan_table_sz": "128", "schemas": 4}
    (plan, *_) = session_plans(Workload(scale="1000", target_iops=8680, **mix), BLOCK, "tag")
    assert plan.interval_us == pytest.approx(4 / 100 * 1e6)


def test_without_a_rate_nothing_is_due():
    plans = session_plans(Workload(scale="100"), BLOCK, "tag")
    assert {plan.interval_us for plan in plans} == {None}
    assert first_dues(plans) == [None] * 4


@table("sessions", [1, 2, 3, 5, 8, 16, 40, 100])
def test_readings_lie_between_the_ends_of_slices(sessions):
    phase = Phase("window", 0, 60 * NANOS)
    ends = [end for session in range(sessions) for end in phase.boundaries(session, sessions) if end < phase.end_ns]
    readings = [(second - between_slices_s(sessions)) * NANOS for second in range(1, 60)]
    nearest_s = min(abs(end - at) for end in ends for at in readings) / NANOS
    assert nearest_s == pytest.approx(between_slices_s(sessions), rel=0.01)
