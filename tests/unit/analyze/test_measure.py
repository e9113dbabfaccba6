"""The measurement by rows alone: when the load was, what each session did, and how many operations there were when."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.records import physical
from factories.slices import tables_of_slices
from factories.tables import table
from openslob.analyze.latencies import Latencies
from openslob.analyze.measure import measure, totals_beside
from openslob.analyze.run_tables import RunTables, TablesInMemory
from openslob.core.counts import SliceCounts
from openslob.core.histogram import Histogram, bucket_of
from openslob.core.measurement import Measurement, Observed, TimelinePoint
from openslob.core.method import OpKind
from openslob.core.units import NANOS
from openslob.core.workload import Workload
from openslob.record.model import RecordKind, RunRecord
from openslob.record.raw_csv import Event, RawCsv

BEGIN = 1_000 * NANOS
MS = 1_000_000


def being_made(**load: Any) -> RunRecord:
    """The record of a run that has ended, before it has figures."""
    spec = Workload(**{"schemas": 2, "sessions": 2, "scale": "100", **load}).to_record()
    return physical().model_copy(update={"spec": spec, "window": None, "waits": (), "latency": {}})


def a_slice(session: int, start_ms: int, end_ms: int, ops: int = 0, busy_us: float = 0.0) -> dict[str, Any]:
    begin, first = BEGIN + start_ms * MS, BEGIN + start_ms * MS if ops else ""
    end = BEGIN + end_ms * MS
    return {"session": session, "start_ns": begin, "end_ns": end, "first_op_ns": first, "ops": ops, "busy_us": busy_us}


def measured(*slices: dict[str, Any], unfinished: tuple[int, ...] = (), **load: Any) -> Measurement:
    found = measure(being_made(**load), tables_of_slices(BEGIN, slices), unfinished=unfinished)
    assert isinstance(found, Measurement)
    return found


def test_totals_are_by_session_also_of_one_without_a_slice():
    found = measured(
        a_slice(0, 0, 1000, ops=5, busy_us=500),
        a_slice(1, 5, 700, ops=1, busy_us=50),
        a_slice(0, 1010, 2000, ops=4, busy_us=400),
        sessions=3,
    ).sessions
    assert [(each.number, each.schema, each.counts.ops, each.busy_us, each.slices) for each in found] == [
        (0, 1, 9, 900, 2), (1, 2, 1, 50, 1), (2, 1, 0, 0, 0),
    ]  # fmt: skip


def test_a_session_is_apart_from_the_load_before_its_first_and_after_its_last_slice():
    slices = (a_slice(0, 0, 1000, ops=1), a_slice(1, 200, 700, ops=1))
    assert [session.apart_us for session in measured(*slices).sessions] == [0, 500_000]
    assert [session.apart_us for session in measured(*slices, unfinished=(1,)).sessions] == [0, 200_000]
    assert [session.apart_us for session in measured(slices[0]).sessions] == [0, 1_000_000]


def test_the_load_is_from_the_first_operation_to_the_end_of_the_last_slice():
    window = measured(a_slice(0, 0, 500), a_slice(1, 40, 900, ops=1), a_slice(0, 510, 1500, ops=2)).window
    assert window.load_start_ns == BEGIN + 40 * MS
    assert window.load_end_ns == BEGIN + 1500 * MS
    assert window.start_skew_ms == 470


@table("load", [{}, {"target_ops": 10}])
def test_without_an_operation_there_is_no_load(load):
    found = measured(a_slice(0, 0, 500), **load)
    assert (found.window.load_start_ns, found.window.start_skew_ms, found.counts.ops) == (0, 0, 0)


def test_a_load_at_a_given_rate_begins_when_it_could_and_not_when_something_is_due():
    waits = {**a_slice(0, 1, 1000, ops=1), "first_op_ns": BEGIN + 50 * MS}
    window = measured(waits, a_slice(1, 3, 1000), target_ops=10).window
    assert (window.load_start_ns, window.start_skew_ms) == (BEGIN + MS, 2)


def timeline(folder: Path, sessions: int, readings_s: list[float], until_s: float = 20.0) -> list[TimelinePoint]:
    """The time line of sessions that do 100 operations a second in slices of a second, by such readings."""
    with RawCsv(folder) as raw:
        kept = TablesInMemory(raw)
        raw.event(Event.BEGIN_NS, str(BEGIN))
        for second in range(int(until_s)):
            for session in range(sessions):
                begin = BEGIN + second * NANOS
                counts = SliceCounts(ops=100)
                raw.slice(session, second, start_ns=begin, end_ns=begin + NANOS, first_op_ns=begin, counts=counts,
                          latency={})  # fmt: skip
        for begin_s, end_s in itertools.pairwise(readings_s):
            raw.engine(BEGIN + round(begin_s * NANOS), BEGIN + round(end_s * NANOS), {"commits": 1.0})
        raw.flush()
        return list(measure(being_made(sessions=sessions), kept.read()).timeline)


@table(("sessions", "point_s"), [(2, 1), (8, 1), (16, 2), (40, 5)])
def test_no_point_of_the_time_line_is_finer_than_a_slice(tmp_path, sessions, point_s):
    found = timeline(tmp_path, sessions, [second + 0.01 * (second % 3) for second in range(21)])
    assert len(found) == 20 / point_s
    assert [point.at_s for point in found] == pytest.approx([point_s * (at + 1) for at in range(len(found))], abs=0.03)
    assert sum(point.seconds for point in found) == pytest.approx(20, abs=0.03)
    assert [point.ops / point.seconds for point in found] == pytest.approx([100 * sessions] * len(found), rel=0.025)


@given(st.lists(st.integers(1, 20_500), max_size=12, unique=True))
def test_the_time_line_loses_no_operation_and_counts_none_twice(tmp_path_factory, cuts_ms):
    # The first reading is just before the load, the last one just after it.
    readings_s = [-0.02, *sorted(cut / 1000 for cut in cuts_ms), 20.6]
    found = timeline(tmp_path_factory.mktemp("run"), 2, readings_s)
    assert sum(point.ops for point in found) == pytest.approx(20 * 200)
    assert found[-1].at_s == pytest.approx(20.6)


def observed(folder: Path, transactions: list[float | None]) -> Observed:
    """A load that is not ours, observed once a second."""
    record = physical().model_copy(update={"kind": RecordKind.OBSERVATION, "window": None, "spec": {"seconds": 60.0}})
    with RawCsv(folder) as raw:
        kept = TablesInMemory(raw)
        raw.event(Event.BEGIN_NS, str(BEGIN))
        for second, counted in enumerate(transactions):
            counts = {"commits": 1.0, "transactions": counted}
            raw.engine(BEGIN + second * NANOS, BEGIN + (second + 1) * NANOS, counts)
        raw.flush()
        return measure(record, kept.read())


def test_the_time_line_of_an_observation_has_long_steps_and_no_rest(tmp_path):
    found = observed(tmp_path, [5.0] * 20 + [7.0] * 35)
    assert list(found.timeline) == [TimelinePoint(20, 20, 100), TimelinePoint(40, 20, 140)]
    assert (found.window.load_start_ns, found.window.load_seconds, found.window.planned_s) == (BEGIN, 55, 60)


def test_what_is_not_known_of_a_second_is_not_known_of_its_step(tmp_path):
    assert list(observed(tmp_path, [5.0] * 20 + [7.0] * 5 + [None] + [7.0] * 20).timeline) == [
        TimelinePoint(20, 20, 100)
    ]


def test_times_are_exact_where_totals_say_them():
    tables, slow = RunTables(BEGIN), Histogram({bucket_of(us): 1 for us in (100, 9_013)}, 9_113.0, 9_013.0)
    with_totals = {"latency.select.sum_us": slow.sum_us, "latency.select.max_us": slow.max_us}
    tables.latency["select"] = Latencies()
    tables.latency["select"].add(np.zeros(2, int), np.array(sorted(slow.counts)), np.ones(2, int), older=False)
    exact, by_bucket = (measure(being_made(), tables, totals) for totals in (with_totals, {}))
    assert isinstance(exact, Measurement)
    assert isinstance(by_bucket, Measurement)
    assert exact.latency == {OpKind.SELECT: slow}
    assert by_bucket.latency[OpKind.SELECT].sum_us == pytest.approx(slow.sum_us, rel=0.01)
    assert totals_beside(exact, by_bucket) == with_totals
    assert totals_beside(exact, exact) == {}


def test_samples_of_a_long_load_are_those_that_totals_say():
    tables = RunTables(BEGIN)
    tables.waits.add(["samples"], np.zeros(2, int), np.arange(2), np.ones(2))
    tables.waits.add(["CPU", "IO:Read"], np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([1.5, 1.25, 2]))
    means = measure(being_made(), tables)
    assert (means.waits, means.wait_samples) == ({"CPU": 3, "IO:Read": 2}, 2)
    every = measure(being_made(), tables, {"waits.CPU": 55.0, "wait_samples": 20.0})
    assert (every.waits, every.wait_samples) == ({"CPU": 55, "IO:Read": 2}, 20)
    assert totals_beside(every, means) == {"waits.CPU": 55.0, "wait_samples": 20.0}
