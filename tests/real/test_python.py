"""The Python interface on a real server: what a script measures, and how Ctrl-C ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

import openslob
from factories.running import DATA, load
from openslob.engines import registry

pytestmark = pytest.mark.server

# Prints each state of the run, so that the test knows when to interrupt it.
SCRIPT = """
import openslob, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background ignores the signal
try:
    openslob.run("long", target=sys.argv[1], run_time="10m", warmup=0, progress=lambda state: print(state, flush=True))
except KeyboardInterrupt:
    print("interrupted", openslob.read("long").run.status)
"""


@pytest.fixture(scope="module")
def engine(pg_server):
    return load(pg_server)


@pytest.fixture
def target(engine, pg_server, tmp_path, monkeypatch):
    """A server with data, and records in a place of the test's own."""
    monkeypatch.setenv("SLOB_RESULTS", str(tmp_path))
    for name, value in DATA.items():
        monkeypatch.setenv(f"SLOB_{name.upper()}", str(value))
    return openslob.target(pg_server.name)


def test_an_interrupt_ends_a_run_with_a_record_and_leaves_nothing(target, engine, pg_server):
    command = [sys.executable, "-c", SCRIPT, pg_server.name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as script:
        assert script.stdout is not None
        next(line for line in script.stdout if line.startswith("window"))
        os.kill(script.pid, signal.SIGINT)
        said = script.stdout.read()
    assert script.returncode == 0
    assert said.splitlines()[-1] == "interrupted interrupted"
    assert engine.release_sessions() == 0


def test_a_check_and_a_load_of_what_is_there_change_nothing(target):
    assert target.load(progress=False).reused
    found = target.check(mode="pio")
    assert not found.blocked
    assert found.answer in found._repr_html_()
    found.require()


def test_a_target_that_is_not_there_is_not_made():
    with pytest.raises(openslob.UsageError, match="there is no server"):
        openslob.run(target="embedded", sessions=1)
    assert registry.find("embedded") is None
