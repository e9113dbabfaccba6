"""Top timed events: shares of DB time from samples."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories import measurements
from factories.tables import table
from openslob.core.histogram import bucket_of
from openslob.core.measurement import EngineDelta, TimedWait, WaitClass
from openslob.core.wait_classes import classify_wait
from openslob.metrics.waits import CPU_ROW, class_shares_pct, db_time_shares, histogram_of, top_events

DB_TIME_S = 432.0
EVENTS = ["CPU", "IO:DataFileRead", "IO:WalSync", "LWLock:WALWrite", "Lock:tuple", "IPC:Other"]


def test_rows_are_sorted_by_share_with_db_time_and_the_engines_own_means():
    rows = top_events(measurements.measurement())
    assert [row.event for row in rows] == ["IO:DataFileRead", CPU_ROW, "IO:WalSync", "LWLock:BufferContent"]
    assert [row.share_pct for row in rows] == pytest.approx([60, 30, 8, 2])
    assert [row.db_time_s for row in rows] == pytest.approx([0.6 * DB_TIME_S, 0.3 * DB_TIME_S, 34.56, 8.64])
    assert [row.mean_us for row in rows] == [measurements.READ_US, None, None, None]


@table("waits", [{}, {"CPU": 0}])
def test_no_samples_no_rows(waits):
    assert top_events(measurements.measurement(waits=waits)) == ()
    assert class_shares_pct(measurements.measurement(waits=waits)) == {}


@given(st.dictionaries(st.sampled_from(EVENTS), st.integers(0, 10**9)))
def test_shares_add_up_to_all_of_db_time(waits):
    measurement = measurements.measurement(waits=waits)
    rows = top_events(measurement)
    assert [row.share_pct for row in rows] == sorted((row.share_pct for row in rows), reverse=True)
    assert sum(row.samples for row in rows) == sum(waits.values())
    if rows:
        assert sum(row.share_pct for row in rows) == pytest.approx(100)
        assert sum(row.db_time_s for row in rows) == pytest.approx(DB_TIME_S)
        assert sum(class_shares_pct(measurement).values()) == pytest.approx(100)


@table(
    ("event", "kind"),
    [
        ("CPU", WaitClass.CPU),
        ("IO:DataFileRead", WaitClass.DATA_IO),
        ("IO:DataFileWrite", WaitClass.DATA_IO),
        ("User I/O:db file sequential read", WaitClass.DATA_IO),
        ("IO:WalSync", WaitClass.LOG),
        ("LWLock:WALWrite", WaitClass.LOG),
        ("Commit:log file sync", WaitClass.LOG),
        ("Stage:waiting for lock to flush log", WaitClass.STAGE),
        ("LWLock:WALInsert", WaitClass.LOCK),
        ("LWLock:BufferContent", WaitClass.LOCK),
        ("BufferPin:BufferPin", WaitClass.LOCK),
        ("Lock:transactionid", WaitClass.LOCK),
        ("Concurrency:buffer busy waits", WaitClass.LOCK),
        ("IPC:BlockedOnSomething", WaitClass.OTHER),
        ("Client:ClientRead", WaitClass.OTHER),
        ("Application:enq: TX - row lock contention", WaitClass.LOCK),
        ("Configuration:log buffer space", WaitClass.LOG),
        ("Scheduler:resmgr:cpu quantum", WaitClass.CPU),
        ("Cluster:gc cr block 2-way", WaitClass.CLUSTER),
    ],
)
def test_events_are_told_apart_by_resource(event, kind):
    assert classify_wait(event) is kind


@table(("samples", "by_samples"), [(99, False), (100, True)])
def test_shares_by_fewer_than_100_samples_are_not_given(samples, by_samples):
    waits = {"IO:WalSync": samples // 2, "Lock:tuple": samples - samples // 2}
    shares = db_time_shares(measurements.measurement(waits=waits))
    engine = measurements.engine()
    counted = 100 * engine.log_sync_time_us / (DB_TIME_S * 1e6)
    assert shares[WaitClass.LOG].value == pytest.approx(50 if by_samples else counted)
    assert shares[WaitClass.LOCK].value == (50 if by_samples else None)
    assert shares[WaitClass.LOCK].why == ("" if by_samples else "only 99 wait samples")


def test_waits_that_no_sample_met_and_the_engine_counted_are_not_none():
    shares = db_time_shares(measurements.measurement(waits={"Lock:tuple": 100}))
    counted = 100 * measurements.engine().log_sync_time_us / (DB_TIME_S * 1e6)
    assert shares[WaitClass.LOG].value == pytest.approx(counted) != 0
    nothing = measurements.measurement(waits={"CPU": 100}, engine=measurements.engine(log_sync_time_us=0))
    assert db_time_shares(nothing)[WaitClass.LOG].value == db_time_shares(nothing)[WaitClass.LOCK].value == 0


def test_the_class_that_the_engine_gives_comes_before_the_name():
    event = "Configuration:enq: HW - contention"
    timed = TimedWait(event, WaitClass.LOCK, 10, 500.0)
    guessed = class_shares_pct(measurements.measurement(waits={event: 5}))
    given_one = measurements.measurement(waits={event: 5}, engine=measurements.engine(timed_waits=(timed,)))
    assert guessed == {WaitClass.OTHER: 100}
    assert class_shares_pct(given_one) == {WaitClass.LOCK: 100}


def test_waits_for_other_instances_have_a_share_where_there_are_any():
    shares = db_time_shares(measurements.measurement(waits={"Cluster:gc cr request": 60, "CPU": 40}))
    assert shares[WaitClass.CLUSTER].value == 60
    assert WaitClass.CLUSTER not in db_time_shares(measurements.measurement())


def test_timed_waits_add_up_and_have_means():
    def wait(count, time_us, durations=None):
        return TimedWait("IO:read", WaitClass.DATA_IO, count, time_us, durations)

    both = wait(2, 40.0, {(8, 16): 2}) + wait(2, 40.0, {(8, 16): 1, (16, 32): 1})
    assert (both.count, both.time_us, both.durations) == (4, 80.0, {(8, 16): 3, (16, 32): 1})
    assert (histogram_of(both).counts, histogram_of(both).max_us) == ({bucket_of(15): 3, bucket_of(31): 1}, 32)
    assert histogram_of(both).sum_us == 80.0
    assert histogram_of(wait(1, 9.0) + wait(2, 40.0, {(8, 16): 2})) is None
    assert EngineDelta(timed_waits=(both,)).wait_means_us == {"IO:read": 20.0}
    assert EngineDelta(timed_waits=(wait(0, 0.0),)).wait_means_us == {}
