"""The driver's own trouble: its connections, files and folders. What was measured is not lost, and nothing is left."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree

import pytest

from factories.running import (
    DATA,
    LONG_S,
    Target,
    complaint,
    kept,
    load,
    measured_until_its_counters_are_lost,
    slob,
)
from openslob.record.model import Status

pytestmark = pytest.mark.server

UPDATES = {"sessions": 3, "update_pct": 20, "work_unit": 8}


@pytest.fixture
def target(trouble_server, tmp_path):
    url = trouble_server.start().url
    load(trouble_server)  # tests may leave tables that have grown
    return Target(url, tmp_path / "results")


def test_a_run_without_counters_ends_at_once(target):
    def kill(connection):
        target.ask("SELECT pg_terminate_backend(%s)", connection.info.backend_pid)

    record, why = measured_until_its_counters_are_lost(target, kill, **UPDATES)
    assert "the counters can't be read" in why
    assert kept(record, Status.FAILED).window.load_seconds < LONG_S / 2
    assert target.is_free()


def test_a_run_that_lost_its_folder_and_the_samples_of_waits_shows_what_it_measured(target):
    with target.running(**UPDATES) as run:
        run.wait_until_measured()
        target.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'slob/waits'")
        run.wait_until_measured(slices=8)
        rmtree(target.results)
        run.interrupt()
        code, stdout, stderr = run.end()
    assert "run.json can't be written: No such file or directory; the report on standard output" in complaint(
        code, stderr
    )
    assert "what sessions waited for is unknown" in " ".join(stdout.split())
    assert target.is_free()


def test_a_disk_that_fills_up_ends_a_run_and_what_was_measured_is_kept(target):
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))"
    with target.running(full, **UPDATES) as run:
        code, _, stderr = run.end()
    assert "can't be written: File too large; free space" in complaint(code, stderr)
    assert kept(target.record(), Status.FAILED).window.load_seconds < LONG_S / 2
    assert target.is_free()


def test_a_results_folder_that_can_not_be_written(target, tmp_path):
    (tmp_path / "file").touch()
    for place in (tmp_path / "file" / "results", Path("/proc/results")):
        ran = slob(
            "run",
            "--target",
            target.url,
            "--results",
            place,
            *(f"--{k.replace('_', '-')}={v}" for k, v in DATA.items()),
        )
        line = complaint(ran.returncode, ran.stderr)
        assert str(place) in line
        assert "can't be written" in line
        assert target.is_free()
