"""How a run is stopped from outside: once to end within a slice and keep the record, twice to leave at once."""

from __future__ import annotations

from threading import Event


class Interrupt:
    """Set by a signal handler, watched by everything that runs long. ``stop``: end soon; ``now``: leave at once."""

    def __init__(self) -> None:
        self.stop = Event()
        self.now = Event()
        self.requested = False

    def request(self) -> None:
        """Somebody wants the run to end: the first time soon, the second time now."""
        if self.requested:
            self.now.set()
        self.requested = True
        self.stop.set()
