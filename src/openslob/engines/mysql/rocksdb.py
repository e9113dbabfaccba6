"""RocksDB (MyRocks) as the storage engine of test tables, where a row is a key of a log-structured merge tree.

The tables have the columns, rows and bytes that they have in InnoDB, so that both are compared on the same data. A row
has no block of its own: RocksDB writes it again at each update, into memory and the log, and later into files, which it
merges in the background (compaction). What counts blocks is unknown, with that reason.

Sources: the tickers in RocksDB's include/rocksdb/statistics.h, which the server shows as status (`rocksdb_bytes_read`
is BYTES_READ), and include/rocksdb/perf_context.h, in information_schema.ROCKSDB_PERF_CONTEXT_GLOBAL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pymysql.constants import ER

from openslob.core.errors import SlobError, UsageError
from openslob.core.measurement import BLOCK_VISITS, SIZE, EngineDelta, ObjectIo, TimedWait, WaitClass, scale
from openslob.engines.managed.base import ServerSpec
from openslob.engines.managed.layout import ConfigLine
from openslob.engines.mysql.binaries import MariaPrograms
from openslob.engines.mysql.connection import Connection, query, statement
from openslob.engines.mysql.errors import ignoring
from openslob.engines.mysql.global_settings import GlobalSettingsOverride
from openslob.engines.mysql.names import MysqlNames
from openslob.engines.mysql.page_layout import PageLayout
from openslob.engines.mysql.quiesce import wait_until_clean
from openslob.engines.mysql.table_engine import TableBlocks, TableEngine
from openslob.engines.patience import Patience
from openslob.engines.tables import Check, DataTable

NAME = "rocksdb"
# The kind of objects whose I/O is that of the test tables.
TABLES_IO = "table and index"
# What the server says whose new tables are RocksDB's.
SIGN = "variable default_storage_engine=ROCKSDB"
PACKAGE = "mariadb-plugin-rocksdb"
# What its figures do not mean.
LIMITS = (
    "a row is a key of its log-structured merge tree and has no block of its own: SCALE counts keys, and what is said "
    "of single blocks is unknown"
)
PLUGIN = "ha_rocksdb"
# Seconds: as long as sessions wait for a row of InnoDB (session.sql); the default is 1.
_LOCK_PATIENCE_S = 50
# Counts and times reads of blocks, mutexes apart (kEnableTimeExceptForMutex).
_COUNT_AND_TIME = 3
_NANO = 1e-3
_SOURCE = "rocksdb."
_ROWS, _ROWS_SEEN, _SHARING = f"{_SOURCE}ROWS_READ", f"{_SOURCE}ROWS_SEEN", "sharing.rows_read"
_STALLS = ("STALL_TOTAL_STOPS", "STALL_TOTAL_SLOWDOWNS")
_NO_BLOCKS = "RocksDB reads no blocks that hold one row each: a row is a key"
_ELSEWHERE = "RocksDB changes no row in its place: it writes the row again, and drops the old one when it compacts"
REASONS: Mapping[str, str] = {
    "read_time_us": f"RocksDB times its reads with rocksdb_perf_context_level = {_COUNT_AND_TIME}",
    "read_requests": f"RocksDB counts its reads with rocksdb_perf_context_level = {_COUNT_AND_TIME}, for users with "
    "PROCESS",
    "write_requests": "RocksDB counts the bytes that it flushes and compacts, and not the requests",
    "log_write_requests": "RocksDB counts the bytes of its log and its syncs, and not the requests",
    "block_changes": "RocksDB changes no blocks: it writes rows again",
    "rows_updated_in_place": _ELSEWHERE,
    "checkpoints": "RocksDB makes none: it flushes rows from memory into files",
    "maintenance": "RocksDB compacts all the time; what that reads is in the record's I/O by object",
}
# What it does not count and others may.
_BLOCKS: Mapping[str, str] = dict.fromkeys(("cache_blocks_read", "cache_blocks_prefetched"), _NO_BLOCKS)


def is_counted(change: Mapping[str, float]) -> bool:
    """Return whether counters are those of a server whose test tables are RocksDB's."""
    return f"{_SOURCE}BYTES_READ" in change


def with_first_rows(change: Mapping[str, float]) -> Mapping[str, float]:
    """Return counters of which userstat has the first row of each range, too: RocksDB reads it past the server.

    RocksDB itself counts it. The statistics are of our tables alone: those of others' RocksDB tables would be added.
    """
    if not change.keys() >= {_ROWS, _ROWS_SEEN, _SHARING} or not any(name.startswith("visits.") for name in change):
        return change
    first = change[_ROWS] - change[_ROWS_SEEN]
    return {**change, "visits.first.custid": first, _SHARING: change[_SHARING] + first}


def find_delta(change: Mapping[str, float], rows_read: float | None, rows_updated: float | None) -> EngineDelta:
    """Return differences of counters as `EngineDelta`, reasons for what is unknown left out.

    ``logical_reads`` are look-ups of blocks in its cache, of data, index and filter alike; rows that are in memory
    still need none. Reads are those of sessions; what compaction read is an object of its own.
    """
    status = {name.removeprefix(_SOURCE): value for name, value in change.items() if name.startswith(_SOURCE)}
    reads, read_bytes, read_ns = (_find_reads(status, name) for name in ("COUNT", "BYTE", "TIME"))
    read_us = scale(read_ns or None, _NANO)
    waits = [
        ("IO:block read", WaitClass.DATA_IO, reads, read_us),
        ("Stall:flush and compaction", WaitClass.OTHER, _sum(status, *_STALLS), status.get("STALL_MICROS")),
    ]
    return EngineDelta(
        logical_reads=_sum(status, "BLOCK_CACHE_HIT", "BLOCK_CACHE_MISS"),
        read_requests=reads,
        read_bytes=read_bytes,
        read_time_us=read_us,
        write_bytes=_sum(status, "FLUSH_WRITE_BYTES", "COMPACT_WRITE_BYTES"),
        log_bytes=status.get("WAL_BYTES"),
        log_syncs=status.get("WAL_SYNCED"),
        commits=change.get("status.COM_COMMIT"),
        rows_read=rows_read,
        rows_updated=rows_updated,
        row_bytes_read=status.get("BYTES_READ"),
        row_bytes_written=status.get("BYTES_WRITTEN"),
        private_visits=0.0,
        by_object={
            TABLES_IO: ObjectIo(None, reads, read_bytes, None, read_us),
            "compaction": ObjectIo(None, None, status.get("COMPACT_READ_BYTES"), None, None),
        },
        timed_waits=[TimedWait(event, of, count, us) for event, of, count, us in waits if count and us],
        unknown={**_BLOCKS, SIZE: _ELSEWHERE, BLOCK_VISITS: _NO_BLOCKS},
        server_wide=frozenset({"row_bytes_read", "row_bytes_written", "compaction"}),
    )


def _find_reads(status: Mapping[str, float], what: str) -> float | None:
    """Return what sessions counted of their reads; None if they count none, although the cache did not have all."""
    is_counted = status.get("BLOCK_READ_COUNT") or not status.get("BLOCK_CACHE_MISS")
    return status.get(f"BLOCK_READ_{what}") if is_counted else None


def _sum(status: Mapping[str, float], *names: str) -> float | None:
    return sum(status[name] for name in names) if status.keys() >= set(names) else None


def _ask_if_allowed(connection: Connection, what: str) -> bool:
    """Have the server do something that needs SUPER; return whether this user has that right."""
    with ignoring(ER.SPECIFIC_ACCESS_DENIED_ERROR):
        query(connection, statement("rocksdb", what))
        return True
    return False


class RocksTables(TableEngine):
    """RocksDB: what it has in common with InnoDB is the server around it."""

    name = NAME
    clause = "ROCKSDB"
    block_size, cache_bytes = "rocksdb_block_size", "rocksdb_block_cache_size"
    commit_setting = "rocksdb_flush_log_at_trx_commit"
    direct_io_remedy = "put rocksdb_use_direct_reads = ON into my.cnf and restart (a managed server: --io direct)"
    procedures_run_ahead = False
    keeps_size = False
    no_churn = "what RocksDB leaves behind of rows that come and go is not counted"
    is_observed = False
    counters: Sequence[str] = ("rocksdb_status", "rocksdb_rows", "rocksdb_reads")
    transactions: Sequence[str] = ()

    def is_direct(self, settings: Mapping[str, str]) -> bool | None:
        reads = settings.get("rocksdb_use_direct_reads")
        return None if reads is None else reads == "ON"

    def row_bytes(self, layout: PageLayout) -> int | None:  # noqa: ARG002
        return None

    def count_blocks(self, connection: Connection, names: MysqlNames) -> TableBlocks:
        """Return the size of each table in blocks, that of rows in memory included, as last analysed."""
        return TableBlocks(self.count_allocated(connection, names), leaves_only=False)

    def size_checks(
        self,
        table: DataTable,  # noqa: ARG002
        blocks: TableBlocks,  # noqa: ARG002
        layout: PageLayout,  # noqa: ARG002
        estimated_rows: float,  # noqa: ARG002
    ) -> list[Check]:
        """Return none: keys are counted, and blocks hold as many rows as fit."""
        return []

    def settle(self, connection: Connection, tables: Sequence[DataTable]) -> None:
        """Merge all files, so that each row is in one place; a user without that right leaves them as they are."""
        _ask_if_allowed(connection, "compact")
        for table in tables:
            query(connection, statement("load", "analyze", table=table.relation))

    def write_out(self, connection: Connection, override: GlobalSettingsOverride, patience: Patience) -> str:  # noqa: ARG002
        """Flush rows from memory into files, and wait for compactions that are due."""
        if not _ask_if_allowed(connection, "flush"):
            return "rows in memory were not flushed: this user may not set rocksdb_force_flush_memtable_now"
        pending = statement("rocksdb", "pending")
        what = "pending compactions"
        done = "rows in memory were flushed, and due compactions done"
        return wait_until_clean(lambda: int(query(connection, pending)[0]["pending"]), patience.check, 0, what, done)

    def files(self, directory: Path, database: str) -> Sequence[Path]:  # noqa: ARG002
        """Return the files of all of RocksDB's tables: each may have rows of several."""
        return sorted((directory / "#rocksdb").glob("*.sst"))

    def check_spec(self, spec: ServerSpec) -> None:
        if spec.standby_of or spec.port is not None:
            raise UsageError("a server with RocksDB's tables has no standbys", "use --table-engine innodb")
        if spec.huge_pages:
            raise UsageError("RocksDB's cache uses no huge pages", "leave out --huge-pages")

    def check_programs(self, programs: MariaPrograms) -> None:
        if not (programs.find_plugins() / f"{PLUGIN}.so").is_file():
            why = f"{programs.server} has no plugin {PLUGIN}, which RocksDB's tables need"
            raise SlobError(why, f"apt-get install {PACKAGE}, or name the --bin-dir of a MariaDB that has it")

    def settings(self, spec: ServerSpec, bulk: bool) -> list[ConfigLine]:
        direct = "ON" if spec.io == "direct" else "OFF"
        return [
            ConfigLine("plugin_load_add", PLUGIN),
            ConfigLine("default_storage_engine", "ROCKSDB", "by this slob knows of which engine test tables are"),
            ConfigLine("rocksdb_block_size", str(spec.block_size)),
            ConfigLine("rocksdb_block_cache_size", str(spec.cache_bytes)),
            ConfigLine("rocksdb_use_direct_reads", direct, "reads reach the device" if spec.io == "direct" else ""),
            ConfigLine("rocksdb_use_direct_io_for_flush_and_compaction", direct),
            ConfigLine("rocksdb_max_total_wal_size", str(spec.log_bytes), "no early flushing in a usual run"),
            ConfigLine("rocksdb_flush_log_at_trx_commit", "0" if bulk else "1", "" if bulk else "a commit is on disk"),
            ConfigLine(
                "rocksdb_default_cf_options",
                "compression=kNoCompression;bottommost_compression=kNoCompression",
                "as InnoDB's tables; constant text would be hardly read from anywhere",
            ),
            ConfigLine("rocksdb_lock_wait_timeout", str(_LOCK_PATIENCE_S), "as long as InnoDB"),
            ConfigLine("rocksdb_deadlock_detect", "ON", "as InnoDB"),
            ConfigLine("rocksdb_perf_context_level", str(_COUNT_AND_TIME), "reads are counted and timed"),
        ]

    def pool_bytes(self, spec: ServerSpec, least: int) -> int:  # noqa: ARG002
        return least

    def log_bytes(self, spec: ServerSpec, least: int) -> int:  # noqa: ARG002
        return least


ROCKSDB = RocksTables()
