"""An endurance run on a real server: its driver is killed, and another one goes on with the time that is left."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest

from factories.running import COMMAND, eventually, slob
from openslob.kinds.endurance import record as endurance
from openslob.kinds.endurance.record import KILLED, SegmentState
from openslob.record.model import Holds, Status
from openslob.record.raw_csv import Event, event_rows, last_slice_end_ns, parse_probe

pytestmark = pytest.mark.server

LOAD = ["--schemas", "1", "--scale", "8M", "--scan-table-sz", "64K"]


@pytest.fixture(scope="module")
def server(make_server):
    made = make_server(name="endured", cache_bytes=24 << 20)
    assert slob("load", "--target", "endured", *LOAD).returncode == 0
    return made


def test_a_killed_driver_leaves_a_record_that_another_one_completes(server, tmp_path):
    on = ["--target", "endured", "--results", str(tmp_path)]
    asked = ["endure", *on, "--for", "5s", "--sessions", "2", "--update-pct", "50", "--warmup", "0"]
    driver = subprocess.Popen([*COMMAND, *asked], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert eventually(lambda: any(last_slice_end_ns(run) for run in tmp_path.glob("*/*-segment-1")))
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    (folder,) = tmp_path.iterdir()
    shown = slob("show", "latest", "--results", str(tmp_path))
    assert KILLED in shown.stdout, shown.stderr
    assert f"slob endure --resume {folder.name}" in " ".join(shown.stdout.split())
    done = slob("endure", *on, "--resume", "latest", "--json")
    assert done.returncode == 0, done.stderr
    record = endurance.load(folder)
    first, second = record.segments
    assert (first.state, second.state, record.status) == (SegmentState.KILLED, SegmentState.COMPLETE, Status.COMPLETE)
    assert second.seconds == pytest.approx(record.planned_s - first.seconds, abs=1)
    (gap,) = record.gaps
    runs = (first.run, second.run)
    assert gap.why == KILLED
    parts = [[parse_probe(each.text) for each in event_rows(folder / run) if each.kind == Event.PROBE] for run in runs]
    assert [[(part.active, part.sessions) for part in of_run] for of_run in parts] == [
        [],
        [*[(1, 2), (2, 2)] * 2, (1, 2)],
    ]
    assert all(part.ops > 0 for part in parts[1])
    marks = [each["kind"] for each in json.loads(done.stdout)["tables"]["marks"]]
    assert next(kind for kind in marks if kind != "note") in ("gap", "checkpoint")
    covered = next(each for each in record.verdicts if each.name == "time_covered")
    assert covered.verdict is Holds.FAILS
    again = slob("endure", *on, "--resume", "latest")
    assert again.returncode == 2
    assert "is complete" in again.stderr
