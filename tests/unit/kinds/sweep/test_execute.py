"""The execution of a sweep with simulated runs: failures, stops, and resumption."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from factories.contexts import Unseen, context_in
from factories.records import Made, physical
from factories.tables import table
from openslob.config.grid import Grid
from openslob.core.errors import SlobError, UndecidedError, VerdictError
from openslob.core.interrupt import Interrupt
from openslob.core.workload import Workload
from openslob.engines.base import Hold
from openslob.kinds.run import loading, runner
from openslob.kinds.run.crew import local_crew
from openslob.kinds.run.runner import FinishedRun
from openslob.kinds.sweep import execute, plan
from openslob.kinds.sweep.create import find_unfinished, new_sweep
from openslob.kinds.sweep.plan import POINT_OVERHEAD_S, sessions_at_most
from openslob.kinds.sweep.record import PointState, SearchRecord, SweepFolder, load_sweep
from openslob.kinds.sweep.search import require_answer
from openslob.record.model import RunRecord, Status
from openslob.record.store import say_nothing


@dataclass
class World:
    """A simulated server: what was loaded and run on it, and what is to fail."""

    loaded: list = field(default_factory=list)
    ran: list = field(default_factory=list)
    fails: object = lambda workload: False
    made: object = lambda workload: Made(sessions=workload.total_sessions, read_us=100.0 * workload.total_sessions)
    load_fails: object = lambda workload: False
    stop_at: int = 0
    killed_at: int = 0
    interrupt: Interrupt = field(default_factory=Interrupt)

    def load(self, engine, server, workload, view, cancelled, notify, held):
        held.require()
        if self.load_fails(workload):
            raise SlobError("the disk is full")
        reused = self.loaded[-1:] == [str(workload.scale)]
        if not reused:
            self.loaded.append(str(workload.scale))
        return SimpleNamespace(reused=reused)

    def run(self, engine, request, interrupt, show, render):
        assert request.held.restored == ("put right",)
        self.ran.append(request)
        load, at = request.workload, len(self.ran)
        folder = request.results / f"run-{len(list(request.results.iterdir())):04}-{os.urandom(3).hex()}"
        folder.mkdir()
        if at == self.killed_at:
            raise KeyboardInterrupt  # like a kill, it is caught nowhere
        record = physical(self.made(load))
        record = record.model_copy(update={"id": folder.name, "spec": load.to_record()})
        if at == self.stop_at:
            interrupt.request()
            record = record.model_copy(update={"status": Status.INTERRUPTED})
        (folder / "run.json").write_text(record.model_dump_json())
        if self.fails(load):
            raise SlobError("a session was lost", f"what was measured is in {folder}")
        return FinishedRun(record, folder)


class Engine:
    taken = 0

    def follow(self, _):
        pass

    @contextmanager
    def exclusive(self, purpose):
        assert purpose == "sweep"
        Engine.taken += 1
        yield Hold(("put right",))

    def facts(self):
        return physical_facts


class physical_facts:  # noqa: N801
    block_size = 8192


@pytest.fixture
def world(monkeypatch):
    made = World()
    monkeypatch.setattr(runner, "run", made.run)
    monkeypatch.setattr(loading, "load", made.load)
    monkeypatch.setattr(execute.SweepServers, "start", lambda self, values, again: (Engine(), None))
    return made


def asked(grid=None, repeats=1, search=None, **overrides):
    values = {"sessions": (1, 2, 4), "update_pct": (0, 20)} if grid is None else grid
    workload = Workload(schemas=1, run_time=5, **overrides)
    return new_sweep("petals", "embedded", Grid(workload, values, ()), {}, repeats, search=search)


def execution(folder, ceiling=lambda _engine: None, **given):
    return execute.SweepExecution(folder, context_in(**given), ceiling, local_crew)


def go(folder, world):
    with folder:
        world.interrupt = Interrupt()
        view = Unseen()
        execution(folder, interrupt=world.interrupt, display=view).execute()
    return view


def states(record):
    return [point.state.value for point in record.points]


def done_as(record):
    """Return the contents of a finished sweep without times and folders."""
    return [(p.number, p.values, p.repeat, p.state, p.error) for p in record.points], record.status


def test_every_point_is_run_once_in_its_order_on_data_loaded_once_under_one_lock(tmp_path, world, monkeypatch):
    monkeypatch.setattr(Engine, "taken", 0)
    folder = SweepFolder.begin(tmp_path, asked())
    view = go(folder, world)
    assert (Engine.taken, view.told.count("put right")) == (1, 1)
    record = load_sweep(folder.path)
    assert (record.status, states(record)) == (Status.COMPLETE, ["done"] * 6)
    ran = [(request.workload.sessions, request.workload.update_pct) for request in world.ran]
    assert ran == [(p.values["sessions"], p.values["update_pct"]) for p in record.points]
    assert world.loaded == ["256M"]
    assert len({p.run for p in record.points}) == 6
    assert all((folder.path / p.run / "run.json").is_file() for p in record.points)


@table(("servers", "starts"), [({"cache": (1 << 26, 1 << 27)}, [False, True, True, True]), ({}, [False])])
def test_each_round_of_a_sweep_of_server_settings_has_a_start_of_its_own(tmp_path, world, monkeypatch, servers, starts):
    seen = []
    monkeypatch.setattr(execute, "keep_started_with", lambda server, effects: dict(server))
    monkeypatch.setattr(
        execute.SweepServers, "start", lambda self, values, again: (seen.append(again), (Engine(), None))[1]
    )
    record = asked({"sessions": (1, 2)}, repeats=2)
    record = record.model_copy(update={"points": plan.points({"sessions": (1, 2)}, servers, 2, 1)})
    go(SweepFolder.begin(tmp_path, record), world)
    assert seen == starts


def test_data_are_loaded_once_for_each_size(tmp_path, world):
    folder = SweepFolder.begin(tmp_path, asked({"scale": ("64M", "128M"), "sessions": (1, 2)}, repeats=2))
    go(folder, world)
    assert world.loaded == ["64M", "128M"]
    assert len(world.ran) == 8


def test_a_failing_point_is_recorded_and_the_rest_goes_on(tmp_path, world):
    world.fails = lambda workload: workload.total_sessions == 4
    folder = SweepFolder.begin(tmp_path, asked())
    go(folder, world)
    record = load_sweep(folder.path)
    assert len(world.ran) == 6
    assert record.status is Status.FAILED
    failed = [p for p in record.points if p.state is PointState.FAILED]
    assert [(p.values["sessions"], p.error) for p in failed] == [(4, "a session was lost")] * 2
    assert all((folder.path / p.run).is_dir() for p in failed)
    assert sum(p.state is PointState.DONE for p in record.points) == 4


def test_what_failed_can_be_run_again(tmp_path, world):
    world.fails = lambda workload: workload.total_sessions == 4
    folder = SweepFolder.begin(tmp_path, asked())
    go(folder, world)
    world.fails = lambda workload: False
    again = SweepFolder.resume(folder.path)
    again.save(again.record.with_failures_pending())
    assert load_sweep(folder.path).status is Status.INTERRUPTED
    go(again, world)
    assert (load_sweep(folder.path).status, len(world.ran)) == (Status.COMPLETE, 8)


def test_data_that_cannot_be_loaded_skip_their_points_only(tmp_path, world):
    world.load_fails = lambda workload: str(workload.scale) == "128M"
    folder = SweepFolder.begin(tmp_path, asked({"scale": ("64M", "128M", "1G"), "sessions": (1, 2)}))
    view = go(folder, world)
    by_scale = {p.values["scale"]: (p.state.value, p.error) for p in load_sweep(folder.path).points}
    assert by_scale == {"64M": ("done", None), "128M": ("skipped", "the disk is full"), "1G": ("done", None)}
    assert "2 points are skipped: the disk is full" in view.told


@pytest.mark.parametrize("how", ["stop_at", "killed_at"])
@pytest.mark.parametrize("at", [1, 4, 6])
def test_a_sweep_that_ended_early_goes_on_with_what_is_missing(tmp_path, world, how, at):
    setattr(world, how, at)
    folder = SweepFolder.begin(tmp_path / "broken", asked())
    try:
        go(folder, world)
    except KeyboardInterrupt:
        assert how == "killed_at"
    broken = load_sweep(folder.path)
    assert broken.status is Status.INTERRUPTED
    assert states(broken) == ["done"] * (at - 1) + ["pending"] * (7 - at)
    done = [p.run for p in broken.points if p.run]
    setattr(world, how, 0)
    go(SweepFolder.resume(folder.path), world)
    whole = SweepFolder.begin(tmp_path / "whole", asked())
    go(whole, world)
    went_on = load_sweep(folder.path)
    assert done_as(went_on) == done_as(load_sweep(whole.path))
    assert [p.run for p in went_on.points][: at - 1] == done
    assert len(world.ran) == at + (7 - at) + 6


def test_going_on_with_a_finished_sweep_does_nothing(tmp_path, world):
    folder = SweepFolder.begin(tmp_path, asked())
    go(folder, world)
    before = (folder.path / "sweep.json").read_bytes()
    go(SweepFolder.resume(folder.path), world)
    assert len(world.ran) == 6
    assert (folder.path / "sweep.json").read_bytes() == before


def test_the_time_left_is_shown(tmp_path, world):
    view = go(SweepFolder.begin(tmp_path, asked()), world)
    headings = [text for text in view.told if text.startswith("[")]
    assert [heading.split("]")[0] for heading in headings] == [f"[{number} of 6" for number in range(1, 7)]
    # Before the first point from the plan, afterwards from the points so far: these made-up runs take no time.
    load_s = asked().workload["run_time"] + asked().workload["warmup"]
    assert view.left_s[0] == pytest.approx(6 * (load_s + POINT_OVERHEAD_S))
    assert max(view.left_s[1:]) < 1


def test_the_same_question_finds_the_sweep_that_is_unfinished(tmp_path, world):
    world.stop_at = 2
    folder = SweepFolder.begin(tmp_path, asked())
    with folder:
        assert find_unfinished(asked(), tmp_path, say_nothing) is None  # it is going on
    go(SweepFolder.resume(folder.path), world)
    assert find_unfinished(asked(), tmp_path, say_nothing) == folder.path
    for other in (asked(repeats=2), asked(seed=2), asked({"sessions": (4, 2, 1), "update_pct": (0, 20)})):
        assert find_unfinished(other, tmp_path, say_nothing) is None
    world.stop_at = 0
    go(SweepFolder.resume(folder.path), world)
    assert find_unfinished(asked(), tmp_path, say_nothing) is None


def test_two_processes_cannot_go_on_with_one_sweep(tmp_path):
    with SweepFolder.begin(tmp_path, asked()) as folder, pytest.raises(SlobError, match=f"process {os.getpid()}"):
        SweepFolder.resume(folder.path)


def test_a_search_is_a_sweep_whose_points_it_chose(tmp_path, world):
    search = SearchRecord(limit_us=1000, at="mean", most_sessions=32)
    folder = SweepFolder.begin(tmp_path, asked({}, repeats=2, search=search))
    assert folder.record.status is Status.INTERRUPTED
    go(folder, world)
    record = load_sweep(folder.path)
    tried = sorted({p.values["sessions"] for p in record.points})
    assert [r.workload.sessions for r in world.ran] == [p.values["sessions"] for p in record.points]
    assert record.status is Status.COMPLETE
    assert record.search.throughput == "pio_read_per_s"
    assert record.search.sessions in tried
    assert record.search.latency_us <= 1000
    assert {p.repeat for p in record.points} == {1, 2}


def rewriting(run, change):
    """``run``, whose records are changed by ``change(workload, record)``."""

    def changed(*args):
        finished = run(*args)
        record = json.loads((file := finished.folder / "run.json").read_text())
        change(args[1].workload, record)
        file.write_text(json.dumps(record))
        return FinishedRun(RunRecord.model_validate(record), finished.folder)

    return changed


@table("verdict", ["no_stalls", "planned_time"])
def test_a_stall_that_percentiles_hide_is_not_within_the_limit(tmp_path, world, verdict):
    def stall(workload, record):
        if workload.total_sessions >= 4:
            record["verdicts"].append({"name": verdict, "verdict": "fails", "why": "4 operations took 15 s."})

    runner.run = rewriting(world.run, stall)
    world.made = lambda load: Made(sessions=load.total_sessions, read_us=100.0, visits=20_000 * load.total_sessions)
    folder = SweepFolder.begin(tmp_path, asked({}, search=SearchRecord(limit_us=1000, at="mean", most_sessions=8)))
    go(folder, world)
    found = load_sweep(folder.path).search
    assert found.sessions == 3
    assert "operations stalled" in found.why


STALLED = {"name": "no_stalls", "verdict": "fails"}


@pytest.mark.parametrize(
    ("change", "error", "code"),
    [
        (lambda record: record["summary"].update(ops_per_s={"value": None, "unit": "1/s"}), UndecidedError, 4),
        (lambda record: None, VerdictError, 3),
        (lambda record: record["verdicts"].append({**STALLED, "why": ""}), VerdictError, 3),
    ],
)  # fmt: skip
def test_a_search_without_an_answer_tells_a_slow_server_from_a_missing_figure(tmp_path, world, change, error, code):
    runner.run = rewriting(world.run, lambda _, record: change(record))
    world.made = lambda load: Made(sessions=load.total_sessions, read_us=100.0, visits=20_000)
    folder = SweepFolder.begin(tmp_path, asked({}, search=SearchRecord(limit_us=1, at="mean", most_sessions=8)))
    go(folder, world)
    with pytest.raises(error) as raised:
        require_answer(folder)
    assert raised.value.exit_code == code


def test_counts_that_find_more_in_the_cache_are_held_against_the_others_by_operations(tmp_path, world):
    def made(workload):
        # One session visits so little that most of it is cached: it makes logical reads, the others physical ones.
        sessions = workload.total_sessions
        visits = min(20_000 * sessions, 80_000) if sessions > 1 else 35_000
        return Made(sessions=sessions, read_us=100.0, visits=visits, reads_per_visit=0.6 if sessions > 1 else 0.3)

    world.made = made
    search = SearchRecord(limit_us=1000, at="mean", most_sessions=8)
    folder = SweepFolder.begin(tmp_path, asked({}, search=search))
    go(folder, world)
    found = load_sweep(folder.path).search
    assert found.sessions == 4
    assert found.throughput == "pio_read_per_s"
    assert found.best == pytest.approx(80_000 * 0.6)


def test_a_search_whose_repeats_are_none_says_so(tmp_path, world):
    hosts = iter("abcdef")
    world.made = lambda _: Made()
    search = SearchRecord(limit_us=1000, at="mean", most_sessions=2)
    folder = SweepFolder.begin(tmp_path, asked({}, repeats=2, search=search))
    runner.run = rewriting(world.run, lambda _, record: record["environment"].update(host=next(hosts)))
    with pytest.raises(SlobError, match="they are not repeats"):
        go(folder, world)


def test_a_point_whose_window_is_lost_is_made_again_and_the_sweep_says_so(tmp_path, world):
    def lose_first(_workload, record):
        if len(world.ran) == 1:
            record["summary"]["ops_per_s"] = {"value": None, "unit": "1/s", "why": "read late"}

    runner.run = rewriting(world.run, lose_first)
    folder = SweepFolder.begin(tmp_path, asked({"sessions": (1, 2)}))
    go(folder, world)
    record = load_sweep(folder.path)
    runs = sorted(path.name for path in folder.path.iterdir() if path.is_dir())
    assert len(world.ran) == len(runs) == 3
    assert [point.run for point in record.points] == runs[1:]
    assert record.notes[-1] == f"point 1 was made again: the window of {runs[0]} was lost (read late)"


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_search_that_was_stopped_asks_the_same_again_and_runs_only_what_is_missing(tmp_path, world, at):
    search = SearchRecord(limit_us=1500, at="mean", most_sessions=32)
    whole = SweepFolder.begin(tmp_path / "whole", asked({}, search=search))
    go(whole, world)
    count, world.ran = len(world.ran), []
    world.stop_at = at
    folder = SweepFolder.begin(tmp_path / "broken", asked({}, search=search))
    go(folder, world)
    assert load_sweep(folder.path).status is Status.INTERRUPTED
    world.stop_at = 0
    go(SweepFolder.resume(folder.path), world)
    assert load_sweep(folder.path).search == load_sweep(whole.path).search
    assert len(world.ran) == count + 1


def test_every_run_gets_the_ceiling_of_its_server(tmp_path, world):
    folder = SweepFolder.begin(tmp_path, asked(grid={"sessions": (1, 2)}))
    beside: Any = object()
    with folder:
        execution(folder, lambda engine: beside if engine else None).execute()
    assert [request.ceiling for request in world.ran] == [beside, beside]


def test_points_whose_ceiling_cannot_be_measured_are_skipped_with_the_reason(tmp_path, world):
    def unmeasured(_engine):
        raise SlobError("no storage is known")

    folder = SweepFolder.begin(tmp_path, asked())
    with folder:
        execution(folder, unmeasured).execute()
    record = load_sweep(folder.path)
    assert (record.status, states(record), world.ran) == (Status.FAILED, ["skipped"] * 6, [])
    assert "no storage is known" in record.points[0].error


def test_the_most_sessions_of_a_sweep_are_those_of_its_largest_point_or_where_its_search_ends():
    assert sessions_at_most(asked()) == 4
    assert sessions_at_most(asked(grid={}, search=SearchRecord(limit_us=500, at="p99", most_sessions=32))) == 32
