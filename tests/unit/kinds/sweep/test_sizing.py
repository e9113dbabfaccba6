"""Data that follow the cache, and what a plan says of verdicts that can't hold."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from factories.tables import table
from openslob.cli import app
from openslob.config.grid import resolve_grid
from openslob.core.units import GIB, MIB
from openslob.kinds.run.preflight import ServerMemory, active_bytes
from openslob.kinds.sweep.create import new_sweep, ready_sweep
from openslob.kinds.sweep.plan import workload_of
from openslob.kinds.sweep.sizing import server_memory

MEMORY = ServerMemory(8192, 1 * GIB, direct_io=True)


def planned(texts, memory=MEMORY, data_per_cache=None, **more):
    grid = resolve_grid({name: values.split(",") for name, values in texts.items()}, None, {})
    return new_sweep("s", "big", grid, {}, memory=memory, data_per_cache=data_per_cache, **more)


@table("name", ["petals", "block-size", "read-outliers"])
def test_the_points_of_a_ready_made_sweep_can_hold_whatever_the_cache(name):
    file = ready_sweep(name)
    for cache in (32 * MIB, 128 * MIB, GIB, 7 * GIB + 1):
        memory = ServerMemory(8192, cache, direct_io=True)
        grid = resolve_grid(file.grid, None, {})
        record = new_sweep("s", "big", grid, {}, memory=memory, data_per_cache=file.data_per_cache)
        assert not [note for note in record.notes if "hold" in note or "refused" in note]
        for point in record.points:
            assert active_bytes(workload_of(record, point), 8192) >= 10 * cache


def test_the_largest_cache_of_the_sweep_decides():
    grid = resolve_grid({"schemas": ["2"]}, None, {})
    servers = {"cache_bytes": (64 * MIB, 256 * MIB)}
    record = new_sweep("s", "embedded", grid, servers, memory=MEMORY, data_per_cache=12)
    assert record.workload["scale"] == "1536M"


@pytest.mark.parametrize("texts", [{"scale": "64M"}, {"scale": "64M,128M"}])
def test_a_scale_that_the_user_gave_stays(texts):
    record = planned(texts, data_per_cache=12)
    assert record.workload["scale"] == "64M"


def test_without_a_known_cache_the_notice_says_so():
    record = planned({"mode": "pio"}, memory=None, data_per_cache=12)
    assert record.workload["scale"] == "2G"
    assert "the size of the server's cache is not known" in record.notes[-1]


@table(
    ("texts", "expected"),
    [
        ({"mode": "pio", "scale": "2G", "schemas": "1"}, "in all 1 point: the verdict on mode pio can't hold"),
        ({"mode": "pio", "scale": "256M", "schemas": "1"}, "in all 1 point: the run is refused: 256 MB"),
        ({"mode": "redo", "scale": "2G", "update_pct": "100"}, "in all 1 point: the verdict on mode redo can't hold"),
        ({"mode": "pio", "scale": "1G,16G", "schemas": "1"}, "in 1 of 2 points: the run is refused"),
        ({"run_time": "5"}, "the verdict steady stays unknown: a window of 5 s is too short"),
    ],
)
def test_what_can_not_hold_is_said_before_the_first_point(texts, expected):
    assert any(note.startswith(expected) or expected in note for note in planned(texts).notes)


def test_what_can_hold_is_not_mentioned():
    assert planned({"mode": "pio", "scale": "12G", "schemas": "1", "sessions": "1,2"}).notes == ()
    assert planned({"mode": "redo", "scale": "16M", "schemas": "1", "update_pct": "100"}).notes == ()


def test_buffered_io_of_some_points_is_seen():
    grid = resolve_grid({"mode": ["pio"], "scale": ["12G"], "schemas": ["1"]}, None, {})
    record = new_sweep("s", "embedded", grid, {"io": ("direct", "buffered")}, memory=MEMORY)
    (note,) = record.notes
    assert note.startswith("in 1 of 2 points: the verdict on mode pio can't hold: the server does buffered I/O")


def test_buffered_io_of_data_that_fit_the_memory_of_the_host_says_how_much_it_is():
    memory = ServerMemory(8192, 1 * GIB, direct_io=False, host_bytes=24 * GIB)
    (note,) = planned({"mode": "pio", "scale": "12G", "schemas": "1"}, memory=memory).notes
    assert "the page cache serves what the engine reads (12 GB of active data, 24 GB of memory" in note
    assert note.endswith("use --io direct; otherwise load far more than the host's memory, 48 GB at least")


def test_a_server_whose_counts_come_late_needs_longer_windows_than_any_verdict():
    late = ServerMemory(8192, 1 * GIB, direct_io=True, least_window_s=100.0)
    counts, steady = planned({"run_time": "5"}, memory=late).notes
    assert re.findall(r"window of (\d+) s; --run-time (\d+)", counts) == [("5", "100")]
    assert "steady" in steady
    assert "--run-time" not in steady
    (counts,) = planned({"run_time": "99"}, memory=late).notes
    assert planned({"run_time": "100"}, memory=late).notes == ()


def test_a_comparison_without_repeats_has_no_interval():
    record = planned({"update_pct": "0,20", "run_time": "20"}, against="update_pct")
    (note,) = record.notes
    assert re.findall(r"update_pct|--repeats \d+", note) == ["update_pct", "--repeats 5"]
    assert planned({"update_pct": "0,20", "run_time": "20"}, against="update_pct", repeats=2).notes == ()


def test_a_managed_server_that_does_not_exist_yet_has_the_default_cache():
    memory = server_memory("embedded")
    assert memory is not None
    assert memory.cache_bytes > 0
    assert server_memory("no-such-server") is None
    assert server_memory("postgresql://127.0.0.1:1/x") is None


def test_a_dry_run_prints_the_total_time_and_what_can_not_hold(tmp_path):
    arguments = ["--mode", "pio", "--scale", "256M", "--schemas", "1", "--sessions", "1,2", "--run-time", "20"]
    result = CliRunner().invoke(app, ["sweep", "--results", str(tmp_path), "--dry-run", *arguments])
    assert result.exit_code == 0, result.output
    assert "time" in result.stdout
    texts = {"mode": "pio", "scale": "256M", "schemas": "1", "sessions": "1,2", "run_time": "20"}
    (first, *_) = planned(texts, memory=server_memory("embedded")).notes
    assert f"! {first}" in " ".join(result.stdout.split())
