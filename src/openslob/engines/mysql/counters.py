"""The server's cumulative counters: read raw over one connection, and differences put into the product's terms."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import pymysql

from openslob.engines.base import CounterReading
from openslob.engines.mysql.connection import PACKAGE, Connection, ask, thread_id
from openslob.engines.mysql.failures import reported
from openslob.engines.mysql.names import Names
from openslob.engines.sql import read_statements
from openslob.record.measurement import EngineDelta, ObjectIo

Values = Mapping[str, float]

_DATA_FILE = "file.wait/io/file/innodb/innodb_data_file"
_PICO = 1e-6
# Where each product keeps its status as a table that can be part of a larger query.
_STATUS_VIEWS = ("information_schema.global_status", "performance_schema.global_status")


class MysqlCounters:
    """Reads all sources that this server has and this user may see in one statement, so that they are of one moment."""

    def __init__(self, connection: Connection, names: Names) -> None:
        self._connection = connection
        self._values = {"database": names.database}
        with reported("the counters can't be read"):
            ask(connection, read_statements(PACKAGE, "session")["clock"])
            self._statement = self._compose()
        self._resets = 0
        self._highest: Values = {}

    def _compose(self) -> str:
        parts = read_statements(PACKAGE, "counters")
        status = next(
            (parts["status"].format(status=view) for view in _STATUS_VIEWS if self._answers(f"SELECT 1 FROM {view}")),
            None,
        )
        rows = "userstat" if self._is_on("userstat") else "table_io"
        # In a Galera cluster userstat counts what other nodes changed, too.
        changes = "table_io" if self._is_on("wsrep_on") else rows
        names = (f"{rows}_visits", f"{changes}_changes", "file_io", "metrics_mariadb", "metrics_mysql")
        candidates = [parts[name] for name in names]
        found = [parts["clock"], status, *(part for part in candidates if self._answers(part))]
        return "\nUNION ALL\n".join(part for part in found if part)

    def _is_on(self, variable: str) -> bool:
        try:
            return bool(ask(self._connection, f"SELECT @@{variable} AS its_on")[0]["its_on"])
        except pymysql.Error:  # MySQL has neither
            return False

    def _answers(self, query: str) -> bool:
        try:
            ask(self._connection, f"SELECT * FROM ({query} LIMIT 1) AS tried", self._values)
        except pymysql.Error:
            return False
        return True

    def read(self) -> CounterReading:
        """All counters now; SlobError when the server is gone."""
        with reported("the counters can't be read"):
            rows = ask(self._connection, self._statement, self._values)
        values = {f"{row['source']}.{row['name']}": float(row["value"]) for row in rows}
        server_ns = int(values.pop("clock.us")) * 1000
        # Nothing tells of a reset, but all of them only ever rise.
        if any(values.get(name, 0.0) < value for name, value in self._highest.items()):
            self._resets += 1
        self._highest = values
        return CounterReading(server_ns, values, f"reset {self._resets} times while watched")

    def difference(self, before: CounterReading, after: CounterReading) -> EngineDelta:
        """The interval in the product's terms."""
        if before.epoch != after.epoch:
            return EngineDelta(unknown={"*": "the server's statistics were reset during the run"})
        # What was not there before had not counted yet: statistics of a table begin with its first use.
        change = {name: value - before.values.get(name, 0.0) for name, value in after.values.items()}
        return to_delta(change)

    def task_kinds(self) -> dict[int, str]:
        """Threads as performance_schema names them; none when it is off, or this user may not read it."""
        try:
            rows = ask(self._connection, read_statements(PACKAGE, "facts")["threads"])
        except pymysql.Error:
            return {}
        return {row["number"]: row["kind"] for row in rows}

    def backend_ids(self) -> list[int]:
        """The server's number of the sampler's connection."""
        return [thread_id(self._connection)]

    def close(self) -> None:
        """Close the connection."""
        with suppress(pymysql.Error):
            self._connection.close()


def _sum(change: Values, prefix: str, suffix: str = "") -> float | None:
    found = [value for name, value in change.items() if name.startswith(prefix) and name.endswith(suffix)]
    return sum(found) if found else None


def _first(change: Values, *names: str) -> float | None:
    return next((change[name] for name in names if name in change), None)


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def to_delta(change: Values) -> EngineDelta:
    """Differences of counters in the product's terms.

    ``INNODB_DATA_WRITES`` counts pages, each alone, and the double writes, which are many pages at once; the log is
    not in it on MariaDB. ``rows_updated_in_place``: a row leaves its page only when the page is split.
    """
    status = {name.removeprefix("status."): value for name, value in change.items() if name.startswith("status.")}
    updated = _sum(change, "changes.")
    splits = _first(change, "status.INNODB_BUFFER_POOL_PAGES_SPLIT", "metric.index_page_splits")
    reads = status.get("INNODB_DATA_READS")
    read_us = _times(change.get(f"{_DATA_FILE}.read_ps"), _PICO)
    delta = EngineDelta(
        logical_reads=status.get("INNODB_BUFFER_POOL_READ_REQUESTS"),
        read_requests=reads,
        read_bytes=status.get("INNODB_DATA_READ"),
        read_time_us=read_us,
        write_requests=status.get("INNODB_DATA_WRITES"),
        write_bytes=status.get("INNODB_DATA_WRITTEN"),
        log_bytes=status.get("INNODB_OS_LOG_WRITTEN"),
        log_syncs=_first(status, "INNODB_OS_LOG_FSYNCS", "INNODB_DATA_FSYNCS"),
        log_write_requests=status.get("INNODB_LOG_WRITES"),
        commits=status.get("COM_COMMIT"),
        rows_read=_sum(change, "visits.", ".custid"),
        rows_updated=updated,
        rows_updated_in_place=updated if splits == 0 else None,
        checkpoints=change.get("metric.log_checkpoints"),
        # No session has a cache of its own.
        private_visits=0.0,
        by_object=_by_object(change, status),
        wait_means_us={} if not (read_us and reads) else {"IO:innodb_data_file": read_us / reads},
    )
    return _with_reasons(delta)


def _by_object(change: Values, status: Values) -> dict[str, ObjectIo]:
    reads, read_us = change.get("tables.reads"), _times(change.get("tables.read_ps"), _PICO)
    tables = ObjectIo(None, reads, change.get("tables.read_bytes"), None, read_us)
    log = ObjectIo(None, None, None, status.get("INNODB_LOG_WRITES"), None)
    return {"table and index": tables, "log": log}


_NO_STATISTICS = "the server counts no rows by table: set userstat = ON (MySQL: performance_schema)"
_NO_CHANGES = "the server does not count a session's own changes: set userstat = ON (Galera, MySQL: performance_schema)"
_NO_PAGE_IMAGES = "the log holds changes only: torn pages are mended from the double-write buffer"
_REASONS = {
    "read_time_us": "the server times file reads with performance_schema = ON only, for users who may read it",
    "log_sync_time_us": "the server does not time syncs of its log",
    "full_page_images": _NO_PAGE_IMAGES,
    "full_page_image_bytes": _NO_PAGE_IMAGES,
    "shared_visits": "the server counts visits of the cache for all tables and indexes together",
    "rows_read": _NO_STATISTICS,
    "rows_updated": _NO_CHANGES,
    "rows_updated_in_place": "blocks were split meanwhile, or the server does not count splits",
    "checkpoints": "the server does not count them for this user (innodb_metrics, log_checkpoints)",
    "maintenance": "cleaning up old row versions and writing pages go on all the time; there is no count",
}


def _with_reasons(delta: EngineDelta) -> EngineDelta:
    missing = [name for name, value in delta.amounts().items() if value is None]
    why = {name: _REASONS.get(name, "the server does not count it for this user") for name in missing}
    return replace(delta, unknown=why)
