"""The live line: redrawn on a terminal and never wider than it, a line now and then elsewhere."""

from __future__ import annotations

import os
import pty
import select
import sys
from collections.abc import Iterator
from io import StringIO
from typing import IO

import pytest

from openslob.cli.progress import LiveLine
from openslob.run.recorder import Progress

WINDOW = Progress("window", 3, 10, ops_per_s=98)


@pytest.fixture
def terminal() -> Iterator[tuple[int, IO[str]]]:
    reader, writer = pty.openpty()
    with os.fdopen(writer, "w") as stderr:
        yield reader, stderr
    os.close(reader)


def written(terminal: tuple[int, IO[str]]) -> str:
    reader, stderr = terminal
    stderr.flush()
    text = b""
    while select.select([reader], [], [], 0.2)[0]:
        text += os.read(reader, 10_000)
    return text.decode()


def test_on_a_terminal_one_line_is_redrawn_and_removed(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal[1])  # here, since pytest sets its own between fixtures and tests
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "24")
    live = LiveLine("cached")
    live(WINDOW)
    live(WINDOW)
    shown = written(terminal)
    assert shown.count("cached: window 3 of 10…") == 2
    assert "\n" not in shown
    assert shown.rindex("\r\x1b[2K") > shown.index("cached")
    assert shown.rindex("\x1b[?25h") > shown.rfind("\x1b[?25l")
    live.clear()
    assert written(terminal).endswith("\r\x1b[1A\x1b[2K")
    live(WINDOW)
    assert "cached" in written(terminal)
    live.clear()


@pytest.mark.parametrize("term", ["dumb", "unknown"])
def test_a_terminal_that_cannot_redraw_gets_lines(terminal, monkeypatch, term):
    monkeypatch.setattr(sys, "stderr", terminal[1])
    monkeypatch.setenv("TERM", term)
    LiveLine()(WINDOW)
    assert written(terminal) == "window 3 of 10 s · 98 ops/s\r\n"


def test_elsewhere_a_line_is_printed_when_the_phase_changes(monkeypatch):
    stderr = StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setenv("FORCE_COLOR", "1")
    live = LiveLine()
    for progress in (Progress("warm-up", 1, 2), WINDOW, WINDOW):
        live(progress)
    live.clear()
    assert stderr.getvalue() == "warm-up\nwindow 3 of 10 s · 98 ops/s\n"
