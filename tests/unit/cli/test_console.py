"""Streams that can't be written: messages are dropped, results are an error of one line, a reader may leave."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import termios

import pytest

from factories.records import Made, physical
from factories.running import COMMAND
from factories.tables import table
from openslob.cli import console
from openslob.core.errors import of_the_system
from openslob.record.model import Status

CLOSED = "standard output can't be written: it is closed"
FULL = "standard output can't be written: No space left on device"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A results folder with a record."""
    folder = tmp_path_factory.mktemp("results")
    record = physical(Made()).model_copy(update={"status": Status.COMPLETE})
    (folder / record.id).mkdir()
    (folder / record.id / "run.json").write_text(record.model_dump_json())
    return folder


def ended(results, shell, *arguments):
    """Exit code and messages of the command with redirections of a shell, and its results as far as they were read."""
    command = ["bash", "-c", f'"$@" {shell}', "slob", *COMMAND, *arguments]
    environment = {**os.environ, "SLOB_RESULTS": str(results)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.returncode, done.stdout, done.stderr


@table(
    ("shell", "arguments", "line"),
    [(">/dev/full", ["--version"], FULL), (">&-", ["show", "--json"], CLOSED)],
)
def test_results_that_cannot_be_written_are_one_line(results, shell, arguments, line):
    assert ended(results, shell, *arguments) == (1, "", f"slob: {line}\n")


def test_messages_that_cannot_be_written_end_nothing(results):
    code, out, err = ended(results, "2>&- <&-", "export", "latest", "nosuch")
    assert (code, out, err) == (2, "", "")


def test_a_reader_that_leaves_is_told_by_the_exit_code_alone(results):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*COMMAND, "list", "--results", results], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


def test_a_result_that_is_kept_elsewhere_is_told(monkeypatch):
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        results = console.wrap_as_text(console.ResultStream(full.fileno(), "w", closefd=False), full)
        monkeypatch.setattr(sys, "stdout", results)
        with pytest.raises(console.OutputError, match=f"{FULL}; the result is in here"):
            console.write("1 ops/s", kept="here")
        console.write("the rest is dropped", kept="here")


def test_a_terminal_that_was_stopped_takes_no_message(monkeypatch):
    monkeypatch.setattr(console, "MESSAGE_PATIENCE_S", 0.1)
    reader, writer = pty.openpty()
    monkeypatch.setattr(console, "STDERR", writer)
    assert console.takes_message()
    termios.tcflow(writer, termios.TCOOFF)
    assert not console.takes_message()
    stream = console.wrap_as_text(console.MessageStream(writer, "w", closefd=False), sys.stdout)
    print("dropped", file=stream, flush=True)
    termios.tcflow(writer, termios.TCOON)
    print("written", file=stream, flush=True)
    assert os.read(reader, 1000) == b"written\r\n"
    os.close(reader)
    os.close(writer)
    assert not console.takes_message()
    print("dropped", file=stream, flush=True)


@pytest.fixture
def handlers():
    """Handlers of signals as a command finds them; SIGINT is ignored where a shell started the tests behind itself."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@table(("handler", "stops"), [(signal.SIG_DFL, True), (signal.SIG_IGN, False)])
def test_a_terminal_that_is_closed_stops_a_run_unless_its_caller_ignores_that(handlers, handler, stops):
    signal.signal(signal.SIGHUP, handler)
    with console.stoppable() as interrupt:
        signal.raise_signal(signal.SIGHUP)
        assert interrupt.requested is stops


@table("first", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_that_comes_after_a_stopped_run_does_not_take_its_report(handlers, first):
    with console.stoppable(announced=False):
        signal.raise_signal(first)
    signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_ctrl_c_after_a_run_that_nobody_stopped_ends_the_command(handlers):
    with console.stoppable():
        pass
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_program_without_memory_or_files_says_so():
    assert "ran out of memory" in str(of_the_system(MemoryError()))
    assert "Too many open files; raise the limit" in str(of_the_system(OSError(24, "Too many open files")))
    assert str(of_the_system(OSError(28, "No space left on device", "/x"))) == "/x: No space left on device"


@table(("given", "width"), [("100", 100), ("", 66), ("0", 66), ("wide", 66)])
def test_the_width_is_that_of_the_terminal_unless_columns_says_another(monkeypatch, given, width):
    monkeypatch.setenv("COLUMNS", given)
    main, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (20, 66))
    with os.fdopen(terminal, "w") as stream:
        assert console.columns(stream) == width
    os.close(main)


def test_a_file_has_no_width_unless_columns_says_one(monkeypatch, tmp_path):
    with (tmp_path / "table.txt").open("w") as stream:
        monkeypatch.delenv("COLUMNS", raising=False)
        assert console.columns(stream) is None
        monkeypatch.setenv("COLUMNS", "100")
        assert console.columns(stream) == 100
