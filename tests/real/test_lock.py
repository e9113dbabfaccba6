"""The lock of a target: sessions of a run belong to it for as long as its driver lives, with the lock or without."""

import pytest

from factories.running import DATA, Target, load
from openslob.core.errors import SlobError
from openslob.core.workload import Workload
from openslob.kinds.run.plan import session_plans

pytestmark = pytest.mark.server


@pytest.fixture
def target(pg_server, tmp_path):
    load(pg_server)
    return Target(pg_server.status().url, tmp_path)


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
