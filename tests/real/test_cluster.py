"""A primary with two streaming standbys as one target: sessions on all three, per-instance figures that add up."""

from __future__ import annotations

import os
import signal
import time

import psycopg
import pytest

from factories.running import ignore, judged, measured, rows_of, slob, verdicts_of
from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import Interrupt
from openslob.core.units import MIB
from openslob.core.workload import Workload
from openslob.engines import registry
from openslob.engines.cluster.engine import ClusterEngine
from openslob.kinds.run import loading, runner
from openslob.report.text import render

pytestmark = pytest.mark.server

NAMES = ("c-main", "c-copy1", "c-copy2")
TARGET = ",".join(NAMES)
DATA = {"schemas": 2, "scale": "2000", "scan_table_sz": "20"}


@pytest.fixture(scope="module")
def servers(make_server):
    """The primary and its standbys, running and loaded through the cluster; gone at the end of the module."""
    small = {"cache_bytes": 8 * MIB, "log_bytes": 64 * MIB, "max_sessions": 20}
    made = [make_server(name=NAMES[0], **small)]
    made += [make_server(name=name, standby_of=NAMES[0], **small) for name in NAMES[1:]]
    engine, server = registry.resolve(TARGET)
    assert server is None
    assert isinstance(engine, ClusterEngine)
    loading.load(engine, server, Workload(**DATA), ignore, lambda: False, ignore)
    yield made
    for each in reversed(made):
        each.destroy()


@pytest.fixture
def engine(servers):
    return registry.resolve(TARGET)[0]


def ask(server, statement):
    with psycopg.connect(server.status().url, autocommit=True) as connection:
        return connection.execute(statement).fetchone()[0]


def test_standbys_follow_and_have_settings_of_their_own(servers):
    assert [ask(each, "SELECT pg_is_in_recovery()") for each in servers] == [False, True, True]
    assert ask(servers[0], "SELECT count(*) FROM pg_replication_slots WHERE active") == 2
    assert ask(servers[1], "SHOW config_file") != ask(servers[0], "SHOW config_file")
    assert ask(servers[1], "SHOW unix_socket_directories") != ask(servers[0], "SHOW unix_socket_directories")
    assert [ask(each, "SELECT verified_at IS NOT NULL FROM slob.manifest") for each in servers] == [True] * 3


def test_sessions_work_on_all_instances_and_their_figures_add_up(engine, servers, tmp_path):
    finished = measured(engine, tmp_path, **DATA, sessions=6, update_pct=0, work_unit=4)
    record = finished.record
    assert [row.role for row in record.instances] == ["read-write", "read-only", "read-only"]
    assert [row.sessions for row in record.instances] == [2, 2, 2]
    assert all(row.ops > 0 and not row.errors for row in record.instances)
    assert sum(row.ops for row in record.instances) == record.summary["ops_total"].value
    by_session = {}
    for row in rows_of(finished.folder, "slices.csv"):
        by_session[int(row["session"]) % 3] = by_session.get(int(row["session"]) % 3, 0) + int(row["ops"])
    assert [by_session[number] for number in range(3)] == [row.ops for row in record.instances]
    assert "INSTANCES, over the window" in render(record)
    assert "spread_ns" in {row["counter"] for row in rows_of(finished.folder, "samples.csv")}
    # The engines' own counts of rows, added up, are what the work loops of all instances read.
    if not judged(record, "counts_agree"):
        assert [row.read_requests for row in record.instances] == [None] * 3
        return
    assert record.environment["host_cpu_s"]
    judged(record, "reads_reached_device")
    # An interval that begins where an earlier one began replaces it.
    intervals = {
        row["begin_ns"]: row for row in rows_of(finished.folder, "engine.csv") if row["figure"] == "read_requests"
    }
    reads = sum(float(row["value"]) for row in intervals.values())
    # Both come from the same readings, the first and the last of the window: not a read is lost between them.
    assert min(row.read_requests for row in record.instances) > 0
    assert sum(row.read_requests for row in record.instances) == reads


def test_readers_on_standbys_beside_writers_on_the_primary(engine, servers, tmp_path):
    classes = {
        "readers": {"sessions": 4, "update_pct": 0, "work_unit": 4, "instance_role": "read-only"},
        "writers": {"sessions": 2, "update_pct": 100, "work_unit": 2, "instance_role": "read-write"},
    }
    finished = measured(engine, tmp_path, **DATA, classes=classes)
    record = finished.record
    (readers, writers), (main, *copies) = record.classes, record.instances
    assert [row.sessions for row in record.instances] == [2, 2, 2]
    assert (main.ops, main.rows_updated) == (writers.ops, writers.rows_updated)
    assert writers.rows_updated == 2 * writers.ops > 0
    assert (sum(copy.ops for copy in copies), readers.rows_read) == (readers.ops, 4 * readers.ops)
    assert [copy.rows_updated for copy in copies] == [0, 0]
    # What the servers counted, each by itself: a copy that applies updates counts none of them as its own.
    if judged(record, "counts_agree"):
        counted = verdicts_of(record)["counts_agree"].figures
        assert counted["engine_rows_updated"] == writers.rows_updated
        assert counted["engine_rows_read"] - counted["engine_rows_updated"] == readers.rows_read
    assert (main.behind_bytes, main.behind_s) == (None, None)
    for copy in copies:
        assert 0 <= copy.behind_bytes <= copy.most_behind_bytes
        assert copy.behind_s >= 0
    samples = {row["counter"] for row in rows_of(finished.folder, "samples.csv")}
    assert {f"{number}.log_place" for number in range(3)} <= samples
    assert "late up to" in render(record)
    verified = slob("verify", finished.folder)
    assert verified.returncode == 0, verified.stdout


def test_the_processes_of_all_instances_are_the_server(engine, servers):
    location = engine.location()
    pids = [location.main_pid, *(other.main_pid for other in location.others)]
    assert pids == [each.status().pid for each in servers]


def test_updates_on_a_standby_are_refused_in_one_line(engine, servers, tmp_path):
    with pytest.raises(SlobError, match=r"UPDATE_PCT is 10 and .*c-copy1.*c-copy2.* takes reads only"):
        measured(engine, tmp_path, **DATA, sessions=3, update_pct=10)
    ran = slob("run", "--target", ",".join(NAMES[1:]), "--results", tmp_path, "--sessions", 2)
    assert ran.returncode == 1
    assert "no instance of the target accepts writes" in ran.stderr
    alone = slob("run", "--target", NAMES[1], "--results", tmp_path)
    assert alone.returncode == 1
    assert "is a standby" in alone.stderr


def test_the_primary_alone_updates_while_its_standbys_follow(servers, tmp_path):
    engine, _ = registry.resolve(NAMES[0])
    record = measured(engine, tmp_path, **DATA, sessions=2, update_pct=50, work_unit=2, run_time=2).record
    assert record.instances == ()
    assert record.summary["updates_total"].value > 0
    assert record.summary["conflicts_total"].value == 0
    cluster = registry.resolve(TARGET)[0]
    cluster.install(Workload(**DATA))
    positions = {int(registry.resolve(name)[0].replication.log_position()) for name in NAMES}
    assert min(positions) > 0


def test_a_load_by_name_keeps_standbys_following(servers):
    engine, server = registry.resolve(NAMES[0])
    before = server.status().pid
    workload = Workload(**{**DATA, "scale": "500"})
    loading.load(engine, server, workload, ignore, lambda: False, ignore)
    assert server.status().pid == before
    cluster = registry.resolve(TARGET)[0]
    loading.load(cluster, None, Workload(**DATA), ignore, lambda: False, ignore)
    assert ask(servers[2], "SELECT count(*) FROM slob.cf1_1") == 2000


def test_a_standby_that_dies_ends_the_run_and_is_named(engine, servers, tmp_path):
    def die(progress):
        if progress.phase == "window" and progress.elapsed_s > 0.5:
            pid = servers[2].status().pid
            if pid:
                os.kill(pid, signal.SIGKILL)

    load = Workload(**DATA, sessions=3, run_time=60, warmup=0)
    begun = time.monotonic()
    with pytest.raises(SlobError, match="c-copy2"):
        runner.run(engine, runner.RunRequest(load, "dies", tmp_path), Interrupt(), die, render)
    assert time.monotonic() - begun < 60
    servers[2].start()
    assert ask(servers[2], "SELECT pg_is_in_recovery()")


def test_other_instances_are_no_cluster(servers, pg_server):
    with pytest.raises(SlobError, match="no copy of the data"):
        registry.resolve(f"{NAMES[0]},{pg_server.name}")[0].facts()
    with pytest.raises(UsageError, match="given twice"):
        registry.resolve(f"{NAMES[0]},{NAMES[0]}")


def test_a_standby_of_nothing_is_refused(servers, make_server):
    with pytest.raises(UsageError, match="to copy"):
        make_server(name="c-lost", standby_of="c-nobody")
    with pytest.raises(UsageError, match="to copy"):
        make_server(name="c-lost", standby_of=NAMES[1])


def test_a_standby_s_slot_goes_with_it(servers, make_server):
    more = make_server(name="c-more", standby_of=NAMES[0], cache_bytes=8 * MIB, log_bytes=64 * MIB, max_sessions=20)
    slots = "SELECT count(*) FROM pg_replication_slots WHERE slot_name = 'c_more'"
    assert ask(servers[0], slots) == 1
    more.destroy()
    assert ask(servers[0], slots) == 0
