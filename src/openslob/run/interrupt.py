"""Stopping a run from outside: the first request ends it within a slice and keeps the record, the second at once."""

from __future__ import annotations

from threading import Event


class Interrupt:
    """Set by a signal handler, checked by everything that runs long. ``stop``: end soon; ``now``: end at once."""

    def __init__(self) -> None:
        self.stop = Event()
        self.now = Event()
        self.requested = False

    def request(self) -> None:
        """Ask the run to end: the first time soon, the second time at once."""
        if self.requested:
            self.now.set()
        self.requested = True
        self.stop.set()
