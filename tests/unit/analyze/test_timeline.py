"""A run cut into seconds."""

from __future__ import annotations

import importlib
from itertools import pairwise

import numpy as np
import pytest

from factories.tables import table
from openslob.analyze import timeline
from openslob.analyze.run_tables import RunTables
from openslob.analyze.timeline import in_steps, of_engine, of_work
from openslob.core.units import NANOS
from openslob.kinds.run.plan import Phase
from openslob.metrics import METRICS, Better, RunMetric
from openslob.metrics.computation import Amount, EngineCounter
from openslob.record.cells import Cells

START = 1_000 * NANOS


def counted_evenly(spans):
    """The span in which the engine's counters keep pace with sessions whose slices are these."""
    made = RunTables(START)
    if spans:
        lines = "".join(f"{session},{begin},{end}\n" for session, begin, end in spans)
        made.take("slices.csv", ("session", "start_ns", "end_ns"), Cells(lines.encode(), 3))
    return made.even_ns


def intervals(*reads, name="read_requests"):
    return [(START + at * NANOS, START + (at + 1) * NANOS, name, count) for at, count in enumerate(reads)]


def test_rates_are_by_unit_of_time():
    found = of_work(np.array([200.0, 400.0]), np.array([20.0, 40.0]), 1, 2.0)
    assert found["ops_per_s"] == pytest.approx([200, 400])
    assert found["commits_per_s"] == pytest.approx([20, 40])
    assert found["block_visits_per_s"] == found["ops_per_s"]
    assert of_work(np.array([1000.0, 600.0]), np.zeros(2), 10, 13.0)["ops_per_s"] == pytest.approx([100, 200])


def test_a_sliver_at_the_end_is_left_out_and_half_a_second_is_not():
    ops = np.array([100.0, 100.0, 60.0])
    assert of_work(ops, ops, 1, 2.4)["ops_per_s"] == pytest.approx([100, 100])
    assert of_work(ops, ops, 1, 2.6)["ops_per_s"] == pytest.approx([100, 100, 100])


def test_no_slices_no_rates():
    assert of_work(np.empty(0), np.empty(0), 1, 1.0) == {}


def test_the_engines_first_and_last_interval_are_one():
    """What is counted only when a slice ends moves from each interval into the next."""
    found = of_engine(intervals(50, 100, 100, 150), START, START + 4 * NANOS)
    assert found["pio_read_per_s"] == [100, 100, 100]


def staggered(sessions, seconds):
    """Slices of sessions that never pause, and the reads counted by interval if each reads 100 a second."""
    phase = Phase("window", START, START + seconds * NANOS)
    spans = []
    for session in range(sessions):
        begin = START
        for end in phase.boundaries(session, sessions):
            spans.append((session, begin, end))
            begin = end
    # Readings come a little before the second, as in a run, and once more at the end.
    moments = [START - NANOS // 30, *(START + at * NANOS - NANOS // 30 for at in range(1, seconds)), phase.end_ns]
    counted = [sum(100 * (end - begin) / NANOS for _, begin, end in spans if end <= moment) for moment in moments]
    rows = [
        (before, after, "read_requests", counted[at + 1] - counted[at])
        for at, (before, after) in enumerate(pairwise(moments))
    ]
    return spans, rows


@table("sessions", [1, 2, 4, 8, 16, 40, 64])
def test_sessions_that_read_evenly_are_shown_to_read_evenly(sessions):
    spans, rows = staggered(sessions, 40)
    reads = of_engine(rows, START, START + 40 * NANOS, counted_evenly(spans))["pio_read_per_s"]
    assert len(reads) > 40 - 5 - 2 * sessions / 8
    assert min(reads) > 0.9 * 100 * sessions
    assert max(reads) < 1.1 * 100 * sessions


def test_what_is_taken_together_loses_nothing():
    spans, rows = staggered(16, 10)
    parts = of_engine(rows, START, START + 10 * NANOS, counted_evenly(spans))["pio_read_per_s"]
    assert parts[0] == pytest.approx(1600, rel=0.05)
    assert counted_evenly([]) is None


def test_the_later_of_two_intervals_with_the_same_begin_counts():
    rows = [*intervals(50, 100, 100), (START + 2 * NANOS, START + 4 * NANOS, "read_requests", 250)]
    assert of_engine(rows, START, START + 4 * NANOS)["pio_read_per_s"] == [100, 100]


def test_intervals_outside_of_the_load_are_left_out():
    rows = [*intervals(50, 100, 150), (START - 5 * NANOS, START - 4 * NANOS, "read_requests", 7)]
    assert of_engine(rows, START, START + 3 * NANOS)["pio_read_per_s"] == [100, 100]


def test_latency_is_time_by_reads():
    rows = [*intervals(10, 20, 10), *intervals(1_000, 4_000, 1_000, name="read_time_us")]
    assert of_engine(rows, START, START + 3 * NANOS)["engine_read_latency_us"] == [100, 200]


def test_a_count_over_the_whole_load_has_no_course(monkeypatch):
    count = RunMetric("reads_total", "Reads", "", Better.LESS, "Reads.", Amount(EngineCounter("read_requests")))
    with monkeypatch.context() as changed:
        changed.setitem(METRICS, count.name, count)
        found = importlib.reload(timeline).of_engine(intervals(1, 0, 2), START, START + 3 * NANOS)
    importlib.reload(timeline)
    assert found["pio_read_per_s"]
    assert count.name not in found


def test_rates_that_a_server_publishes_late_are_taken_over_steps():
    """Sessions publish once a second: a second has nothing, the next twice as much."""
    counts = [0, 200, 100, 0, 200, 100, 0, 200, 0, 100, 150, 50]
    rows = [(n * NANOS, (n + 1) * NANOS, "transactions", float(count)) for n, count in enumerate(counts)]
    # The last step takes the rest, which alone is too short.
    assert in_steps(rows) == [
        (0, 5 * NANOS, "transactions", 500.0),
        (5 * NANOS, 12 * NANOS, "transactions", 600.0),
    ]
    assert in_steps(rows[:2]) == [(0, 2 * NANOS, "transactions", 200.0)]
    assert in_steps([]) == []


def test_a_counter_that_a_second_lacks_is_not_known_of_its_step():
    rows = [(0, NANOS, "reads", 1.0), (0, NANOS, "writes", 1.0), (NANOS, 2 * NANOS, "writes", 2.0)]
    assert in_steps(rows) == [(0, 2 * NANOS, "writes", 3.0)]
