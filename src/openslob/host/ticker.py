"""A thread that acts at t0 + k × interval. A late action does not shift the following ones."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from openslob.units import NANOS


def next_tick(last: int, now_ns: int, t0_ns: int, interval_ns: int) -> tuple[int, int]:
    """Return the number of the next tick after ``last``, and how many ticks were missed, being due before ``now_ns``.

    Tick k is due at t0 + k × interval. A missed tick is not made up for: its reading would have a wrong time.
    """
    upcoming = -((t0_ns - now_ns) // interval_ns)
    number = max(last + 1, upcoming)
    return number, number - last - 1


class Ticker:
    """Calls ``action`` at t0, t0 + interval, … on a separate thread until `stop`.

    ``done`` counts the actions, ``missed`` the ticks that were skipped because an action took too long. An exception in
    the action ends the ticker; it is in ``error`` at once, and `stop` returns it.
    """

    def __init__(self, interval_s: float, action: Callable[[], None], name: str = "ticker") -> None:
        self.done = 0
        self.missed = 0
        self.error: Exception | None = None
        self._interval_ns = round(interval_s * NANOS)
        self._action = action
        self._name = name
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, t0_ns: int | None = None) -> None:
        """Start the thread, once. The first action is at ``t0_ns`` (``time.monotonic_ns``), or now."""
        t0 = time.monotonic_ns() if t0_ns is None else t0_ns
        self._thread = threading.Thread(target=self._run, args=(t0,), name=self._name, daemon=True)
        self._thread.start()

    def stop(self) -> Exception | None:
        """Stop, after the current action if there is one. Return the exception that ended the ticker, if any."""
        self._stop.set()
        if self._thread:
            self._thread.join()
        return self.error

    def _run(self, t0_ns: int) -> None:
        tick = 0
        while not self._stop.wait(max(0, t0_ns + tick * self._interval_ns - time.monotonic_ns()) / NANOS):
            try:
                self._action()
            except Exception as error:  # the owner receives it from `stop`
                self.error = error
                return
            self.done += 1
            tick, missed = next_tick(tick, time.monotonic_ns(), t0_ns, self._interval_ns)
            self.missed += missed
