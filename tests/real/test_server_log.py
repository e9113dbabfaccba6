"""A server that fails under a load or a run: the error has the line of its log that says why, and the log's path."""

import os
import signal
from unittest.mock import patch

import pytest

from factories.disks import fill_up, resize, small_disk
from factories.running import Target, complaint, ignore
from openslob.core.errors import SlobError
from openslob.core.workload import Workload
from openslob.engines import load
from openslob.kinds.run import loading
from openslob.record.model import Status

pytestmark = pytest.mark.server

SMALL = {"schemas": 1, "scale": "400", "scan_table_sz": "20"}
UPDATES = {**SMALL, "sessions": 2, "update_pct": 50, "work_unit": 8}
LARGE = {"schemas": 2, "scale": "4000"}
# PostgreSQL; MariaDB; MariaDB that could not even roll back and ended
DISK_FULL = ("No space left", "error 28", "Out of disk space")
ROOMY = 2 << 30  # a reserve of free space is kept at the start and by loads


def error_of_a_load(engine):
    """The error of a load that began with enough space."""
    with patch.object(load, "require_space"), pytest.raises(SlobError) as ended:
        loading.load(engine, None, Workload(**LARGE), ignore, lambda: False, ignore)
    return str(ended.value)


def error_of_a_run(target, fail):
    """The error in the record of a run during which ``fail`` was called once it had measured something."""
    target.engine.data.load(Workload(**SMALL).data(target.engine.facts().block_size), 1, ignore, lambda: False)
    with target.running(**UPDATES) as run:
        run.wait_until_measured()
        fail()
        code, _, stderr = run.end()
    record = target.record()
    assert record.status is Status.FAILED
    assert record.errors[0] in complaint(code, stderr)
    return record.errors[0]


def kill_a_backend(target, _server):
    """The server ends all other sessions, which are told of a crash of another process and nothing else."""
    query = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'slob/run/%%' LIMIT %s"
    os.kill(target.ask(query, 1)[0][0], signal.SIGKILL)


def kill_all(_target, server):
    os.kill(server.status().pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("engine", "kill", "says"),
    [("postgresql", kill_a_backend, ": LOG:  "), ("mariadb", kill_all, ", does not say why, as after a kill")],
)
def test_a_server_whose_disk_is_full_and_one_that_is_killed(engine, kill, says, make_server, slob_home, tmp_path):
    place = slob_home / f"disk-{engine}"
    place.mkdir()
    with small_disk(place, ROOMY):
        server = make_server(name=f"full-{engine}", engine=engine, io="buffered", data_dir=place / "d")
        log = slob_home / "servers" / server.name / "log" / "server.log"
        target = Target(server.status().url, tmp_path)
        try:
            fill_up(place)
            error = error_of_a_load(target.engine)
            assert f"(the server's log, {log}" in error
            assert any(said in error for said in DISK_FULL)
            assert resize(place, ROOMY)
            server.start()  # a full disk may have ended MariaDB, and then the data that the load began remain
            state = target.engine.data.state()
            if "could not be removed" in error:
                assert state.fault == "the last load did not finish"
            else:
                assert state is None
            error = error_of_a_run(target, lambda: kill(target, server))
            assert f"{log}{says}" in error
        finally:
            server.destroy()
