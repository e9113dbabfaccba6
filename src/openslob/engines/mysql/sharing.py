"""Which of the server's counters include other sessions' work, and how much of them is theirs.

The server counts few things by session. It counts rows by table and reads by file, though, and what is of no table of
ours is others' work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from openslob.measurement import EngineDelta, TimedWait

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
_HANDLER = ("HANDLER_DELETE", "HANDLER_UPDATE", "HANDLER_WRITE")
# Reads of files that serve everybody may be anybody's. So small a share of ours does not matter.
_SMALL_SHARE = 0.01


def attributed(delta: EngineDelta, change: Values) -> EngineDelta:
    """Return a difference of counters without what is known to be others' work, and with its amounts in ``others``."""
    changed, found, here = _rows_changed(change), change.get("others.rows_read"), _found_otherwise(delta, change)
    known: dict[str, float | None] = {"rows_updated": changed}
    if found is not None:
        known["rows_read"] = max(0.0, found) + (here or 0.0)
    if changed == 0 and "tables.reads" in change and change.get("others.writes", 0.0) == 0:
        known |= dict.fromkeys(_OF_CHANGES, 0.0)
    if here == 0:
        known |= {name: _reads(delta, name, change, changed) for name in _OF_FILES}
    others = {name: theirs for name, theirs in known.items() if theirs is not None}
    return replace(delta, **_without(delta, others), server_wide=_still_shared(delta, others), others=others)


def _without(delta: EngineDelta, others: Values) -> dict[str, Any]:
    """Return the fields that others' work is taken out of."""
    amounts = {name: getattr(delta, name) for name in others.keys() & _SERVER_WIDE}
    own = {name: value - others[name] for name, value in amounts.items() if value is not None}
    if not _reads_known(others):
        return own
    waits = [_less(wait, others["read_requests"], others["read_time_us"]) for wait in delta.timed_waits]
    return {**own, "timed_waits": [wait for wait in waits if wait.count > 0]}


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
    ours, every = change.get("sharing.rows_changed"), [change.get(f"status.{name}") for name in _HANDLER]
    if ours is None or None in every:
        return None
    return max(0.0, sum(value for value in every if value is not None) - ours)


def _found_otherwise(delta: EngineDelta, change: Values) -> float | None:
    """Return the rows of the test tables that others read: not by the index that the work loop uses.

    A node of a Galera cluster finds the rows that other nodes changed in another way, too; those are the test's.
    """
    read, changed = change.get("sharing.rows_read"), change.get("sharing.rows_changed")
    if read is None or changed is None or delta.rows_read is None or delta.rows_updated is None:
        return None
    applied = changed - delta.rows_updated
    return max(0.0, read - delta.rows_read - applied)


def _reads(delta: EngineDelta, name: str, change: Values, changed: float | None) -> float | None:
    """Return what others read; None when too much was read from files that serve all who change rows."""
    counter, unit = _OF_FILES[name]
    total: float | None = getattr(delta, name)
    own = change.get(f"tables.{counter}")
    # Tables of our database that are not of the test are others', but for some small ones, which stay in the cache.
    theirs = change.get(f"others.{counter}", 0.0) + change.get(f"ours.{counter}", 0.0)
    if total is None or own is None or theirs < 0:
        return None
    own, theirs = own * unit, theirs * unit
    everybody_s = max(0.0, total - own - theirs)
    if changed == 0 or everybody_s <= _SMALL_SHARE * own:
        return min(theirs, total)
    return total - own if changed and delta.rows_updated == 0 else None
