"""An observed command: what it prints is passed on and kept, signals reach all of it, and how it ended is told."""

import io
import os
import signal
import sys

import psutil
import pytest

from factories.running import eventually
from openslob.kinds.run.observation import command as command_module
from openslob.kinds.run.observation.command import Kept, ObservedCommand, UnrunnableError, program_of

# Longer than any host takes.
LONG_S = 120


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    monkeypatch.setattr(command_module, "REST_S", LONG_S)


def ran(script, number=None, environment=None):
    """A shell's script to its end; with ``number``, that signal as soon as it has printed a line."""
    output, errors = io.StringIO(), io.StringIO()
    with ObservedCommand(["/bin/sh", "-c", script], environment or os.environ) as command:
        command.start(output, errors)
        if number:
            while not output.getvalue():
                assert not command.ended.wait(0.01)
            command.signal(number)
        assert command.ended.wait(LONG_S)
        command.collect()
    return command, output.getvalue(), errors.getvalue()


def test_what_it_prints_is_passed_on_and_kept():
    command, output, errors = ran("echo out; echo err >&2; exit 3")
    assert (output, errors) == ("out\n", "err\n")
    assert (command.output.text(), command.errors.text()) == ("out\n", "err\n")
    assert (command.exit_code, command.how_it_ended) == (3, "exit code 3")
    assert command.ended_ns > command.started_ns


def test_its_cpu_is_that_of_all_processes_that_it_waited_for():
    command, _, _ = ran(f"{sys.executable} -c 'while __import__(\"time\").process_time() < 0.3: pass'; true")
    assert command.cpu_s >= 0.3


def test_a_signal_reaches_all_of_its_group():
    command, output, _ = ran("sleep 600 & echo $!; wait", signal.SIGTERM)
    assert (command.exit_code, command.how_it_ended) == (128 + signal.SIGTERM, "signal SIGTERM")
    assert eventually(lambda: not psutil.pid_exists(int(output)))


def test_what_it_leaves_running_does_not_keep_it(monkeypatch):
    monkeypatch.setattr(command_module, "REST_S", 0.01)
    command, _, _ = ran("sleep 600 & echo $!")
    # A busy host may pass on later what it printed.
    assert eventually(lambda: command.output.text().endswith("\n"))
    os.kill(int(command.output.text()), signal.SIGTERM)
    assert command.exit_code == 0


def test_a_block_that_fails_leaves_no_command_behind():
    command = ObservedCommand(["/bin/sleep", "600"], os.environ)
    with pytest.raises(RuntimeError), command:
        command.start(io.StringIO(), io.StringIO())
        raise RuntimeError
    assert command.ended.wait(LONG_S)
    assert command.how_it_ended == "signal SIGTERM"


def test_it_gets_the_variables_and_no_others():
    _, output, _ = ran("echo $PGHOST$HOME", environment={"PGHOST": "here"})
    assert output == "here\n"


@pytest.mark.parametrize(("word", "code"), [("no-such-program", 127), ("/no/such/program", 127), ("/etc/passwd", 126)])
def test_a_command_that_can_t_be_run_has_the_exit_code_of_a_shell(word, code):
    with pytest.raises(UnrunnableError, match=word) as raised:
        program_of([word])
    assert raised.value.exit_code == code


def test_begin_and_end_of_much_output_are_kept():
    kept = Kept(most=10)
    for word in (b"begins here ", b"goes on ", b"and on ", b"and ", b"ends here"):
        kept.add(word)
    text = kept.text()
    assert text.startswith("begins her")
    assert text.endswith("and ends here")
    assert "bytes are left out here" in text
    assert Kept().text() == ""
