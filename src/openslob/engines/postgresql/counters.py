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
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import psycopg

from openslob.core.units import NANOS
from openslob.engines.base import CounterReading
from openslob.engines.postgresql.connection import backend_pid
from openslob.engines.postgresql.delta import SESSIONS, Values, to_delta, without_sessions
from openslob.engines.postgresql.errors import reported
from openslob.engines.postgresql.libpq_statement import PlainStatement
from openslob.engines.sql import read_statements
from openslob.metrics.measurement import EVERY_FIGURE, EngineDelta

PACKAGE = "openslob.engines.postgresql"

# Sources that are 0 when track_counts is off.
TEST_ONLY = ("database", "other_databases", "tables", "indexes", "private_tables", "private_indexes")
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
PROMPT_SINCE = 150000
# Before that version: half a second until a process reports, and half a second until readers see it.
LATENESS_S = 1.0
# Rates are unknown over a window of which a larger share may be missing (METHOD 5 allows this share).
LATENESS_SHARE = 0.01


class PostgresCounters:
    """Reads all sources that this server has in one statement, so that all are of one moment."""

    # How the sources become one value, and those of the other scope.
    _together = TOGETHER
    _not_read = frozenset({"each_database"})

    def __init__(self, connection: psycopg.Connection[Any], schema: str, block_size: int) -> None:
        self._connection = connection
        self._schema = schema.encode()
        self._values: list[bytes] = []
        self._block_size = block_size
        self._prompt = connection.info.server_version >= PROMPT_SINCE

    def _is_on(self, setting: str) -> bool:
        return self._connection.execute("SELECT current_setting(%s) = 'on'", (setting,)).fetchone() == (True,)

    @cached_property
    def _statement(self) -> PlainStatement:
        statements = read_statements(PACKAGE, "counters")
        without = {*_COMBINE, *self._not_read, *(_BEFORE_PROMPT if self._prompt else ())}
        without |= set() if self._is_on("track_counts") else set(_TRACKED)
        without |= {name for name, needed in _NEEDS.items() if not self._has(needed)}
        names = ordered([name for name in statements if name not in without], self._prompt)
        sources = "\nUNION ALL\n".join(statements[name] for name in names)
        text = statements[self._together].format(sources=sources)
        # No source is of the test where track_counts is off.
        self._values = [self._schema] if "$1" in text else []
        return PlainStatement(self._connection, text.encode(), b"counters")

    def _has(self, name: str) -> bool:
        return self._connection.execute(_IN_CATALOGUE, {"name": name}).fetchone() == (True,)

    def read(self) -> CounterReading:
        with reported("the counters can't be read"):
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
        if before.epoch != after.epoch:
            return EngineDelta(unknown={EVERY_FIGURE: WAS_RESET})
        delta = self._delta(before.values, after.values)
        return delta if self._prompt else _without_late(delta, (after.server_ns - before.server_ns) / NANOS)

    def _delta(self, before: Values, after: Values) -> EngineDelta:
        change: Values = subtract(before, after)
        if not after.get(SESSIONS):
            # A pooler may give the work loop's sessions another name: their reads would seem to be none.
            change = without_sessions(change)
        return to_delta(change, self._block_size, *timed(before, after))

    def task_kinds(self) -> dict[int, str]:
        """Return the ``backend_type`` of each process that this role may see, with our own samplers apart."""
        with reported("the server's processes can't be listed"):
            rows = self._connection.execute(read_statements(PACKAGE, "facts")["processes"]).fetchall()
        return dict(rows)

    def backend_ids(self) -> list[int]:
        return [backend_pid(self._connection)]

    def close(self) -> None:
        self._connection.close()


def ordered(names: Sequence[str], prompt: bool) -> list[str]:
    """Return the sources in the order in which they are read; ``prompt``: none of them keeps the reading waiting.

    Then the clock comes last, so that all counts are of no later moment. Otherwise it follows what is exact.
    """
    first = [] if prompt else [name for name in (*_BEFORE_PROMPT, _CLOCK) if name in names]
    return [*first, *(name for name in names if name not in first)]


def timed(before: Values, after: Values) -> tuple[bool, bool]:
    """Return whether I/O, and that of the log, was timed at both readings."""
    data, log = (all(each.get(name, 1.0) for each in (before, after)) for name in ("timing.data", "timing.log"))
    return data, log


def subtract(before: Values, after: Values) -> dict[str, float]:
    """Return the change of each counter."""
    # A counter that was missing before was 0: entries of the statistics appear at their first event.
    return {name: value - before.get(name, 0.0) for name, value in after.items()}


# Exact at any moment; everything else passes through the collector before 15.
_NEVER_LATE = ("log_bytes",)
# These are compared with the work loop's own counts, to the row.
_EXACT_OR_NOTHING = ("rows_read", "rows_updated", "rows_updated_in_place")
_LATE = "before PostgreSQL 15 the server shows its counts up to a second late"


def least_window_s(version: int) -> float:
    """Return over how many seconds the counts of a server of this version must go to be known."""
    return 0.0 if version >= PROMPT_SINCE else LATENESS_S / LATENESS_SHARE


def _without_late(delta: EngineDelta, seconds: float) -> EngineDelta:
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
