"""PostgreSQL's counters in the product's terms: data and log apart, and entries that appear at their first event."""

from __future__ import annotations

from dataclasses import dataclass

from openslob.engines.base import CounterReading
from openslob.engines.postgresql.counters import PostgresCounters, to_delta

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

    def execute(self, _):
        return self

    def fetchone(self):
        return (True,)


def test_an_entry_that_appears_during_the_run_counts_in_full():
    counters = PostgresCounters(Server(), "slob", BLOCK)
    before = {"io.client backend/relation/normal.reads": 60.0}
    after = {name: float(value) for name, value in {**DATA, **LOG}.items()}
    delta = counters.difference(CounterReading(0, before, ""), CounterReading(1, after, ""))
    assert (delta.read_requests, delta.read_bytes, delta.log_syncs) == (40, 100 * BLOCK, 6)
