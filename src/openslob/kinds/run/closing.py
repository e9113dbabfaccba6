"""Readings of the counters from the planned end of a window on, for sessions of whose end one hears late.

What sessions of other processes did is asked for now and then, and on a busy host the answer takes a part of a second.
Counters that are read only then span more time than the load.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Generic, TypeVar

from openslob.core.errors import SlobError

# The first readings follow each other closely. Should sessions end late, they get rarer.
FIRST_PAUSE_S, SLOWER, LONGEST_PAUSE_S = 0.01, 1.3, 1.0
Reading = TypeVar("Reading")


class ClosingReadings(Thread, Generic[Reading]):
    """Calls ``read`` again and again, from ``in_s`` seconds from now on, until it fails or `end` is called.

    ``before`` is called before the first time.
    """

    def __init__(self, in_s: float, before: Callable[[], object], read: Callable[[], Reading]) -> None:
        super().__init__(name="closing", daemon=True)
        self._begins_at = time.monotonic() + in_s
        self._before, self._read, self._over = before, read, Event()
        self._found: list[tuple[int, Reading]] = []

    def run(self) -> None:
        """Wait for the planned end, and read."""
        if self._over.wait(max(0.0, self._begins_at - time.monotonic())):
            return
        self._before()
        pause_s = FIRST_PAUSE_S
        while not self._over.wait(pause_s):
            asked_ns = time.monotonic_ns()
            try:
                self._found.append((asked_ns, self._read()))
            except SlobError:
                # Whoever reads once the sessions have ended gets the error, too.
                return
            pause_s = min(LONGEST_PAUSE_S, SLOWER * pause_s)

    def end(self) -> None:
        """Read no more, after a reading under way."""
        self._over.set()
        self.join()

    def first_after(self, ended_ns: int) -> Reading | None:
        """Return the first reading that was begun at ``ended_ns`` of the monotonic clock or later, if any."""
        return next((reading for asked_ns, reading in self._found if asked_ns >= ended_ns), None)
