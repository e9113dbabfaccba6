"""A MariaDB primary and its standby as one target: readers beside writers, the lag, and that the standby follows on."""

from __future__ import annotations

import pytest

from factories.running import eventually, ignore, judged, measured, rows_of, slob, verdicts_of
from factories.server_subjects import SUBJECTS
from openslob.core.errors import SlobError
from openslob.core.interrupt import Interrupt
from openslob.core.units import MIB
from openslob.core.workload import Workload
from openslob.engines import registry
from openslob.kinds.run import loading, runner
from openslob.report.text import render

pytestmark = pytest.mark.server

NAMES = ("m-main", "m-copy")
TARGET = ",".join(NAMES)
DATA = {"schemas": 2, "scale": "2000", "scan_table_sz": "20"}
(MARIADB,) = [subject for subject in SUBJECTS if subject.engine == "mariadb"]
CLASSES = {
    "readers": {"sessions": 4, "update_pct": 0, "work_unit": 4, "instance_role": "read-only"},
    "writers": {"sessions": 2, "update_pct": 100, "work_unit": 2, "instance_role": "read-write"},
}


@pytest.fixture(scope="module")
def servers(make_server):
    """Both servers, running and loaded through the cluster; gone at the end of the module."""
    small = {"engine": "mariadb", "cache_bytes": 16 * MIB, "log_bytes": 64 * MIB, "max_sessions": 30}
    made = [make_server(name=NAMES[0], **small), make_server(name=NAMES[1], standby_of=NAMES[0], **small)]
    loading.load(registry.resolve(TARGET)[0], None, Workload(**DATA), ignore, lambda: False, ignore)
    yield made
    for each in reversed(made):
        each.destroy()


@pytest.fixture
def engine(servers):
    return registry.resolve(TARGET)[0]


def follows(server):
    """Whether what is written on the primary arrives."""
    MARIADB.execute(registry.find(NAMES[0]), "CREATE OR REPLACE TABLE slob.followed AS SELECT 1 AS one")
    there = "SELECT count(*) FROM information_schema.tables WHERE table_name = 'followed'"
    arrived = eventually(lambda: MARIADB.execute(server, there) == "1")
    MARIADB.execute(registry.find(NAMES[0]), "DROP TABLE slob.followed")
    return arrived


def test_sessions_work_on_both(engine, servers, tmp_path):
    record = measured(engine, tmp_path, **DATA, sessions=4, update_pct=0, work_unit=4).record
    assert [(row.role, row.sessions) for row in record.instances] == [("read-write", 2), ("read-only", 2)]
    assert all(row.ops > 0 and not row.errors for row in record.instances)
    assert sum(row.ops for row in record.instances) == record.summary["ops_total"].value
    assert follows(servers[1])


def test_readers_on_the_standby_beside_writers_on_the_primary(engine, servers, tmp_path):
    finished = measured(engine, tmp_path, **DATA, classes=CLASSES)
    record = finished.record
    (readers, writers), (main, copy) = record.classes, record.instances
    assert (main.ops, main.rows_updated) == (writers.ops, writers.rows_updated)
    assert writers.rows_updated == 2 * writers.ops > 0
    assert (copy.ops, readers.rows_read, copy.rows_updated) == (readers.ops, 4 * readers.ops, 0)
    if judged(record, "counts_agree"):
        counted = verdicts_of(record)["counts_agree"].figures
        assert counted["engine_rows_updated"] == writers.rows_updated
        assert counted["engine_rows_read"] - counted["engine_rows_updated"] == readers.rows_read
    assert (main.behind_bytes, main.behind_s) == (None, None)
    assert 0 <= copy.behind_bytes <= copy.most_behind_bytes
    assert copy.behind_s >= 0
    assert {"0.log_place", "1.log_place"} <= {row["counter"] for row in rows_of(finished.folder, "samples.csv")}
    verified = slob("verify", finished.folder)
    assert verified.returncode == 0, verified.stdout
    assert follows(servers[1])


def test_a_standby_that_stands_still_is_behind_by_what_it_did_not_apply(engine, servers, tmp_path):
    """The bytes are those that the primary's log grew by, and the seconds nearly all of the window."""
    held = []

    def hold(progress):
        if progress.phase == "window" and progress.elapsed_s > 0.5 and not held:
            held.append(MARIADB.execute(servers[1], "STOP REPLICA SQL_THREAD"))

    load = Workload(**DATA, classes=CLASSES, run_time=6, warmup=0)
    try:
        finished = runner.run(engine, runner.RunRequest(load, "held", tmp_path), Interrupt(), hold, render)
    finally:
        MARIADB.execute(servers[1], "START REPLICA SQL_THREAD")
    rows = [row for row in rows_of(finished.folder, "samples.csv") if row["counter"] == "0.log_place"]
    grown = float(rows[-1]["value"]) - float(rows[0]["value"])
    copy = finished.record.instances[1]
    assert grown * 0.5 < copy.most_behind_bytes <= grown
    assert 3 <= copy.behind_s <= 7
    assert follows(servers[1])


def test_a_standby_follows_after_a_restart_too(engine, servers, tmp_path):
    servers[1].stop()
    servers[1].start()
    measured(engine, tmp_path, **DATA, sessions=2, update_pct=0, work_unit=4)
    assert follows(servers[1])


def test_another_server_is_no_instance(servers, make_server):
    other = make_server(name="m-other", engine="mariadb", cache_bytes=16 * MIB, log_bytes=64 * MIB)
    with pytest.raises(SlobError, match="no copy of the data"):
        registry.resolve(f"{NAMES[0]},{other.name}")[0].facts()
    other.destroy()


def test_updates_on_the_standby_are_refused(engine, tmp_path):
    with pytest.raises(SlobError, match=r"UPDATE_PCT is 10 and .*m-copy.* takes reads only"):
        measured(engine, tmp_path, **DATA, sessions=2, update_pct=10)
