"""The realism table for real, tiny: every contender measured, and nothing of it left however it ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess

import psutil
import pytest

from factories.running import COMMAND, slob
from openslob.engines import registry
from openslob.kinds.storage import record as storage
from openslob.kinds.storage.comparison import execute as compare
from openslob.kinds.storage.comparison.realism import ContenderKind, rows
from openslob.kinds.storage.target import file_system_of, try_io_uring
from openslob.record import store
from openslob.record.model import RecordKind, Status

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed"),
]
TINY = ["--scale", "64M", "--run-time", "1", "--repeats", "1", "--engines", "postgresql", "--with", "tpcb-select"]


@pytest.fixture
def command(tmp_path, slob_home):
    if file_system_of(slob_home) in ("tmpfs", "ramfs"):
        pytest.skip(f"{slob_home} lies in memory")
    engine = ["--io-engine", "libaio"] if try_io_uring() else []
    return ["raw", "compare", *TINY, *engine, "--results", str(tmp_path)]


def nothing_is_left(slob_home):
    """No server of a comparison, no file of one in the servers' home, no program of one."""
    assert not [name for name in registry.list_known() if name.startswith("raw-compare")]
    assert not [path for path in slob_home.iterdir() if path.is_file()]
    left = [each.info["name"] for each in psutil.process_iter(["name", "cmdline"]) if _ours(each.info, slob_home)]
    assert left == []
    return True


def _ours(info, slob_home):
    line = " ".join(info["cmdline"] or ())
    return f"{slob_home}/servers/raw-compare" in line


def test_every_contender_is_measured_and_nothing_stays(command, tmp_path, slob_home, monkeypatch):
    monkeypatch.setattr(compare, "RETRIES", 0)  # a rate that is missing for a reason is as good here
    done = slob(*command, "--cpus", "0", "--json")
    assert done.returncode == 0, done.stderr
    record = storage.find(tmp_path)[0].record
    assert record.model_dump(mode="json") == json.loads(done.stdout)
    assert (record.kind, record.tool, record.status) == ("raw", "compare", Status.COMPLETE)
    found = rows(record)
    assert [row.kind for row in found] == [
        ContenderKind.RAW, ContenderKind.RAW, ContenderKind.RAW,
        ContenderKind.LOCAL, ContenderKind.SHARED, ContenderKind.UPDATES, ContenderKind.CLIENT, ContenderKind.CLIENT,
    ]  # fmt: skip
    assert {row.rounds for row in found} == {1}
    # A host too busy to read its counters in time gives no rate, and says why.
    assert all((row.iops.median or 0) > 0 or row.why for row in found)
    assert all(row.p99_us > 0 for row in found)
    assert [verdict.name for verdict in record.verdicts] == ["order_postgresql"]
    assert nothing_is_left(slob_home)
    _runs_are_there(record, storage.find(tmp_path)[0].path)


def _runs_are_there(record, folder):
    paths = {"local": "local", "updates": "shared", "shared": "shared"}
    found = [store.load(folder / listed["run"]) for listed in record.tables["runs"]]
    runs = [run for run in found if run.kind is RecordKind.RUN]
    assert len(runs) == len(paths)
    for run in runs:
        assert run.spec["block_path"] == paths[run.name.rpartition("-")[2]]
        assert run.spec["sessions"] == 8
    observed = {run.spec["workload"]["name"]: run for run in found if run.kind is RecordKind.OBSERVATION}
    assert set(observed) == {"one-row-select", "tpcb-select"}
    steps = {step.name: step for step in record.steps}
    _says_what_pgbench_says(observed["tpcb-select"], steps["postgresql, tpcb-select"])


def _says_what_pgbench_says(run, step):
    assert step.figures["iops"] == run.summary["pio_read_per_s"]
    done = run.summary["transactions_per_s"].value * run.window.load_seconds
    assert step.latency["count"] == pytest.approx(done, rel=0.02, abs=20)


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param("postgresql: loading", marks=pytest.mark.nightly),
        "slob: 1.",
        pytest.param("window", marks=pytest.mark.nightly),
    ],
)
def test_interrupted_it_says_so_and_leaves_nothing(command, tmp_path, slob_home, moment):
    with subprocess.Popen([*COMMAND, *command], stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        for line in process.stderr:
            if moment in line:
                break
        # As a terminal does: the whole group hears of it.
        os.killpg(process.pid, signal.SIGINT)
        said = process.stderr.read()
        assert process.wait(60) == 1
    assert "the record is marked as interrupted" in said
    record = storage.find(tmp_path)[0].record
    assert (record.status, record.summary) == (Status.INTERRUPTED, {})
    assert nothing_is_left(slob_home)
