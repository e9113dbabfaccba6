"""PostgreSQL's counters in the product's terms: data and log apart, and entries that appear at their first event."""

from __future__ import annotations

from dataclasses import dataclass

from factories.tables import table
from openslob.engines.base import CounterReading
from openslob.engines.postgresql.counters import PACKAGE, PostgresCounters, order_sources
from openslob.engines.postgresql.delta import to_delta
from openslob.engines.sql import read_statements

BLOCK = 8192
# As version 18 counts: data by any process, and the log.
DATA = {
    "io.client backend/relation/normal.reads": 100,
    "io.client backend/relation/normal.read_bytes": 100 * BLOCK,
    "io.client backend/relation/normal.hits": 900,
    "io.checkpointer/relation/normal.writes": 40,
    "io.checkpointer/relation/normal.write_bytes": 80 * BLOCK,
    "io.client backend/relation/bulkwrite.extends": 2,
    "io.client backend/relation/bulkwrite.extend_bytes": 8 * BLOCK,
    "io.checkpointer/relation/normal.fsyncs": 3,
}
LOG = {
    "io.client backend/wal/normal.writes": 7,
    "io.client backend/wal/normal.write_bytes": 70_000,
    "io.client backend/wal/normal.fsyncs": 5,
    "io.walwriter/wal/normal.writes": 1,
    "io.walwriter/wal/normal.write_bytes": 10_000,
    "io.walwriter/wal/normal.fsyncs": 1,
    "io.startup/wal/normal.reads": 9,
}


def test_data_blocks_and_log_are_counted_apart():
    delta = to_delta({**DATA, **LOG}, BLOCK)
    assert (delta.read_requests, delta.read_bytes, delta.logical_reads) == (100, 100 * BLOCK, 1000)
    # Blocks that make a table longer are written, too.
    assert (delta.write_requests, delta.write_bytes) == (42, 88 * BLOCK)
    assert (delta.log_write_requests, delta.log_syncs) == (8, 6)


@dataclass
class Server:
    """As much of a connection as the counters need to compute a difference."""

    server_version: int = 180000

    @property
    def info(self):
        return self

    def execute(self, *_):
        return self

    def fetchone(self):
        return (True,)


def test_an_entry_that_appears_during_the_run_counts_in_full():
    counters = PostgresCounters(Server(), "slob", BLOCK)
    before = {"io.client backend/relation/normal.reads": 60.0}
    after = {name: float(value) for name, value in {**DATA, **LOG}.items()}
    delta = counters.difference(CounterReading(0, before, ""), CounterReading(1, after, ""))
    assert (delta.read_requests, delta.read_bytes, delta.log_syncs) == (40, 100 * BLOCK, 6)


STATISTICS = [name for name in read_statements(PACKAGE, "counters") if not name.startswith("together")]


def test_the_clock_is_read_after_all_counts_where_none_of_them_keeps_the_reading_waiting():
    names = [name for name in STATISTICS if name != "log_position"]
    assert order_sources(names, prompt=True) == names
    assert names[-1] == "clock"


def test_a_reading_that_waits_for_the_statistics_is_dated_before_the_wait_and_after_what_is_exact():
    found = order_sources(STATISTICS, prompt=False)
    assert found[:2] == ["log_position", "clock"]
    assert sorted(found) == sorted(STATISTICS)


# --- what is the test's, and what others did

TABLES = {
    "tables.heap_blks_fetched": 700, "tables.heap_blks_hit": 630, "tables.seq_scan": 0,
    "indexes.idx_blks_fetched": 200, "indexes.idx_blks_hit": 190, "indexes.idx_tup_fetch": 600,
    "database.blks_read": 100, "database.blks_hit": 900, "database.blk_read_time": 8, "database.xact_commit": 20,
    "databases.xact_commit": 9, "databases.tup_returned": 70,
}  # fmt: skip
WAL = {"wal.wal_bytes": 4096, "wal.wal_fpi": 3}
SESSIONS = {
    "session_io.run/data.hits": 500, "session_io.run/data.reads": 30, "session_io.run/data.read_bytes": 40 * BLOCK,
    "session_io.run/data.read_time": 6.0, "session_io.own/data.hits": 60, "session_io.own/data.reads": 1,
    "session_io.own/data.read_bytes": BLOCK, "session_wal.sessions": 0, "session_wal.wal_bytes": 1000,
    "session_wal.wal_fpi": 2,
}  # fmt: skip


def test_version_18_counts_by_session():
    delta = to_delta({**DATA, **LOG, **TABLES, **WAL, **SESSIONS}, BLOCK)
    assert (delta.logical_reads, delta.read_requests, delta.read_bytes) == (540, 30, 40 * BLOCK)
    assert (delta.read_time_us, delta.wait_means_us["IO:DataFileRead"]) == (6000, 200)
    assert (delta.log_bytes, delta.full_page_images, delta.log_syncs, delta.write_requests) == (1000, 2, 6, 42)
    assert {"log_syncs", "write_requests", "log"} <= delta.server_wide
    assert not delta.server_wide & {"read_requests", "read_time_us", "log_bytes", "IO:DataFileRead", "rows_read"}
    assert delta.others == {"commits": 9, "logical_reads": 1000 - 540 - 61, "read_requests": 69}
    assert delta.of_all_sessions("read_requests") == 99
    assert delta.of_all_sessions("log_syncs") == 6
    assert delta.of_all_sessions("full_page_image_bytes") is None


@table("version", [{**DATA, **LOG}, {"wal.wal_sync": 6}])
def test_before_18_the_tests_reads_are_those_of_its_tables(version):
    delta = to_delta({**version, **TABLES, **WAL}, BLOCK)
    assert (delta.logical_reads, delta.read_requests, delta.read_bytes) == (900, 80, 80 * BLOCK)
    assert (delta.log_bytes, delta.read_time_us) == (4096, 8000)
    assert {"log_bytes", "read_time_us", "IO:DataFileRead", "log_syncs"} <= delta.server_wide
    assert not delta.server_wide & {"logical_reads", "read_requests", "read_bytes"}
    by_blocks = {"logical_reads": 100, "read_requests": 20}
    assert delta.others == {"commits": 9, **(by_blocks if DATA.keys() & version.keys() else {"rows_read": 70})}


def test_the_databases_time_of_reads_is_the_tests_if_all_reads_are():
    delta = to_delta({**DATA, **TABLES, "database.blks_read": 81}, BLOCK)
    assert not delta.server_wide & {"read_time_us", "IO:DataFileRead"}


@table("came", [-1, 1])
def test_the_counters_of_a_session_that_came_or_went_are_not_those_of_the_interval(came):
    delta = to_delta({**DATA, **LOG, **TABLES, **WAL, **SESSIONS, "session_wal.sessions": came}, BLOCK)
    assert (delta.read_requests, delta.log_bytes) == (80, 4096)
    assert "log_bytes" in delta.server_wide


@table(("sessions", "reads"), [(4, 30), (0, 80)])
def test_sessions_that_are_not_found_by_their_name_did_not_read_nothing(sessions, reads):
    values = {**DATA, **LOG, **TABLES, **WAL, **SESSIONS, "session_wal.sessions": sessions}
    before = CounterReading(0, {**dict.fromkeys(values, 0.0), "session_wal.sessions": sessions}, "")
    delta = PostgresCounters(Server(), "slob", BLOCK).difference(before, CounterReading(1, values, ""))
    assert delta.read_requests == reads


def test_without_statistics_of_tables_reads_are_those_of_all():
    delta = to_delta({**DATA, **LOG}, BLOCK)
    assert {"logical_reads", "read_requests", "read_bytes"} <= delta.server_wide
    assert delta.unknown["rows_read"] == "track_counts is off"
    assert delta.others == {}


def test_what_rows_leave_behind_that_come_and_go_may_become_less():
    left = {"rows": 200, "table_bytes": 3 * BLOCK, "index_bytes": 0, "dead_rows": -40, "vacuums": 1}
    delta = to_delta({**DATA, **{f"churn.{name}": value for name, value in left.items()}}, BLOCK)
    assert (delta.rows_inserted_or_deleted, delta.dead_rows, delta.vacuums) == (200, -40, 1)
    assert (delta.table_bytes, delta.index_bytes, delta.purge_lag) == (3 * BLOCK, 0, None)
    assert "purge_lag" in delta.unknown
    assert "purge_lag" not in to_delta(DATA, BLOCK).unknown
