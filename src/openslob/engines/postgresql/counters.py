"""The server's cumulative counters: read raw over one connection, and differences put into the product's terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg

from openslob.engines.base import CounterReading
from openslob.engines.postgresql.failures import reported
from openslob.engines.sql import read_statements
from openslob.record.measurement import EngineDelta, ObjectIo

PACKAGE = "openslob.engines.postgresql"
Values = Mapping[str, float]

# Sources without a view of their own name: always readable.
_ALWAYS = ("pg_stat_all_tables", "pg_stat_all_indexes", "private_tables", "private_indexes", "clock")
_PRIVATE = {"private table": "private_tables.heap_blks", "private index": "private_indexes.idx_blks"}
_MS = 1000.0
_LOG_BEFORE_18 = {"writes": "wal.wal_write", "fsyncs": "wal.wal_sync", "fsync_time": "wal.wal_sync_time"}


class PostgresCounters:
    """Reads all sources that this server has in one statement, so that they are of one moment."""

    def __init__(self, connection: psycopg.Connection[Any], schema: str, block_size: int) -> None:
        self._connection = connection
        self._parameters = {"schema": schema}
        self._block_size = block_size
        self._statement = self._compose()

    def _compose(self) -> bytes:
        statements = read_statements(PACKAGE, "counters")
        with reported("the counters can't be read"):
            present = [
                name
                for name in statements
                if name in _ALWAYS
                or self._connection.execute("SELECT to_regclass('pg_catalog.' || %s)", (name,)).fetchone() != (None,)
            ]
        return "\nUNION ALL\n".join(statements[name] for name in present).encode()

    def read(self) -> CounterReading:
        """All counters now; SlobError when the server is gone."""
        with reported("the counters can't be read"):
            rows = self._connection.execute(self._statement, self._parameters).fetchall()
        values: dict[str, float] = {}
        resets: set[str] = set()
        server_ns = 0
        for source, key, counters in rows:
            if source == "clock":
                server_ns = counters["us"] * 1000
                continue
            prefix = f"{source}.{key}." if key else f"{source}."
            for name, value in counters.items():
                if name == "stats_reset":
                    resets.add(f"{source}={value}")
                elif isinstance(value, (int, float)) and not isinstance(value, bool):
                    values[prefix + name] = value
        return CounterReading(server_ns, values, " ".join(sorted(resets)))

    def difference(self, before: CounterReading, after: CounterReading) -> EngineDelta:
        """The interval in the product's terms."""
        if before.epoch != after.epoch:
            return EngineDelta(unknown={"*": "the server's statistics were reset during the run"})
        return to_delta(_subtract(before.values, after.values), self._block_size)

    def backend_id(self) -> int:
        """Process id of the sampler's backend."""
        return self._connection.info.backend_pid

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _subtract(before: Values, after: Values) -> dict[str, float]:
    # A counter that was not there before had not counted yet: statistics entries appear at their first event.
    return {name: value - before.get(name, 0.0) for name, value in after.items()}


@dataclass(frozen=True)
class _Io:
    """pg_stat_io summed over its rows, by column: requests and times for data, and those for the log apart.

    Before 18 the log is in pg_stat_wal instead, and bytes are not counted: every request was one block.
    """

    data: Values
    log: Values

    @classmethod
    def of(cls, change: Values) -> _Io:
        """Sums of the ``io.<backend type>/<object>/<context>.<column>`` values."""
        sums: tuple[dict[str, float], dict[str, float]] = ({}, {})
        for name, value in change.items():
            if name.startswith("io."):
                row, _, column = name.rpartition(".")
                kind = sums["/wal/" in row]
                kind[column] = kind.get(column, 0.0) + value
        data, log = sums
        return cls(data, log or {new: change[old] for new, old in _LOG_BEFORE_18.items() if old in change})

    def bytes_of(self, requests: str, column: str, block_size: int) -> float | None:
        """Bytes of data requests."""
        counted = self.data.get(column)
        return counted if counted is not None else _times(self.data.get(requests), block_size)


def _added(*parts: float | None) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _mean(total: float | None, count: float | None) -> float | None:
    return total / count if total and count else None


def to_delta(change: Values, block_size: int) -> EngineDelta:
    """Raw changes of an interval as `EngineDelta`; what this version does not count is None with a reason."""
    get, io = change.get, _Io.of(change)
    reads, hits = io.data.get("reads"), io.data.get("hits")
    read_bytes = io.bytes_of("reads", "read_bytes", block_size)
    read_us = _times(io.data.get("read_time"), _MS)
    syncs, sync_us = io.log.get("fsyncs"), _times(io.log.get("fsync_time"), _MS)
    delta = EngineDelta(
        logical_reads=None if hits is None or read_bytes is None else hits + read_bytes / block_size,
        read_requests=reads,
        read_bytes=read_bytes,
        read_time_us=read_us,
        write_requests=_added(io.data.get("writes"), io.data.get("extends")),
        write_bytes=_added(
            io.bytes_of("writes", "write_bytes", block_size), io.bytes_of("extends", "extend_bytes", block_size)
        ),
        log_bytes=get("wal.wal_bytes"),
        log_syncs=syncs,
        log_sync_time_us=sync_us,
        log_write_requests=io.log.get("writes"),
        full_page_images=get("wal.wal_fpi"),
        commits=get("database.xact_commit"),
        rows_read=_added(get("indexes.idx_tup_fetch"), get("private_indexes.idx_tup_fetch")),
        rows_updated=_added(get("tables.n_tup_upd"), get("private_tables.n_tup_upd")),
        rows_updated_in_place=_added(get("tables.n_tup_hot_upd"), get("private_tables.n_tup_hot_upd")),
        checkpoints=_added(
            *(get(f"checkpointer.{name}") for name in ("num_timed", "num_requested")),
            *(get(f"bgwriter.{name}") for name in ("checkpoints_timed", "checkpoints_req")),
        ),
        maintenance=get("tables.maintenance"),
        shared_visits=get("tables.heap_blks_fetched"),
        # Where no session has tables of its own, none of them was visited.
        private_visits=change.get("private_tables.heap_blks_fetched", 0.0),
        by_object=_by_object(change, io.log, block_size),
        wait_means_us=_wait_means(reads, read_us, syncs, sync_us),
    )
    return _with_reasons(delta)


def _by_object(change: Values, log_io: Values, block_size: int) -> dict[str, ObjectIo]:
    def blocks(prefix: str) -> ObjectIo:
        hits, fetched = change.get(f"{prefix}_hit"), change.get(f"{prefix}_fetched")
        missed = None if hits is None or fetched is None else fetched - hits
        # Through an index every miss is one request of one block.
        return ObjectIo(hits, missed, _times(missed, block_size), None, None)

    own = {name: blocks(prefix) for name, prefix in _PRIVATE.items() if f"{prefix}_fetched" in change}
    log = ObjectIo(None, log_io.get("reads"), log_io.get("read_bytes"), log_io.get("writes"), None)
    return {"table": blocks("tables.heap_blks"), "index": blocks("indexes.idx_blks"), **own, "log": log}


def _wait_means(
    reads: float | None, read_us: float | None, syncs: float | None, sync_us: float | None
) -> dict[str, float]:
    means = {"IO:DataFileRead": _mean(read_us, reads), "IO:WalSync": _mean(sync_us, syncs)}
    means["IO:WALSync"] = means["IO:WalSync"]  # as it was spelt before 17
    return {event: mean for event, mean in means.items() if mean is not None}


_REASONS = {
    "logical_reads": "the server has no pg_stat_io (PostgreSQL 16 or later)",
    "read_requests": "the server has no pg_stat_io (PostgreSQL 16 or later)",
    "write_requests": "the server has no pg_stat_io (PostgreSQL 16 or later)",
    "read_time_us": "track_io_timing is off",
    "log_bytes": "the server has no pg_stat_wal (PostgreSQL 14 or later)",
    "log_syncs": "the server does not count them in pg_stat_io or pg_stat_wal",
}


def _with_reasons(delta: EngineDelta) -> EngineDelta:
    missing = {name: why for name, why in _REASONS.items() if not _is_known(delta, name)}
    return EngineDelta(**{**vars(delta), "unknown": missing})


def _is_known(delta: EngineDelta, name: str) -> bool:
    value = getattr(delta, name)
    # With track_io_timing off the server reports a time of 0 for reads that did happen.
    return bool(value) if name == "read_time_us" and delta.read_requests else value is not None
