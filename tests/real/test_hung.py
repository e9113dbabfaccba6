"""A server that hangs, or a table that somebody has locked, ends a run in time, with the reason; nothing is left."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from importlib import import_module

import pytest

from factories.hung import KINDS, frozen, give_little_time
from factories.running import COMMAND, LONG_S, Target, eventually, load, measured
from openslob.errors import SlobError
from openslob.record.model import Status

pytestmark = pytest.mark.server

NO_ANSWER = "does not answer|timeout expired|timed out|no answer came"


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return KINDS[request.param]


@pytest.fixture(scope="module")
def server(kind, request):
    made = request.getfixturevalue(kind.server)
    load(made)
    return made


@pytest.fixture
def target(server, kind, tmp_path, monkeypatch):
    """The server as a target that is given little time to answer."""
    for place, seconds in kind.limits.items():
        monkeypatch.setattr(place, seconds)
    give_little_time(monkeypatch)
    return Target(server.status().url, tmp_path)


@pytest.fixture
def at_rest(kind, monkeypatch):
    """``with at_rest(before=..., after=...)``: what is entered before or after the server is brought to rest."""
    adapter = import_module(kind.adapter)
    quiesce = adapter.quiesce

    @contextmanager
    def entering(before=nullcontext, after=nullcontext):
        def quiesced(*given):
            stack.enter_context(before())
            done = quiesce(*given)
            stack.enter_context(after())
            return done

        with ExitStack() as stack:
            monkeypatch.setattr(adapter, "quiesce", quiesced)
            yield

    return entering


def failure(target, **parameters):
    """The error of a run that fails; its record has it too."""
    with pytest.raises(SlobError) as caught:
        measured(target.engine, target.results, **{"sessions": 2, "run_time": 1, **parameters})
    return failed(target, str(caught.value))


def failed(target, error):
    """The error; the record of the failed run says the same."""
    record = target.record()
    assert record.status is Status.FAILED
    assert record.errors[0] in error
    return error


@contextmanager
def in_the_window(target, **parameters):
    """A run on a thread of its own, in the window; the value waits for its end and returns its error."""
    with ThreadPoolExecutor() as pool:
        given = {"sessions": 2, "run_time": 2, **parameters}
        run = pool.submit(measured, target.engine, target.results, **given)
        assert eventually(lambda: run.done() or target.has_measured(1))
        yield lambda: failed(target, str(run.exception(timeout=LONG_S)))


def test_a_server_that_hangs_in_the_window(target, server):
    with in_the_window(target) as error_of, frozen(server):
        error = error_of()
    assert "2 of 2 sessions did not end within 1 s of the planned end" in error
    assert "does not answer, neither on this connection nor on a new one" in error
    assert target.record().summary["ops_total"].value > 0
    assert eventually(target.is_free)


def test_a_server_that_hangs_before_a_run(target, server):
    with frozen(server), pytest.raises(SlobError, match=NO_ANSWER):
        measured(target.engine, target.results)
    assert target.folders() == []


def test_a_server_that_hangs_while_it_is_brought_to_rest(target, server, at_rest):
    with at_rest(before=lambda: frozen(server)):
        error = failure(target)
    assert re.search(NO_ANSWER, error), error
    assert eventually(target.is_free)


def test_a_lock_that_the_check_waits_for(target, kind):
    with kind.locked(target.url), pytest.raises(SlobError, match=kind.blocker) as caught:
        measured(target.engine, target.results, sessions=2, run_time=1)
    # Not every engine waits in its check; a run that has begun has a record with the reason.
    if target.folders():
        failed(target, str(caught.value))
    assert target.is_free()


def test_a_lock_that_sessions_wait_for_before_the_window(target, kind, at_rest):
    with at_rest(after=lambda: kind.locked(target.url)):
        error = failure(target)
    assert re.search(rf"1 of 2 sessions could not be connected: session 0 .*{kind.blocker}", error), error
    assert eventually(target.is_free)


def test_a_lock_that_sessions_wait_for_in_the_window(target, kind):
    with in_the_window(target) as error_of, kind.locked(target.url):
        error = error_of()
    assert re.search(rf"1 of 2 sessions did not end within 1 s of the planned end: session 0 .*{kind.blocker}", error)
    assert target.record().summary["ops_total"].value > 0
    assert eventually(target.is_free)


def test_stopping_twice_ends_a_run_and_a_check_of_a_server_that_hangs(target, server):
    """Nothing else would end it: these commands have the patience that they have."""
    checking = [*COMMAND, "check", "--target", target.url]
    with target.running(sessions=2) as run:
        run.wait_until_measured(1)
        with frozen(server), subprocess.Popen(checking, stderr=subprocess.PIPE) as check:
            time.sleep(1)
            for _ in range(2):
                run.interrupt()
                time.sleep(0.2)
            code, _, stderr = run.end()
            interrupted(check)
    assert code == 1
    assert "its record says interrupted" in stderr
    assert target.record().status is Status.INTERRUPTED
    assert eventually(target.is_free)


def interrupted(process):
    """Ctrl-C, until the process has ended."""
    deadline = time.monotonic() + LONG_S
    while process.poll() is None and time.monotonic() < deadline:
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
    assert process.poll() is not None
