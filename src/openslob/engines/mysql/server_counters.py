"""The counters of the whole server: what all its databases and clients do, whoever they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from openslob.engines.mysql.counters import PICO, MysqlCounters, total, whole_delta
from openslob.metrics.measurement import EngineDelta, ObjectIo, TimedWait
from openslob.metrics.waits import wait_class

Values = Mapping[str, float]

_ROWS = ("rows_read", "rows_updated", "rows_updated_in_place")
_OF_TABLES = "the whole server is observed: only the work loop's own tables tell it"
_STATEMENTS_ONLY = "the server counts COMMIT statements, not the statements that commit by themselves"
_NO_TRANSACTIONS = (
    "the server does not count them, or this user may not see it: SET GLOBAL innodb_monitor_enable = 'module_trx', "
    "for users with PROCESS (MySQL: or the instrument transaction of performance_schema)"
)
_FILES = "wait/io/file/"
_FILE = f"file.{_FILES}"
# Kinds of files by their event; all others together are one more kind.
_DATA, _LOG, _OTHER = "data", "log", "other"
_KINDS = {
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

    def _sources(self) -> Sequence[str]:
        transactions = ("transactions_mariadb", "transactions_mysql", "transactions_observed")
        watched = {"every_file": "files_watched", "latches": "latches_watched"}
        found = [part for part, question in watched.items() if self._holds(question)]
        return ("metrics_mariadb", "metrics_mysql", *transactions, *found)

    def _delta(self, change: Values) -> EngineDelta:
        return server_delta(change)


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
    events = _by_event(change, _FILE)
    kinds: dict[str, Counter[str]] = {kind: Counter() for kind in _ALWAYS} if events else {}
    for event, columns in events.items():
        kinds.setdefault(_KINDS.get(event, _OTHER), Counter()).update(columns)
    data = ObjectIo(None, delta.read_requests, delta.read_bytes, delta.write_requests, None)
    return {_DATA: data, _LOG: delta.by_object[_LOG], **{kind: _object(sums) for kind, sums in kinds.items()}}


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
    for event, columns in _by_event(change, _FILE).items():
        of = ("reads", "read_ps") if _KINDS.get(event) == _DATA else ("requests", "ps")
        counted.append((_event(f"{_FILES}{event}"), columns[of[0]], columns[of[1]] * PICO))
    found: dict[str, TimedWait] = {}
    for name, count, time_us in counted:
        if count and time_us:
            wait = TimedWait(name, wait_class(name), count, time_us)
            found[name] = found[name] + wait if name in found else wait
    return list(found.values())


def _event(name: str) -> str:
    """Return an event's name as samples of waits have it (waits.sql)."""
    if name in _LOG_FILES:
        return "IO:log write"
    *parts, last = name.split("/")
    return f"{_CLASSES.get('/'.join(parts[1:3]), 'Latch')}:{last}"
