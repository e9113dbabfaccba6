"""Every way a load can go wrong: one line of error, and nothing left that counts as loaded."""

import os
import signal
import subprocess
import sys
import threading
from urllib.parse import quote

import psycopg
import pymysql
import pytest
from psycopg import sql

from factories.disks import small_disk
from factories.load_target import NAMES, SPEC, Target, read_manifest
from factories.running import measured, verdicts_of
from openslob.core.errors import SlobError, UsageError
from openslob.core.workload import DataSpec, Workload
from openslob.engines import load, registry
from openslob.engines.mysql.connection import parse
from openslob.engines.postgresql import checks, manifest

pytestmark = pytest.mark.server

LARGE = DataSpec(schemas=4, scale_blocks=10_000, scan_blocks=20, obfuscate=False)


@pytest.fixture
def target(pg_buffered):
    found = Target(pg_buffered.status().url)
    yield found
    found.ask("DROP SCHEMA IF EXISTS slob CASCADE")


def test_a_cancelled_load_leaves_nothing_and_no_session(target):
    seen = []
    with pytest.raises(SlobError, match="the load was cancelled; nothing of it is left"):
        target.load(LARGE, progress=seen.append, cancelled=lambda: any(one.blocks_done > 500 for one in seen))
    assert 500 < seen[-1].blocks_done < seen[-1].blocks_total
    assert target.left() == []
    assert target.sessions() == 0


def test_what_can_not_be_removed_is_told_and_does_not_count_as_loaded(target):
    reachable = [True]

    def connect():
        if not reachable:
            raise psycopg.OperationalError("connection refused")
        return target.connect()

    def watch(progress):
        if progress.blocks_done > 500:
            reachable.clear()

    message = r"cancelled, and what it wrote could not be removed \(.*connection refused\); .*slob drop"
    with pytest.raises(SlobError, match=message):
        target.load(LARGE, progress=watch, cancelled=lambda: not reachable, connect=connect)
    assert not target.state().verified
    assert "slob" in target.drop()


def test_the_first_error_stops_all_tables(target):
    opened = []

    def connect():
        opened.append(threading.current_thread())
        # the question before the load, the removal, and the first thread come through
        if len(opened) == 4:
            raise SlobError("no more connections")
        return target.connect()

    with pytest.raises(SlobError, match="no more connections"):
        target.load(LARGE, degree=3, connect=connect)
    assert target.left() == []


def test_a_session_killed_in_the_server_fails_the_load_in_one_line(target):
    def kill(progress):
        if progress.blocks_done > 200:
            target.ask(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'slob/load' "
                "AND pid <> pg_backend_pid() AND query LIKE '%COPY %'"
            )

    # Whoever sees it first says so: the server (terminating), libpq (closed the connection), psycopg (socket closed).
    with pytest.raises(SlobError, match=r"the load failed: .*(terminat|closed)") as caught:
        target.load(LARGE, progress=kill)
    assert "\n" not in str(caught.value)
    assert target.left() == []


def test_a_killed_driver_leaves_nothing_that_counts_as_loaded(target):
    """kill -9 amid the tables: some are whole, one is half-way, the manifest says unverified; then load again."""
    code = f"""
from openslob.core.workload import DataSpec
from openslob.engines.postgresql.adapter import connect
connect({target.url!r}).data.load({LARGE!r}, 1, lambda p: print(p.blocks_done, flush=True), lambda: False)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=os.environ) as driver:
        for line in driver.stdout:
            if int(line) > 12_000:
                driver.send_signal(signal.SIGKILL)
                break
    assert driver.returncode == -signal.SIGKILL
    assert not target.state().verified
    assert not target.load().reused
    assert target.state().spec == SPEC
    assert target.sessions() == 0


@pytest.fixture
def full_disk(pg_buffered, tmp_path_factory):
    """A database whose tables go to a disk of 40 MB."""
    url = pg_buffered.status().url
    target = Target(url)
    data = pg_buffered.status().data_directory
    owner = data.stat()
    place = data.parent / "small"
    place.mkdir()
    try:
        with small_disk(place, "40m"):
            os.chown(place, owner.st_uid, owner.st_gid)
            target.ask(sql.SQL("CREATE TABLESPACE small LOCATION {}").format(str(place)))
            target.ask("ALTER ROLE slob SET default_tablespace = small")
            try:
                yield target
            finally:
                target.ask("ALTER ROLE slob RESET default_tablespace")
                target.ask("DROP TABLESPACE small")
    finally:
        place.rmdir()


def test_a_disk_that_is_too_small_is_told_before_anything_is_loaded(full_disk):
    with pytest.raises(SlobError, match=r"the load needs .* at .*/small"):
        full_disk.load(LARGE)
    assert full_disk.left() == []


def test_a_disk_that_fills_up_fails_in_one_line_and_is_freed_again(full_disk, monkeypatch):
    """As when somebody else fills it: the check beforehand saw enough."""
    monkeypatch.setattr(load, "require_space", lambda *_: None)
    with pytest.raises(SlobError, match=r"the load failed: .*No space left on device; free space") as caught:
        full_disk.load(LARGE)
    assert "\n" not in str(caught.value)
    assert full_disk.left() == []
    assert full_disk.state() is None
    assert not full_disk.load().reused
    full_disk.drop()


@pytest.fixture
def ordinary(target):
    """Connects as a user without any right but what the database gives to all."""
    target.ask("CREATE ROLE ordinary LOGIN")

    def connect():
        connection = target.connect()
        connection.execute("SET SESSION AUTHORIZATION ordinary")
        return connection

    yield connect
    target.ask("DROP SCHEMA IF EXISTS slob CASCADE")
    target.ask("DROP ROLE ordinary")


def test_a_user_who_owns_only_the_schema_can_load_and_keeps_the_schema(target, ordinary):
    target.ask("CREATE SCHEMA slob AUTHORIZATION ordinary")
    result = target.load(connect=ordinary)
    assert "not checked: this role may not see" in result.checks["disk space"]
    with ordinary() as connection:
        assert read_manifest(connection).data_state().verified
        assert "slob" not in manifest.remove_with_schema(connection, NAMES)
    assert target.left() == []
    assert target.ask("SELECT to_regnamespace('slob') IS NOT NULL") == [(True,)]


def test_a_user_without_rights_is_told_so(target, ordinary):
    with pytest.raises(SlobError, match="the load failed: permission denied for database slob; grant the right"):
        target.load(connect=ordinary)


def test_no_blocks_at_all_is_a_usage_error(target):
    with pytest.raises(UsageError, match="SCALE"):
        target.load(DataSpec(schemas=1, scale_blocks=0, scan_blocks=10, obfuscate=False))


@pytest.mark.parametrize("engine", ["postgresql", "mariadb"])
def test_what_somebody_altered_is_found_and_mended_by_a_load(engine, pg_buffered, maria_server, tmp_path):
    """One server and one small load for all of it: each fault is found by the check, and the next load mends all.

    Rows that are missing are found by a run.
    """
    server = pg_buffered if engine == "postgresql" else maria_server
    adapter = registry.engine_for(server.status().url)
    data = {"schemas": 1, "scale": "100", "scan_table_sz": "10"}
    block_size, workload = adapter.facts().block_size, Workload(**data)
    connected, faults = ALTERED[engine]
    ask = connected(server.status().url)

    def load():
        adapter.data.load(workload.data(block_size), 1, lambda _: None, lambda: False)
        assert adapter.data.state().verified

    load()
    for statement, fault in faults:
        ask(statement)
        state = adapter.data.state()
        if fault is None:
            assert state is None
            load()
        else:
            assert not state.verified
            assert fault in state.fault, state.fault
    load()
    for delete in ("", "DELETE FROM slob.cf2_1 WHERE custid = 1", "DELETE FROM slob.cf1_1 WHERE custid % 10 = 0"):
        if delete:
            ask(delete)
        run = measured(adapter, tmp_path, **data, run_time=0.5, sessions=1, update_pct=0, scan_pct=20)
        assert ("the keys are not as loaded" in verdicts_of(run.record)["data_in_place"].why) is bool(delete)
    adapter.data.drop()


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_in_another_encoding_with_an_odd_name(encoding, target, tmp_path):
    name = f'odd "{encoding}" größe'
    quoted = sql.Identifier(name)
    target.ask(sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING {} LOCALE 'C'").format(quoted, encoding))
    url = target.url.replace("///slob?", f"///{quote(name)}?")
    data = {"schemas": 1, "scale": "100", "scan_table_sz": "10"}
    try:
        engine = registry.engine_for(url)
        engine.data.load(Workload(**data).data(engine.facts().block_size), 1, lambda _: None, lambda: False)
        record = measured(engine, tmp_path, **data, run_time=0.5, sessions=1, update_pct=50).record
        assert record.errors == ()
        assert record.summary["updates_total"].value > 0
    finally:
        target.ask(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(quoted))


def postgresql(url):
    return Target(url).ask


def mariadb(url):
    def ask(statement):
        with pymysql.connect(**parse(url).arguments, autocommit=True) as connection:
            connection.cursor().execute(statement)

    return ask


# In an order in which each fault is the first that is found.
ALTERED = {
    "postgresql": (
        postgresql,
        [
            ("DROP INDEX slob.cf1_1_custid_idx", "unique index on custid is missing"),
            ("ALTER TABLE slob.cf1_1 DROP COLUMN c5", "columns are missing"),
            ("UPDATE slob.manifest SET blocks = '[]'", "the manifest of the load is damaged"),
            ("ALTER TABLE slob.manifest DROP COLUMN blocks", None),
            ("DROP TABLE slob.cf1_1", "cf1_1 is no longer there"),
        ],
    ),
    "mariadb": (
        mariadb,
        [
            ("ALTER TABLE slob.cf1_1 DROP INDEX custid", "unique index on custid is missing"),
            ("ALTER TABLE slob.cf1_1 DROP COLUMN c5", "columns are missing"),
            ("UPDATE slob.manifest SET blocks = '{'", "the manifest of the load is damaged"),
            ("ALTER TABLE slob.manifest DROP COLUMN blocks", None),
            ("DROP TABLE slob.cf1_1", "cf1_1 is no longer there"),
        ],
    ),
}


@pytest.fixture
def aside(target):
    """A table in a tablespace of its own."""
    with target.connect() as connection:
        connection.execute("SET allow_in_place_tablespaces = on")
        connection.execute("CREATE TABLESPACE aside LOCATION ''")
    target.ask("CREATE TABLE aside TABLESPACE aside AS SELECT 1 AS one")
    yield "aside"
    target.ask("DROP TABLE aside")
    target.ask("DROP TABLESPACE aside")


def test_files_that_a_crash_left_are_told_and_those_in_use_are_not(target, pg_buffered, aside, ordinary):
    """Orphans are made by hand: copies of a table's block, as old as those that a crash left."""
    data, made = pg_buffered.status().data_directory, []

    def leave(relation, name, size=8192):
        file = data / target.ask("SELECT pg_relation_filepath(%s)", relation)[0][0]
        made.append(file.with_name(name))
        made[-1].write_bytes(file.read_bytes()[:size])
        os.utime(made[-1], (1e9, 1e9))
        return file.parent

    def told(connect=target.connect):
        with connect() as connection:
            return checks.find_orphaned_files(connection)

    assert told() == ""
    try:
        base = leave("pg_class", "4000000001.1")
        leave("pg_class", "4000000001_vm")
        leave("pg_class", "t9_4000000002")
        leave("pg_class", "4000000003", size=0)
        with target.connect() as connection, connection.transaction():
            connection.execute("CREATE TABLE unfinished AS SELECT 1 AS one")
            assert told() == f"2 files (16 KB) in {base}"
        beside = leave(aside, "4000000004")
        assert told() == f"3 files (24 KB) in {base}, {beside}"
        assert told(ordinary) == ""
        assert target.load().checks["orphaned files"] == f"{told()}; see `slob check`"
        found = {one.name: one for one in registry.engine_for(target.url).findings(Workload())}["orphaned files"]
        assert told() in found.why
        assert not found.blocking
    finally:
        for file in made:
            file.unlink()
    target.ask("DROP TABLE IF EXISTS unfinished")
