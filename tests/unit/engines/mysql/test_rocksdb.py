"""RocksDB as the storage engine of test tables, as far as it can be known without a server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pymysql
import pytest
from pymysql.constants import ER

from factories import measurements as made
from factories.tables import table
from openslob.analyze.verdicts.environment import data_in_place
from openslob.analyze.verdicts.server import single_block
from openslob.core.errors import SlobError, UsageError
from openslob.core.units import MIB
from openslob.engines import registry
from openslob.engines.base import CounterReading
from openslob.engines.managed.layout import ServerFiles
from openslob.engines.mysql import rocksdb
from openslob.engines.mysql.binaries import MariaPrograms
from openslob.engines.mysql.counters import Counting
from openslob.engines.mysql.page_layout import layout_of
from openslob.engines.mysql.rocksdb import ROCKSDB
from openslob.engines.mysql.server import MariaServer, default_spec
from openslob.engines.mysql.server_config import SOCKET, check_spec, settings
from openslob.engines.mysql.table_engine import INNODB
from openslob.engines.postgresql import server_config as postgresql
from openslob.record.model import Holds

SPEC = replace(default_spec("x"), table_engine="rocksdb")
LAYOUT = ServerFiles(Path("/srv/x"), Path("/data/x"), SOCKET)
# What the server counts in ten rows read and four updated, of 2,500 bytes each.
COUNTED = {
    "rocksdb.BYTES_READ": 25_000.0, "rocksdb.BYTES_WRITTEN": 10_000.0,
    "rocksdb.BLOCK_CACHE_HIT": 40.0, "rocksdb.BLOCK_CACHE_MISS": 12.0,
    "rocksdb.BLOCK_READ_COUNT": 12.0, "rocksdb.BLOCK_READ_BYTE": 200_000.0, "rocksdb.BLOCK_READ_TIME": 2_400_000.0,
    "rocksdb.FLUSH_WRITE_BYTES": 11_000.0, "rocksdb.COMPACT_WRITE_BYTES": 33_000.0,
    "rocksdb.COMPACT_READ_BYTES": 30_000.0, "rocksdb.WAL_BYTES": 10_500.0, "rocksdb.WAL_SYNCED": 4.0,
    "rocksdb.STALL_TOTAL_STOPS": 1.0, "rocksdb.STALL_TOTAL_SLOWDOWNS": 2.0, "rocksdb.STALL_MICROS": 900.0,
    "status.COM_COMMIT": 4.0, "visits.cf1_1.custid": 12.0, "changes.cf1_1": 4.0,
    # Two ranges, whose first rows userstat does not see, and a scan of three rows.
    "rocksdb.ROWS_READ": 17.0, "rocksdb.ROWS_SEEN": 15.0,
    "sharing.rows_read": 12.0, "sharing.rows_changed": 4.0, "every.rows_changed": 4.0, "others.rows_read": 0.0,
    # InnoDB's, of the server's own tables.
    "status.INNODB_DATA_READS": 3.0, "status.INNODB_DATA_READ": 49_152.0, "status.INNODB_DATA_WRITTEN": 7.0,
}  # fmt: skip


def as_values(spec, bulk=False):
    return {one.name: one.value for one in settings(spec, LAYOUT, bulk)}


def count(values, **counting):
    before = CounterReading(0, dict.fromkeys(values, 0.0), "")
    return Counting(**counting).difference(before, CounterReading(10**9, values, ""))


def test_what_rocksdb_counts_is_of_its_tables_and_not_of_innodb_s():
    delta = count(COUNTED)
    assert (delta.read_requests, delta.read_bytes, delta.read_time_us) == (12, 200_000, 2400)
    assert (delta.logical_reads, delta.write_bytes, delta.log_bytes, delta.log_syncs) == (52, 44_000, 10_500, 4)
    assert (delta.rows_read, delta.rows_updated, delta.commits) == (14, 4, 4)
    assert (delta.row_bytes_read, delta.row_bytes_written) == (25_000, 10_000)
    assert delta.by_object["compaction"].read_bytes == 30_000
    assert [(wait.event, wait.count, wait.time_us) for wait in delta.timed_waits] == [
        ("IO:block read", 12, 2400), ("Stall:flush and compaction", 3, 900),
    ]  # fmt: skip


def test_the_first_row_of_a_range_is_nobody_else_s():
    assert count(COUNTED).others == {"rows_updated": 0.0, "rows_read": 0.0}
    without = {name: value for name, value in COUNTED.items() if not name.startswith("visits.")}
    assert count(without).rows_read is None


def test_what_it_has_not_is_unknown_with_the_reason():
    delta = count(COUNTED)
    for name in ("write_requests", "block_changes", "rows_updated_in_place", "checkpoints", "log_write_requests"):
        assert getattr(delta, name) is None
        assert "RocksDB" in delta.unknown[name]
    assert "rows_read" not in delta.unknown
    assert "a row is a key" in delta.unknown["block_visits"]


def test_reads_that_sessions_do_not_count_are_unknown_and_not_0():
    silent = {**COUNTED, **{f"rocksdb.BLOCK_READ_{name}": 0.0 for name in ("COUNT", "BYTE", "TIME")}}
    delta = count(silent)
    assert (delta.read_requests, delta.read_time_us) == (None, None)
    assert "rocksdb_perf_context_level" in delta.unknown["read_requests"]
    idle = count({**silent, "rocksdb.BLOCK_CACHE_MISS": 0.0})
    assert (idle.read_requests, idle.read_bytes) == (0, 0)


def test_a_user_without_process_knows_no_reads():
    hidden = {name: value for name, value in COUNTED.items() if "BLOCK_READ" not in name}
    assert (count(hidden).read_requests, count(hidden).row_bytes_read) == (None, 25_000)


def test_the_counts_are_the_whole_server_s():
    assert {"row_bytes_read", "read_requests", "log_bytes", "compaction"} <= count(COUNTED).server_wide


def test_of_innodb_the_bytes_of_rows_are_their_number_times_their_size():
    rows = {"visits.cf1_1.custid": 14.0, "changes.cf1_1": 4.0}
    row = INNODB.row_bytes(layout_of(16_384))
    assert row == 16 + 19 * 128 + layout_of(16_384).pad_bytes
    delta = count(rows, row_bytes=row)
    assert (delta.row_bytes_read, delta.row_bytes_written) == (14 * row, 4 * row)
    unknown = count({"status.COM_COMMIT": 1.0}, row_bytes=row)
    assert unknown.row_bytes_read is None
    assert unknown.unknown["row_bytes_read"] == unknown.unknown["rows_read"]
    assert ROCKSDB.row_bytes(layout_of(16_384)) is None


def test_verdicts_on_blocks_and_places_are_unknown_with_the_reason():
    run = made.measurement(engine=replace(count(COUNTED), rows_read=None), blocks_after=300_000)
    single = single_block(run)
    assert (single.verdict, "a row is a key" in single.why) == (Holds.UNKNOWN, True)
    place = data_in_place(run)
    assert (place.verdict, "writes the row again" in place.why) == (Holds.UNKNOWN, True)
    assert data_in_place(replace(run, data_fault="the table cf1_1 is no longer there")).verdict is Holds.FAILS


def test_its_cache_is_the_one_that_is_asked_for_and_innodb_s_the_least():
    values = as_values(replace(SPEC, cache_bytes=256 * MIB, log_bytes=512 * MIB))
    assert values["rocksdb_block_cache_size"] == str(256 * MIB)
    assert values["innodb_buffer_pool_size"] == str(8 * MIB)
    assert (values["rocksdb_max_total_wal_size"], values["innodb_log_file_size"]) == (str(512 * MIB), str(64 * MIB))
    assert (values["plugin_load_add"], values["default_storage_engine"]) == ("ha_rocksdb", "ROCKSDB")
    assert values["rocksdb_block_size"] == values["innodb_page_size"] == "16384"
    assert not [name for name in as_values(default_spec("x")) if "rocksdb" in name]


@table(("io", "direct"), [("direct", "ON"), ("buffered", "OFF")])
def test_reads_are_direct_as_the_server_s_io_is(io, direct):
    values = as_values(replace(SPEC, io=io))
    assert values["rocksdb_use_direct_reads"] == direct
    assert values["rocksdb_use_direct_io_for_flush_and_compaction"] == direct
    assert ROCKSDB.is_direct(values) is (direct == "ON")
    assert ROCKSDB.is_direct({}) is None


def test_a_commit_is_on_disk_but_not_in_a_load():
    assert [as_values(SPEC, bulk)["rocksdb_flush_log_at_trx_commit"] for bulk in (False, True)] == ["1", "0"]


@table(
    ("change", "why"),
    [
        ({"standby_of": "y"}, "has no standbys; use --table-engine innodb"),
        ({"port": 20_001}, "has no standbys"),
        ({"table_engine": "tokudb"}, "--table-engine tokudb is not known; there are innodb, rocksdb"),
    ],
)
def test_servers_that_it_can_not_be(change, why):
    check_spec(SPEC)
    with pytest.raises(UsageError, match=why):
        check_spec(replace(SPEC, **change))


def test_an_engine_without_a_choice_of_them_refuses_it():
    spec = replace(registry.default_spec("x", "postgresql"), version="18", table_engine="rocksdb")
    with pytest.raises(UsageError, match="--table-engine rocksdb is not known; postgresql has no choice of them"):
        postgresql.check_spec(spec)


def test_programs_without_the_plugin_are_refused_with_the_package(tmp_path: Path):
    (tmp_path / "plugins").mkdir()
    server = tmp_path / "mariadbd"
    server.write_text(f"#!/bin/sh\necho 'plugin-dir          {tmp_path}/plugins/'\n")
    server.chmod(0o755)
    programs = MariaPrograms(tmp_path, server, server)
    assert programs.find_plugins() == tmp_path / "plugins"
    with pytest.raises(SlobError, match="apt-get install mariadb-plugin-rocksdb"):
        ROCKSDB.check_programs(programs)
    (tmp_path / "plugins" / "ha_rocksdb.so").touch()
    ROCKSDB.check_programs(programs)
    INNODB.check_programs(programs)


def test_a_server_for_which_none_was_asked_has_innodb_s_tables():
    asked = MariaServer(replace(SPEC, version="10.11", table_engine=None)).spec
    assert asked == MariaServer(replace(SPEC, version="10.11", table_engine="innodb")).spec


def test_a_right_that_is_missing_leaves_rows_in_memory_and_any_other_error_is_told(monkeypatch):
    def fails_with(code):
        def query(*_):
            raise pymysql.OperationalError(code, "the server's words")

        monkeypatch.setattr(rocksdb, "query", query)

    fails_with(ER.SPECIFIC_ACCESS_DENIED_ERROR)
    ROCKSDB.settle(None, [])
    assert "may not set" in ROCKSDB.write_out(None, None, None)
    fails_with(ER.DISK_FULL)
    for does in (lambda: ROCKSDB.settle(None, []), lambda: ROCKSDB.write_out(None, None, None)):
        with pytest.raises(pymysql.OperationalError, match="the server's words"):
            does()
