"""What the server counts of all databases and clients: transactions, files by kind, and waits that it times."""

from __future__ import annotations

from factories.tables import table
from openslob.core.measurement import ObjectIo, WaitClass
from openslob.engines.mysql.counters import server_delta

STATUS = {
    "status.COM_COMMIT": 9.0,
    "status.INNODB_BUFFER_POOL_READ_REQUESTS": 500.0,
    "status.INNODB_DATA_READS": 40.0,
    "status.INNODB_DATA_READ": 40 * 16384.0,
    "status.INNODB_DATA_WRITES": 6.0,
    "status.INNODB_LOG_WRITES": 7.0,
    "status.INNODB_ROW_LOCK_WAITS": 3.0,
    "status.INNODB_ROW_LOCK_TIME": 12.0,
}
INNODB = {"innodb.trx_rw_commits": 30.0, "innodb.trx_ro_commits": 5.0, "innodb.trx_nl_ro_commits": 100.0}
COLUMNS = ("reads", "read_bytes", "read_ps", "writes", "write_bytes", "others", "requests", "ps")


def file(event, *amounts):
    return {f"file.wait/io/file/{event}.{column}": float(n) for column, n in zip(COLUMNS, amounts, strict=True)}


FILES = {
    **file("innodb/innodb_data_file", 40, 40 * 16384, 8e9, 6, 6 * 16384, 2, 48, 2e10),
    **file("innodb/innodb_temp_file", 1, 100, 1e6, 2, 200, 0, 3, 3e6),
    **file("sql/io_cache", 2, 300, 1e6, 3, 400, 1, 6, 6e6),
    **file("sql/binlog", 0, 0, 0, 10, 1000, 10, 20, 4e9),
    **file("aria/MAD", 1, 8192, 5e6, 0, 0, 1, 2, 7e6),
}


@table(
    ("counted", "transactions"),
    [
        (INNODB, 135),
        ({"observed.transactions": 140.0}, 140),
        ({**INNODB, "observed.transactions": 140.0}, 135),
        ({}, None),
    ],
)
def test_transactions_are_those_of_the_storage_engine(counted, transactions):
    delta = server_delta({**STATUS, **counted})
    assert delta.transactions == transactions
    assert ("transactions" in delta.unknown) == (transactions is None)


def test_nothing_is_taken_off_for_others():
    delta = server_delta({**STATUS, "tables.reads": 30.0, "others.rows_read": 5.0})
    assert (delta.read_requests, delta.logical_reads) == (40, 500)
    assert (delta.server_wide, delta.others) == (frozenset(), {})
    assert delta.commits is None
    assert {"commits", "rows_read", "rows_updated"} <= set(delta.unknown)


def test_files_are_counted_by_kind():
    kinds = server_delta({**STATUS, **FILES}).by_object
    assert kinds["data"] == ObjectIo(None, 40, 40 * 16384, 6, 8000)
    assert kinds["temporary"] == ObjectIo(None, 3, 400, 5, 2)
    assert kinds["binary log"] == ObjectIo(None, 0, 0, 10, None)
    assert kinds["log"].write_requests == 7
    assert kinds["relay log"] == ObjectIo(None, 0, 0, 0, None)
    assert set(kinds) == {"data", "log", "temporary", "binary log", "relay log", "other"}


def test_where_files_are_not_watched_the_pages_are_counted():
    assert server_delta(STATUS).by_object["data"] == ObjectIo(None, 40, 40 * 16384, 6, None)


def test_waits_are_named_as_samples_have_them():
    latches = {"wait.wait/synch/mutex/sql/LOCK_open.count": 4.0, "wait.wait/synch/mutex/sql/LOCK_open.ps": 2e6}
    waits = {wait.event: wait for wait in server_delta({**STATUS, **FILES, **latches}).timed_waits}
    assert {event: (wait.count, wait.time_us) for event, wait in waits.items()} == {
        "Lock:row": (3, 12_000),
        # Pages are written in the background.
        "IO:innodb_data_file": (40, 8000),
        "IO:innodb_temp_file": (3, 3),
        "IO:io_cache": (6, 6),
        "IO:log write": (20, 4000),
        "IO:MAD": (2, 7),
        "Latch:LOCK_open": (4, 2),
    }
    assert waits["Lock:row"].wait_class is WaitClass.LOCK
    assert waits["IO:innodb_data_file"].wait_class is WaitClass.DATA_IO
    assert waits["IO:log write"].wait_class is WaitClass.LOG
