"""The loop that the client runs: what it does and when, on statements and a clock of the test's own."""

import ctypes
import time
from itertools import cycle, islice, pairwise
from threading import Thread
from time import monotonic_ns

import pytest

from openslob.core.errors import SlobError
from openslob.core.histogram import bucket_of
from openslob.core.method import OpKind, kind_of
from openslob.core.units import NANOS
from openslob.core.workload import Workload
from openslob.engines.base import SliceRequest
from openslob.engines.client_loop import ClientLoop, Look, Lookout, histogram_of
from openslob.engines.mysql import client_session as mysql
from openslob.engines.postgresql import client_session as postgresql
from openslob.engines.slice_io import NO_LIMIT
from openslob.kinds.run.plan import session_plans

AHEAD_NS = 7_000_000_000_000
ROWS = 5


class Sent:
    """Statements that are answered at once, by a server whose clock is far ahead."""

    def __init__(self):
        self.conflicts = 0
        self.done = []
        self.stopping = False
        self.published = 0
        self.began = []
        self.batches = []

    def select(self, hot, key):
        self.began.append(monotonic_ns())
        self.done.append((OpKind.SELECT, hot, key))
        return ROWS

    def update(self, hot, key, number):
        self.done.append((OpKind.UPDATE, hot, key))
        self.conflicts += number == 3
        return 1

    def scan(self, hot):
        self.done.append((OpKind.SCAN, hot, None))
        return 10

    def send(self, batch):
        self.batches.append(len(batch))
        rows = {OpKind.SELECT: ROWS, OpKind.UPDATE: 1, OpKind.SCAN: 10}
        self.done += [(each.kind, each.hot, each.key or None) for each in batch]
        return [rows[each.kind] for each in batch]

    def look(self):
        return Look(now(), self.stopping)

    def publish(self):
        self.published += 1


def now():
    return monotonic_ns() + AHEAD_NS


@pytest.fixture
def sent():
    return Sent()


def plan_of(**parameters):
    return session_plans(Workload(**{"schemas": 2, "scale": "1000", "work_unit": 4, **parameters}), 8192, "t")[1]


def loop_of(sent, plan, numbers=(0.0, 0.5, 0.999), connect=None):
    loop = ClientLoop(plan, sent, Lookout(), connect)
    loop.begin(cycle(numbers).__next__)
    return loop


def slice_of(ops, first=0, until_ns=NO_LIMIT, due_ns=None):
    return SliceRequest(first, 0, until_ns, ops, due_ns)


def test_operations_are_those_of_the_method_and_keys_come_of_the_numbers(sent):
    plan = plan_of(update_pct=30, scan_pct=20, update_work_unit=2)
    result = loop_of(sent, plan).run(slice_of(50, first=17))
    assert [kind for kind, *_ in sent.done] == [kind_of(op, 30, 20, plan.phases) for op in range(17, 67)]
    highest = {OpKind.SELECT: 997, OpKind.UPDATE: 999}
    numbers = iter([0.0, 0.5, 0.999] * 20)
    for kind, _, key in sent.done:
        if kind is not OpKind.SCAN:
            # A scan draws no number.
            assert key == 1 + int(next(numbers) * highest[kind])
    counts = result.counts
    assert (counts.ops, counts.updates, counts.scans) == (50, 15, 7)
    assert (counts.rows_read, counts.rows_updated, counts.rows_scanned) == (28 * ROWS, 15, 70)
    assert sum(histogram.count for histogram in result.latency.values()) == 50
    assert sent.published == 1


def test_conflicts_are_those_of_the_slice(sent):
    loop = loop_of(sent, plan_of(update_pct=100))
    assert [loop.run(slice_of(3, first)).counts.conflicts for first in (0, 3, 6)] == [0, 1, 0]


def test_the_hot_spot_and_the_hot_schema_have_their_operations(sent):
    parameters = {"do_hotspot": True, "hotspot_mb": 1, "hotspot_offset_mb": 1, "hotspot_frequency": 3}
    plan = plan_of(**parameters, hot_schema_frequency=4, sessions=2)
    loop_of(sent, plan, [0.0]).run(slice_of(24))
    assert [op for op, (_, hot, _) in enumerate(sent.done) if hot] == [
        op for op in range(24) if (op + plan.phases.hot_schema) % 4 == 0
    ]
    assert [op for op, (*_, key) in enumerate(sent.done) if key == 129] == [
        op for op in range(24) if (op + plan.phases.hotspot) % 3 == 0
    ]


def test_times_are_by_the_server_s_clock(sent):
    begin_ns = now() + 20_000_000
    result = loop_of(sent, plan_of()).run(SliceRequest(0, begin_ns, NO_LIMIT, 5))
    assert begin_ns - 1000 <= result.start_ns == result.first_op_ns <= result.end_ns <= now()
    until_ns = now() + 10_000_000
    assert until_ns - 1000 <= loop_of(sent, plan_of()).run(slice_of(0, until_ns=until_ns)).end_ns <= now()
    empty = loop_of(sent, plan_of()).run(slice_of(5, until_ns=now() - 1))
    assert (empty.counts.ops, empty.first_op_ns) == (0, None)


def test_a_slice_ends_at_the_signal_and_the_next_one_runs_when_it_is_over(sent):
    loop = loop_of(sent, plan_of())
    sent.stopping = True
    assert loop.run(slice_of(100)).counts.ops == 0
    sent.stopping = False
    assert loop.run(slice_of(100)).counts.ops == 100
    sent.done.clear()
    results = []
    thread = Thread(target=lambda: results.append(loop.run(slice_of(0))))
    thread.start()
    while not sent.done:
        time.sleep(0.001)
    sent.stopping = True
    thread.join(60)
    assert results[0].counts.ops == len(sent.done)


@pytest.mark.parametrize("asleep", [False, True])
def test_a_slice_that_is_ended_fails_at_work_and_asleep(sent, asleep):
    thinks = {"think_tm_frequency": 1, "think_tm_min": 60, "think_tm_max": 60}
    loop, caught = loop_of(sent, plan_of(**(thinks if asleep else {}))), []

    def run():
        try:
            loop.run(slice_of(0))
        except SlobError as error:
            caught.append(str(error))

    thread = Thread(target=run)
    thread.start()
    while not sent.done:
        time.sleep(0.001)
    loop.end()
    thread.join(60)
    assert caught == ["session 1 was lost: it was ended while it worked"]


def test_think_time_goes_on_in_the_next_slice_and_is_drawn_after_the_key(sent):
    plan = plan_of(think_tm_frequency=2, think_tm_min=0.1, think_tm_max=0.2, work_unit=1)
    loop, done = loop_of(sent, plan, [0.25, 0.5, 0.0]), 0
    while done < 6:
        done += loop.run(slice_of(6 - done, done, now() + 10_000_000)).counts.ops
    thought = [op for op in range(5) if (op + plan.phases.think) % 2 == 0]
    gaps_ns = [after - before for before, after in pairwise(sent.began)]
    assert min(gaps_ns[op] for op in thought) >= 100_000_000
    # Of each three numbers two were keys', in turn with the sleep's.
    numbers = iter([0.25, 0.5, 0.0] * 4)
    for op, (*_, key) in enumerate(sent.done):
        assert key == 1 + int(next(numbers) * 1000)
        if (op + plan.phases.think) % 2 == 0:
            next(numbers)


def test_due_times_and_response_times(sent):
    """Each two seconds one: three are overdue, the first by 5 s, and one is waited for."""
    plan = plan_of(target_ops=1, sessions=2, update_pct=50)
    loop, begin_ns = loop_of(sent, plan), now()
    result = loop.run(slice_of(4, due_ns=begin_ns - 5 * NANOS))
    assert result.due_ns == begin_ns + 3 * NANOS
    assert result.wake_ups.count == 1
    assert max(histogram.max_us for histogram in result.response.values()) >= 5e6
    assert sum(histogram.count for histogram in result.response.values()) == 4


def test_a_session_connects_anew_before_every_nth_operation_whatever_the_slices(sent):
    plan, at = plan_of(connect_every=4, loop="client"), []

    def connect():
        at.append(len(sent.done))
        return 1_234_000

    loop = loop_of(sent, plan, connect=connect)
    results = [loop.run(slice_of(ops, first)) for first, ops in ((0, 3), (3, 6), (9, 4))]
    assert at == [4, 8, 12]
    assert [result.connects.count for result in results] == [0, 2, 1]
    assert {result.connects.max_us for result in results} == {0.0, 1234.0}
    # What was counted so far is shown first, and at the end of each slice.
    assert sent.published == 6


def test_batches_have_the_operations_and_keys_of_single_ones_and_each_counts_with_the_time_of_its_batch(sent):
    mixed = {"update_pct": 30, "scan_pct": 20, "hot_schema_frequency": 4, "loop": "client"}
    single = Sent()
    one = loop_of(single, plan_of(**mixed)).run(slice_of(50, first=17))
    batched = loop_of(sent, plan_of(**mixed, pipeline=16)).run(slice_of(50, first=17))
    assert sent.done == single.done
    assert sent.batches == [16, 16, 16, 2]
    assert batched.counts == one.counts
    assert sum(histogram.count for histogram in batched.latency.values()) == 50
    # All of a slice of one batch took the same time.
    whole = loop_of(sent, plan_of(**mixed, pipeline=64)).run(slice_of(50))
    assert {bucket for histogram in whole.latency.values() for bucket in histogram.counts} == {
        bucket_of(round(whole.busy_us / 50))
    }


def test_a_batch_is_tried_before_the_first_operation(sent):
    loop_of(sent, plan_of(update_pct=50, scan_pct=10, loop="client", pipeline=8)).warm_up()
    assert sent.batches == [3]


def test_the_offset_of_the_clocks_is_that_of_the_quickest_reading_until_a_clock_is_set(monkeypatch):
    clock = iter([0, 1000, 10**9, 10**9 + 100, 2 * 10**9, 2 * 10**9 + 400, 3 * 10**9, 3 * 10**9 + 400])
    monkeypatch.setattr("openslob.engines.client_loop.monotonic_ns", lambda: next(clock))
    lookout = Lookout()
    lookout.look(lambda: Look(5000 + 900, False))
    assert lookout.offset_ns == 5400
    lookout.look(lambda: Look(10**9 + 50 + 5300, False))
    assert lookout.offset_ns == 5300
    # A second later it may be off by a tenth of a millisecond, so that the quicker reading is better no more.
    lookout.look(lambda: Look(2 * 10**9 + 200 + 5290, True))
    assert (lookout.offset_ns, lookout.stopping) == (5290, True)
    lookout.look(lambda: Look(3 * 10**9 + 200 + 5290 + 10**12, False))
    assert (lookout.offset_ns, lookout.stopping) == (5290 + 10**12, False)


def test_who_begins_while_another_session_asks_for_the_first_time_asks_as_well():
    """Without an answer nobody knows when a slice ends."""
    lookout, due = Lookout(), []

    def ask():
        due.append(lookout.is_due(monotonic_ns()))
        return Look(now(), False)

    for _ in range(2):
        lookout.look(ask)
    assert due == [True, False]


def test_latencies_are_counted_in_the_buckets_of_all_loops():
    found = histogram_of([3, 70_000, 3, 250])
    assert found.counts == {bucket_of(3): 2, bucket_of(250): 1, bucket_of(70_000): 1}
    assert (found.sum_us, found.max_us) == (70_256.0, 70_000.0)
    assert histogram_of([]).counts == {}


# --- generators


def test_postgresql_s_numbers_since_15_are_those_of_its_own_tests():
    """The first ones after setseed(0.5), as its src/test/regress/expected/random.out has them."""
    known = [0.9851677175347999, 0.825301858027981, 0.12974610012450416, 0.16356291958601088, 0.6476186144084]
    assert list(islice(postgresql.numbers(0.5, 150000), 5)) == pytest.approx(known, abs=1e-15)


def test_postgresql_s_numbers_before_15_are_those_of_the_c_library():
    erand48 = ctypes.CDLL(None).erand48
    erand48.restype = ctypes.c_double
    for seed in (0.0, 0.25, 0.999983):
        bits = int(seed * (2**47 - 1))
        state = (ctypes.c_ushort * 3)(bits & 0xFFFF, bits >> 16 & 0xFFFF, bits >> 32)
        assert list(islice(postgresql.numbers(seed, 140019), 20)) == [erand48(state) for _ in range(20)]


def test_mariadb_s_numbers_stay_below_one_and_depend_on_both_seeds():
    """That they are the server's, the contract tests show."""
    found = list(islice(mysql.numbers(1, 2), 1000))
    assert found[:2] == [5 / 0x3FFFFFFF, (3 * 5 + 40) / 0x3FFFFFFF]
    assert 0 <= min(found) < max(found) < 1
    assert list(islice(mysql.numbers(1, 3), 3)) != found[:3] != list(islice(mysql.numbers(2, 2), 3))
