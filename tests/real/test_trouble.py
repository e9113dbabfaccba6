"""Every way a run can go wrong: one line of error, a non-zero exit code, a record that keeps what was measured, and

neither a session nor the lock left behind in the server.
"""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest

from factories.running import (
    DATA,
    FULL_SPEED,
    LONG_S,
    SCALE,
    Target,
    complaint,
    eventually,
    ignore,
    kept,
    measured,
    overran,
    slob,
    stalled,
    stopped,
    verdicts_of,
)
from openslob.engines.base import SliceRequest
from openslob.errors import SlobError
from openslob.interrupt import Interrupt
from openslob.record.model import Holds, Status
from openslob.report.charts.over_time import heat_cells
from openslob.report.run_series import read
from openslob.run import session_pool
from openslob.run.plan import session_plans
from openslob.workload import Workload

pytestmark = pytest.mark.server

UPDATES = {"sessions": 3, "update_pct": 20, "work_unit": 8}
ROLE = "ordinary"


@pytest.fixture
def server(trouble_server):
    return trouble_server


@pytest.fixture
def target(server, tmp_path):
    found = Target(server.start().url, tmp_path / "results")
    # A session that waits for a lock holds back pruning, so a test may leave tables that have grown.
    found.engine.data.load(Workload(**DATA).data(found.engine.facts().block_size), 2, ignore, lambda: False)
    return found


def sessions(target):
    return [pid for (pid,) in target.ask("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'slob/run/%'")]


# --- something is killed


def test_a_session_killed_in_the_server(target):
    with target.running(**UPDATES) as run:
        run.wait_until_measured()
        target.ask("SELECT pg_terminate_backend(%s)", sessions(target)[0])
        code, _, stderr = run.end()
    assert "was lost" in complaint(code, stderr)
    record = kept(target.record(), Status.FAILED)
    assert any("was lost" in error for error in record.errors)
    assert target.is_free()


def test_the_server_killed(target, server):
    with target.running(**UPDATES) as run:
        run.wait_until_measured()
        os.kill(server.status().pid, signal.SIGKILL)
        code, _, stderr = run.end()
    assert f"servers/{server.name}/log/server.log" in complaint(code, stderr)
    record = kept(target.record(), Status.FAILED)
    assert record.summary["pio_read_per_s"].value is None
    assert record.summary["pio_read_per_s"].why
    server.start()
    assert target.is_free()
    assert target.run(run_time=1, sessions=1).returncode == 0


def test_the_driver_killed(target):
    with target.running(**UPDATES) as run:
        run.wait_until_measured()
        assert len(sessions(target)) == 3
        run.process.kill()
        run.end()
        assert eventually(target.is_free)
    record = target.record()
    assert record.status is Status.FAILED
    shown = slob("show", "--results", target.results)
    assert (shown.returncode, "failed" in shown.stdout.lower()) == (0, True)
    slices = (target.folders()[0] / "slices.csv").read_text().splitlines()
    assert len(slices) > 2
    assert target.run(run_time=1, sessions=2).returncode == 0


def test_the_driver_killed_while_sessions_sleep(target):
    with target.running(sessions=2, think_tm_frequency=1, think_tm_min=60, think_tm_max=60) as run:
        run.wait_until(lambda: len(sessions(target)) == 2)
        run.process.kill()
        run.end()
        assert eventually(target.is_free)


# --- it goes on, but not as planned


def test_a_server_that_hangs_beyond_the_end_of_a_run(target, server):
    record, hung_s = stalled(server, target.engine, target.results, 1.5, run_time=1, **UPDATES)
    overran(record, hung_s)
    seen(record, target.results / record.id)


def seen(record, folder):
    """The stall is in the map of latency: few operations, and much of the time; and it is known when it came."""
    kind, figures = max(record.latency.items(), key=lambda each: each[1]["max_us"])
    longest = figures["slowest"][0]
    assert longest["us"] == figures["max_us"]
    assert longest["from_s"] < 1 < longest["to_s"], "in the slice that the stall made longer"
    rows = heat_cells(read(folder, record).latency[kind], record.window.load_seconds)
    tall = max((row for row in rows if row["from_us"] <= longest["us"] < row["to_us"]), key=lambda row: row["count"])
    assert tall["time_pct"] > 3 * tall["share_pct"]


def test_sessions_that_a_stopped_driver_leaves_idle(target):
    with target.running(run_time=3, **UPDATES, **FULL_SPEED) as run:
        run.wait_until_measured(slices=1)
        with stopped(run.process.pid) as stall:
            time.sleep(1.5)
        code, _, stderr = run.end()
    assert code == 0, stderr
    found = verdicts_of(target.record())
    idle = found["sessions_busy"]
    assert idle.verdict is Holds.FAILS
    # Of 3 s. Slices that had begun went on meanwhile, for 1.3 s at most.
    assert idle.figures["between_slices_pct"] > 100 * (stall.seconds - 1.3) / 3
    assert "the driver" in idle.why
    limit = found["limit_found"]
    assert limit.figures["limit"] not in ("storage", "wait for locks")
    assert limit.figures["limit"] or "The sessions were idle" in limit.why


def test_a_run_that_made_the_tables_grow_says_what_the_next_one_is_refused_for(target):
    hot = {"do_hotspot": True, "hotspot_mb": 1, "hotspot_frequency": 1, **FULL_SPEED}
    with psycopg.connect(target.url) as connection:
        # Its snapshot keeps every old row version.
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT 1")
        record = measured(target.engine, target.results, run_time=1, sessions=3, update_pct=100, **hot).record
    grown = verdicts_of(record)["data_in_place"]
    assert grown.verdict is Holds.FAILS
    assert "has grown from" in grown.why
    with pytest.raises(SlobError) as refused:
        measured(target.engine, target.results, run_time=1, sessions=1)
    assert refused.value.what[1:] in grown.why


# --- it is stopped


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_shows_and_keeps_what_it_measured(target, number):
    with target.running(**UPDATES) as run:
        run.wait_until_measured()
        run.interrupt(number)
        code, stdout, stderr = run.end()
    assert "interrupted" in complaint(code, stderr)
    record = kept(target.record(), Status.INTERRUPTED)
    assert record.errors == ()
    assert f"{record.summary['ops_total'].value:,.0f}" in stdout
    assert target.is_free()


@contextmanager
def blocked(target):
    """No update of schema 1 ends while this lasts."""
    with psycopg.connect(target.url) as connection:
        connection.execute("LOCK TABLE slob.cf1_1 IN SHARE MODE")
        yield
        connection.rollback()


def is_waiting(target):
    return target.ask("SELECT true FROM pg_locks WHERE NOT granted AND locktype = 'relation'") != []


def test_a_run_that_is_stopped_twice_leaves_at_once(target):
    """One session waits for a lock: the first request lets it, for longer than any test lasts; the second does not."""
    with target.running("from openslob.run import session_pool; session_pool.PATIENCE_S = 600", **UPDATES) as run:
        run.wait_until_measured()
        with blocked(target):
            run.wait_until(lambda: is_waiting(target))
            run.interrupt()
            time.sleep(1)
            assert run.process.poll() is None
            run.interrupt()
            code, _, stderr = run.end()
    assert "interrupted" in complaint(code, stderr)
    record = kept(target.record(), Status.INTERRUPTED)
    assert record.errors == ()
    assert any("cancelled within a slice" in note for note in record.notes)
    assert target.is_free()


def test_a_session_that_hangs_is_cancelled_in_the_end(target, monkeypatch):
    monkeypatch.setattr(session_pool, "PATIENCE_S", 1)
    interrupt = Interrupt()
    with ThreadPoolExecutor() as pool:
        ran = pool.submit(measured, target.engine, target.results, interrupt, run_time=LONG_S, **UPDATES)
        # Past their preparation, which the lock would hold up as well.
        assert eventually(target.has_measured)
        with blocked(target):
            assert eventually(lambda: is_waiting(target))
            interrupt.request()
            record = ran.result(timeout=LONG_S).record
    kept(record, Status.INTERRUPTED)
    assert target.is_free()


def test_stopped_while_warming_up_nothing_was_measured(target):
    with target.running(sessions=2, warmup=60) as run:
        run.wait_until(lambda: len(sessions(target)) == 2)
        time.sleep(1)
        run.interrupt()
        code, _, stderr = run.end()
    assert "nothing was measured" in complaint(code, stderr)
    record = target.record()
    assert (record.status, dict(record.summary)) == (Status.INTERRUPTED, {})
    assert target.is_free()


def test_stopped_while_waiting_in_a_long_think_time(target):
    with target.running(sessions=2, think_tm_frequency=1, think_tm_min=60, think_tm_max=60) as run:
        run.wait_until_measured()
        run.interrupt()
        code, _, stderr = run.end()
    complaint(code, stderr)
    assert target.record().status is Status.INTERRUPTED
    assert target.is_free()


def test_a_slice_in_a_server_that_no_longer_answers_is_cut_off(target, monkeypatch):
    """Its thread sees a lost connection; to close the connection under it would crash the process."""
    workload = Workload(**DATA)
    target.engine.install(workload)
    session = target.engine.open_session(session_plans(workload, 8192, "cut")[0])
    session.prepare()

    def unanswered(**_):
        raise psycopg.OperationalError("no answer")

    monkeypatch.setattr(session._connection, "cancel_safe", unanswered)
    with ThreadPoolExecutor() as pool:
        slice_done = pool.submit(session.run_slice, SliceRequest(0, 0, 2**61, 0))
        time.sleep(0.3)
        assert not session.cancel()
        session.cut()
        with pytest.raises(SlobError, match="session 0 was lost"):
            slice_done.result(timeout=30)
    session.close()
    session.cut()
    assert eventually(target.is_free)


# --- it can't begin


def refused(target, *words, url=None, **flags):
    """A run that is refused before it begins, with a line that has these words. It leaves no record."""
    ran = target.run(url=url, **flags)
    line = complaint(ran.returncode, ran.stderr)
    assert [word for word in words if word not in line] == [], line
    assert target.folders() == []
    assert sessions(target) == []
    assert target.is_free()


def test_too_few_connections(target):
    refused(target, "1000 sessions need", "connections", "max_connections", sessions=1000)


def test_data_smaller_than_scale(target):
    refused(target, f"SCALE asks for {SCALE + 1:,}", f"{SCALE:,}", "slob load", scale=SCALE + 1)


def test_fewer_schemas_than_asked_for(target):
    refused(target, "SCHEMAS asks for 3", "slob load", schemas=3)


def test_nothing_loaded(target):
    target.ask("CREATE DATABASE nothing")
    refused(target, "nothing is loaded", "slob load", url=target.url.replace("/slob?", "/nothing?"))


@pytest.fixture
def role(target):
    """URL of a role without any right of its own."""
    target.ask(f"CREATE ROLE {ROLE}")
    yield f"{target.url}&options=-c%20role%3D{ROLE}"
    target.ask(f"DROP OWNED BY {ROLE}")
    target.ask(f"DROP ROLE {ROLE}")


def test_no_rights_on_the_schema(target, role):
    refused(target, ROLE, "schema slob", "GRANT", url=role)


def test_no_rights_on_the_tables(target, role):
    target.ask(f"GRANT USAGE, CREATE ON SCHEMA slob TO {ROLE}")
    refused(target, "permission denied", "grant", url=role)


def test_no_rights_on_what_another_role_installed(target, role):
    """A run that another role made before must not stand in the way in some way nobody understands."""
    assert target.run(run_time=1, sessions=1).returncode == 0
    (first,) = target.folders()
    target.ask(f"GRANT USAGE, CREATE ON SCHEMA slob TO {ROLE}")
    target.ask(f"GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA slob TO {ROLE}")
    ran = target.run(url=role, run_time=1, sessions=1)
    assert "owner" in complaint(ran.returncode, ran.stderr)
    assert len(target.folders()) == 2
    assert first in target.folders()


def test_two_runs_at_once(target, tmp_path):
    with target.running(sessions=1, name="first") as first:
        first.wait_until_measured()
        second = Target(target.url, tmp_path / "second")
        ran = second.run(sessions=1, run_time=1)
        assert "is in use: run by pid" in complaint(ran.returncode, ran.stderr)
        assert second.folders() == []  # it was refused before it began
        first.interrupt()
        first.end()
    assert kept(target.record(), Status.INTERRUPTED).errors == ()
    assert target.is_free()


# --- it is asked for in a wrong way


def test_an_unknown_key_in_a_configuration_file(target, tmp_path):
    config = tmp_path / "slob.toml"
    config.write_text("schmeas = 3\n")
    ran = slob("run", "--target", target.url, "--results", target.results, "--config", config)
    line = complaint(ran.returncode, ran.stderr, expected=2)
    assert "schmeas" in line
    assert str(config) in line
    assert target.folders() == []


@pytest.mark.parametrize(
    ("url", "code", "word"),
    [
        ("postgresql:///slob?host=/nowhere&user=slob", 1, "/nowhere"),
        ("postgresql://127.0.0.1:1/slob?user=slob", 1, "127.0.0.1:1"),
        ("nosuch://host/db", 2, "no engine for nosuch:// is installed"),
        ("nosuchserver", 2, "there is no server 'nosuchserver'"),
    ],
)
def test_a_target_that_does_not_answer(target, url, code, word):
    ran = target.run(url=url)
    assert word in complaint(ran.returncode, ran.stderr, expected=code)
    assert target.folders() == []


def test_a_database_that_is_not_there(target):
    ran = target.run(url=target.url.replace("/slob?", "/nosuchdatabase?"))
    assert "nosuchdatabase" in complaint(ran.returncode, ran.stderr)
