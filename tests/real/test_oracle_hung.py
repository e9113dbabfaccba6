"""A stand-in that hangs or dies, in a process of its own, ends a run in time, with the reason; nothing is left."""

import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from factories.hung import give_little_time
from factories.oracle.leftovers import SOCKETS_LEFT_OVER, collected
from factories.paths import ROOT
from factories.running import DATA, LONG_S, Target, eventually, ignore, measured
from openslob.core.errors import SlobError
from openslob.core.workload import Workload
from openslob.engines.oracle import connection
from openslob.kinds.run import loading
from openslob.record.model import Status

NO_ANSWER = "does not answer|no answer came"


pytestmark = SOCKETS_LEFT_OVER


@pytest.fixture(scope="module", autouse=True)
def sockets():
    with collected():
        yield


@pytest.fixture
def served(monkeypatch):
    """The process and its URL."""
    monkeypatch.setenv("ORACLE_PASSWORD", "slob")
    command = [sys.executable, ROOT / "tests" / "factories" / "oracle" / "serve.py", "--until-input-ends"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process, process.stdout.readline().strip()
        os.kill(process.pid, signal.SIGCONT)
        process.stdin.close()


@pytest.fixture
def target(served, tmp_path):
    target = Target(f"{served[1]}?connect_timeout=1", tmp_path)
    loading.load(target.engine, None, Workload(**{**DATA, "scale": "500"}), ignore, lambda: False, ignore)
    return target


@contextmanager
def in_the_window(target, run_time):
    """A run on a thread of its own, in the window; the value waits for its end and returns its error.

    ``run_time`` leaves a busy host the time to stop the server before the window ends.
    """
    with ThreadPoolExecutor() as pool:
        run = pool.submit(measured, target.engine, target.results, sessions=2, run_time=run_time, scale="500")
        assert eventually(lambda: run.done() or target.has_measured(1))
        yield lambda: str(run.exception(timeout=LONG_S))


def test_a_server_that_hangs_in_the_window_and_before_a_run(target, served, monkeypatch):
    process, _ = served
    with in_the_window(target, run_time=10) as error_of:
        process.send_signal(signal.SIGSTOP)
        # From now on: a busy host may need more until then.
        give_little_time(monkeypatch)
        monkeypatch.setattr(connection, "LOG_ON_S", 1.0)
        error = error_of()
    assert "2 of 2 sessions did not end within " in error
    assert "does not answer, neither on this connection nor on a new one" in error
    record = target.record()
    assert record.status is Status.FAILED
    assert record.summary["ops_total"].value > 0
    with pytest.raises(SlobError, match=NO_ANSWER):
        measured(target.engine, target.results, sessions=2, run_time=1, scale="500")
    process.send_signal(signal.SIGCONT)
    assert eventually(target.is_free)


def test_a_server_that_dies_in_the_window(target, served):
    with in_the_window(target, run_time=60) as error_of:
        served[0].kill()
        error = error_of()
    # Whoever asks the server next notices: a session, the reading of the counters, or the lock.
    assert re.match(r"(session \d was lost|the counters can't be read|the lock of .* was lost): ", error), error
    assert re.search("DPY-4011|reset|its connection was ended", error), error
    assert target.record().summary["ops_total"].value > 0
