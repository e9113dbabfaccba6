"""Runs whose sessions other processes have: what the record adds up to, and what is left when one of them dies."""

import os
import signal
import threading
import time
from collections import Counter

import psutil
import pytest

from factories.running import EASY, load, measured, verdicts_of
from openslob.core.errors import SlobError
from openslob.fleet import hire_drivers
from openslob.record import store
from openslob.record.model import Holds, Status
from openslob.record.raw_csv import raw_table
from openslob.report.text import render

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def fleet():
    with hire_drivers("local:2") as found:
        yield found


@pytest.fixture
def engine(trouble_server):
    trouble_server.start()
    return load(trouble_server)


def buckets(folder):
    found = Counter()
    for second, kind, edge, count in raw_table(folder, "latency.csv")[1]:
        found[second, kind, edge] += count
    columns, rows = raw_table(folder, "slices.csv")
    for row in rows:
        found[row[columns.index("session")]] += row[columns.index("ops")]
    return found


def test_nobody_reaches_drivers_of_this_host_from_elsewhere(fleet):
    own = [psutil.Process(), *(psutil.Process(each.who.pid) for each in fleet.drivers)]
    listening = {each.laddr.ip for process in own for each in process.net_connections() if each.status == "LISTEN"}
    assert listening == {"127.0.0.1"}


def test_the_record_is_the_sum_of_what_the_drivers_wrote(fleet, engine, tmp_path):
    finished = measured(engine, tmp_path, hire=fleet.hire, sessions=5, run_time=1, warmup=0.2)
    record, folder = finished.record, finished.folder
    assert record.status is Status.COMPLETE
    assert record.errors == ()
    assert buckets(folder / "drivers/1") + buckets(folder / "drivers/2") == buckets(folder)
    one, other = record.environment["drivers"]
    assert [*one["sessions"], *other["sessions"]] == list(range(5))
    assert one["ops"] + other["ops"] == record.summary["ops_total"].value
    assert {one["pid"], other["pid"]}.isdisjoint({os.getpid()})
    assert abs(one["clock_offset_s"]) < 60
    assert verdicts_of(record)["errors"].verdict is Holds.HOLDS
    assert "Of 2 drivers" in verdicts_of(record)["driver_quiet"].why
    assert "DRIVERS, over the window" in render(record)


def test_a_driver_that_is_killed_is_named_and_the_other_keeps_all_it_did(fleet, engine, tmp_path):
    victim = fleet.drivers[1]

    def kill():
        while not list(tmp_path.glob("*/drivers/2/slices.csv")) or not raw_table(*_of(tmp_path))[1]:
            time.sleep(0.1)
        os.kill(victim.who.pid, signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()
    with pytest.raises(SlobError, match="is gone: its process ended") as failed:
        measured(engine, tmp_path, hire=fleet.hire, sessions=4, run_time=60, **EASY)
    assert failed.value.what.startswith(victim.name)
    folder = next(tmp_path.iterdir())
    record = store.load(folder)
    kept, killed = record.environment["drivers"]
    assert record.status is Status.FAILED
    assert [bool(kept["lost"]), bool(killed["lost"])] == [False, True]
    assert kept["ops"] == kept["ops_written"] > 0
    assert killed["ops"] <= killed["ops_written"]
    assert killed["ops_written"] > 0
    merged = buckets(folder)
    assert {number: merged[number] for number in kept["sessions"]} == {
        number: buckets(folder / "drivers/1")[number] for number in kept["sessions"]
    }
    assert engine.sessions_left() == 0


def _of(results):
    return next(results.glob("*/drivers/2")), "slices.csv"
