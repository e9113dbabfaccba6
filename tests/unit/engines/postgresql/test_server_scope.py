"""What PostgreSQL counts of the whole server: of all its databases, and timed by event."""

from __future__ import annotations

from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from factories.tables import table
from openslob.core.measurement import WaitClass
from openslob.engines.base import CounterReading
from openslob.engines.postgresql import counters as counters_module
from openslob.engines.postgresql.counters import PostgresServerCounters, are_timed, server_delta
from openslob.engines.postgresql.waits import OwnWork

BLOCK = 8192
DATABASES = {
    "database.0.blks_read": 1, "database.0.xact_commit": 0, "database.0.reset_s": 0,
    "database.5.blks_read": 20, "database.5.blks_hit": 80, "database.5.blk_read_time": 4.0,
    "database.5.xact_commit": 70, "database.5.xact_rollback": 2, "database.5.sessions": 4, "database.5.reset_s": 0,
    "database.9.blks_read": 9, "database.9.blks_hit": 1, "database.9.blk_read_time": 2.0,
    "database.9.xact_commit": 30, "database.9.xact_rollback": 1, "database.9.sessions": 1, "database.9.reset_s": 0,
    "own.transactions": 15,
}  # fmt: skip
IO = {
    "io.client backend/relation/normal.reads": 10, "io.client backend/relation/normal.hits": 90,
    "io.client backend/relation/normal.read_time": 5.0, "io.client backend/relation/normal.extends": 2,
    "io.client backend/relation/normal.extend_time": 1.0,
    "io.checkpointer/relation/normal.writes": 4, "io.checkpointer/relation/normal.write_time": 8.0,
    "io.checkpointer/relation/normal.fsyncs": 1, "io.checkpointer/relation/normal.fsync_time": 3.0,
    "io.autovacuum worker/relation/vacuum.reads": 6, "io.autovacuum worker/relation/vacuum.read_time": 1.0,
}  # fmt: skip
BYTES = {
    "io.client backend/relation/normal.read_bytes": 20 * BLOCK,
    "io.autovacuum worker/relation/vacuum.read_bytes": 6 * BLOCK,
    "io.checkpointer/relation/normal.write_bytes": 4 * BLOCK,
    "io.client backend/wal/normal.writes": 7, "io.client backend/wal/normal.write_time": 0.7,
    "io.walwriter/wal/normal.fsyncs": 2, "io.walwriter/wal/normal.fsync_time": 4.0,
    "io.walwriter/wal/init.writes": 1, "io.walwriter/wal/init.write_time": 9.0,
}  # fmt: skip
WAL = {"wal.wal_bytes": 4096, "wal.wal_write": 7, "wal.wal_sync": 2, "wal.wal_sync_time": 4.0}
SINCE_17 = {"checkpointer.num_timed": 1}


def test_transactions_are_those_of_all_databases_but_our_own_and_the_begins_of_sessions():
    delta = server_delta({**DATABASES, **IO}, BLOCK)
    assert (delta.commits, delta.transactions) == (100 - 15 - 5, 80 + 3)


def test_workers_of_parallel_queries_begin_with_two_transactions_each_which_18_can_take_off():
    delta = server_delta({**DATABASES, **IO, "database.5.workers": 6}, BLOCK)
    assert delta.transactions == 80 + 3 - 12


def test_timing_that_is_switched_while_a_server_is_watched_is_known_from_the_next_interval_on():
    off, on = ({"timing.data": value, "timing.log": value, **IO, **WAL} for value in (0, 1))
    assert [are_timed(*pair) for pair in ((off, off), (off, on), (on, on), (on, off))] == [
        (False, False), (False, False), (True, True), (False, False),
    ]  # fmt: skip


def test_before_16_reads_are_those_of_all_databases():
    delta = server_delta({**DATABASES, **WAL}, BLOCK)
    assert (delta.logical_reads, delta.read_requests, delta.read_bytes) == (111, 30, 30 * BLOCK)
    assert delta.by_object["relation"].read_time_us == 6000
    assert {wait.event: (wait.count, wait.time_us) for wait in delta.timed_waits} == {
        "IO:DataFileRead": (30, 6000),
        "IO:WALSync": (2, 4000),
    }


def test_version_16_counts_by_object_and_context_and_extends_by_block():
    delta = server_delta({**DATABASES, **IO, **WAL}, BLOCK)
    assert (delta.read_requests, delta.logical_reads, delta.write_requests) == (16, 106, 6)
    # What never happened is 0 for a cluster whose other instance counts some.
    assert {kind: io.read_requests for kind, io in delta.by_object.items()} == {
        "relation/normal": 10, "relation/vacuum": 6, "relation/bulkread": 0, "relation/bulkwrite": 0,
        "temp relation/normal": 0, "log": None,
    }  # fmt: skip
    assert delta.by_object["relation/normal"].write_requests == 6
    assert {wait.event for wait in delta.timed_waits} == {
        "IO:DataFileRead", "IO:DataFileWrite", "IO:DataFileSync", "IO:WALSync",
    }  # fmt: skip


def test_version_17_does_not_count_requests_of_reads():
    delta = server_delta({**DATABASES, **IO, **WAL, **SINCE_17}, BLOCK)
    assert (delta.read_requests, delta.read_bytes) == (None, 16 * BLOCK)
    assert "blocks" in delta.unknown["read_requests"]
    assert delta.by_object["relation/normal"].read_requests is None
    assert "IO:DataFileRead" not in {wait.event for wait in delta.timed_waits}
    assert "IO:WalSync" in {wait.event for wait in delta.timed_waits}


def test_version_18_times_the_log_by_event():
    delta = server_delta({**DATABASES, **IO, **BYTES, **SINCE_17}, BLOCK)
    assert (delta.read_requests, delta.read_bytes, delta.log_syncs) == (16, 26 * BLOCK, 2)
    waits = {wait.event: (wait.wait_class, wait.count, wait.time_us) for wait in delta.timed_waits}
    assert waits["IO:DataFileRead"] == (WaitClass.DATA_IO, 16, 6000)
    assert waits["IO:DataFileExtend"] == (WaitClass.DATA_IO, 2, 1000)
    assert waits["IO:WalWrite"] == (WaitClass.LOG, 7, pytest.approx(700))
    assert waits["IO:WalSync"] == (WaitClass.LOG, 2, 4000)
    assert waits["IO:WalInitWrite"] == (WaitClass.LOG, 1, 9000)


@table(("timing", "log_timing", "timed"), [(False, True, "IO:Wal"), (True, False, "IO:Data")])
def test_what_is_not_timed_is_no_timed_wait(timing, log_timing, timed):
    delta = server_delta({**DATABASES, **IO, **BYTES, **SINCE_17}, BLOCK, timing, log_timing)
    assert delta.timed_waits
    assert all(wait.event.startswith(timed) for wait in delta.timed_waits)


def test_without_track_counts_transactions_are_unknown():
    delta = server_delta({**IO, "own.transactions": 3}, BLOCK)
    assert (delta.commits, delta.transactions) == (None, None)
    assert delta.unknown["transactions"] == "track_counts is off"
    assert "work loop's own tables" in delta.unknown["rows_read"]
    assert (delta.server_wide, delta.others) == (frozenset(), {})


@pytest.fixture
def counters(monkeypatch):
    """What reads a server that counts nothing yet."""
    nothing = SimpleNamespace(rows=lambda *_: [(b'{"clock": {"us": 0}}',)])
    monkeypatch.setattr(counters_module, "PlainStatement", lambda *_: nothing)
    connection = Mock()
    connection.info.server_version = 180000
    connection.execute.return_value.fetchone.return_value = (True,)
    return PostgresServerCounters(connection, OwnWork(), BLOCK)


def test_a_database_that_was_dropped_takes_nothing_from_the_others(counters):
    before = {**dict.fromkeys(DATABASES, 0.0), "database.7.xact_commit": 1e6, "database.7.reset_s": 99.0}
    delta = counters.difference(CounterReading(0, before, ""), CounterReading(10**9, DATABASES, ""))
    assert delta.commits == 80


@table("before", [0, 3.5])
def test_a_reset_of_one_database_makes_every_figure_unknown(counters, before):
    first = {**DATABASES, "database.9.reset_s": before}
    after = {**DATABASES, "database.9.reset_s": 4.5}
    delta = counters.difference(CounterReading(0, first, ""), CounterReading(10**9, after, ""))
    assert (delta.commits, delta.log_bytes) == (None, None)
    assert "reset" in delta.unknown["*"]
