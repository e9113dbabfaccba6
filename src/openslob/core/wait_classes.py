"""The kind of resource that a wait event is about, by its name."""

from __future__ import annotations

import re

from openslob.core.measurement import WaitClass

CPU_EVENT = "CPU"

# Engines name events `Class:Event`. Class Stage is the stage of a session's statement, whatever the session waits for.
# A session that waits for another one to flush the log shows as waiting for a lock. Therefore the pattern of the log is
# tried before that of locks and is searched in the whole name; the other patterns are searched in the class only.
# Waits for a scheduler of the server's own are waits for a CPU; those of class Application are for other transactions.
_CLASSES = (
    (WaitClass.STAGE, re.compile(r"^stage:", re.IGNORECASE)),
    (WaitClass.LOG, re.compile(r"(wal|redo|log).*(sync|write|flush)|^configuration:log\b", re.IGNORECASE)),
    (WaitClass.LOCK, re.compile(r"^[^:]*(lock|latch|pin|concurrency|application)", re.IGNORECASE)),
    (WaitClass.CPU, re.compile(r"^scheduler:", re.IGNORECASE)),
    (WaitClass.CLUSTER, re.compile(r"^cluster:", re.IGNORECASE)),
    (WaitClass.DATA_IO, re.compile(r"^[^:]*\b(io|i/o)\b", re.IGNORECASE)),
)


def classify_wait(event: str) -> WaitClass:
    """Return the kind of resource of an event named ``Class:Event``, for engines that do not give its class."""
    if event == CPU_EVENT:
        return WaitClass.CPU
    return next((kind for kind, pattern in _CLASSES if pattern.search(event)), WaitClass.OTHER)
