"""Sessions that a killed driver left in an Oracle database."""

import pytest

from factories.oracle.double import Answers, connected, rows, statements_of
from factories.oracle.wire import OracleError
from openslob.core.errors import SlobError
from openslob.engines import common_checks
from openslob.engines.oracle import run_table
from openslob.engines.oracle.run_table import count_sessions, end_sessions

UNSEEN = OracleError(942, "table or view does not exist")


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(run_table, "SLICE_END_S", 0.03)
    monkeypatch.setattr(common_checks, "END_PATIENCE_S", 0.03)
    monkeypatch.setattr(common_checks, "LOCK_PATIENCE_S", 0.03)


def session(sid, status="ACTIVE"):
    return {"sid": sid, "serial": 7, "action": "run/ab", "status": status}


class Database(Answers):
    """One with sessions that end when they are told to, or are killed."""

    def __init__(self, *sids, obedient=True, killable=True, drivers=()):
        super().__init__()
        self.sids, self.obedient, self.killable, self.drivers = set(sids), obedient, killable, drivers
        self.status = "ACTIVE"
        self.say(r"FROM v\$session", self._sessions)
        self.say("SET stop = 1", self._stop)
        self.say("ALTER SYSTEM KILL", self._kill)
        self.say("rdsadmin_util.kill", OracleError(6550, "line 2, column 5:\nPLS-00201: identifier must be declared"))

    def _sessions(self, binds):
        found = self.sids if binds["purpose"].startswith("run/") else self.drivers
        return rows(*(session(sid, self.status) for sid in found))

    def _stop(self, _):
        if self.obedient:
            self.sids.clear()

    def _kill(self, _):
        if not self.killable:
            return OracleError(1031, "insufficient privileges")
        self.sids.pop()
        return 0


def test_there_are_none():
    connection = connected(Database())
    assert (count_sessions(connection), end_sessions(connection, "db")) == (0, 0)
    assert not [text for text in statements_of(connection) if not text.startswith("SELECT")]


def test_they_are_told_to_end():
    connection = connected(Database(11, 12))
    assert end_sessions(connection, "db") == 2
    changes = [text for text in statements_of(connection) if text.startswith(("UPDATE", "ALTER"))]
    assert [text.partition("SET ")[2][:8] for text in changes] == ["stop = 1", "stop = 0"]


def test_those_that_do_not_listen_are_ended():
    connection = connected(Database(11, 12, obedient=False))
    assert end_sessions(connection, "db") == 2
    assert "ALTER SYSTEM KILL SESSION '11,7' IMMEDIATE" in statements_of(connection)
    assert count_sessions(connection) == 0


def test_an_ordinary_user_is_told_the_statement_that_ends_them():
    connection = connected(Database(11, obedient=False, killable=False))
    with pytest.raises(SlobError, match="this user may not end them") as caught:
        end_sessions(connection, "db")
    assert caught.value.remedy == "as an administrator: ALTER SYSTEM KILL SESSION '11,7' IMMEDIATE"
    assert "stop = 0" in statements_of(connection)[-1]


def test_the_master_user_of_rds_ends_them_by_its_procedure():
    database = Database(11, obedient=False, killable=False)
    database.say("rdsadmin_util.kill", lambda binds: database.sids.remove(binds["sid"]) or 0)
    assert end_sessions(connected(database), "db") == 1
    assert {"sid": 11, "serial": 7} in database.binds


def test_those_that_wait_for_a_host_that_is_gone_disturb_nobody():
    database = Database(11, obedient=False, killable=False)
    database.status = "INACTIVE"
    assert end_sessions(connected(database), "db") == 1


def test_those_of_a_run_that_goes_on_are_left_alone():
    connection = connected(Database(11, drivers=(5,)))
    with pytest.raises(SlobError, match=r"another run is in progress in db.*see session 5,7"):
        end_sessions(connection, "db")
    assert not [text for text in statements_of(connection) if text.startswith(("UPDATE", "ALTER"))]


def test_sessions_that_cant_be_seen_are_told_to_end():
    connection = connected(Answers().say(r"v\$session", UNSEEN))
    assert (count_sessions(connection), end_sessions(connection, "db")) == (0, 0)
    changes = [text for text in statements_of(connection) if text.startswith("UPDATE")]
    assert [text.partition("SET ")[2][:8] for text in changes] == ["stop = 1", "stop = 0"]


def test_nothing_was_ever_loaded():
    connection = connected(Answers().say(r"v\$session", UNSEEN).say("UPDATE", UNSEEN))
    assert end_sessions(connection, "db") == 0
