"""The loop that the client runs beside the server's: the same operations on the same rows, with the same values."""

import time
from collections import Counter

import pytest

from factories.subjects import SCALE
from openslob.core.method import OpKind, kind_of
from openslob.core.units import NANOS
from openslob.engines.base import SliceRequest
from openslob.kinds.run.plan import Phase, first_due_ns

pytestmark = pytest.mark.server

LOOPS = ("server", "client")
MIXED = {
    "update_pct": 60, "scan_pct": 25, "work_unit": 2, "sessions": 2, "seed": 11,
    "do_hotspot": True, "hotspot_mb": 1, "hotspot_offset_mb": 1, "hotspot_frequency": 3, "hot_schema_frequency": 4,
}  # fmt: skip


@pytest.fixture
def both(subject):
    """An engine that has both loops."""
    if "client" not in subject.loops:
        pytest.skip("this engine has no loop of the client")
    return subject


def updates_by(subject, watch, loop, ops, tag, **parameters):
    """What a session of a loop updated in its first operations."""
    with subject.session(subject.workload(**parameters, loop=loop), 1, tag) as worked:
        watch.clear()
        worked.slices(ops // 3, ops - ops // 3)
    return [(update.schema, update.keys, dict(update.after)) for update in watch.updates()]


SKEWED = {"access": "zipf:0.99", "do_hotspot": False}


@pytest.mark.parametrize(
    ("obfuscate", "skew"), [(False, {}), (True, {}), (False, SKEWED), (False, {**SKEWED, "access": "zipf:1"})]
)
def test_both_loops_update_the_same_rows_with_the_same_values(both, obfuscate, skew):
    parameters = {**MIXED, "obfuscate_columns": obfuscate, "redo_stress": "HEAVY", **skew}
    with both.watching() as watch:
        by_server = updates_by(both, watch, "server", 250, "same", **parameters)
        # So that what is compared was not there before.
        updates_by(both, watch, "client", 250, "other", **parameters)
        by_client = updates_by(both, watch, "client", 250, "same", **parameters)
    assert len(by_server) == 150
    assert by_client == by_server


def test_both_loops_read_the_same_rows(both):
    workload = both.workload(update_pct=0, seed=5)
    keys = {}
    for loop in LOOPS:
        keys[loop] = [0] * 30
        for bit in range(SCALE.bit_length()):
            visible = both.with_values(f"custid % {2 << bit} >= {1 << bit}")
            with visible, both.session(workload.changed(loop=loop)) as worked:
                for op, result in enumerate(worked.slices(*[1] * 30)):
                    keys[loop][op] |= result.counts.rows_read << bit
    assert keys["client"] == keys["server"]
    assert len(set(keys["server"])) > 20


def test_both_loops_have_the_same_due_times_and_keys_at_random_intervals(both):
    """Keys and intervals are drawn in turn from one generator."""
    workload = both.workload(update_pct=100, target_ops=500, pacing="poisson", sessions=1, seed=7)
    due, keys = {}, {}
    with both.watching() as watch:
        for loop in LOOPS:
            work = workload.changed(loop=loop)
            plan = both.plan(work)
            with both.session(work) as worked:
                watch.clear()
                begin_ns = both.now_ns() + 50_000_000
                first_ns = first_due_ns(plan, Phase("window", begin_ns, begin_ns))
                result = worked.session.run_slice(SliceRequest(0, begin_ns, begin_ns + 60 * NANOS, 100, first_ns))
            due[loop] = result.due_ns - begin_ns
            keys[loop] = [update.keys for update in watch.updates()]
    assert keys["client"] == keys["server"]
    assert len(keys["server"]) == 100
    # They are computed in µs with fractions.
    assert due["client"] == pytest.approx(due["server"], abs=100_000)


def test_the_client_s_mix_is_the_reference_s_wherever_it_begins(both):
    workload = both.workload(update_pct=33, scan_pct=30, loop="client")
    plan = both.plan(workload)
    with both.session(workload) as worked:
        worked.done = 10**11 + 37
        result = worked.run(max_ops=100)
    kinds = Counter(
        kind_of(op, workload.update_pct, workload.scan_pct, plan.phases) for op in range(10**11 + 37, 10**11 + 137)
    )
    assert {kind: result.latency[kind].count for kind in OpKind} == kinds
    assert kinds[OpKind.UPDATE] == 33


def test_nothing_is_created_in_the_server_and_both_loops_have_plans_by_the_index(both):
    for loop in LOOPS:
        with both.session(both.workload(update_pct=50, scan_pct=10, loop=loop)) as worked:
            plans = worked.session.plans()
        assert set(plans) == {"select", "update", "scan"}
        assert "index" in plans["select"].lower()
    workload = both.workload(update_pct=50, loop="client")
    assert [found for found in both.engine.try_statements(both.plan(workload)) if found.blocking] == []


def test_a_session_that_connects_again_and_again_goes_on_where_it_was(both):
    """Each 40 operations; connects are timed apart, and it is one session all the time."""
    parameters = {**MIXED, "do_hotspot": False}
    with both.watching() as watch:
        stays = updates_by(both, watch, "client", 250, "same", **parameters)
        updates_by(both, watch, "client", 250, "other", **parameters)
        again = updates_by(both, watch, "client", 250, "same", **parameters, connect_every=40)
    assert again == stays
    workload = both.workload(update_pct=50, loop="client", connect_every=40)
    with both.session(workload) as worked:
        first = worked.session.backend_id()
        result = worked.run(max_ops=100)
        assert worked.session.backend_id() != first
        assert both.engine.sessions_left() == 1
    assert (result.connects.count, result.counts.ops) == (2, 100)
    assert result.connects.sum_us > 0


@pytest.mark.parametrize("obfuscate", [False, True])
def test_batches_update_the_same_rows_with_the_same_values(both, obfuscate):
    parameters = {**MIXED, "obfuscate_columns": obfuscate, "redo_stress": "HEAVY"}
    with both.watching() as watch:
        single = updates_by(both, watch, "client", 250, "same", **parameters)
        updates_by(both, watch, "client", 250, "other", **parameters)
        batched = updates_by(both, watch, "client", 250, "same", **parameters, pipeline=16)
    assert len(single) == 150
    assert batched == single


def test_batches_have_the_counts_of_single_operations_and_the_latency_of_a_batch(both):
    counts = {}
    for pipeline in (1, 256):
        with both.session(both.workload(update_pct=33, scan_pct=30, loop="client", pipeline=pipeline)) as worked:
            result = worked.run(max_ops=200)
        counts[pipeline] = result.counts
    assert counts[256] == counts[1]
    # One batch: each of its operations counts with what it took together, which no slice is shorter than.
    assert result.busy_us / 200 <= (result.end_ns - result.start_ns) / 1000 + 1
    assert len({bucket for histogram in result.latency.values() for bucket in histogram.counts}) == 1


def test_latency_is_the_client_s_and_a_sleep_is_none(both):
    """What a slice lasted beside its operations is little, and no operation ends after its slice."""
    workload = both.workload(update_pct=50, loop="client")
    with both.session(workload) as worked:
        began = time.monotonic()
        result = worked.run(max_ops=200)
        took_us = (time.monotonic() - began) * 1e6
    assert 0 < result.busy_us <= (result.end_ns - result.start_ns) / 1000 + 1
    assert (result.end_ns - result.start_ns) / 1000 <= took_us + 1
