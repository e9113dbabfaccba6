"""The server's counters of an interval as `EngineDelta`: which statistic makes which figure, and why one is unknown.

What V$SESSTAT has of the test's sessions is the test's alone, as are the rows of the work loop's own statements and the
I/O of the test's tables. Everything else is of all sessions. Background processes write for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from openslob.core.measurement import (
    CHURN_COUNTERS,
    EVERY_FIGURE,
    ONLY_SOME_HAVE,
    ROW_BYTE_COUNTERS,
    WAIT_LATENCY,
    EngineDelta,
    ObjectIo,
    TimedWait,
    WaitClass,
    scale,
)
from openslob.engines.base import CounterReading

Values = Mapping[str, float]
# How many statements of the work loop were found when the counters were read.
STATEMENTS = "statements.count"
# Whether times of calls still rose when they should long have been shown.
MOVING = "time_model.moving"
_MOVING = (
    "the server's time model still moved 5 s after this short load: it shows times late, or others are at work; "
    "measure for a minute or longer"
)

_CENTISECOND_US = 10_000.0
# Statistics of V$SYSSTAT and of single sessions, by field. Data blocks alone: the "total" ones have the log, control
# files and backups in them. A commit that waits for the log is counted once, however many share a write.
_BY_SESSION: Mapping[str, str] = {
    "logical_reads": "session logical reads",
    "read_requests": "physical read IO requests",
    "read_bytes": "physical read bytes",
    "cache_blocks_read": "physical reads cache",
    "cache_blocks_prefetched": "physical reads cache prefetch",
    "log_bytes": "redo size",
    "block_changes": "db block changes",
    "log_syncs": "redo synch writes",
    "commit_waits": "redo synch writes",
    "log_sync_time_us": "redo synch time (usec)",
    "commits": "user commits",
    "direct_scans": "table scans (direct read)",
}
# What background processes do for all: a pluggable database has no such statistics. Each switch of the log begins a
# checkpoint: in real AWR reports these are as many as "log switches (derived)", within one.
_BY_BACKGROUND: Mapping[str, str] = {
    "write_requests": "physical write IO requests",
    "write_bytes": "physical write bytes",
    "log_write_requests": "redo writes",
    "checkpoints": "background checkpoints completed",
    "log_switches": "background checkpoints started",
}
# What is no work of sessions, so not spoilt by that of others.
_OF_NO_SESSION = ("host_busy_us", "host_idle_us", "cache_resizes")
# What others do is known only of what is counted by session, and matters only of these.
_SHOWS_OTHERS = ("logical_reads", "read_requests", "commits", "log_syncs")
_SINGLE_READS = ("User I/O:db file sequential read", "User I/O:cell single block physical read")
# A wait for the read that another session makes is none of its own.
_OTHERS_READ = "User I/O:read by other session"
_LOG_IS_FULL = (
    "Configuration:log file switch (checkpoint incomplete)",
    "Configuration:log file switch (archiving needed)",
)
_THROTTLED = "Scheduler:resmgr:"
# What is counted of the whole server only; of rows that come and go, which the work loop does not have; and what no
# view has.
OF_SERVER = CHURN_COUNTERS | ROW_BYTE_COUNTERS | {"transactions"}
_WAITS, _US, _HISTOGRAM = "event.waits.", "event.us.", "histogram."
# The server's classes of waits. What is left out (Network, Administrative …) is of no resource that a verdict knows.
CLASSES: Mapping[str, WaitClass] = {
    "User I/O": WaitClass.DATA_IO,
    "System I/O": WaitClass.DATA_IO,
    "Commit": WaitClass.LOG,
    "Concurrency": WaitClass.LOCK,
    "Application": WaitClass.LOCK,
    "Scheduler": WaitClass.CPU,
    "Cluster": WaitClass.CLUSTER,
}
# Waits of a class that has several resources in it, by the beginning of their names. A session that finds no free
# buffer waits for the database writer, so for storage.
_BY_NAME: Mapping[str, WaitClass] = {
    "log ": WaitClass.LOG,
    "LGWR": WaitClass.LOG,
    "LNS": WaitClass.LOG,
    "free buffer waits": WaitClass.DATA_IO,
    "write complete waits": WaitClass.DATA_IO,
    "enq: ": WaitClass.LOCK,
    "latch": WaitClass.LOCK,
    "buffer busy": WaitClass.LOCK,
}
_NAMED_IN = ("System I/O", "Configuration", "Other")
_ROWS = ("rows_read", "rows_updated", "rows_updated_in_place")
_OF_TABLES = "the whole server is observed: only the work loop's own tables tell it"
_UNCOUNTED = "this version of the server does not count them"
_ENDED = ("sysstat.user commits", "sysstat.user rollbacks")
_READS, _WRITES = "io.reads.", "io.writes."


@dataclass(frozen=True)
class Counting:
    """Takes differences of the test's counters, or of those of the whole database.

    ``missing`` as in `to_delta`; ``blind``: this user may not read what the statements did.
    """

    missing: Mapping[str, str]
    blind: bool
    pluggable: bool
    whole_database: bool = False

    def difference(self, before: CounterReading, after: CounterReading) -> EngineDelta:
        """Return what happened between two readings."""
        if before.epoch != after.epoch:
            return make_unknown("the server's statistics were reset during the run: it was started again")
        # What was missing before was 0: an event begins with its first wait.
        change = {name: value - before.values.get(name, 0.0) for name, value in after.values.items()}
        if self.whole_database:
            return to_server_delta(change, self.missing, self.pluggable)
        if not after.values.get(STATEMENTS) and not self.blind and after.values.get("sessions.count") == 0:
            # Nobody has run the work loop yet; whoever does will find its statements.
            change["sql.update.rows"] = 0.0
        return to_delta(change, self.missing, self.pluggable)


def make_unknown(why: str) -> EngineDelta:
    """Return an interval of which nothing is known."""
    return EngineDelta(unknown={EVERY_FIGURE: why, **dict.fromkeys(ONLY_SOME_HAVE - OF_SERVER, why)})


def to_delta(change: Values, missing: Mapping[str, str] | None = None, pluggable: bool = False) -> EngineDelta:
    """Return the changes of an interval as `EngineDelta`; what is not known is None with a reason.

    ``missing`` has the parts of counters.sql that can't be read, and why. ``pluggable``: the connection is to a
    pluggable database, which shows nothing of what background processes do.
    """
    if change.get(MOVING):
        missing = {**(missing or {}), "time_model": _MOVING}
        change = {name: value for name, value in change.items() if not name.startswith("time_model.")}
    own = _is_by_session(change)
    found = {
        **{field: _find_statistic(change, name, own) for field, name in _BY_SESSION.items()},
        **({} if pluggable else {field: change.get(f"sysstat.{name}") for field, name in _BY_BACKGROUND.items()}),
        **_sum_cpu(change, pluggable),
        **_sum_events(change, "events" not in (missing or {})),
        **_count_rows(change),
        "cache_resizes": _sum(change, "memory.operations."),
    }
    if found["log_sync_time_us"] is None:
        found["log_sync_time_us"] = scale(_find_statistic(change, "redo synch time", own), _CENTISECOND_US)
    waits = list_timed_waits(change)
    amounts: dict[str, Any] = {field: value for field, value in found.items() if value is not None}
    delta = EngineDelta(**amounts, by_object=_split_by_object(change, pluggable), timed_waits=waits, remedies=_REMEDIES)
    counted = {field for field, value in delta.amounts().items() if value is not None}
    tests_own = {"rows_updated", "rows_updated_in_place", *_OF_NO_SESSION, *(_BY_SESSION if own else ())}
    return replace(
        delta,
        unknown={
            field: _explain_unknown(field, missing or {}, pluggable)
            for field in (delta.amounts().keys() - counted - OF_SERVER) | _unread_facts(missing or {})
        },
        server_wide=frozenset({*(counted - tests_own), "log", *(wait.event for wait in waits)}),
        others=_subtract_ours(change) if own else {},
    )


def to_server_delta(change: Values, missing: Mapping[str, str] | None = None, pluggable: bool = False) -> EngineDelta:
    """Return the changes of an interval as `EngineDelta` of the whole server; ``missing`` as in `to_delta`.

    Our samplers only query, which ends no transaction.
    """
    delta = to_delta(change, missing, pluggable)
    ended = [change[name] for name in _ENDED if name in change]
    known = len(ended) == len(_ENDED)
    unknown = {**delta.unknown, **dict.fromkeys(_ROWS, _OF_TABLES)}
    return replace(
        delta,
        transactions=sum(ended) if known else None,
        by_object={**delta.by_object, **_sum_by_function(change)},
        unknown=unknown if known else {**unknown, "transactions": unknown.get("commits", _UNCOUNTED)},
        server_wide=frozenset(),
        others={},
    )


def _is_by_session(change: Values) -> bool:
    """Return whether the test's sessions were the same at both ends: a session that ends takes its counters along."""
    return change.get("sessions.identity") == 0 and "session.run.session logical reads" in change


def _find_statistic(change: Values, name: str, own: bool) -> float | None:
    return change.get(f"session.run.{name}" if own else f"sysstat.{name}")


def _subtract_ours(change: Values) -> dict[str, float]:
    """Return what neither the test's sessions nor our other ones did."""
    found = {}
    for field in _SHOWS_OTHERS:
        name = _BY_SESSION[field]
        total = change.get(f"sysstat.{name}")
        if total is not None:
            ours = (change.get(f"session.{whose}.{name}", 0.0) for whose in ("run", "own"))
            found[field] = max(0.0, total - sum(ours))
    return found


def _sum_cpu(change: Values, pluggable: bool) -> dict[str, float | None]:
    """Return CPU and DB time; the CPU of the whole server is known only with that of its background processes."""
    foreground = change.get("time_model.DB CPU")
    background = None if pluggable else change.get("time_model.background cpu time")
    busy, idle = change.get("osstat.BUSY_TIME"), change.get("osstat.IDLE_TIME")
    return {
        "db_cpu_us": None if foreground is None or background is None else foreground + background,
        "foreground_cpu_us": foreground,
        "background_cpu_us": background,
        "db_time_us": change.get("time_model.DB time"),
        "host_busy_us": scale(busy, _CENTISECOND_US),
        "host_idle_us": scale(idle, _CENTISECOND_US),
    }


def _sum_events(change: Values, known: bool) -> dict[str, float | None]:
    """Return what the waits of sessions show; an event that nobody ever waited for has no row."""
    if not known:
        return {}
    names = [name.removeprefix(_WAITS) for name in change if name.startswith(_WAITS)]
    single = [name for name in names if name.startswith(_SINGLE_READS)]
    reads = [name for name in names if name.startswith("User I/O:") and " read" in name and name != _OTHERS_READ]
    return {
        "read_time_us": _sum_named(change, _US, reads),
        "single_reads": _sum_named(change, _WAITS, single),
        "single_read_time_us": _sum_named(change, _US, single),
        "log_switch_waits": _sum_named(change, _WAITS, _LOG_IS_FULL),
        "throttled_us": _sum_named(change, _US, (name for name in names if name.startswith(_THROTTLED))),
    }


def _count_rows(change: Values) -> dict[str, float | None]:
    """Return the rows of the work loop's UPDATEs; unknown when a statement left the shared pool with its counts.

    The loop keeps the lengths of rows, so that none migrates; if one had, reading it would show as a continued row.
    """
    if not any(name.startswith("sql.") for name in change) or change.get(STATEMENTS, 0.0) != 0:
        return {}
    rows, cursors, loads = (change.get(f"sql.update.{name}", 0.0) for name in ("rows", "cursors", "loads"))
    if rows < 0 or cursors < 0 or loads != cursors:
        return {}
    continued = change.get("sysstat.table fetch continued row")
    return {"rows_updated": rows, "rows_updated_in_place": rows if continued == 0 else None}


def _split_by_object(change: Values, pluggable: bool) -> dict[str, ObjectIo]:
    def of(kind: str) -> ObjectIo:
        return ObjectIo(
            None,
            change.get(f"object.{kind}.physical read requests"),
            change.get(f"object.{kind}.read bytes"),
            change.get(f"object.{kind}.physical write requests"),
            None,
        )

    kinds = {
        kind: of(kind) for kind in ("table", "index") if any(name.startswith(f"object.{kind}.") for name in change)
    }
    writes = None if pluggable else change.get("sysstat.redo writes")
    return {**kinds, "log": ObjectIo(None, None, None, writes, None)}


def classify_event(event: str) -> WaitClass:
    """Return the kind of resource of an event named ``Class:event``."""
    group, _, name = event.partition(":")
    if group in _NAMED_IN:
        found = next((kind for beginning, kind in _BY_NAME.items() if name.startswith(beginning)), None)
        if found:
            return found
    return CLASSES.get(group, WaitClass.OTHER)


def list_timed_waits(change: Values) -> tuple[TimedWait, ...]:
    """Return the events that sessions waited for in an interval."""
    durations = _sum_durations(change)
    found = []
    for key, count in change.items():
        if not key.startswith(_WAITS) or count <= 0:
            continue
        event = key.removeprefix(_WAITS)
        time_us = change.get(f"{_US}{event}", 0.0)
        found.append(TimedWait(event, classify_event(event), count, time_us, durations.get(event.partition(":")[2])))
    return tuple(found)


def _sum_durations(change: Values) -> dict[str, dict[tuple[int, int], int]]:
    """Return the waits by event and duration. A bucket of the server's has those from half its limit to just below it.

    Background processes' waits are among them.
    """
    found: dict[str, dict[tuple[int, int], int]] = {}
    for key, count in change.items():
        if key.startswith(_HISTOGRAM) and count > 0:
            event, _, limit = key.removeprefix(_HISTOGRAM).rpartition(".")
            found.setdefault(event, {})[(int(limit) // 2, int(limit))] = int(count)
    return found


def _sum_by_function(change: Values) -> dict[str, ObjectIo]:
    """Return the requests by what the server did them for; it shows their bytes in whole MB, which is too coarse."""
    names = [name.removeprefix(_READS) for name in change if name.startswith(_READS)]
    return {
        name: ObjectIo(None, change[f"{_READS}{name}"], None, change.get(f"{_WRITES}{name}"), None) for name in names
    }


def _sum(change: Values, prefix: str) -> float | None:
    values = [value for name, value in change.items() if name.startswith(prefix)]
    return sum(values) if values else None


def _sum_named(change: Values, prefix: str, names: Iterable[str]) -> float:
    return sum(change.get(f"{prefix}{name}", 0.0) for name in names)


# The part of counters.sql that each field comes from.
_PARTS: Mapping[str, str] = {
    **dict.fromkeys((*_BY_SESSION, *_BY_BACKGROUND), "sysstat"),
    **dict.fromkeys(("db_cpu_us", "foreground_cpu_us", "background_cpu_us", "db_time_us"), "time_model"),
    **dict.fromkeys(("host_busy_us", "host_idle_us"), "osstat"),
    **dict.fromkeys(
        ("read_time_us", "single_reads", "single_read_time_us", "log_switch_waits", "throttled_us"), "events"
    ),
    **dict.fromkeys(("rows_updated", "rows_updated_in_place"), "sql"),
    "cache_resizes": "memory",
    WAIT_LATENCY: "histogram",
}
_NO_BACKGROUND = (
    "a pluggable database does not count what background processes do: connect to the root (CDB$ROOT) to see it"
)
_OF_BACKGROUND = frozenset({*_BY_BACKGROUND, "db_cpu_us", "background_cpu_us"})
_NO_PAGE_IMAGES = "the log holds changes only; whole blocks are in it during a backup in hot backup mode"
_REASONS = {
    "rows_read": "the server counts rows by session only in part (`table fetch by rowid` has those of queries alone)",
    "rows_updated": "a statement of the work loop was not in the shared pool, or left it with its counts",
    "rows_updated_in_place": "rows in several pieces were read, or it is not known how many rows were updated",
    "full_page_images": _NO_PAGE_IMAGES,
    "full_page_image_bytes": _NO_PAGE_IMAGES,
    "shared_visits": "the server counts visits of the cache for all tables and indexes together",
    "private_visits": "the server counts blocks read past the cache, not visits of sessions' private memory",
    "maintenance": "the server does not count its maintenance of single tables",
    "cache_resizes": "the server does not show the sizes of its caches here",
}
_REMEDIES = {
    "single_block": "an administrator sets _db_block_prefetch_limit, _db_block_prefetch_quota and "
    "_db_file_noncontig_mblock_read_count to 0 and restarts the server; `slob check` prints the statements",
    "cache_size_kept": "an administrator sets DB_CACHE_SIZE to the size that the cache is to keep; `slob check` prints "
    "the statement",
    "not_throttled": "an administrator turns the plan off (ALTER SYSTEM SET RESOURCE_MANAGER_PLAN = ''); repeat the "
    "run outside maintenance windows, which turn plans on",
    "log_switches": "an administrator adds larger log files (ALTER DATABASE ADD LOGFILE … SIZE …) "
    "and drops the small ones",
}


def _unread_facts(missing: Mapping[str, str]) -> set[str]:
    """Return what is no counter and comes from a part that can't be read."""
    return {WAIT_LATENCY} if _PARTS[WAIT_LATENCY] in missing else set()


def _explain_unknown(field: str, missing: Mapping[str, str], pluggable: bool) -> str:
    if pluggable and field in _OF_BACKGROUND:
        return _NO_BACKGROUND
    return missing.get(_PARTS.get(field, ""), "") or _REASONS.get(field, "this version of the server does not count it")
