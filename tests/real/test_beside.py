"""A run beside somebody else's session on the same server: figures are its own or unknown, and it says who that was."""

import threading
from contextlib import contextmanager, suppress

import psycopg
import pytest
from psycopg import conninfo

from factories.programs import need_debian_postgresql
from factories.running import DATA, eventually, judged, load, measured, verdicts_of
from factories.strangers import repeated
from openslob.core.workload import Workload
from openslob.engines.postgresql.adapter import connect
from openslob.record.model import Holds

pytestmark = pytest.mark.server

LOOP = "DO $$ BEGIN FOR n IN 1..{times} LOOP {body} END LOOP; END $$"
# In a sub-select random() is evaluated once, and not for every row of the table.
ROW = "WHERE id = (SELECT 1 + floor(random() * 4000)::int);"
READ = LOOP.format(times=500, body=f"PERFORM filler FROM items {ROW}")
WRITE = LOOP.format(times=50, body=f"UPDATE items SET filler = 'y' {ROW} COMMIT;")
LOAD = {"sessions": 2, "update_pct": 20, "work_unit": 4, "run_time": 1}
# What no version counts by session, and what 18 is the first to count so.
WHOLE_SERVER = ("db_cpu_per_s", "log_syncs_per_s", "pio_write_per_s")
SINCE_18 = ("redo_mb_per_s", "engine_read_latency_us")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def newest(pg_server):
    """The URL of a server with data of ours and, in another database, of others."""
    with shared_with_others(pg_server) as url:
        yield url


@pytest.fixture(scope="module")
def old(make_server):
    with shared_with_others(make_server(name="old", bin_dir=need_debian_postgresql(), io="buffered")) as url:
        yield url


@contextmanager
def shared_with_others(server):
    load(server)
    url = server.status().url
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE other")
        try:
            with other_session(url) as session:
                session.execute("CREATE TABLE items (id int PRIMARY KEY, filler text) WITH (fillfactor = 10)")
                session.execute("INSERT INTO items SELECT n, repeat('x', 700) FROM generate_series(1, 4000) AS n")
            yield url
        finally:
            connection.execute("DROP DATABASE other")


def other_session(url, **parameters):
    given = {"dbname": "other", "application_name": "reports", **parameters}
    return psycopg.connect(conninfo.make_conninfo(url, **given), autocommit=True)


@contextmanager
def working(url, statement):
    """Somebody else executes a statement again and again."""
    with other_session(url) as session, repeated(lambda: session.execute(statement)):
        yield


def until_cancelled(session, statement):
    with suppress(psycopg.errors.QueryCanceled):
        session.execute(statement)


def run_beside(url, statement, results):
    with working(url, statement):
        return measured(connect(url), results, **LOAD).record


def has_rates(record):
    """Whether this busy host left the counters a window of the load's length: without that there is no rate."""
    return verdicts_of(record)["window"].verdict is Holds.HOLDS


def assert_its_own(record):
    """It says who else was there; its reads are those of its tables, and what includes others' work is unknown."""
    judged(record, "alone_on_server", Holds.FAILS)
    assert "slob in other (reports)" in verdicts_of(record)["alone_on_server"].why
    assert verdicts_of(record)["limit_found"].verdict is not Holds.HOLDS
    if not has_rates(record):
        return
    for name in WHOLE_SERVER:
        assert record.summary[name].value is None
    assert "other sessions worked on the server" in record.summary["log_syncs_per_s"].why
    assert verdicts_of(record)["commits_waited"].verdict is Holds.UNKNOWN
    assert "log" not in record.io_by_object
    reads = sum(io["read_requests"] for io in record.io_by_object.values())
    assert record.summary["pio_read_per_s"].value * record.window.load_seconds == pytest.approx(reads, rel=0.02)
    visits = record.summary["block_visits_per_s"].value * record.window.load_seconds
    assert record.io_by_object["table"]["read_requests"] <= visits * 1.02


@pytest.mark.parametrize("statement", [READ, WRITE], ids=["reader", "writer"])
def test_sessions_are_counted_one_by_one(newest, results, statement):
    record = run_beside(newest, statement, results)
    assert_its_own(record)
    if has_rates(record):
        assert all(record.summary[name].value for name in SINCE_18)


@pytest.mark.parametrize("statement", [READ, WRITE], ids=["reader", "writer"])
def test_before_18_the_tests_tables_are(old, results, statement):
    record = run_beside(old, statement, results)
    assert_its_own(record)
    assert record.summary["redo_mb_per_s"].value is None


def test_a_server_of_ones_own(newest, results):
    record = measured(connect(newest), results, **LOAD).record
    judged(record, "alone_on_server")
    assert not has_rates(record) or all(record.summary[name].value for name in (*WHOLE_SERVER, *SINCE_18))


def test_sessions_that_only_wait_are_not_at_work(newest):
    waits = connect(newest).open_waits()
    with other_session(newest) as holder, other_session(newest) as waiting, other_session(newest) as asleep:
        holder.execute("SELECT pg_advisory_lock(1)")
        threads = [
            threading.Thread(target=until_cancelled, args=(session, statement), daemon=True)
            for session, statement in ((waiting, "SELECT pg_advisory_lock(1)"), (asleep, "SELECT pg_sleep(60)"))
        ]
        for thread in threads:
            thread.start()
        both = "SELECT count(*) = 2 FROM pg_stat_activity WHERE wait_event IN ('advisory', 'PgSleep')"
        assert eventually(lambda: holder.execute(both).fetchone() == (True,), 20)
        assert waits.sample().others == {}
        for thread, session in zip(threads, (waiting, asleep), strict=True):
            session.cancel()
            thread.join()
    waits.close()


def test_a_role_that_may_not_see_others(newest):
    with other_session(newest) as boss:
        boss.execute("CREATE ROLE blind")
        try:
            waits = connect(f"{newest}&options=-crole%3Dblind").open_waits()
            assert waits.sample().others is None
            waits.close()
        finally:
            boss.execute("DROP ROLE blind")


def test_a_check_finds_another_run_on_the_server(newest):
    with other_session(newest, application_name="slob/run by pid 7 on elsewhere"):
        found = {each.name: each for each in connect(newest).findings(Workload(**DATA, sessions=1))}
    assert found["other load"].why.startswith("database other of this server is in use: run by pid 7 on elsewhere")
    assert not found["other load"].blocking
