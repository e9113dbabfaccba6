"""The live screen of a command that measures: a process of its own, which has the terminal meanwhile.

The command goes on whatever becomes of the screen. While the screen has the terminal, messages are kept, and printed
after it.
"""

from __future__ import annotations

import codecs
import curses
import json
import locale
import os
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from openslob.cli.console import keep_messages, notify, print_kept_messages
from openslob.cli.output import OUTPUT

LIVE = Annotated[
    bool, typer.Option("--live/--no-live", metavar="", help="Show the live screen; q leaves it, and the run goes on.")
]
# The terminal; standard output may be a file, which gets the report.
_STDERR = 2
LIVE_OR_NOT = Annotated[
    bool | None,
    typer.Option(
        "--live/--no-live", metavar="", show_default="on a terminal",
        help="Show the live screen; q leaves it, and the demonstration goes on.",
    ),
]  # fmt: skip
# How long the screen may take to start, and to end.
STARTS_S, ENDS_S = 10.0, 3.0
# Leave the other screen, show the cursor, wrap lines, report neither focus, pastes nor sizes, plain text.
_LEFT_BEHIND = "\x1b[?1049l\x1b[?25h\x1b[?7h\x1b[?1004l\x1b[?2004l\x1b[?2048l\x1b[0m"
# Terminals that lack most signs of plots whatever the locale is: the fonts of consoles.
_ASCII_TERMINALS = ("linux", "vt100", "vt102", "vt220")


def why_no_screen() -> str:
    """Return why the live screen can't be shown; empty if it can."""
    if os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        return "TERM is not that of a terminal that can be drawn on"
    for name, stream in (("standard input", sys.__stdin__), ("standard error", sys.__stderr__)):
        if stream is None or stream.closed or not stream.isatty():
            return f"{name} is not a terminal"
    try:
        if os.tcgetpgrp(sys.__stderr__.fileno()) != os.getpgrp():  # type: ignore[union-attr]
            return "the command runs in the background"
    except OSError as error:
        return f"the terminal can't be used: {error.strerror}"
    return ""


def is_ascii() -> bool:
    """Return whether plots may have ASCII signs only, by the locale and the terminal."""
    asked_for = os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or ""
    encoding = codecs.lookup(locale.getpreferredencoding(False)).name
    return asked_for in ("C", "POSIX") or encoding != "utf-8" or os.environ.get("TERM") in _ASCII_TERMINALS


def is_coloured() -> bool:
    """Return whether the terminal has colours, and the user wants them."""
    if not OUTPUT.is_coloured(sys.stderr):
        return False
    with suppress(curses.error):
        curses.setupterm(fd=sys.__stderr__.fileno() if sys.__stderr__ else 2)
        return curses.tigetnum("colors") >= 8
    return True


class Viewer:
    """The screen of this command, if it has one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._feed = self._shown = -1
        self._mode: Any = None
        self._has_terminal = False

    def start(self, results: Path) -> None:
        """Start the process, which waits for `begin`."""
        feed, self._feed = os.pipe()
        self._shown, shown = os.pipe()
        os.set_blocking(self._feed, False)
        given = {
            "feed": feed,
            "shown": shown,
            "results": str(results.absolute()),
            "ascii": is_ascii(),
            "coloured": is_coloured(),
        }
        command = [sys.executable, "-P", "-m", "openslob.live.attached_screen", json.dumps(given)]
        # Ctrl-C ends the command and not the screen, which inherits the mask.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            self._process = subprocess.Popen(command, stdout=_STDERR, pass_fds=[feed, shown])
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            os.close(feed)
            os.close(shown)

    @property
    def waits(self) -> bool:
        """Whether the screen waits for `begin`."""
        return self._process is not None and not self._has_terminal

    def begin(self) -> None:
        """Give the terminal to the screen, and wait until it is there: nothing is measured while it starts."""
        if self._has_ended():
            return
        self._mode = termios.tcgetattr(sys.__stdin__.fileno()) if sys.__stdin__ else None
        self._has_terminal = True
        keep_messages()
        self._send("")
        if not select.select([self._shown], [], [], STARTS_S)[0] or not os.read(self._shown, 1):
            self.end()
            notify("the live screen did not start; the measurement goes on without it")

    def say(self, text: str) -> bool:
        """Let the screen show what the command does; return False if the screen does not have the terminal."""
        if self._has_terminal and not self._has_ended():
            self._send(text)
        return self._has_terminal

    @property
    def has_terminal(self) -> bool:
        """Whether the screen has the terminal."""
        return self._has_terminal and not self._has_ended()

    def end(self) -> None:
        """End the screen, however it is, and have the terminal as it was."""
        if self._process is None:
            return
        os.close(self._feed)
        os.close(self._shown)
        if not self._has_terminal:
            self._process.kill()
        try:
            self._process.wait(ENDS_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._take_back(self._process.wait())

    def _has_ended(self) -> bool:
        """Return whether the screen has ended; the terminal is the command's again then."""
        code = self._process.poll() if self._process else 0
        if code is None:
            return False
        if self._process:
            os.close(self._feed)
            os.close(self._shown)
            had_terminal = self._has_terminal
            self._take_back(code)
            if had_terminal:
                ended = "the live screen ended by itself" if code else "the live screen is closed"
                notify(f"{ended}; the measurement goes on, and `slob live` shows it again")
        return True

    def _take_back(self, code: int) -> None:
        self._process = None
        if not self._has_terminal:
            return
        self._has_terminal = False
        if code and self._mode and sys.__stdin__:
            with suppress(termios.error):
                termios.tcsetattr(sys.__stdin__.fileno(), termios.TCSADRAIN, self._mode)
            sys.stderr.write(_LEFT_BEHIND)
            sys.stderr.flush()
        print_kept_messages()

    def _send(self, text: str) -> None:
        """Send a line, unless the screen does not read."""
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(self._feed, f"{' '.join(text.split())}\n".encode()[: select.PIPE_BUF])


# Of this process.
VIEWER = Viewer()


@contextmanager
def viewing(wanted: bool | None, results: Path) -> Iterator[None]:
    """Show the records that are written in this block on the live screen.

    ``wanted`` is what the user says: a line tells why there is no screen. None: nothing was said, and there is a screen
    where there can be one, unless the user wants to see only the result.
    """
    why = why_no_screen()
    if wanted and why:
        notify(f"no live screen: {why}")
    if why or not (wanted if wanted is not None else not OUTPUT.quiet):
        yield
        return
    VIEWER.start(results)
    try:
        yield
    finally:
        VIEWER.end()
