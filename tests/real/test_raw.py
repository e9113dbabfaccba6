"""Raw measurements for real, small and short: what they record, what they cover, and that nothing of them stays."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
import uuid
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event, Timer

import psutil
import pytest

from factories.running import COMMAND, DATA, load
from factories.running import slob as run_slob
from openslob.core.errors import SlobError
from openslob.core.interrupt import Interrupt
from openslob.core.units import KIB, MIB
from openslob.core.workload import Workload
from openslob.kinds.run import runner
from openslob.kinds.storage import calibrate, ceiling
from openslob.kinds.storage import record as storage
from openslob.kinds.storage.fio import Fio, IoEngine, Job, coverage
from openslob.kinds.storage.process import MeasurementStoppedError
from openslob.kinds.storage.record import storage_alone
from openslob.kinds.storage.report import storage_document
from openslob.kinds.storage.target import file_system_of, has_holes, temporary_file, try_io_uring
from openslob.record.model import Holds, Status
from openslob.report.headline import headline
from openslob.report.terminal import render_text

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
SIZE = 32 * MIB
TINY = ["--size", "32M", "--run-time", "0.5", "--io-engine", "psync"]


@pytest.fixture
def fio():
    return Fio.find(Event())


@pytest.fixture
def folder(tmp_path):
    if file_system_of(tmp_path) in ("tmpfs", "ramfs"):
        pytest.skip(f"{tmp_path} lies in memory")
    return tmp_path


def job(file, **changes):
    plain = Job((file.path,), file.size, 8 * KIB, IoEngine.PSYNC, 0.5, copies=2)
    return replace(plain, **changes)


def slob(folder, *arguments):
    return run_slob(*arguments, "--results", folder / "results", cwd=folder)


@pytest.fixture
def fio_processes(monkeypatch):
    """Asks for the fio processes of this test, by a mark in their environment: others may be at work here."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv("SLOB_TEST_MARK", mark)

    def found():
        return [each for each in psutil.process_iter(["name"]) if each.info["name"] == "fio" and marked(each)]

    def marked(process):
        with suppress(psutil.Error):
            return process.environ().get("SLOB_TEST_MARK") == mark

    return found


def test_the_test_file_has_no_name_is_whole_and_goes(fio, folder):
    with temporary_file(fio, folder, SIZE - 5) as file:
        assert list(folder.iterdir()) == []
        assert file.size == SIZE
        assert not has_holes(file.path, file.size)
        content = file.path.read_bytes()
        pieces = {content[at : at + 4096] for at in range(0, SIZE, 4096)}
        assert len(pieces) == SIZE // 4096  # nothing for storage to share among blocks
    assert not file.path.exists()


def test_a_job_measures_and_its_checksums_are_verified(fio, folder):
    with temporary_file(fio, folder, SIZE) as file:
        plain, verified = fio.measure(job(file)), fio.measure(job(file, verify=True))
        assert plain.iops > 0
        assert plain.read.latency.mean_us() > 0
        assert verified.read.latency.count == verified.ios > 0
        with file.path.open("r+b") as written:
            written.seek(50 * 8192 + 4196)
            written.write(b"not what was written")
            written.flush()
            os.fsync(written.fileno())
        with pytest.raises(SlobError, match="the data read are not the data written"):
            fio.measure(job(file, verify=True, seconds=60))


def test_random_reads_cover_the_file_once_before_any_block_twice(fio, folder):
    with temporary_file(fio, folder, SIZE) as file:
        blocks = SIZE // (8 * KIB)
        (offsets,) = fio.offsets(job(file, copies=1), blocks // 2).values()
        assert len(offsets) == blocks // 2
        alone = coverage(offsets, 8 * KIB, SIZE)
        (offsets,) = fio.offsets(job(file), blocks // 2).values()
        together = coverage(offsets, 8 * KIB, SIZE, copies=2)
    assert alone.distinct == blocks // 2
    assert together.requests == blocks
    assert together.share == pytest.approx(0.75, abs=0.03)
    assert together.holds


@pytest.mark.parametrize("engine", IoEngine)
def test_a_stopped_job_leaves_no_process(fio, folder, engine, fio_processes):
    if engine is IoEngine.IO_URING and try_io_uring():
        pytest.skip("io_uring is not permitted here")
    with temporary_file(fio, folder, SIZE) as file:
        Timer(0.5, fio.stop.set).start()
        begun = time.monotonic()
        with pytest.raises(MeasurementStoppedError):
            fio.measure(job(file, engine=engine, seconds=60))
        assert time.monotonic() - begun < 30
    assert fio_processes() == []


def test_calibrate_records_every_step_and_its_result(folder, monkeypatch):
    # Storage that is quick would else be climbed far: how the search goes on is a unit test's matter.
    monkeypatch.setattr(calibrate, "MOST_PROCESSES", 4)
    monkeypatch.setattr(calibrate, "MOST_LARGE", 2)
    done = slob(
        folder, "raw", "calibrate", str(folder), *TINY, "--repeats", "2", "--verify", "--json", "--latency-limit", "2ms"
    )
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    (found,) = storage.find(folder / "results")
    assert found.record.model_dump(mode="json") == record
    assert [step["number"] for step in record["steps"]] == list(range(1, len(record["steps"]) + 1))
    assert all(step["figures"]["mean_us"]["value"] > 0 for step in record["steps"])
    assert record["summary"]["latency_mean_us"]["value"] > 0
    verdicts = {verdict["name"]: verdict["verdict"] for verdict in record["verdicts"]}
    assert set(verdicts) == {"repeatable", "limit_kept", "reached_device", "coverage"}
    assert verdicts["coverage"] == Holds.HOLDS
    assert [path.name for path in folder.iterdir()] == ["results"]
    shown = slob(folder, "show", "latest", "--all")
    assert "search max IOPS: random 8 KB reads, 1 in flight" in shown.stdout


def test_dd_looks_at_each_byte_and_only_reads_a_file_of_the_users(folder):
    (folder / "mine").write_bytes(os.urandom(4 * MIB))
    before = (folder / "mine").stat().st_mtime_ns
    done = slob(
        folder, "raw", "dd", str(folder / "mine"), "--run-time", "0.5", "--repeats", "1", "--io-engine", "psync"
    )
    assert done.returncode == 0, done.stderr
    record = storage.find(folder / "results")[0].record
    assert [step.name for step in record.steps] == ["dd, to nowhere", "dd, each byte looked at", "random reads"]
    assert record.value("looked_cpu_us_per_mb") > record.value("nowhere_cpu_us_per_mb") > 0
    assert (folder / "mine").stat().st_mtime_ns == before


def test_an_interrupted_calibration_leaves_no_file_no_fio_and_says_so(folder, fio_processes):
    arguments = ["raw", "calibrate", str(folder), *TINY, "--results", str(folder / "results")]
    with subprocess.Popen([*COMMAND, *arguments], stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if line.startswith("slob: 2."):
                break
        process.send_signal(signal.SIGTERM)  # Ctrl-C: the tests of orion
        said = process.stderr.read()
        assert process.wait(30) == 1
    assert "interrupted" in said
    record = storage.find(folder / "results")[0].record
    assert record.status is Status.INTERRUPTED
    assert len(record.steps) >= 2
    assert [path.name for path in folder.iterdir()] == ["results"]
    assert fio_processes() == []


def test_without_fio_nothing_is_begun(folder):
    done = run_slob("raw", "calibrate", folder, env={"PATH": "/nonexistent"}, cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "slob: fio is not installed; install the package fio (Debian: apt-get install fio)\n"
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(file_system_of(Path("/dev/shm")) != "tmpfs", reason="no tmpfs at /dev/shm")
def test_memory_is_refused_before_anything_is_made(folder):
    done = slob(folder, "raw", "calibrate", "/dev/shm", *TINY)
    assert done.returncode == 1
    assert "lies in memory (tmpfs)" in done.stderr
    assert not (folder / "results").exists()


def test_too_little_space_is_told_with_figures(folder):
    done = slob(folder, "raw", "calibrate", str(folder), "--size", "900T", "--io-engine", "psync")
    assert done.returncode == 1
    assert "the test file needs 900 TB" in done.stderr
    assert not (folder / "results").exists()


@pytest.mark.server
def test_a_run_is_held_against_what_its_storage_gives(pg_server, fio, tmp_path, monkeypatch):
    monkeypatch.setattr(ceiling, "STEP_S", 0.5)
    engine = load(pg_server)
    raw = ceiling.measure_ceiling(engine, 2, fio, tmp_path, lambda _: None, size=SIZE)
    assert [step.load.in_flight for step in raw.steps] == [1, 2]
    assert (raw.tool, raw.status) == ("ceiling", Status.COMPLETE)
    assert raw.value("max_iops") == max(step.value("iops") for step in raw.steps)
    assert "Storage alone gives up to" in render_text(storage_document(raw))
    workload = Workload(**{**DATA, "run_time": 3, "warmup": 0, "sessions": 2, "update_pct": 0})
    finished = runner.run(
        engine,
        runner.RunRequest(workload, "test", tmp_path, ceiling=storage_alone(raw)),
        Interrupt(),
        lambda _: None,
        lambda _: "",
    )
    found = next(each for each in finished.record.verdicts if each.name == "within_ceiling")
    # A busy host may leave no window, and so no rate, to hold against it.
    assert found.figures.get("record") == raw.id or found.verdict is Holds.UNKNOWN, found.why
    assert ("of what the storage gives" in headline(finished.record)) is (found.figures.get("share_pct") is not None)
