"""The samplers of the whole server: what all its databases and clients do, whoever they are.

Sessions report what they did at the end of a statement, once a second at most (since 15), and when they end. Counts of
one second may so be late by a part of it, and those of a statement that runs for long come at its end.

Our samplers' own transactions are counted by themselves. Since 15 they ask the server to show them at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import psycopg

from openslob.engines.base import Activity, CounterReading
from openslob.engines.postgresql.connection import PACKAGE
from openslob.engines.postgresql.counters import (
    PROMPT_SINCE,
    TEST_ONLY,
    TOGETHER_AND_FLUSH,
    WAS_RESET,
    PostgresCounters,
    subtract,
    timed,
)
from openslob.engines.postgresql.delta import Values, counts_blocks, counts_bytes, since_17, to_delta
from openslob.engines.postgresql.libpq_statement import PlainStatement
from openslob.engines.postgresql.waits import PostgresWaits
from openslob.engines.sql import read_statements
from openslob.metrics.measurement import EVERY_FIGURE, EngineDelta, ObjectIo, TimedWait, WaitClass

_MS = 1000.0
_DATABASE, _RESET_S, _OWN = "database.", ".reset_s", "own.transactions"
# Transactions in which a worker of a parallel query gets ready: connecting, and taking over the settings of its query.
_OF_WORKER = 2
_OF_TABLES = "the whole server is observed: only the work loop's own tables tell it"
_ROWS = ("rows_read", "rows_updated", "rows_updated_in_place", "maintenance", "shared_visits", "private_visits")
_COMBINED = "PostgreSQL 17 counts the blocks that are read, not the requests, each of which may be for several blocks"
_UNTRACKED = "track_counts is off"
_RELATION, _LOG_KIND = "relation", "wal/normal"
# The kinds that there are, whether or not anything of them has happened on this instance.
_ALL_KINDS = ("relation/normal", "relation/vacuum", "relation/bulkread", "relation/bulkwrite", "temp relation/normal")
_NO_IO = {"hits": 0.0, "reads": 0.0, "writes": 0.0}
_BEFORE_16 = {"reads": "database.blks_read", "hits": "database.blks_hit", "read_time": "database.blk_read_time"}
_LOG_BEFORE_18 = {
    "writes": "wal.wal_write",
    "write_time": "wal.wal_write_time",
    "fsyncs": "wal.wal_sync",
    "fsync_time": "wal.wal_sync_time",
}
# Events by the count that they belong to. Before 17 some are spelt WAL….
_DATA_EVENTS = {
    "reads": "IO:DataFileRead",
    "writes": "IO:DataFileWrite",
    "extends": "IO:DataFileExtend",
    "fsyncs": "IO:DataFileSync",
}
_LOG_EVENTS = {"writes": "IO:WalWrite", "fsyncs": "IO:WalSync"}
_NEW_LOG_EVENTS = {"writes": "IO:WalInitWrite", "fsyncs": "IO:WalInitSync"}


@dataclass
class OwnWork:
    """How many transactions our samplers of one server have ended."""

    transactions: int = 0


class PostgresServerCounters(PostgresCounters):
    """Reads what the server counts of all its databases."""

    _not_read = frozenset({*TEST_ONLY, "session_io", "session_wal"})

    def __init__(self, connection: psycopg.Connection[Any], own: OwnWork, block_size: int) -> None:
        if connection.info.server_version >= PROMPT_SINCE:
            self._together = TOGETHER_AND_FLUSH
        super().__init__(connection, "", block_size)
        self._own = own
        self._ids = super().backend_ids()
        # What it takes to get ready is shown now, and is no part of any interval.
        self.read()

    def read(self) -> CounterReading:
        done = self._own.transactions
        reading = super().read()
        self._own.transactions += 1
        return replace(reading, values={**reading.values, _OWN: done})

    def task_kinds(self) -> dict[int, str]:
        self._own.transactions += 1
        return super().task_kinds()

    def backend_ids(self) -> list[int]:
        return self._ids

    def _delta(self, before: Values, after: Values) -> EngineDelta:
        if _were_reset(before, after):
            return EngineDelta(unknown={EVERY_FIGURE: WAS_RESET})
        return server_delta(subtract(before, after), self._block_size, *timed(before, after))


class PostgresServerWaits(PostgresWaits):
    """Samples the sessions of all clients."""

    def __init__(self, connection: psycopg.Connection[Any], application: str, own: OwnWork) -> None:
        super().__init__(connection, application)
        self._own = own
        self._ids = super().backend_ids()
        self.sample()

    def _prepare(self) -> PlainStatement:
        parts = read_statements(PACKAGE, "server_waits")
        names = ("sessions", *(("flush",) if self._connection.info.server_version >= PROMPT_SINCE else ()))
        return PlainStatement(self._connection, "\nUNION ALL\n".join(parts[name] for name in names).encode(), b"sample")

    def sample(self) -> Activity:
        activity = super().sample()
        self._own.transactions += 1
        return activity

    def backend_ids(self) -> list[int]:
        return self._ids


def _were_reset(before: Values, after: Values) -> bool:
    """Return whether the counts of a database that was there all the time were reset."""
    return any(before[name] != value for name, value in after.items() if name.endswith(_RESET_S) and name in before)


def server_delta(change: Values, block_size: int, timing: bool = True, log_timing: bool = True) -> EngineDelta:
    """Return the changes of an interval as `EngineDelta` of the whole server; ``timing`` as in `to_delta`."""
    total = _of_all_databases(change)
    ended = {name: total.get(f"{_DATABASE}xact_{name}") for name in ("commit", "rollback")}
    delta = to_delta(total, block_size, timing, log_timing)
    combined = counts_blocks(change)
    reasons = {**delta.unknown, **dict.fromkeys(_ROWS, _OF_TABLES)}
    if combined:
        reasons["read_requests"] = _COMBINED
    if ended["commit"] is None:
        reasons |= dict.fromkeys(("commits", "transactions"), _UNTRACKED)
    kinds = _kinds(total)
    return replace(
        delta,
        read_requests=None if combined else delta.read_requests,
        # No statement of the samplers rolls back.
        commits=ended["commit"],
        transactions=None if ended["commit"] is None else ended["commit"] + (ended["rollback"] or 0.0),
        by_object={
            **{kind: _object(columns, block_size, combined) for kind, columns in kinds.items() if not _is_log(kind)},
            "log": delta.by_object["log"],
        },
        timed_waits=_timed_waits(total, kinds, timing, log_timing),
        unknown=reasons,
        server_wide=frozenset(),
        others={},
    )


def _of_all_databases(change: Values) -> dict[str, float]:
    """Return the changes with the sums of all databases, the transactions without those of no client's statement.

    These are our samplers', the one with which every session of a client begins, and those of workers of its queries.
    """
    total: dict[str, float] = {}
    for name, value in change.items():
        source, _, column = name.rpartition(".") if name.startswith(_DATABASE) else ("", "", "")
        key = f"{_DATABASE}{column}" if source else name
        total[key] = total.get(key, 0.0) + value
    commits = f"{_DATABASE}xact_commit"
    if commits in total:
        begun = total.get(f"{_DATABASE}sessions", 0.0) + _OF_WORKER * total.get(f"{_DATABASE}workers", 0.0)
        total[commits] = max(0.0, total[commits] - change.get(_OWN, 0.0) - begun)
    return total


def _kinds(total: Values) -> dict[str, dict[str, float]]:
    """Return the columns of I/O of each object and context, over all processes; before 16 those of all databases."""
    kinds: dict[str, dict[str, float]] = {}
    for name, value in total.items():
        row, _, column = name.rpartition(".")
        if row.startswith("io."):
            columns = kinds.setdefault(row.partition("/")[2], {})
            columns[column] = columns.get(column, 0.0) + value
    if kinds:
        kinds = {**{kind: dict(_NO_IO) for kind in _ALL_KINDS}, **kinds}
    elif f"{_DATABASE}blks_read" in total:
        kinds[_RELATION] = {new: total[old] for new, old in _BEFORE_16.items() if old in total}
    if not any(map(_is_log, kinds)):
        log = {new: total[old] for new, old in _LOG_BEFORE_18.items() if old in total}
        kinds |= {_LOG_KIND: log} if log else {}
    return kinds


def _is_log(kind: str) -> bool:
    return kind.startswith("wal/")


def _object(columns: Mapping[str, float], block_size: int, combined: bool) -> ObjectIo:
    reads, writes = columns.get("reads"), [columns[name] for name in ("writes", "extends") if name in columns]
    return ObjectIo(
        hits=columns.get("hits"),
        read_requests=None if combined else reads,
        read_bytes=columns.get("read_bytes", None if reads is None else reads * block_size),
        write_requests=sum(writes) if writes else None,
        # 0 where there is no clock.
        read_time_us=columns.get("read_time", 0.0) * _MS or None,
    )


def _timed_waits(
    total: Values, kinds: Mapping[str, Mapping[str, float]], timing: bool, log_timing: bool
) -> list[TimedWait]:
    """Return the waits that the server counts and times, those of its background processes included."""
    uncounted = {*(("reads",) if counts_blocks(total) else ()), *(() if counts_bytes(total) else ("extends",))}
    found: dict[str, TimedWait] = {}
    for kind, columns in kinds.items():
        if not (log_timing if _is_log(kind) else timing):
            continue
        wait_class = WaitClass.LOG if _is_log(kind) else WaitClass.DATA_IO
        for column, event in _events(kind).items():
            count, time_ms = columns.get(column), columns.get(f"{column[:-1]}_time")
            if count and time_ms and column not in uncounted:
                name = event if since_17(total) else event.replace("Wal", "WAL")
                wait = TimedWait(name, wait_class, count, time_ms * _MS)
                found[name] = found[name] + wait if name in found else wait
    return list(found.values())


def _events(kind: str) -> Mapping[str, str]:
    if not _is_log(kind):
        return _DATA_EVENTS
    return _LOG_EVENTS if kind == _LOG_KIND else _NEW_LOG_EVENTS
