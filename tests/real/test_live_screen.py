"""The live screen of a command on a terminal: whatever becomes of the screen, the command goes on and has its terminal.

The command is one that writes a record and measures nothing, so no server is needed.
"""

import os
import pty
import select
import signal
import subprocess
import sys
import termios
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from factories.running import eventually

COMMAND = """
import fcntl, os, sys, termios, time
from pathlib import Path
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
sys.argv[1:] = sys.argv[1:2]
from openslob.cli.console import notify, stoppable
from openslob.cli.progress import LiveLine
from openslob.cli.screen import viewing
from openslob.record.store import RunFolder
from openslob.kinds.run.progress import RunProgress
from factories.record_files import record
results = Path(sys.argv[1])
line = LiveLine()
with stoppable() as interrupt, viewing(True, results), RunFolder.begin(results, record()) as folder:
    begun, told = time.monotonic(), False
    while not (results / "end").exists() and time.monotonic() < begun + 60:
        line(RunProgress("window", time.monotonic() - begun, 60))
        if interrupt.requested and not told:
            told = True
            notify("asked to stop")
            (results / "asked").touch()
        time.sleep(0.05)
line.clear()
print("the report")
"""
TESTS = Path(__file__).parent.parent


class Terminal:
    """A terminal with the command on it; ``shown`` is all that was written on it."""

    def __init__(self, results):
        self.results = results
        self.end, self.other = pty.openpty()
        termios.tcsetwinsize(self.other, (24, 80)) if hasattr(termios, "tcsetwinsize") else None
        self.mode = termios.tcgetattr(self.other)
        environment = os.environ | {"TERM": "xterm-256color", "PYTHONPATH": os.pathsep.join([*sys.path, str(TESTS)])}
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, str(results)],
            stdin=self.other, stdout=self.other, stderr=self.other, env=environment,
        )  # fmt: skip
        self.shown = ""

    def shows(self, text):
        return eventually(lambda: text in self._read())

    def screen(self):
        """The process of the screen."""
        return psutil.Process(self.process.pid).children()[0]

    def type(self, keys):
        os.write(self.end, keys.encode())

    def is_as_before(self):
        return termios.tcgetattr(self.other)[:4] == self.mode[:4]

    def finish(self):
        """End the command; whether it printed its report on the terminal as it was."""
        (self.results / "end").touch()
        shown = self.shows("the report")
        return shown and self.process.wait(60) == 0 and self.is_as_before()

    def _read(self):
        while select.select([self.end], [], [], 0)[0]:
            self.shown += os.read(self.end, 65_536).decode(errors="replace")
        return self.shown


@contextmanager
def terminal(results):
    on = Terminal(results)
    try:
        yield on
    finally:
        with suppress(ProcessLookupError):
            os.killpg(on.process.pid, signal.SIGKILL)
        on.process.wait()
        os.close(on.end)
        os.close(on.other)


@pytest.mark.parametrize("how", ["left", "killed"])
def test_a_screen_that_ends_leaves_the_command_and_its_terminal_as_they_were(tmp_path, how):
    with terminal(tmp_path) as on:
        assert on.shows("Overview")
        assert not on.is_as_before()
        on.type("\x03")
        assert eventually((tmp_path / "asked").exists), "Ctrl-C reaches the command"
        assert "asked to stop" not in on.shown
        if how == "left":
            on.type("q")
            assert on.shows("the live screen is closed; the measurement goes on")
        else:
            on.screen().kill()
            assert on.shows("the live screen ended by itself; the measurement goes on")
        assert on.shows("slob: asked to stop"), "it waited for the terminal"
        assert on.is_as_before()
        assert on.finish()


def test_a_screen_ends_with_its_command(tmp_path):
    with terminal(tmp_path) as on:
        assert on.shows("Overview")
        screen = on.screen()
        assert on.finish()
        assert on.shown.index("\x1b[?1049l") < on.shown.index("the report")
        assert not screen.is_running()
