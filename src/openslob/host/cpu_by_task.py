"""The server's CPU by kind of process or thread: the log writer's share, the sessions', the checkpointer's.

The engine says what each of them is for; where it says nothing the name that the kernel has for a thread stands, if it
is another one than the server's. What has neither, and what ended in the interval, is not told apart.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

from openslob.host.processes import Tasks

NOT_TOLD_APART = "not told apart"
# Threads of one kind are often numbered.
_NUMBER = re.compile(r"[-_/:]?\d+$")
# Clock ticks are 10 ms; more digits are what binary fractions add.
_DIGITS = 6
WHY_NONE = "the server's processes and threads could not be told apart"


def cpu_by_kind(before: Tasks, after: Tasks, kinds: Mapping[int, str], server_cpu_s: float) -> dict[str, float] | None:
    """CPU seconds by kind between two readings; None when no kind is known of any.

    ``kinds`` are the engine's words by the system's number. ``server_cpu_s`` is the server's CPU of the interval, from
    which what was not told apart is reckoned: the clock ticks of many tasks, rounded down, make it uncertain by some.
    """
    program = next(iter(after.values())).name if after else ""  # the main process comes first
    found: dict[str, float] = defaultdict(float)
    for task, now in after.items():
        kind = kinds.get(task[0]) or (_NUMBER.sub("", now.name) if now.name != program else None)
        if kind:
            found[kind] += now.cpu_s - (before[task].cpu_s if task in before else 0.0)
    if not found:
        return None
    told = {**found, NOT_TOLD_APART: max(0.0, server_cpu_s - sum(found.values()))}
    return {kind: round(seconds, _DIGITS) for kind, seconds in told.items()}
