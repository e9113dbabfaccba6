"""A warm-up that lasts until it is steady, on made-up slices."""

from __future__ import annotations

from dataclasses import replace

from factories.tables import table
from factories.texts import numbers
from openslob.core.counts import SliceCounts
from openslob.core.histogram import Histogram, bucket_of
from openslob.core.method import OpKind
from openslob.core.units import NANOS
from openslob.core.workload import Workload
from openslob.engines.base import SliceResult
from openslob.kinds.run.plan import Phase, session_plans
from openslob.kinds.run.warmup import WarmupMonitor
from openslob.kinds.run.worker import SliceDone

BEGIN = 1_000 * NANOS


def slice_of(begin_ns, end_ns, rate):
    histogram, ops = Histogram(), round(rate * (end_ns - begin_ns) / NANOS)
    histogram.add({bucket_of(100): ops}, 100 * ops, 100)
    return SliceResult(begin_ns, end_ns, begin_ns, SliceCounts(ops), {OpKind.SELECT: histogram})


def warm_up(rate_at, sessions=4, limit_s=60.0, least_s=0.0):
    """Runs sessions through the phase's own boundaries, in the order of their slices' ends; returns phase and watch."""
    plans = session_plans(Workload(schemas=1, sessions=sessions), 8192, "t")
    phase = Phase("warm-up", BEGIN, BEGIN + int(limit_s * NANOS))
    watch = WarmupMonitor(phase, plans, least_s)
    ways = {number: phase.boundaries(number, sessions) for number in range(sessions)}
    at = dict.fromkeys(ways, BEGIN)
    until = {number: next(way) for number, way in ways.items()}
    while until:
        number = min(until, key=until.__getitem__)
        begin, at[number] = at[number], until[number]
        rate = rate_at((at[number] - BEGIN) / NANOS) / sessions
        watch.handle(SliceDone(number, 0, 0, slice_of(begin, at[number], rate)))
        following = next(ways[number], None)
        if following is None:
            del until[number]
        else:
            until[number] = following
    return phase, watch, {(end - BEGIN) / NANOS for end in at.values()}


def lasted(phase):
    return (phase.end_ns - phase.begin_ns) / NANOS


def test_a_steady_load_is_known_to_be_after_the_fewest_points_that_can_tell():
    phase, watch, ends = warm_up(lambda _: 20_000)
    assert 10 <= lasted(phase) <= 13
    assert ends == {lasted(phase)}  # all sessions end at the same moment
    # How long it was, from which second on it was steady, and there its drift and its spread.
    assert numbers(watch.finding()) == [round(lasted(phase), 1), 0, 0, 0]


def test_a_cold_cache_is_waited_for():
    phase, watch, ends = warm_up(lambda second: 20_000 * min(1, 0.2 + second / 20))
    assert 24 <= lasted(phase) <= 32
    assert len(ends) == 1
    assert 10 <= numbers(watch.finding())[1] < 20


def test_what_never_is_steady_ends_at_the_limit():
    phase, watch, ends = warm_up(lambda second: 20_000 * (1 + second / 10), limit_s=25)
    assert ends == {25.0}
    assert lasted(phase) == 25
    assert numbers(watch.finding()) == [25]


def test_a_slice_without_time_by_the_servers_clock_changes_nothing():
    plans = session_plans(Workload(schemas=1, sessions=1), 8192, "t")
    phase = Phase("warm-up", BEGIN, BEGIN + 60 * NANOS)
    watch = WarmupMonitor(phase, plans, 0.0)
    for second in range(20):
        begin = BEGIN + second * NANOS
        whole = slice_of(begin, begin + NANOS, 20_000)
        watch.handle(SliceDone(0, 0, 0, replace(whole, end_ns=begin, counts=SliceCounts(1))))
        watch.handle(SliceDone(0, 0, 0, whole))
    assert numbers(watch.finding())[1:] == [0, 0, 0]


@table("least_s", [0.0, 20.0])
def test_the_workloads_own_warm_up_is_the_least(least_s):
    phase, _, _ = warm_up(lambda _: 20_000, least_s=least_s)
    assert max(10, least_s) <= lasted(phase) <= max(10, least_s) + 3
