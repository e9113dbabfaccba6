"""Connections that a time limit of the role ends before it can be set."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from types import SimpleNamespace

import psycopg
import pytest

from openslob.engines.postgresql import adapter
from openslob.errors import SlobError

ENDED = "terminating connection due to idle-session timeout"


class Connection:
    """Stands in for one of a server that ends idle sessions at once, unless they were opened without that limit."""

    info = SimpleNamespace(server_version=180000, backend_pid=1)

    def __init__(self, both, options):
        self._both = both
        self._options = options

    def execute(self, _statement, _values=None):
        if "idle_session_timeout=0" not in self._options:
            self._both.wait(timeout=60)
            raise psycopg.errors.IdleSessionTimeout(ENDED)

    def close(self):
        self._both = None


@pytest.mark.parametrize("others", [1, 2, 4])
def test_threads_that_learn_of_a_limit_at_the_same_time_all_connect(monkeypatch, others):
    both = Barrier(others)
    opened = []

    def connect(_url, options="", **_):
        opened.append(options)
        return Connection(both, options)

    monkeypatch.setattr(adapter, "PatientConnection", SimpleNamespace(connect=connect))
    engine = adapter.PostgresEngine("postgresql:///slob?host=/tmp")
    with ThreadPoolExecutor(others) as threads:
        made = list(threads.map(lambda _: engine.open("load"), range(others)))
    assert len(made) == others
    assert [bool(options) for options in opened] == [False] * others + [True] * others


def test_a_limit_that_stays_is_said_once_and_not_tried_for_ever(monkeypatch):
    alone = Barrier(1)
    opened = []

    def connect(_url, options="", **_):
        opened.append(options)
        return Connection(alone, "")

    monkeypatch.setattr(adapter, "PatientConnection", SimpleNamespace(connect=connect))
    with pytest.raises(SlobError, match="idle-session timeout"):
        adapter.PostgresEngine("postgresql:///slob?host=/tmp").open("load")
    assert len(opened) == 2
