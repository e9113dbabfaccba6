"""Open files and threads: what this process may have, and one line when that is too little."""

from __future__ import annotations

import resource
from threading import Thread, active_count

import pytest

from factories.tables import table
from openslob import limits
from openslob.engines.facts import ServerFacts
from openslob.errors import SlobError
from openslob.run.preflight import FILES_PER_SESSION, OTHER_FILES, file_findings
from openslob.workload import Workload

NO_LIMIT = resource.RLIM_INFINITY


@pytest.fixture
def limited(monkeypatch):
    """Sets the limits that this process finds, and shows them after they were raised."""
    now = [(0, 0)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: now[0])
    monkeypatch.setattr(resource, "setrlimit", lambda _, values: now.__setitem__(0, values))
    return now


@table(
    ("before", "allowed", "after"),
    [
        ((64, 1024), 300, (300, 1024)),
        ((64, 200), 200, (200, 200)),
        ((64, NO_LIMIT), 300, (300, NO_LIMIT)),
        ((1024, 1024), 1024, (1024, 1024)),
        ((NO_LIMIT, NO_LIMIT), 300, (NO_LIMIT, NO_LIMIT)),
    ],
)
def test_the_soft_limit_of_files_is_raised_as_far_as_it_may(limited, before, allowed, after):
    limited[0] = before
    assert (limits.allow_files(300), limited[0]) == (allowed, after)


FACTS = ServerFacts("Product", "1.0", 8192, 2**24, 200, {}, direct_io=True)


def test_too_few_files_are_told_before_a_run_with_the_command_that_helps(limited):
    needed = 100 * FILES_PER_SESSION + OTHER_FILES
    limited[0] = (64, needed)
    assert list(file_findings(Workload(sessions=100), FACTS)) == []
    limited[0] = (64, needed - 1)
    (finding,) = file_findings(Workload(sessions=100), FACTS)
    assert finding.blocking
    assert finding.why == f"100 sessions need {needed} open files, and this process may have {needed - 1}"
    assert f"ulimit -n {needed}" in finding.remedy


def test_a_thread_too_many_is_one_line(monkeypatch):
    def refused(_thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", refused)
    with pytest.raises(SlobError, match=f"can't have more than {active_count()} threads.*ulimit -u.*pids.max"):
        limits.start(Thread())
