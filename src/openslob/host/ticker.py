"""A thread that acts at t0 + k × interval: late is late once, it never shifts what follows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from openslob.units import NANOS


def next_tick(last: int, now_ns: int, t0_ns: int, interval_ns: int) -> tuple[int, int]:
    """The tick to act on after tick ``last``, and how many were missed: those that fell due before ``now_ns``.

    Tick k is due at t0 + k × interval. A missed one is not made up for: it would show another moment than it says.
    """
    upcoming = -((t0_ns - now_ns) // interval_ns)
    number = max(last + 1, upcoming)
    return number, number - last - 1


class Ticker:
    """Calls ``action`` at t0, t0 + interval, … on a thread of its own until `stop`.

    ``done`` counts actions, ``missed`` the due times let pass because an action took too long. An exception of the
    action ends the ticker; it stands in ``error`` at once, and `stop` returns it.
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
        """Begin, once: the first action at ``t0_ns`` (``time.monotonic_ns``), or now."""
        t0 = time.monotonic_ns() if t0_ns is None else t0_ns
        self._thread = threading.Thread(target=self._run, args=(t0,), name=self._name, daemon=True)
        self._thread.start()

    def stop(self) -> Exception | None:
        """End without waiting for the next tick; an action under way is waited for. Returns what ended it early."""
        self._stop.set()
        if self._thread:
            self._thread.join()
        return self.error

    def _run(self, t0_ns: int) -> None:
        tick = 0
        while not self._stop.wait(max(0, t0_ns + tick * self._interval_ns - time.monotonic_ns()) / NANOS):
            try:
                self._action()
            except Exception as error:  # whatever it is, it is the owner's, who gets it from `stop`
                self.error = error
                return
            self.done += 1
            tick, missed = next_tick(tick, time.monotonic_ns(), t0_ns, self._interval_ns)
            self.missed += missed
