"""Runs that did not go as planned, of which the record must tell more than the fault suite (tests/faults) looks at."""

import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from factories.running import (
    DATA,
    FULL_SPEED,
    Target,
    complaint,
    eventually,
    ignore,
    measured,
    overran,
    stalled,
    stopped,
    verdicts_of,
)
from openslob.core.errors import SlobError
from openslob.core.workload import Workload
from openslob.engines.base import SliceRequest
from openslob.engines.postgresql.connection import PatientPsycopg
from openslob.kinds.run.plan import session_plans
from openslob.record.model import Holds
from openslob.report.charts.over_time import heat_cells
from openslob.report.run_series import read

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


def test_a_slice_in_a_server_that_no_longer_answers_is_cut_off(target, monkeypatch):
    """Its thread sees a lost connection; to close the connection under it would crash the process."""
    workload = Workload(**DATA)
    target.engine.install(workload)
    session = target.engine.open_session(session_plans(workload, 8192, "cut")[0])
    session.prepare()

    def unanswered(*_, **__):
        raise psycopg.OperationalError("no answer")

    monkeypatch.setattr(PatientPsycopg, "cancel_safe", unanswered)
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


@pytest.fixture
def role(target):
    """URL of a role without any right of its own."""
    target.ask(f"CREATE ROLE {ROLE}")
    yield f"{target.url}&options=-c%20role%3D{ROLE}"
    target.ask(f"DROP OWNED BY {ROLE}")
    target.ask(f"DROP ROLE {ROLE}")


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


# --- it is asked for in a wrong way
