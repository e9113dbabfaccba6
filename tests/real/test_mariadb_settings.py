"""Settings of a whole MariaDB server that a run changes: put back by the run, or after a kill by who comes next."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pymysql
import pytest

from factories.running import DATA, Target, eventually, load, slob
from openslob.core.errors import SlobError
from openslob.core.workload import Workload
from openslob.engines import registry
from openslob.engines.mysql import global_settings
from openslob.engines.mysql.adapter import connect
from openslob.engines.mysql.connection import parse
from openslob.engines.mysql.global_settings import GlobalSettingsOverride
from openslob.engines.mysql.names import MysqlNames
from openslob.engines.mysql.table_engine import INNODB
from openslob.engines.settings import Effect, SettingChange

# MariaDB 11 shows it as a word.
ON, OFF = (1, "ON"), (0, "OFF")
pytestmark = pytest.mark.server

NOWAIT = {"sessions": 2, "update_pct": 20, "work_unit": 8, "commit_mode": "nowait"}
SETTING = INNODB.commit_setting
DIRTY_SETTING = "innodb_max_dirty_pages_pct"
LEFT = f"{SETTING} was left at 0 by a run that was killed"
RIGHTED = f"{LEFT}; it was restored to 1"


@pytest.fixture(scope="module")
def server(make_server):
    made = make_server(name="mariasettings", engine="mariadb", max_sessions=8)
    load(made)
    return made


@pytest.fixture
def target(server, tmp_path):
    return Target(server.start().url, tmp_path / "results")


def ask(target, statement):
    with pymysql.connect(**parse(target.url).arguments, autocommit=True) as connection:
        cursor = connection.cursor()
        cursor.execute(statement)
        return cursor.fetchall()


def setting(target, name=SETTING):
    return ask(target, f"SELECT @@GLOBAL.{name}")[0][0]


BORROWER = """
import sys, time
from openslob.engines.mysql.adapter import connect
from openslob.engines.mysql.global_settings import GlobalSettingsOverride
engine = connect(sys.argv[1])
with engine.exclusive("run"):
    borrowed = GlobalSettingsOverride(lambda: engine.open("settings"), engine.names)
    borrowed.change(sys.argv[2], 0)
    print("changed", flush=True)
    time.sleep(60)
"""


@contextmanager
def borrower(url, name):
    """A driver in a process of its own that has changed a setting."""
    command = [sys.executable, "-c", BORROWER, url, name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as driver:
        try:
            assert driver.stdout.readline() == "changed\n"
            yield driver
        finally:
            driver.kill()


@pytest.fixture
def killed(target):
    """The target after the driver of a run with COMMIT_MODE=nowait was killed."""
    with borrower(target.url, SETTING) as driver:
        driver.send_signal(signal.SIGKILL)
    assert setting(target) == 0
    yield target
    ask(target, f"SET GLOBAL {SETTING} = 1")


def test_a_run_that_is_interrupted_puts_back_what_it_changed_and_records_what_was_set(target):
    with target.running(**NOWAIT) as run:
        run.wait_until_measured()
        assert setting(target) == 0
        run.interrupt(signal.SIGINT)
        run.end()
    assert setting(target) == 1
    record = target.record()
    assert record.engine["settings"][SETTING] == "0"
    assert f"{SETTING} was set to 0 for the run; it was 1" in record.engine["settled"]


def test_time_limits_and_sql_mode_of_the_server_end_no_run(target):
    limits = {"wait_timeout": 1, "max_statement_time": 1, "idle_transaction_timeout": 1, "sql_mode": "'ORACLE'"}
    before = {name: setting(target, name) for name in limits}
    try:
        for name, value in limits.items():
            ask(target, f"SET GLOBAL {name} = {value}")
        done = target.run(run_time=3, **NOWAIT)
    finally:
        for name, value in before.items():
            ask(target, f"SET GLOBAL {name} = {value!r}")
    assert done.returncode == 0, done.stderr
    assert setting(target) == 1


def test_a_run_that_loses_its_lock_ends_and_puts_back_what_it_changed(target):
    with target.running(**NOWAIT) as run:
        run.wait_until_measured()
        assert setting(target) == 0
        for lock in ("openslob/settings", target.engine.names.lock("use")):
            ask(target, f"KILL {ask(target, f'SELECT IS_USED_LOCK({lock!r})')[0][0]}")
        code, _, stderr = run.end()
    assert code == 1
    assert "the lock of" in stderr
    assert "was lost: its connection was ended" in stderr
    assert setting(target) == 1
    assert target.is_free()


def test_check_tells_what_a_killed_run_left_and_the_next_run_puts_it_back(target):
    with target.running(**NOWAIT) as run:
        run.wait_until_measured()
        assert setting(target) == 0
        run.process.send_signal(signal.SIGKILL)
        run.end()
    engine, workload = connect(target.url), Workload(**{**DATA, **NOWAIT, "commit_mode": "engine"})
    # The sessions end by themselves with their slices, though nobody tells them to.
    assert eventually(lambda: engine.sessions_left() == 0, seconds=15)
    (found,) = [one for one in engine.findings(workload) if one.name == "left behind"]
    assert found.why.startswith(LEFT)
    assert found.remedy == f"SET GLOBAL {SETTING} = 1"
    assert setting(target) == 0  # a check changes nothing
    again = Target(target.url, target.results / "again")
    done = again.run(run_time=1, **{**NOWAIT, "commit_mode": "engine"})
    assert done.returncode == 0, done.stderr
    assert setting(target) == 1
    assert RIGHTED in again.record().notes
    assert not [one for one in engine.findings(workload) if one.name == "left behind"]


def test_a_load_puts_it_back_and_says_so(killed):
    flags = [text for name, value in DATA.items() for text in (f"--{name.replace('_', '-')}", value)]
    done = slob("load", "--target", killed.url, *map(str, flags))
    assert done.returncode == 0
    assert RIGHTED in done.stderr
    assert setting(killed) == 1


def test_what_somebody_has_set_since_is_left_alone(killed):
    ask(killed, f"SET GLOBAL {SETTING} = 2")
    engine = connect(killed.url)
    with engine.exclusive("test") as held:
        assert list(held.restored) == []
        assert ask(killed, "SELECT COUNT(*) FROM slob.borrowed") == ((0,),)
    assert setting(killed) == 2


def test_after_a_restart_the_server_s_configuration_counts(killed, server):
    server.stop()
    server.start()
    ask(killed, f"SET GLOBAL {SETTING} = 0")
    with connect(killed.url).exclusive("test") as held:
        assert list(held.restored) == []
    assert setting(killed) == 0


def test_no_other_run_on_the_server_may_change_or_rely_on_settings_meanwhile(target):
    ask(target, "CREATE DATABASE IF NOT EXISTS other")
    try:
        engine: Any = connect(target.url)
        other = GlobalSettingsOverride(lambda: engine.open("other"), MysqlNames("other"))
        with borrower(target.url, SETTING):
            for value in (0, 1):
                with pytest.raises(SlobError, match="another run has changed settings of the whole server"):
                    other.change(SETTING, value)
        assert eventually(lambda: not ask(target, "SELECT IS_USED_LOCK('openslob/settings')")[0][0], seconds=15)
        assert other.change(SETTING, 1) == f"{SETTING} was set to 1 for the run; it was 0"
        other.restore()
        assert setting(target) == 0
        with connect(target.url).exclusive("test") as held:
            assert held.restored == [RIGHTED]
        assert setting(target) == 1
    finally:
        ask(target, "DROP DATABASE other")


def test_a_run_that_has_just_ended_does_not_keep_the_next_one_from_changing_settings(target, monkeypatch):
    """The server lets go of what a closed connection held a moment later."""
    monkeypatch.setattr(global_settings, "LOCK_PATIENCE_S", 60.0)
    engine: Any = connect(target.url)
    ended = engine.open("ended")
    with ended.cursor() as cursor:
        cursor.execute("SELECT GET_LOCK('openslob/settings', 60)")
    own = GlobalSettingsOverride(lambda: engine.open("settings"), MysqlNames("other"))
    with ThreadPoolExecutor(1) as pool:
        changed = pool.submit(own.change, SETTING, setting(target))
        waits = "SELECT count(*) FROM information_schema.processlist WHERE state = 'User lock'"
        assert eventually(lambda: ask(target, waits)[0][0] == 1, seconds=60)
        ended.close()
        # It has that value already.
        assert changed.result() == ""


def test_a_run_is_made_with_settings_and_the_server_is_as_it_was_afterwards(target, server):
    named = Target(target.url, target.results)
    named.url = server.name
    before = server.layout.config.read_text()
    done = named.run(run_time=1, set="innodb_doublewrite=OFF")
    assert done.returncode == 0, done.stderr
    record = named.record()
    assert record.engine["set"] == {"innodb_doublewrite": "OFF"}
    assert record.engine["settings"]["innodb_doublewrite"] == "OFF"
    shown = slob("show", "latest", "--all", "--results", named.results).stdout
    assert "innodb_doublewrite=OFF, as asked for this run" in " ".join(shown.split())
    assert server.layout.config.read_text() == before
    assert setting(target, "innodb_doublewrite") in ON
    # Killed in such a run, it would be as it was with its next start.
    changed = registry.managed(server.spec.with_settings([SettingChange("innodb_doublewrite", "OFF", Effect.RESTART)]))
    changed.start(for_now=True)
    assert setting(target, "innodb_doublewrite") in OFF
    assert registry.find(server.name).status().spec == server.spec
    server.start()
    assert setting(target, "innodb_doublewrite") in ON


def test_a_replay_makes_the_same_operations(target):
    assert target.run(run_time=1, update_pct=20).returncode == 0
    done = slob("verify", "latest", "--replay", "--target", target.url, "--results", target.results)
    assert done.returncode == 0, done.stderr
    assert "the same kinds in the same order in every session" in " ".join(done.stdout.split())


# The last one: it leaves no data.
def test_a_drop_puts_back_what_a_driver_killed_while_dirty_pages_were_written_left(target):
    before = setting(target, DIRTY_SETTING)
    with borrower(target.url, DIRTY_SETTING) as driver:
        assert setting(target, DIRTY_SETTING) == 0 < before
        driver.send_signal(signal.SIGKILL)
    try:
        done = slob("drop", "--target", target.url)
        assert done.returncode == 0
        told = f"{DIRTY_SETTING} was left at 0 by a run that was killed; it was restored to {before:g}"
        assert told in done.stderr
        assert "slob.borrowed" in done.stdout
        assert setting(target, DIRTY_SETTING) == before
    finally:
        ask(target, f"SET GLOBAL {DIRTY_SETTING} = {before}")
