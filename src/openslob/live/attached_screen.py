"""The screen of a command that measures: a process of its own, which has the command's terminal.

It gets lines from the command: the first lets it take the terminal, each later one says what the command does. When
there are no more lines, the command has ended, and so does the screen. It finds the record by the lock that the command
holds on it, so that the command does nothing for it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from openslob.kinds.contract import follow
from openslob.kinds.view import Follower
from openslob.live.screen.app import LiveScreen, give_way, run
from openslob.live.screen.canvas import Signs
from openslob.record import finding
from openslob.record.store import running_pid

_MOST_BYTES = 65_536


class Feed:
    """What a command says, ``said`` is the last of it, and the record that it writes."""

    def __init__(self, descriptor: int, results: Path, driver: int) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor = descriptor
        self.said = ""
        self._results = results
        self._driver = driver
        self._rest = b""
        self._folder: Path | None = None
        self._source: Follower | None = None

    def wait(self) -> bool:
        """Wait for the first line; return False if the command ends without any."""
        select.select([self.descriptor], [], [])
        return not self.listen()

    def listen(self) -> bool:
        """Read what the command says; return whether it has ended."""
        try:
            read = os.read(self.descriptor, _MOST_BYTES)
        except BlockingIOError:
            return False
        *lines, self._rest = (self._rest + read).split(b"\n")
        if lines:
            self.said = lines[-1].decode(errors="replace")
        return not read

    def source(self) -> Follower | None:
        """Return what reads the record that the command writes now, or wrote last."""
        if self._folder is None or running_pid(self._folder) != self._driver:
            found = self._find_written()
            if found is not None and found != self._folder:
                self._folder, self._source = found, follow(found)
        return self._source

    def _find_written(self) -> Path | None:
        """Return the folder that the command has locked, the newest if there are several."""
        try:
            folders = [Path(entry.path) for entry in os.scandir(self._results) if entry.is_dir()]
        except OSError:  # there is no record yet
            return None
        locked = [each for each in folders if running_pid(each) == self._driver]
        return max((each for each in locked if finding.at(each)), default=None)

    def stop(self) -> None:
        """Send the command what Ctrl-C sends it without a screen, unless it has ended."""
        if os.getppid() == self._driver:
            os.kill(self._driver, signal.SIGINT)


def main() -> int:
    """Show the record of the command that started this process, until one of the two ends."""
    given = json.loads(sys.argv[1])
    give_way()
    feed = Feed(given["feed"], Path(given["results"]), os.getppid())
    if not feed.wait():
        return 0
    screen = LiveScreen(None, Signs(given["ascii"], given["coloured"]), feed, shown=_telling(given["shown"]))
    return run(screen)


def _telling(descriptor: int) -> Callable[[], None]:
    """Return what tells the command that the screen is there, so that nothing is measured while it starts."""

    def tell() -> None:
        os.write(descriptor, b"\n")
        os.close(descriptor)

    return tell


if __name__ == "__main__":
    raise SystemExit(main())
