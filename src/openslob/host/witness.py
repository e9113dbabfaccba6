"""What is seen of a server of this host from outside, from a moment on: its processes and its log."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import psutil

from openslob.core.errors import SlobError
from openslob.host.server_log import ServerLog, complaints_in, lives

# How long a server that aborts may write to its log, in s.
_ABORT_S = 2.0
_LOOK_EVERY_S = 0.05


@dataclass(frozen=True)
class Witness:
    """What is seen of a server's processes and its log, from a moment on. ``others`` are the processes it had then."""

    main: psutil.Process
    others: frozenset[psutil.Process]
    log: ServerLog | None

    @classmethod
    def begin(cls, pid: int | None) -> Witness:
        """Look at the server with this main process. SlobError if it does not run."""
        try:
            main = psutil.Process(-1 if pid is None else pid)
            return cls(main, frozenset(main.children()), ServerLog.of(main.pid))
        except (psutil.Error, ValueError) as error:
            raise SlobError("the server is not running", "see its log") from error

    def lives(self) -> bool:
        """Return whether the main process is there."""
        return lives(self.main)

    def has_restarted(self) -> bool:
        """Return whether none of the processes is left that the main one had."""
        try:
            return bool(self.others) and self.others.isdisjoint(self.main.children())
        except psutil.Error:
            return False

    def await_end(self) -> None:
        """Wait a little for a server that ends or restarts: one that aborts first writes to its log for a while."""
        until = time.monotonic() + _ABORT_S
        while time.monotonic() < until and self.lives() and not self.has_restarted():
            time.sleep(_LOOK_EVERY_S)

    def complaints(self) -> Iterator[str]:
        """Yield what the log complained of."""
        if self.log:
            yield from complaints_in(self.log.lines())
