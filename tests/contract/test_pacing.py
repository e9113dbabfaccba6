"""Every engine's sessions at a given rate: when operations begin, and what their latency counts."""

import math
import statistics
import threading
import time
from itertools import pairwise

import pytest

from factories.running import eventually
from openslob.core.histogram import lower_edge_us
from openslob.core.method import OpKind
from openslob.core.units import NANOS
from openslob.engines.base import SliceRequest
from openslob.kinds.run.plan import Phase, first_due_ns

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("loop")]

MS = 1_000_000
# A session may wake up late on a busy host, and between two operations, but not by as much as the waits that are looked
# for here. What operations themselves take is part of what is compared.
LATE_MS = 400
# For slices that end by their number of operations.
LONG_MS = 60_000
MOST_SLICES = 200
# Clocks are read in whole µs.
ROUNDING_US = 3


def at_rate(subject, per_s, **parameters):
    return subject.workload(target_ops=per_s, sessions=1, **parameters)


class Paced:
    """A session at work, from a begin on the server's clock."""

    def __init__(self, subject, worked, workload, begin_in_ms=50):
        self._session = worked.session
        self.plan = subject.plan(workload)
        self.begin_ns = subject.now_ns() + begin_in_ms * MS
        self.due_ns = first_due_ns(self.plan, Phase("window", self.begin_ns, self.begin_ns))
        self.ops = 0
        self.results = []

    def until(self, ms, max_ops=0):
        """The next slice, which ends so long after the begin."""
        return self.order(SliceRequest(self.ops, self.begin_ns, self.begin_ns + ms * MS, max_ops, self.due_ns))

    def order(self, order):
        """A slice by this order."""
        result = self._session.run_slice(order)
        self.ops += result.counts.ops
        self.due_ns = result.due_ns
        self.results.append(result)
        return result

    def ops_of(self, count):
        """The next slice, which ends after so many operations, whenever that is."""
        return self.until(LONG_MS, count)

    @property
    def interval_ns(self):
        return self.plan.interval_us * 1000

    @property
    def behind_ms(self):
        """How late the next operation is at the end of the last slice."""
        return (self.results[-1].end_ns - self.due_ns) / MS


def late_ms(session, result, ms):
    """How long after its end a slice ended; it may have begun later than that. An operation is waited for."""
    end_ns = max(session.begin_ns + ms * MS, result.start_ns)
    return (result.end_ns - end_ns) / MS - merged([result], "latency")[2] / 1000


@pytest.fixture
def paced(subject):
    def start(per_s, begin_in_ms=50, **parameters):
        workload = at_rate(subject, per_s, **parameters)
        context = subject.session(workload)
        opened.append(context)
        return Paced(subject, context.__enter__(), workload, begin_in_ms)

    opened = []
    yield start
    for context in opened:
        context.__exit__(None, None, None)


def merged(results, name):
    """Count, sum and greatest of all kinds in the histograms of results."""
    histograms = [histogram for result in results for histogram in getattr(result, name).values()]
    return (
        sum(histogram.count for histogram in histograms),
        sum(histogram.sum_us for histogram in histograms),
        max(histogram.max_us for histogram in histograms),
    )


@pytest.fixture
def quick(subject):
    """A rate that this server keeps on this host, now: a quarter of what one session does without a rate."""
    with subject.session(subject.workload(update_pct=20)) as worked:
        worked.run(max_ops=50)
        result = worked.run(max_ops=200)
    return min(1500.0, 200 / ((result.end_ns - result.start_ns) / NANOS) / 4)


@pytest.mark.parametrize("per_s", [10, "a third of a quick one", "a quick one"])
def test_the_rate_is_kept_over_slices(paced, quick, per_s):
    """Each operation moves the next due time by an interval; what was delayed is made up for."""
    session = paced({"a third of a quick one": quick / 3, "a quick one": quick}.get(per_s, per_s), update_pct=20)
    for ms in (250, 500, 650, 1000):
        result = session.until(ms)
        assert session.due_ns <= max(result.end_ns, session.begin_ns + ms * MS) + session.interval_ns
    while session.behind_ms >= LATE_MS and len(session.results) < MOST_SLICES:
        session.until(ms := ms + 250)
    assert session.behind_ms < LATE_MS
    first = first_due_ns(session.plan, Phase("window", session.begin_ns, 0))
    assert session.due_ns == pytest.approx(first + session.ops * session.interval_ns, abs=5000)


def test_nothing_begins_before_it_is_due(subject):
    workload = at_rate(subject, 50, update_pct=100)
    with subject.watching() as watch, subject.session(workload) as worked:
        watch.clear()
        session = Paced(subject, worked, workload)
        session.until(300)
        session.until(600)
        session.ops_of(5)
        begun_us = [update.at_us for update in watch.updates()]
    due_us = [session.begin_ns / 1000 + number * session.plan.interval_us for number in range(len(begun_us))]
    assert len(begun_us) == session.ops
    assert all(begun >= due - 2 for begun, due in zip(begun_us, due_us, strict=True))
    # Nor much later; where the one before was late, at once after it.
    could_us = map(max, due_us, [session.results[0].start_ns / 1000, *begun_us])
    late_us = [begun - could for begun, could in zip(begun_us, could_us, strict=False)]
    assert statistics.median(late_us) < LATE_MS * 1000


def test_each_operation_has_a_response_time_that_is_not_below_its_service_time(paced):
    session = paced(400, update_pct=30, scan_pct=30)
    session.ops_of(280)
    (result,) = session.results
    assert {kind: histogram.count for kind, histogram in result.response.items()} == {
        kind: histogram.count for kind, histogram in result.latency.items()
    }
    for kind in OpKind:
        assert result.response[kind].sum_us >= result.latency[kind].sum_us > 0
        assert result.response[kind].max_us >= result.latency[kind].max_us
    assert result.busy_us == merged([result], "latency")[1]


def test_operations_wait_for_one_that_is_late_and_their_response_counts_it(paced):
    """The session gets its first slice half a second after its first operation was due."""
    session = paced(100)
    time.sleep(0.55)
    first_due_us = session.due_ns / 1000
    # All of them are overdue, so that each begins when the one before it ends, whatever the host does meanwhile.
    result = session.ops_of(40)
    count, total_us, longest_us = merged(session.results, "response")
    assert count == session.ops == 40
    waited_us, ended_us = result.first_op_ns / 1000 - first_due_us, result.end_ns / 1000 - first_due_us
    assert waited_us >= 490_000
    assert waited_us <= longest_us <= ended_us + ROUNDING_US
    # They came due at even distances.
    due_us = session.plan.interval_us * count * (count - 1) / 2
    assert count * (waited_us - ROUNDING_US) <= total_us + due_us <= count * (ended_us + ROUNDING_US)
    # Their latencies have nothing of the waiting: one after the other they fit into the slice.
    assert merged(session.results, "latency")[1] == result.busy_us <= (result.end_ns - result.start_ns) / 1000


def test_what_is_overdue_at_the_end_of_a_slice_is_left_to_the_next(paced):
    """More is asked for than can be done: the due time falls behind, and the response time grows with it."""
    session = paced(1_000_000)
    first = session.until(300)
    assert first.due_ns < first.end_ns - 100 * MS
    assert late_ms(session, first, 300) < LATE_MS
    second = session.until(600)
    assert session.ops == first.counts.ops + second.counts.ops
    assert merged([second], "response")[2] >= merged([first], "response")[2] > 100_000
    assert session.due_ns == pytest.approx(session.begin_ns + session.ops * session.interval_ns, abs=5000)


def test_a_slice_ends_at_its_end_time_though_nothing_is_due(paced):
    session = paced(1)
    assert session.ops_of(1).counts.ops == 1
    for ms in (200, 400):
        result = session.until(ms)
        assert (result.counts.ops, result.first_op_ns) == (0, None)
        assert result.end_ns >= session.begin_ns + ms * MS
        assert late_ms(session, result, ms) < LATE_MS
        assert session.due_ns == session.begin_ns + NANOS
    last = session.ops_of(1)
    assert (last.counts.ops, session.due_ns) == (1, session.begin_ns + 2 * NANOS)
    assert last.end_ns >= session.begin_ns + NANOS


def test_an_operation_limit_ends_a_slice(paced):
    session = paced(200)
    assert session.until(2000, max_ops=7).counts.ops == 7
    assert session.due_ns == pytest.approx(session.begin_ns + 7 * session.interval_ns, abs=5000)


def test_a_slice_has_its_own_interval_and_ends_before_an_operation_at_another_rate(paced):
    """100 ms at 1,000 a second, however late the session is for them: then another rate may be asked."""
    session = paced(100)
    time.sleep(0.3)
    first_due_ns = session.due_ns
    end_ns = session.begin_ns + LONG_MS * MS
    result = session.order(SliceRequest(0, session.begin_ns, end_ns, 0, first_due_ns, 1000.0, 100_000.0))
    assert result.counts.ops == 100
    assert result.due_ns == pytest.approx(first_due_ns + 100 * MS, abs=5000)
    assert result.end_ns < end_ns
    rest = session.order(SliceRequest(100, session.begin_ns, end_ns, 5, result.due_ns, 20_000.0, 1e9))
    assert rest.counts.ops == 5
    assert rest.due_ns == pytest.approx(result.due_ns + 100 * MS, abs=5000)


def test_intervals_of_a_poisson_process_have_the_mean_and_the_variance_of_one(paced):
    """From the due times themselves, each the end of a slice of one operation."""
    session = paced(5000, pacing="poisson", begin_in_ms=0)
    dues = [session.due_ns]
    for _ in range(400):
        session.until(60_000, max_ops=1)
        dues.append(session.due_ns)
    intervals = [(after - before) / session.interval_ns for before, after in pairwise(dues)]
    n = len(intervals)
    assert min(intervals) >= 0
    assert statistics.mean(intervals) == pytest.approx(1, abs=5 / math.sqrt(n))
    # The variance of the estimated variance of an exponential distribution is 8/n.
    assert statistics.variance(intervals) == pytest.approx(1, abs=5 * math.sqrt(8 / n))
    assert statistics.median(intervals) == pytest.approx(math.log(2), abs=5 / math.sqrt(n))


@pytest.mark.parametrize("pacing", ["uniform", "poisson"])
def test_slicing_changes_neither_due_times_nor_operations(paced, pacing):
    long, short = (paced(3000, pacing=pacing, update_pct=40, begin_in_ms=0) for _ in range(2))
    long.until(60_000, max_ops=60)
    for size in (1, 7, 22, 30):
        short.until(60_000, max_ops=size)
    assert long.due_ns - long.begin_ns == pytest.approx(short.due_ns - short.begin_ns, abs=5000)
    for kind in OpKind:
        assert sum(result.latency[kind].count for result in short.results) == long.results[0].latency[kind].count


def test_late_wake_ups_are_reported(paced):
    session = paced(100)
    # While it is late for all of them it waits for none.
    ms = 500
    while not session.until(ms).wake_ups.count and len(session.results) < MOST_SLICES:
        ms += 500
    result = session.results[-1]
    assert 0 < result.wake_ups.count <= result.counts.ops
    waiting_us = merged([result], "response")[1] - merged([result], "latency")[1]
    assert 0 < result.wake_ups.sum_us <= waiting_us + result.counts.ops


def test_a_stop_ends_the_slice_of_a_session_that_waits_for_its_next_operation(subject):
    workload = at_rate(subject, 0.001, update_pct=100)
    stop = subject.engine.open_stop()
    with subject.watching() as watch, subject.session(workload) as worked:
        watch.clear()
        session = Paced(subject, worked, workload)
        thread = threading.Thread(target=session.until, args=(1000 * 1000,))
        thread.start()
        try:
            assert eventually(watch.updates), "the first operation is not done"
            stop.request()
            thread.join(120)
            assert not thread.is_alive()
        finally:
            stop.close()
            worked.session.cancel()
            thread.join(30)
    (result,) = session.results
    assert result.counts.ops == 1
    assert session.due_ns == session.begin_ns + 1000 * NANOS
    assert result.end_ns < session.due_ns


def test_a_session_without_a_rate_has_no_response_time(subject):
    with subject.session(subject.workload()) as worked:
        result = worked.run(max_ops=20)
    assert result.due_ns is None
    assert sum(histogram.count for histogram in result.response.values()) == 0
    assert result.wake_ups.count == 0


def test_response_times_fall_into_buckets_of_the_histogram(paced):
    session = paced(100)
    time.sleep(0.3)
    result = session.ops_of(10)
    histogram = result.response[OpKind.SELECT]
    assert lower_edge_us(max(histogram.counts)) <= histogram.max_us
    assert lower_edge_us(max(histogram.counts) + 1) > histogram.max_us
