"""Waits for a MariaDB or MySQL server: how they end, and who is named as the one that is waited for."""

import socket
from threading import Thread
from unittest.mock import Mock, patch

import pymysql
import pytest

from factories.tables import table
from openslob.core.errors import SlobError
from openslob.core.interrupt import Interrupt
from openslob.engines.mysql import adapter, connection, connection_registry
from openslob.engines.mysql.connection import PatientPyMySQL, open_connection, open_limited, parse
from openslob.engines.mysql.errors import report_as
from openslob.engines.mysql.names import MysqlNames
from openslob.engines.mysql.waits import describe
from openslob.engines.patience import NoAnswerError, Patience, StoppedError, Watch, Work

PARAMS = parse("mariadb://me@localhost/x?unix_socket=/nowhere")


class Reached(PatientPyMySQL):
    """A connection whose server has let it in; its bytes are read and written as PyMySQL does it."""

    def __init__(self, watch, ours):
        super().__init__(watch, PARAMS, defer_connect=True)
        self._sock = ours

    def take(self, number):
        return self._read_bytes(number)

    def send(self, data):
        self._write_bytes(data)


def silent(watch):
    """A connection to a server that has just said nothing, and the server's end."""
    ours, theirs = socket.socketpair()
    ours.settimeout(0.01)
    return Reached(watch, ours), theirs


def test_a_wait_lasts_until_the_answer_comes():
    made, theirs = silent(Watch(Patience(), Work.SHORT, str))
    with theirs:
        later = Thread(target=lambda: (theirs.send(b"one"), theirs.send(b"two")))
        later.start()
        assert made.take(6) == b"onetwo"
        later.join()


def test_a_wait_ends_with_the_time_that_all_have_and_closes_the_connection():
    patience = Patience()
    patience.allow(0.05)
    made, theirs = silent(Watch(patience, Work.SHORT, str))
    with theirs, pytest.raises(NoAnswerError, match="no answer came"):
        made.take(1)
    assert not made.open


def test_a_wait_ends_at_once_when_that_is_asked_for(monkeypatch):
    monkeypatch.setattr("openslob.engines.patience.AT_ONCE_S", 0)
    interrupt = Interrupt()
    made, theirs = silent(Watch(Patience(interrupt), Work.LOAD, str))
    interrupt.request()
    interrupt.request()
    with theirs, pytest.raises(StoppedError, match="stopped at once"):
        made.take(1)


def test_what_does_not_fit_into_the_socket_is_waited_for_too():
    patience = Patience()
    patience.allow(0.05)
    made, theirs = silent(Watch(patience, Work.SHORT, str))
    with theirs, pytest.raises(NoAnswerError):
        made.send(b"x" * 10_000_000)


def test_a_connection_that_was_ended_is_noticed_without_a_question():
    made, theirs = silent(Watch(Patience(), Work.SHORT, str))
    connection.require_alive(made, "the lock")
    theirs.close()
    with pytest.raises(SlobError, match="the lock was lost: its connection was ended"):
        connection.require_alive(made, "the lock")
    made.close()
    with pytest.raises(SlobError, match="the lock was lost"):
        connection.require_alive(made, "the lock")


def row(number, state="", command="Query", seconds=7):
    return {"connection": number, "who": "app@web", "state": state, "command": command, "seconds": seconds}


METADATA = "Waiting for table metadata lock"


@table(
    ("rows", "waits", "said"),
    [
        ([row(1), row(9, command="Sleep")], [], ""),
        ([row(1), row(2)], [(1, 2)], ""),
        ([row(8), row(9)], [(8, 9)], ""),
        (
            [row(1), row(2), row(9, command="Sleep")],
            [(2, 9), (1, 9)],
            "session 0 (connection 1) waits for a lock held by connection 9 (app@web, idle for 7 s), "
            "and 1 more of our connections wait",
        ),
        ([row(1)], [(1, 9)], "session 0 (connection 1) waits for a lock held by connection 9"),
        (
            [row(1, METADATA), row(8, METADATA), row(9, "Sending data"), row(10, command="Sleep", seconds=99)],
            [],
            f"session 0 (connection 1) waits for a lock ({METADATA}) that may be held by connection 10 "
            "(app@web, idle for 99 s) or connection 9 (app@web, Sending data for 7 s)",
        ),
        (
            [row(2, METADATA)],
            [],
            f"stop (connection 2) waits for a lock ({METADATA}) of a connection that this user may not see "
            "(PROCESS shows it)",
        ),
    ],
)
def test_who_is_named(rows, waits, said):
    assert describe(rows, waits, {1: "session 0", 2: "stop"}) == said


def test_sessions_of_other_drivers_are_ours(monkeypatch):
    rows = [{"connection": 1, "purpose": "run/5f0c1d2e.12"}, {"connection": 2, "purpose": "stop"}]
    monkeypatch.setattr(connection_registry, "query", lambda *_: rows)
    assert connection_registry.purposes(None, MysqlNames()) == {1: "session 12", 2: "stop"}


def test_a_table_of_connections_that_somebody_has_locked_is_done_without(monkeypatch):
    monkeypatch.setattr(connection_registry, "query", Mock(side_effect=pymysql.OperationalError(1205, "timeout")))
    assert connection_registry.purposes(None, MysqlNames()) == {}


def asked(monkeypatch, *said):
    """What an engine finds out over a new connection that fails in this way."""

    def refuse(*_):
        with report_as("can't connect"):
            raise pymysql.OperationalError(*said)

    monkeypatch.setattr(adapter, "open_connection", refuse)
    return adapter.MysqlEngine("mariadb://me@localhost/x").obstacle()


@table("number", [1040, 1203, 1226])
def test_a_server_that_takes_no_further_connection_answers(monkeypatch, number):
    assert asked(monkeypatch, number, "Too many connections") == ""


def test_a_server_that_is_gone_does_not(monkeypatch):
    with pytest.raises(SlobError, match="Can't connect"):
        asked(monkeypatch, 2003, "Can't connect to MySQL server")


@pytest.mark.parametrize(
    "connect", [lambda params: open_connection(params, "run"), lambda params: open_limited(params, 1)]
)
def test_a_socket_on_which_no_server_listens_is_closed(tmp_path, connect):
    params = parse(f"mariadb:///slob?unix_socket={tmp_path / 'nobody'}")
    closing = patch.object(socket.socket, "close", autospec=True, side_effect=socket.socket.close)
    with closing as close, pytest.raises((SlobError, pymysql.Error)) as refused:
        connect(params)
    assert "No such file" in str(refused.value)
    assert close.call_count == 1
