"""The server's cumulative counters, read over one connection; `delta.py` has what their differences mean.

Counters of each version, and the delay until a reader sees them:

- 15 and later count in shared memory: a slice that has returned is counted. Before, a process reports to a collector
  when it is idle, every half second at most, and readers see statistics that are half a second old. Over a long window
  that is little; figures that must be exact are unknown. A reader of older statistics waits for the collector to write
  them, for tens of milliseconds: such a reading is dated before that wait. The sessions of a run report at the end of a
  slice, which no such wait outlasts, so it has nothing of a load that begins meanwhile.
- 16 and later count I/O by kind of process (pg_stat_io), 18 also by session. Before 16 there are reads of databases
  and tables only, and writes come too late to be of use.
- 17 reads several blocks by one request in sequential scans, and counts the blocks. 18 counts requests and bytes.
- 14 and later count the log in pg_stat_wal; 18 has its requests and times in pg_stat_io.

The counters of the whole server are those of all its databases and clients, whoever they are. Sessions report what they
did at the end of a statement, once a second at most (since 15), and when they end. Counts of one second may so be late
by a part of it, and those of a statement that runs for long come at its end. Our samplers' own transactions are counted
by themselves. Since 15 they ask the server to show them at once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import psycopg

from openslob.core.measurement import EVERY_FIGURE, EngineDelta, ObjectIo, TimedWait, WaitClass, sum_waits
from openslob.core.units import NANOS
from openslob.engines.base import CounterReading
from openslob.engines.postgresql.connection import PROMPT_SINCE, backend_pid
from openslob.engines.postgresql.delta import (
    DATA_BEFORE_16,
    LOG_BEFORE_18,
    MS,
    ROWS,
    SESSIONS,
    Values,
    counts_blocks,
    counts_bytes,
    remove_sessions,
    since_17,
    to_delta,
)
from openslob.engines.postgresql.errors import report_as
from openslob.engines.postgresql.libpq_statement import PlainStatement
from openslob.engines.postgresql.waits import OwnWork
from openslob.engines.server_engine import ConnectionOwner
from openslob.engines.sql import read_statements

PACKAGE = "openslob.engines.postgresql"

# Sources that are 0 when track_counts is off.
TEST_ONLY = ("database", "other_databases", "tables", "indexes", "churn", "private_tables", "private_indexes")
_TRACKED = (*TEST_ONLY, "each_database")
# Sources that not every version has, by the view or function that they need.
_NEEDS = {
    "io": "pg_stat_io",
    "wal": "pg_stat_wal",
    "checkpointer": "pg_stat_checkpointer",
    "session_io": "pg_stat_get_backend_io",
    "session_wal": "pg_stat_get_backend_wal",
}
_IN_CATALOGUE = """SELECT to_regclass('pg_catalog.' || %(name)s) IS NOT NULL
    OR EXISTS (SELECT FROM pg_proc WHERE proname = %(name)s AND pronamespace = 'pg_catalog'::regnamespace)"""
TOGETHER, TOGETHER_AND_FLUSH = _COMBINE = ("together", "together_and_flush")
WAS_RESET = "the server's statistics were reset during the run"
_RESET = "stats_reset"
_NUMBERS = (int, float)  # but not bool, a subclass of int
_BEFORE_PROMPT = ("log_position",)
_CLOCK = "clock"
# Before that version: half a second until a process reports, and half a second until readers see it.
LATENESS_S = 1.0
# Rates are unknown over a window of which a larger share may be missing (METHOD 5 allows this share).
LATENESS_SHARE = 0.01


@dataclass(frozen=True)
class Counting:
    """Takes differences of the test's counters, or of those of the whole server.

    ``prompt``: the server shows counts as soon as a statement has ended. ``by_session``: each of the test's sessions
    has one process of the server, whose counts are the session's; a pooler lends them, and who connects again has many.
    """

    prompt: bool
    block_size: int
    whole_server: bool = False
    by_session: bool = True

    def difference(self, before: CounterReading, after: CounterReading) -> EngineDelta:
        """Return what happened between two readings."""
        if before.epoch != after.epoch or (self.whole_server and _were_reset(before.values, after.values)):
            return EngineDelta(unknown={EVERY_FIGURE: WAS_RESET})
        if self.whole_server:
            change = subtract(before.values, after.values)
            delta = server_delta(change, self.block_size, *are_timed(before.values, after.values))
        else:
            delta = _test_delta(before.values, after.values, self.block_size, self.by_session)
        return delta if self.prompt else _remove_late(delta, (after.server_ns - before.server_ns) / NANOS)


def _test_delta(before: Values, after: Values, block_size: int, by_session: bool) -> EngineDelta:
    change: Values = subtract(before, after)
    if not by_session or not after.get(SESSIONS):
        # A pooler may give the work loop's sessions another name: their reads would seem to be none.
        change = remove_sessions(change)
    return to_delta(change, block_size, *are_timed(before, after))


class PostgresCounters(ConnectionOwner[psycopg.Connection[Any]]):
    """Reads all sources that this server has in one statement, so that all are of one moment."""

    # How the sources become one value, and those of the other scope.
    _together = TOGETHER
    _not_read = frozenset({"each_database"})
    _whole_server = False

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        schema: str,
        block_size: int,
        prompt: bool = True,
        by_session: bool = True,
        churns: bool = False,
    ) -> None:
        super().__init__(connection)
        self._not_read = self._not_read if churns else self._not_read | {"churn"}
        self._schema = schema.encode()
        self._values: list[bytes] = []
        self._prompt = connection.info.server_version >= PROMPT_SINCE
        self.counting = Counting(self._prompt and prompt, block_size, self._whole_server, by_session)

    def _is_on(self, setting: str) -> bool:
        return self._connection.execute("SELECT current_setting(%s) = 'on'", (setting,)).fetchone() == (True,)

    @cached_property
    def _statement(self) -> PlainStatement:
        statements = read_statements(PACKAGE, "counters")
        without = {*_COMBINE, *self._not_read, *(_BEFORE_PROMPT if self._prompt else ())}
        without |= set() if self._is_on("track_counts") else set(_TRACKED)
        without |= {name for name, needed in _NEEDS.items() if not self._has(needed)}
        names = order_sources([name for name in statements if name not in without], self._prompt)
        sources = "\nUNION ALL\n".join(statements[name] for name in names)
        text = statements[self._together].format(sources=sources)
        # No source is of the test where track_counts is off.
        self._values = [self._schema] if "$1" in text else []
        return PlainStatement(self._connection, text.encode(), b"counters")

    def _has(self, name: str) -> bool:
        return self._connection.execute(_IN_CATALOGUE, {"name": name}).fetchone() == (True,)

    def read(self) -> CounterReading:
        with report_as("the counters can't be read"):
            text = self._ask()
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

    def _ask(self) -> bytes:
        statement = self._statement
        ((text, *_),) = statement.rows(*self._values)
        found: bytes = text
        return found

    def difference(self, before: CounterReading, after: CounterReading) -> EngineDelta:
        return self.counting.difference(before, after)

    def task_kinds(self) -> dict[int, str]:
        """Return the ``backend_type`` of each process that this role may see, with our own samplers apart."""
        with report_as("the server's processes can't be listed"):
            rows = self._connection.execute(read_statements(PACKAGE, "facts")["processes"]).fetchall()
        return dict(rows)

    def backend_ids(self) -> list[int]:
        return [backend_pid(self._connection)]


def order_sources(names: Sequence[str], prompt: bool) -> list[str]:
    """Return the sources in the order in which they are read; ``prompt``: none of them keeps the reading waiting.

    Then the clock comes last, so that all counts are of no later moment. Otherwise it follows what is exact.
    """
    first = [] if prompt else [name for name in (*_BEFORE_PROMPT, _CLOCK) if name in names]
    return [*first, *(name for name in names if name not in first)]


def are_timed(before: Values, after: Values) -> tuple[bool, bool]:
    """Return whether I/O, and that of the log, was timed at both readings."""
    data, log = (all(reading.get(name, 1.0) for reading in (before, after)) for name in ("timing.data", "timing.log"))
    return data, log


def subtract(before: Values, after: Values) -> dict[str, float]:
    """Return the change of each counter."""
    # A counter that was missing before was 0: entries of the statistics appear at their first event.
    return {name: value - before.get(name, 0.0) for name, value in after.items()}


# Exact at any moment; everything else passes through the collector before 15.
_NEVER_LATE = ("log_bytes",)
# These are compared with the work loop's own counts, to the row.
_EXACT_OR_NOTHING = ("rows_read", "rows_updated", "rows_updated_in_place")
_LATE = "before PostgreSQL 15 the server shows its counts up to a second late, and so does one behind a pooler"


def least_window_s(version: int, pooled: bool = False) -> float:
    """Return over how many seconds the counts of a server of this version must go to be known, or ``pooled`` ones.

    Processes that a pooler lends to sessions show what they counted once a second at most.
    """
    return 0.0 if version >= PROMPT_SINCE and not pooled else LATENESS_S / LATENESS_SHARE


def _remove_late(delta: EngineDelta, seconds: float) -> EngineDelta:
    """Remove figures that must be exact, and of a short window all figures that come late."""
    least_s = LATENESS_S / LATENESS_SHARE
    short = seconds < least_s
    too_much = f"{_LATE}, too much of less than {least_s:.0f} s: measure longer"
    late = {
        name: too_much if short else _LATE
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


_DATABASE, _RESET_S, _OWN = "database.", ".reset_s", "own.transactions"
# Transactions in which a worker of a parallel query gets ready: connecting, and taking over the settings of its query.
_OF_WORKER = 2
_OF_TABLES = "the whole server is observed: only the work loop's own tables tell it"
_COMBINED = "PostgreSQL 17 counts the blocks that are read, not the requests, each of which may be for several blocks"
_UNTRACKED = "track_counts is off"
_RELATION, _LOG_KIND = "relation", "wal/normal"
# The kinds that there are, whether or not anything of them has happened on this instance.
_ALL_KINDS = ("relation/normal", "relation/vacuum", "relation/bulkread", "relation/bulkwrite", "temp relation/normal")
_NO_IO = {"hits": 0.0, "reads": 0.0, "writes": 0.0}
# Events by the count that they belong to. Before 17 some are spelt WAL….
_DATA_EVENTS = {
    "reads": "IO:DataFileRead",
    "writes": "IO:DataFileWrite",
    "extends": "IO:DataFileExtend",
    "fsyncs": "IO:DataFileSync",
}
_LOG_EVENTS = {"writes": "IO:WalWrite", "fsyncs": "IO:WalSync"}
_NEW_LOG_EVENTS = {"writes": "IO:WalInitWrite", "fsyncs": "IO:WalInitSync"}


class PostgresServerCounters(PostgresCounters):
    """Reads what the server counts of all its databases."""

    _not_read = frozenset({*TEST_ONLY, "session_io", "session_wal"})
    _whole_server = True

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


def _were_reset(before: Values, after: Values) -> bool:
    """Return whether the counts of a database that was there all the time were reset."""
    return any(before[name] != value for name, value in after.items() if name.endswith(_RESET_S) and name in before)


def server_delta(change: Values, block_size: int, timing: bool = True, log_timing: bool = True) -> EngineDelta:
    """Return the changes of an interval as `EngineDelta` of the whole server; ``timing`` as in `to_delta`."""
    total = _of_all_databases(change)
    ended = {name: total.get(f"{_DATABASE}xact_{name}") for name in ("commit", "rollback")}
    delta = to_delta(total, block_size, timing, log_timing)
    combined = counts_blocks(change)
    reasons = {**delta.unknown, **dict.fromkeys(ROWS, _OF_TABLES)}
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
        kinds[_RELATION] = {new: total[old] for new, old in DATA_BEFORE_16.items() if old in total}
    if not any(map(_is_log, kinds)):
        log = {new: total[old] for new, old in LOG_BEFORE_18.items() if old in total}
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
        read_time_us=columns.get("read_time", 0.0) * MS or None,
    )


def _timed_waits(
    total: Values, kinds: Mapping[str, Mapping[str, float]], timing: bool, log_timing: bool
) -> list[TimedWait]:
    """Return the waits that the server counts and times, those of its background processes included."""
    uncounted = {*(("reads",) if counts_blocks(total) else ()), *(() if counts_bytes(total) else ("extends",))}
    found: list[TimedWait] = []
    for kind, columns in kinds.items():
        if not (log_timing if _is_log(kind) else timing):
            continue
        wait_class = WaitClass.LOG if _is_log(kind) else WaitClass.DATA_IO
        for column, event in _events(kind).items():
            count, time_ms = columns.get(column), columns.get(f"{column[:-1]}_time")
            if count and time_ms and column not in uncounted:
                name = event if since_17(total) else event.replace("Wal", "WAL")
                found.append(TimedWait(name, wait_class, count, time_ms * MS))
    return sum_waits(found)


def _events(kind: str) -> Mapping[str, str]:
    if not _is_log(kind):
        return _DATA_EVENTS
    return _LOG_EVENTS if kind == _LOG_KIND else _NEW_LOG_EVENTS
