"""The server's cumulative counters, read over one connection, and their differences as `EngineDelta`.

The server counts few things by session, so most counters include other sessions' work. It counts rows by table and
reads by file, though, and what is of no table of ours is others' work. The counters of the whole server are those of
all its databases and clients, whoever they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pymysql

from openslob.core.measurement import (
    CHURN_COUNTERS,
    EVERY_FIGURE,
    ONLY_SOME_HAVE,
    EngineDelta,
    ObjectIo,
    TimedWait,
    WaitClass,
    scale,
    sum_waits,
)
from openslob.core.wait_classes import classify_wait
from openslob.engines.base import CounterReading
from openslob.engines.mysql import rocksdb
from openslob.engines.mysql.connection import PACKAGE, Connection, is_on, query, statement, thread_id
from openslob.engines.mysql.errors import report_as
from openslob.engines.mysql.names import TABLES, MysqlNames
from openslob.engines.mysql.page_layout import layout_of
from openslob.engines.mysql.table_engine import TableEngine
from openslob.engines.server_engine import ConnectionOwner
from openslob.engines.sql import read_statements

# Fields of `EngineDelta` and kinds of objects that the server counts for all sessions together.
_SERVER_WIDE = frozenset(
    {
        *("logical_reads", "read_requests", "read_bytes", "read_time_us", "write_requests", "write_bytes"),
        *("log_bytes", "log_syncs", "log_write_requests", "block_changes", "commits", "checkpoints", "log"),
        "purge_lag",
    }
)
# Those that grow only where something is changed.
_OF_CHANGES = ("write_requests", "write_bytes", "log_bytes", "log_syncs", "log_write_requests", "block_changes")
# Those that are counted by file, too: the counter of counters.sql, and its unit.
_OF_FILES = {"read_requests": ("reads", 1.0), "read_bytes": ("read_bytes", 1.0), "read_time_us": ("read_ps", 1e-6)}
# Reads of files that serve everybody may be anybody's. So small a share of ours does not matter.
_SMALL_SHARE = 0.01
# Sums over tables that others may drop, and how often one was less than before.
OF_OTHERS = ("others.", "ours.")
_DROPPED = "others.dropped"
# What is left of counters without what is counted apart; the engine's files by event; all reads, and their name there.
APART = "apart."
FILES = "file.wait/io/file/innodb/"
DATA_FILE = f"{FILES}innodb_data_file"
_READS = {
    "status.INNODB_DATA_READS": "reads",
    "status.INNODB_DATA_READ": "read_bytes",
    f"{DATA_FILE}.read_ps": "read_ps",
}


class LastingSums:
    """Makes counters that never fall of the sums over others' tables and of differences between two counters.

    A table that is dropped takes its counts along; the sum then grew by an unknown amount, which counts as none. Two
    counters are read one after the other, so that their difference may seem to fall by what happened in between. As
    this is settled for each reading, the difference of a window is the sum of those of its parts.
    """

    def __init__(self) -> None:
        self._last: Values = {}
        self._sums: dict[str, float] = {}
        self._dropped = 0

    def keep(self, values: Values) -> dict[str, float]:
        """Return the values of a reading with these counters, and how many readings have found a lesser sum."""
        found = {name: value for name, value in values.items() if name.startswith(OF_OTHERS)}
        grown = {name: found.get(name, 0.0) - self._last.get(name, 0.0) for name in {*found, *self._last}}
        self._dropped += any(growth < 0 for growth in grown.values())
        for name, growth in grown.items():
            self._sums[name] = self._sums.get(name, 0.0) + max(0.0, growth)
        self._last = found
        kept = {**values, **self._sums, _DROPPED: float(self._dropped)}
        for name, value in _separate(kept).items():
            self._sums[name] = kept[name] = max(value, self._sums.get(name, value))
        return kept


def _separate(values: Values) -> dict[str, float]:
    """Return what is left of counters without what is counted apart, where both are counted.

    Reads: without those of others' files. Tables of our database that are not of the test are others', but for some
    small ones, which stay in the cache. Syncs of the log: those of all files without those of other files than the log.
    Writes of pages, where they are not counted by file: those of all files without the log's.
    """
    left: dict[str, float] = {}
    of_data = [v for name, v in values.items() if name.startswith(FILES) and name.endswith(".others")]
    for name, counter in _READS.items():
        if of_data and name in values:
            left[counter] = values[name] - sum(values.get(f"{whose}{counter}", 0.0) for whose in OF_OTHERS)
    if of_data and "status.INNODB_DATA_FSYNCS" in values:
        left["log_syncs"] = values["status.INNODB_DATA_FSYNCS"] - sum(of_data)
    if "pages.write_bytes" in values and "status.INNODB_DATA_WRITES" in values:
        left["page_writes"] = values["status.INNODB_DATA_WRITES"] - values.get("status.INNODB_LOG_WRITES", 0.0)
    return {f"{APART}{name}": value for name, value in left.items()}


def attribute(delta: EngineDelta, change: Values) -> EngineDelta:
    """Return a difference of counters without what is known to be others' work, and with its amounts in ``others``.

    What is taken out is a sum of counters, and never depends on how large another one is: the difference of a window is
    the sum of those of its parts.
    """
    changed, found, here = (
        _count_rows_changed(change),
        change.get("others.rows_read"),
        _count_found_otherwise(delta, change),
    )
    without = _without(delta, change)
    others: dict[str, float] = {}
    if changed is not None:
        others["rows_updated"] = changed
    if found is not None:
        others["rows_read"] = found + (here or 0.0)
    # Counts by table may be of more than those of all rows: of a row that was replaced, or of a later moment.
    unchanged = changed is not None and changed <= 0
    if unchanged and "tables.reads" in change and change.get("others.writes", 0.0) == 0:
        others |= dict.fromkeys(_OF_CHANGES, 0.0)
    if here is not None and here <= 0 and not change.get(_DROPPED):
        separate = [name for name in _OF_FILES if _is_separate(without, name, change, unchanged)]
        others |= {name: getattr(delta, name) - getattr(without, name) for name in separate}
    shared = without.server_wide | _find_still_shared(without, others)
    return replace(without, server_wide=shared, others=others)


def _without(delta: EngineDelta, change: Values) -> EngineDelta:
    """Return the difference without others' reads, where reads are counted by file."""
    own: dict[str, Any] = {
        name: unit * change[f"{APART}{counter}"]
        for name, (counter, unit) in _OF_FILES.items()
        if getattr(delta, name) is not None and f"{APART}{counter}" in change
    }
    if own.keys() < _OF_FILES.keys():
        return delta
    fewer, faster = (getattr(delta, name) - own[name] for name in ("read_requests", "read_time_us"))
    waits = [replace(each, count=each.count - fewer, time_us=each.time_us - faster) for each in delta.timed_waits]
    return replace(delta, **own, timed_waits=[wait for wait in waits if wait.count > 0])


def _find_still_shared(delta: EngineDelta, others: Values) -> frozenset[str]:
    """Return what others' work can't be taken out of; all timed waits are reads."""
    known = {*others, "log", "purge_lag"} if others.keys() >= set(_OF_CHANGES) else others.keys()
    events = set() if others.keys() >= _OF_FILES.keys() else {wait.event for wait in delta.timed_waits}
    return (_SERVER_WIDE - known) | events


def _count_rows_changed(change: Values) -> float | None:
    """Return the rows that others changed: all that were, without those of our tables and of the server's own."""
    ours, every = change.get("sharing.rows_changed"), change.get("every.rows_changed")
    return None if ours is None or every is None else every - ours


def _count_found_otherwise(delta: EngineDelta, change: Values) -> float | None:
    """Return the rows of the test tables that others read: not by the index that the work loop uses.

    A node of a Galera cluster finds the rows that other nodes changed in another way, too; those are the test's.
    """
    read, changed = change.get("sharing.rows_read"), change.get("sharing.rows_changed")
    if read is None or changed is None or delta.rows_read is None or delta.rows_updated is None:
        return None
    applied = changed - delta.rows_updated
    return read - delta.rows_read - applied


def _is_separate(own: EngineDelta, name: str, change: Values, unchanged: bool) -> bool:
    """Return whether reads of the engine's files are ours where they are not of others' tables.

    When others change rows, they read old row versions, too: too much may be read then from files that serve everybody.
    """
    (counter, unit), value = _OF_FILES[name], getattr(own, name)
    if value is None or f"tables.{counter}" not in change:
        return False
    return unchanged or value <= (1 + _SMALL_SHARE) * unit * change[f"tables.{counter}"]


Values = Mapping[str, float]

# MySQL's files of double writes; MariaDB writes them into a data file.
_DOUBLE_WRITE_FILE = f"{FILES}innodb_dblwr_file"
_LOG_FILE = f"{FILES}innodb_log_file"
_COMMITS = "status.COM_COMMIT"
_CHECKPOINTS = "metric.log_checkpoints"
# MariaDB counts checkpoints in one byte: after 255 comes 0.
_BYTE = 256
# What is read of a load whose rows come and go.
_CHURN = "churn."
_MAY_DECREASE = (*OF_OTHERS, f"{_CHURN}table_bytes", f"{_CHURN}purge_lag")
PICO = 1e-6
# The view of each product's status that can be part of a larger query, and the parts of counters.sql that read it.
_STATUS_VIEWS = {"mariadb": "information_schema.global_status", "mysql": "performance_schema.global_status"}
_STATUS_PARTS = {
    "mariadb": ("status", "changed_mariadb"),
    "mysql": ("status", "writes_mysql", "changed_mysql"),
}


def were_reset(before: Values, after: Values) -> bool:
    """Return whether the server's statistics were reset between two readings.

    It does not say so, but no counter ever decreases otherwise: sums over others' tables do, and what is no counter.
    """
    lasting = (name for name in before if not name.startswith(_MAY_DECREASE))
    return any(after.get(name, 0.0) < before[name] for name in lasting)


class ByteCount:
    """Lets a count that the server keeps in a byte go on where the byte begins again.

    Readings lie closer than a round of it. A count that has more than a byte is taken as it is.
    """

    def __init__(self) -> None:
        self._rounds = 0
        self._last = 0.0

    def count_on(self, count: float) -> float:
        """Return the count since the byte was first read, for what was read now."""
        rounds, last = divmod(self._last, _BYTE)
        if count < _BYTE and rounds <= self._rounds:
            self._rounds += count < last
            count += self._rounds * _BYTE
        self._last = count
        return count


@dataclass(frozen=True)
class Counting:
    """Takes differences of the test's counters, or of those of the whole server.

    ``row_bytes`` are those of a visited row, where the storage engine counts rows and not their bytes.
    """

    whole_server: bool = False
    row_bytes: int | None = None

    def difference(self, before: CounterReading, after: CounterReading) -> EngineDelta:
        """Return what happened between two readings."""
        if before.epoch != after.epoch:
            return EngineDelta(unknown={EVERY_FIGURE: "the server's statistics were reset during the run"})
        # A counter that was missing before was 0: statistics of a table begin with its first use.
        change = rocksdb.with_first_rows(
            {name: value - before.values.get(name, 0.0) for name, value in after.values.items()}
        )
        return self._with_bytes(server_delta(change) if self.whole_server else to_delta(change))

    def _with_bytes(self, delta: EngineDelta) -> EngineDelta:
        """Return a difference with the bytes of the rows that it has."""
        if self.row_bytes is None:
            return delta
        rows = {"row_bytes_read": "rows_read", "row_bytes_written": "rows_updated"}
        unknown = {name: delta.unknown[of] for name, of in rows.items() if of in delta.unknown}
        return replace(
            delta,
            row_bytes_read=scale(delta.rows_read, self.row_bytes),
            row_bytes_written=scale(delta.rows_updated, self.row_bytes),
            unknown={**delta.unknown, **unknown},
        )


class MysqlCounters(ConnectionOwner[Connection]):
    """Reads all sources that this server has and this user may see in one statement, so that all are of one moment."""

    def __init__(
        self, connection: Connection, names: MysqlNames, tables: TableEngine, rows_per_page: int | None = None
    ) -> None:
        """Take how many rows a page of the test tables has, where rows come and go."""
        super().__init__(connection)
        self._names, self._tables = names, tables
        self._rows_per_page = rows_per_page
        self._values: dict[str, Any] = {"database": names.database, "tables": TABLES, "rows_per_page": rows_per_page}
        with report_as("the counters can't be read"):
            query(connection, read_statements(PACKAGE, "session")["clock"])
            block_size = query(connection, tables.identity)[0]["block_size"]
            self.counting = self._count_by(tables.row_bytes(layout_of(block_size)))
            self._values["folder"] = self._folder(names.database)
            self._product = self._find_product()
            self._statement = self._compose()
        self._lasting = LastingSums()
        self._resets = 0
        self._checkpoints = ByteCount()
        self._last: Values = {}

    def _count_by(self, row_bytes: int | None) -> Counting:
        return Counting(row_bytes=row_bytes)

    def _folder(self, database: str) -> str:
        """Return the name of the database in names of files; its own where the server does not convert it."""
        try:
            return str(
                query(self._connection, read_statements(PACKAGE, "counters")["folder"], self._values)[0]["folder"]
            )
        except pymysql.Error:
            return database

    def _compose(self) -> str:
        parts = read_statements(PACKAGE, "counters")
        sources = [part for part in (parts[name] for name in self._sources()) if self._answers(part) is not None]
        return "\nUNION ALL\n".join([parts["clock"], *self._status(), *sources])

    def _sources(self) -> Sequence[str]:
        """Return the parts of counters.sql to read, as far as they can be."""
        rows = "userstat" if is_on(self._connection, "userstat") else "table_io"
        # In a Galera cluster userstat counts the changes of other nodes too, on a standby those of its primary.
        changes = "table_io" if is_on(self._connection, "wsrep_on") else rows
        changes = "no" if is_on(self._connection, "read_only") else changes
        files = ("file_io",) if self._tables.is_observed and self._holds("files_watched") else ()
        tables = [f"{rows}_visits", f"{changes}_changes", f"{rows}_sharing"]
        if rows == "table_io" and self._product:
            tables.append(f"table_io_changed_{self._product}")
        if self._rows_per_page:
            tables += [f"churn_{changes}", f"churn_sizes_{self._product}", f"churn_purge_{self._product}"]
        return (*tables, *files, *self._tables.counters)

    def _holds(self, question: str) -> bool:
        return bool(self._answers(read_statements(PACKAGE, "counters")[question]))

    def _find_product(self) -> str:
        """Return the product by the view of status that answers; empty where none does."""
        return next((name for name, view in _STATUS_VIEWS.items() if self._answers(f"SELECT 1 FROM {view}")), "")

    def _status(self) -> list[str]:
        parts, view = read_statements(PACKAGE, "counters"), _STATUS_VIEWS.get(self._product)
        return [parts[name].format(status=view) for name in _STATUS_PARTS.get(self._product, ())]

    def _answers(self, text: str) -> int | None:
        """Return the number of rows of a query's result, at most one; None when the server or its rights refuse it."""
        try:
            return len(query(self._connection, f"SELECT * FROM ({text} LIMIT 1) AS tried", self._values))
        except pymysql.Error:
            return None

    def read(self) -> CounterReading:
        with report_as("the counters can't be read"):
            rows = query(self._connection, self._statement, self._values)
            values = {f"{row['source']}.{row['name']}": float(row["value"]) for row in rows}
            if _COMMITS not in values:
                values[_COMMITS] = self._commits()
        server_ns = int(values.pop("clock.us")) * 1000
        if _CHECKPOINTS in values:
            values[_CHECKPOINTS] = self._checkpoints.count_on(values[_CHECKPOINTS])
        if were_reset(self._last, values):
            self._resets += 1
            self._lasting = LastingSums()
        self._last = values
        return CounterReading(server_ns, self._lasting.keep(values), f"reset {self._resets} times while watched")

    def _commits(self) -> float:
        return float(query(self._connection, read_statements(PACKAGE, "counters")["commits"])[0]["Value"])

    def difference(self, before: CounterReading, after: CounterReading) -> EngineDelta:
        return self.counting.difference(before, after)

    def task_kinds(self) -> dict[int, str]:
        """Return threads as performance_schema names them; none when it is off, or this user may not read it."""
        try:
            rows = query(self._connection, statement("facts", "threads", roster=self._names.roster()), {})
        except pymysql.Error:
            return {}
        return {row["number"]: row["kind"] for row in rows}

    def backend_ids(self) -> list[int]:
        return [thread_id(self._connection)]


def total(change: Values, prefix: str, suffix: str = "") -> float | None:
    """Return the sum of the counters whose names begin and end so; None when there are none."""
    values = [value for name, value in change.items() if name.startswith(prefix) and name.endswith(suffix)]
    return sum(values) if values else None


def _first(change: Values, *names: str) -> float | None:
    return next((change[name] for name in names if name in change), None)


def to_delta(change: Values) -> EngineDelta:
    """Return differences of counters as `EngineDelta` of the test, what others did taken off as far as it is known."""
    return attribute(whole_delta(change), change)


def whole_delta(change: Values) -> EngineDelta:
    """Return differences of counters as `EngineDelta`, those of all sessions where the server counts them so."""
    if rocksdb.is_counted(change):
        found = rocksdb.find_delta(change, total(change, "visits.", ".custid"), total(change, "changes."))
        return _with_reasons(found, {**_REASONS, **rocksdb.REASONS})
    return _with_reasons(_pages_delta(change), _REASONS)


def _pages_delta(change: Values) -> EngineDelta:
    """Return what InnoDB counted. ``rows_updated_in_place``: a row leaves its page only when the page is split."""
    status = {name.removeprefix("status."): value for name, value in change.items() if name.startswith("status.")}
    updated = None if total(change, _CHURN) is not None else total(change, "changes.")
    splits = _first(change, "status.INNODB_BUFFER_POOL_PAGES_SPLIT", "metric.index_page_splits")
    reads, (writes, write_bytes) = status.get("INNODB_DATA_READS"), _writes(change, status)
    read_us = scale(change.get(f"{DATA_FILE}.read_ps"), PICO)
    return EngineDelta(
        logical_reads=status.get("INNODB_BUFFER_POOL_READ_REQUESTS"),
        read_requests=reads,
        read_bytes=status.get("INNODB_DATA_READ"),
        read_time_us=read_us,
        write_requests=writes,
        write_bytes=write_bytes,
        # MySQL writes the last, half full block of the log again and again, and counts it each time.
        log_bytes=_first(status, "INNODB_REDO_LOG_CURRENT_LSN", "INNODB_OS_LOG_WRITTEN"),
        log_syncs=_first(change, "status.INNODB_OS_LOG_FSYNCS", f"{APART}log_syncs"),
        log_write_requests=status.get("INNODB_LOG_WRITES"),
        # One for each page that a mini-transaction changed.
        block_changes=status.get("INNODB_BUFFER_POOL_WRITE_REQUESTS"),
        commits=status.get("COM_COMMIT"),
        rows_read=total(change, "visits.", ".custid"),
        rows_updated=updated,
        rows_updated_in_place=updated if splits == 0 else None,
        checkpoints=change.get("metric.log_checkpoints"),
        # No session has a cache of its own.
        private_visits=0.0,
        rows_inserted_or_deleted=change.get(f"{_CHURN}rows"),
        table_bytes=change.get(f"{_CHURN}table_bytes"),
        purge_lag=change.get(f"{_CHURN}purge_lag"),
        by_object=_by_object(change, status),
        timed_waits=[TimedWait("IO:innodb_data_file", WaitClass.DATA_IO, reads, read_us)] if read_us and reads else (),
    )


def _writes(change: Values, status: Values) -> tuple[float | None, float | None]:
    """Return requests and bytes of writes of pages, one a request, and of double writes, many pages a request.

    The log's writes are not included. MariaDB counts exactly these. MySQL counts requests of all files together;
    without performance_schema the log's writes are subtracted, and writes of the log's headers, some a second, remain.
    """
    if f"{_DOUBLE_WRITE_FILE}.writes" in change:
        files = {name: value for name, value in change.items() if not name.startswith(_LOG_FILE)}
        return total(files, FILES, ".writes"), total(files, FILES, ".write_bytes")
    if "pages.write_bytes" in change and f"{APART}page_writes" in change:
        return change[f"{APART}page_writes"], change["pages.write_bytes"]
    return status.get("INNODB_DATA_WRITES"), status.get("INNODB_DATA_WRITTEN")


def _by_object(change: Values, status: Values) -> dict[str, ObjectIo]:
    reads, read_us = change.get("tables.reads"), scale(change.get("tables.read_ps"), PICO)
    tables = ObjectIo(None, reads, change.get("tables.read_bytes"), None, read_us)
    log = ObjectIo(None, None, None, status.get("INNODB_LOG_WRITES"), None)
    return {rocksdb.TABLES_IO: tables, "log": log}


_NO_STATISTICS = "the server counts no rows by table: set userstat = ON (MySQL: performance_schema)"
_NO_CHANGES = "the server does not count a session's own changes: set userstat = ON (Galera, MySQL: performance_schema)"
_NO_PAGE_IMAGES = "the log holds changes only: torn pages are repaired from the double-write buffer"
_REASONS = {
    "read_time_us": "the server times file reads with performance_schema = ON only, for users who may read it",
    "log_syncs": "the server counts only syncs of all files; with performance_schema = ON it counts those of the log",
    "log_sync_time_us": "the server does not time syncs of its log",
    "full_page_images": _NO_PAGE_IMAGES,
    "full_page_image_bytes": _NO_PAGE_IMAGES,
    "shared_visits": "the server counts visits of the cache for all tables and indexes together",
    "rows_read": _NO_STATISTICS,
    "rows_updated": _NO_CHANGES,
    "rows_updated_in_place": "blocks were split meanwhile, or the server does not count splits "
    "(MySQL: SET GLOBAL innodb_monitor_enable = 'index_page_splits')",
    "checkpoints": "the server does not count them (SET GLOBAL innodb_monitor_enable = 'log_checkpoints'), or this "
    "user may not see it (PROCESS)",
    "db_cpu_us": "the server does not count its CPU time as a whole",
    "db_time_us": "not read from the server: the work loop measures the time that sessions spend inside operations",
    "maintenance": "the server purges old row versions and writes pages all the time, and does not count it",
}


_PURGED = "the server purges old row versions all the time: the purge lag is what is left of that"
_CHURN_REASONS = {
    "rows_inserted_or_deleted": _NO_STATISTICS,
    "rows_updated": "the server counts all changes of rows together",
    "rows_updated_in_place": "the server counts all changes of rows together",
    "table_bytes": "the sizes of files are known to users with the privilege PROCESS",
    "index_bytes": "the index is in the file of its table, which is the size that is known",
    "dead_rows": _PURGED,
    "vacuums": _PURGED,
    "purge_lag": "the length of the history is known to users with the privilege PROCESS",
}


def _with_reasons(delta: EngineDelta, reasons: Mapping[str, str]) -> EngineDelta:
    missing = [name for name, value in delta.amounts().items() if value is None and name not in ONLY_SOME_HAVE]
    why = {name: reasons.get(name, "the server does not count it for this user") for name in missing}
    if any(getattr(delta, name) is not None for name in CHURN_COUNTERS):
        why |= {name: reason for name, reason in _CHURN_REASONS.items() if getattr(delta, name) is None}
    return replace(delta, unknown={**why, **delta.unknown})


_ROWS = ("rows_read", "rows_updated", "rows_updated_in_place")
_OF_TABLES = "the whole server is observed: only the work loop's own tables tell it"
_STATEMENTS_ONLY = "the server counts COMMIT statements, not the statements that commit by themselves"
_NO_TRANSACTIONS = (
    "the server does not count them, or this user may not see it: SET GLOBAL innodb_monitor_enable = 'module_trx', "
    "for users with PROCESS (MySQL: or the instrument transaction of performance_schema)"
)
_FILE_EVENTS = "wait/io/file/"
_BY_FILE = f"file.{_FILE_EVENTS}"
# Kinds of files by their event; all others together are one more kind.
_DATA, _LOG, _OTHER = "data", "log", "other"
_KINDS_OF_FILES = {
    "innodb/innodb_data_file": _DATA,
    "innodb/innodb_log_file": _LOG,
    "innodb/innodb_temp_file": "temporary",
    "sql/io_cache": "temporary",
    "innodb/innodb_dblwr_file": "double-write",
    "sql/binlog": "binary log",
    "sql/relaylog": "relay log",
}
# Those that every server has, whether or not it has used them.
_ALWAYS = ("temporary", "binary log", "relay log", _OTHER)
# The classes of events as sampled waits name them; what is left are latches.
_CLASSES = {"io/file": "IO", "lock/table": "Lock", "lock/metadata": "Lock"}
_LOG_FILES = ("wait/io/file/innodb/innodb_log_file", "wait/io/file/sql/binlog")
_ROW_LOCK = "Lock:row"
_MS = 1000.0


class MysqlServerCounters(MysqlCounters):
    """Reads what the server counts of all its databases."""

    def _count_by(self, row_bytes: int | None) -> Counting:  # noqa: ARG002 - rows are those of the test's tables
        return Counting(whole_server=True)

    def _sources(self) -> Sequence[str]:
        watched = {"every_file": "files_watched", "latches": "latches_watched"}
        found = [part for part, question in watched.items() if self._holds(question)]
        return (*self._tables.counters, *self._tables.transactions, *found)


def server_delta(change: Values) -> EngineDelta:
    """Return differences of counters as `EngineDelta` of the whole server."""
    transactions = total(change, "innodb.", "_commits")
    if transactions is None:
        transactions = change.get("observed.transactions")
    delta = whole_delta(change)
    unknown = {**delta.unknown, **dict.fromkeys(_ROWS, _OF_TABLES), "commits": _STATEMENTS_ONLY}
    if transactions is None:
        unknown["transactions"] = _NO_TRANSACTIONS
    return replace(
        delta,
        commits=None,
        transactions=transactions,
        by_object=_by_kind(change, delta),
        timed_waits=_timed_waits(change),
        unknown=unknown,
    )


def _by_event(change: Values, source: str) -> dict[str, dict[str, float]]:
    """Return the columns of a source by event."""
    events: dict[str, dict[str, float]] = {}
    for name, value in change.items():
        if name.startswith(source):
            event, _, column = name.removeprefix(source).rpartition(".")
            events.setdefault(event, {})[column] = value
    return events


def _by_kind(change: Values, delta: EngineDelta) -> dict[str, ObjectIo]:
    """Return I/O by kind of file; where files are not watched, and of a log that is not, what else is counted."""
    events = _by_event(change, _BY_FILE)
    kinds: dict[str, Counter[str]] = {kind: Counter() for kind in _ALWAYS} if events else {}
    for event, columns in events.items():
        kinds.setdefault(_KINDS_OF_FILES.get(event, _OTHER), Counter()).update(columns)
    data = ObjectIo(None, delta.read_requests, delta.read_bytes, delta.write_requests, None)
    apart = {kind: io for kind, io in delta.by_object.items() if kind != rocksdb.TABLES_IO}
    return {_DATA: data, **apart, **{kind: _object(sums) for kind, sums in kinds.items()}}


def _object(columns: Mapping[str, float]) -> ObjectIo:
    read_us = columns["read_ps"] * PICO
    return ObjectIo(None, columns["reads"], columns["read_bytes"], columns["writes"], read_us or None)


def _timed_waits(change: Values) -> list[TimedWait]:
    """Return the waits that the server counts and times: requests of files by anybody, all else by clients' sessions.

    Pages are written in the background, so of the data files only the reads are waits. Waits for rows are timed in ms.
    """
    rows, rows_ms = (change.get(f"status.INNODB_ROW_LOCK_{column}", 0.0) for column in ("WAITS", "TIME"))
    counted = [(_ROW_LOCK, rows, rows_ms * _MS)]
    for event, columns in _by_event(change, "wait.").items():
        counted.append((_event(event), columns["count"], columns["ps"] * PICO))
    for event, columns in _by_event(change, _BY_FILE).items():
        of = ("reads", "read_ps") if _KINDS_OF_FILES.get(event) == _DATA else ("requests", "ps")
        counted.append((_event(f"{_FILE_EVENTS}{event}"), columns[of[0]], columns[of[1]] * PICO))
    return sum_waits(
        TimedWait(name, classify_wait(name), count, time_us) for name, count, time_us in counted if count and time_us
    )


def _event(name: str) -> str:
    """Return an event's name as samples of waits have it (waits.sql)."""
    if name in _LOG_FILES:
        return "IO:log write"
    *parts, last = name.split("/")
    return f"{_CLASSES.get('/'.join(parts[1:3]), 'Latch')}:{last}"
