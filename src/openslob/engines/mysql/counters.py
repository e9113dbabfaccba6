"""The server's cumulative counters, read over one connection, and their differences as `EngineDelta`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import pymysql

from openslob.engines.base import CounterReading
from openslob.engines.mysql.connection import PACKAGE, Connection, is_on, query, statement, thread_id
from openslob.engines.mysql.errors import reported
from openslob.engines.mysql.names import TABLES, MysqlNames
from openslob.engines.mysql.sharing import APART, DATA_FILE, FILES, OF_OTHERS, LastingSums, attributed
from openslob.engines.sql import read_statements
from openslob.metrics.measurement import EVERY_FIGURE, ONLY_SOME_HAVE, EngineDelta, ObjectIo, TimedWait, WaitClass

Values = Mapping[str, float]

# MySQL's files of double writes; MariaDB writes them into a data file.
_DOUBLE_WRITE_FILE = f"{FILES}innodb_dblwr_file"
_LOG_FILE = f"{FILES}innodb_log_file"
_COMMITS = "status.COM_COMMIT"
_CHECKPOINTS = "metric.log_checkpoints"
# MariaDB counts checkpoints in one byte: after 255 comes 0.
_BYTE = 256
PICO = 1e-6
# The view of each product's status that can be part of a larger query, and the parts of counters.sql that read it.
_STATUS_VIEWS = {"mariadb": "information_schema.global_status", "mysql": "performance_schema.global_status"}
_STATUS_PARTS = {
    "mariadb": ("status", "changed_mariadb"),
    "mysql": ("status", "writes_mysql", "changed_mysql"),
}


class MysqlCounters:
    """Reads all sources that this server has and this user may see in one statement, so that all are of one moment."""

    def __init__(self, connection: Connection, names: MysqlNames) -> None:
        self._connection = connection
        self._names = names
        self._values = {"database": names.database, "tables": TABLES}
        with reported("the counters can't be read"):
            query(connection, read_statements(PACKAGE, "session")["clock"])
            self._values["folder"] = self._folder(names.database)
            self._product = self._answering()
            self._statement = self._compose()
        self._lasting = LastingSums()
        self._resets = 0
        self._rounds = 0
        self._last: Values = {}

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
        # In a Galera cluster userstat counts the changes of other nodes too.
        changes = "table_io" if is_on(self._connection, "wsrep_on") else rows
        files = ("file_io",) if self._holds("files_watched") else ()
        tables = [f"{rows}_visits", f"{changes}_changes", f"{rows}_sharing"]
        if rows == "table_io" and self._product:
            tables.append(f"table_io_changed_{self._product}")
        return (*tables, *files, "metrics_mariadb", "metrics_mysql")

    def _holds(self, question: str) -> bool:
        return bool(self._answers(read_statements(PACKAGE, "counters")[question]))

    def _answering(self) -> str:
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
        with reported("the counters can't be read"):
            rows = query(self._connection, self._statement, self._values)
            values = {f"{row['source']}.{row['name']}": float(row["value"]) for row in rows}
            if _COMMITS not in values:
                values[_COMMITS] = self._commits()
        server_ns = int(values.pop("clock.us")) * 1000
        self._count_on(values)
        # The server does not report a reset, but no counter ever decreases otherwise.
        before = {name: value for name, value in self._last.items() if not name.startswith(OF_OTHERS)}
        if any(values.get(name, 0.0) < value for name, value in before.items()):
            self._resets += 1
            self._lasting = LastingSums()
        self._last = values
        return CounterReading(server_ns, self._lasting.kept(values), f"reset {self._resets} times while watched")

    def _count_on(self, values: dict[str, float]) -> None:
        """Let the count of checkpoints go on where its byte begins again; readings lie closer than a round of it."""
        if (count := values.get(_CHECKPOINTS)) is None:
            return
        rounds, last = divmod(self._last.get(_CHECKPOINTS, 0.0), _BYTE)
        if count < _BYTE and rounds <= self._rounds:
            self._rounds += count < last
            values[_CHECKPOINTS] = count + self._rounds * _BYTE

    def _commits(self) -> float:
        return float(query(self._connection, read_statements(PACKAGE, "counters")["commits"])[0]["Value"])

    def difference(self, before: CounterReading, after: CounterReading) -> EngineDelta:
        if before.epoch != after.epoch:
            return EngineDelta(unknown={EVERY_FIGURE: "the server's statistics were reset during the run"})
        # A counter that was missing before was 0: statistics of a table begin with its first use.
        change = {name: value - before.values.get(name, 0.0) for name, value in after.values.items()}
        return self._delta(change)

    def _delta(self, change: Values) -> EngineDelta:
        return to_delta(change)

    def task_kinds(self) -> dict[int, str]:
        """Return threads as performance_schema names them; none when it is off, or this user may not read it."""
        try:
            rows = query(self._connection, statement("facts", "threads", roster=self._names.roster()), {})
        except pymysql.Error:
            return {}
        return {row["number"]: row["kind"] for row in rows}

    def backend_ids(self) -> list[int]:
        return [thread_id(self._connection)]

    def close(self) -> None:
        with suppress(pymysql.Error):
            self._connection.close()


def total(change: Values, prefix: str, suffix: str = "") -> float | None:
    """Return the sum of the counters whose names begin and end so; None when there are none."""
    values = [value for name, value in change.items() if name.startswith(prefix) and name.endswith(suffix)]
    return sum(values) if values else None


def _first(change: Values, *names: str) -> float | None:
    return next((change[name] for name in names if name in change), None)


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def to_delta(change: Values) -> EngineDelta:
    """Return differences of counters as `EngineDelta` of the test, what others did taken off as far as it is known."""
    return attributed(whole_delta(change), change)


def whole_delta(change: Values) -> EngineDelta:
    """Return differences of counters as `EngineDelta`, those of all sessions where the server counts them so.

    ``rows_updated_in_place``: a row leaves its page only when the page is split.
    """
    status = {name.removeprefix("status."): value for name, value in change.items() if name.startswith("status.")}
    updated = total(change, "changes.")
    splits = _first(change, "status.INNODB_BUFFER_POOL_PAGES_SPLIT", "metric.index_page_splits")
    reads, (writes, write_bytes) = status.get("INNODB_DATA_READS"), _writes(change, status)
    read_us = _times(change.get(f"{DATA_FILE}.read_ps"), PICO)
    delta = EngineDelta(
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
        commits=status.get("COM_COMMIT"),
        rows_read=total(change, "visits.", ".custid"),
        rows_updated=updated,
        rows_updated_in_place=updated if splits == 0 else None,
        checkpoints=change.get("metric.log_checkpoints"),
        # No session has a cache of its own.
        private_visits=0.0,
        by_object=_by_object(change, status),
        timed_waits=[TimedWait("IO:innodb_data_file", WaitClass.DATA_IO, reads, read_us)] if read_us and reads else (),
    )
    return _with_reasons(delta)


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
    reads, read_us = change.get("tables.reads"), _times(change.get("tables.read_ps"), PICO)
    tables = ObjectIo(None, reads, change.get("tables.read_bytes"), None, read_us)
    log = ObjectIo(None, None, None, status.get("INNODB_LOG_WRITES"), None)
    return {"table and index": tables, "log": log}


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


def _with_reasons(delta: EngineDelta) -> EngineDelta:
    missing = [name for name, value in delta.amounts().items() if value is None and name not in ONLY_SOME_HAVE]
    why = {name: _REASONS.get(name, "the server does not count it for this user") for name in missing}
    return replace(delta, unknown=why)
