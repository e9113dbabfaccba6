"""The lock of a target outlives the limits that roles have, and a run that loses it ends; its sessions are its own."""

import pytest

from factories.running import DATA, Target, load
from openslob.errors import SlobError
from openslob.record.model import Status
from openslob.run.plan import session_plans
from openslob.workload import Workload

pytestmark = pytest.mark.server

# Since which version there is each of the limits that a role may have for applications.
LIMITS = {
    "statement_timeout": 13,
    "lock_timeout": 13,
    "idle_in_transaction_session_timeout": 13,
    "idle_session_timeout": 14,
    "transaction_timeout": 17,
}


@pytest.fixture
def target(pg_server, tmp_path):
    load(pg_server)
    return Target(pg_server.status().url, tmp_path)


def test_a_run_that_loses_its_lock_ends_at_once(target):
    with target.running(sessions=2) as run:
        run.wait_until_measured(1)
        target.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'slob/run by %'")
        code, _, stderr = run.end()
    (why,) = target.record().errors
    assert code == 1
    assert why in stderr
    assert "the lock of " in why
    assert "was lost: terminating connection due to administrator command" in why
    assert target.record().status is Status.FAILED
    assert target.is_free()


def test_sessions_of_a_run_that_lost_its_lock_are_not_ended_by_another_one(target):
    """Those of a killed driver are: its other connections are gone."""
    engine = target.engine
    session, stop = engine.open_session(session_plans(Workload(**DATA), 8192, "lost")[0]), engine.open_stop()
    try:
        with pytest.raises(SlobError, match="although it lost its lock"):
            engine.release_sessions()
        assert engine.sessions_left() == 1
        stop.close()
        assert engine.release_sessions() == 1
    finally:
        session.close()


def test_time_limits_for_applications_do_not_end_a_run(target):
    """They are not for this one: its lock and its stop signal are idle for the whole run."""
    major = int(target.ask("SHOW server_version_num")[0][0]) // 10000
    for name in (name for name, since in LIMITS.items() if since <= major):
        target.ask(f"ALTER ROLE slob SET {name} = '700ms'")
    try:
        ran = target.run(run_time=2, sessions=2)
    finally:
        target.ask("ALTER ROLE slob RESET ALL")
    assert ran.returncode == 0, ran.stderr
    assert target.record().status is Status.COMPLETE
