"""When the crashes of a cycle come: under load, in the midst of a checkpoint, and again while the server recovers.

Pages are torn while they are written and not yet synced. A server does that in checkpoints, in recovery, and whenever
its cache is too small for the load.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from random import Random
from threading import Event, Thread
from types import TracebackType
from typing import Self

from openslob.core.errors import SlobError
from openslob.core.units import NANOS
from openslob.engines.ledger import LedgerSession

# A cycle's load lasts for a random time, in s: long enough for some hundred commits, and for the server's own writing.
LOAD_S = (0.3, 1.5)
# In so many cycles the crash is aimed at a checkpoint; after so many the server crashes again while it recovers.
_AIMED, _AGAIN = 0.5, 0.33
# A checkpoint ends when its connection does: with the server at the latest.
_JOIN_S = 30.0
_LOOK_EVERY_S = 0.02


@dataclass(frozen=True)
class Moments:
    """The moments of a cycle.

    The load goes on for ``load_s`` seconds; a checkpoint is asked for after ``checkpoint_s`` of them. The crash comes
    at the end, or after the share ``into_checkpoint`` of that checkpoint. After the share ``into_recovery`` of the
    recovery the server crashes again; None: it does not.
    """

    load_s: float
    checkpoint_s: float
    into_checkpoint: float | None
    into_recovery: float | None

    @classmethod
    def draw(cls, random: Random) -> Moments:
        """Return random ones."""
        load_s = random.uniform(*LOAD_S)
        aimed, again = random.random() < _AIMED, random.random() < _AGAIN
        shares = random.random(), random.random(), random.random()
        return cls(load_s, shares[0] * load_s, shares[1] if aimed else None, shares[2] if again else None)


class Checkpoint:
    """A checkpoint beside the load, which a thread asks for ``after_s`` seconds from `start` on.

    A context, at whose end the server must have crashed or answered. The session is closed then.
    """

    def __init__(self, session: LedgerSession, after_s: float) -> None:
        self._session, self._after_s = session, after_s
        self._stop, self._begun = Event(), Event()
        self._begun_ns: int | None = None
        self._ended_ns: int | None = None
        self._error = ""
        self._thread = Thread(target=self._work, name="checkpoint", daemon=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        """Wait for its end, or keep it from beginning."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(_JOIN_S)
        if self._thread.is_alive():
            self._session.cut()
            self._thread.join(_JOIN_S)
        self._session.close()

    def start(self) -> None:
        """Let the time begin after which it is asked for."""
        self._thread.start()

    def wait_begun(self, stop: Event) -> bool:
        """Wait until it has begun; return False if ``stop`` is set before."""
        while not self._begun.wait(_LOOK_EVERY_S):
            if stop.is_set():
                return False
        return True

    @property
    def seconds(self) -> float | None:
        """How long it took; None if it did not end by itself."""
        if self._begun_ns is None or self._ended_ns is None or self._error:
            return None
        return (self._ended_ns - self._begun_ns) / NANOS

    def was_in_progress(self, at_ns: int) -> bool:
        """Return whether it was in progress at a moment of the monotonic clock."""
        begun, ended = self._begun_ns, self._ended_ns
        return begun is not None and begun <= at_ns and (ended is None or ended > at_ns)

    def complaint(self, crashed_ns: int) -> str:
        """Return what the server said if it made none; a crash in between is no reason."""
        return self._error if self._ended_ns is not None and self._ended_ns < crashed_ns else ""

    def _work(self) -> None:
        if self._stop.wait(self._after_s):
            return
        self._begun_ns = time.monotonic_ns()
        self._begun.set()
        try:
            self._session.checkpoint()
        except SlobError as error:
            self._error = str(error)
        self._ended_ns = time.monotonic_ns()
