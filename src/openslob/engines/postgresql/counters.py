"""The server's cumulative counters, read over one connection, and their differences as `EngineDelta`.

Counters of each version, and the delay until a reader sees them:

- 15 and later count in shared memory: a slice that has returned is counted. Before, a process reports to a collector
  when it is idle, every half second at most, and readers see statistics that are half a second old. Over a long window
  that is little; figures that must be exact are unknown.
- 16 and later count I/O by kind of process (pg_stat_io). Before, there are reads of our database only, and writes come
  too late to be of use.
- 17 reads several blocks by one request in sequential scans, and counts the blocks. 18 counts requests and bytes.
- 14 and later count the log in pg_stat_wal; 18 has its requests and times in pg_stat_io.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import psycopg

from openslob.engines.base import CounterReading
from openslob.engines.postgresql.connection import backend_pid
from openslob.engines.postgresql.errors import reported
from openslob.engines.postgresql.libpq_statement import PlainStatement
from openslob.engines.sql import read_statements
from openslob.measurement import EVERY_FIGURE, EngineDelta, ObjectIo, TimedWait, WaitClass
from openslob.units import NANOS

PACKAGE = "openslob.engines.postgresql"
Values = Mapping[str, float]

# Sources without a view of their own name: always readable.
_ALWAYS = ("pg_stat_all_tables", "pg_stat_all_indexes", "private_tables", "private_indexes", "clock")
_PRIVATE = {"private table": "private_tables.heap_blks", "private index": "private_indexes.idx_blks"}
_TOGETHER = "together"
_RESET = "stats_reset"
_NUMBERS = (int, float)  # but not bool, a subclass of int
_BEFORE_PROMPT = ("log_position",)
_PROMPT_SINCE = 150000
# Before that version: half a second until a process reports, and half a second until readers see it.
LATENESS_S = 1.0
# Rates are unknown over a window of which a larger share may be missing (METHOD 5 allows this share).
LATENESS_SHARE = 0.01
_MS = 1000.0
_DATA_BEFORE_16 = {"reads": "database.blks_read", "hits": "database.blks_hit", "read_time": "database.blk_read_time"}
_LOG_BEFORE_18 = {"writes": "wal.wal_write", "fsyncs": "wal.wal_sync", "fsync_time": "wal.wal_sync_time"}


class PostgresCounters:
    """Reads all sources that this server has in one statement, so that all are of one moment."""

    def __init__(self, connection: psycopg.Connection[Any], schema: str, block_size: int) -> None:
        self._connection = connection
        self._schema = schema.encode()
        self._block_size = block_size
        self._prompt = connection.info.server_version >= _PROMPT_SINCE
        self._timing = connection.execute("SELECT current_setting('track_io_timing') = 'on'").fetchone() == (True,)

    @cached_property
    def _statement(self) -> PlainStatement:
        statements = read_statements(PACKAGE, "counters")
        always = _ALWAYS if self._prompt else (*_BEFORE_PROMPT, *_ALWAYS)
        present = [name for name in statements if name in always or (name != _TOGETHER and self._has_view(name))]
        sources = "\nUNION ALL\n".join(statements[name] for name in present)
        return PlainStatement(self._connection, statements[_TOGETHER].format(sources=sources).encode(), b"counters")

    def _has_view(self, name: str) -> bool:
        return self._connection.execute("SELECT to_regclass('pg_catalog.' || %s)", (name,)).fetchone() != (None,)

    def read(self) -> CounterReading:
        """Return all counters now; SlobError when the server is gone."""
        with reported("the counters can't be read"):
            ((text,),) = self._statement.rows(self._schema)
        sources: dict[str, dict[str, Any]] = json.loads(text)
        server_ns = sources.pop("clock")["us"] * 1000
        # By view, not by row: a row appears when it first counts.
        resets = {
            f"{source.partition('.')[0]}={counters[_RESET]}"
            for source, counters in sources.items()
            if _RESET in counters
        }
        values = {
            f"{source}.{name}": value
            for source, counters in sources.items()
            for name, value in counters.items()
            if type(value) in _NUMBERS
        }
        return CounterReading(server_ns, values, " ".join(sorted(resets)))

    def difference(self, before: CounterReading, after: CounterReading) -> EngineDelta:
        """Return what happened between two readings."""
        if before.epoch != after.epoch:
            return EngineDelta(unknown={EVERY_FIGURE: "the server's statistics were reset during the run"})
        delta = to_delta(_subtract(before.values, after.values), self._block_size, self._timing)
        return delta if self._prompt else _without_late(delta, (after.server_ns - before.server_ns) / NANOS)

    def task_kinds(self) -> dict[int, str]:
        """Return the ``backend_type`` of each process that this role may see, with our own samplers apart."""
        with reported("the server's processes can't be listed"):
            rows = self._connection.execute(read_statements(PACKAGE, "facts")["processes"]).fetchall()
        return dict(rows)

    def backend_ids(self) -> list[int]:
        """Return the process id of the sampler's backend."""
        return [backend_pid(self._connection)]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _subtract(before: Values, after: Values) -> dict[str, float]:
    # A counter that was missing before was 0: entries of the statistics appear at their first event.
    return {name: value - before.get(name, 0.0) for name, value in after.items()}


@dataclass(frozen=True)
class _Io:
    """pg_stat_io summed over its rows, by column: requests and times of data, and apart those of the log.

    Before 18 the log is in pg_stat_wal instead, and bytes are not counted: every request is one block. Before 16
    ``data`` are the reads of our database from pg_stat_database.
    """

    data: Values
    log: Values

    @classmethod
    def of(cls, change: Values) -> _Io:
        """Return the sums of the ``io.<backend type>/<object>/<context>.<column>`` values."""
        sums: tuple[dict[str, float], dict[str, float]] = ({}, {})
        for name, value in change.items():
            found = _io_column(name)
            if found:
                is_log, column = found
                kind = sums[is_log]
                kind[column] = kind.get(column, 0.0) + value
        data, log = sums
        return cls(data or _renamed(change, _DATA_BEFORE_16), log or _renamed(change, _LOG_BEFORE_18))

    def bytes_of(self, requests: str, column: str, block_size: int) -> float | None:
        """Return the bytes of data requests."""
        counted = self.data.get(column)
        return counted if counted is not None else _times(self.data.get(requests), block_size)


@cache
def _io_column(name: str) -> tuple[bool, str] | None:
    """Return whether a value of pg_stat_io is of the log, and its column; None for a value of another view."""
    row, _, column = name.rpartition(".")
    return ("/wal/" in row, column) if row.startswith("io.") else None


def _renamed(change: Values, names: Mapping[str, str]) -> Values:
    return {new: change[old] for new, old in names.items() if old in change}


def _added(*parts: float | None) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def to_delta(change: Values, block_size: int, timing: bool = True) -> EngineDelta:
    """Return the changes of an interval as `EngineDelta`; what this version does not count is None with a reason.

    ``timing``: the server times its I/O; without that it shows times of 0.
    """
    get, io = change.get, _Io.of(change)
    hits, read_bytes = io.data.get("hits"), io.bytes_of("reads", "read_bytes", block_size)
    combined = _reads_combined(change)
    reads = None if combined else io.data.get("reads")
    read_us = _times(io.data.get("read_time"), _MS) if timing else None
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
        log_bytes=get("log.position", get("wal.wal_bytes")),
        log_syncs=syncs,
        log_sync_time_us=sync_us,
        log_write_requests=io.log.get("writes"),
        full_page_images=get("wal.wal_fpi"),
        full_page_image_bytes=get("wal.wal_fpi_bytes"),
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
        timed_waits=_timed_waits(reads, read_us, syncs, sync_us),
    )
    found = _with_reasons(delta)
    return replace(found, unknown={**found.unknown, "read_requests": _COMBINED}) if combined else found


def _reads_combined(change: Values) -> bool:
    """Return whether the count of reads has blocks in it, not requests: version 17 counts scans so."""
    bytes_counted = any(name.startswith("io.") and name.endswith(".read_bytes") for name in change)
    since_17 = any(name.startswith("checkpointer.") for name in change)
    scans = change.get("tables.seq_scan", 0.0) + change.get("private_tables.seq_scan", 0.0)
    return since_17 and not bytes_counted and scans > 0


def _by_object(change: Values, log_io: Values, block_size: int) -> dict[str, ObjectIo]:
    def blocks(prefix: str) -> ObjectIo:
        hits, fetched = change.get(f"{prefix}_hit"), change.get(f"{prefix}_fetched")
        missed = None if hits is None or fetched is None else fetched - hits
        # Through an index every miss is a request of one block.
        return ObjectIo(hits, missed, _times(missed, block_size), None, None)

    own = {name: blocks(prefix) for name, prefix in _PRIVATE.items() if f"{prefix}_fetched" in change}
    log = ObjectIo(None, log_io.get("reads"), log_io.get("read_bytes"), log_io.get("writes"), None)
    return {"table": blocks("tables.heap_blks"), "index": blocks("indexes.idx_blks"), **own, "log": log}


def _timed_waits(
    reads: float | None, read_us: float | None, syncs: float | None, sync_us: float | None
) -> list[TimedWait]:
    waits = []
    if reads and read_us:
        waits.append(TimedWait("IO:DataFileRead", WaitClass.DATA_IO, reads, read_us))
    if syncs and sync_us:
        # Spelt WALSync before 17.
        waits += [TimedWait(event, WaitClass.LOG, syncs, sync_us) for event in ("IO:WalSync", "IO:WALSync")]
    return waits


_COMBINED = "PostgreSQL 17 counts the blocks that scans read, not their requests, each of several blocks"
_NO_LOG_COUNTERS = "the server has no pg_stat_wal (PostgreSQL 14 or later)"
_REASONS = {
    "logical_reads": "the server does not show its block counts",
    "read_requests": "the server does not show its block counts",
    "read_bytes": "the server does not show its block counts",
    "read_time_us": "track_io_timing is off",
    "write_requests": "the server has no pg_stat_io (PostgreSQL 16 or later)",
    "write_bytes": "the server has no pg_stat_io (PostgreSQL 16 or later)",
    "log_bytes": "the server is a standby: it writes no log of its own",
    # Their number times the block size would be a guess: holes are left out of them, and wal_compression shrinks them.
    "full_page_image_bytes": "the server counts full-page images, not their bytes (PostgreSQL 19 or later)",
    "log_syncs": "the server does not count them in pg_stat_io or pg_stat_wal",
    "log_sync_time_us": "the server does not time them in pg_stat_io or pg_stat_wal",
    "log_write_requests": "the server does not count them in pg_stat_io or pg_stat_wal",
    "full_page_images": _NO_LOG_COUNTERS,
    "db_cpu_us": "the server does not count its CPU time",
    "db_time_us": "not read from the server: the work loop measures the time that sessions spend inside operations",
}
# Exact at any moment; everything else passes through the collector before 15.
_NEVER_LATE = ("log_bytes",)
# These are compared with the work loop's own counts, to the row.
_EXACT_OR_NOTHING = ("rows_read", "rows_updated", "rows_updated_in_place")
_LATE = "before PostgreSQL 15 the server shows its counts up to a second late"


def _with_reasons(delta: EngineDelta) -> EngineDelta:
    missing = {name: why for name, why in _REASONS.items() if getattr(delta, name) is None}
    return replace(delta, unknown=missing)


def _without_late(delta: EngineDelta, seconds: float) -> EngineDelta:
    """Remove figures that must be exact, and of a short window all figures that come late."""
    short = seconds * LATENESS_SHARE < LATENESS_S
    least = f"{LATENESS_S / LATENESS_SHARE:.0f} s"
    late = {
        name: f"{_LATE}: too much of a window shorter than {least}" if short else _LATE
        for name, value in delta.amounts().items()
        if value is not None and (name in _EXACT_OR_NOTHING or (short and name not in _NEVER_LATE))
    }
    gone: dict[str, Any] = dict.fromkeys(late)
    return replace(
        delta,
        **gone,
        by_object={} if late.keys() & {"read_requests"} else delta.by_object,
        timed_waits=() if late.keys() & {"read_requests"} else delta.timed_waits,
        unknown={**delta.unknown, **late},
    )
