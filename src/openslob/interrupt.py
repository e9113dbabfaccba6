"""Stopping a run from outside: the first request ends it within a slice and keeps the record, the second at once."""

from __future__ import annotations

import time
from threading import Event


class Interrupt:
    """Set by a signal handler, checked by everything that runs long. ``stop``: end soon; ``now``: end at once.

    ``stop_at`` and ``now_at`` are when each was first requested, by the monotonic clock in seconds.
    """

    def __init__(self) -> None:
        self.stop = Event()
        self.now = Event()
        self.requested = False
        self.stop_at: float | None = None
        self.now_at: float | None = None

    def request(self) -> None:
        """Ask the run to end: the first time soon, the second time at once."""
        at = time.monotonic()
        if self.requested:
            self.now_at = self.now_at or at
            self.now.set()
        self.stop_at = self.stop_at or at
        self.requested = True
        self.stop.set()
