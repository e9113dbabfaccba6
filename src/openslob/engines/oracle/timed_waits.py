"""The waits that the server counts and times itself, by its own classes, with their durations."""

from __future__ import annotations

from collections.abc import Mapping

from openslob.metrics.measurement import TimedWait, WaitClass

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
_WAITS, _US, _HISTOGRAM = "event.waits.", "event.us.", "histogram."


def class_of(event: str) -> WaitClass:
    """Return the kind of resource of an event named ``Class:event``."""
    group, _, name = event.partition(":")
    if group in _NAMED_IN:
        found = next((kind for beginning, kind in _BY_NAME.items() if name.startswith(beginning)), None)
        if found:
            return found
    return CLASSES.get(group, WaitClass.OTHER)


def timed_waits(change: Mapping[str, float]) -> tuple[TimedWait, ...]:
    """Return the events that sessions waited for in an interval."""
    durations = _durations(change)
    found = []
    for key, count in change.items():
        if not key.startswith(_WAITS) or count <= 0:
            continue
        event = key.removeprefix(_WAITS)
        time_us = change.get(f"{_US}{event}", 0.0)
        found.append(TimedWait(event, class_of(event), count, time_us, durations.get(event.partition(":")[2])))
    return tuple(found)


def _durations(change: Mapping[str, float]) -> dict[str, dict[tuple[int, int], int]]:
    """Return the waits by event and duration. A bucket of the server's has those from half its limit to just below it.

    Background processes' waits are among them.
    """
    found: dict[str, dict[tuple[int, int], int]] = {}
    for key, count in change.items():
        if key.startswith(_HISTOGRAM) and count > 0:
            event, _, limit = key.removeprefix(_HISTOGRAM).rpartition(".")
            found.setdefault(event, {})[(int(limit) // 2, int(limit))] = int(count)
    return found
