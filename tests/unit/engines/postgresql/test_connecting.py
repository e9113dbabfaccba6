"""Connections that a time limit of the role ends before it can be set."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from types import SimpleNamespace

import psycopg
import pytest

from factories.flavours import LINUX, PostgresStandIn
from openslob.core.errors import SlobError
from openslob.core.workload import Workload
from openslob.engines.postgresql import adapter
from openslob.engines.postgresql.names import PostgresNames
from openslob.kinds.run.plan import session_plans

ENDED = "terminating connection due to idle-session timeout"


class Connection(PostgresStandIn):
    """Stands in for one of a server that ends idle sessions at once, unless they were opened without that limit."""

    def __init__(self, before_the_end, options):
        super().__init__(f"PostgreSQL 18.0 {LINUX}")
        self._before_the_end = before_the_end
        self._options = options

    def execute(self, statement, values=None):
        if "idle_session_timeout=0" not in self._options:
            self._before_the_end()
            raise psycopg.errors.IdleSessionTimeout(ENDED)
        return super().execute(statement, values)

    def close(self):
        self._options = ""


@pytest.fixture
def opened(monkeypatch):
    """The options of each connection that an engine opens; `server` makes it a server's."""
    options_given = []

    def server(connect):
        def connect_to_it(_url, options="", **_):
            options_given.append(options)
            return connect(options)

        monkeypatch.setattr(adapter, "PatientPsycopg", SimpleNamespace(connect=connect_to_it))
        return adapter.PostgresEngine("postgresql:///slob?host=/tmp")

    return SimpleNamespace(server=server, options=options_given)


@pytest.mark.parametrize("others", [1, 2, 4])
def test_threads_that_learn_of_a_limit_at_the_same_time_all_connect(opened, others):
    together = Barrier(others)
    engine = opened.server(lambda options: Connection(lambda: together.wait(timeout=60), options))
    with ThreadPoolExecutor(others) as threads:
        made = list(threads.map(lambda _: engine.open("load"), range(others)))
    assert len(made) == others
    assert [bool(options) for options in opened.options] == [False] * others + [True] * others


def test_a_limit_that_stays_is_said_once_and_not_tried_for_ever(opened):
    engine = opened.server(lambda _: Connection(lambda: None, ""))
    with pytest.raises(SlobError, match="idle-session timeout"):
        engine.open("load")
    assert len(opened.options) == 2


def test_a_session_of_the_work_loop_connects_whatever_ends_it_and_does_not_stay_idle(opened, monkeypatch):
    monkeypatch.setattr(adapter, "PostgresSession", lambda connection, *_: connection)

    def connect(options):
        if "transaction_timeout=0" not in options:
            raise psycopg.OperationalError("FATAL:  terminating connection due to transaction timeout")
        return Connection(lambda: None, options)

    engine = opened.server(connect)
    engine.names = PostgresNames("slob")
    engine.open_session(session_plans(Workload(schemas=1), 8192, "test")[0])
    idle, transaction = "-c idle_session_timeout=0", "-c transaction_timeout=0"
    assert [options.strip() for options in opened.options] == ["", transaction, f"{idle} {transaction}"]


def test_a_limit_that_ended_with_a_statement_cancels_the_next_one(opened):
    def connect(options):
        if "statement_timeout=0" not in options:
            raise psycopg.errors.QueryCanceled("canceling statement due to user request")
        return Connection(lambda: None, options)

    opened.server(connect).open("query")
    assert opened.options[1].strip() == "-c statement_timeout=0"
