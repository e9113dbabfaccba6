"""The progress of a run: a bar with rates that is redrawn on a terminal, lines now and then elsewhere."""

from __future__ import annotations

import os
import pty
import re
import select
import sys
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from typing import IO

import pytest
from rich.console import Console

from factories.tables import table
from openslob.cli import progress as progress_module
from openslob.cli.bars import screen
from openslob.cli.output import OUTPUT
from openslob.cli.progress import LiveLine, LoadView, show_count, working
from openslob.core.histogram import bucket_of
from openslob.engines.facts import LoadProgress
from openslob.kinds.run.progress import Amounts, Rates, RunProgress

RATES = Rates(ops=98, visits=6272, commits=9.8, reads=6100, mean_us=500, p99_us=1200)
WINDOW = RunProgress("window", 3, 10, rates=RATES)
SHOWN = "6,100 reads/s · 6,272 visits/s · 9.80 commits/s · p99 1.20 ms"


@pytest.fixture
def terminal() -> Iterator[tuple[int, IO[str]]]:
    reader, writer = pty.openpty()
    with os.fdopen(writer, "w") as stderr:
        yield reader, stderr
    os.close(reader)


def not_a_terminal(monkeypatch) -> StringIO:
    """Return what stands for standard error; called in the test, since pytest sets its own after fixtures."""
    stream = StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def written(terminal: tuple[int, IO[str]]) -> str:
    reader, stderr = terminal
    stderr.flush()
    text = b""
    while select.select([reader], [], [], 0.2)[0]:
        text += os.read(reader, 10_000)
    return text.decode()


def lines_of(heading, progress, width):
    console = Console(width=200, file=StringIO(), color_system=None)
    with console.capture() as captured:
        console.print(screen(heading, progress, width))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_a_last_reading_of_the_window_does_not_begin_it_again(monkeypatch):
    stream = not_a_terminal(monkeypatch)
    line = LiveLine()
    for progress in (RunProgress("window", 1, 5), RunProgress("read-out"), RunProgress("window", 5, 5)):
        line(progress)
    assert re.findall("window|read-out", stream.getvalue()) == ["window", "read-out"]


def test_on_a_terminal_the_bar_is_redrawn_and_removed(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal[1])  # here, since pytest sets its own between fixtures and tests
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    live = LiveLine("cached")
    live(WINDOW)
    live(WINDOW)
    shown = written(terminal)
    assert shown.count("3 of 10 s, 7 s left") == 2
    assert shown.rindex("\r\x1b[2K") > shown.index("cached")
    assert shown.rindex("\x1b[?25h") > shown.rfind("\x1b[?25l")
    live.clear()
    assert written(terminal).endswith("\r" + 3 * "\x1b[1A\x1b[2K")
    live(WINDOW)
    assert "cached" in written(terminal)
    live.clear()


@table("width", [30, 40, 79, 119, 199])
def test_the_bar_is_not_wider_than_the_terminal_and_shows_every_rate(width):
    lines = lines_of("[3 of 24] sessions 8, 20 % updates, 12 min left", WINDOW, width)
    assert max(map(len, lines)) <= width
    for rate in SHOWN.split(" · "):
        assert any(rate in line for line in lines)
    assert any("7 s left" in line for line in lines)


def test_the_bar_of_80_columns():
    assert lines_of("", WINDOW, 79) == [f"window  {'━' * 15}{' ' * 37}3 of 10 s, 7 s left", SHOWN]


@table(
    ("progress", "line"),
    [
        (RunProgress("check"), "check"),
        (RunProgress("window", 12, 0), "window  12 s"),
        (RunProgress("sessions load their own tables", done=5, total=10), "5 of 10 blocks"),
        (RunProgress("connect", done=400, total=1000, unit="sessions"), "400 of 1,000 sessions"),
    ],
)
def test_a_phase_without_a_planned_length_has_no_bar(progress, line):
    assert line in lines_of("", progress, 79)[0]


@pytest.mark.parametrize("term", ["dumb", "unknown"])
def test_a_terminal_that_cannot_redraw_gets_lines(terminal, monkeypatch, term):
    monkeypatch.setattr(sys, "stderr", terminal[1])
    monkeypatch.setenv("TERM", term)
    LiveLine()(WINDOW)
    assert written(terminal) == f"window 3 of 10 s · {SHOWN}\r\n"


def test_elsewhere_a_line_is_printed_when_the_phase_changes(monkeypatch):
    stderr = not_a_terminal(monkeypatch)
    monkeypatch.setenv("FORCE_COLOR", "1")
    live = LiveLine()
    for progress in (RunProgress("warm-up", 0, 2), WINDOW, WINDOW):
        live(progress)
    live.clear()
    assert stderr.getvalue() == f"warm-up\nwindow 3 of 10 s · {SHOWN}\n"


@table(("total_s", "at_least_s"), [(5, 10), (3600, 10), (8 * 3600, 60), (24 * 3600, 300), (0, 10), (10 * 86400, 1800)])
def test_elsewhere_long_phases_have_few_lines(monkeypatch, total_s, at_least_s):
    stderr = not_a_terminal(monkeypatch)
    now = [0.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[0])
    live = LiveLine()
    for at_s in range(0, 3 * at_least_s, 5):
        now[0] = 1e6 + at_s
        live(RunProgress("window", at_s, total_s))
    assert stderr.getvalue().count("window") == 3


def test_the_time_left_of_the_whole_is_in_its_heading(monkeypatch):
    stderr = not_a_terminal(monkeypatch)
    LiveLine("[3 of 24]", left_s=725)(RunProgress("check"))
    assert stderr.getvalue() == "[3 of 24], 12 min 5 s left: check\n"


def test_quiet_means_no_progress(monkeypatch):
    stderr = not_a_terminal(monkeypatch)
    monkeypatch.setattr(OUTPUT, "quiet", True)
    LiveLine()(WINDOW)
    with LoadView(8192) as view:
        view(LoadProgress("filling", 1, 2))
    assert stderr.getvalue() == ""


OBSERVED = RunProgress("observing", 3, 60, said=("6,100 reads/s", "98 transactions/s"))


def test_what_is_said_of_a_load_that_is_not_ours_takes_the_place_of_rates(monkeypatch):
    stderr = not_a_terminal(monkeypatch)
    LiveLine()(OBSERVED)
    assert stderr.getvalue() == "observing 3 of 60 s · 6,100 reads/s · 98 transactions/s\n"
    assert lines_of("", OBSERVED, 79)[1] == "6,100 reads/s · 98 transactions/s"


def test_beside_another_programs_output_there_are_lines_on_a_terminal_too(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal[1])
    monkeypatch.setenv("TERM", "xterm")
    LiveLine(drawn=False)(OBSERVED)
    assert written(terminal) == "observing 3 of 60 s · 6,100 reads/s · 98 transactions/s\r\n"


def test_what_takes_long_is_shown_on_a_terminal_until_it_is_over(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal[1])
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(progress_module, "PATIENCE_S", 0.01)
    shown = ""
    with working("asking the server"):
        while "asking the server" not in shown:
            shown += written(terminal)
    # The line is gone, and the cursor is there again.
    assert (shown + written(terminal)).rindex("\x1b[2K") > shown.rindex("asking the server")


def test_what_is_over_soon_is_not_shown(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal[1])
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress_module, "PATIENCE_S", 3600.0)
    with working("asking the server"):
        pass
    assert written(terminal) == ""


@pytest.mark.parametrize("quiet", [True, False])
def test_where_nobody_looks_nothing_is_shown_of_it(monkeypatch, quiet):
    stderr = not_a_terminal(monkeypatch)
    monkeypatch.setattr(OUTPUT, "quiet", quiet)
    monkeypatch.setattr(progress_module, "PATIENCE_S", 0.0)
    with working("asking the server"):
        pass
    assert stderr.getvalue() == ""


def test_a_count_of_many_is_shown_on_a_terminal_and_every_item_comes(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal[1])
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    assert list(show_count(iter("abcde"), "reading reports", 5)) == list("abcde")
    shown = written(terminal)
    assert "reading reports" in shown
    assert "5/5" in shown
    assert list(show_count(iter("abcd"), "reading reports", 3)) == list("abcd")
    assert "4/3" not in written(terminal)
    assert list(show_count(iter("a"), "reading reports", 1)) == ["a"]
    assert written(terminal) == ""


def test_where_nobody_looks_no_count_is_shown(monkeypatch):
    stderr = not_a_terminal(monkeypatch)
    assert list(show_count(iter("abc"), "reading reports", 3)) == list("abc")
    assert stderr.getvalue() == ""


def counted(at_s, reads=6100.0):
    """Return the state of a window at one second, with 98 operations a second of which one in ten commits."""
    done = 98 * at_s
    latencies = {bucket_of(500): done - at_s, bucket_of(20_000): at_s}
    so_far = Amounts(at_s, done, 500.0 * done, 64 * done, done // 10, reads * at_s, latencies)
    return RunProgress("window", at_s, 10, rates=RATES, so_far=so_far)


def test_a_line_of_rates_comes_so_often_as_the_user_wants(monkeypatch):
    stderr = not_a_terminal(monkeypatch)
    live = LiveLine(every_s=3)
    live(RunProgress("warm-up", 0, 2))
    for second in range(1, 11):
        live(counted(second))
    lines = [re.sub(r"^\d\d:\d\d:\d\d  ", "", line) for line in stderr.getvalue().splitlines()]
    rates = "6,100 reads/s  6,272 visits/s  9.70 commits/s  p99 20.1 ms"
    assert lines[0] == "warm-up"
    assert [line.split("  ", 1)[0] for line in lines[1:]] == ["3 of 10 s", "6 of 10 s", "9 of 10 s"]
    assert lines[1].split("  ", 1)[1] == rates


def test_the_first_line_is_due_after_one_interval_though_first_slices_have_no_rates(monkeypatch):
    """What the first slices count is not of the time that passed: the first rates leave it out."""
    stderr = not_a_terminal(monkeypatch)
    live = LiveLine(every_s=2)
    late = replace(counted(1), rates=None, so_far=replace(counted(1).so_far, visits=0, reads=0, commits=0))
    for progress in (late, *map(counted, range(2, 11))):
        live(progress)
    live(RunProgress("read-out"))
    live(replace(counted(10), rates=None))  # the last reading comes after the window's end
    lines = [line.split("  ", 2) for line in stderr.getvalue().splitlines()]
    assert [line[1] for line in lines] == [*(f"{second} of 10 s" for second in range(2, 11, 2)), "read-out"]
    assert lines[0][2].startswith("12,200 reads/s  12,544 visits/s")
    assert lines[1][2].startswith("6,100 reads/s  6,272 visits/s")


def test_a_line_that_is_due_while_there_are_no_rates_says_so(monkeypatch):
    stderr = not_a_terminal(monkeypatch)
    live = LiveLine(every_s=1)
    for progress in (replace(counted(1), rates=None), counted(2), replace(counted(3), rates=None)):
        live(progress)
    first, second, third = (line.split("  ", 2)[1:] for line in stderr.getvalue().splitlines())
    unknown = "– no rates while the first or the last slices go on"
    assert (first, third) == (["1 of 10 s", unknown], ["3 of 10 s", unknown])
    assert second[1].startswith("6,100 reads/s")


def test_rates_that_are_not_known_are_dashes(monkeypatch):
    stderr = not_a_terminal(monkeypatch)
    live = LiveLine(every_s=1)
    live(RunProgress("window", 1, 10, rates=RATES, so_far=Amounts(1, reads=None)))
    live(RunProgress("window", 2, 10, rates=RATES, so_far=Amounts(2, reads=None)))
    assert "– reads/s  0 visits/s  0 commits/s  p99 –" in stderr.getvalue()
