"""Faults of storage under real servers: what they do is in the record, and what they acknowledged is accounted for."""

from __future__ import annotations

import json
from itertools import product

import pytest

from factories.programs import need_mariadb
from factories.running import slob
from openslob.core.errors import SlobError
from openslob.durability.cut import FAULTS, Fault, require_fuse
from openslob.engines import registry

pytestmark = pytest.mark.server
# Files whose pages these servers write in every checkpoint, and rows of which the cache holds a part.
LOAD = ("--sessions", "4", "--rows", "512")
DID = {"goes_on", "reports", "restarts", "ends", "hangs", "refuses"}


@pytest.fixture(autouse=True, scope="module")
def fuse():
    try:
        require_fuse()
    except SlobError as error:
        pytest.skip(str(error))


def failed(tmp_path, *words):
    done = slob("crash", *words, *LOAD, "--results", tmp_path, "--json")
    record = json.loads(done.stdout)
    assert record["status"] == "complete", record["errors"]
    return done, record, {verdict["name"]: verdict for verdict in record["verdicts"]}


# Every change meets an error, a full device and a device that is gone; the others differ in what the storage answers.
EACH_TIME = {(Fault.UNPLUGGED, "postgresql"), (Fault.EIO_WRITE, "mariadb"), (Fault.ENOSPC, "mariadb")}
EVERY = [
    pytest.param(*pair, marks=[] if pair in EACH_TIME else pytest.mark.nightly)
    for pair in product(FAULTS, ("postgresql", "mariadb"))
]


@pytest.mark.parametrize(("fault", "engine"), EVERY)
def test_every_fault_meets_the_server_and_what_it_did_and_lost_is_recorded(tmp_path, engine, fault):
    if engine == "mariadb":
        need_mariadb()
    words, every = ("--engine", engine, "--fault", fault.value), FAULTS[fault].files
    done, record, verdicts = failed(tmp_path, *words, "--cycles", len(every))
    assert [cycle["fault"]["files"] for cycle in record["cycles"]] == list(every)
    met = [cycle for cycle in record["cycles"] if cycle["fault"]["met"]]
    # On a busy host no request of these files may come while the fault lasts, but not each time.
    for files in {*every} - {cycle["fault"]["files"] for cycle in met}:
        _, more, _ = failed(tmp_path, *words, "--fault-on", files, "--cycles", 5)
        met += (again := [cycle for cycle in more["cycles"] if cycle["fault"]["met"]])
        assert again, more["cycles"]
    for cycle in met:
        seen = cycle["fault"]
        assert seen["first"].partition(" ")[0] in FAULTS[fault].requests
        assert seen["did"] in DID
        assert seen["answered_s"] is not None or seen["did"] in ("hangs", "refuses", "ends"), seen
        # A torn write is the only one of which a server's log may have nothing left to mend.
        if fault is not Fault.TORN_WRITE:
            assert (cycle["compared"], cycle["lost"], cycle["damage"]) == (True, 0, []), cycle
    if fault is not Fault.TORN_WRITE:
        assert done.returncode == 0, done.stderr
        assert verdicts["no_acked_commit_lost"]["verdict"] == "holds"
    assert registry.find(f"crash-{engine}") is None


def test_postgresql_panics_when_a_sync_of_tables_fails_and_loses_nothing_and_with_data_sync_retry_the_loss_is_found(
    tmp_path,
):
    words = ("--engine", "postgresql", "--fault", "fsync-once", "--fault-on", "tables")
    done, record, verdicts = failed(tmp_path, *words, "--cycles", "2")
    assert (done.returncode, verdicts["no_acked_commit_lost"]["verdict"]) == (0, "holds"), done.stderr
    for cycle in record["cycles"]:
        assert cycle["fault"]["did"] not in ("goes_on", "reports")
        assert any(line.startswith("PANIC:  could not fsync file") for line in cycle["fault"]["log"])
    done, record, verdicts = failed(tmp_path, *words, "--control", "data-sync-retry", "--cycles", "4")
    # A sync that had nothing to keep loses nothing: whether so few crashes prove the control is up to chance.
    assert done.returncode == {"holds": 0, "fails": 3}[verdicts["control_caught"]["verdict"]], done.stderr
    assert verdicts["no_acked_commit_lost"]["verdict"] == "fails"
    assert verdicts["control_caught"]["figures"]["caught"] > 0
    for cycle in record["cycles"]:
        assert cycle["fault"]["did"] not in ("restarts", "ends")
        assert any(line.startswith("ERROR:  could not fsync file") for line in cycle["fault"]["log"])
