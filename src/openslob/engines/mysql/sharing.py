"""Which of the server's counters include other sessions' work, and how much of them is theirs.

The server counts few things by session. It counts rows by table and reads by file, though, and what is of no table of
ours is others' work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from openslob.metrics.measurement import EngineDelta, TimedWait

Values = Mapping[str, float]

# Fields of `EngineDelta` and kinds of objects that the server counts for all sessions together.
_SERVER_WIDE = frozenset(
    {
        *("logical_reads", "read_requests", "read_bytes", "read_time_us", "write_requests", "write_bytes"),
        *("log_bytes", "log_syncs", "log_write_requests", "commits", "checkpoints", "log"),
    }
)
# Those that grow only where something is changed.
_OF_CHANGES = ("write_requests", "write_bytes", "log_bytes", "log_syncs", "log_write_requests")
# Those that are counted by file, too: the counter of counters.sql, and its unit.
_OF_FILES = {"read_requests": ("reads", 1.0), "read_bytes": ("read_bytes", 1.0), "read_time_us": ("read_ps", 1e-6)}
# Reads of files that serve everybody may be anybody's. So small a share of ours does not matter.
_SMALL_SHARE = 0.01
# Sums over tables that others may drop, and how often one was less than before.
OF_OTHERS = ("others.", "ours.")
_DROPPED = "others.dropped"
# What is left of counters without what is counted apart; the engine's files by event; all reads, and their name there.
APART = "apart."
FILES = "file.wait/io/file/innodb/"
DATA_FILE = f"{FILES}innodb_data_file"
_READS = {
    "status.INNODB_DATA_READS": "reads",
    "status.INNODB_DATA_READ": "read_bytes",
    f"{DATA_FILE}.read_ps": "read_ps",
}


class LastingSums:
    """Makes counters that never fall of the sums over others' tables and of differences between two counters.

    A table that is dropped takes its counts along; the sum then grew by an unknown amount, which counts as none. Two
    counters are read one after the other, so that their difference may seem to fall by what happened in between. As
    this is settled for each reading, the difference of a window is the sum of those of its parts.
    """

    def __init__(self) -> None:
        self._last: Values = {}
        self._sums: dict[str, float] = {}
        self._dropped = 0

    def kept(self, values: Values) -> dict[str, float]:
        """Return the values of a reading with these counters, and how many readings have found a lesser sum."""
        found = {name: value for name, value in values.items() if name.startswith(OF_OTHERS)}
        grown = {name: found.get(name, 0.0) - self._last.get(name, 0.0) for name in {*found, *self._last}}
        self._dropped += any(growth < 0 for growth in grown.values())
        for name, growth in grown.items():
            self._sums[name] = self._sums.get(name, 0.0) + max(0.0, growth)
        self._last = found
        kept = {**values, **self._sums, _DROPPED: float(self._dropped)}
        for name, value in _separated(kept).items():
            self._sums[name] = kept[name] = max(value, self._sums.get(name, value))
        return kept


def _separated(values: Values) -> dict[str, float]:
    """Return what is left of counters without what is counted apart, where both are counted.

    Reads: without those of others' files. Tables of our database that are not of the test are others', but for some
    small ones, which stay in the cache. Syncs of the log: those of all files without those of other files than the log.
    Writes of pages, where they are not counted by file: those of all files without the log's.
    """
    left: dict[str, float] = {}
    of_data = [v for name, v in values.items() if name.startswith(FILES) and name.endswith(".others")]
    for name, counter in _READS.items():
        if of_data and name in values:
            left[counter] = values[name] - sum(values.get(f"{whose}{counter}", 0.0) for whose in OF_OTHERS)
    if of_data and "status.INNODB_DATA_FSYNCS" in values:
        left["log_syncs"] = values["status.INNODB_DATA_FSYNCS"] - sum(of_data)
    if "pages.write_bytes" in values and "status.INNODB_DATA_WRITES" in values:
        left["page_writes"] = values["status.INNODB_DATA_WRITES"] - values.get("status.INNODB_LOG_WRITES", 0.0)
    return {f"{APART}{name}": value for name, value in left.items()}


def attributed(delta: EngineDelta, change: Values) -> EngineDelta:
    """Return a difference of counters without what is known to be others' work, and with its amounts in ``others``.

    What is taken out is a sum of counters, and never depends on how large another one is: the difference of a window is
    the sum of those of its parts.
    """
    changed, found, here = _rows_changed(change), change.get("others.rows_read"), _found_otherwise(delta, change)
    without = _without(delta, change)
    others: dict[str, float] = {}
    if changed is not None:
        others["rows_updated"] = changed
    if found is not None:
        others["rows_read"] = found + (here or 0.0)
    # Counts by table may be of more than those of all rows: of a row that was replaced, or of a later moment.
    unchanged = changed is not None and changed <= 0
    if unchanged and "tables.reads" in change and change.get("others.writes", 0.0) == 0:
        others |= dict.fromkeys(_OF_CHANGES, 0.0)
    if here is not None and here <= 0 and not change.get(_DROPPED):
        separate = [name for name in _OF_FILES if _is_separate(without, name, change, unchanged)]
        others |= {name: getattr(delta, name) - getattr(without, name) for name in separate}
    return replace(without, server_wide=_still_shared(without, others), others=others)


def _without(delta: EngineDelta, change: Values) -> EngineDelta:
    """Return the difference without others' reads, where reads are counted by file."""
    own: dict[str, Any] = {
        name: unit * change[f"{APART}{counter}"]
        for name, (counter, unit) in _OF_FILES.items()
        if getattr(delta, name) is not None and f"{APART}{counter}" in change
    }
    if own.keys() < _OF_FILES.keys():
        return delta
    fewer, faster = (getattr(delta, name) - own[name] for name in ("read_requests", "read_time_us"))
    waits = [_less(wait, fewer, faster) for wait in delta.timed_waits]
    return replace(delta, **own, timed_waits=[wait for wait in waits if wait.count > 0])


def _less(wait: TimedWait, count: float, time_us: float) -> TimedWait:
    return replace(wait, count=wait.count - count, time_us=wait.time_us - time_us)


def _reads_known(others: Values) -> bool:
    return others.keys() >= _OF_FILES.keys()


def _still_shared(delta: EngineDelta, others: Values) -> frozenset[str]:
    """Return what others' work can't be taken out of; all timed waits are reads."""
    known = {*others, "log"} if others.keys() >= set(_OF_CHANGES) else others.keys()
    events = set() if _reads_known(others) else {wait.event for wait in delta.timed_waits}
    return (_SERVER_WIDE - known) | events


def _rows_changed(change: Values) -> float | None:
    """Return the rows that others changed: all that were, without those of our tables and of the server's own."""
    ours, every = change.get("sharing.rows_changed"), change.get("every.rows_changed")
    return None if ours is None or every is None else every - ours


def _found_otherwise(delta: EngineDelta, change: Values) -> float | None:
    """Return the rows of the test tables that others read: not by the index that the work loop uses.

    A node of a Galera cluster finds the rows that other nodes changed in another way, too; those are the test's.
    """
    read, changed = change.get("sharing.rows_read"), change.get("sharing.rows_changed")
    if read is None or changed is None or delta.rows_read is None or delta.rows_updated is None:
        return None
    applied = changed - delta.rows_updated
    return read - delta.rows_read - applied


def _is_separate(own: EngineDelta, name: str, change: Values, unchanged: bool) -> bool:
    """Return whether reads of the engine's files are ours where they are not of others' tables.

    When others change rows, they read old row versions, too: too much may be read then from files that serve everybody.
    """
    (counter, unit), value = _OF_FILES[name], getattr(own, name)
    if value is None or f"tables.{counter}" not in change:
        return False
    return unchanged or value <= (1 + _SMALL_SHARE) * unit * change[f"tables.{counter}"]
