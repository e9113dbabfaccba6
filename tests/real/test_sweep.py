"""Sweeps on a real server: killed in the middle and gone on with, restarted with other settings, planned only."""

from __future__ import annotations

import signal
import subprocess
import time

import pytest

from factories.running import COMMAND, LONG_S, slob, too_busy
from openslob.engines import registry
from openslob.kinds.sweep.record import PointState, find_sweeps, load_sweep
from openslob.kinds.sweep.search import STALL_VERDICTS
from openslob.record.model import Holds
from openslob.record.store import load

pytestmark = pytest.mark.server

# Points that a busy host spoils have no figures, of which these tests want none: they are not made again.
SMALL = ["--schemas", "1", "--scale", "8M", "--scan-table-sz", "64K", "--warmup", "0", "--retries", "0"]


@pytest.fixture(scope="module")
def server(make_server):
    return make_server(name="swept", cache_bytes=24 << 20)


def arguments(results, *more):
    return ["sweep", "--target", "swept", "--results", str(results), *more]


def sweep(results, *more, codes=(0,)):
    """Run a sweep to its end."""
    done = slob(*arguments(results, *SMALL, *more))
    assert done.returncode in codes, done.stderr + done.stdout
    return done


def only_sweep(results):
    (path,) = (each.path for each in find_sweeps(results))
    return path, load_sweep(path)


def wait_for_ended(results, count):
    """Until so many points have ended and the run of the next has begun."""
    end = time.monotonic() + LONG_S
    while time.monotonic() < end:
        for path in (each.path for each in find_sweeps(results)):
            ended = len(load_sweep(path).points) - len(load_sweep(path).pending)
            if ended >= count and len(run_folders(path)) > ended:
                return
        time.sleep(0.02)
    raise AssertionError("the sweep does not get on")


def run_folders(path):
    return {each.name for each in path.iterdir() if each.is_dir()}


def form(path, record):
    """What must not depend on a kill: points, their states, and what each run's record holds."""
    runs = [load(path / point.run) for point in record.points]
    spec = [(run.spec["sessions"], run.spec["update_pct"], run.status, run.engine["cache_bytes"]) for run in runs]
    names = [(set(run.summary), set(run.latency), [v.name for v in run.verdicts]) for run in runs]
    return [(p.number, p.values, p.server, p.repeat, p.state) for p in record.points], record.status, spec, names


def test_a_killed_sweep_goes_on_by_the_same_command_and_ends_like_one_that_was_not(server, tmp_path):
    asked = ["--sessions", "1,2,3", "--cache", "16M", "--run-time", "1"]
    broken = subprocess.Popen([*COMMAND, *arguments(tmp_path / "broken", *SMALL, *asked)], stderr=subprocess.DEVNULL)
    try:
        wait_for_ended(tmp_path / "broken", 1)
    finally:
        broken.kill()
        broken.wait()
    path, record = only_sweep(tmp_path / "broken")
    before = [point for point in record.points if point.state is not PointState.PENDING]
    killed = run_folders(path) - {point.run for point in before}
    assert 1 <= len(before) < 3
    assert len(killed) == 1
    # Whoever starts it next, even without the sweep, finds it as it was.
    assert registry.find("swept").status().spec.cache_bytes == 24 << 20

    told = sweep(tmp_path / "broken", *asked).stderr
    assert "resuming" in told
    path, record = only_sweep(tmp_path / "broken")
    done = [point for point in before if point.state is PointState.DONE]
    assert all(point in record.points for point in done)
    assert not killed & {point.run for point in record.points}

    sweep(tmp_path / "whole", *asked)
    assert form(path, record) == form(*only_sweep(tmp_path / "whole"))
    # Run with the cache that was asked for, and left with the one it had, kill or no kill.
    assert {load(path / point.run).engine["cache_bytes"] for point in record.points} == {16 << 20}
    assert registry.find("swept").status().spec.cache_bytes == 24 << 20


def test_a_point_that_cannot_be_run_is_recorded_and_the_rest_goes_on(server, tmp_path):
    done = sweep(tmp_path, "--sessions", "1,900", "--run-time", "1", "--repeats", "2", codes=(1,))
    _, record = only_sweep(tmp_path)
    by_sessions = {point.values["sessions"]: point for point in record.points}
    assert sorted((p.values["sessions"], p.state.value) for p in record.points) == [
        *((1, "done"),) * 2,
        *((900, "failed"),) * 2,
    ]
    assert "900 sessions need" in by_sessions[900].error
    assert by_sessions[900].run is None  # it was refused before it began
    assert "the first sessions 900: 900 sessions need" in " ".join(done.stdout.split())
    assert "some points failed" in done.stderr


def test_a_sweep_has_its_server_to_itself_and_once_stopped_says_how_to_go_on(server, tmp_path):
    asked = arguments(tmp_path, *SMALL, "--sessions", "1,2", "--run-time", "30")
    running = subprocess.Popen([*COMMAND, *asked], stderr=subprocess.PIPE, text=True)
    wait_for_ended(tmp_path, 0)
    time.sleep(0.5)
    beside = [*SMALL, "--sessions", "1", "--run-time", "1", "--results", tmp_path / "beside"]
    for words in (
        ["server", "stop", "swept"],
        ["run", "--target", "swept", *beside],
        ["sweep", "--target", "swept", *beside],
    ):
        refused = slob(*words)
        assert refused.returncode == 1
        assert f"swept is in use: sweep by pid {running.pid} since" in refused.stderr
    running.send_signal(signal.SIGINT)
    said = running.communicate(timeout=LONG_S)[1]
    path, record = only_sweep(tmp_path)
    assert running.returncode == 1
    assert f"slob sweep --resume {path} resumes it" in said
    assert [point.state for point in record.points] == [PointState.PENDING] * 2


def test_a_search_finds_a_session_count_and_its_warm_up_is_told(server, tmp_path):
    asked = ["--find-max-iops-under", "1s", "--at", "p50", "--most-sessions", "1", "--until-steady", "2"]
    done = slob(*arguments(tmp_path, *SMALL, *asked, "--run-time", "6"))
    path, record = only_sweep(tmp_path)
    run = load(path / record.points[0].run)
    stalled = [each.name for each in run.verdicts if each.name in STALL_VERDICTS and each.verdict is Holds.FAILS]
    if (
        too_busy(run) or stalled or run.summary["lio_per_s"].value is None
    ):  # that run gave no figure that counts, so that there is no answer either
        assert done.returncode in (3, 4), done.stderr + done.stdout
        assert record.search.sessions is None
        return
    assert done.returncode == 0, done.stderr + done.stdout
    assert (record.search.sessions, record.search.throughput) == (1, "lio_per_s")
    assert record.search.best == run.summary["lio_per_s"].value
    assert record.search.latency_us == run.latency["select"]["p50_us"] < 1e6
    assert run.window.warmup_s == pytest.approx(2)
    assert any("2 s, the limit, was discarded" in note for note in run.notes)


def test_a_search_without_an_answer_exits_with_3(server, tmp_path):
    # A host that is busy all the time lets no run have a rate: then nothing is known.
    done = sweep(tmp_path, "--find-max-iops-under", "1us", "--run-time", "1", codes=(3, 4))
    assert "No session count stays under 1 µs at p99" in done.stdout


def test_a_dry_run_plans_and_touches_nothing(server, tmp_path):
    told = sweep(tmp_path / "r", "--sessions", "1,2,4", "--repeats", "2", "--cpus", "0,1", "--dry-run").stdout
    assert not (tmp_path / "r").exists()
    assert "points    12" in told
    assert told.count("restart") == 4
    assert told.count("load") == 1
    assert registry.find("swept").status().spec.cpus is None


def test_block_sizes_each_on_a_server_of_its_own(make_server, tmp_path):
    """The target's own size runs on the target, the other one's server goes at the end."""
    make_server(name="swept-blocks", engine="mariadb", cache_bytes=8 << 20, log_bytes=64 << 20)
    sweep(tmp_path, "--target", "swept-blocks", "--block-size", "4k,16k", "--sessions", "1", "--run-time", "1")
    path, record = only_sweep(tmp_path)
    runs = {point.server["block_size"]: load(path / point.run) for point in record.points}
    assert {size: run.engine["block_size"] for size, run in runs.items()} == {4096: 4096, 16384: 16384}
    assert [name for name in registry.list_known() if name.startswith("sweep-")] == []
    target = registry.find("swept-blocks").status()
    assert (target.state, target.spec.block_size) == ("running", 16384)
    assert registry.resolve("swept-blocks")[0].data.state().spec.scale_blocks == (8 << 20) // 16384


@pytest.fixture(params=["postgresql", pytest.param("mariadb", marks=pytest.mark.nightly)])
def swept(request, make_server):
    """The name of a server of each engine that can have both loops."""
    if request.param == "postgresql":
        request.getfixturevalue("server")
        yield "swept"
        return
    server = make_server(name="loops", engine=request.param, cache_bytes=48 << 20)
    yield "loops"
    server.destroy()


def test_the_ready_sweep_of_both_loops_sets_them_side_by_side(swept, tmp_path):
    """A table of the server's loop against the client's, at each session count."""
    short = ["--ready", "loop", "--sessions", "1,2", "--scale", "8M", "--scan-table-sz", "64K", "--warmup", "0"]
    done = slob(*arguments(tmp_path, "--target", swept, *short, "--run-time", "1", "--repeats", "1"))
    assert done.returncode == 0, done.stderr + done.stdout
    path, record = only_sweep(tmp_path)
    assert {(point.values["loop"], point.values["sessions"]) for point in record.points} == {
        (loop, sessions) for loop in ("server", "client") for sessions in (1, 2)
    }
    assert {point.state for point in record.points} == {PointState.DONE}
    heading, table = done.stdout.splitlines()[0], done.stdout.split("sessions ")[-1].splitlines()
    assert "loop × sessions" in heading
    assert table[0].split("CPU")[0].split() == ["loop", "client", "loop", "server"]
    assert [row.split()[0] for row in table[1:3]] == ["1", "2"]
    for point in record.points:
        run = load(path / point.run)
        assert run.spec["loop"] == point.values["loop"]
        assert run.value("ops_total") > 0
