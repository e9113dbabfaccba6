"""Whether a command can show the live screen, with which signs, and how the screen finds the command's record."""

import os
import signal
from contextlib import closing
from types import SimpleNamespace

import pytest

from factories.record_files import record
from openslob.cli import console, screen
from openslob.cli.screen import is_ascii, viewing, why_no_screen
from openslob.kinds.view import RecordState
from openslob.live.attached_screen import Feed
from openslob.record.store import RunFolder


class Terminal:
    closed = False

    def __init__(self, is_one=True):
        self.isatty = lambda: is_one
        self.fileno = lambda: 2


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    fake = SimpleNamespace(__stdin__=Terminal(), __stderr__=Terminal(), stderr=Terminal(), executable="python")
    monkeypatch.setattr(screen, "sys", fake)
    monkeypatch.setattr(screen.os, "tcgetpgrp", lambda _: os.getpgrp())
    return fake


def test_there_is_a_screen_on_a_terminal(terminal):
    assert why_no_screen() == ""


@pytest.mark.parametrize("term", ["", "dumb", "unknown"])
def test_there_is_none_on_a_terminal_that_draws_nothing(terminal, monkeypatch, term):
    monkeypatch.setenv("TERM", term)
    assert why_no_screen() == "TERM is not that of a terminal that can be drawn on"


def test_there_is_none_without_a_terminal(terminal, monkeypatch):
    terminal.__stdin__ = Terminal(False)
    assert why_no_screen() == "standard input is not a terminal"
    terminal.__stdin__, terminal.__stderr__ = Terminal(), None
    assert why_no_screen() == "standard error is not a terminal"


def test_there_is_none_in_the_background(terminal, monkeypatch):
    monkeypatch.setattr(screen.os, "tcgetpgrp", lambda _: os.getpgrp() + 1)
    assert why_no_screen() == "the command runs in the background"


@pytest.mark.parametrize(("wanted", "said"), [(True, "slob: no live screen: "), (False, ""), (None, "")])
def test_only_who_asked_for_a_screen_is_told_that_there_is_none(monkeypatch, tmp_path, capsys, wanted, said):
    monkeypatch.setenv("TERM", "dumb")
    with viewing(wanted, tmp_path):
        assert not screen.VIEWER.say("loading")
    assert capsys.readouterr().err.startswith(said)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"LANG": "C.UTF-8", "TERM": "xterm"}, False),
        ({"TERM": "xterm"}, False),
        ({"LANG": "C.UTF-8", "TERM": "linux"}, True),
        ({"LC_ALL": "C", "LANG": "en_US.UTF-8", "TERM": "xterm"}, True),
        ({"LANG": "POSIX", "TERM": "xterm"}, True),
    ],
)
def test_signs_follow_locale_and_terminal(monkeypatch, environment, expected):
    for name in ("LC_ALL", "LC_CTYPE", "LANG", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(screen.locale, "getpreferredencoding", lambda _: "UTF-8")
    assert is_ascii() is expected


def test_another_encoding_gets_ascii(monkeypatch):
    monkeypatch.setattr(screen.locale, "getpreferredencoding", lambda _: "ISO-8859-15")
    assert is_ascii()


def test_messages_are_kept_while_a_screen_has_the_terminal(capsys):
    console.keep_messages()
    console.notify("the first")
    console.notify("the second")
    assert capsys.readouterr().err == ""
    console.print_kept_messages()
    assert capsys.readouterr().err == "slob: the first\nslob: the second\n"
    console.notify("the third")
    assert capsys.readouterr().err == "slob: the third\n"


@pytest.fixture
def pipe():
    read, write = os.pipe()
    yield SimpleNamespace(read=read, write=write)
    os.close(read)


def test_a_feed_has_what_the_command_says_last(pipe, tmp_path):
    feed = Feed(pipe.read, tmp_path, os.getpid())
    assert not feed.listen()
    os.write(pipe.write, b"\nloading 4")
    assert feed.wait()
    os.write(pipe.write, b"5 %\nloading 46 %\nhalf a li")
    assert not feed.listen()
    assert feed.said == "loading 46 %"
    os.close(pipe.write)
    assert feed.listen()


def test_a_feed_whose_command_ends_at_once_is_over(pipe, tmp_path):
    os.close(pipe.write)
    assert not Feed(pipe.read, tmp_path, os.getpid()).wait()


def test_a_feed_finds_the_records_that_the_command_writes_one_after_the_other(pipe, tmp_path):
    with os.fdopen(pipe.write):
        feed = Feed(pipe.read, tmp_path / "none yet", os.getpid())
        assert feed.source() is None
        feed = Feed(pipe.read, tmp_path, os.getpid())
        RunFolder.begin(tmp_path, record()).close()
        assert feed.source() is None, "it was finished before"
        with closing(RunFolder.begin(tmp_path, record())) as first:
            source = feed.source()
            assert source.view().head.id == first.id
            assert feed.source() is source
        assert feed.source() is source
        assert source.view().head.progress is RecordState.RUNNING
        with closing(RunFolder.begin(tmp_path, record())) as second:
            assert feed.source().view().head.id == second.id


def test_a_feed_stops_nobody_but_its_command(pipe, tmp_path, monkeypatch):
    sent = []
    monkeypatch.setattr(os, "kill", lambda *given: sent.append(given))
    with os.fdopen(pipe.write):
        Feed(pipe.read, tmp_path, os.getppid()).stop()
        assert sent == [(os.getppid(), signal.SIGINT)]
        Feed(pipe.read, tmp_path, os.getpid()).stop()
        assert len(sent) == 1
