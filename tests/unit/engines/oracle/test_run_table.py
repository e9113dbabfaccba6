"""The lock of an Oracle target and its stop signal: rows of one table."""

import os

import pytest

from factories.oracle.double import connected, raw_of
from factories.oracle.run_table import RunTable
from factories.oracle.wire import OracleError
from openslob.core.errors import SlobError
from openslob.engines.oracle import run_table
from openslob.engines.oracle.run_table import OracleStop, hold_lock


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(run_table, "LOCK_PATIENCE_S", 0.05)
    monkeypatch.setattr(run_table, "AGAIN_S", 0.01)


def test_the_first_to_come_makes_the_table_and_holds_the_lock():
    table = RunTable()
    with hold_lock(connected(table.client()), "db", "run") as hold:
        hold.require()
        assert table.rows["lock"]["holder"].startswith(f"run by pid {os.getpid()} on ")
        assert table.rows["stop"]["stop"] == 0
        assert table.locked_by is not None


def test_a_second_driver_is_told_who_holds_it():
    table = RunTable()
    with hold_lock(connected(table.client()), "db", "load"):
        table.rows["lock"]["holder"] = "load by pid 1 on elsewhere"
        with (
            pytest.raises(SlobError, match=r"db is in use: load by pid 1 on elsewhere, since .* UTC"),
            hold_lock(connected(table.client()), "db", "run"),
        ):
            pass


def test_it_is_free_again_when_the_holder_ends():
    table, first = RunTable(is_loaded=True), None
    first = connected(table.client())
    with hold_lock(first, "db", "load"):
        pass
    first.close()
    with hold_lock(connected(table.client()), "db", "run"):
        assert table.rows["lock"]["holder"].startswith("run by")


def test_it_is_free_again_when_the_holders_process_dies():
    table = RunTable(is_loaded=True)
    with hold_lock(connected(table.client()), "db", "run"):
        table.rows["stop"]["stop"] = 1
        # What the server does when it finds nobody at the other end.
        table.locked_by = None
        table.rows["lock"]["holder"] = "run by pid 1 on elsewhere"
        with hold_lock(connected(table.client()), "db", "run"):
            assert table.rows["stop"]["stop"] == 0
            assert f"pid {os.getpid()}" in table.rows["lock"]["holder"]


def test_the_instances_of_a_cluster_share_one_lock():
    table = RunTable(is_loaded=True)
    with hold_lock(connected(table.client()), "one", "run"), hold_lock(connected(table.client()), "two", "run"):
        assert table.locked_by is not None
    assert table.locked_by is None


def test_nothing_is_left_when_nothing_is_loaded():
    table = RunTable()
    with hold_lock(connected(table.client()), "db", "drop"):
        pass
    assert not table.exists


def test_the_table_stays_with_the_data():
    table = RunTable(is_loaded=True)
    with hold_lock(connected(table.client()), "db", "run"):
        pass
    assert table.exists


def test_a_user_without_the_right_is_told():
    table = RunTable()
    table.refusals["CREATE TABLE"] = OracleError(1031, "insufficient privileges")
    with (
        pytest.raises(SlobError, match=r"db .* ORA-01031"),
        hold_lock(connected(table.client()), "db", "load"),
    ):
        pass


def test_two_drivers_that_make_the_table_at_once():
    table = RunTable()
    other = table.client()
    # The other one makes it between our look and our CREATE.
    table.before["CREATE TABLE"] = lambda: (other.execute("CREATE TABLE SLOB_RUN", {}), other.commit())
    with hold_lock(connected(table.client()), "db", "run"):
        assert set(table.rows) == {"lock", "stop"}


def test_a_lock_that_somebody_takes_between_its_two_halves():
    table = RunTable()
    connection = connected(table.client())
    table.before["commit"] = lambda: table.take_over("run by pid 2 on elsewhere")
    with pytest.raises(SlobError, match=r"db .* run by pid 2"), hold_lock(connection, "db", "run"):
        pass


def test_the_loss_of_the_lock_is_noticed():
    table = RunTable()
    connection = connected(table.client())
    with pytest.raises(SlobError, match="the lock of db was lost"), hold_lock(connection, "db", "run") as hold:
        raw_of(connection).is_open = False
        hold.require()


def test_the_stop_signal_is_a_row():
    table = RunTable(is_loaded=True)
    with hold_lock(connected(table.client()), "db", "run"):
        connection = connected(table.client())
        stop = OracleStop(connection)
        stop.request()
        assert table.rows["stop"]["stop"] == 1
        stop.close()
        assert table.rows["stop"]["stop"] == 0
        assert not raw_of(connection).is_open


def test_a_stop_signal_without_a_server_is_reported_and_closed_all_the_same():
    table = RunTable(is_loaded=True)
    connection = connected(table.client())
    stop = OracleStop(connection)
    table.refusals["UPDATE"] = OracleError(3113, "end-of-file on communication channel")
    with pytest.raises(SlobError, match=r"sessions.* ORA-03113"):
        stop.request()
    stop.close()
