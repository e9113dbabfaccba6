"""The server's counters of an interval as `EngineDelta`, by what each version counts and for whom.

What the test's sessions did, and nobody else:

- 18 and later count I/O and log by session. Only the work loop's sessions are taken, neither samplers nor the lock.
- Before, the statistics of the test's own tables and indexes have their rows, and the blocks that were requested and
  found in the cache: only the test's sessions use these tables. Every miss is a read of one block.

The time of reads is then that of the whole database. Writes, syncs of the log and (before 18) the log's bytes are the
whole server's: its background processes write and sync for all sessions, so no count could be the test's alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from openslob.core.measurement import EngineDelta, ObjectIo, TimedWait, WaitClass, scale

Values = Mapping[str, float]

_PRIVATE = {"private table": "private_tables.heap_blks", "private index": "private_indexes.idx_blks"}
_BLOCKS = ("tables.heap_blks", "indexes.idx_blks", *_PRIVATE.values())
MS = 1000.0
_READ_TIME = "database.blk_read_time"
# Columns of pg_stat_io, and what counts them before.
DATA_BEFORE_16 = {"reads": "database.blks_read", "hits": "database.blks_hit", "read_time": _READ_TIME}
LOG_BEFORE_18 = {
    "writes": "wal.wal_write",
    "write_time": "wal.wal_write_time",
    "fsyncs": "wal.wal_sync",
    "fsync_time": "wal.wal_sync_time",
}
_PAGE_IMAGES = {"full_page_images": "wal_fpi", "full_page_image_bytes": "wal_fpi_bytes"}
# What 18 counts by session: I/O of the work loop's sessions and of our other ones, and the number of the former.
_RUN, _OWN, SESSIONS = "session_io.run", "session_io.own", "session_wal.sessions"
_BY_SESSION = "session_"
_CLIENTS = "io.client backend/"
_READ_EVENT = "IO:DataFileRead"
# Spelt WALSync before 17.
_LOG_EVENTS = ("IO:WalSync", "IO:WALSync")
_NEARLY_ALL = 0.98
_READ_FIELDS = ("logical_reads", "read_requests", "read_bytes")
_SERVER_WIDE = (
    "write_requests",
    "write_bytes",
    "log_syncs",
    "log_sync_time_us",
    "log_write_requests",
    "log",
)


@dataclass(frozen=True)
class _Io:
    """pg_stat_io summed over its rows, by column: requests and times of data, and apart those of the log.

    Before 18 the log is in pg_stat_wal instead, and bytes are not counted: every request is one block. Before 16
    ``data`` are the reads of our database from pg_stat_database.
    """

    data: Values
    log: Values

    @classmethod
    def add_up(cls, change: Values, clients_only: bool = False) -> _Io:
        """Return the sums of the ``io.<backend type>/<object>/<context>.<column>`` values, of all or of clients."""
        sums: tuple[dict[str, float], dict[str, float]] = ({}, {})
        for name, value in change.items():
            found = _io_column(name)
            if found and (found[0] or not clients_only):
                _, is_log, column = found
                kind = sums[is_log]
                kind[column] = kind.get(column, 0.0) + value
        return cls(*sums)

    @classmethod
    def of_server(cls, change: Values) -> _Io:
        """Return the sums over all processes, from the views that the version has."""
        found = cls.add_up(change)
        return cls(found.data or _rename(change, DATA_BEFORE_16), found.log or _rename(change, LOG_BEFORE_18))

    def bytes_of(self, requests: str, column: str, block_size: int) -> float | None:
        counted = self.data.get(column)
        return counted if counted is not None else scale(self.data.get(requests), block_size)


@dataclass(frozen=True)
class _Reads:
    """Blocks that were found in the cache, and read requests of the others; None if not counted, times in ms.

    ``whole``: they are those of all sessions.
    """

    hits: float | None
    requests: float | None
    bytes: float | None
    time_ms: float | None = None
    whole: bool = False

    @classmethod
    def of_sessions(cls, change: Values, whose: str) -> _Reads:
        """Return what version 18 counts for these of our sessions."""
        hits, requests, size, time_ms = (
            change.get(f"{whose}/data.{name}", 0.0) for name in ("hits", "reads", "read_bytes", "read_time")
        )
        return cls(hits, requests, size, time_ms)

    @classmethod
    def of_all(cls, io: _Io, block_size: int) -> _Reads:
        """Return what is in the sums of I/O."""
        get = io.data.get
        return cls(get("hits"), get("reads"), io.bytes_of("reads", "read_bytes", block_size), get("read_time"), True)

    @classmethod
    def of_test(cls, change: Values, io: _Io, block_size: int) -> _Reads:
        """Return the reads of the test's sessions or tables; those of all sessions if neither is counted."""
        if SESSIONS in change:
            return cls.of_sessions(change, _RUN)
        requested, hits = (_add(*(change.get(f"{of}_{name}") for of in _BLOCKS)) for name in ("fetched", "hit"))
        if requested is None or hits is None:
            return cls.of_all(io, block_size)
        return cls(hits, requested - hits, (requested - hits) * block_size)

    def logical(self, block_size: int) -> float | None:
        """Return the blocks that were requested."""
        return None if self.hits is None or self.bytes is None else self.hits + self.bytes / block_size


@cache
def _io_column(name: str) -> tuple[bool, bool, str] | None:
    """Return whether a value of pg_stat_io is of clients, and of the log, and its column; None for other views."""
    row, _, column = name.rpartition(".")
    return (row.startswith(_CLIENTS), "/wal/" in row, column) if row.startswith("io.") else None


def _rename(change: Values, names: Mapping[str, str]) -> Values:
    return {new: change[old] for new, old in names.items() if old in change}


def _add(*parts: float | None) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def remove_sessions(change: Values) -> Values:
    """Return the changes without those that are counted by session."""
    return {name: value for name, value in change.items() if not name.startswith(_BY_SESSION)}


def to_delta(change: Values, block_size: int, timing: bool = True, log_timing: bool = True) -> EngineDelta:
    """Return the changes of an interval as `EngineDelta`; what this version does not count is None with a reason.

    ``timing``, ``log_timing``: the server times its I/O, and that of its log; without that it shows times of 0.
    """
    if change.get(SESSIONS, 0.0) != 0:
        # The counters of a session that ended are gone; those of one that came begin before the interval.
        change = remove_sessions(change)
    get, io = change.get, _Io.of_server(change)
    reads = _Reads.of_test(change, io, block_size)
    combined = _reads_combined(change)
    requests = None if combined else reads.requests
    read_us = scale(reads.time_ms if reads.time_ms is not None else get(_READ_TIME), MS) if timing else None
    log_bytes, images, image_bytes = _log_amounts(change)
    syncs, sync_us = io.log.get("fsyncs"), scale(io.log.get("fsync_time"), MS) if log_timing else None
    delta = EngineDelta(
        logical_reads=reads.logical(block_size),
        read_requests=requests,
        read_bytes=reads.bytes,
        read_time_us=read_us,
        write_requests=_add(io.data.get("writes"), io.data.get("extends")),
        write_bytes=_add(
            io.bytes_of("writes", "write_bytes", block_size), io.bytes_of("extends", "extend_bytes", block_size)
        ),
        log_bytes=log_bytes,
        full_page_images=images,
        full_page_image_bytes=image_bytes,
        log_syncs=syncs,
        log_sync_time_us=sync_us,
        log_write_requests=io.log.get("writes"),
        commits=get("database.xact_commit"),
        rows_read=_add(get("indexes.idx_tup_fetch"), get("private_indexes.idx_tup_fetch")),
        rows_updated=_add(get("tables.n_tup_upd"), get("private_tables.n_tup_upd")),
        rows_updated_in_place=_add(get("tables.n_tup_hot_upd"), get("private_tables.n_tup_hot_upd")),
        checkpoints=_add(
            *(get(f"checkpointer.{name}") for name in ("num_timed", "num_requested")),
            *(get(f"bgwriter.{name}") for name in ("checkpoints_timed", "checkpoints_req")),
        ),
        maintenance=get("tables.maintenance"),
        shared_visits=get("tables.heap_blks_fetched"),
        private_visits=_private_visits(change),
        rows_inserted_or_deleted=get("churn.rows"),
        table_bytes=get("churn.table_bytes"),
        index_bytes=get("churn.index_bytes"),
        dead_rows=get("churn.dead_rows"),
        vacuums=get("churn.vacuums"),
        by_object=_by_object(change, io.log, block_size),
        timed_waits=_timed_waits(requests, read_us, syncs, sync_us),
        server_wide=_server_wide(change, reads),
        others=_others(change, reads, block_size),
    )
    found = _with_reasons(delta)
    reasons = {"read_requests": _COMBINED} if combined else {}
    reasons |= {} if "churn.rows" not in change else {"purge_lag": _DEAD_ROWS}
    if syncs is not None and not log_timing:
        reasons["log_sync_time_us"] = "track_wal_io_timing is off"
    return replace(found, unknown={**found.unknown, **reasons})


def _private_visits(change: Values) -> float | None:
    """Return the visits of sessions' own tables; 0 where no session has any, None where no table's are counted."""
    return change.get("private_tables.heap_blks_fetched", 0.0 if "tables.heap_blks_fetched" in change else None)


def _log_amounts(change: Values) -> list[float | None]:
    """Return the log's bytes, full-page images and their bytes: the test's own, or all before version 18."""
    if SESSIONS in change:
        return [change.get(f"session_wal.{name}") for name in ("wal_bytes", *_PAGE_IMAGES.values())]
    total = change.get("log.position", change.get("wal.wal_bytes"))
    return [total, *(change.get(f"wal.{name}") for name in _PAGE_IMAGES.values())]


def _server_wide(change: Values, reads: _Reads) -> frozenset[str]:
    found = {*_SERVER_WIDE, *_LOG_EVENTS}
    if SESSIONS not in change:
        found |= {"log_bytes", *_PAGE_IMAGES}
        every = change.get("database.blks_read")
        # The time is that of all reads of the database.
        if every is None or (reads.requests or 0.0) < every * _NEARLY_ALL:
            found |= {"read_time_us", _READ_EVENT}
    return frozenset(found | (set(_READ_FIELDS) if reads.whole else set()))


def _others(change: Values, reads: _Reads, block_size: int) -> dict[str, float]:
    """Return what other sessions did, as far as the version counts it.

    Before 16 blocks are counted for autovacuum, too: there the rows that other databases returned show their work.
    """
    found = {"commits": change.get("databases.xact_commit")}
    clients = _Io.add_up(change, clients_only=True)
    if reads.whole or not clients.data:
        found["rows_read"] = change.get("databases.tup_returned")
    else:
        every, ours = _Reads.of_all(clients, block_size), (reads, _Reads.of_sessions(change, _OWN))
        found["logical_reads"] = _less(every.logical(block_size), *(part.logical(block_size) for part in ours))
        found["read_requests"] = _less(every.requests, *(part.requests for part in ours))
    return {name: max(0.0, value) for name, value in found.items() if value is not None}


def _less(total: float | None, *parts: float | None) -> float | None:
    return None if total is None else total - sum(part or 0.0 for part in parts)


def _reads_combined(change: Values) -> bool:
    """Return whether the count of reads has blocks in it, not requests: version 17 counts scans so."""
    scans = change.get("tables.seq_scan", 0.0) + change.get("private_tables.seq_scan", 0.0)
    return scans > 0 and counts_blocks(change)


def since_17(change: Values) -> bool:
    """Return whether the server is of version 17 or later."""
    return any(name.startswith("checkpointer.") for name in change)


def counts_bytes(change: Values) -> bool:
    """Return whether the server counts the bytes of requests, as since version 18."""
    return any(name.startswith("io.") and name.endswith(".read_bytes") for name in change)


def counts_blocks(change: Values) -> bool:
    """Return whether the server combines reads, but counts their blocks."""
    return since_17(change) and not counts_bytes(change)


def _by_object(change: Values, log_io: Values, block_size: int) -> dict[str, ObjectIo]:
    def blocks(prefix: str) -> ObjectIo:
        hits, fetched = change.get(f"{prefix}_hit"), change.get(f"{prefix}_fetched")
        missed = None if hits is None or fetched is None else fetched - hits
        # Through an index every miss is a request of one block.
        return ObjectIo(hits, missed, scale(missed, block_size), None, None)

    own = {name: blocks(prefix) for name, prefix in _PRIVATE.items() if f"{prefix}_fetched" in change}
    log = ObjectIo(None, log_io.get("reads"), log_io.get("read_bytes"), log_io.get("writes"), None)
    return {"table": blocks("tables.heap_blks"), "index": blocks("indexes.idx_blks"), **own, "log": log}


def _timed_waits(
    reads: float | None, read_us: float | None, syncs: float | None, sync_us: float | None
) -> list[TimedWait]:
    waits = []
    if reads and read_us:
        waits.append(TimedWait(_READ_EVENT, WaitClass.DATA_IO, reads, read_us))
    if syncs and sync_us:
        waits += [TimedWait(event, WaitClass.LOG, syncs, sync_us) for event in _LOG_EVENTS]
    return waits


_COMBINED = "PostgreSQL 17 counts the blocks that scans read, not their requests, each of several blocks"
_DEAD_ROWS = "the server keeps old row versions in the table: its dead rows are what is left to vacuum"
_NO_LOG_COUNTERS = "the server has no pg_stat_wal (PostgreSQL 14 or later)"
ROWS = (
    "rows_read",
    "rows_updated",
    "rows_updated_in_place",
    "maintenance",
    "shared_visits",
    "private_visits",
)
_REASONS = {
    "logical_reads": "the server does not show its block counts",
    "read_requests": "the server does not show its block counts",
    "read_bytes": "the server does not show its block counts",
    "read_time_us": "track_io_timing is off",
    **dict.fromkeys(ROWS, "track_counts is off"),
    "write_requests": "the server has no pg_stat_io (PostgreSQL 16 or later)",
    "write_bytes": "the server has no pg_stat_io (PostgreSQL 16 or later)",
    "log_bytes": "the server is a standby: it writes no log of its own",
    # Their number times the block size would be a guess: holes are left out of them, and wal_compression shrinks them.
    "full_page_image_bytes": "the server counts full-page images, not their bytes (PostgreSQL 19 or later)",
    "log_syncs": "the server does not count them in pg_stat_io or pg_stat_wal",
    "log_sync_time_us": "the server does not time them in pg_stat_io or pg_stat_wal",
    "log_write_requests": "the server does not count them in pg_stat_io or pg_stat_wal",
    "full_page_images": _NO_LOG_COUNTERS,
    "block_changes": "the server counts changed rows and records of its log, not changes of blocks",
    "db_cpu_us": "the server does not count its CPU time",
    "db_time_us": "not read from the server: the work loop measures the time that sessions spend inside operations",
}


def _with_reasons(delta: EngineDelta) -> EngineDelta:
    missing = {name: why for name, why in _REASONS.items() if getattr(delta, name) is None}
    return replace(delta, unknown=missing)
