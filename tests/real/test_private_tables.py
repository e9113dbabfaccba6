"""The local path on real servers: what the sessions' own tables are like, whole runs, kills, and too little space."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from factories.running import SCALE, SCHEMAS, Target, judged, load, measured, slob, too_busy, verdicts_of
from openslob.core import disk
from openslob.core.errors import SlobError
from openslob.core.permutation import Permutation
from openslob.core.units import MIB
from openslob.core.workload import Workload
from openslob.engines.postgresql import local_path
from openslob.engines.postgresql.tables import fill
from openslob.kinds.run.plan import session_plans
from openslob.record.model import Holds, Status

pytestmark = pytest.mark.server

PATIENCE_S = 60
LOCAL = {"block_path": "local"}


@pytest.fixture(scope="module")
def engine(pg_server):
    """Data as loaded: updates of other tests on this server have moved rows."""
    load(pg_server).data.drop()
    return load(pg_server)


@pytest.fixture
def connection(pg_server, engine):
    with psycopg.connect(pg_server.status().url, autocommit=True) as opened:
        yield opened


def plan_of(**parameters):
    workload = Workload(schemas=SCHEMAS, **{"scale": str(SCALE), "block_path": "local", **parameters})
    return session_plans(workload, 8192, "t")[1]


def temporary_relations(url):
    with psycopg.connect(url, autocommit=True) as asking:
        return asking.execute("SELECT count(*) FROM pg_class WHERE relpersistence = 't'").fetchone()[0]


def temporary_files(data_directory):
    return [path for path in Path(data_directory, "base").glob("*/t[0-9]*_[0-9]*")]


def nothing_left(server):
    deadline = time.monotonic() + PATIENCE_S
    status = server.status()
    while time.monotonic() < deadline:
        if not temporary_relations(status.url) and not temporary_files(status.data_directory):
            return True
        time.sleep(0.1)
    return False


def test_the_copy_lies_in_the_blocks_as_the_shared_table_does(connection):
    heard = []
    local_path.load_private_tables(connection, plan_of(), heard.append)
    assert sum(heard) == SCALE
    same = (
        "SELECT count(*) FROM slob.cf1_2 AS shared JOIN pg_temp.cf1_2 AS own USING (custid, c2, c20) "
        "WHERE shared.ctid = own.ctid"
    )
    assert connection.execute(same).fetchone()[0] == SCALE
    blocks = "SELECT count(*), count(DISTINCT (ctid::text::point)[0]) FROM pg_temp.cf1_2"
    assert connection.execute(blocks).fetchone() == (SCALE, SCALE)


def test_private_memory_of_all_sessions_is_that_of_the_shared_cache(connection):
    local_path.load_private_tables(connection, plan_of(sessions=8), lambda _: None)
    assert connection.execute("SHOW temp_buffers").fetchone()[0] == "2MB"  # of 16 MB


def test_a_copy_that_is_not_as_it_should_be_is_refused(connection, monkeypatch):
    def shrunk(connection, table, *rest):
        fill(connection, replace(table, keys=Permutation(SCALE - 1, table.keys.key)), *rest)

    monkeypatch.setattr(local_path, "fill", shrunk)
    with pytest.raises(SlobError, match=r"verification failed: rows of pg_temp\.cf1_2: 3,999, expected 4,000"):
        local_path.load_private_tables(connection, plan_of(), lambda _: None)


def test_a_run_reads_privately_and_from_the_device(engine, tmp_path):
    record = measured(engine, tmp_path, **LOCAL).record
    verdicts = verdicts_of(record)
    assert record.status is Status.COMPLETE
    for name in ("block_path", "counts_agree", "exact_mix", "reads_reached_device"):
        judged(record, name)
    assert too_busy(record) or verdicts["block_path"].figures["shared_visits"] == 0
    if not too_busy(record):
        assert record.io_by_object["private table"]["read_requests"] > 0
        assert record.io_by_object["table"]["read_requests"] == 0
    assert "4,000 blocks are read through 8 MB of its own memory (temp_buffers)" in record.engine["settled"][0]


def test_a_run_on_the_shared_path_has_no_such_verdict(engine, tmp_path):
    record = measured(engine, tmp_path, run_time=1).record
    assert "block_path" not in verdicts_of(record)
    assert "private table" not in record.io_by_object


def test_hot_schema_and_local_path_are_a_usage_error(tmp_path):
    done = slob("run", "--block-path", "local", "--hot-schema-frequency", "4", "--results", tmp_path)
    assert done.returncode == 2
    assert "use only one of them" in done.stderr


@pytest.mark.parametrize("at_work", [False, True])
def test_a_killed_driver_leaves_no_table_and_no_file(pg_server, engine, tmp_path, at_work):
    target = Target(pg_server.status().url, tmp_path)
    with target.running(**LOCAL) as run:
        run.wait_until(lambda: temporary_relations(target.url) > 0)
        if at_work:
            run.wait_until_measured()
        run.process.send_signal(signal.SIGKILL)
        run.process.wait()
    assert nothing_left(pg_server)


def test_a_session_killed_while_it_loads_ends_the_run_and_leaves_nothing(pg_server, engine, tmp_path):
    target = Target(pg_server.status().url, tmp_path)
    with target.running(**LOCAL, sessions=4) as run:
        loading = (
            "SELECT pid FROM pg_stat_activity "
            "WHERE application_name LIKE 'slob/run/%' AND query ~ 'COPY|CREATE UNIQUE|VACUUM'"
        )
        ((pid,), *_) = run.wait_until(lambda: target.ask(loading))
        target.ask("SELECT pg_terminate_backend(%s)", pid)
        code, _, stderr = run.end()
    assert code == 1
    assert "sessions could not be connected: session" in stderr
    assert "could not load its own tables" in stderr
    assert target.record().status is Status.FAILED
    assert nothing_left(pg_server)


def test_ctrl_c_while_sessions_load_stops_at_once(pg_server, engine, tmp_path):
    target = Target(pg_server.status().url, tmp_path)
    assert nothing_left(pg_server)
    # Without patience that ends it: what stops the load is the request alone.
    patience = "from openslob.kinds.run import session_pool; session_pool.PATIENCE_S = 600"
    with target.running(patience, **LOCAL, sessions=4) as run:
        run.wait_until(lambda: temporary_relations(target.url) > 0)
        run.interrupt()
        code, _, stderr = run.end()
    assert code == 1
    assert "stopped before the start" in stderr
    assert f"of {4 * SCALE:,} blocks" in stderr  # the live line
    assert target.record().status is Status.INTERRUPTED
    assert nothing_left(pg_server)


def test_too_little_space_is_told_before_anything_is_written(pg_server, engine, tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda _: usage(100 << 30, 80 << 30, (5 << 30) + (60 << 20)))
    with pytest.raises(SlobError, match=r"2 sessions' own tables: the local path needs 62\.\d+ MB"):
        measured(engine, tmp_path, **LOCAL)
    assert temporary_files(pg_server.status().data_directory) == []
    # Enough for the shared path, which needs none.
    assert measured(engine, tmp_path, run_time=1).record.status is Status.COMPLETE


def test_a_role_that_may_not_make_temporary_tables_is_told_what_to_grant(connection):
    connection.execute("CREATE ROLE plain")
    connection.execute("REVOKE TEMPORARY ON DATABASE slob FROM PUBLIC")
    connection.execute("SET ROLE plain")
    try:
        found = list(local_path.findings(connection, plan_of().workload, 8192))
    finally:
        connection.execute("RESET ROLE")
        connection.execute("GRANT TEMPORARY ON DATABASE slob TO PUBLIC")
        connection.execute("DROP ROLE plain")
    (rights,) = [finding for finding in found if finding.name == "rights"]
    assert rights.blocking
    assert rights.remedy == "GRANT TEMPORARY ON DATABASE slob TO plain"


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="there is no /dev/shm here")
def test_memory_speed_storage_is_called_so(make_server, tmp_path):
    # The server asks for 1.4 GB, and containers have 64 MB unless more is given.
    if (free := shutil.disk_usage("/dev/shm").free) < 1500 * MIB:
        pytest.skip(f"{free // MIB} MB are free in /dev/shm")
    place = Path("/dev/shm") / f"slob-test-{os.getpid()}"
    server = make_server(name="inmemory", data_dir=place, io="buffered", cpus="0", cache_bytes=4 << 20)
    try:
        record = measured(load(server), tmp_path, **LOCAL).record
    finally:
        server.destroy()
    assert record.environment["data"]["file_system"] == "tmpfs"
    if judged(record, "reads_reached_device", Holds.FAILS):
        why = verdicts_of(record)["reads_reached_device"].why
        assert why == "There is no device: the data are on tmpfs, memory-speed storage."
    judged(record, "block_path")
