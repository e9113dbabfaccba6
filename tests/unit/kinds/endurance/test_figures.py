"""What the course of a long run comes to, on made-up traces."""

from __future__ import annotations

import numpy as np
import pytest

from openslob.analyze.trace import Mark, Trace
from openslob.kinds.endurance.figures import (
    first_and_last,
    join_traces,
    lasting_drop,
    levels,
    occurrences,
    period_length,
    shortfalls,
    written_bytes,
)

SECOND = 10**9


def trace(ops, step_s=1.0, marks=(), **series):
    """A trace of these rates; other series by their names with underscores for the first dot."""
    named = {name.replace("_", ".", 1): np.asarray(values, dtype=float) for name, values in series.items()}
    return Trace(0, step_s, {"ops": np.asarray(ops, dtype=float), **named}, tuple(marks))


def noisy(*levels: tuple[float, int]):
    random = np.random.default_rng(4)
    return np.concatenate([random.normal(level, level / 20, count) for level, count in levels])


def test_segments_become_one_trace_that_knows_nothing_of_the_gap():
    first, second = trace([1.0, 2.0], marks=[Mark(1, 2, "checkpoint")]), trace([3.0], marks=[Mark(0, 1, "checkpoint")])
    whole = join_traces([(0.0, first), (4.0, second)], [Mark(2, 4, "gap", "the driver was killed")])
    assert whole.get("ops").tolist() == pytest.approx([1, 2, np.nan, np.nan, 3], nan_ok=True)
    assert [(mark.at_s, mark.kind) for mark in whole.marks] == [(1, "checkpoint"), (2, "gap"), (4, "checkpoint")]


def test_a_short_segment_is_joined_in_the_steps_of_a_long_one():
    long, short = trace([10.0, 20.0], step_s=20.0), trace([1.0] * 30 + [3.0] * 10, latency_p99_us=[5.0] * 40)
    whole = join_traces([(0.0, long), (60.0, short)])
    assert whole.step_s == 20
    assert whole.get("ops").tolist() == pytest.approx([10, 20, np.nan, 1, 2], nan_ok=True)
    # A percentile of a part is none of the whole.
    assert "latency.p99_us" not in whole.series


@pytest.mark.parametrize(("seconds", "length"), [(20, 10), (30, 10), (180, 60), (7200, 600), (8 * 3600, 3600)])
def test_a_run_has_three_whole_periods_at_least(seconds, length):
    assert period_length(seconds) == length


def test_levels_leave_out_what_is_not_known():
    ops = np.array([100.0] * 10 + [np.nan] * 5 + [50.0] * 5 + [20.0] * 15)
    first, second, third, rest = levels(trace(ops, engine_commits=np.arange(35.0)), ("engine.commits",))
    assert (first.ops, first.known_s, first.rates["engine.commits"]) == (100, 10, 4.5)
    assert (second.ops, second.known_s) == (50, 5)
    assert (third.begin_s, third.ops) == (20, 20)
    assert (rest.begin_s, rest.end_s) == (30, 35)


def test_a_stretch_below_the_median_does_not_reach_over_a_gap():
    ops = np.array([100.0] * 20 + [80.0] * 3 + [np.nan] * 4 + [40.0] * 2 + [100.0] * 5)
    ninety, half = shortfalls(trace(ops))
    assert (ninety.longest_begin_s, ninety.longest_s) == (20, 3)
    assert ninety.time_pct == pytest.approx(100 * 5 / 30)
    assert (half.longest_begin_s, half.longest_s) == (27, 2)


def test_a_level_that_never_fell_has_no_stretch():
    (ninety, _) = shortfalls(trace([100.0] * 30))
    assert (ninety.longest_begin_s, ninety.time_pct) == (None, 0)
    assert shortfalls(trace([np.nan] * 30)) == []


def test_a_write_cliff_has_its_moment_and_what_was_written_until_then():
    writes = np.array([1000.0] * 400 + [500.0] * 800)
    took_ms = np.array([100.0] * 400 + [200.0] * 800)
    drop = lasting_drop(
        trace(noisy((1000, 400), (500, 800)), device_writes=writes, device_write_ms=took_ms, device_write_bytes=writes)
    )
    assert drop is not None
    assert drop.at_s == pytest.approx(400, abs=10)
    assert drop.written_bytes == pytest.approx(400_000, abs=20_000)
    assert drop.is_write_cliff
    assert drop.drop_pct == pytest.approx(50, abs=3)


def test_a_drop_whose_writes_took_as_long_as_before_is_no_write_cliff():
    steady = np.full(1200, 1000.0)
    found = lasting_drop(trace(noisy((1000, 400), (500, 800)), device_writes=steady, device_write_ms=steady))
    assert found is not None
    assert not found.is_write_cliff
    assert found.written_bytes is None


def test_a_drop_while_others_took_the_cpus_is_no_write_cliff():
    took_ms = np.array([100.0] * 400 + [200.0] * 800)
    on = {"device_writes": np.full(1200, 1000.0), "device_write_ms": took_ms, "host_cores": np.full(1200, 2.0)}
    busy, server = np.array([1.0] * 400 + [1.3] * 800), np.full(1200, 0.8)
    found = lasting_drop(trace(noisy((1000, 400), (500, 800)), host_busy=busy, server_cpu=server, **on))
    assert found is not None
    assert not found.is_write_cliff
    quiet = lasting_drop(trace(noisy((1000, 400), (500, 800)), host_busy=server, server_cpu=server, **on))
    assert quiet is not None
    assert quiet.is_write_cliff


@pytest.mark.parametrize(
    "course",
    [
        ((1000, 1200),),  # nothing but noise
        ((1000, 400), (500, 300), (1000, 500)),  # it came back
        ((1000, 400), (950, 800)),  # too little
        ((1000, 100), (500, 150)),  # too short a run to tell
        ((1000, 1000), (500, 200)),  # too late to say that it lasts
    ],
)
def test_what_does_not_last_is_no_lasting_drop(course):
    assert lasting_drop(trace(noisy(*course))) is None


def test_the_bytes_written_are_the_devices_or_else_the_servers():
    both = trace([1.0] * 4, step_s=5.0, engine_write_bytes=[10.0] * 4, engine_log_bytes=[2.0] * 4)
    assert written_bytes(both, 10.0) == 120
    assert written_bytes(trace([1.0] * 4), 2.0) is None


def test_checkpoints_are_counted_with_the_rate_from_them_on_and_else():
    ops = np.array([100.0] * 10 + [60.0] * 10 + [100.0] * 10 + [60.0] * 10 + [100.0] * 10 + [60.0] * 10)
    marks = [Mark(at, at + 1, "checkpoint") for at in (10, 30, 50)]
    (found,) = occurrences(trace(ops, marks=marks))
    assert (found.count, found.seconds, found.every_s) == (3, None, 20)
    # Half of the time to the next one, or to the end: 10, 10 and 5 s.
    assert found.ops_inside == 60
    assert found.ops_outside == pytest.approx((30 * 100 + 5 * 60) / 35)


def test_what_a_server_counts_between_two_readings_is_counted_as_often():
    # A long run is read once a minute, and its log goes on in the next file every 10 s.
    marks = [Mark(at, at + 60, "log switch", "6", 6) for at in (0, 60, 120)]
    (found,) = occurrences(trace([100.0] * 3, step_s=60.0, marks=marks))
    assert (found.count, found.every_s, found.seconds) == (18, 10, None)
    damaged = Mark(0, 60, "log switch", "", 10**15)
    (found,) = occurrences(trace([100.0] * 3, step_s=60.0, marks=[damaged]))
    assert (found.count, found.every_s) == (10**15, None)


def test_what_was_done_in_a_gap_is_not_known():
    (found,) = occurrences(trace([100.0] * 4 + [np.nan] * 4 + [100.0] * 4, marks=[Mark(3.5, 8.5, "gap")]))
    assert (found.ops_inside, found.ops_outside) == (None, 100)


def test_the_first_and_the_last_period_are_of_the_same_length_in_steps_of_any():
    ops = [1.0] * 6 + [5.0] * 6 + [3.0] * 6
    assert first_and_last(trace(ops, step_s=10.0)) == (1, 3)
    assert first_and_last(trace([1.0] * 11, step_s=1.0)) == (None, None)
